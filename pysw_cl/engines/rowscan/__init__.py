"""The row scan: tiles computed row by row, parallel along the target."""
