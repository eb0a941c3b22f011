// The traceback of a pair batch, one pair a work-item, over the moves that batch.cl stored, by the rule of
// traceback/traceback.cl.
// A path's runs are written backward, too, from the end of the pair's place on, as words of BAM: 16 times the length,
// plus the operation (SAM specification, 4.2).  Its score is added up on the way, from the letters.  A local path begins
// where this is the score that the sweep found.
// KEPT: letters are the codes that batch.cl keeps, and `matrix` has the score of target code t and query code q at
// t * wide + q, or, if `wide` is 0, those of other and of equal codes.
// BOXES: `count` is the number of ends, and `results` has for each its pair, in the place of a score, and its row and
// column.  `runs_at` has the place of each end, as the other kernels have it in `places`.
// POSITIONS: `matrix` has a row for each row of the query.
// Needs: base.clh, batch/base.clh.  Reads WIDTH, R, LOCAL, WRITE_RUNS, KEPT, LANES_AN_ITEM, BOXES, POSITIONS, SETS.

#if WIDTH == 8
typedef uchar word_t;
#elif WIDTH == 16
typedef ushort word_t;
#else
typedef uint word_t;
#endif
#ifndef WRITE_RUNS  // 1: write runs; 0: only count
#define WRITE_RUNS 1
#endif
#ifndef KEPT
#define KEPT 0
#endif
#ifndef POSITIONS
#define POSITIONS 0
#endif
#if SETS
#define MATCHES(q, t) (((q) & (t)) != 0)
#else
#define MATCHES(q, t) ((q) == (t))
#endif
#define CELLS_A_WORD ((int)sizeof(word_t) * 2)
#define WORDS (R / CELLS_A_WORD)
#define DIAGONAL 0
#define TARGET 1
#define QUERY 2

#define INSERTION 1  // operations of BAM
#define DELETION 2
#define EQUAL 7
#define DIFFERENT 8

typedef struct {
  __global uint *at;  // the first word of what is written so far
  int run;
  uint op;            // 0: none yet
} runs_t;

INLINE void runs_flush(runs_t *runs)
{
  if (WRITE_RUNS && runs->run) *--runs->at = (uint)runs->run << 4 | runs->op;
  runs->run = 0;
}

INLINE void runs_add(runs_t *runs, uint op, int count)
{
  if (op != runs->op) runs_flush(runs);
  runs->op = op;
  runs->run += count;
}

#if KEPT
#define LETTER_ARGS __global const uchar *restrict kept, __global const long *restrict kept_at
#else
#define LETTER_ARGS \
  __global const uchar *restrict text, __global const uchar *restrict codes, __global const uchar *restrict same
#endif

__kernel void
batch_traceback(LETTER_ARGS, __global const int *restrict matrix, int wide, __global const int4 *restrict pairs,
                int count, int lanes, int gap_open, int gap_extend, int ends, __global const int *restrict results,
                __global const int4 *restrict places, __global const word_t *restrict moves,
                __global const int *restrict runs_at, __global uint *restrict runs, __global int *restrict traced)
{
  const size_t all = count;
  for (size_t p = get_global_id(0); p < all; p += get_global_size(0)) {
    const int of = BOXES ? results[p] : (int)p, lane = of % lanes;
    const int4 pair = pairs[of], place = places[of / lanes];
    int row = results[all + p], column = results[2 * all + p], state = DIAGONAL, score = 0, equal = 0, length = 0;
    bool ended = row > pair.y || column > pair.w;  // the end that a lane too narrow for the score reports
#if BOXES
    __global uint *const last = runs + runs_at[p + 1];
#else
    __global uint *const last = runs + place.z + (size_t)(lane + 1) * place.w;
#endif
    runs_t path = {last, 0, 0};
#if KEPT
#if LANES_AN_ITEM > 2  // its target follows the longest query of its work-item
    const int m = place.y;
#else
    const int m = LANES_AN_ITEM == 2 ? max(pair.y, pairs[min((int)p ^ 1, count - 1)].y) : pair.y;
#endif
    __global const uchar *const query = kept + kept_at[of / lanes] + lane, *const target = query + (size_t)m * lanes;
#endif
    while (row > 0 && column > 0 && !ended) {
      const int r = (column - 1) % R;
      const size_t step = (size_t)place.x + (size_t)((column - 1) / R) * place.y + row - 1;
      const uint word = moves[(step * WORDS + r / CELLS_A_WORD) * lanes + lane];
      const uint move = word >> (4 * (r % CELLS_A_WORD));
      const int opens = state == TARGET ? MOVE_E_OPENS : MOVE_F_OPENS;
      if (move & opens || gap_open == 0) state = DIAGONAL;  // (linear gaps have no state)
      if (state == DIAGONAL) {
#if BOXES
        ended = (move & (MOVE_NOT_F | MOVE_NOT_E)) == 0;
#else
        ended = LOCAL && score == results[p];
#endif
        if (ended) break;
        state = !(move & MOVE_NOT_F) ? QUERY : !(move & MOVE_NOT_E) ? TARGET : DIAGONAL;
      }
      length++;
      if (state == DIAGONAL) {
#if KEPT
        const uint q = query[(size_t)(row - 1) * lanes], t = target[(size_t)(column - 1) * lanes];
        const bool matches = MATCHES(q, t);
        // (padding is the last of the matrix, where letters outside the alphabet are taken to be)
        score += matrix[wide ? min(t, 2u * wide - 2) * wide + min(q, (uint)wide - 1) : (uint)matches];
#else
        const uchar q = text[pair.x + row - 1], t = text[pair.z + column - 1];
        const bool matches = MATCHES(same[q], same[256 + t]);
        score += matrix[(POSITIONS ? row - 1 : codes[q]) * wide + codes[256 + t]];
#endif
        equal += matches;
        runs_add(&path, matches ? EQUAL : DIFFERENT, 1);
        row--;
        column--;
      } else {
        const uint op = state == TARGET ? DELETION : INSERTION;
        score -= gap_extend + (op == path.op ? 0 : gap_open);
        runs_add(&path, op, 1);
        if (state == TARGET) column--;
        else row--;
      }
    }
    if (!LOCAL && row > 0 && !(ends & LEAD_TARGET)) {
      score -= row * gap_extend + (path.op == INSERTION ? 0 : gap_open);
      length += row;
      runs_add(&path, INSERTION, row);
      row = 0;
    }
    if (!LOCAL && column > 0 && !(ends & LEAD_QUERY)) {
      score -= column * gap_extend + (path.op == DELETION ? 0 : gap_open);
      length += column;
      runs_add(&path, DELETION, column);
      column = 0;
    }
    runs_flush(&path);
    traced[p] = row;
    traced[all + p] = column;
    traced[2 * all + p] = equal;
    traced[3 * all + p] = length;
    traced[4 * all + p] = (int)(last - path.at);
    traced[5 * all + p] = score;
  }
}
