// CUDAlign's two-level wavefront (Sandes & de Melo, PPoPP 2010; thesis 2011) over one tile, in the ticketed form.
// Needs: ticketed.clh, and what that needs.  Reads T, SHARED_STRIPS, WARPS, NARROW_WIDTHS, BEST.

KERNEL(wavefront_ticketed, WAVEFRONT)
{
  LANES_LOCAL(scratch);
  SLOTS(slots);
  STAGE_OF_GROUP(stage, stages, STRIP_GROUP_ID, chunk);
  PROFILE_OF_GROUP(profile, profiles, STRIP_GROUP_ID);
  const tile_t tile = TILE_INIT;
  volatile __global int *const top = progress_above + progress_above_at;
  __global int *my_record = record + RECORD_WORDS * STRIP_GROUP_ID;
  best_t best = best_load(my_record);
#if SHARED_STRIPS
  const int in_flight = STRIPS_A_GROUP * STRIP_GROUPS;  // each has a place for its state; so has each group at the end
  const int even_from = even_strips(strips, STRIP_GROUPS);
  for (int strip; (strip = next_strip(progress, top, strips, in_flight, even_from, n, chunk)) >= 0;) {
    const int place = strip % in_flight;
    __global int *mine = state + (size_t)place * STATE_ROWS(ALPHA(&tile)) * T;
    __global char *own_profile = profiles + (size_t)place * PROFILE_BYTES;
    sweep_t sw = sweep_of(&tile, strip, STRIP_GROUP_ID, stage, own_profile, scratch);
    sweep_in_turn(&sw, strip, progress, top, moves);
    sw.progress = progress;
    sw.even_from = even_from;
    sw.group = place;
    sw.groups = in_flight + STRIP_GROUPS;
    const int from = sw.progress_own[PROGRESS_STEP];
    best.visits = best.leaves = 0;
    if (from == 0) atomic_inc(ticket);
    leave_strip(&sw, sweep_strip(mine, &sw, from, shared_best, &best));
  }
  __global int *mine = state + (size_t)(in_flight + STRIP_GROUP_ID) * STATE_ROWS(ALPHA(&tile)) * T;
  profile += (size_t)in_flight * PROFILE_BYTES;
#else
  const int tickets = (strips + WARPS - 1) / WARPS;
  __global int *mine = state + (size_t)STRIP_GROUP_ID * STATE_ROWS(ALPHA(&tile)) * T;
  for (int round = 0, taken; (taken = next_ticket(scratch, ticket, slots, round)) < tickets; round++) {
    const int strip = taken * WARPS + WARP_OF_GROUP;
#if WARPS > 1
    if (strip >= tile.strips) continue;
#endif
    sweep_t sw = sweep_of(&tile, strip, STRIP_GROUP_ID, stage, profile, scratch);
    sweep_in_turn(&sw, strip, progress, top, moves);
    KEEP_GROUPS(sw);
    sweep_strip(mine, &sw, 0, shared_best, &best);
  }
#endif
#if DEFERRED_ARGMAX
  const deferred_argmax_t block = DEFERRED_BLOCK(&tile);
  if (argmax_due(&best, shared_best, scratch)) {
    const sweep_t sw = sweep_of(&tile, block.strip, STRIP_GROUP_ID, stage, profile, scratch);
    deferred_argmax(mine, &sw, block, &best);
  }
#endif
  best_store(my_record, best);
}
