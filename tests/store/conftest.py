"""Fixtures for tests of the loader."""

from loaded_logs import after_read, broken, logs, long_ago, small_slices

__all__ = ["after_read", "broken", "logs", "long_ago", "small_slices"]
