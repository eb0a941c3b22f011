// The two-phase form: two launches for each external diagonal, whose blocks are block c of strip diagonal - c.  The
// short phase (phase 0) does the first T columns of each block, where the block to its left has delegated cells.
// The long phase does the other columns.  The cells that the last block of strip s delegates are done by the first
// block of strip s + blocks, which takes over its lanes.
// Needs: tile.clh, and what that needs.  Reads T, PRUNE, NARROW_WIDTHS.

KERNEL(wavefront_two_phase, WAVEFRONT)
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
