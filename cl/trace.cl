// The backward walk over a tile's stored moves, by one work-group: at H take F if it explains the
// value, else E, else the diagonal; inside a gap go on while that explains the value.
//
// Each move says where the next one is read, so a work-item that reads them from global memory waits
// for it at every move.  Here the group loads the moves around the path's next stretch together, a
// window of some steps and lanes that ends at the path's place; its first work-item walks through the
// window; all store the moves that were made.  A path of matches takes 9 steps for each lane of 8 rows.
//
// (row, column) is the cell the walk starts from, numbered from 1; state 0: at H, 1: a gap that
// consumes target leaves the cell, 2: a gap that consumes query.  linear: a gap of k costs k gaps
// of 1, there is no state inside a gap.  found: row, column, state, ended, moves made; then the moves,
// a byte each.

#ifndef WALKERS       // work-items of the group; 1 reads the moves where they are: a CPU's caches need no
#define WALKERS 1     // window, and PoCL gets no barriers inside a loop
#endif
#ifndef WINDOW_STEPS  // steps of a window: a load takes about 1 us, and 120 steps of matches are about
#define WINDOW_STEPS 120  // 100 moves; more make windows that 256 work-items load in more than one go
#endif
#ifndef WINDOW_ROWS   // rows of a window: as many as a path of matches has in its steps, and some more
#define WINDOW_ROWS 112
#endif
#ifndef MOST_LANES    // lanes of a window at most: so it takes at most 17 KB of local memory
#define MOST_LANES 32
#endif

#define DIR_WORDS ((R + 7) / 8)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))

typedef struct { int row, column, state, ended, made; } place_t;

// What the path does at a cell, whose word it is: 0, 1, 2, or -1 where it ends.
INLINE int next_move(uint word, int r, int state)
{
  const int move = word >> (4 * (r & 7)) & 15;
  return move >> 2 & state ? state : (move & 3) - 1;  // a gap goes on, or the path is at H
}

#if WALKERS == 1
// Walk until the path ends or leaves the strip.
INLINE place_t walk(place_t p, __global const uint *restrict strip, bool linear, __global uchar *restrict moves)
{
  const int above = (p.row - 1) / ROWS * ROWS;
  while (p.row > above && p.column > 0) {
    const int lane = (p.row - 1 - above) / R, r = (p.row - 1) % R;
    const int move = next_move(strip[((size_t)(p.column - 1 + lane) * DIR_WORDS + r / 8) * T + lane], r, p.state);
    if (move < 0) {
      p.state = 0;
      p.ended = 1;
      break;
    }
    moves[p.made++] = move;
    if (move != 1) p.row--;
    if (move != 2) p.column--;
    p.state = linear ? 0 : move;
  }
  return p;
}
#else
// A window holds the words of one lane after the other, step by step.  Around it, and left of column 1, are
// words of zeros, where a path stops: a lane before the first, and steps before the first, two that
// a move leads to, and two and a lane that are looked at from there.  A cell's place counts rows, with
// room for whole words: a step back is STEP_PLACES, a row up is 1, or else a step and a lane back.
#define WINDOW_LANES LEAST(T, LEAST(MOST_LANES, (WINDOW_ROWS + R - 1) / R))
#define EDGE_STEPS 5
#define STEP_WORDS ((WINDOW_LANES + 1) * DIR_WORDS)
#define WINDOW_SIZE ((WINDOW_STEPS + EDGE_STEPS) * STEP_WORDS)
#define LANE_PLACES (8 * DIR_WORDS)
#define STEP_PLACES (8 * STEP_WORDS)
#define LOADS LEAST(16, (WINDOW_SIZE + WALKERS - 1) / WALKERS)  // of a work-item at once
#define EACH_LOAD(k) _Pragma("unroll") for (int k = 0; k < LOADS; k++)

typedef struct { int strip, lane, step; } corner_t;  // a window's first lane and step

INLINE void load_window(__local uint *window, __global const uint *restrict strip, corner_t corner)
{
  const int last = corner.step + WINDOW_STEPS - 1;
  int step = corner.step - EDGE_STEPS + (int)get_local_id(0) / STEP_WORDS, of_step = get_local_id(0) % STEP_WORDS;
  for (int first = 0; first < WINDOW_SIZE; first += LOADS * WALKERS) {
    uint words[LOADS];
    EACH_LOAD(k) {
      const int lane = corner.lane + of_step / DIR_WORDS - 1;
      const uint of_strip = max(min(step, last), 0), part = of_step % DIR_WORDS * T + max(lane, 0);
      const uint word = strip[(size_t)of_strip * (DIR_WORDS * T) + part];
      words[k] = step >= corner.step && lane >= corner.lane && step >= lane ? word : 0;
      of_step += WALKERS % STEP_WORDS;
      step += WALKERS / STEP_WORDS + (of_step >= STEP_WORDS);
      of_step -= of_step >= STEP_WORDS ? STEP_WORDS : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // all are on their way before the first is stored: NVIDIA's compiler
    EACH_LOAD(k) {                 // else has a few loads under way at a time
      const int at = first + k * WALKERS + (int)get_local_id(0);
      if (at < WINDOW_SIZE) window[at] = words[k];
    }
  }
}

// Walk until the path ends or leaves the window.
INLINE place_t walk(place_t p, __local const uint *window, corner_t corner, bool linear, __local uchar *moves)
{
  int lane = (p.row - 1) % ROWS / R, step = p.column - 1 + lane;
  uint at = (step - corner.step + EDGE_STEPS) * STEP_PLACES + (lane - corner.lane + 1) * LANE_PLACES + (p.row - 1) % R;
  int move, made = 0;
  const int kept = linear ? 0 : 3;
  uint word = window[at / 8];
  do {  // no branch but one, and all three cells that may follow, before it is known which one it is
    const uint up = at - (at % LANE_PLACES ? 1 : STEP_PLACES + LANE_PLACES - R + 1), diagonal = up - STEP_PLACES;
    const uint left = at - STEP_PLACES;
    const uint word_up = window[up / 8], word_diagonal = window[diagonal / 8], word_left = window[left / 8];
    move = next_move(word, at % LANE_PLACES, p.state);
    moves[made] = move;
    made += move >= 0;
    at = move < 0 ? at : move == 0 ? diagonal : move == 1 ? left : up;
    word = move == 0 ? word_diagonal : move == 1 ? word_left : word_up;
    p.state = move < 0 ? p.state : move & kept;
  } while (move >= 0);
  step = corner.step + (int)(at / STEP_PLACES) - EDGE_STEPS;
  lane = corner.lane + (int)(at % STEP_PLACES / LANE_PLACES) - 1;
  p.row = corner.strip * ROWS + lane * R + (int)(at % LANE_PLACES) + 1;
  p.column = step - lane + 1;
  p.ended = step >= corner.step && lane >= corner.lane && p.column > 0;
  if (p.ended) p.state = 0;
  p.made += made;
  return p;
}
#endif

__kernel __attribute__((reqd_work_group_size(WALKERS, 1, 1))) void
trace(__global const uint *restrict dirs, int n, int row, int column, int state, int linear,
      __global int *restrict found)
{
  __global uchar *moves = (__global uchar *)(found + 5);
  place_t p = {row, column, linear ? 0 : state, 0, 0};
#if WALKERS > 1
  __local uint window[WINDOW_SIZE];
  __local uchar stretch[WINDOW_STEPS + WINDOW_LANES * R + 1];
  __local place_t end;
#endif
  while (p.row > 0 && p.column > 0 && !p.ended) {
    const int of = (p.row - 1) / ROWS;
    __global const uint *strip = dirs + (size_t)of * (n + T) * DIR_WORDS * T;
#if WALKERS == 1
    p = walk(p, strip, linear, moves);
#else
    const int lane = (p.row - 1) % ROWS / R;
    const corner_t corner = {of, max(lane - WINDOW_LANES + 1, 0), p.column - 1 + lane - WINDOW_STEPS + 1};
    load_window(window, strip, corner);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) end = walk(p, window, corner, linear, stretch);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < end.made - p.made; k += WALKERS) moves[p.made + k] = stretch[k];
    p = end;
#endif
  }
  if (get_local_id(0) == 0) {
    found[0] = p.row;
    found[1] = p.column;
    found[2] = p.state;
    found[3] = p.ended;
    found[4] = p.made;
  }
}
