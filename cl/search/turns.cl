// The letters of a database as search/mixed.cl reads them.
// Needs: base.clh.
//
// Arguments:
//   letters, starts, lengths: the letters of all `count` subjects, and of each the first one and how many.
//   firsts, turns: of search/mixed.cl; a pair is the subjects 2 k and 2 k + 1.
//   codes: of each letter; codes[256]: of padding.

#define MARK 0x80000000u

// Notes which letters there are: there[letter] becomes 1.
__kernel void letters_there(__global const uchar *restrict letters, ulong all, __global int *there)
{
  int own[256];
  for (int k = 0; k < 256; k++) own[k] = 0;
  for (size_t k = get_global_id(0); k < all; k += get_global_size(0)) own[letters[k]] = 1;
  for (int k = 0; k < 256; k++)
    if (own[k]) there[k] = 1;
}

INLINE uint code_at(__global const uchar *letters, long start, int length, int column, __global const uchar *codes)
{
  return codes[column < length ? letters[start + column] : 256];
}

// A work-group lays out a pair.
__kernel void lay_out(__global const uchar *restrict letters, __global const long *restrict starts,
                      __global const int *restrict lengths, int count, __global const uchar *restrict codes,
                      __global const uint *restrict firsts, __global uint *restrict turns)
{
  const int pair = get_group_id(0), a = 2 * pair, b = min(a + 1, count - 1);
  const int m = lengths[a], n = a + 1 < count ? lengths[b] : 0, words = (int)(firsts[pair + 1] - firsts[pair]);
  __global uint *to = turns + firsts[pair];
  for (int k = get_local_id(0); k <= words; k += get_local_size(0)) {
    const int column = 2 * (k - 1);
    if (k == 0 || k == words)
      to[k] = MARK;
    else
      to[k] = code_at(letters, starts[a], m, column, codes) | code_at(letters, starts[b], n, column, codes) << 8 |
              code_at(letters, starts[a], m, column + 1, codes) << 16 |
              code_at(letters, starts[b], n, column + 1, codes) << 24;
  }
}
