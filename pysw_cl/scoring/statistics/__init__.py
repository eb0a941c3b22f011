"""E-values and bit scores: how likely unrelated sequences score as much."""
