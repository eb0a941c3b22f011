// Are sums of numbers of 11 bits exact on this device (mixed_arithmetic.clh)?  They are not where half-precision
// instructions flush denormal numbers to 0.  Each work-item tries one number, a in the low half of a word and 2,047 - a in
// the high half.
// Needs: base.clh, mixed_arithmetic.clh.
// Launched with NUMBERS work-items.
//
// Arguments:
//   wrong: 0; set to 1 if a sum is not what it should be.

#define NUMBERS 2048

// Are both numbers of a word what they should be?  One below 0 may be any low integer; `most`: the highest that is tried.
INLINE bool sums_are(uint word, int low, int high, int most)
{
  const int of_low = (short)(word & 0xffffu), of_high = (int)word >> 16;
  const bool right_low = low < 0 ? of_low < 0 : low > most || of_low == low;
  const bool right_high = high < 0 ? of_high < 0 : high > most || of_high == high;
  return right_low && right_high;
}

__kernel void exact_sums(__global int *wrong)
{
  const int a = (int)get_global_id(0), b = NUMBERS - 1 - a;
  const uint both = (uint)a | (uint)b << 16;
  const int most = NUMBERS - 1 + (MISMATCH);  // half precision adds MATCH - MISMATCH first
  const int lost_a = max(a + (MISMATCH), 0), lost_b = max(b + (MISMATCH), 0);
  bool right = sums_are(mixed_opened(both), a - (GAP_FIRST), b - (GAP_FIRST), NUMBERS - 1);
  right &= sums_are(mixed_sum(both, 0x10002u, 0x10002u), a + (MATCH), b + (MATCH), most);
  right &= sums_are(mixed_sum(both, 0x10002u, 0x20001u), lost_a, lost_b, NUMBERS - 1);
  right &= sums_are(mixed_sum(both, 0x10002u, 0x10001u), lost_a, b + (MATCH), most);
  if (!right) *wrong = 1;
}
