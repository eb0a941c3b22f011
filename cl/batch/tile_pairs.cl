// The pairs of a tile of a matrix of scores: the query of each row with the target of each column.  Those of the longer side
// follow each other, so that neighbours have similar lengths.
// Needs: base.clh.
//
// Arguments:
//   rows, columns: of each query and target its first letter and its length.
//   pairs: as batch.cl has them.

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
tile_pairs(__global const int2 *restrict rows, int row_count, __global const int2 *restrict columns, int column_count,
           __global int4 *restrict pairs)
{
  const int count = row_count * column_count, side = max(row_count, column_count);
  for (int k = get_global_id(0); k < count; k += get_global_size(0)) {
    const int slow = k / side, fast = k % side;
    const bool by_row = column_count >= row_count;
    pairs[k] = (int4)(rows[by_row ? slow : fast], columns[by_row ? fast : slow]);
  }
}
