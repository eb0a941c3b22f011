// The sections of a tile (sections.cl): where one takes over from the one before it, both have computed the
// same column.
// Needs: base.clh.  Reads COMPARING.

#ifndef COMPARING  // work-items that compare two columns
#define COMPARING 64
#endif

// Compares pairs of columns, each by `parts` groups.  A column has `rows` H, and `padded_rows` further on as many E^.
// refused[k]: 1 where the columns of pair k differ.  places: two for each pair, in `kept`.
__kernel __attribute__((reqd_work_group_size(COMPARING, 1, 1)))
void compare_columns(__global const int *restrict kept, __global const long *restrict places, int rows,
                     int padded_rows, int parts, volatile __global int *refused)
{
  int pair = get_group_id(0) / parts, part = get_group_id(0) % parts;
  __global const int *a = kept + places[2 * pair], *b = kept + places[2 * pair + 1];
  int differ = 0;
  for (int row = part * COMPARING + get_local_id(0); row < rows; row += parts * COMPARING)
    differ |= (a[row] ^ b[row]) | (a[row + padded_rows] ^ b[row + padded_rows]);
  if (differ) atomic_or(refused + pair, 1);
}
