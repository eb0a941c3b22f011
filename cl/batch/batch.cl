// A pair batch: many pairs, one in each lane.  Each lane sweeps its own matrix in panels of R target columns.  H and F
// of a panel's columns stay in registers while the sweep goes down the query's rows.  H and E of every row, which the
// next panel needs, are in the work-group's scratch.
//
// WANT 2 also carries two counts of the canonical path forward: matches and columns.  The path's choices at a cell
// depend only on exact values of that cell, so the counts that H, E and F of a cell inherit are known as soon as
// these are.  STORE_MOVES stores the choices as moves instead, for batch_traceback.cl.
//
// BOXES: the pairs are parts of local matrices, and H above and to the left of each is the most that it can be there:
// `tiles/tile.py` (Box).  Any gap may lead in, so E and F are as high.
// Needs: base.clh, batch/base.clh, a lanes file and a score file of batch/, recurrence.clh, batch/scratch.clh,
// batch/endpoint.clh, batch/starts.clh.  Reads R, LOCAL, WANT, STORE_MOVES, STARTS, TOPS, WIDTH.
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
//   levels, rise: per box the most that H is above it, and to its left; in the column left of its first one, and in the
//     row above its first one, from where it rises at most by `rise` a column and a row.

#define CELLS_A_WORD ((int)sizeof(el) * 2)  // of moves
#define WORDS (R / CELLS_A_WORD)

#if BOXES
#define BOX_ARGS __global const int4 *restrict levels, int rise,
// H k letters from the corner, and what a gap has there that leads into the box.
INLINE lv box_border(lv most, lv first, int rise, int k) { return lv_min(most, lv_add(first, lv_splat(k * rise))); }
INLINE lv box_gap(lv h, lv low, gap_t gap)
{
  return lv_sub(h, lv_select(lm_less(low, h), gap.extend, gap.first));
}
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

// H on the border, k letters from the corner.
INLINE int border(int open, int floor, int k, int gap_open, int gap_extend)
{
  return LOCAL ? floor : open || k == 0 ? 0 : -(gap_open + k * gap_extend);
}

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
    int m = 0, n = 0, least_m = INT_MAX, least_n = INT_MAX;
    EACH_LANE(l) {
      const int4 pair = pairs[min(g * LANES + l, count - 1)];
      scratch.m[l] = pair.y;
      scratch.n[l] = pair.w;
      m = max(m, pair.y);
      n = max(n, pair.w);
      least_m = min(least_m, pair.y);
      least_n = min(least_n, pair.w);
    }
    const int panels = (n + R - 1) / R;
#if BOXES
    const int encoded = 0;
#else
    const int encoded = keep == 2;
    if (keep) {
      scratch.query = kept + kept_at[g];
      scratch.target = scratch.query + (size_t)m * LANES;
    }
#endif
#if GROUP == 1
    int starts[2][LANES], lengths[2][LANES];
    ulong wrong[LANES];
    EACH_LANE(l) {
      const int4 pair = pairs[min(g * LANES + l, count - 1)];
      starts[0][l] = pair.x;
      lengths[0][l] = pair.y;
      starts[1][l] = pair.z;
      lengths[1][l] = pair.w;
      wrong[l] = 0;
    }
    if (!encoded) {
      encode_side(scratch.query, text, starts[0], lengths[0], m, codes, QUERY_PAD, wrong);
      encode_side(scratch.target, text, starts[1], lengths[1], panels * R, codes + 256, TARGET_PAD, wrong);
    }
    EACH_LANE(l) results[(size_t)5 * count + min(g * LANES + l, count - 1)] = (wrong[l] & NO_CODES) != 0;
#else
    EACH_LANE(l) {
      const int p = min(g * LANES + l, count - 1);
      const int4 pair = pairs[p];
      int wrong = 0;
      if (!encoded) {
        wrong = encode_letters(scratch.query, l, text + pair.x, pair.y, m, codes, QUERY_PAD);
        wrong |= encode_letters(scratch.target, l, text + pair.z, pair.w, panels * R, codes + 256, TARGET_PAD);
      }
      results[(size_t)5 * count + p] = wrong;
    }
#endif

#if BOXES
    EACH_LANE(l) {
      const int4 level = levels[min(g * LANES + l, count - 1)] + (int4)(floor);
      scratch.levels[l] = level.x;
      scratch.levels[LANES + l] = level.y;
      scratch.levels[2 * LANES + l] = level.z;
      scratch.levels[3 * LANES + l] = level.w;
    }
    const lv most_above = lv_load(scratch.levels), most_left = lv_load(scratch.levels + LANES);
    const lv first_above = lv_load(scratch.levels + 2 * LANES), first_left = lv_load(scratch.levels + 3 * LANES);
#endif
#if TOPS
    __global el *row_tops = tops + tops_at[g].x * LANES, *column_tops = tops + tops_at[g].y * LANES;
    for (int i = 0; i < m; i++) lv_store(row_tops + (size_t)i * LANES, lv_splat(LOWEST));
    const lx own_m = lx_load(scratch.m), own_n = lx_load(scratch.n);
#endif
    for (int i = 1; i <= m; i++) {  // the left border
#if BOXES
      const lv h = box_border(most_left, first_left, rise, i), e = box_gap(h, low, gap);
#else
      const lv h = lv_splat(border(ends & LEAD_TARGET, floor, i, gap_open, gap_extend)), e = lv_sub(h, gap.first);
#endif
      const size_t at = (size_t)(i - 1) * LANES;
      lv_store(scratch.h + at, h);
      lv_store(scratch.e + at, e);
#if WANT == 2
      const int length = LOCAL || (ends & LEAD_TARGET) ? 0 : i;
      lv_store(scratch.matches_h + at, lv_splat(0));
      lv_store(scratch.matches_e + at, lv_splat(0));
      lv_store(scratch.length_h + at, lv_splat(length));
      lv_store(scratch.length_e + at, lv_splat(length + 1));
#endif
    }

    endpoint_t end;
    end.row = end.column = lx_splat(0);
#if WANT == 2
    end.matches = end.length = lv_splat(0);
#endif
#if LOCAL
    end.best = low;
#else
    const lx ms = lx_load(scratch.m), ns = lx_load(scratch.n);
    end.best = lv_splat(LOWEST);
    // The path may end at a cell of the border.
    const lx top = lx_splat(ends & LEAD_QUERY ? 0 : -1), left = lx_splat(ends & LEAD_TARGET ? 0 : -1);
    if (ends & TRAIL_TARGET)
      endpoint_offer(&end, lx_eq(ns, ns), lv_of(top & -(ns * lx_splat(gap_extend) + lx_splat(gap_open))),
                     lv_splat(0), lv_of(top & ns), lx_splat(0), ns);
    if (ends & TRAIL_QUERY)
      endpoint_offer(&end, lx_eq(ms, ms), lv_of(left & -(ms * lx_splat(gap_extend) + lx_splat(gap_open))),
                     lv_splat(0), lv_of(left & ms), ms, lx_splat(0));
#endif

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
#if BOXES
        up[r] = box_border(most_above, first_above, rise, column + r);
        f[r] = box_gap(up[r], low, gap);
#else
        up[r] = lv_splat(border(ends & LEAD_QUERY, floor, column + r, gap_open, gap_extend));
        f[r] = lv_sub(up[r], gap.first);
#endif
        t[r] = codes_load(scratch.target + (size_t)(panel * R + r) * LANES);
#if WANT == 2
        const int length = LOCAL || (ends & LEAD_QUERY) ? 0 : column + r;
        matches_up[r] = matches_f[r] = lv_splat(0);
        length_up[r] = lv_splat(length);
        length_f[r] = lv_splat(length + 1);
#endif
      }
      subs_panel(&subs, scratch.profile, scratch.target + (size_t)panel * R * LANES);
#if BOXES
      lv before = panel ? box_border(most_above, first_above, rise, panel * R) : lv_min(most_above, most_left);
#else
      lv before = lv_splat(border(ends & LEAD_QUERY, floor, panel * R, gap_open, gap_extend));
#endif
#if LOCAL && WANT
      end.threshold = lv_max(lv_sub(end.best, lv_splat(1)), low);
#endif

#if AHEAD
      lv h_next = lv_load(scratch.h), e_next = lv_load(scratch.e);
      letters_t letters_next = letters_load(scratch.query);
#endif
#if WINDOWS  // rows outside it keep the floor, which is not above their H
      const int2 window = near ? window_rows(near, gap_extend, (int2)(least_m, m), (int2)(least_n, n), column, column + R - 1)
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
        lv e = e_next;
        before = h_next;
        h_next = lv_load(scratch.h + next);
        e_next = lv_load(scratch.e + next);
        letters_next = letters_load(scratch.query + next);
#else
        const letters_t letters = letters_load(scratch.query + at);
        lv e = lv_load(scratch.e + at);
        before = lv_load(scratch.h + at);
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
#if WANT == 2 || STORE_MOVES
          const lv e_here = e, f_here = f[r];
#endif
          // A row's cells depend on each other by E, so E is the last operand: it is needed last.
          const lv h = compute_cell(diagonal, scores[r], gap, low, &f[r], &e);
          row.h[r] = h;
          diagonal = up[r];
          up[r] = h;
#if WANT == 2
          const lm not_f = lm_less(f_here, h), not_e = lm_less(e_here, h);
          const lv least = lv_sub(h, stay);
          const lm shut_e = lm_less(e_here, least), shut_f = lm_less(f_here, least);
          matches_d = lv_add(matches_d, lv_select(lm_eq(q, t[r]), lv_splat(1), lv_splat(0)));
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
        lv_store(scratch.e + at, e);
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
        lv row_top = lv_load(row_tops + at);
        const bool all_end = LOCAL && i <= least_m && column + R - 1 <= least_n;
        EACH_COLUMN(r) {
          lv h = row.h[r];
          if (!all_end) h = lv_select(may_end(own_m, own_n, i, column + r, ends), h, lv_splat(LOWEST));
          row_top = lv_max(row_top, h);
          tops_here[r] = lv_max(tops_here[r], h);
        }
        lv_store(row_tops + at, row_top);
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
        const bool bottom = i >= least_m, right = column + R > least_n;
        if ((bottom && right) || (bottom && (ends & TRAIL_QUERY)) || (right && (ends & TRAIL_TARGET)))
          endpoint_row(&end, &row, ms, ns, i, column, ends);
#endif
      }
#if TOPS
      EACH_COLUMN(r) lv_store(column_tops + (size_t)(panel * R + r) * LANES, tops_here[r]);
#endif
    }

    // Each lane's value is read back from the scratch.
    lv_store(scratch.h, end.best);
    lx_store(scratch.m, end.row);
    lx_store(scratch.n, end.column);
#if WANT == 2
    lv_store(scratch.e, end.matches);
    lv_store(scratch.matches_h, end.length);
#endif
    EACH_LANE(l) {
      const size_t p = min(g * LANES + l, count - 1), all = count;
      results[p] = scratch.h[l] - (LOCAL ? floor : 0);
      results[all + p] = scratch.m[l];
      results[2 * all + p] = scratch.n[l];
#if WANT == 2
      results[3 * all + p] = scratch.e[l];
      results[4 * all + p] = scratch.matches_h[l];
#endif
    }
#if STARTS
    lx rows, columns;
    find_starts(&scratch, &subs, gap, low, end.best, m, panels, &rows, &columns);
    lx_store(scratch.m, rows);
    lx_store(scratch.n, columns);
    EACH_LANE(l) {
      const size_t p = min(g * LANES + l, count - 1), all = count;
      results[3 * all + p] = scratch.m[l];
      results[4 * all + p] = scratch.n[l];
    }
#endif
  }
}
