// Moves the runs of a batch's paths, which batch_traceback.cl leaves at the ends of their places, next to each other.
// Needs: base.clh.

// The runs of paths before path p, of all `count` of them and the sum.  One work-group; each work-item counts a stretch.
// traced: as batch_traceback.cl has it.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
count_runs(__global const int *restrict traced, int count, __global int *restrict offsets)
{
  __global const int *const runs = traced + (size_t)4 * count;
  const int item = get_local_id(0), each = (count + GROUP - 1) / GROUP;
  const int from = min(item * each, count), to = min(from + each, count);
  __local int sums[GROUP];
  int sum = 0;
#pragma unroll 8  // so that loads do not wait for each other
  for (int p = from; p < to; p++) sum += runs[p];
  sums[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 1; step < GROUP; step *= 2) {
    const int before = item >= step ? sums[item - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[item] += before;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  int at = sums[item] - sum;
#pragma unroll 8
  for (int p = from; p < to; p++) {
    offsets[p] = at;
    at += runs[p];
  }
  if (item == GROUP - 1) offsets[count] = sums[item];
}

#define MATES 8  // work-items that copy the runs of a path

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
pack_runs(__global const int4 *restrict places, int count, int lanes, __global const int *restrict offsets,
          __global const uint *restrict runs, __global uint *restrict packed)
{
  const int p = get_global_id(0) / MATES;
  if (p >= count) return;
  const int4 place = places[p / lanes];
  const int to = offsets[p], length = offsets[p + 1] - to;
  __global const uint *const from = runs + place.z + (size_t)(p % lanes + 1) * place.w - length;
  for (int k = get_global_id(0) % MATES; k < length; k += MATES) packed[to + k] = from[k];
}
