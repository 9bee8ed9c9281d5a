"""LoadStatus: how far the loader is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadStatus:
    """How far the loader is, at one moment."""

    loading: bool = False
    """Whether there is something left to read that the last look at the logdir found."""
    passes: int = 0
    """Times that the logdir was read to its end."""
    num_runs: int = 0
    num_files: int = 0
    """Event files."""
    num_directories: int = 0
    """Directories looked into."""
    bytes_read: int = 0
    bytes_total: int = 0
    """Of all event files."""
    logdirs: tuple[str, ...] = ()
    """Absolute paths of the directories that were named."""
    missing: tuple[str, ...] = ()
    """Those of them that do not exist."""
    problems: tuple[str, ...] = ()
    """One line each, the latest last; at most 100."""
