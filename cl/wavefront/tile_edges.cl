// Edges of a tile batch (many_tiles.cl; a tile's descriptor and places as there).  take_edges() copies the
// edges of tiles from the special rows and columns of the larger tiles that they lie in.  find_peaks() looks for the
// places where a path may cross the special rows and columns of tiles.
// TILE_..., SOURCE_... and TOP_LINE come from pysw_cl.engines.wavefront.descriptors.
// Needs: base.clh.  Reads LOCAL, EDGE_GROUPS, PEAK_GROUP_SIZE.

#define UNREACHABLE (-(1 << 30))  // pysw_cl.scoring.precision.UNREACHABLE_BELOW
#ifndef EDGE_GROUPS      // work-groups that copy the edges of one tile
#define EDGE_GROUPS 16
#endif
#ifndef PEAK_GROUP_SIZE  // work-items that look for one peak
#define PEAK_GROUP_SIZE 128
#endif

// Copies `count` cells of an edge; an unreachable one becomes the sentinel again.
INLINE void copy_edge(__global int *h, __global int *x, __global const int *from_h, __global const int *from_x,
                      int count)
{
  const int step = EDGE_GROUPS * get_local_size(0);
  for (int k = get_group_id(0) % EDGE_GROUPS * get_local_size(0) + get_local_id(0); k < count; k += step) {
    const int value = from_h[k], gap = from_x[k];
    const bool unreachable = !LOCAL && value < UNREACHABLE;
    h[k] = unreachable ? NEG : value;
    x[k] = unreachable ? NEG : gap;
  }
}

// Copies the edges of the tiles of one batch, in `to`, from the batch in `from` whose tiles they lie in.
__kernel void take_edges(__global const int *restrict from, __global int *restrict to,
                         __global const long *restrict tiles, __global const long *restrict sources)
{
  __global const long *tile = tiles + get_group_id(0) / EDGE_GROUPS * TILE_WORDS;
  __global const long *source = sources + get_group_id(0) / EDGE_GROUPS * SOURCE_WORDS;
  const int m = tile[TILE_ROWS], n = tile[TILE_COLUMNS];
  __global int *top = to + tile[TILE_BUS] + (size_t)2 * TOP_LINE * tile[TILE_STRIDE], *left = to + tile[TILE_LEFT];
  copy_edge(top, top + tile[TILE_STRIDE], from + source[SOURCE_TOP_H], from + source[SOURCE_TOP_X], n);
  copy_edge(left + 1, left + m + 1, from + source[SOURCE_LEFT_H], from + source[SOURCE_LEFT_X], m);
  if (get_group_id(0) % EDGE_GROUPS == 0 && get_local_id(0) == 0) left[0] = from[source[SOURCE_CORNER]];
}

// The special rows and columns cut a tile into cells (a, b).  For the top edge and the left edge of each: the cell
// through which a path most probably enters (pysw_cl.drivers.path_prediction.promise), how much it promises, and its H.
__kernel __attribute__((reqd_work_group_size(PEAK_GROUP_SIZE, 1, 1)))
void find_peaks(__global const int *restrict kept, __global const long *restrict tiles, int row_step, int column_step,
                int rows, int columns, int match, int extend, __global int *restrict entry_candidates)
{
  __local int best[PEAK_GROUP_SIZE], place[PEAK_GROUP_SIZE];
  int rest = get_group_id(0);
  const int b = rest % columns, a = (rest /= columns) % rows, left = (rest /= rows) & 1;
  __global const long *tile = tiles + (rest / 2) * TILE_WORDS;
  const int m = tile[TILE_ROWS], n = tile[TILE_COLUMNS];
  const long rate = tile[TILE_RATE], flat = rate > 0 && match ? 256 - rate / (2 * match) : 256;
  const int row = a * row_step, column = b * column_step;
  const bool inside = row < m && column < n;
  __global const int *h = kept + tile[TILE_BUS] + (size_t)2 * (TOP_LINE + a) * tile[TILE_STRIDE] + column;
  if (left) h = b ? kept + tile[TILE_CROSSED] + (size_t)2 * (b - 1) * m + row : kept + tile[TILE_LEFT] + 1 + row;
  const int count = !inside ? 0 : left ? min(row_step, m - row) : min(column_step, n - column);
  int most = INT_MIN, at = 0;
  for (int k = get_local_id(0); k < count; k += PEAK_GROUP_SIZE) {
    const long down = max(m - row - (left ? k + 1 : 0) - (int)tile[TILE_EXIT_ROWS], 0);
    const long across = max(n - column - (left ? 0 : k + 1) - (int)tile[TILE_EXIT_COLUMNS], 0);
    const long lean = abs_diff(down, across), wide = (down + across) * flat / 1024;
    const long cost = lean < wide ? lean * lean / (2 * wide) : lean - wide / 2;
    const long gain = (rate * (down + across) - (rate + 1024 * extend) * cost) / 1024;
    const int here = (int)clamp(h[k] + gain, (long)NEG, (long)INT_MAX);
    if (here > most) {
      most = here;
      at = k;
    }
  }
  best[get_local_id(0)] = most;
  place[get_local_id(0)] = at;
  for (int step = PEAK_GROUP_SIZE / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) < step && best[get_local_id(0) + step] > best[get_local_id(0)]) {
      best[get_local_id(0)] = best[get_local_id(0) + step];
      place[get_local_id(0)] = place[get_local_id(0) + step];
    }
  }
  if (get_local_id(0) == 0) {
    vstore3((int3)(best[0], place[0], count ? h[place[0]] : NEG), get_group_id(0), entry_candidates);
  }
}
