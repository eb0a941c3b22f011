"""Databases of sequences, and the search of queries in them."""
