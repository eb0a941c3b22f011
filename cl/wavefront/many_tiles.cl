// The wavefront over the tiles of a tile batch, in the ticketed form.  A ticket is for neighbouring strips of one tile, and
// `shared_best` has a score for each tile: what cannot reach it near the tile's last corner is pruned; or, where the best
// cell of each tile is looked for, the best score so far.  Each strip has a record then: a group meets several tiles.
// Needs: ticketed.clh, and what that needs.  Reads T, WARPS, BEST.

KERNEL(wavefront_ticketed, WAVEFRONT)
{
  LANES_LOCAL(scratch);
  SLOTS(slots);
  STAGE_OF_GROUP(stage, stages, STRIP_GROUP_ID, chunk);
  PROFILE_OF_GROUP(profile, profiles, STRIP_GROUP_ID);
  const tile_t all = TILE_INIT;
  const int tickets = (strips + WARPS - 1) / WARPS * tile_count;
  volatile __global int *const top = progress_above + progress_above_at;
  __global int *my_record = record + RECORD_WORDS * STRIP_GROUP_ID;
  best_t best = best_load(my_record);
  __global int *mine = state + (size_t)STRIP_GROUP_ID * STATE_ROWS(ALPHA(&all)) * T;
  for (int round = 0, taken; (taken = next_ticket(scratch, ticket, slots, round)) < tickets; round++) {
    const int number = taken % tile_count, strip = taken / tile_count * WARPS + WARP_OF_GROUP;
    __global const long *descriptor = tiles + number * TILE_WORDS;
    const tile_t tile = tile_at(all, scratch, descriptor);
    if (strip >= tile.strips) continue;
    sweep_t sw = sweep_of(&tile, strip, STRIP_GROUP_ID, stage, profile, scratch);
    sweep_in_turn(&sw, strip, progress + descriptor[TILE_FIRST], top, moves + descriptor[TILE_MOVES]);
    KEEP_GROUPS(sw);
#if BEST
    my_record = record + RECORD_WORDS * (descriptor[TILE_FIRST] + strip);
    best = best_load(my_record);
#endif
    sweep_strip(mine, &sw, 0, shared_best + number, &best);
#if BEST
    best_store(my_record, best);
#endif
  }
#if !BEST
  best_store(my_record, best);
#endif
}
