// The traceback of a pair batch, one pair a work-item, over the moves that batch.cl stored, by the rule of
// traceback/traceback.cl.
// The CIGAR is written backward, too, from the end of the pair's place on.  The place has two bytes per letter, because
// a run of k columns takes at most 2 k bytes.  The path's score is added up on the way, from the letters.
// BOXES: `count` is the number of ends, and `results` has for each its pair, in the place of a score, and its row and
// column.
// Needs: base.clh, batch/base.clh.  Reads WIDTH, R, LOCAL, WRITE_CIGARS, BOXES.

#if WIDTH == 8
typedef uchar word_t;
#elif WIDTH == 16
typedef ushort word_t;
#else
typedef uint word_t;
#endif
#ifndef WRITE_CIGARS  // 1: write CIGARs; 0: only count
#define WRITE_CIGARS 1
#endif
#define CELLS_A_WORD ((int)sizeof(word_t) * 2)
#define WORDS (R / CELLS_A_WORD)
#define DIAGONAL 0
#define TARGET 1
#define QUERY 2

typedef struct {
  __global uchar *at;  // the first byte of what is written so far
  int run;
  uchar op;
} cigar_t;

INLINE void cigar_flush(cigar_t *cigar)
{
  if (!WRITE_CIGARS || cigar->run == 0) return;
  *--cigar->at = cigar->op;
  for (int k = cigar->run; k > 0; k /= 10) *--cigar->at = '0' + k % 10;
  cigar->run = 0;
}

INLINE void cigar_add(cigar_t *cigar, uchar op, int count)
{
  if (op != cigar->op) cigar_flush(cigar);
  cigar->op = op;
  cigar->run += count;
}

__kernel void
batch_traceback(__global const uchar *restrict text, __global const uchar *restrict codes,
           __global const uchar *restrict same, __global const int *restrict matrix, int wide,
           __global const int4 *restrict pairs, int count, int lanes, int gap_open, int gap_extend,
           int ends, __global const int *restrict results, __global const int2 *restrict places,
           __global const word_t *restrict moves, __global const int *restrict cigar_at,
           __global uchar *restrict cigars, __global int *restrict traced)
{
  const size_t all = count;
  for (size_t p = get_global_id(0); p < all; p += get_global_size(0)) {
    const int of = BOXES ? results[p] : (int)p;
    const int4 pair = pairs[of];
    const int2 place = places[of / lanes];
    int row = results[all + p], column = results[2 * all + p], state = 0, score = 0, equal = 0, length = 0;
    bool ended = row > pair.y || column > pair.w;  // the end that a lane too narrow for the score reports
    cigar_t cigar = {cigars + cigar_at[p + 1], 0, 0};
    while (row > 0 && column > 0 && !ended) {
      const int r = (column - 1) % R;
      const size_t step = (size_t)place.x + (size_t)((column - 1) / R) * place.y + row - 1;
      const uint word = moves[(step * WORDS + r / CELLS_A_WORD) * lanes + of % lanes];
      const uint move = word >> (4 * (r % CELLS_A_WORD));
      if ((state == TARGET && !(move & 4)) || (state == QUERY && !(move & 8))) state = DIAGONAL;
      if (state == DIAGONAL) {
        ended = (move & 3) == 0;
        if (ended) break;
        state = (move & 3) - 1;
      }
      length++;
      if (state == DIAGONAL) {
        const uchar q = text[pair.x + row - 1], t = text[pair.z + column - 1];
        const bool matches = same[q] == same[256 + t];
        score += matrix[codes[q] * wide + codes[256 + t]];
        equal += matches;
        cigar_add(&cigar, matches ? '=' : 'X', 1);
        row--;
        column--;
      } else {
        const uchar op = state == TARGET ? 'D' : 'I';
        score -= gap_extend + (op == cigar.op ? 0 : gap_open);
        cigar_add(&cigar, op, 1);
        if (state == TARGET) column--;
        else row--;
      }
    }
    if (!LOCAL && row > 0 && !(ends & LEAD_TARGET)) {
      score -= row * gap_extend + (cigar.op == 'I' ? 0 : gap_open);
      length += row;
      cigar_add(&cigar, 'I', row);
      row = 0;
    }
    if (!LOCAL && column > 0 && !(ends & LEAD_QUERY)) {
      score -= column * gap_extend + (cigar.op == 'D' ? 0 : gap_open);
      length += column;
      cigar_add(&cigar, 'D', column);
      column = 0;
    }
    cigar_flush(&cigar);
    traced[p] = row;
    traced[all + p] = column;
    traced[2 * all + p] = equal;
    traced[3 * all + p] = length;
    traced[4 * all + p] = cigar.at - cigars;
    traced[5 * all + p] = score;
  }
}
