// CUDAlign's two-level wavefront (Sandes & de Melo, PPoPP 2010; thesis 2011) over one tile, over the sections of one
// tile, or over the tiles of a tile batch.  There are two forms, which share the sweep of a strip: ticketed (one launch) and two-phase.
// Needs: all that kernel_spec() of pysw_cl/engines/wavefront/kernel.py lists before it, in that order: base.clh,
// names.clh, platform.clh, the 32-bit lanes, strip.clh, best.clh, strip_sync.clh, score_range.clh, prune.clh, the
// narrow lanes with narrow.clh, width_dispatch.clh.
// Reads T, R, LAG, LOCAL, BEST, TICKETED, PRUNE, MULTI_TILE, SECTIONS, FLAT_BUS, SHARED_STRIPS, STORE_MOVES, FORBIDDEN_PAIRS, WARPS, NARROW_WIDTHS,
// AUTO_VECTORS.
//
// Arguments:
//   bus: lines of `stride` H, then `stride` F^.  Strip s reads line lines[s] and writes line lines[s + 1].  Lines 0
//     and 1 take turns, so a strip's input stays unmodified until no group sweeps it again.  A special row has a
//     line of its own (pysw_cl.planning.geometry.Grid.bus_lines).
//   columns, column_count: the special columns, sorted.  crossed: for all rows of all strips H, then as many E^, of each.
//   state: per group (two-phase: per strip mod B; shared strips: per strip in flight, and per group) the lanes between two blocks, which are the vertical bus.
//   record: per group (score, row, column) of its best cell, the highest score it computed, and columns swept in 8,
//     16 and 32 bits and pruned.
//   shared_best: the best score that any group has found; with BEST 2, the least score to collect.
//   hits, capacity: the cells collected.
//   tiles, tile_count: of a tile batch the tiles, of a tile in sections the sections, as tile_at() reads them.
//   forbidden, forbidden_places: the steps at which lanes meet forbidden pairs; those of strip s begin at
//     forbidden_places[s] (pysw_cl.planning.geometry.Grid.blocked_steps).

#define ARGMAX_SCRATCH(tile, chunk) (ARGMAX_WORDS + 2 * (ALPHA(tile) + 1) * T + 2 * (chunk))

// A tile: the kernel's arguments, some of which tile_at() replaces where there are many.
typedef struct {
  __global const code_t *query;
  __global const uchar *target;
  __global const int *left_h, *left_x;
  __global int *right_h, *right_x, *bus;
  int m, n, alpha, stride, strips, outlet_lane, outlet_row, right, target_pad, open, extend, capacity;
  __global int *hits, *argmax_scratch;
  __global const uchar *letters;
  int chunk, highest, depth, limit8, rows_after, columns_after;
  scoring_t scoring;
  __global const int *lines, *columns;
  int column_count, offset;
  __global int *crossed;
#if SECTIONS
  int first_column;
#endif
#if FORBIDDEN_PAIRS
  __global const int *forbidden, *forbidden_places;
  int forbidden_score;
#endif
} tile_t;

// The line of the bus that a strip reads.
INLINE __global int *line_of(const tile_t *t, int strip)
{
  return t->bus + (size_t)t->lines[strip] * 2 * t->stride;
}

// The rows of a lane of a strip.
INLINE int rows_of_lane(const tile_t *t, int strip)
{
  return LOWER_LAST ? min(ALPHA(t), (t->m - strip * ROWS(t) + T - 1) / T) : ALPHA(t);
}

// Where a strip's bottom row goes.  In the tile's last strip it may be another lane's row.
INLINE outlet_t outlet(const tile_t *t, int strip)
{
  __global int *row = line_of(t, strip + 1);
  outlet_t out = {row, row + t->stride, T - 1, rows_of_lane(t, strip) - 1};
  if (strip == t->strips - 1) {
#if LOWER_LAST
    if (t->outlet_lane != T - 1 || t->outlet_row != ALPHA(t) - 1) {
      const int last = t->m - 1 - strip * ROWS(t), alpha = rows_of_lane(t, strip);
      out.lane = last / alpha;
      out.r = last % alpha;
    }
#else
    out.lane = t->outlet_lane;
    out.r = t->outlet_row;
#endif
  }
  return out;
}

// The sweep of a strip by a group.
INLINE sweep_t sweep_of(const tile_t *t, int strip, int group, STAGE_SPACE int *stage, PROFILE_SPACE char *profile,
                        __local int *scratch)
{
  sweep_t sw;
  sw.query = t->query;
  sw.target = t->target;
  sw.letters = t->letters;
  sw.left_h = t->left_h;
  sw.left_x = t->left_x;
  sw.right_h = t->right_h;
  sw.right_x = t->right_x;
  sw.right = t->right;
  sw.top_h = line_of(t, strip);
  sw.top_x = sw.top_h + t->stride;
  sw.out = outlet(t, strip);
#if FLAT_BUS
  sw.out.h = t->bus + (size_t)2 * (1 + group) * t->stride;  // each group has a line that nobody reads
  sw.out.x = sw.out.h + t->stride;
#endif
  sw.out_before = sw.out;
  sw.m = t->m;
  sw.n = t->n;
  sw.strips = t->strips;
  sw.alpha = rows_of_lane(t, strip);
  sw.tallest = ALPHA(t);
  sw.above = strip * ROWS(t);
  sw.enter = strip < t->strips ? strip : -1;
  sw.leave = -1;
  sw.leave_at = 0;
  sw.progress_above = sw.progress_own = 0;
  sw.target_pad = t->target_pad;
  sw.open = t->open;
  sw.extend = t->extend;
  sw.chunk = t->chunk;
  sw.highest = t->highest;
  sw.rows_after = t->rows_after;
  sw.columns_after = t->columns_after;
  sw.offset = t->offset;
  sw.depth = t->depth;
  sw.limit8 = t->limit8;
  sw.stage = stage;
  sw.profile = profile;
  sw.argmax_scratch = t->argmax_scratch + (size_t)group * ARGMAX_SCRATCH(t, t->chunk);
  sw.moves = 0;
  sw.hits = t->hits;
  sw.capacity = t->capacity;
  sw.gap = gap_of(t->open, t->extend);
  sw.scoring = t->scoring;
  sw.scores = scores_of(t->scoring, sw.profile);
  sw.scratch = scratch;
  sw.columns = t->columns;
  sw.column_count = t->column_count;
  sw.crossing = sw.crossing_end = 0;
  sw.crossed = t->crossed;
  sw.padded_rows = t->strips * ROWS(t);
#if SECTIONS
  sw.first_column = t->first_column;
#else
  sw.first_column = 0;
#endif
#if FORBIDDEN_PAIRS
  sw.forbidden = t->forbidden + 2 * (size_t)t->forbidden_places[strip];
  sw.forbidden_count = t->forbidden_places[strip + 1] - t->forbidden_places[strip];
  sw.forbidden_score = t->forbidden_score;
#endif
  return sw;
}

#define TILE_ARGS \
  __global const code_t *restrict query, __global const uchar *restrict target, \
  __global const uchar *restrict letters, __global const int *restrict left_h, \
  __global const int *restrict left_x, __global int *restrict right_h, __global int *restrict right_x, \
  __global int *bus, int m, int n, int alpha, int stride, int strips, int outlet_lane, int outlet_row, int right, \
  int query_pad, int target_pad, int gap_open, int gap_extend, int chunk, int highest, int depth, int limit8, int rows_after, \
  int columns_after, __global int *state, __global int *stages, __global int *argmax_scratch, __global char *profiles, \
  __global int *record, volatile __global int *shared_best, __global int *hits, int capacity, \
  __global const int *restrict lines, __global const int *restrict columns, int column_count, \
  __global int *restrict crossed
#define TILE_NAMES \
  query, target, letters, left_h, left_x, right_h, right_x, bus, m, n, alpha, stride, strips, outlet_lane, outlet_row, \
  right, query_pad, target_pad, gap_open, gap_extend, chunk, highest, depth, limit8, rows_after, columns_after, \
  state, stages, argmax_scratch, profiles, record, shared_best, hits, capacity, lines, columns, column_count, crossed
#define TILE_INIT \
  {query, target, left_h, left_x, right_h, right_x, bus, m, n, alpha, stride, strips, outlet_lane, outlet_row, right, \
   target_pad, gap_open, gap_extend, capacity, hits, argmax_scratch, letters, chunk, highest, depth, limit8, \
   rows_after, columns_after, SCORE_INIT, lines, columns, column_count, 0, \
   crossed FORBIDDEN_INIT}
#if FORBIDDEN_PAIRS
#define FORBIDDEN_ARGS \
  , __global const int *restrict forbidden, __global const int *restrict forbidden_places, int forbidden_score
#define FORBIDDEN_NAMES , forbidden, forbidden_places, forbidden_score
#define FORBIDDEN_INIT FORBIDDEN_NAMES
#else
#define FORBIDDEN_ARGS
#define FORBIDDEN_NAMES
#define FORBIDDEN_INIT
#endif
#if !defined(GROUP_SIZE) && GROUP == 1 && !AUTO_VECTORS
#define GROUP_SIZE __attribute__((intel_vec_len_hint(1), reqd_work_group_size(1, 1, 1)))
#elif !defined(GROUP_SIZE)
#define GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#endif

#if TICKETED

#if MULTI_TILE
// A tile batch, or the sections of one tile (SECTIONS).  Each has a descriptor, whose words TILE_ROWS ... are explained
// and named in pysw_cl.engines.wavefront.descriptors; places are those of ints from the start of `bus`.
// In a batch a ticket is for neighbouring strips of one tile, and `shared_best` has a score for each tile: what cannot
// reach it near the tile's last corner is pruned.  In a tile in sections, which have few strips, a ticket is for the
// same strip of neighbouring sections.
#define MULTI_TILE_ARGS , __global const long *restrict tiles, int tile_count
#define MULTI_TILE_NAMES , tiles, tile_count
#define GIVEN all  // the tile_t that the kernel's arguments are
INLINE tile_t tile_at(tile_t t, __local int *scratch, __global const long *descriptor)
{
  __global int *start = t.bus;
  t.m = lanes_broadcast(scratch, (int)descriptor[TILE_ROWS]);
  t.n = lanes_broadcast(scratch, (int)descriptor[TILE_COLUMNS]);
  t.strips = (t.m + ROWS(&t) - 1) / ROWS(&t);
  t.query += descriptor[TILE_QUERY];
  t.target += descriptor[TILE_TARGET];
  t.letters += descriptor[TILE_LETTERS];
  t.offset = (int)descriptor[TILE_OFFSET];
  t.bus = start + descriptor[TILE_BUS];
  t.stride = lanes_broadcast(scratch, (int)descriptor[TILE_STRIDE]);
  t.left_h = start + descriptor[TILE_LEFT];
  t.left_x = t.left_h + t.strips * ROWS(&t) + 1;
#if SECTIONS
  t.right_h = start + descriptor[TILE_RIGHT];
  t.right_x = t.right_h + t.strips * ROWS(&t);
  t.first_column = (int)descriptor[TILE_TARGET];
#endif
  t.crossed = start + descriptor[TILE_CROSSED];
  t.column_count = lanes_broadcast(scratch, (int)descriptor[TILE_KEPT]);
  return t;
}
#else
#define MULTI_TILE_ARGS
#define MULTI_TILE_NAMES
#define GIVEN tile
#endif

#define WARP_OF_GROUP (WARPS > 1 ? (int)get_local_id(0) / GROUP : 0)
#if defined(PROFILE_LETTERS) && WARPS > 1  // only sections: the warps of a group sweep the same strip of neighbouring ones
#define SHARED_PROFILE 1
#else
#define SHARED_PROFILE 0
#endif
#if SHARED_PROFILE
// The ticket of all warps of the group, which have done with the profile of the last one.
#define SLOTS(name) __local int name[1 + WARPS]
INLINE int next_ticket(__local int *scratch, volatile __global int *ticket, __local int *slots, int round)
{
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) slots[0] = atomic_inc(ticket);
  barrier(CLK_LOCAL_MEM_FENCE);
  return lanes_broadcast(scratch, slots[0]);
}

// Makes the profile of a strip by all warps.
INLINE void profile_share(PROFILE_SPACE char *profile, scoring_t scoring, __global const code_t *query, int strip)
{
  profile_begin(profile, scoring, query + (size_t)strip * (T * R), R);
  barrier(CLK_LOCAL_MEM_FENCE);
}
#elif WARPS > 1
// This warp's next ticket.  A ticket reserves WARPS neighbouring strips, one for each warp of the group: while a warp
// waits for the strip above, the warp that sweeps that strip gets more of the processor.  The first warp that needs
// a ticket takes it and writes it to one of four slots.  A slot is (warps that have asked, ticket + 1, warps that
// have read it).  Slots take turns; a slot is cleared two rounds ahead, once all warps have read its last ticket.
#define SLOTS(name) \
  __local int name[12]; \
  if (get_local_id(0) < 12) name[get_local_id(0)] = get_local_id(0) == 8 || get_local_id(0) == 11 ? WARPS : 0; \
  barrier(CLK_LOCAL_MEM_FENCE)
INLINE int next_ticket(__local int *scratch, volatile __global int *ticket, volatile __local int *slots, int round)
{
  volatile __local int *slot = slots + 3 * (round & 3), *later = slots + 3 * (round + 2 & 3);
  int mine = 0;
  if (LEADER) {
    if (atomic_inc(slot) == 0) {
      while (later[2] < WARPS) wait_a_little(1);
      later[0] = later[1] = 0;
      slot[2] = 0;
      slot[1] = atomic_inc(ticket) + 1;
    }
    while (mine == 0) mine = slot[1];
    atomic_inc(slot + 2);
  }
  return lanes_broadcast(scratch, mine) - 1;
}
#else
#define SLOTS(name) __local int *name = 0
INLINE int next_ticket(__local int *scratch, volatile __global int *ticket, volatile __local int *slots, int round)
{
  int mine = 0;
  if (LEADER) mine = atomic_inc(ticket);
  return lanes_broadcast(scratch, mine);
}
#endif

// The ticketed form: one launch.  Each group takes the ticket of the next strip, and before each block it waits until
// the strip above has done that block's columns.  This cannot deadlock even where groups run one after another,
// because the strip above always has an earlier ticket.  A strip takes T steps more than it has columns: its lanes
// fill and drain.  Groups that share strips (SHARED_STRIPS, strip_sync.clh) take no tickets; they count those begun.
// progress: of each strip the columns done, PROGRESS_STRIDE words apart.
// progress_above[progress_above_at]: how many columns of the row above the tile are done;
// another launch may be computing it.
#define TICKETED_ARGS \
  TILE_ARGS, volatile __global int *ticket, volatile __global int *progress, volatile __global int *progress_above, \
  int progress_above_at, __global int *moves, SCORE_ARGS FORBIDDEN_ARGS MULTI_TILE_ARGS
#define TICKETED_NAMES \
  TILE_NAMES, ticket, progress, progress_above, progress_above_at, moves, SCORE_NAMES FORBIDDEN_NAMES MULTI_TILE_NAMES
KERNEL(wavefront_ticketed, TICKETED)
{
  LANES_LOCAL(scratch);
  SLOTS(slots);
  STAGE_OF_GROUP(stage, stages, STRIP_GROUP_ID, chunk);
  PROFILE_OF_GROUP(profile, profiles, STRIP_GROUP_ID);
#if SHARED_STRIPS
  const int in_flight = STRIPS_A_GROUP * STRIP_GROUPS;  // each has a place for its state; so has each group at the end
  __global char *const profile_of = profile;
#endif
#if MULTI_TILE
  const tile_t all = TILE_INIT;
  volatile __global int *const progress_of = progress;
#if SHARED_PROFILE
  const int across = (tile_count + WARPS - 1) / WARPS, tickets = strips * across;
#elif SECTIONS
  const int tickets = (int)(((long)strips * tile_count + WARPS - 1) / WARPS);
#else
  volatile __global int *const shared_best_of = shared_best;
  const int tickets = (strips + WARPS - 1) / WARPS * tile_count;
#endif
#else
  const tile_t tile = TILE_INIT;
  const int tickets = (strips + WARPS - 1) / WARPS;
#endif
  __global int *my_record = record + RECORD_WORDS * STRIP_GROUP_ID;
  best_t best = best_load(my_record);
#if SHARED_STRIPS
  volatile __global int *const top = progress_above + progress_above_at;
  const int even_from = even_strips(strips, STRIP_GROUPS);
  for (int strip; (strip = next_strip(progress, top, strips, in_flight, even_from, n, chunk)) >= 0;) {
    const int place = strip % in_flight;
    __global int *mine = state + (size_t)place * STATE_ROWS(ALPHA(&tile)) * T;
    profile = profiles + (size_t)place * PROFILE_BYTES;
#else
  __global int *mine = state + (size_t)STRIP_GROUP_ID * STATE_ROWS(ALPHA(&GIVEN)) * T;
  for (int round = 0, taken; (taken = next_ticket(scratch, ticket, slots, round)) < tickets; round++) {
#endif
#if SHARED_PROFILE
    const int number = taken % across * WARPS + WARP_OF_GROUP;
    taken /= across;
    profile_share(profile, all.scoring, query, taken);
    if (number >= tile_count) continue;
#elif SECTIONS
    taken = taken * WARPS + WARP_OF_GROUP;
    if (taken >= strips * tile_count) continue;
#endif
#if MULTI_TILE && !SHARED_PROFILE
    const int number = taken % tile_count;
#endif
#if MULTI_TILE
    __global const long *descriptor = tiles + number * TILE_WORDS;
    const tile_t tile = tile_at(all, scratch, descriptor);
    n = tile.n;
    progress = progress_of + descriptor[TILE_FIRST];
#if !SHARED_PROFILE
    taken /= tile_count;
#endif
#endif
#if MULTI_TILE && !SECTIONS
    shared_best = shared_best_of + number;
#endif
#if SECTIONS
    const int strip = taken;
#elif !SHARED_STRIPS
    const int strip = taken * WARPS + WARP_OF_GROUP;
#endif
#if MULTI_TILE || WARPS > 1
    if (strip >= tile.strips) continue;
#endif
    sweep_t sw = sweep_of(&tile, strip, STRIP_GROUP_ID, stage, profile, scratch);
    KEEP_GROUPS(sw);
    sw.leave = strip;
    sw.leave_at = n;
#if SECTIONS
    sw.number = number;
#endif
#if STORE_MOVES
    sw.moves = moves + (size_t)strip * (n + T) * MOVE_WORDS * T;
#if MULTI_TILE
    sw.moves += descriptor[TILE_MOVES];
#endif
#endif
    sw.progress_above = strip > 0 ? progress + (strip - 1) * PROGRESS_STRIDE : progress_above + progress_above_at;
    sw.progress_own = progress + strip * PROGRESS_STRIDE;
    int from = 0;
#if SHARED_STRIPS
    sw.progress = progress;
    sw.even_from = even_from;
    sw.group = place;
    sw.groups = in_flight + STRIP_GROUPS;
    from = sw.progress_own[PROGRESS_STEP];
    best.visits = best.leaves = 0;
    if (from == 0) atomic_inc(ticket);
#endif
    if (from == 0) {
      strip_begin(mine, &sw);
#if !SHARED_PROFILE
      profile_begin(sw.profile, sw.scoring, sw.query + ROWS_ABOVE(&sw, (size_t)strip), ALPHA(&sw));
#endif
    }
    lanes_sync();
#if NARROW_WIDTHS && LAG && LEFT_PADDED
    best.level = left_is_level(mine, &sw);
#endif

    int seen = -T;
    for (int limit = from;;) {
      const bool ends = from >= n + LAG * T || LEAVES(&best);
#if PASSES_ENDS
      limit = n + T;
#elif LAG
      if (from >= limit && !ends) limit = columns_from(&sw, from, n + T);
#else
      if (from == limit) limit = columns_next(mine, &sw, from, n);
#endif
#if NARROW_WIDTHS && LAG && !PASSES_ENDS
      if (ends ? best.columns_deferred : columns_due(&sw, &best, min(block_end(&sw, &best, from, limit), n), seen)) {
        narrow_deferred_columns16(mine, &sw);  // (one call, because each call inlines another copy)
        best.columns_deferred = false;
      }
#endif
      if (ends) break;
#if PRUNE
      const int pruned = prune_blocks(mine, &sw, from, limit, &seen, shared_best, &best);
      if (pruned > from || LEAVES(&best)) {
        from = pruned;
        continue;
      }
#endif
#if NARROW_WIDTHS
      const int before = from;
      from = sweep_narrow(mine, &sw, from, limit, &seen, shared_best, &best);
      if (from > before || LEAVES(&best)) continue;
#endif
      const int to = block_end(&sw, &best, from, limit);
      if (!go_on(&sw, min(to, n), &seen, &best)) continue;
#if PASSES_ENDS
      crossing_t crossing = crossing_from(&sw, 0);
      crossing_in(&crossing, &sw, from, to, T - 1);
      sw.crossing = crossing.open;
      sw.crossing_end = crossing.shut;
#endif
#if NARROW_WIDTHS && !LAG
      sweep_wide_block(mine, &sw, from, to, shared_best, &best);
#else
      sweep_wide(mine, &sw, from, to, from < T || from >= n || outlet_elsewhere(&sw) || crosses(&sw), shared_best,
                 &best);
#endif
#if PASSES_ENDS
      sw.crossing = sw.crossing_end = 0;
#endif
      publish(&sw, to);
      from = to;
    }
#if SHARED_STRIPS
    leave_strip(&sw, from);
#endif
  }
#if SHARED_STRIPS
  __global int *mine = state + (size_t)(in_flight + STRIP_GROUP_ID) * STATE_ROWS(ALPHA(&tile)) * T;
  profile = profile_of + (size_t)in_flight * PROFILE_BYTES;
#endif
#if DEFERRED_ARGMAX
  const deferred_argmax_t block =
    *(__global const deferred_argmax_t *)(argmax_scratch + (size_t)STRIP_GROUP_ID * ARGMAX_SCRATCH(&GIVEN, chunk));
  const bool due = best.deferred_top != NEG && best.deferred_top >= lanes_broadcast(scratch, *shared_best);
#if SHARED_PROFILE  // one warp after the other, each with the profile of its strip
  if (LEADER) slots[1 + WARP_OF_GROUP] = due ? block.strip : -1;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int turn = 0; turn < WARPS; turn++) {
    const int strip = lanes_broadcast(scratch, slots[1 + turn]);
    if (strip < 0) continue;
    barrier(CLK_LOCAL_MEM_FENCE);
    profile_share(profile, all.scoring, query, strip);
    if (turn != WARP_OF_GROUP) continue;
#else
  if (due) {
#endif
#if SECTIONS
    const tile_t tile = tile_at(all, scratch, tiles + block.section * TILE_WORDS);
#endif
    const sweep_t sw = sweep_of(&tile, block.strip, STRIP_GROUP_ID, stage, profile, scratch);
    strip_begin(mine, &sw);
#if !SHARED_PROFILE
    profile_begin(sw.profile, sw.scoring, query + ROWS_ABOVE(&sw, (size_t)block.strip), ALPHA(&sw));
#endif
    lanes_sync();
#if NARROW_WIDTHS & 8
    if (block.width == 8) narrow_deferred_argmax8(mine, &sw, block, &best);
    else
#endif
    narrow_deferred_argmax16(mine, &sw, block, &best);
  }
#endif
  best_store(my_record, best);
}

#else

// The two-phase form: two launches for each external diagonal, whose blocks are block c of strip diagonal - c.  The
// short phase (phase 0) does the first T columns of each block, where the block to its left has delegated cells.
// The long phase does the other columns.  The cells that the last block of strip s delegates are done by the first
// block of strip s + blocks, which takes over its lanes.
#define TWO_PHASE_ARGS TILE_ARGS, int diagonal, int first_block, int blocks, int phase, SCORE_ARGS FORBIDDEN_ARGS
#define TWO_PHASE_NAMES TILE_NAMES, diagonal, first_block, blocks, phase, SCORE_NAMES FORBIDDEN_NAMES
KERNEL(wavefront_two_phase, TWO_PHASE)
{
  LANES_LOCAL(scratch);
  const int block = first_block + STRIP_GROUP_ID, strip = diagonal - block;
  STAGE_OF_GROUP(stage, stages, block, chunk);
  PROFILE_OF_GROUP(profile, profiles, block);
  const tile_t tile = TILE_INIT;
  const int start = (int)((long)block * n / blocks), end = (int)((long)(block + 1) * n / blocks);
  sweep_t sw = sweep_of(&tile, strip, block, stage, profile, scratch);
  const bool drains = block == 0 && strip >= blocks && phase == 0;
  if (drains) {
    sw.leave = strip - blocks;
    sw.out_before = outlet(&tile, strip - blocks);
  }

  __global int *mine = state + (size_t)(strip % blocks) * STATE_ROWS(ALPHA(&tile)) * T;
  if (block == 0 && phase == 0) {
    strip_t s;
    if (drains) {
      strip_load(&s, &sw, mine);
      s.column += n;  // the old strip's columns, counted in the new strip's steps
    } else strip_clear(&s, query_pad, target_pad);
    strip_store(&s, &sw, mine);
  }
  __global int *my_record = record + RECORD_WORDS * block;
  best_t best = best_load(my_record);
  const int from = phase ? start + T : start, to = phase ? end : start + T;
  if (strip < strips) profile_begin(sw.profile, sw.scoring, query + ROWS_ABOVE(&sw, (size_t)strip), ALPHA(&sw));
  lanes_sync();
  const bool delegated = block == 0 && phase == 0;
  int seen = INT_MAX;
  for (int at = from; at < to;) {
    const int before = at;
#if PRUNE
    if (!delegated) at = prune_blocks(mine, &sw, at, to, &seen, shared_best, &best);
#endif
#if NARROW_WIDTHS
    if (!delegated && at == before) at = sweep_narrow(mine, &sw, at, to, &seen, shared_best, &best);
#endif
    if (at > before) continue;
    const int end = min(at + chunk, to);
    sweep_wide(mine, &sw, at, end, delegated || outlet_elsewhere(&sw), shared_best, &best);
    lanes_sync();
    at = end;
  }
  best_store(my_record, best);
}

#endif
