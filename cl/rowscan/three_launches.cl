// The row scan as it was published (Khajeh-Saeed, Poole & Perot, J. Comput. Phys. 229, 2010): three launches a row, all
// of them parallel along the target.  It is meant to be read beside the paper; rowscan.cl is the same method, faster.
//
// F, of a gap that consumes query, comes from the row above, as the diagonal does.  So all columns have H without E,
//   H~ = max(H_diagonal + score, F, floor),
// at once.  E, of a gap that consumes target, comes from any column to the left in the same row:
//   E[j] = max over k < j of (H~[k] - gap_open - (j - k) gap_extend),
// a running maximum that loses gap_extend with each column.  (H~[k] will do for H[k]: if a gap gave H[k], then going on
// with it costs no more than opening another.)  Then H = max(H~, E).  So a row is
//   1. rowscan_cells: H~, and the running maximum inside each work-group;
//   2. rowscan_totals: the running maximum of what leaves the groups, which is what enters each of them;
//   3. rowscan_correction: E from both, and H.
// Gaps may have any length: what enters a group may come from any group before it.
//
// A work-item has R neighbouring columns.  It goes through them from left to right with the E that begins there, so H~
// is H without the E that comes from the left of the item's columns (with R = 1: without E), and the scans are over
// items.  A group has T items.
// Needs: what kernel_spec() of pysw_cl/engines/rowscan/three_launches.py lists before it.  Reads T, R, LOCAL, BEST.
//
// Arguments, which the kernels share.  Lines have a number for each column, rounded up to whole groups:
//   query, target: codes.  n: columns.  row: the row that is computed, from 0.
//   h: H of the row above; the correction puts H of this row there.  bare: H~.
//   f: F of this row; rowscan_cells puts F of the next row there, as H~ gives it (f_of says what is left to do).
//   left_h, left_x, right_h, right_x: the tile's left and right edge (H and E^ of each row).  corner: H above left_h.
//   local_e: the E that enters each item from those before it in its group.
//   totals: what leaves each group, then what enters it; rounded up to whole portions of T * R.
//   last: this is the tile's last row, and the bottom edge is wanted: f becomes F^.
//   best_score, best_row, best_column: of each item, the first of its highest cells so far.
//   least, hits, capacity: with BEST 2 all cells of at least the score `least` are collected.  filled: how many cells
//     there were before this row; where that exceeds the capacity, none are added.

#define RUN (T * R)  // columns of a group; totals of a portion
#ifndef GROUP_SIZE
#define GROUP_SIZE __attribute__((reqd_work_group_size(T, 1, 1)))
#endif
#define EACH(c) _Pragma("unroll") for (int c = 0; c < R; c++)

// What an item has of a line.  Aligned, so that neighbours read and write whole lines of memory together.
typedef struct __attribute__((aligned(4 * R))) { int of[R]; } run_t;
typedef struct __attribute__((aligned(R))) { uchar of[R]; } codes_t;

// A gap that goes on over so many steps, each of which costs `cost`.
INLINE int decayed(int e, int steps, long cost) { return (int)max(e - steps * cost, (long)NEG); }

// The work-efficient scan (Blelloch 1990).  In: what leaves each of T neighbours, and what enters the first of them.
// Out: what enters each.  Returns what leaves the last.  Whatever passes a neighbour loses `cost`.
//
//   up-sweep                      down-sweep
//   a    b    c    d              enters            abc..: the highest of a, b, c, with what each has lost
//   a   ab    c   cd              enters          ab
//   a   ab    c  abcd  -> root    enters   a   ab  abc
INLINE int scan(__local int *values, int enters, long cost)
{
  const int item = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int span = 1; span < T; span *= 2) {
    const int right = 2 * span * (item + 1) - 1, left = right - span;
    if (right < T) values[right] = max(values[right], decayed(values[left], span, cost));
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const int all = values[T - 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) values[T - 1] = enters;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int span = T / 2; span > 0; span /= 2) {
    const int right = 2 * span * (item + 1) - 1, left = right - span;
    if (right < T) {
      const int from_left = values[left], from_outside = values[right];
      values[left] = from_outside;
      values[right] = max(from_left, decayed(from_outside, span, cost));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return max(all, decayed(enters, T, cost));
}

// F below a cell: as H~ gave it, raised if E has raised H since.
INLINE int f_of(int h, gap_t gap, int f)
{
  enter_gap(h, h, gap, &f);
  return f;
}

// 1. F and H~ of all columns, and the scan inside each group.
#define CELLS_ARGS \
  __global const code_t *query, __global const codes_t *target, int n, int row, int gap_open, int gap_extend, \
  __global const int *left_h, int corner, __global int *right_x, __global const run_t *h, __global run_t *f, \
  __global run_t *bare, __global int *local_e, __global int *totals, SCORE_ARGS

__kernel GROUP_SIZE void rowscan_cells(CELLS_ARGS)
{
  __local int values[T];
  const int item = get_local_id(0), at = get_global_id(0);
  const scoring_t scoring = SCORE_INIT;
  const scores_t scores = scores_of(scoring, 0);
  const gap_t gap = gap_of(gap_open, gap_extend);
  const codes_t letters = target[at];
  const run_t above = h[at];
  run_t down = f[at], cells;
  int diagonal = at > 0 ? h[at - 1].of[R - 1] : row > 0 ? left_h[row - 1] : corner;
  int e = NEG;
  EACH(c) {
    const int column = at * R + c;
    const int score = row_score(scores, 0, c, query[row], letters.of[c]);
    down.of[c] = f_of(above.of[c], gap, down.of[c]);
    // no diagonal step leads to columns that do not exist: none of them is above the cells of the tile
    cells.of[c] = compute_cell(column < n ? diagonal : NEG, score, gap, 0, &e, &down.of[c]);
    diagonal = above.of[c];
    if (column == n - 1) right_x[row] = e + gap_extend;
  }
  f[at] = down;
  bare[at] = cells;
  values[item] = e;
  const int leaves = scan(values, NEG, (long)R * gap_extend);
  local_e[at] = values[item];
  if (item == 0) totals[get_group_id(0)] = leaves;
}

// 2. The scan of what leaves the groups, by one group in portions.  An item has R neighbouring totals.
__kernel GROUP_SIZE void rowscan_totals(int row, int gap_extend, __global const int *left_x, __global run_t *totals,
                                        int portions, __global const int *hits, __global int *filled)
{
  __local int values[T];
  const int item = get_local_id(0);
  const long cost = (long)RUN * gap_extend;  // of passing a group
  int enters = left_x[row] - gap_extend;
  for (int portion = 0; portion < portions; portion++) {
    const run_t leaving = totals[portion * T + item];
    run_t entering;
    int e = NEG;
    EACH(g) e = max(leaving.of[g], decayed(e, 1, cost));
    values[item] = e;
    enters = scan(values, enters, R * cost);
    e = values[item];
    EACH(g) {
      entering.of[g] = e;
      e = max(leaving.of[g], decayed(e, 1, cost));
    }
    totals[portion * T + item] = entering;
  }
#if BEST == 2
  if (item == 0) *filled = *hits;
#endif
}

// 3. The E that enters an item's columns, and H.
#define CORRECTION_ARGS \
  int n, int row, int gap_open, int gap_extend, __global const int *local_e, __global const int *totals, \
  __global const run_t *bare, __global run_t *h, __global run_t *f, int last, __global int *right_h, \
  __global int *right_x, __global int *best_score, __global int *best_row, __global int *best_column, int least, \
  __global int *hits, int capacity, __global const int *filled

__kernel GROUP_SIZE void rowscan_correction(CORRECTION_ARGS)
{
  const int item = get_local_id(0), at = get_global_id(0);
  const gap_t gap = gap_of(gap_open, gap_extend);
  int e = max(local_e[at], decayed(totals[get_group_id(0)], item, (long)R * gap_extend));
  run_t cells = bare[at];
  run_t down;
  if (last) down = f[at];
  EACH(c) {
    int below = last ? down.of[c] : NEG;
    cells.of[c] = enter_gap(cells.of[c], e, gap, &below);
    down.of[c] = below + gap_extend;
    if (at * R + c == n - 1) {
      right_h[row] = cells.of[c];
      right_x[row] = max(right_x[row], e);
    }
    e -= gap_extend;
  }
  h[at] = cells;
  if (last) f[at] = down;
#if BEST
  int score = best_score[at], column = -1;
  EACH(c)
    if (cells.of[c] > score) {
      score = cells.of[c];
      column = at * R + c;
    }
  if (column >= 0) {
    best_score[at] = score;
    best_row[at] = row;
    best_column[at] = column;
  }
#endif
#if BEST == 2
  if (*filled <= capacity)
    EACH(c) {
      const int column = at * R + c;
      if (cells.of[c] >= least && column < n) hits_put(hits, capacity, cells.of[c], row, column);
    }
#endif
}
