// Edges of a tile batch (many_tiles.cl; a tile's descriptor and places as there).  take_edges() copies the
// edges of tiles from the special rows and columns of the larger tiles that they lie in.  find_entries() looks for the
// places where a path crosses the special rows and columns of tiles.
// TILE_..., SOURCE_... and TOP_LINE come from pysw_cl.engines.wavefront.descriptors.
// Needs: base.clh.  Reads LOCAL, EDGE_GROUPS, FINDERS.

#define UNREACHABLE (-(1 << 30))  // pysw_cl.scoring.precision.UNREACHABLE_BELOW
#ifndef EDGE_GROUPS      // work-groups that copy the edges of one tile
#define EDGE_GROUPS 16
#endif
#ifndef FINDERS          // work-items that look for the places
#define FINDERS 256
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

// Copies the edges of the tiles of one batch, in `to`, from the batch in `from` whose tiles they lie in; or onto
// themselves, which makes unreachable cells the sentinel again.
__kernel void take_edges(__global const int *from, __global int *to,
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

// Follows a path backward from a cell of the matrix through at most `most` of the rectangles that special rows and
// columns cut the tiles into.  It probably entered each through the cell of its top or left edge with the most H and
// promise (pysw_cl.drivers.path_prediction).  For each rectangle: the tile, row, column and H of that cell; tile -1 where
// no tile from the last one on has the cell.
__kernel __attribute__((reqd_work_group_size(FINDERS, 1, 1)))
void find_entries(__global const int *restrict kept, __global const long *restrict tiles, int count, int row_step,
                  int column_step, int match, int extend, int tile, int row, int column, int most,
                  __global int *restrict entries)
{
  __local int best[FINDERS], place[FINDERS];
  const int lane = get_local_id(0);
  int h = 0;
  bool known = false;
  for (int step = 0; step < most; step++) {
    __global const long *t = tiles + tile * TILE_WORDS;
    while (tile < count && !(row > t[TILE_QUERY] && row <= t[TILE_QUERY] + t[TILE_ROWS] && column > t[TILE_TARGET] &&
                             column <= t[TILE_TARGET] + t[TILE_COLUMNS])) {
      tile++;
      t += TILE_WORDS;
    }
    if (tile == count || (known && h < UNREACHABLE)) {
      if (lane == 0) entries[4 * step] = -1;
      return;
    }
    const int m = t[TILE_ROWS], r = row - (int)t[TILE_QUERY], c = column - (int)t[TILE_TARGET];
    const int a = (r - 1) / row_step, b = (c - 1) / column_step, down = r - a * row_step, across = c - b * column_step;
    const size_t line = 2 * t[TILE_STRIDE], crossed = 2 * (size_t)m;
    __global const int *bus = kept + t[TILE_BUS] + line * TOP_LINE, *inner = kept + t[TILE_CROSSED];
    __global const int *top = bus + a * line + b * column_step;
    __global const int *left = (b ? inner + (b - 1) * crossed : kept + t[TILE_LEFT] + 1) + a * row_step;
    if (!known && r % row_step == 0) {
      known = true;
      h = bus[r / row_step * line + c - 1];
    } else if (!known && c % column_step == 0 && c / column_step <= t[TILE_KEPT]) {
      known = true;
      h = inner[(c / column_step - 1) * crossed + r - 1];
    }
    // what each row and column adds to H, if the path comes straight
    const int straight = min(down, across);
    float rate = 0.5f * match;
    if (known && straight > 1 && down != across) {
      const int before = down < across ? top[across - straight - 1] : left[down - straight - 1];
      rate = clamp((h - before) / (2.0f * straight), -(float)extend, rate);
    }
    const float apart = match ? 0.25f * (1.0f - clamp(2.0f * rate / match, 0.0f, 1.0f)) : 0.25f;
    int highest = INT_MIN, at = 0;
    for (int k = lane; k < across + down; k += FINDERS) {
      const bool above = k < across;
      const int rows = above ? down : across + down - 1 - k, columns = above ? across - 1 - k : across;
      const float total = rows + columns, lean = abs_diff(rows, columns), wide = total * apart + 1e-9f;
      const float near = fmin(lean, wide), cost = lean - near * (1.0f - near / (2.0f * wide));
      const int from = above ? top[k] : left[k - across];
      const int gain = convert_int_sat(rate * total - (rate + extend) * cost);
      const int here = from < UNREACHABLE ? INT_MIN : add_sat(from, gain);
      if (here > highest) {
        highest = here;
        at = k;
      }
    }
    best[lane] = highest;
    place[lane] = at;
    for (int apart_by = FINDERS / 2; apart_by > 0; apart_by /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (lane < apart_by && best[lane + apart_by] > best[lane]) {
        best[lane] = best[lane + apart_by];
        place[lane] = place[lane + apart_by];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    at = place[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    h = at < across ? top[at] : left[at - across];
    row = (int)t[TILE_QUERY] + a * row_step + (at < across ? 0 : at - across + 1);
    column = (int)t[TILE_TARGET] + b * column_step + (at < across ? at + 1 : 0);
    known = true;
    if (lane == 0) vstore4((int4)(tile, row, column, h), step, entries);
  }
}
