// Many pairs, one a lane: each lane walks its own matrix in blocks of R target columns, whose H and F
// stay in registers while the query's rows go by.  What a block leaves for the next one, H and E of
// every row, lies in the work-group's room.
//
// WANT 2 carries matches and columns of the canonical path forward: its choices depend on the exact
// values of one cell only, so what H, E and F of a cell inherit is known when they are.  DIRS stores
// them instead, for batch_walk.cl.
//
// pairs: first query letter, query length, first target letter, target length.  results, each for all
// pairs: score, query end, target end, matches, columns, whether a letter is outside the alphabet.
// places, for each group: its first row of moves (a row is R cells of each lane), rows of a block.

#define CELLS_A_WORD ((int)sizeof(el) * 2)  // of moves
#define WORDS (R / CELLS_A_WORD)

// H on the border, k letters from the corner.
INLINE int border(int open, int floor, int k, int gap_open, int gap_extend)
{
  return LOCAL ? floor : open || k == 0 ? 0 : -(gap_open + k * gap_extend);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
batch(__global const uchar *restrict text, __global const uchar *restrict codes,
      __global const int4 *restrict pairs, int count, int groups, __global int *counter,
      __global uchar *rooms, int room_size, int most_m, int most_n, int gap_open, int gap_extend,
      int floor, int ends, __global int *restrict results, __global const int2 *restrict places,
      __global el *restrict moves, SCORE_ARGS)
{
  const room_t room = room_of(rooms + (size_t)get_group_id(0) * room_size, most_m, most_n);
  const gap_t gap = gap_of(gap_open, gap_extend);
  const lv low = lv_all(floor);
  // what a gap's score must reach, below H, to go on: linear gaps have no state
  const lv stay = lv_all(gap_open ? gap_open : -1);
  subs_t subs = SCORE_GIVEN;

  for (int g = group_next(counter, -1); g < groups; g = group_next(counter, g)) {
    int m = 0, n = 0, least_m = INT_MAX, least_n = INT_MAX;
    EACH_LANE(l) {
      const int4 pair = pairs[min(g * LANES + l, count - 1)];
      room.m[l] = pair.y;
      room.n[l] = pair.w;
      m = max(m, pair.y);
      n = max(n, pair.w);
      least_m = min(least_m, pair.y);
      least_n = min(least_n, pair.w);
    }
    const int blocks = (n + R - 1) / R;
    EACH_LANE(l) {
      const int p = min(g * LANES + l, count - 1);
      const int4 pair = pairs[p];
      int wrong = pack(room.query, l, text + pair.x, pair.y, m, codes, QUERY_PAD);
      wrong |= pack(room.target, l, text + pair.z, pair.w, blocks * R, codes + 256, TARGET_PAD);
      results[(size_t)5 * count + p] = wrong;
    }

    for (int i = 1; i <= m; i++) {  // the left border
      const lv h = lv_all(border(ends & LEAD_TARGET, floor, i, gap_open, gap_extend));
      const size_t at = (size_t)(i - 1) * LANES;
      lv_store(room.h + at, h);
      lv_store(room.e + at, lv_sub(h, gap.first));
#if WANT == 2
      const int length = LOCAL || (ends & LEAD_TARGET) ? 0 : i;
      lv_store(room.same_h + at, lv_all(0));
      lv_store(room.same_e + at, lv_all(0));
      lv_store(room.long_h + at, lv_all(length));
      lv_store(room.long_e + at, lv_all(length + 1));
#endif
    }

    end_t end;
    end.row = end.column = lx_all(0);
#if WANT == 2
    end.same = end.length = lv_all(0);
#endif
#if LOCAL
    end.best = low;
#else
    const lx ms = lx_load(room.m), ns = lx_load(room.n);
    end.best = lv_all(LOWEST);
    // the best may be a cell of the border
    const lx top = lx_all(ends & LEAD_QUERY ? 0 : -1), left = lx_all(ends & LEAD_TARGET ? 0 : -1);
    if (ends & TRAIL_TARGET)
      end_offer(&end, lx_eq(ns, ns), top & -(ns * lx_all(gap_extend) + lx_all(gap_open)), lx_all(0), top & ns, lx_all(0), ns);
    if (ends & TRAIL_QUERY)
      end_offer(&end, lx_eq(ms, ms), left & -(ms * lx_all(gap_extend) + lx_all(gap_open)), lx_all(0), left & ms, ms, lx_all(0));
#endif

    for (int b = 0; b < blocks; b++) {
      const int column = b * R + 1;
      lv up[R], f[R], t[R];
#if WANT == 2
      lv same_up[R], long_up[R], same_f[R], long_f[R];
      lv same_diagonal = lv_all(0), long_diagonal = lv_all(LOCAL || (ends & LEAD_QUERY) ? 0 : b * R);
#endif
      EACH_COLUMN(r) {
        up[r] = lv_all(border(ends & LEAD_QUERY, floor, column + r, gap_open, gap_extend));
        f[r] = lv_sub(up[r], gap.first);
        t[r] = codes_load(room.target + (size_t)(b * R + r) * LANES);
#if WANT == 2
        const int length = LOCAL || (ends & LEAD_QUERY) ? 0 : column + r;
        same_up[r] = same_f[r] = lv_all(0);
        long_up[r] = lv_all(length);
        long_f[r] = lv_all(length + 1);
#endif
      }
      subs_block(&subs, room.profile, room.target + (size_t)b * R * LANES);
      lv before = lv_all(border(ends & LEAD_QUERY, floor, b * R, gap_open, gap_extend));
#if LOCAL && WANT
      end.bar = lv_max(lv_sub(end.best, lv_all(1)), low);
#endif

      for (int i = 1; i <= m; i++) {
        const size_t at = (size_t)(i - 1) * LANES;
        lv diagonal = before, e = lv_load(room.e + at), scores[R];
        before = lv_load(room.h + at);
        subs_row(&subs, room.profile, room.query + at, t, scores);
        row_t row;
#if WANT == 2
        const lv q = codes_load(room.query + at);
        lv same_d = same_diagonal, long_d = long_diagonal;
        lv same_e = lv_load(room.same_e + at), long_e = lv_load(room.long_e + at);
        same_diagonal = lv_load(room.same_h + at);
        long_diagonal = lv_load(room.long_h + at);
#endif
#if DIRS
        lv word[WORDS];
#endif
        EACH_COLUMN(r) {
#if WANT == 2 || DIRS
          const lv e_here = e, f_here = f[r];
#endif
          // E of a row is what one cell waits for the other on: it comes last
          const lv h = compute_cell(diagonal, scores[r], gap, low, &f[r], &e);
          row.h[r] = h;
          diagonal = up[r];
          up[r] = h;
#if WANT == 2 || DIRS
          const lm not_f = lm_less(f_here, h), not_e = lm_less(e_here, h);
          const lv least = lv_sub(h, stay);
          const lm shut_e = lm_less(e_here, least), shut_f = lm_less(f_here, least);
#endif
#if WANT == 2
          same_d = lv_add(same_d, lv_pick(lm_eq(q, t[r]), lv_all(1), lv_all(0)));
          long_d = lv_add(long_d, lv_all(1));
          lv same = lv_pick(not_f, lv_pick(not_e, same_d, same_e), same_f[r]);
          lv length = lv_pick(not_f, lv_pick(not_e, long_d, long_e), long_f[r]);
#if LOCAL
          same = lv_pick(lm_less(low, h), same, lv_all(0));
          length = lv_pick(lm_less(low, h), length, lv_all(0));
#endif
          same_e = lv_pick(shut_e, same, same_e);
          long_e = lv_add(lv_pick(shut_e, length, long_e), lv_all(1));
          same_f[r] = lv_pick(shut_f, same, same_f[r]);
          long_f[r] = lv_add(lv_pick(shut_f, length, long_f[r]), lv_all(1));
          same_d = same_up[r];
          long_d = long_up[r];
          row.same[r] = same_up[r] = same;
          row.length[r] = long_up[r] = length;
#endif
#if DIRS
          // as in strip.clh: 2 bits where H comes from (0 floor, 1 diagonal, 2 E, 3 F), 1 bit each:
          // E, F goes on
          const int shift = 4 * (r % CELLS_A_WORD);
          lv move = lv_pick(not_f, lv_pick(not_e, lv_all(1 << shift), lv_all(2 << shift)), lv_all(3 << shift));
#if LOCAL
          move = lv_pick(lm_less(low, h), move, lv_all(0));
#endif
          move |= lv_pick(shut_e, lv_all(0), lv_all(4 << shift)) | lv_pick(shut_f, lv_all(0), lv_all(8 << shift));
          word[r / CELLS_A_WORD] = r % CELLS_A_WORD ? word[r / CELLS_A_WORD] | move : move;
#endif
        }
        lv_store(room.h + at, up[R - 1]);
        lv_store(room.e + at, e);
#if WANT == 2
        lv_store(room.same_h + at, same_up[R - 1]);
        lv_store(room.long_h + at, long_up[R - 1]);
        lv_store(room.same_e + at, same_e);
        lv_store(room.long_e + at, long_e);
#endif
#if DIRS
        const size_t place = ((size_t)places[g].x + (size_t)b * places[g].y + i - 1) * WORDS * LANES;
#pragma unroll
        for (int w = 0; w < WORDS; w++) lv_store(moves + place + w * LANES, word[w]);
#endif
#if LOCAL
        lv top = row.h[0];
#pragma unroll
        for (int r = 1; r < R; r++) top = lv_max(top, row.h[r]);
#if WANT
        if (lm_any(lm_less(end.bar, top))) end_look(&end, &row, top, i, column);
#else
        end.best = lv_max(end.best, top);
#endif
#else
        const bool bottom = i >= least_m, right = column + R > least_n;
        if ((bottom && right) || (bottom && (ends & TRAIL_QUERY)) || (right && (ends & TRAIL_TARGET)))
          end_row(&end, &row, ms, ns, i, column, ends);
#endif
      }
    }

    // through the room, to have each lane's value
    lv_store(room.h, end.best);
    lx_store(room.m, end.row);
    lx_store(room.n, end.column);
#if WANT == 2
    lv_store(room.e, end.same);
    lv_store(room.same_h, end.length);
#endif
    EACH_LANE(l) {
      const size_t p = min(g * LANES + l, count - 1), all = count;
      results[p] = room.h[l] - (LOCAL ? floor : 0);
      results[all + p] = room.m[l];
      results[2 * all + p] = room.n[l];
#if WANT == 2
      results[3 * all + p] = room.e[l];
      results[4 * all + p] = room.same_h[l];
#endif
    }
  }
}
