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
#ifndef WINDOW_STEPS  // steps of a window: a load costs some 600 ns, 128 steps of matches about 114 moves
#define WINDOW_STEPS 128
#endif
#ifndef WINDOW_ROWS   // rows of a window: as many as a path of matches has in its steps
#define WINDOW_ROWS 128
#endif
#ifndef MOST_LANES    // lanes of a window at most: 128 steps of 32 words take 16 KiB of local memory
#define MOST_LANES 32
#endif

#define DIR_WORDS ((R + 7) / 8)
#if WALKERS == 1
#define WINDOW_LANES T
#define WINDOW_SPACE __global
#define STRETCH_SPACE __global
typedef long at_t;
#else
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define WINDOW_LANES LEAST(T, LEAST(MOST_LANES, (WINDOW_ROWS + R - 1) / R))
#define WINDOW_SPACE __local
#define STRETCH_SPACE __local
typedef int at_t;
#endif
#define WINDOW_WORDS (DIR_WORDS * WINDOW_LANES)  // of a step

typedef struct { int row, column, state, ended, made; } place_t;
typedef struct { int strip, lane, step; } corner_t;  // a window's first lane and step

// Where the word of a cell is, in the window.
INLINE at_t word_at(int step, int lane, int r)
{
  return (at_t)step * WINDOW_WORDS + (DIR_WORDS > 1 ? (r >> 3) * WINDOW_LANES : 0) + lane;
}

// Walk until the path ends or leaves the window.
INLINE place_t walk(place_t p, corner_t corner, int linear, const WINDOW_SPACE uint *restrict window, STRETCH_SPACE uchar *restrict moves)
{
  int lane = (p.row - 1) % ROWS / R, r = (p.row - 1) % R;
  int step = p.column - 1 + lane - corner.step, state = linear ? 0 : p.state, made = 0;
  lane -= corner.lane;
  const int border = corner.lane - corner.step;  // step - lane in column 1
#if WALKERS > 1
  uint word = window[word_at(step, lane, r)];
#endif
  while (lane >= 0 && step >= 0 && step - lane >= border) {
#if WALKERS > 1
    // all three cells that the path may go to, before it is known which one it is (before the window: any)
    const int over = r == 0, up_r = over ? R - 1 : r - 1, up_lane = lane - over, up_step = step - over;
    const uint diagonal = window[max(word_at(up_step - 1, up_lane, up_r), 0)];
    const uint left = window[max(word_at(step - 1, lane, r), 0)], up = window[max(word_at(up_step, up_lane, up_r), 0)];
#else
    const uint word = window[word_at(step, lane, r)];
#endif
    const uint move = word >> (4 * (r & 7));
    if ((state == 1 && !(move & 4)) || (state == 2 && !(move & 8))) state = 0;
    if (state == 0) {
      if ((move & 3) == 0) {
        p.ended = 1;
        break;
      }
      state = (int)(move & 3) - 1;
    }
    moves[made++] = state;
    if (state != 1 && r-- == 0) {
      r = R - 1;
      lane--;
      step--;
    }
    if (state != 2) step--;
#if WALKERS > 1
    word = state == 0 ? diagonal : state == 1 ? left : up;
#endif
    if (linear) state = 0;
  }
  lane += corner.lane;
  p.row = corner.strip * ROWS + lane * R + r + 1;
  p.column = step + corner.step - lane + 1;
  p.state = state;
  p.made += made;
  return p;
}

__kernel __attribute__((reqd_work_group_size(WALKERS, 1, 1))) void
trace(__global const uint *restrict dirs, int n, int row, int column, int state, int linear,
      __global int *restrict found)
{
  __global uchar *restrict moves = (__global uchar *)(found + 5);
  place_t p = {row, column, state, 0, 0};
#if WALKERS > 1
  const int item = get_local_id(0);
  __local uint window[WINDOW_STEPS * WINDOW_WORDS];
  __local uchar stretch[WINDOW_STEPS + WINDOW_LANES * R];
  __local place_t end;
#endif
  while (p.row > 0 && p.column > 0 && !p.ended) {
    corner_t corner = {(p.row - 1) / ROWS, 0, 0};
    __global const uint *strip = dirs + (size_t)corner.strip * (n + T) * DIR_WORDS * T;
#if WALKERS == 1
    p = walk(p, corner, linear, strip, moves + p.made);
#else
    const int lane = (p.row - 1) % ROWS / R;
    corner.lane = max(lane - WINDOW_LANES + 1, 0);
    corner.step = p.column - 1 + lane - WINDOW_STEPS + 1;
    for (int k = item; k < WINDOW_STEPS * WINDOW_WORDS; k += WALKERS) {
      const int step = max(corner.step + k / WINDOW_WORDS, 0), part = k % WINDOW_WORDS / WINDOW_LANES;
      window[k] = strip[((size_t)step * DIR_WORDS + part) * T + corner.lane + k % WINDOW_LANES];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) end = walk(p, corner, linear, window, stretch);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = item; k < end.made - p.made; k += WALKERS) moves[p.made + k] = stretch[k];
    p = end;
#endif
  }
#if WALKERS > 1
  if (item == 0)
#endif
  {
    found[0] = p.row;
    found[1] = p.column;
    found[2] = p.state;
    found[3] = p.ended;
    found[4] = p.made;
  }
}
