// The row scan (Khajeh-Saeed, Poole & Perot, J. Comput. Phys. 229, 2010; GPU Computing Gems, ch. 13): parallel along the
// target.  A row takes three steps: without gaps in the query, H~ = max(H_diagonal + score, F, floor); then E, which is
// a maximum over all columns to the left, by a scan; then H = max(H~, E).
//
// Here the target is cut into segments, one for each group, which keeps its part of the row in its lanes from row to
// row.  A lane has R neighbouring columns (COLUMNS).  It takes E from its own columns while it computes H~ (exact but for
// gaps that begin to the left of the lane); a scan over lanes, and over segments through memory, gives the E that
// enters each lane; and a second pass raises H where a gap enters.  That pass ends as soon as no lane gains by going on
// (Farrar 2007, Bioinformatics 23, 156-161, has the same rule for his lanes): a gap that is not above H - gap_open is
// not above the gap that is opened there.
//
// Segments are swept at once, each a row or more behind its left neighbour.  A segment can begin only when its neighbour
// has done a row, so the time from row to row counts, and not only the work.  Therefore the column between two segments
// has one 64-bit word for each row, which says by itself that it is new; the word is needed only after H~ and the scan
// over lanes; and the word for the segment to the right is stored before the second pass.
// Needs: what rowscan_spec() of pysw_cl/engines/rowscan/engine.py lists before it.  Reads T, R, LOCAL, BEST.
//
// Arguments:
//   query, target: codes.
//   top_h, top_x: H and F^ of the row above (with `level`: one number each, for all columns).
//   columns: two lines of m words.  Segment s reads the column to its left from line s % 2, and writes its last
//     column to the other line, row by row.  Before the launch line 0 has the tile's left edge.  A word has H in its
//     lower half; in the upper half H - E^ and a tag, the last bits of the number of the segment that reads it.  Groups wait for
//     their segment's tag while words for segments before them pass, so no two segments in flight have the same tag.
//   bottom_h, bottom_x: H and F^ of the last row, if `bottom`.
//   ticket: the number of segments that are begun.
//   record: per group the score, row and column of its best cell, and the highest score that it computed.
//   least: the least score that is looked for.
//   hits, capacity: with BEST 2, the cells of at least that score.

#define COLUMNS R              // of a lane
#define SEGMENT (T * COLUMNS)  // columns of a segment
#define EACH_COLUMN(c) EACH_ROW(c, R)
#define SCAN_WORDS 4           // of a record
#define DIFFERENCE_BITS 20     // of H - E^ in a word of a column; the tag has 12

// What stays the same from segment to segment.
typedef struct {
  __global const code_t *query;
  __global const uchar *target;
  int m, n, level;
  __global const int *top_h, *top_x;
  volatile __global ulong *columns;
  __global int *bottom_h, *bottom_x;
  int corner, bottom;
  gap_t gap;
  int open, extend;
  scores_t scores;
  __local int *scratch;
  __global int *hits;
  int capacity;
} scan_t;

// The best cell that a group found, and the highest score that it computed.
typedef struct { int score, row, column, top; } found_t;

// COLUMNS times each lane's number.
INLINE lv columns_before(void)
{
  lv at = lv_splat(0);
  EACH_COLUMN(c) at = lv_add(at, lv_index());
  return at;
}

// The upper half of a word that segment `reader` reads, less H - E^.
INLINE int tag_of(int reader) { return (int)((uint)reader << DIFFERENCE_BITS); }

// The word at p, once the segment to the left has stored it.  `word`: what was there a while ago.
INLINE ulong awaited(volatile __global const ulong *p, ulong word, int segment)
{
  const uint tag = (uint)tag_of(segment) >> DIFFERENCE_BITS;
  for (uint spins = 1; (uint)(word >> (32 + DIFFERENCE_BITS)) != tag; spins++) {
    if (spins > 8) wait_a_little(spins);
    word = word_load(p);
  }
  return word;
}

// Looks at a row whose highest score is `top`: is the best cell in it, or are there cells to collect?
INLINE void look_at(const scan_t *s, found_t *found, const lv *h, lv columns, int row, int top)
{
  const lv n = lv_splat(s->n);
#if BEST == 1
  if (top < found->score || (top == found->score && row >= found->row)) return;
  lv first = n;
  EACH_COLUMN(c) {
    const lv column = lv_add(columns, lv_splat(c));
    const lm here = lm_eq(h[c], lv_splat(top));
    first = lv_select(here, lv_select(lm_less(column, first), column, first), first);
  }
  found->score = top;
  found->row = row;
  found->column = lanes_argmin(s->scratch, first, first).x;
#elif BEST == 2
  if (top < found->score) return;
  EACH_COLUMN(c) {
    const lv column = lv_add(columns, lv_splat(c));
    const lm high = ~lm_less(h[c], lv_splat(found->score)) & lm_less(column, n);
    lanes_collect(s->hits, s->capacity, high, h[c], lv_splat(row), column);
  }
#endif
}

// Sweeps a segment.  `padded`: the last one has columns that do not exist.  No diagonal step leads to them, and no
// local path begins there, so that they hold gaps only, and what leaves the segment is what leaves the last column.
INLINE void sweep_segment(const scan_t *s, found_t *found, int segment, const bool padded)
{
  lv h[COLUMNS], f[COLUMNS], t[COLUMNS];
  const lv before_lane = columns_before(), columns = lv_add(before_lane, lv_splat(segment * SEGMENT));
  const lv last = lv_splat(s->n - 1), lane_decay = before_lane * lv_splat(s->extend);
  EACH_COLUMN(c) {
    lv at = lv_add(columns, lv_splat(c));
    const lm there = lm_less(at, lv_splat(s->n));
    at = lv_select(there, at, last);
    t[c] = lanes_gather_letters(s->target, at);
    h[c] = s->level ? lv_splat(s->top_h[0]) : lanes_gather(s->top_h, at);
    f[c] = lv_sub(s->level ? lv_splat(s->top_x[0]) : lanes_gather(s->top_x, at), s->gap.extend);
    if (padded) f[c] = lv_select(there, f[c], lv_splat(NEG));
  }
  const int before = segment * SEGMENT - 1;
  int corner = segment == 0 ? s->corner : s->top_h[s->level ? 0 : before];
  volatile __global const ulong *left = s->columns + (size_t)(segment & 1) * s->m;
  volatile __global ulong *right = s->columns + (size_t)(~segment & 1) * s->m;
  const lv tag = lv_splat(tag_of(segment + 1));
  int turn = 0;
  for (int i = 0; i < s->m; i++) {
    ulong word = LEADER ? word_load(left + i) : 0;
    // without the gaps that begin to the left of a lane
    lv diagonal = h[COLUMNS - 1], e = lv_splat(NEG), none = e, nothing = e, top = e;
    lanes_shift_down(s->scratch, &turn, &diagonal, corner, &none, NEG, &nothing, NEG);
    const lv q = lv_splat(s->query[i]);
    EACH_COLUMN(c) {
      lv floor = lv_splat(0), from = diagonal;
      if (padded) {
        const lm there = lm_less(lv_add(columns, lv_splat(c)), lv_splat(s->n));
        floor = lv_select(there, floor, lv_splat(NEG));
        from = lv_select(there, from, lv_splat(NEG));
      }
      const lv score = row_score(s->scores, 0, c, q, t[c]);
      diagonal = h[c];
      h[c] = compute_cell(from, score, s->gap, floor, &e, &f[c]);
      top = lv_max(top, h[c]);
    }
    // the gap that enters each lane
    lv enters = lanes_scan(s->scratch, e, NEG, COLUMNS * s->extend);
    if (LEADER) word = awaited(left + i, word, segment);
    corner = (int)word;  // (only lane 0 uses it)
    const int left_x = corner - (int)((word >> 32) & ((1 << DIFFERENCE_BITS) - 1));
    const int from_left = lanes_broadcast(s->scratch, left_x - s->extend);
    enters = lv_max(enters, lv_sub(lv_splat(from_left), lane_decay));
    e = lv_max(e, lv_sub(enters, lv_splat(COLUMNS * s->extend)));
    // the last column, for the segment to the right
    if (!padded) {
      const lv out_h = lv_max(h[COLUMNS - 1], lv_sub(enters, lv_splat((COLUMNS - 1) * s->extend)));
      const lv out_x = lv_add(e, s->gap.extend);
      lanes_store_word(right + i, T - 1, out_h, lv_add(lv_sub(out_h, out_x), tag));
    }
    // how far that gap matters
    for (int c = 0; c < COLUMNS; c++) {
      lm gains = lm_less(lv_sub(h[c], lv_splat(s->open)), enters);
      if (padded) gains = gains & lm_less(lv_add(columns, lv_splat(c)), lv_splat(s->n));
      if (!lanes_any(s->scratch, gains)) break;
      h[c] = enter_gap(h[c], enters, s->gap, &f[c]);
      top = lv_max(top, h[c]);
      enters = lv_sub(enters, s->gap.extend);
    }
    const int highest = lanes_reduce_max(s->scratch, top);
    found->top = max(found->top, highest);
    look_at(s, found, h, columns, i, highest);
    if (padded) {  // the tile's last column
      const int inside = s->n - 1 - segment * SEGMENT;
      lv last_h = h[COLUMNS - 1];
      EACH_COLUMN(c) last_h = c == inside % COLUMNS ? h[c] : last_h;
      lanes_store_lane((__global int *)(right + i), inside / COLUMNS, last_h);
      lanes_store_last((__global int *)(right + i) + 1, lv_add(e, lv_splat((SEGMENT - inside) * s->extend)));
    }
  }
  lanes_sync();  // this group may sweep the next segment, too, and reads there what it stored here
  if (s->bottom)
    EACH_COLUMN(c) {
      const lv at = lv_add(columns, lv_splat(c));
      lanes_scatter(s->bottom_h, at, h[c], s->n);
      lanes_scatter(s->bottom_x, at, lv_add(f[c], s->gap.extend), s->n);
    }
}

#define ROWSCAN_ARGS \
  __global const code_t *query, __global const uchar *target, int m, int n, int gap_open, int gap_extend, \
  __global const int *top_h, __global const int *top_x, int level, volatile __global ulong *columns, \
  int corner, __global int *bottom_h, __global int *bottom_x, int bottom, volatile __global int *ticket, \
  int segments, __global int *record, int least, \
  __global int *hits, int capacity, SCORE_ARGS
#define ROWSCAN_NAMES \
  query, target, m, n, gap_open, gap_extend, top_h, top_x, level, columns, corner, bottom_h, bottom_x, bottom, \
  ticket, segments, record, least, hits, capacity, SCORE_NAMES
#ifndef GROUP_SIZE
#define GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#endif

KERNEL(rowscan, ROWSCAN)
{
  LANES_LOCAL(scratch);
  const scoring_t scoring = SCORE_INIT;
  const scan_t scan = {
    query, target, m, n, level, top_h, top_x, columns, bottom_h, bottom_x, corner, bottom,
    gap_of(gap_open, gap_extend), gap_open, gap_extend, scores_of(scoring, 0), scratch, hits, capacity};
  found_t found = {least, m, n, NEG};
  for (;;) {
    const int segment = lanes_broadcast(scratch, LEADER ? atomic_inc(ticket) : 0);
    if (segment >= segments) break;
    if (segment == segments - 1 && n % SEGMENT != 0)
      sweep_segment(&scan, &found, segment, true);
    else
      sweep_segment(&scan, &found, segment, false);
  }
  if (LEADER) {
    __global int *own = record + SCAN_WORDS * STRIP_GROUP_ID;
    own[0] = found.score;
    own[1] = found.row;
    own[2] = found.column;
    own[3] = found.top;
  }
}
