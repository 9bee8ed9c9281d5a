"""Board: what the loader and the server of some log directories tell each other.

The loader commits what it has read, and says how far it is. The server says who looks on. Plugins
see none of this but the runs, through `Multiplexer`.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from tbcore.kinds import Claim
from tbcore.store.notes import Notes
from tbcore.store.state import SideFiles, State
from tbcore.store.status import LoadStatus
from tbcore.store.view import RunView

logger = logging.getLogger(__name__)


class Board:
    """All runs as of the last commit, the loader's progress, and the demand for data.

    Any thread may read and call its members. Only one thread commits.
    """

    def __init__(self) -> None:
        self.state = State()
        """All runs as they were at the last commit. It never changes; a commit makes another."""
        self.status = LoadStatus()
        """The loader's progress."""
        self.scanned_at: float | None = None
        """When the loader last had scanned the disks and listed all remote directories, in seconds
        since the epoch; None before the first time."""
        self.is_idle = False
        """Whether the loader's pauses are longer, as no data is requested."""
        self.scan_soon: Callable[[], None] = lambda: None
        """Makes the loader look for new data at once."""
        self.notes: Notes | None = None
        """The notes on the runs; None if there are none."""
        self.distrusts_pages = False
        """See `Multiplexer.distrust_pages`."""
        self.notes_fault: str | None = None
        """Why a server has none."""
        self.num_viewers = 0
        """Number of streams of updates to visible pages."""
        self.last_request_at = -math.inf
        """When data was last requested, in seconds of the monotonic clock."""
        self.requested_at: dict[str, float] = {}
        """When a series of a run was last requested, in seconds of the monotonic clock."""
        self.file_patterns: frozenset[str] = frozenset()
        """The patterns of files that plugins claim."""
        self.awaits_plugins = False
        """Whether plugins are starting, which may claim more."""
        self.notices: dict[str, str] = {}
        """Maps names of plugins to the last text of `Multiplexer.notify`."""
        self._subscribers: list[Callable[[], None]] = []

    @property
    def idle_seconds(self) -> float:
        """Time since data was last requested; 0 while a page is visible."""
        return 0.0 if self.num_viewers else time.monotonic() - self.last_request_at

    def note_request(self) -> None:
        """Records that data was requested. Makes an idle loader look for new data at once."""
        self.last_request_at = time.monotonic()
        if self.is_idle:
            self.is_idle = False
            self.scan_soon()

    def claim_files(self, claims: Iterable[Claim]) -> None:
        """Sets the claims of files. If they are others than before, the loader looks for them."""
        patterns = frozenset(claim.files for claim in claims if claim.files is not None)
        if patterns != self.file_patterns:
            self.file_patterns = patterns
            self.scan_soon()

    def commit(
        self,
        changed: Mapping[str, RunView],
        removed: Collection[str] = (),
        modified: Mapping[str, float] | None = None,
        side_files: SideFiles | None = None,
    ) -> None:
        """Replaces the views of changed runs, and drops removed runs. For one thread only.

        New runs are appended in the order given. A run that is both removed and changed counts as
        new. `modified` maps names of runs to the time of the last write to the run's files, if that
        time changed. A commit that only changes such times does not begin a new generation.
        `side_files` replaces those of all runs.
        """
        old = self.state
        if side_files is None:
            side_files = old.side_files
        self.state = old.committed(changed, removed, modified or {}, side_files)
        if self.state.generation != old.generation:
            self.notify()

    def set_status(self, status: LoadStatus) -> None:
        """Replaces the status."""
        if status != self.status:
            self.status = status
            self.notify()

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Calls `callback` after each commit and each change of status.

        It runs on the loader's thread, so it should be fast.
        """
        self._subscribers.append(callback)

    def notify(self) -> None:
        """Calls all subscribers."""
        for callback in self._subscribers.copy():
            try:
                callback()
            except Exception:
                # For example, its event loop was closed. The other subscribers are still called.
                logger.debug("a subscriber failed", exc_info=True)
