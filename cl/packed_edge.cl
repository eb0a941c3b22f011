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
#define UNREACHABLE (-(1 << 30))   // pysw_cl.tiles.tile.REACH

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

// The cells of a block, four in a vector: vectors of 16 numbers that are handed to a function make PoCL
// end the process where the processor it builds for has none so long.
typedef struct { int4 v[CELLS / 4]; } cells_t;
#define EACH_FOUR(k) _Pragma("unroll") for (int k = 0; k < CELLS / 4; k++)

INLINE int lowest(cells_t c)
{
  const int4 four = min(min(c.v[0], c.v[1]), min(c.v[2], c.v[3]));
  return min(min(four.x, four.y), min(four.z, four.w));
}

// Is each of a less the one of b, read without sign, below `limit`, a power of two?
INLINE bool differ_by_less(cells_t a, cells_t b, uint limit)
{
  uint4 all = 0;
  EACH_FOUR(k) all |= as_uint4(a.v[k]) - as_uint4(b.v[k]);
  return (all.x | all.y | all.z | all.w) < limit;
}

INLINE cells_t all_cells(int value)
{
  cells_t c;
  EACH_FOUR(k) c.v[k] = (int4)value;
  return c;
}

// `count` numbers, at most CELLS; the last of them instead of those that follow.
INLINE cells_t cells_of(__global const int *from, int count)
{
  cells_t c;
  EACH_FOUR(k) {
    const int at = 4 * k, last = count - 1;
    c.v[k] = at + 4 <= count ? vload4(k, from) : (int4)(from[min(at, last)], from[min(at + 1, last)],
                                                        from[min(at + 2, last)], from[min(at + 3, last)]);
  }
  return c;
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
  cells_t h = cells_of(source + h_at + done, left), x = cells_of(source + x_at + done, left);
  if (lost) EACH_FOUR(k) {
    const int4 gone = h.v[k] < (int4)UNREACHABLE;
    h.v[k] = select(h.v[k], (int4)NEG, gone);
    x.v[k] = select(x.v[k], (int4)NEG, gone);
  }
  const int base = lowest(h);
  if (base >= RAW && differ_by_less(h, all_cells(base), 1 << 16) && differ_by_less(h, x, 1 << 8)) {
    __global ushort *above = (__global ushort *)(packed + shorts_at(blocks)) + block * CELLS;
    __global uchar *below = (__global uchar *)(packed + bytes_at(blocks)) + block * CELLS;
    packed[HEAD + block] = base;
    EACH_FOUR(k) vstore4(convert_ushort4(as_uint4(h.v[k]) - (uint4)(uint)base), k, above);
    EACH_FOUR(k) vstore4(convert_uchar4(as_uint4(h.v[k]) - as_uint4(x.v[k])), k, below);
    return;
  }
  const int before = again && k == 0 ? packed[HEAD + block] : 0;
  const int number = before < RAW ? before - INT_MIN : atomic_inc(packed);
  packed[HEAD + block] = INT_MIN + min(number, room - 1);
  if (number < room) {
    __global int *raw = packed + raw_at(blocks, number);
    EACH_FOUR(k) vstore4(h.v[k], k, raw);
    EACH_FOUR(k) vstore4(x.v[k], k, raw + CELLS);
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
