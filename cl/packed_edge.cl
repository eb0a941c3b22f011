// Edges that stay on the device in less than half of their size: blocks of CELLS cells, each a base, the
// lowest H, and for each cell what its H is above it, in 16 bits (pruned blocks leave steps of more than 255),
// and its X below H, in 8.  A block that they do not hold is stored as it is in one of `room` raw blocks, and
// its base says in which.
//
// `packed` holds, in 32-bit numbers: HEAD, the first of them how many raw blocks were asked for; bases,
// their number rounded up to whole vectors; 8 a block with the 16 bits of H; 4 a block with the bytes of X;
// raw blocks, each CELLS H, then CELLS X.

#define CELLS 16
#define HEAD 16
#define RAW (INT_MIN + (1 << 27))  // a base below this is INT_MIN and the number of a raw block
#define UNREACHABLE (-(1 << 30))   // pysw_cl.tile.REACH

INLINE size_t shorts_at(int blocks)
{
  return HEAD + (((size_t)blocks + 3) & ~(size_t)3);
}

INLINE size_t bytes_at(int blocks)
{
  return shorts_at(blocks) + (size_t)8 * blocks;
}

INLINE size_t raw_at(int blocks, int number)
{
  return bytes_at(blocks) + (size_t)4 * blocks + (size_t)2 * CELLS * number;
}

INLINE int lowest(int16 v)
{
  const int8 eight = min(v.lo, v.hi);
  const int4 four = min(eight.lo, eight.hi);
  const int2 two = min(four.lo, four.hi);
  return min(two.x, two.y);
}

INLINE bool are_below(uint16 v, uint limit)
{
  const uint8 eight = v.lo | v.hi;
  const uint4 four = eight.lo | eight.hi;
  const uint2 two = four.lo | four.hi;
  return (two.x | two.y) < limit;
}

// `count` numbers, at most CELLS; the last of them instead of those that follow.
INLINE int16 cells_of(__global const int *from, int count)
{
  if (count >= CELLS) return vload16(0, from);
  int cells[CELLS];
  for (int k = 0; k < CELLS; k++) cells[k] = from[min(k, count - 1)];
  return vload16(0, cells);
}

// `count` cells, whose H and X lie in `source` from places `h_at` and `x_at` on, as those from block `first`
// on; `again`: that block was packed before, with fewer cells; `lost`: unreachable cells may have drifted.
__kernel void pack_edge(__global int *restrict packed, int blocks, int room, int first, int again,
                        int count, int lost, __global const int *restrict source, long h_at, long x_at)
{
  const size_t k = get_global_id(0), done = k * CELLS;
  if (done >= (size_t)count) return;
  const size_t block = first + k;
  const int left = count - (int)done;
  int16 h = cells_of(source + h_at + done, left), x = cells_of(source + x_at + done, left);
  if (lost) {
    const int16 gone = h < (int16)UNREACHABLE;
    h = select(h, (int16)NEG, gone);
    x = select(x, (int16)NEG, gone);
  }
  const int base = lowest(h);
  const uint16 above = as_uint16(h) - (uint16)(uint)base, below = as_uint16(h) - as_uint16(x);
  if (base >= RAW && are_below(above, 1 << 16) && are_below(below, 1 << 8)) {
    packed[HEAD + block] = base;
    vstore16(convert_ushort16(above), block, (__global ushort *)(packed + shorts_at(blocks)));
    vstore16(convert_uchar16(below), block, (__global uchar *)(packed + bytes_at(blocks)));
    return;
  }
  const int before = again && k == 0 ? packed[HEAD + block] : 0;
  const int number = before < RAW ? before - INT_MIN : atomic_inc(packed);
  packed[HEAD + block] = INT_MIN + min(number, room - 1);
  if (number < room) {
    __global int *raw = packed + raw_at(blocks, number);
    vstore16(h, 0, raw);
    vstore16(x, 1, raw);
  }
}

// Every stride-th of the cells from `first` on, `count` of them: H to places from `h_at` on; X, if `gaps`,
// to places from `x_at` on.
__kernel void unpack_edge(__global const int *restrict packed, int blocks, int first, int stride, int count,
                          int gaps, __global int *restrict to, long h_at, long x_at)
{
  const size_t k = get_global_id(0);
  if (k >= (size_t)count) return;
  const size_t cell = first + k * stride;
  const int base = packed[HEAD + cell / CELLS];
  int h, x;
  if (base < RAW) {
    __global const int *raw = packed + raw_at(blocks, base - INT_MIN) + cell % CELLS;
    h = raw[0];
    x = raw[CELLS];
  } else {
    h = base + ((__global const ushort *)(packed + shorts_at(blocks)))[cell];
    x = gaps ? h - ((__global const uchar *)(packed + bytes_at(blocks)))[cell] : 0;
  }
  to[h_at + k] = h;
  if (gaps) to[x_at + k] = x;
}
