"""Pair batches: many pairs, one in each lane."""
