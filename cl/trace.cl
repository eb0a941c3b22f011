// The backward walk over a tile's stored moves, by one work-item: at H take F if it explains the
// value, else E, else the diagonal; inside a gap go on while that explains the value.
//
// (row, column) is the cell the walk starts from, numbered from 1; state 0: at H, 1: a gap that
// consumes target leaves the cell, 2: a gap that consumes query.  linear: a gap of k costs k gaps
// of 1, there is no state inside a gap.  result: row, column, state, ended, moves made.

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
trace(__global const uint *restrict dirs, int n, int row, int column, int state, int linear,
      __global uchar *restrict moves, __global int *restrict result)
{
  int ended = 0, made = 0;
  if (linear) state = 0;
  while (row > 0 && column > 0) {
    const int strip = (row - 1) / ROWS, lane = (row - 1) % ROWS / R, r = (row - 1) % R;
    const size_t step = (size_t)strip * (n + T) + (column - 1) + lane;
    const uint move = dirs[(step * ((R + 7) / 8) + r / 8) * T + lane] >> (4 * (r % 8));
    if ((state == 1 && !(move & 4)) || (state == 2 && !(move & 8))) state = 0;
    if (state == 0) {
      const uint from = move & 3;
      if (from == 0) {
        ended = 1;
        break;
      }
      state = from - 1;
    }
    moves[made++] = state;
    if (state != 2) column--;
    if (state != 1) row--;
    if (linear) state = 0;
  }
  result[0] = row;
  result[1] = column;
  result[2] = state;
  result[3] = ended;
  result[4] = made;
}
