"""Problems: the current and past problems of the logs, with the times when they began and ended."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

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
