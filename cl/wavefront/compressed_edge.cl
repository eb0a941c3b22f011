// Compressed edges: edges that stay on the device in less than half of their size.  Cells are stored in groups of
// CELLS.  A group has a base, its lowest H.  Each cell has H - base in 16 bits (because pruned blocks leave steps of
// more than 255) and H - X in 8 bits.  A group that does not fit is stored raw, in one of `raw_capacity` raw groups,
// and its base then says in which.
//
// A compressed edge is, in 32-bit words: HEAD words, the first of which counts the raw groups asked for; the bases,
// rounded up to whole vectors; 8 words per group with H - base; 4 words per group with H - X; the raw groups, each
// CELLS H, then CELLS X.
// Needs: base.clh.  Reads no macro.

#define CELLS 16
#define HEAD 16
#define RAW (INT_MIN + (1 << 27))  // a base below this is INT_MIN + the number of a raw group
#define UNREACHABLE (-(1 << 30))   // pysw_cl.scoring.precision.UNREACHABLE_BELOW

INLINE size_t shorts_at(int groups)
{
  return HEAD + (((size_t)groups + 3) & ~(size_t)3);
}

INLINE size_t bytes_at(int groups)
{
  return shorts_at(groups) + (size_t)8 * groups;
}

INLINE size_t raw_at(int groups, int number)
{
  return bytes_at(groups) + (size_t)4 * groups + (size_t)2 * CELLS * number;
}

// H or X of a group, four in a vector.  (Passing vectors of 16 numbers to a function aborts the process under PoCL
// on processors that have no vectors so long.)
typedef struct { int4 v[CELLS / 4]; } cells_t;
#define EACH_FOUR(k) _Pragma("unroll") for (int k = 0; k < CELLS / 4; k++)

INLINE int reduce_min(cells_t c)
{
  const int4 four = min(min(c.v[0], c.v[1]), min(c.v[2], c.v[3]));
  return min(min(four.x, four.y), min(four.z, four.w));
}

// Is a - b, as an unsigned number, below `limit` for every cell?  `limit` is a power of two.
INLINE bool differ_by_less(cells_t a, cells_t b, uint limit)
{
  uint4 all = 0;
  EACH_FOUR(k) all |= as_uint4(a.v[k]) - as_uint4(b.v[k]);
  return (all.x | all.y | all.z | all.w) < limit;
}

INLINE cells_t splat_cells(int value)
{
  cells_t c;
  EACH_FOUR(k) c.v[k] = (int4)value;
  return c;
}

// `count` numbers, at most CELLS; if fewer, the last one is repeated.
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

// Compresses `count` cells, whose H and X are in `source` from places h_at and x_at on.  unreachable: there may be
// unreachable cells, which have drifted from the sentinel; they become the sentinel again.
__kernel void compress_edge(__global int *restrict compressed, int groups, int raw_capacity, int count, int unreachable,
                            __global const int *restrict source, long h_at, long x_at)
{
  const size_t group = get_global_id(0), done = group * CELLS;
  if (done >= (size_t)count) return;
  const int left = count - (int)done;
  cells_t h = cells_of(source + h_at + done, left), x = cells_of(source + x_at + done, left);
  if (unreachable) EACH_FOUR(k) {
    const int4 gone = h.v[k] < (int4)UNREACHABLE;
    h.v[k] = select(h.v[k], (int4)NEG, gone);
    x.v[k] = select(x.v[k], (int4)NEG, gone);
  }
  const int base = reduce_min(h);
  if (base >= RAW && differ_by_less(h, splat_cells(base), 1 << 16) && differ_by_less(h, x, 1 << 8)) {
    __global ushort *above = (__global ushort *)(compressed + shorts_at(groups)) + group * CELLS;
    __global uchar *below = (__global uchar *)(compressed + bytes_at(groups)) + group * CELLS;
    compressed[HEAD + group] = base;
    EACH_FOUR(k) vstore4(convert_ushort4(as_uint4(h.v[k]) - (uint4)(uint)base), k, above);
    EACH_FOUR(k) vstore4(convert_uchar4(as_uint4(h.v[k]) - as_uint4(x.v[k])), k, below);
    return;
  }
  const int number = atomic_inc(compressed);
  compressed[HEAD + group] = INT_MIN + min(number, raw_capacity - 1);
  if (number < raw_capacity) {
    __global int *raw = compressed + raw_at(groups, number);
    EACH_FOUR(k) vstore4(h.v[k], k, raw);
    EACH_FOUR(k) vstore4(x.v[k], k, raw + CELLS);
  }
}

// Expands `count` cells: every stride-th one from cell `first` on.  H goes to places from h_at on, and X, if `gaps`,
// to places from x_at on.
__kernel void expand_edge(__global const int *restrict compressed, int groups, int first, int stride, int count,
                          int gaps, __global int *restrict to, long h_at, long x_at)
{
  const size_t k = get_global_id(0);
  if (k >= (size_t)count) return;
  const size_t cell = first + k * stride;
  const int base = compressed[HEAD + cell / CELLS];
  int h, x;
  if (base < RAW) {
    __global const int *raw = compressed + raw_at(groups, base - INT_MIN) + cell % CELLS;
    h = raw[0];
    x = raw[CELLS];
  } else {
    h = base + ((__global const ushort *)(compressed + shorts_at(groups)))[cell];
    x = gaps ? h - ((__global const uchar *)(compressed + bytes_at(groups)))[cell] : 0;
  }
  to[h_at + k] = h;
  if (gaps) to[x_at + k] = x;
}
