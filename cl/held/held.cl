// A small matrix that is held whole: one work-item with vector lanes computes it, H, E and F of every cell stay in
// memory, and the best cell and the path to it are found in the same launch.  A further launch forbids the pairs of the
// path that was found last (Waterman & Eggert 1987) and computes again only what changes by that.
//
// Strips are T rows high, a row a lane, and lane l is l columns behind lane 0, as in wavefront/strip.clh.  A strip is
// computed in blocks of BLOCK steps.  Step s of a strip has lane l's cell of column s - l (from 0), and its T numbers
// lie side by side.  E and F are kept as they enter the next cell (recurrence.clh).
// Needs: base.clh, platform.clh, a lanes file whose work-item has all lanes, a score file, recurrence.clh.
// Reads T, LOCAL.
//
// Arguments:
//   codes: of the query, m rounded up to whole strips; then of the target, `blocks` * BLOCK.  Padding scores at most 0.
//   again: 0 at first; 1: forbid the pairs of the last path, and go on.
//   pairs, count: the pairs of letters (row and column from 1) that are forbidden from the start on.
//   cells: for each step of each strip T numbers H; then as many E; then F.
//   forbidden: for each step T bytes: may the cell's pair of letters not be aligned?
//   tops: for each strip and block its highest H; then for each strip and block whether it has forbidden pairs.
//   ends: the free ends as bits; a comparison with a floor has none.
//   path: is a path wanted?
//   found: score, row and column of the end, row and column of the path's start, how many moves it has, whether it
//     ended at the floor, steps computed; then its moves, a byte each, the last one first: 0 diagonal, 1 consumes
//     target, 2 consumes query.

#define BLOCK 16
#define SCORE 0
#define END_ROW 1
#define END_COLUMN 2
#define START_ROW 3
#define START_COLUMN 4
#define MADE 5
#define ENDED 6
#define STEPS 7
#define WORDS 8

typedef uchar marks_t __attribute__((ext_vector_type(T), aligned(1)));
typedef code_t codes_t __attribute__((ext_vector_type(T), aligned(1)));

typedef struct {
  __global const code_t *query, *target;
  __global int *h, *e, *f;
  __global uchar *forbidden;
  __global int *tops, *marked;
  int m, n, blocks, open, extend, ends;
} matrix_t;

// The place of lane 0 of a step.
INLINE size_t step_at(const matrix_t *a, int strip, int step)
{
  return ((size_t)strip * a->blocks * BLOCK + step) * T;
}

// The place of a cell (row and column from 1).
INLINE size_t cell_at(const matrix_t *a, int row, int column)
{
  const int lane = (row - 1) % T;
  return step_at(a, (row - 1) / T, column - 1 + lane) + lane;
}

// H on a border, k letters from the corner.
INLINE int border(const matrix_t *a, int free, int k)
{
  return LOCAL || free || k == 0 ? 0 : -(a->open + k * a->extend);
}

INLINE int h_at(const matrix_t *a, int row, int column)
{
  if (row == 0) return border(a, a->ends & LEAD_QUERY, column);
  if (column == 0) return border(a, a->ends & LEAD_TARGET, row);
  return a->h[cell_at(a, row, column)];
}

// Does any number of a vector differ from 0?
INLINE bool lanes_differ(lv v)
{
  typedef ulong words_t __attribute__((ext_vector_type(T / 2)));
  union { lv v; words_t w; } u;
  u.v = v;
  ulong all = 0;
  for (int k = 0; k < T / 2; k++) all |= u.w[k];
  return all != 0;
}

// Computes a strip from block `first` on: to its end, or, if it was computed before, until block `last` is done and no
// cell changes.  Returns the blocks in which the row below it may change, (first, last).
INLINE int2 sweep_strip(const matrix_t *a, scoring_t scoring, int strip, int first, int last, bool before,
                        __global int *steps)
{
  const gap_t gap = gap_of(a->open, a->extend);
  const lv low = lv_splat(0), never = lv_splat(-2 * (a->open + a->extend) - 1), lane = lv_index();
  const lv above = lane + lv_splat(strip * T);  // rows above a lane's row
  const lv left = LOCAL || (a->ends & LEAD_TARGET)
                    ? low : -(above + lv_splat(1)) * lv_splat(a->extend) - lv_splat(a->open);
  const scores_t scores = scores_of(scoring, 0);
  const codes_t query = *(__global const codes_t *)(a->query + (size_t)strip * T);
  const lv q = __builtin_convertvector(query, lv);
  const int start = first * BLOCK, top_free = a->ends & LEAD_QUERY;
  // the last cells of the strip above, T - 1 steps after those of its first lane
  const size_t bus = strip ? step_at(a, strip - 1, T - 1) + T - 1 : 0;
  lv h = left, e = left - gap.first, f = left, t = low, diagonal;
  if (first == 0) {
    diagonal = lv_shift_down(left, h_at(a, strip * T, 0));
  } else {
    const size_t at = step_at(a, strip, start - 1);
    h = lanes_load(a->h + at);
    e = lanes_load(a->e + at);
    f = lanes_load(a->f + at);
    const lv further = lanes_load(a->h + at - T);
    diagonal = lv_shift_down(further, strip ? a->h[bus + (size_t)(start - 1) * T] : border(a, top_free, start));
    for (int l = T - 1; l >= 0; l--) t = lv_shift_down(t, a->target[max(start - 1 - l, 0)]);
  }
  int2 changed = (int2)(INT_MAX, -1);
  int block = first;
  for (; block < a->blocks; block++) {
    const bool marks = a->marked[strip * a->blocks + block];
    lv top = lv_splat(INT_MIN), differ = low;
    for (int k = 0; k < BLOCK; k++) {
      const int step = block * BLOCK + k;
      const size_t at = step_at(a, strip, step);
      int h_above, f_above;
      if (strip && step + T - 1 < a->blocks * BLOCK) {
        h_above = a->h[bus + (size_t)step * T];
        f_above = a->f[bus + (size_t)step * T];
      } else {
        h_above = border(a, top_free, step + 1);
        f_above = h_above - a->open - a->extend;
      }
      const lv up = lv_shift_down(h, h_above);
      lv f_here = lv_shift_down(f, f_above);
      t = lv_shift_down(t, a->target[step]);
      lv score = row_score(scores, 0, 0, q, t);
      if (marks) {
        const lv mark = __builtin_convertvector(*(__global const marks_t *)(a->forbidden + at), lv);
        score = lv_select(lm_eq(mark, low), score, never);
      }
      h = compute_cell(diagonal, score, gap, low, &e, &f_here);
      f = f_here;
      diagonal = up;
      if (step < T) {  // lanes that have not come to their first column
        const lm begun = lm_less(lane, lv_splat(step + 1));
        h = lv_select(begun, h, left);
        e = lv_select(begun, e, left - gap.first);
      }
      if (before)
        differ |= (h ^ lanes_load(a->h + at)) | (e ^ lanes_load(a->e + at)) | (f ^ lanes_load(a->f + at));
      lanes_store(a->h + at, h);
      lanes_store(a->e + at, e);
      lanes_store(a->f + at, f);
      top = lv_max(top, h);
    }
    a->tops[strip * a->blocks + block] = lanes_reduce_max(0, top);
    if (!before) continue;
    if (lanes_differ(differ)) {
      changed.x = min(changed.x, block);
      changed.y = block;
    } else if (block >= last) {
      block++;
      break;
    }
  }
  *steps += (block - first) * BLOCK;
  return changed;
}

// Marks a pair of letters; returns its block.
INLINE int forbid(const matrix_t *a, int row, int column)
{
  const int block = (column - 1 + (row - 1) % T) / BLOCK;
  a->forbidden[cell_at(a, row, column)] = 1;
  a->marked[(row - 1) / T * a->blocks + block] = 1;
  return block;
}

// Marks the pairs of the last path.  Returns the first strip that has one; `spans` gets for each strip its blocks with
// new marks, (first, last).
INLINE int forbid_path(const matrix_t *a, __global const int *found, __global const uchar *moves,
                       __global int2 *spans, int strips)
{
  for (int s = 0; s < strips; s++) spans[s] = (int2)(INT_MAX, -1);
  int row = found[END_ROW], column = found[END_COLUMN], first = strips;
  for (int k = 0; k < found[MADE]; k++) {
    const int move = moves[k];
    if (move == 0) {
      const int strip = (row - 1) / T, block = forbid(a, row, column);
      spans[strip] = (int2)(min(spans[strip].x, block), max(spans[strip].y, block));
      first = strip;
    }
    if (move != 1) row--;
    if (move != 2) column--;
  }
  return first;
}

// Computes again what changes by new marks.
INLINE void sweep_again(const matrix_t *a, scoring_t scoring, __global const int2 *spans, int first, int strips,
                        __global int *steps)
{
  int2 above = (int2)(INT_MAX, -1);  // blocks of the strip above in which its last row may change
  for (int s = first; s < strips; s++) {
    // a cell of the row above enters T - 1 steps earlier in this strip than it was computed in that one, and once more
    // a step later
    const int from = above.y < 0 ? INT_MAX : max(above.x * BLOCK - (T - 1), 0) / BLOCK;
    const int to = above.y < 0 ? -1 : min(above.y * BLOCK + BLOCK - 1 - (T - 1) + 1, a->blocks * BLOCK - 1) / BLOCK;
    const int2 span = (int2)(min(from, spans[s].x), max(to, spans[s].y));
    above = (int2)(INT_MAX, -1);
    if (span.y >= 0) above = sweep_strip(a, scoring, s, span.x, span.y, true, steps);
  }
}

// Takes a better end; of equal ones the first offered stays.
INLINE void offer(__global int *found, int score, int row, int column)
{
  if (score <= found[SCORE]) return;
  found[SCORE] = score;
  found[END_ROW] = row;
  found[END_COLUMN] = column;
}

#if LOCAL
// The first best cell in row-major order, or (0, 0) with 0.
INLINE void find_end(const matrix_t *a, int strips, __global int *found)
{
  int best = 0, strip = 0;
  for (int k = 0; k < strips * a->blocks; k++)
    if (a->tops[k] > best) {
      best = a->tops[k];
      strip = k / a->blocks;
    }
  found[SCORE] = best;
  found[END_ROW] = found[END_COLUMN] = 0;
  if (best == 0) return;
  int row = INT_MAX, column = 0;
  for (int block = 0; block < a->blocks; block++) {
    if (a->tops[strip * a->blocks + block] != best) continue;
    for (int step = block * BLOCK; step < (block + 1) * BLOCK; step++) {
      __global const int *h = a->h + step_at(a, strip, step);
      for (int l = 0; l < T; l++)  // of equal rows the first column comes first
        if (h[l] == best && l < row) {
          row = l;
          column = step - l + 1;
        }
    }
  }
  found[END_ROW] = strip * T + row + 1;
  found[END_COLUMN] = column;
}
#else
// The first best cell, in row-major order, of those where a path may end.
INLINE void find_end(const matrix_t *a, int strips, __global int *found)
{
  found[SCORE] = INT_MIN;
  if (a->ends & TRAIL_TARGET)
    for (int row = 0; row < a->m; row++) offer(found, h_at(a, row, a->n), row, a->n);
  if (a->ends & TRAIL_QUERY)
    for (int column = 0; column < a->n; column++) offer(found, h_at(a, a->m, column), a->m, column);
  offer(found, h_at(a, a->m, a->n), a->m, a->n);
}
#endif

// Follows the canonical path back from its end: the rule of traceback/traceback.cl, over the numbers themselves.
INLINE void trace(const matrix_t *a, __global int *found, __global uchar *moves)
{
  int row = found[END_ROW], column = found[END_COLUMN], state = 0, made = 0;
  found[ENDED] = 0;
  while (row > 0 && column > 0) {
    const int h = h_at(a, row, column), first = a->open + a->extend;
    const int e = column > 1 ? a->e[cell_at(a, row, column - 1)] : h_at(a, row, 0) - first;
    const int f = row > 1 ? a->f[cell_at(a, row - 1, column)] : h_at(a, 0, column) - first;
    const int gap = state == 1 ? e : f;
    if (state == 0 || a->open == 0 || gap < h - a->open) {
      if (LOCAL && h == 0) {
        found[ENDED] = 1;
        break;
      }
      state = f == h ? 2 : e == h ? 1 : 0;
    }
    moves[made++] = state;
    if (state != 1) row--;
    if (state != 2) column--;
  }
  found[START_ROW] = row;
  found[START_COLUMN] = column;
  found[MADE] = made;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
held(__global const code_t *restrict codes, __global int *restrict cells, __global uchar *restrict forbidden,
     __global int *restrict tops, __global int2 *restrict spans, int m, int n, int blocks, int gap_open,
     int gap_extend, int ends, int again, __global const int2 *pairs, int count, int path, __global int *found, SCORE_ARGS)
{
  const scoring_t scoring = SCORE_INIT;
  const int strips = (m + T - 1) / T;
  const size_t plane = (size_t)strips * blocks * BLOCK * T;
  const matrix_t a = {codes, codes + (size_t)strips * T, cells, cells + plane, cells + 2 * plane, forbidden, tops,
                      tops + strips * blocks, m, n, blocks, gap_open, gap_extend, ends};
  __global uchar *moves = (__global uchar *)(found + WORDS);
  found[STEPS] = 0;
  if (again) {
    const int first = forbid_path(&a, found, moves, spans, strips);
    sweep_again(&a, scoring, spans, first, strips, found + STEPS);
  } else {
    for (size_t k = 0; k < plane; k += T) *(__global marks_t *)(forbidden + k) = (marks_t)(0);
    for (int k = 0; k < strips * blocks; k++) a.marked[k] = 0;
    for (int k = 0; k < count; k++) forbid(&a, pairs[k].x, pairs[k].y);
    for (int s = 0; s < strips; s++) sweep_strip(&a, scoring, s, 0, blocks, false, found + STEPS);
  }
  find_end(&a, strips, found);
  found[MADE] = 0;
  if (path) trace(&a, found, moves);
}
