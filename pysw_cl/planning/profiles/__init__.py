"""Profiles: what was tuned and measured of a device (docs/dev/profiles.md)."""
