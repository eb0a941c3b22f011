"""One pair, many pairs and searches on many machines (docs/cluster.md)."""
