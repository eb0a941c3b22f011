// The wavefront over the sections of one tile, in the ticketed form: parts side by side, which overlap.  They have few
// strips, so a ticket is for the same strip of neighbouring sections.
// Needs: ticketed.clh, and what that needs.  Reads T, WARPS, NARROW_WIDTHS, BEST, PROFILE_LETTERS.

KERNEL(wavefront_ticketed, WAVEFRONT)
{
  LANES_LOCAL(scratch);
  SLOTS(slots);
  STAGE_OF_GROUP(stage, stages, STRIP_GROUP_ID, chunk);
  PROFILE_OF_GROUP(profile, profiles, STRIP_GROUP_ID);
  tile_t all = TILE_INIT;
  all.by_column = by_column;
#if SHARED_PROFILE
  const int across = (tile_count + WARPS - 1) / WARPS, tickets = strips * across;
#else
  const int tickets = (int)(((long)strips * tile_count + WARPS - 1) / WARPS);
#endif
  volatile __global int *const top = progress_above + progress_above_at;
  __global int *my_record = record + RECORD_WORDS * STRIP_GROUP_ID;
  best_t best = best_load(my_record);
  __global int *mine = state + (size_t)STRIP_GROUP_ID * STATE_ROWS(ALPHA(&all)) * T;
  for (int round = 0, taken; (taken = next_ticket(scratch, ticket, slots, round)) < tickets; round++) {
#if SHARED_PROFILE
    const int number = taken % across * WARPS + WARP_OF_GROUP, strip = taken / across;
    profile_share(profile, all.scoring, query, strip);
    if (number >= tile_count) continue;
#else
    taken = taken * WARPS + WARP_OF_GROUP;
    if (taken >= strips * tile_count) continue;
    const int number = taken % tile_count, strip = taken / tile_count;
#endif
    __global const long *descriptor = tiles + number * TILE_WORDS;
    const tile_t tile = tile_at(all, scratch, descriptor);
    if (strip >= tile.strips) continue;
    sweep_t sw = sweep_of(&tile, strip, STRIP_GROUP_ID, stage, profile, scratch);
    sweep_in_turn(&sw, strip, progress + descriptor[TILE_FIRST], top, 0);
    KEEP_GROUPS(sw);
    sw.number = number;
    sweep_strip(mine, &sw, 0, shared_best, &best);
  }
#if DEFERRED_ARGMAX
  const deferred_argmax_t block = DEFERRED_BLOCK(&all);
  const bool due = argmax_due(&best, shared_best, scratch);
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
    const tile_t tile = tile_at(all, scratch, tiles + block.section * TILE_WORDS);
    const sweep_t sw = sweep_of(&tile, block.strip, STRIP_GROUP_ID, stage, profile, scratch);
    deferred_argmax(mine, &sw, block, &best);
  }
#endif
  best_store(my_record, best);
}
