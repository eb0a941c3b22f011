// A pair batch: many pairs, one in each lane.  Each lane sweeps its own matrix in panels of R target columns.  H and F
// of a panel's columns stay in registers while the sweep goes down the query's rows.  H and E of every row, which the
// next panel needs, are in the work-group's scratch.
//
// WANT 2 also carries two counts of the canonical path forward: matches and columns.  The path's choices at a cell
// depend only on exact values of that cell, so the counts that H, E and F of a cell inherit are known as soon as
// these are.  STORE_MOVES stores the choices as moves instead, for batch_traceback.cl.
//
// (The sweep of a row stays in the kernel: as a function of its own it takes a fifth longer on a CPU, because its vectors
// leave the registers.)
// Needs: base.clh, batch/base.clh, a lanes file and a score file of batch/, recurrence.clh, batch/scratch.clh,
// batch/encode.clh, batch/endpoint.clh, batch/starts.clh, batch/borders.clh, batch/group.clh.
// Reads R, LOCAL, WANT, STORE_MOVES, STARTS, TOPS, BOXES, SETS, LINEAR.
//
// Arguments:
//   pairs: per pair its first query letter, query length, first target letter, target length.
//   results: for all pairs the score, then for all the query end, target end, matches, columns, and whether a letter
//     is outside the alphabet.  STARTS: instead of matches and columns the rows and columns before the end in which
//     the path is.
//   places: per group of pairs its first row of moves (a row is R cells of each lane), the rows of a panel, and two
//     numbers for batch_traceback.cl.
//   keep, kept, kept_at: whether codes are kept from launch to launch (0: no; 1: this launch makes them; 2: they are
//     there), where, and per group of pairs its first byte there.
//   near: the highest score if each pair ends where its best path ends, and paths are all that is wanted; else 0.
//   tops, tops_at: TOPS: per group of pairs the highest score of an end in each row and in each column, a line of lanes each,
//     and the first line of its rows and of its columns; only rows and columns of a lane's own pair count.
//   levels, rise: BOXES: see batch/borders.clh.

#define CELLS_A_WORD ((int)sizeof(el) * 2)  // of moves
#define WORDS (R / CELLS_A_WORD)

#if BOXES
#define BOX_ARGS __global const int4 *restrict levels, int rise,
#else
#define BOX_ARGS int keep, __global uchar *kept, __global const long *restrict kept_at, int near,
#endif

#if TOPS
#define TOP_ARGS __global el *restrict tops, __global const long2 *restrict tops_at,
#else
#define TOP_ARGS
#endif

#define WINDOWS (GROUP == 1 && LOCAL && STORE_MOVES && !BOXES)
#if WINDOWS
// The rows of columns `from` to `to` that a path to the last letters of a pair can pass (docs/algorithm.md, Many pairs).
// m, n: (fewest, most) letters of the group's pairs.
INLINE int2 window_rows(long highest, long extend, int2 m, int2 n, int from, int to)
{
  const long right = max(n.x - to, 0), left = n.y - from;  // columns that follow: fewest, most
  const long most = left + left * highest / extend, least = (right * extend + highest + extend - 1) / (highest + extend);
  return (int2)((int)max(m.x - most, 1L), (int)(m.y - least));
}
#endif

// The sweep of a row is not a function of its own: PoCL spills more of its registers then, and paths take 1.2 times as
// long (docs/ideas.md).
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
batch(__global const uchar *restrict text, __global const uchar *restrict codes,
      __global const int4 *restrict pairs, int count, int groups, __global int *counter,
      __global uchar *scratch_memory, int scratch_size, int most_m, int most_n, int gap_open, int gap_extend,
      int floor, int ends, __global int *restrict results, __global const int4 *restrict places,
      __global el *restrict moves, BOX_ARGS TOP_ARGS SCORE_ARGS)
{
  scratch_t scratch = scratch_of(scratch_memory + (size_t)get_group_id(0) * scratch_size, most_m, most_n);
  const gap_t gap = gap_of(gap_open, gap_extend);
  const lv low = lv_splat(floor);
#if WANT == 2  // a gap is extended if E or F is at least H - stay; with linear gaps none is: they have no state
  const lv stay = lv_splat(gap_open ? gap_open : -1);
#endif
  SCORE_BEGIN(subs)

  for (int g = group_next(counter, -1); g < groups; g = group_next(counter, g)) {
    const int first = g * LANES;
    const lengths_t of = lengths_of(&scratch, pairs, first, count);
    const int m = of.m, panels = (of.n + R - 1) / R;
#if BOXES
    const bool encoded = false;
#else
    const bool encoded = keep == 2;
    if (keep) {
      scratch.query = kept + kept_at[g];
      scratch.target = scratch.query + (size_t)m * LANES;
    }
#endif
    encode_group(&scratch, text, codes, pairs, first, count, m, panels * R, encoded, results);
#if BOXES
    const borders_t borders = borders_of(&scratch, levels, rise, first, count, floor, gap);
#else
    const borders_t borders = {ends, floor, gap_open, gap_extend, gap};
#endif
    const lx ms = lx_load(scratch.m), ns = lx_load(scratch.n);
#if TOPS
    __global el *tops_of_rows = tops + tops_at[g].x * LANES, *tops_of_columns = tops + tops_at[g].y * LANES;
    for (int i = 0; i < m; i++) lv_store(tops_of_rows + (size_t)i * LANES, lv_splat(LOWEST));
#endif
    begin_rows(&scratch, &borders, m, ends);
    endpoint_t end = endpoint_begin(low, ms, ns, gap_open, gap_extend, ends);

    for (int panel = 0; panel < panels; panel++) {
      const int column = panel * R + 1;
      lv up[R], f[R], t[R];
#if TOPS
      lv tops_here[R];
      EACH_COLUMN(r) tops_here[r] = lv_splat(LOWEST);
#endif
#if WANT == 2
      lv matches_up[R], length_up[R], matches_f[R], length_f[R];
      lv matches_diagonal = lv_splat(0), length_diagonal = lv_splat(LOCAL || (ends & LEAD_QUERY) ? 0 : panel * R);
#endif
      EACH_COLUMN(r) {
        up[r] = border_above(&borders, column + r);
        f[r] = border_gap(&borders, up[r]);
        t[r] = codes_load(scratch.target + (size_t)(panel * R + r) * LANES);
#if WANT == 2
        const int length = LOCAL || (ends & LEAD_QUERY) ? 0 : column + r;
        matches_up[r] = matches_f[r] = lv_splat(0);
        length_up[r] = lv_splat(length);
        length_f[r] = lv_splat(length + 1);
#endif
      }
      subs_panel(&subs, scratch.profile, scratch.target + (size_t)panel * R * LANES);
      lv before = border_corner(&borders, panel * R);
#if LOCAL && WANT
      end.threshold = lv_max(lv_sub(end.best, lv_splat(1)), low);
#endif

#if AHEAD
      lv h_next = lv_load(scratch.h);
#if !LINEAR
      lv e_next = lv_load(scratch.e);
#endif
      letters_t letters_next = letters_load(scratch.query);
#endif
#if WINDOWS  // rows outside it keep the floor, which is not above their H
      const int2 window = near ? window_rows(near, gap_extend, (int2)(of.least_m, m), (int2)(of.least_n, of.n), column,
                                             column + R - 1)
                               : (int2)(1, m);
      if (window.x > 1 && window.x <= window.y) before = lv_load(scratch.h + (size_t)(window.x - 2) * LANES);
#else
      const int2 window = (int2)(1, m);
#endif
      for (int i = window.x; i <= window.y; i++) {
        const size_t at = (size_t)(i - 1) * LANES;
        lv diagonal = before, scores[R];
#if AHEAD
        const size_t next = (size_t)min(i, m - 1) * LANES;
        const letters_t letters = letters_next;
        before = h_next;
        h_next = lv_load(scratch.h + next);
#if !LINEAR
        lv e = e_next;
        e_next = lv_load(scratch.e + next);
#endif
        letters_next = letters_load(scratch.query + next);
#else
        const letters_t letters = letters_load(scratch.query + at);
#if !LINEAR
        lv e = lv_load(scratch.e + at);
#endif
        before = lv_load(scratch.h + at);
#endif
#if LINEAR
        lv e = lv_sub(before, gap.extend);
#endif
#ifdef SCORE_ROW
        SCORE_ROW(subs, i - 1)
#endif
        subs_row(&subs, scratch.profile, letters, t, scores);
        row_t row;
#if WANT == 2
        const lv q = letters_codes(letters);
        lv matches_d = matches_diagonal, length_d = length_diagonal;
        lv matches_e = lv_load(scratch.matches_e + at), length_e = lv_load(scratch.length_e + at);
        matches_diagonal = lv_load(scratch.matches_h + at);
        length_diagonal = lv_load(scratch.length_h + at);
#endif
#if STORE_MOVES
        lv word[WORDS];
#endif
        EACH_COLUMN(r) {
#if LINEAR  // made of H here, so that it needs no register from row to row
          f[r] = lv_sub(up[r], gap.extend);
#endif
#if WANT == 2 || STORE_MOVES
          const lv e_here = e, f_here = f[r];
#endif
          // A row's cells depend on each other by E, so E is the last operand: it is needed last.
          const lv h = compute_cell(diagonal, scores[r], gap, low, &f[r], &e);
#if LINEAR
          e = lv_sub(h, gap.extend);
#endif
          row.h[r] = h;
          diagonal = up[r];
          up[r] = h;
#if WANT == 2
          const lm not_f = lm_less(f_here, h), not_e = lm_less(e_here, h);
          const lv least = lv_sub(h, stay);
          const lm shut_e = lm_less(e_here, least), shut_f = lm_less(f_here, least);
#if SETS
          matches_d = lv_add(matches_d, lv_select(lm_eq(q & t[r], lv_splat(0)), lv_splat(0), lv_splat(1)));
#else
          matches_d = lv_add(matches_d, lv_select(lm_eq(q, t[r]), lv_splat(1), lv_splat(0)));
#endif
          length_d = lv_add(length_d, lv_splat(1));
          lv matches = lv_select(not_f, lv_select(not_e, matches_d, matches_e), matches_f[r]);
          lv length = lv_select(not_f, lv_select(not_e, length_d, length_e), length_f[r]);
#if LOCAL
          matches = lv_select(lm_less(low, h), matches, lv_splat(0));
          length = lv_select(lm_less(low, h), length, lv_splat(0));
#endif
          matches_e = lv_select(shut_e, matches, matches_e);
          length_e = lv_add(lv_select(shut_e, length, length_e), lv_splat(1));
          matches_f[r] = lv_select(shut_f, matches, matches_f[r]);
          length_f[r] = lv_add(lv_select(shut_f, length, length_f[r]), lv_splat(1));
          matches_d = matches_up[r];
          length_d = length_up[r];
          row.matches[r] = matches_up[r] = matches;
          row.length[r] = length_up[r] = length;
#endif
#if STORE_MOVES
          // 4 bits, of which those of the state that a path is in count: H is not F; H is not E; the next E is not E
          // extended; the next F is not F extended.  Boxes: H is the floor where the first two are 0.
          const int shift = 4 * (r % CELLS_A_WORD);
          lv move = r % CELLS_A_WORD ? word[r / CELLS_A_WORD] : lv_splat(0);
#if BOXES
          const lv in_e = lv_mark(lv_splat(MOVE_NOT_F << shift), h, e_here, MOVE_NOT_E << shift);
          const lv from = lv_select(lm_eq(h, f_here), lv_splat(MOVE_NOT_E << shift), in_e);
          move |= lv_select(lm_less(low, h), from, lv_splat(0));
#else
          move = lv_mark(move, h, f_here, MOVE_NOT_F << shift);
          move = lv_mark(move, h, e_here, MOVE_NOT_E << shift);
#endif
          move = lv_mark(move, e, lv_sub(e_here, gap.extend), MOVE_E_OPENS << shift);
          word[r / CELLS_A_WORD] = lv_mark(move, f[r], lv_sub(f_here, gap.extend), MOVE_F_OPENS << shift);
#endif
        }
        lv_store(scratch.h + at, up[R - 1]);
#if !LINEAR
        lv_store(scratch.e + at, e);
#endif
#if WANT == 2
        lv_store(scratch.matches_h + at, matches_up[R - 1]);
        lv_store(scratch.length_h + at, length_up[R - 1]);
        lv_store(scratch.matches_e + at, matches_e);
        lv_store(scratch.length_e + at, length_e);
#endif
#if STORE_MOVES
        const size_t place = ((size_t)places[g].x + (size_t)panel * places[g].y + i - 1) * WORDS * LANES;
#pragma unroll
        for (int w = 0; w < WORDS; w++) lv_store(moves + place + w * LANES, word[w]);
#endif
#if TOPS
        lv row_top = lv_load(tops_of_rows + at);
        const bool all_end = LOCAL && i <= of.least_m && column + R - 1 <= of.least_n;
        EACH_COLUMN(r) {
          lv h = row.h[r];
          if (!all_end) h = lv_select(may_end(ms, ns, i, column + r, ends), h, lv_splat(LOWEST));
          row_top = lv_max(row_top, h);
          tops_here[r] = lv_max(tops_here[r], h);
        }
        lv_store(tops_of_rows + at, row_top);
#endif
#if LOCAL
        lv top = row.h[0];
#pragma unroll
        for (int r = 1; r < R; r++) top = lv_max(top, row.h[r]);
#if WANT
        if (lm_any(lm_less(end.threshold, top))) endpoint_improve(&end, &row, top, i, column);
#else
        end.best = lv_max(end.best, top);
#endif
#else
        const bool bottom = i >= of.least_m, right = column + R > of.least_n;
        if ((bottom && right) || (bottom && (ends & TRAIL_QUERY)) || (right && (ends & TRAIL_TARGET)))
          endpoint_row(&end, &row, ms, ns, i, column, ends);
#endif
      }
#if TOPS
      EACH_COLUMN(r) lv_store(tops_of_columns + (size_t)(panel * R + r) * LANES, tops_here[r]);
#endif
    }

    store_results(&scratch, &end, first, count, floor, results);
#if STARTS
    lx rows, columns;
    find_starts(&scratch, &subs, gap, low, end.best, m, panels, &rows, &columns);
    lx_store(scratch.m, rows);
    lx_store(scratch.n, columns);
    EACH_LANE(l) {
      const size_t p = min(first + l, count - 1), all = count;
      results[3 * all + p] = scratch.m[l];
      results[4 * all + p] = scratch.n[l];
    }
#endif
  }
}
