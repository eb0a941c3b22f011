// The traceback of paths over the stored moves of tiles, each by one work-group.  At H the path takes F if F explains
// the value, else E, else the diagonal.  Inside a gap it extends the gap while that explains the value.
// Needs: base.clh.  Reads T, R (of the sweep that stored the moves), TRACEBACK_GROUP_SIZE,
// WINDOW_DIAGONALS, WINDOW_WORDS.
//
// Arguments:
//   table: per tile its upper left corner (its cells begin a row below and a column after it), its rows, its columns,
//     and the place of its moves in `moves`, in words.
//   starts: per piece of the path, what it may lead through, and the cell from which it is traced at first, numbered as the
//     corners are (pysw_cl.engines.wavefront.descriptors.StartWord).  The state is 0 at H; 1 if a gap that consumes
//     target leaves the cell; 2 if a gap that consumes query does.
//   turn: in turn 0 all pieces are traced from there, one by each group.  In turn k those from the k-th on are traced
//     from where the ones before them ended in the turn before, unless that has not changed.
//   linear: the gap opening costs nothing, so there is no state inside a gap.
//   found: per piece, at places that `starts` has, twice, for even and for odd turns: row, column, state, whether the path
//     ended, moves made; the row, column and state from which it was traced; then per tile the (row, column, state, moves
//     made) with which the path came there, if it did.  Elsewhere the path's moves, a byte each.
// The traceback starts in the first tile that has the cell.  Where the path leaves a tile, it goes on in the next tile
// of the list that has the cell it comes to.
//
// A move says where the next one is read, so a work-item that reads moves from global memory waits at every move.
// Here the group loads a window together: the moves around the next stretch of the path, some lanes high and some
// diagonals wide.  It then marks, 32 rows a word, where a path at H would leave each diagonal.  So the first work-item
// follows the path through the window by whole runs of diagonal moves.  Meanwhile the next window is loaded, where the
// path most probably continues.

// (Inlined functions have no restrict pointers: Oclgrind does not know what clang makes of them.)

#ifndef TRACEBACK_GROUP_SIZE    // work-items of the group; 1 reads moves where they are stored: a CPU's caches need
#define TRACEBACK_GROUP_SIZE 1  // no window, and so PoCL meets no barriers inside a loop
#endif
#ifndef WINDOW_DIAGONALS  // diagonals of a window, at least: in its rows the path may drift by half of them
#define WINDOW_DIAGONALS 32
#endif
#ifndef WINDOW_WORDS  // words of a window, about: work-items hold them in 16 registers each, and 256 work-items
#define WINDOW_WORDS (16 * TRACEBACK_GROUP_SIZE)  // need 16 KB of local memory
#endif

#define MOVE_WORDS ((R + 7) / 8)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))

// Where a traceback is: its cell, counted from 0 in its tile (or from 1 in the frame of all tiles); its last move, or
// at first the state it starts in; whether the path has ended; and how many moves it has made.
typedef struct { int row, column, last, ended, made; } position_t;
// The stored moves of a tile.  state_mask: 3, or 0 if gaps are linear, because then no state follows from a move.
typedef struct { __global const uint *moves; int columns, state_mask; } tile_moves_t;

// The move of the path at row r of a word: 0 diagonal, 1 consumes target, 2 consumes query, or -1 if the path ends.
INLINE int next_move(uint word, int r, int state)
{
  const int move = word >> (4 * (r & 7)) & 15;
  return move >> 2 & state ? state : (move & 3) - 1;  // the gap is extended, or the path is at H
}

// The place of word k of a lane (counted in the whole tile) in a column.
INLINE size_t word_at(tile_moves_t tile, uint lane, uint k, uint column)
{
  const uint strip = lane / T, of_strip = lane % T;
  const size_t step = (size_t)strip * (tile.columns + T) + (column + of_strip);
  return (step * MOVE_WORDS + k) * T + of_strip;
}

// Does a tile have the cell?
INLINE bool has_cell(__global const long *tile, position_t p)
{
  const long row = p.row - tile[TRACED_ROW], column = p.column - tile[TRACED_COLUMN];
  // all four loads at once
  return (row > 0) & (row <= tile[TRACED_ROWS]) & (column > 0) & (column <= tile[TRACED_COLUMNS]);
}

#if TRACEBACK_GROUP_SIZE == 1
typedef int shared_t;

// The first tile from `from` on that has the cell, or `count`.
INLINE int next_tile(__local shared_t *shared, __global const long *tiles, int from, int count, position_t p)
{
  while (from < count && !has_cell(tiles + TRACED_WORDS * from, p)) from++;
  return from;
}

// Follows the path until it ends or leaves the tile.
INLINE position_t trace_tile(position_t p, tile_moves_t tile, __local shared_t *shared, __global uchar *path)
{
  while (p.row >= 0 && p.column >= 0 && !p.ended) {
    const int above = p.row / (T * R) * (T * R);
    __global const uint *strip = tile.moves + word_at(tile, above / R, 0, 0);
    while (p.row >= above && p.column >= 0) {
      const int lane = (p.row - above) / R, r = p.row % R;
      const uint word = strip[((size_t)(p.column + lane) * MOVE_WORDS + r / 8) * T + lane];
      const int move = next_move(word, r, p.last & tile.state_mask);
      if (move < 0) {
        p.ended = 1;
        break;
      }
      path[p.made++] = move;
      if (move != 1) p.row--;
      if (move != 2) p.column--;
      p.last = move;
    }
  }
  return p;
}
#else
// A window holds the words of some lanes: for each lane, word after word, the columns in which the window's diagonals
// cross the word's rows.  From a lane to the one above, the same step of the strip is one column further on, so a
// diagonal is SLANT columns further on.  So STEP_LANES lanes of a window lie side by side in memory, and work-items
// load them in this order.
#define WORD_ROWS LEAST(R, 8)
#define SLANT (R + 1)
#define STEP_LANES ((WINDOW_DIAGONALS + WORD_ROWS - 1 + SLANT - 1) / SLANT)
#define COLUMNS_A_WORD (STEP_LANES * SLANT)
#define DIAGONALS (COLUMNS_A_WORD - WORD_ROWS + 1)
#define LANE_WORDS (MOVE_WORDS * COLUMNS_A_WORD)
#define LANES MOST(STEP_LANES, WINDOW_WORDS / LANE_WORDS)
#define HEIGHT (LANES * R)
#define WORDS (LANES * LANE_WORDS)
#define LOADS ((WORDS + TRACEBACK_GROUP_SIZE - 1) / TRACEBACK_GROUP_SIZE)  // of a work-item
#define EACH_LOAD(k) _Pragma("unroll") for (int k = 0; k < LOADS; k++)
#define ROW_GROUPS ((HEIGHT + 31) / 32)              // groups of 32 rows
#define LOOKAHEAD 2                                   // row groups that run_of() reads above the path's own
#define PADDED_WORDS ((ROW_GROUPS * 32 + R - 1) / R * LANE_WORDS)
#define STRETCH (2 * HEIGHT + DIAGONALS)         // moves in a window at most: up, and as many to the left

typedef struct { int lane, diagonal; } corner_t;  // the first lane and diagonal (column - row) of a window
typedef struct {
  uint window[PADDED_WORDS], stops[(LOOKAHEAD + ROW_GROUPS) * DIAGONALS], stretch[(STRETCH + 4) / 4];
  uchar goes_on[TRACEBACK_GROUP_SIZE];
  position_t end;
  int first;
} shared_t;

// The smallest `number` of the work-items that `have` one, or `none`.
INLINE int first_of(__local int *first, bool have, int number, int none)
{
  barrier(CLK_LOCAL_MEM_FENCE);  // all have read the last result
  if (get_local_id(0) == 0) *first = none;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (have) atomic_min(first, number);
  barrier(CLK_LOCAL_MEM_FENCE);
  return *first;
}

INLINE int next_tile(__local shared_t *shared, __global const long *tiles, int from, int count, position_t p)
{
  int next = count;
  for (; from < count && next == count; from += TRACEBACK_GROUP_SIZE) {
    const int mine = from + (int)get_local_id(0);
    next = first_of(&shared->first, mine < count && has_cell(tiles + TRACED_WORDS * (size_t)min(mine, count - 1), p),
                    mine, count);
  }
  return next;
}

// The window that ends in the path's lane and has the path's diagonal in the middle.
INLINE corner_t corner_around(position_t p)
{
  return (corner_t){p.row / R - LANES + 1, p.column - p.row - DIAGONALS / 2};
}

INLINE bool in_window(position_t p, corner_t corner)
{
  const int row = p.row - corner.lane * R, diagonal = p.column - p.row - corner.diagonal;
  return row >= 0 && row < HEIGHT && diagonal >= 0 && diagonal < DIAGONALS;
}

// The k-th word that this work-item loads: its lane, its number in the lane, and its column in the window.
typedef struct { int lane, word_of_lane, column; } load_t;
INLINE load_t load_of(int k)
{
  const uint at = k * TRACEBACK_GROUP_SIZE + get_local_id(0), turn = at / COLUMNS_A_WORD;
  const int aside = at % STEP_LANES, lane = (int)(turn % LANES) - aside;
  return (load_t){lane < 0 ? lane + LANES : lane, turn / LANES, aside * SLANT + (int)(at / STEP_LANES % SLANT)};
}

INLINE void load_window(uint *words, tile_moves_t tile, corner_t corner)
{
  EACH_LOAD(k) {
    const load_t load = load_of(k);
    const int lane = corner.lane + load.lane;
    const int column = corner.diagonal + lane * R + 8 * load.word_of_lane + load.column;
    const bool mine = (k + 1) * TRACEBACK_GROUP_SIZE <= WORDS || load.word_of_lane < MOVE_WORDS;
    const bool there = (lane >= 0) & (column >= 0) & (column < tile.columns) & mine;
    const size_t at = word_at(tile, max(lane, 0), load.word_of_lane, column);  // no branch, so that all
    const uint word = tile.moves[there ? at : 0];                      // loads are under way at once
    words[k] = there ? word : 0;                                      // a path ends at zeros
  }
}

INLINE void store_window(__local uint *window, const uint *words)
{
  EACH_LOAD(k) {
    const load_t load = load_of(k);
    const int at = (load.lane * MOVE_WORDS + load.word_of_lane) * COLUMNS_A_WORD + load.column;
    if ((k + 1) * TRACEBACK_GROUP_SIZE <= WORDS || load.word_of_lane < MOVE_WORDS) window[at] = words[k];
  }
}

// The word of the cell in a row and on a diagonal of the window.
INLINE uint window_at(uint row, uint diagonal)
{
  const uint r = row % R;
  return (row / R * MOVE_WORDS + r / 8) * COLUMNS_A_WORD + diagonal + r % 8;
}

// Bit k of a row group's word for a diagonal: does a path at H in its row k leave the diagonal, or end?  All bits are
// set in the LOOKAHEAD row groups above the window.
INLINE void mark_stops(__local uint *stops, __local const uint *window)
{
  for (uint at = get_local_id(0); at < ROW_GROUPS * DIAGONALS; at += TRACEBACK_GROUP_SIZE) {
    const uint first = at / DIAGONALS * 32, diagonal = at % DIAGONALS;
    uint marks = 0;
    _Pragma("unroll") for (int k = 0; k < 32; k++) {
      const uint word = window[window_at(first + k, diagonal)];
      marks |= (uint)((word >> 4 * ((first + k) % R % 8) & 3) != 1) << k;
    }
    stops[LOOKAHEAD * DIAGONALS + at] = marks;
  }
  for (int at = get_local_id(0); at < LOOKAHEAD * DIAGONALS; at += TRACEBACK_GROUP_SIZE) stops[at] = ~0u;
}

// How many diagonal moves a path at H makes from a row on, 64 at most.  stops: the words of the row's group.
INLINE int run_of(__local const uint *stops, uint row)
{
  const uint bits = 31 - row % 32, first = stops[LOOKAHEAD * DIAGONALS], next = stops[DIAGONALS], last = stops[0];
  const uint high = (((ulong)first << 32 | next) << bits) >> 32, low = (((ulong)next << 32 | last) << bits) >> 32;
  return clz(high) + (clz(low) & ((int)(high != 0) - 1));  // no branch, because loads would wait for it
}

// Follows the path until it ends or leaves the window or the tile.  `stretch` gets its moves; it must be all zeros,
// which are diagonal moves.
INLINE position_t trace_window(position_t p, corner_t corner, int state_mask, __local const shared_t *shared,
                               __local uchar *stretch)
{
  int row = p.row - corner.lane * R, diagonal = p.column - p.row - corner.diagonal, made = 0, move = 0;
  while (row >= 0 && (uint)diagonal < DIAGONALS && move >= 0) {  // no other branch: all loads at once
    const uint word = shared->window[window_at(row, diagonal)];
    const int run = run_of(shared->stops + (uint)row / 32 * DIAGONALS + diagonal, row);
    move = next_move(word, (uint)row % R, p.last & state_mask);
    stretch[made] = max(move, 0);
    made += move == 0 ? run : move > 0;
    row -= move == 0 ? run : move == 2;
    diagonal += move > 0 ? 2 * move - 3 : 0;
    p.last = move < 0 ? p.last : move;
  }
  p.row = corner.lane * R + row;
  p.column = corner.diagonal + diagonal + p.row;
  p.ended = move < 0 && p.row >= 0 && p.column >= 0;
  p.made += made;
  return p;
}

// If `asked`, follows a gap to its end or to the tile's edge: each work-item reads the move of one of the cells ahead.
// (Otherwise the loop has no turns.  There is no condition around it, because PoCL gets barriers in conditions wrong.)
INLINE position_t follow_gap(bool asked, position_t p, tile_moves_t tile, __local shared_t *shared,
                             __global uchar *path)
{
  const int k = get_local_id(0), gap = p.last;
  int run = asked ? TRACEBACK_GROUP_SIZE : 0;
  while (run == TRACEBACK_GROUP_SIZE) {
    const int row = p.row - (gap == 2 ? k : 0), column = p.column - (gap == 1 ? k : 0);
    const bool there = row >= 0 && column >= 0;
    const uint word = tile.moves[there ? word_at(tile, row / R, row % R / 8, column) : 0];
    const bool goes_on = there && next_move(word, row % R, gap & tile.state_mask) == gap;
    shared->goes_on[k] = goes_on;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool may_be_first = !goes_on && (k == 0 || shared->goes_on[k - 1]);  // few, because their atomics take turns
    run = first_of(&shared->first, may_be_first, k, TRACEBACK_GROUP_SIZE);
    if (k < run) path[p.made + k] = gap;
    p.made += run;
    p.row -= gap == 2 ? run : 0;
    p.column -= gap == 1 ? run : 0;
  }
  return p;
}

// Follows the path until it ends or leaves the tile.
INLINE position_t trace_tile(position_t p, tile_moves_t tile, __local shared_t *shared, __global uchar *path)
{
  __local uchar *stretch = (__local uchar *)shared->stretch;
  corner_t ahead = corner_around(p);
  uint words[LOADS];
  bool loaded = false;
  while (p.row >= 0 && p.column >= 0 && !p.ended) {
    const bool missed = !loaded || !in_window(p, ahead);
    p = follow_gap(missed && p.last, p, tile, shared, path);
    if (missed) {
      ahead = corner_around(p);
      load_window(words, tile, ahead);
    }
    const corner_t corner = ahead;
    store_window(shared->window, words);
    barrier(CLK_LOCAL_MEM_FENCE);
    ahead = (corner_t){corner.lane - LANES, p.column - p.row - DIAGONALS / 2};
    loaded = corner.lane > 0;
    if (loaded) load_window(words, tile, ahead);
    for (int k = get_local_id(0); k < (STRETCH + 4) / 4; k += TRACEBACK_GROUP_SIZE) shared->stretch[k] = 0;
    mark_stops(shared->stops, shared->window);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) shared->end = trace_window(p, corner, tile.state_mask, shared, stretch);
    barrier(CLK_LOCAL_MEM_FENCE);
    const position_t end = shared->end;
    for (int k = get_local_id(0); k < end.made - p.made; k += TRACEBACK_GROUP_SIZE) path[p.made + k] = stretch[k];
    p = end;
  }
  return p;
}
#endif

__kernel __attribute__((reqd_work_group_size(TRACEBACK_GROUP_SIZE, 1, 1))) void
traceback(__global const uint *restrict moves, __global const long *restrict table, __global const int *restrict starts,
          int turn, int linear, __global int *restrict found)
{
  __global const int *start = starts + START_WORDS * (turn + get_group_id(0)), *before = start + START_ROW;
  __global const long *tiles = table + TRACED_WORDS * (size_t)start[START_FIRST];
  const int count = start[START_COUNT], size = FOUND_WORDS + 4 * count, odd = turn & 1;
  __global int *result = found + start[START_RESULT] + odd * size, *entries = result + FOUND_WORDS;
  __global const int *last = found + start[START_RESULT] + !odd * size;
  __global uchar *path = (__global uchar *)found + start[START_PATH];
  __local shared_t shared;
  if (turn > 0) {
    __global const int *piece = start - START_WORDS;
    before = found + piece[START_RESULT] + !odd * (FOUND_WORDS + 4 * piece[START_COUNT]);
  }
  position_t p = {before[FOUND_ROW], before[FOUND_COLUMN], linear ? 0 : before[FOUND_STATE], before[FOUND_ENDED], 0};
  const int4 from = {p.row, p.column, p.last, p.ended};
  const bool known = turn > 0 && all(vload4(0, last + FOUND_FROM) == from);
  for (int k = get_local_id(0); k < size; k += TRACEBACK_GROUP_SIZE) result[k] = known ? last[k] : -1;
  barrier(CLK_GLOBAL_MEM_FENCE);
  const int most = known || p.ended ? 0 : count;
  int index = next_tile(&shared, tiles, 0, most, p);
  while (index < most) {
    __global const long *of = tiles + TRACED_WORDS * (size_t)index;
    const int above = (int)of[TRACED_ROW] + 1, before = (int)of[TRACED_COLUMN] + 1;
    const tile_moves_t tile = {moves + of[TRACED_MOVES], (int)of[TRACED_COLUMNS], linear ? 0 : 3};
    if (get_local_id(0) == 0) vstore4((int4)(p.row, p.column, linear ? 0 : p.last, p.made), index, entries);
    p.row -= above;
    p.column -= before;
    p = trace_tile(p, tile, &shared, path);
    p.row += above;
    p.column += before;
    index = next_tile(&shared, tiles, p.ended ? most : index + 1, most, p);
  }
  if (get_local_id(0) == 0 && !known) {
    result[FOUND_ROW] = p.row;
    result[FOUND_COLUMN] = p.column;
    result[FOUND_STATE] = linear || p.ended ? 0 : p.last;
    result[FOUND_ENDED] = p.ended;
    result[FOUND_MADE] = p.made;
    vstore4(from, 0, result + FOUND_FROM);
  }
}
