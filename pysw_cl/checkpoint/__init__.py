"""Runs that outlive their process."""
