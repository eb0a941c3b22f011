"""What a run gives."""
