// One query of at most L * R rows against many subjects, in 11 bits, two subjects a word (mixed_arithmetic.clh; local mode).  L
// work-items sweep a pair of subjects together: each has R rows, and a turn does two columns, two columns behind the
// work-item above (as in wavefront/mixed.clh).  The warps of a work-group share the query's profile, which is in local
// memory: for each letter the scores of all rows.
//
// A subject follows the other without a gap.  A pair begins with a turn without letters, the mark, at which a work-item
// gives the best scores of the pair before and begins anew.  So none waits for another one until all pairs are done.  The
// first work-item of each pair, the leader, takes the next pair from a counter.
//
// A longer query is swept in strips, a launch each: what leaves the last row of one goes through the bus to the next one.
// A score above MIXED_LIMIT is less than it should be, perhaps; but it is above MIXED_LIMIT.
// Needs: base.clh, platform.clh, lanes/warp32.clh with T 64, wavefront/mixed_arithmetic.clh.
// Reads L (8, 16, 32), R (even), WARPS, CODES, STRIPS, GAP_FIRST, GAP_EXTEND.
//
// Arguments:
//   turns: the letters of all pairs, pair after pair, each with its mark in front; a mark at the end.  In the bytes of a
//     word are the codes of a column of both subjects and those of the next column; a mark's highest bit is 1.
//   firsts: where each pair's mark is, and the one at the end.
//   counters, pairs: of each launch the next pair, and the end of the pairs that are swept.
//   query, m, above: of each row its kind, the query's rows, and those of the strips above.
//   matrix: the scores of kind k with code c are at 32 k + c, not above 0 for padding, code CODES - 1.
//   enters, leaves, bus: STRIPS: is there a strip above, and below this one?  Four words of each turn.
//   active: warps of a group that sweep pairs; the others leave room.
//   scores: of the subjects of each pair, from 0 on.

#ifndef L
#define L 32
#endif
#ifndef STRIPS
#define STRIPS 0
#endif
// A work-item loads the scores of 8 rows with a letter at once, four words of two rows each; the last rows may be none.
#define QUADS ((R + 7) / 8)
#define LETTER_WORDS (L * QUADS * 4)
#define PADS ((CODES - 1) * 0x01010101u)
#define MARK 0x80000000u
#define NO_PAIR 0x7fffffff
#define TURNS_AT_ONCE 8  // before a warp looks whether it is done

typedef struct { uint h[R], e[R], corner, best, before, fa, fb; } strip_t;

INLINE void strip_begin(strip_t *s)
{
  EACH_ROW(r, R) s->h[r] = s->e[r] = 0;
  s->corner = s->best = s->before = s->fa = s->fb = 0;
}

INLINE uint profile_number(__global const ushort *query, int row, int m, __global const short *matrix, int code)
{
  const int score = matrix[(row < m ? query[row] * 32 : 0) + (row < m ? code : CODES - 1)];
  return score < 0 ? 0x8000u | (uint)-score : (uint)score;
}

// The scores of a work-item's rows with a letter.
INLINE void profile_load(__local const char *profile, int lane, uint *to)
{
#pragma unroll
  for (int c = 0; c < QUADS; c++) {
    const uint4 quad = *(__local const uint4 *)(profile + c * L * 16 + lane * 16);
    to[4 * c] = quad.x;
    to[4 * c + 1] = quad.y;
    to[4 * c + 2] = quad.z;
    to[4 * c + 3] = quad.w;
  }
}

INLINE uint plus_score(uint d, const uint *low, const uint *high, int r)
{
  return r & 1 ? mixed_plus_high(d, low[r / 2], high[r / 2]) : mixed_plus_low(d, low[r / 2], high[r / 2]);
}

// A turn: two columns, a and b, of both subjects, with the letters of `word`.  enter: H and F of the row above in column a,
// then in column b.
INLINE void strip_turn(strip_t *s, __local const char *profile, int lane, uint word, uint4 enter)
{
  uint low_a[QUADS * 4], high_a[QUADS * 4], low_b[QUADS * 4], high_b[QUADS * 4], fa = enter.y, fb = enter.w, a = 0;
  profile_load(profile + (word & 0xff) * LETTER_WORDS * 4, lane, low_a);
  profile_load(profile + (word >> 8 & 0xff) * LETTER_WORDS * 4, lane, high_a);
  profile_load(profile + (word >> 16 & 0xff) * LETTER_WORDS * 4, lane, low_b);
  profile_load(profile + (word >> 24) * LETTER_WORDS * 4, lane, high_b);
  uint sum_a = plus_score(s->corner, low_a, high_a, 0), sum_b = plus_score(enter.x, low_b, high_b, 0);
  s->corner = enter.z;
  EACH_ROW(r, R) {
    a = mixed_max3(sum_a, s->e[r], fa);
    if (r + 1 < R) sum_a = plus_score(s->h[r], low_a, high_a, r + 1);
    const uint opened_a = mixed_opened(a);
    s->e[r] = mixed_extended(s->e[r], opened_a);
    fa = mixed_extended(fa, opened_a);
    s->h[r] = mixed_max3(sum_b, s->e[r], fb);
    if (r + 1 < R) sum_b = plus_score(a, low_b, high_b, r + 1);
    const uint opened_b = mixed_opened(s->h[r]);
    s->e[r] = mixed_extended(s->e[r], opened_b);
    fb = mixed_extended(fb, opened_b);
    s->best = mixed_max3(s->best, a, s->h[r]);
  }
  s->before = a;
  s->fa = fa;
  s->fb = fb;
}

__kernel __attribute__((reqd_work_group_size(32 * WARPS, 1, 1))) void
search(__global const uint *restrict turns, __global const uint *restrict firsts, int pairs,
       volatile __global int *counters, int launch, __global const ushort *restrict query, int m, int above, __global const short *restrict matrix, int enters,
       int leaves, int active, __global uint4 *bus, volatile __global int *scores)
{
  __local uint profile[CODES * LETTER_WORDS] __attribute__((aligned(16)));
  LANES_LOCAL(exchange);
  for (int k = get_local_id(0); k < CODES * LETTER_WORDS; k += 32 * WARPS) {
    const int code = k / LETTER_WORDS, word = k / (4 * L) % QUADS * 4 + k % 4, row = above + k / 4 % L * R + 2 * word;
    profile[k] = profile_number(query, row, m, matrix, code) | profile_number(query, row + 1, m, matrix, code) << 16;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int lane = ITEM % L, up = (ITEM + 31) % 32;
  const bool leader = lane == 0;
  strip_t s;
  strip_begin(&s);
  uint word = PADS;           // the letters of this turn, or a mark
  int pair = NO_PAIR;         // the pair that they are of
  uint place = firsts[pairs]; // of this work-item's turn
  bool ended = false;         // are all pairs done that this work-item will meet?

  // Of leaders: the next word and what enters with it; where the word after it is, and how many words a turn has.  The next
  // pair, and its first word.
  uint at = firsts[pairs], coming = MARK, step = 0;
  uint4 coming_in = (uint4)(0);
  int next = leader && get_local_id(0) < 32 * active ? atomic_inc(counters + launch) : pairs;
  uint next_at = firsts[min(next, pairs)];

  do {
    _Pragma("unroll 1") for (int k = 0; k < TURNS_AT_ONCE; k++) {
      uint4 enter = (uint4)((uint)warp_from(exchange, (int)s.before, up), (uint)warp_from(exchange, (int)s.fa, up),
                            (uint)warp_from(exchange, (int)s.h[R - 1], up), (uint)warp_from(exchange, (int)s.fb, up));
      word = (uint)warp_from(exchange, (int)word, up);
      word = leader ? coming : word;
      enter = leader ? coming_in : enter;
      uint letters = word;
      if (word & MARK) {
        letters = PADS;
        if (leader && !ended) {  // (this was the mark of the pair behind the last one in memory)
          word = MARK | (uint)(next < pairs ? next : NO_PAIR);
          enter = (uint4)(0);
          step = next < pairs;
          at = next_at + step;
          if (next < pairs) next = atomic_inc(counters + launch);
          next_at = firsts[min(next, pairs)];
        }
        if (!ended) {
          if (pair != NO_PAIR) {
            atomic_max(scores + 2 * pair, (int)(s.best & 0xffffu));
            atomic_max(scores + 2 * pair + 1, (int)(s.best >> 16));
          }
          pair = (int)(word & ~MARK);
          ended = pair == NO_PAIR;
          if (STRIPS) place = firsts[min(pair, pairs)];
          strip_begin(&s);
        }
      }
      coming = turns[at];
#if STRIPS
      if (enters) coming_in = bus[at];
#endif
      at += step;
      strip_turn(&s, (__local const char *)profile, lane, letters, enter);
#if STRIPS
      if (leaves && lane == L - 1 && pair != NO_PAIR) bus[place] = (uint4)(s.before, s.fa, s.h[R - 1], s.fb);
      place++;
#endif
    }
  } while (warp_highest(exchange, !ended));
}
