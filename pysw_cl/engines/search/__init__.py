"""Database search: the scores of queries with many subjects."""
