"""LoadStatus: the progress of the loader. Problems: what is wrong with the logs, and since when."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tbcore.eventfiles.other_files import OtherFiles

logger = logging.getLogger(__name__)

MAX_PROBLEMS = 100
"""Maximum number of problems that the status lists, and of past ones that are kept."""
_MAX_LINES_PER_REPORT = 20
"""Maximum number of lines logged at once: there may be a thousand unreadable files."""


class PastProblem(NamedTuple):
    """A problem that is over. Times are in seconds since the epoch."""

    problem: str
    """The line that described it."""
    since: float
    until: float


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
    looked_for: tuple[str, ...] = ()
    """Patterns of the names of the files that have runs."""
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


class Problems:
    """The problems of one loader, each one line of text. For the loader's thread only."""

    def __init__(self) -> None:
        self.since: dict[str, float] = {}
        """Maps each current problem to the time when it began, in seconds since the epoch; the
        oldest first."""
        self.past: deque[PastProblem] = deque(maxlen=MAX_PROBLEMS)
        """The latest problems that are over, in the order in which they ended."""

    def update(self, lines: Iterable[str], *, is_complete: bool) -> None:
        """Replaces the current problems, and logs those that are over.

        A problem lasts as long as each update has its line. With `is_complete` false, the pass has
        not ended and may still find the missing lines, so no problem is over.
        """
        now = time.time()
        current = {line: self.since.get(line, now) for line in lines}
        if is_complete:
            over = [(line, at) for line, at in self.since.items() if line not in current]
            self.past += [PastProblem(line, since, now) for line, since in over]
            log_lines(logging.INFO, [f"over after {now - at:.0f} s: {line}" for line, at in over])
            self.since = {line: at for line, at in self.since.items() if line in current}
        self.since |= current


def log_lines(level: int, lines: Sequence[str]) -> None:
    """Logs lines: at most _MAX_LINES_PER_REPORT, and how many more there are."""
    for line in lines[:_MAX_LINES_PER_REPORT]:
        logger.log(level, "%s", line)
    if len(lines) > _MAX_LINES_PER_REPORT:
        logger.log(level, "and %d more like these", len(lines) - _MAX_LINES_PER_REPORT)
