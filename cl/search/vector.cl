// One query against many subjects on a CPU: a thread sweeps LANES subjects at once, one in each element of a vector.  As
// all lanes have the same query, the scores of a row against R subject letters of every lane are the same for all rows with
// the same query letter.  They are made once a panel (the sequence profile of SWIPE: Rognes 2011), and a row only loads
// them.  H and F of a panel's columns stay in registers; H and E of every row, which the next panel needs, are in the
// thread's scratch.
//
// In local mode a lane takes its next subject as soon as it has swept one.  Then its part of the rows begins anew.
// Needs: base.clh, batch/base.clh, batch/vector.clh, batch/permute.clh, search/saturate.clh, recurrence.clh,
// batch/borders.clh, batch/encode.clh, batch/endpoint.clh.
// Reads R (4 or 8), LOCAL, BYTES.
//
// Arguments:
//   codes, starts, lengths: codes of the letters of all subjects, with 8 more letters behind them, and of each subject
//     the first one and how many.
//   order, bounds: the subjects that are swept, lane after lane, and where those of each lane begin.
//   query, m, kinds: of each of m rows its kind; rows of a kind have the same scores.
//   matrix: the scores of kind k with code c are at 32 k + c; those of padding, code 31, are the lowest ones.
//   scores: of each subject that is swept.

#ifndef BYTES     // 1: the scores fit a byte
#define BYTES 1
#endif
#if BYTES
typedef char score_t;
#else
typedef int score_t;
#endif
#define PADDING 31
#define AT_ONCE 8  // letters of a lane that are loaded at once

typedef union { lv v; el each[LANES]; } own_t;
typedef union { lx v; xel each[LANES]; } own_index_t;

// What the lanes of a group do: the letters of each that are left, its subject (-1: none), and its next ones.
typedef struct {
  int left[LANES], subject[LANES], next[LANES], stop[LANES];
  long letter[LANES];
  int most;  // letters that are left in any lane
  int until; // letters after which a lane has swept its subject
} streams_t;

// Takes the next subject of lane l.  Returns whether there is one.
INLINE bool stream_next(streams_t *s, int l, __global const long *starts, __global const int *lengths,
                        __global const int *order)
{
  const bool any = s->next[l] < s->stop[l];
  s->subject[l] = any ? order[s->next[l]++] : -1;
  s->left[l] = any ? lengths[s->subject[l]] : 0;
  s->letter[l] = any ? starts[s->subject[l]] : 0;
  return any;
}

INLINE void stream_count(streams_t *s)
{
  s->most = 0;
  s->until = INT_MAX;
  EACH_LANE(l) {
    s->most = max(s->most, s->left[l]);
    if (s->subject[l] >= 0) s->until = min(s->until, s->left[l]);
  }
}

// Loads the next letters of all lanes, a row of lanes for each.
INLINE void stream_load(streams_t *s, __global const uchar *codes, __global uchar *rows)
{
  const ulong pads = 0x0101010101010101ul * PADDING;
  ulong words[LANES < 32 ? 32 : LANES];
  for (int l = LANES; l < 32; l++) words[l] = 0;
  EACH_LANE(l) words[l] = *(__global const word_anywhere *)(codes + s->letter[l]);
  if (LOCAL && s->until >= AT_ONCE) {  // (lanes without a subject read any letters, as many as the longest subject has)
    EACH_LANE(l) s->letter[l] += AT_ONCE;
  } else {
    EACH_LANE(l) {
      const int count = clamp(s->left[l], 0, AT_ONCE);
      if (count == AT_ONCE)
        s->letter[l] += AT_ONCE;
      else
        words[l] = count ? (words[l] & ~(~0ul << 8 * count)) | pads << 8 * count : pads;
    }
  }
  EACH_LANE(l) s->left[l] -= AT_ONCE;
  encode_split(rows, words, AT_ONCE);
  s->most -= AT_ONCE;
  s->until -= AT_ONCE;
}

// The scores of each kind of row against the R letters of a panel.
INLINE void make_profile(__global el *profile, __global const uchar *letters, __global const score_t *matrix, int kinds)
{
  for (int k = 0; k < kinds; k++, profile += R * LANES, matrix += 32) {
#if BYTES && defined(PERMUTES)
    const permuted_t row = permuted_of(matrix);
    EACH_COLUMN(r) lv_store(profile + r * LANES, lv_permuted(row, codes_load(letters + r * LANES)));
#else
    for (int c = 0; c < R * LANES; c++) profile[c] = (el)matrix[letters[c]];
#endif
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
search(__global const uchar *restrict codes, __global const long *restrict starts, __global const int *restrict lengths,
       __global const int *restrict order, __global const int *restrict bounds, int groups, volatile __global int *counter,
       __global const ushort *restrict query, int m, int kinds, __global const score_t *restrict matrix,
       __global uchar *scratch, int scratch_size, int gap_open, int gap_extend, int floor, int ends,
       __global int *restrict scores)
{
  __global el *hs = (__global el *)(scratch + (size_t)get_group_id(0) * scratch_size), *es = hs + (size_t)m * LANES;
  __global el *profile = es + (size_t)m * LANES;
  __global uchar *letters = (__global uchar *)(profile + (size_t)kinds * R * LANES);
  const gap_t gap = gap_of(gap_open, gap_extend);
#if LOCAL && SATURATES
  floor = LOWEST;  // below which no sum falls: then the maximum with it is left out
  const lv low = lv_splat(LOWEST);
#else
  const lv low = lv_splat(floor);
#endif
  const borders_t borders = {ends, floor, gap_open, gap_extend, gap};

  for (int g = group_next(counter, -1); g < groups; g = group_next(counter, g)) {
    streams_t s;
    own_t found;
    EACH_LANE(l) {
      s.next[l] = bounds[g * LANES + l];
      s.stop[l] = bounds[g * LANES + l + 1];
      stream_next(&s, l, starts, lengths, order);
    }
    stream_count(&s);
    for (int i = 0; i < m; i++) {
      const lv h = border_left(&borders, i + 1);
      lv_store(hs + (size_t)i * LANES, h);
      lv_store(es + (size_t)i * LANES, border_gap(&borders, h));
    }
#if LOCAL
    lv best = low;
#else
    own_index_t ns;
    EACH_LANE(l) ns.each[l] = s.left[l];
    const int least = s.until;
    endpoint_t end = endpoint_begin(low, lx_splat(m), ns.v, gap_open, gap_extend, ends);
#endif
    for (int column = 1; s.most > 0; column += AT_ONCE) {
      const int most = s.most;
      stream_load(&s, codes, letters);
      for (int from = 0; from < AT_ONCE && from < most; from += R) {
        make_profile(profile, letters + from * LANES, matrix, kinds);
        lv up[R], f[R];
        EACH_COLUMN(r) {
          up[r] = border_above(&borders, column + from + r);
          f[r] = border_gap(&borders, up[r]);
        }
        lv before = border_corner(&borders, column + from - 1);
        for (int i = 0; i < m; i++) {
          __global const el *row_scores = profile + (size_t)query[i] * R * LANES;
          __global el *h_at = hs + (size_t)i * LANES, *e_at = es + (size_t)i * LANES;
          lv diagonal = before, e = lv_load(e_at);
          before = lv_load(h_at);
          row_t row;
          EACH_COLUMN(r) {
            // A row's cells depend on each other by E, so E is the last operand: it is needed last.
            row.h[r] = compute_cell(diagonal, lv_load(row_scores + r * LANES), gap, low, &f[r], &e);
            diagonal = up[r];
            up[r] = row.h[r];
#if LOCAL
            best = lv_max(best, row.h[r]);
#endif
          }
          lv_store(h_at, up[R - 1]);
          lv_store(e_at, e);
#if !LOCAL
          const int last = column + from + R - 1;
          const bool bottom = i == m - 1, right = last >= least;
          if ((bottom && (right || (ends & TRAIL_QUERY))) || (right && (ends & TRAIL_TARGET)))
            endpoint_row(&end, &row, lx_splat(m), ns.v, i + 1, column + from, ends);
#endif
        }
      }
#if LOCAL
      if (s.until > 0) continue;
      found.v = best;
      own_t fresh;
      bool any = false;
      EACH_LANE(l) {
        fresh.each[l] = 0;
        if (s.subject[l] < 0 || s.left[l] > 0) continue;
        scores[s.subject[l]] = found.each[l] - floor;
        if (!stream_next(&s, l, starts, lengths, order)) continue;
        any = true;
        fresh.each[l] = -1;
      }
      stream_count(&s);
      if (any) {
        const lm begins = fresh.v;
        best = lv_select(begins, low, best);
        for (int i = 0; i < m; i++) {
          __global el *h_at = hs + (size_t)i * LANES, *e_at = es + (size_t)i * LANES;
          lv_store(h_at, lv_select(begins, low, lv_load(h_at)));
          lv_store(e_at, lv_select(begins, low, lv_load(e_at)));
        }
      }
#endif
    }
#if !LOCAL
    found.v = end.best;
    EACH_LANE(l) if (s.subject[l] >= 0) scores[s.subject[l]] = found.each[l];
#endif
  }
}
