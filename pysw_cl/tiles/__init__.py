"""Tiles, their edges, the contract that engines fulfil, and sweeps over them."""
