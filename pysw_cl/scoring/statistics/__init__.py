"""E-values and bit scores: how likely unrelated sequences score as much."""

#: The most letters of a search.
MOST_LETTERS = 10**18
