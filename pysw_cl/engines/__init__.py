"""Engines: what computes a tile.  The contract is in ``base``, what is built on it in ``sweep``."""
