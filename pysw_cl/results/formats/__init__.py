"""Text formats of results: `paf` (a line per alignment) and `pair` (aligned text)."""
