"""Engines: what computes tiles.  :mod:`pysw_cl.tiles.contract` defines what an engine must do."""
