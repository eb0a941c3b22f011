"""Many pairs, one in each lane."""
