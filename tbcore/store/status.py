"""LoadStatus: the progress of the loader."""

from __future__ import annotations

from dataclasses import dataclass

from tbcore.eventfiles.other_files import OtherFiles
from tbcore.store.problems import PastProblem


@dataclass(frozen=True)
class LoadStatus:
    """The loader's progress at one moment."""

    loading: bool = False
    """Whether files that the last scan found have unread data."""
    passes: int = 0
    """Number of complete passes over the logdir."""
    num_runs: int = 0
    num_files: int = 0
    """Number of event files."""
    num_directories: int = 0
    """Number of directories that were scanned."""
    bytes_read: int = 0
    """Number of bytes that were read from all event files."""
    bytes_total: int = 0
    """Size of all event files."""
    logdirs: tuple[str, ...] = ()
    """Absolute paths of the log directories."""
    missing: tuple[str, ...] = ()
    """Log directories that do not exist."""
    problems: tuple[str, ...] = ()
    """The latest 100 current problems besides `missing`, one line each, the oldest first."""
    problems_since: tuple[float, ...] = ()
    """When each of `problems` began, in seconds since the epoch."""
    past_problems: tuple[PastProblem, ...] = ()
    """The latest 100 problems that are over, in the order in which they ended."""
    other_files: tuple[OtherFiles, ...] = ()
    """Files next to event files whose data tbcore does not show, by kind."""
    num_requests: int = 0
    """Number of requests for remote files and listings since the start."""
    num_requests_per_scan: int = 0
    """Number of requests that the last listing of the remote directories took."""
