"""Fixtures for tests of the loader."""

from installed_plugins import distributions
from loaded_logs import after_read, broken, logs, long_ago, small_slices

__all__ = ["after_read", "broken", "distributions", "logs", "long_ago", "small_slices"]
