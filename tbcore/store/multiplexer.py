"""Multiplexer: all runs, and the interface through which plugins read their data.

Each method reads the state of the board once, which is immutable, and so needs no lock.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tbcore.errors import NotFoundError
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.kinds import ANYWHERE, Claims, have_tags, matches
from tbcore.store.board import Board
from tbcore.store.items import Item, decode_items, items_at, items_of
from tbcore.store.series import ItemSeries, LastPoints, ScalarSeries, Series, merged_columns
from tbcore.store.side_files import SideFile
from tbcore.store.state import State
from tbcore.store.view import RunView
from tbcore.text import quoted

if TYPE_CHECKING:
    from tbcore.store.hyperparameters import InheritedHParams, RunHParams

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_NOTICE_CHARACTERS = 4000
_NONE: Mapping[str, Any] = MappingProxyType({})
_MAX_WARNED_TAGS = 100
"""Maximum number of tags whose unreadable items are logged; more lines would not help."""


class Multiplexer:
    """All runs and the data in them. Its methods may be called on any thread.

        >>> claims = [Claim(is_scalar=True)]
        >>> multiplexer.tags(claims)
        {'train': ['loss', 'lr']}
        >>> multiplexer.scalars("train", "loss").value
        array([0.5 , 0.25], dtype=float32)

    Hooks of plugins get the multiplexer of their server. A run or tag that does not exist raises
    NotFoundError, with a message that may be sent to clients.
    """

    def __init__(
        self,
        runs: Mapping[str, RunView] = _NONE,
        modified: Mapping[str, float] = _NONE,
        *,
        board: Board | None = None,
    ) -> None:
        """All runs of a board; or these runs, in this order, for programs without a loader.

        `modified` has the time of the last write to the files of each run, in seconds since the
        epoch. Members whose names begin with `_` are for the core.
        """
        self._board = board or Board()
        self._hparams: InheritedHParams | None = None
        self._hparams_lock = threading.Lock()
        self._warned: set[tuple[str, str]] = set()
        """Run and tag of each warning about unreadable items."""
        if board is None:
            self._board.commit(runs, (), modified)

    # -- for plugins ---------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Increases by one with each commit that changes something. Use it as a key of caches."""
        return self._state.generation

    @property
    def runs_generation(self) -> int:
        """The generation in which the list of runs, or one of tags, kinds or files last changed."""
        return self._state.listings.generation

    def runs(self) -> list[str]:
        """Run names in order of discovery: new runs come last, and no run changes its place."""
        return list(self._state.runs)

    def run_generations(self) -> dict[str, int]:
        """Maps run names to the generation in which the run last changed."""
        return dict(self._state.run_generations)

    def has(self, claims: Claims) -> bool:
        """Whether any run has a series, or a file beside its event files, that a claim matches."""
        state, patterns = self._state, {claim.files for claim in claims}
        if have_tags(claims):
            has_series = any(self.tags(claims).values())
        else:
            has_series = any(matches(claims, kind) for kind in state.listings.kinds)
        return has_series or any(
            not patterns.isdisjoint(by_pattern) for by_pattern in state.side_files.values()
        )

    def tags(self, claims: Claims) -> Mapping[str, list[str]]:
        """Maps run names to the run's tags that the claims match, in order of first appearance.

        Runs without such tags have []. The result does not change when tags are added later.
        """
        return self._state.listings.tags(tuple(claims))

    def scalars(
        self, run: str, tag: str, *, claims: Claims | None = None, samples: int = 0
    ) -> ScalarSeries:
        """The points of one tag, sampled to at most `samples` points (0: all).

        Merges, in the order written, the tag's scalar series that one of the claims matches, or all
        its scalar series if `claims` is None. Raises NotFoundError if the run or the tag is
        unknown, or if the tag has no series that a claim matches; if `claims` is None, also for a
        tag without scalars.
        """
        state = self._state
        found = state.run(run).scalars(run, tag, claims, samples, state.cached_series)
        self._board.requested_at[run] = time.monotonic()
        return found

    def item_series(self, run: str, tag: str, claims: Claims) -> ItemSeries:
        """Ordinals, steps and wall times of all items of one tag, without the items themselves.

        Fast for any number of items. Raises NotFoundError like `scalars`.
        """
        _, series = self._find_references(run, tag, claims)
        return ItemSeries(*merged_columns(series, 0, ("step", "wall_time")))

    def items_etag(self, run: str, tag: str, claims: Claims) -> str:
        """An identifier of all items of one tag.

        The identifier changes whenever an item of this tag is added, replaced or dropped, and does
        not depend on other tags. It can be the cache key and the ETag of results that depend on
        these items alone. Raises NotFoundError like `scalars`.
        """
        run_view, found = self._find_references(run, tag, claims)
        digest = hashlib.blake2b(digest_size=16)
        for series in found:
            for name in ("ordinal", "file", "offset", "length", "index", "crc"):
                digest.update(series.column(name).tobytes())
            for index in np.unique(series.column("file")).tolist():
                digest.update(f"{index} {run_view.files[index].version} ".encode())
        return digest.hexdigest()

    def last_points(self, run: str, claims: Claims) -> LastPoints:
        """The last point of each tag of the run, among the series that one of the claims matches.

        Much faster than `scalars` for each tag. Raises NotFoundError for an unknown run.
        """
        return self._state.run(run).last_points(tuple(claims))

    def items(self, run: str, tag: str, claims: Claims, *, samples: int = 0) -> list[Item]:
        """The items of one tag, sampled to at most `samples` items (0: all), without their data.

        Scalar series have no items, and are left out. Raises NotFoundError like `scalars`.
        """
        return items_of(*self._find_references(run, tag, claims), samples)

    def item(self, run: str, tag: str, claims: Claims, ordinal: int) -> Item:
        """The item with this ordinal.

        Raises NotFoundError like `scalars`, and if there is no such item.
        """
        run_view, found = self._find_references(run, tag, claims)
        for series in found:
            row = series.row_of(ordinal)
            if row is not None:
                return items_at(series, np.array([row], np.int64), run_view.files)[0]
        raise NotFoundError(f"tag {quoted(tag)} of run {quoted(run)} has no item {ordinal}")

    def read_items(
        self, run: str, tag: str, claims: Claims, decode: Callable[[Any], T], *, samples: int = 0
    ) -> list[tuple[Item, T]]:
        """The items of one tag, each with the result of `decode`.

        `decode` is called with what `Item.read` returns. This is faster than reading the items one
        by one. Items that cannot be read, or for which `decode` raises a DataError or
        NotFoundError, are omitted; this is logged once for each tag. If all items are omitted,
        raises the error of the last item. Raises NotFoundError like `scalars`.
        """
        items = self.items(run, tag, claims, samples=samples)
        found, unreadable = decode_items(items, decode)
        # Logged once for each tag: pages read its items again and again.
        is_new = (run, tag) not in self._warned and len(self._warned) < _MAX_WARNED_TAGS
        if unreadable and is_new:
            self._warned.add((run, tag))
            logger.warning(
                "run %s, tag %s: %d of %d items cannot be read and are left out; the first: %s",
                quoted(run), quoted(tag), len(unreadable), len(items), unreadable[0],
            )  # fmt: skip
        if unreadable and not found:
            raise unreadable[-1].error
        return found

    def files(self, run: str, pattern: str) -> list[SideFile]:
        """The files beside the run's event files that match a pattern, sorted by name.

        The pattern must be one that a plugin claims with `Claim(files=pattern)`: names from a log
        or a request cannot lead anywhere else. Links below the run's directory are not followed,
        and other files than regular ones are left out. The list is that of the last scan; a run
        gets a new generation when it changes, also when a file grows. Runs of an index have files
        only if their log directory is given, too. Raises NotFoundError for an unknown run, and
        ValueError for a pattern that no plugin claims.
        """
        self._state.run(run)
        if pattern not in self._board.file_patterns:
            raise ValueError(f"no plugin claims the files {pattern!r}; add a Claim(files=...)")
        files = self._state.side_files.get(run, {}).get(pattern, ())
        return [SideFile(file, pattern.removeprefix(ANYWHERE)) for file in files]

    def has_event_files(self, run: str) -> bool:
        """Whether a run is of event files, and not of another program. False for an unknown run."""
        return run in (state := self._state).runs and not state.runs[run].source

    def source_id(self, run: str) -> str:
        """What differs if the name of a run of another program is now that of another one; "" for
        any other run."""
        return view.source.id if (view := self._state.runs.get(run)) and view.source else ""

    def has_times(self, run: str) -> bool:
        """Whether the wall times of a run are when its points were logged. If another program
        logged it without times, they are those of its file. True for an unknown run."""
        view = self._state.runs.get(run)
        return not (view and view.source) or view.source.has_times

    def metadata(self, run: str, tag: str) -> SummaryMetadata:
        """The first metadata that was written for this tag; an empty message if there is none.

        Raises NotFoundError for an unknown run or tag.
        """
        return self._state.run(run).metadata(run, tag)

    def description(self, run: str, tag: str) -> dict[str, str]:
        """The `display_name` and the `description` that the writer gave a tag, for a response.

        Both are as they were written; the description is often Markdown. A name that is the tag
        itself is "". Without a description, the tag has the one of the notes. Empty if there is
        neither. Raises NotFoundError like `metadata`.
        """
        metadata = self.metadata(run, tag)
        name = "" if metadata.display_name == tag else metadata.display_name
        notes = self._board.notes
        text = metadata.summary_description or (notes.description(tag) if notes else "")
        return {"display_name": name, "description": text} if name or text else {}

    def hyperparameters(self, runs: Iterable[str] | None = None) -> dict[str, RunHParams]:
        """Maps runs to the hyperparameters that they logged or inherited.

        A run that logged none has those of the nearest run above it that did, such as `exp` of
        `exp/train`, or else those of the only run below it that did. Those of all `runs`, or of all
        runs if it is None, are found together, and read once. Runs without any, and unknown runs,
        are left out.
        """
        by_run = self._with_hparams()[1].by_run
        return dict(by_run) if runs is None else {n: by_run[n] for n in runs if n in by_run}

    def first_event_time(self, run: str) -> float | None:
        """Wall time of the run's first event, in seconds since the epoch; None without an event.

        Raises NotFoundError for an unknown run.
        """
        return self._state.run(run).first_event_time

    def is_live(self, run: str) -> bool:
        """Whether the run is being written, or was minutes ago; False for an unknown run."""
        details = self._state.details.get(run)
        return details is not None and details.state(time.time()) == "live"

    @property
    def distrusts_pages(self) -> bool:
        """Whether `distrust_pages` was called."""
        return self._board.distrusts_pages

    def distrust_pages(self) -> None:
        """Call it before pages of your plugin run code that was written for another program.

        From then on, no note that comes by HTTP is its user's own, since a page can send the
        requests of all others of its origin.
        """
        self._board.distrusts_pages = True

    def notify(self, plugin: str, text: str) -> None:
        """Sends a text to the open tabs of a plugin, as `host.notice`, such as a progress.

        It may be JSON. Only the last text counts, also for tabs that are opened later. Tabs get it
        over the page's own connection, at most once a second. Raises ValueError for more than 4,000
        characters.
        """
        if len(text) > MAX_NOTICE_CHARACTERS:
            raise ValueError(f"the text of notify has {len(text)} characters, at most 4000")
        self._board.notices[plugin] = text
        self._board.notify()

    # -- for the core --------------------------------------------------------------------------

    @property
    def _state(self) -> State:
        """All runs as they were at the last commit. Each method reads it once."""
        return self._board.state

    def _with_hparams(self) -> tuple[State, InheritedHParams]:
        """The state, and the hyperparameters as of this state."""
        from tbcore.store.hyperparameters import InheritedHParams  # When they are first used.

        with self._hparams_lock:
            # Read while holding the lock, so that `updated` never gets an older state.
            state = self._state
            self._hparams = (self._hparams or InheritedHParams(-1)).updated(state)
            return state, self._hparams

    def _find_references(self, run: str, tag: str, claims: Claims) -> tuple[RunView, list[Series]]:
        """The view of a run, and what it finds, without series of scalars."""
        view = self._state.run(run)
        series = view.find(run, tag, claims)
        self._board.requested_at[run] = time.monotonic()
        return view, [each for each in series if not each.kind.is_scalar]
