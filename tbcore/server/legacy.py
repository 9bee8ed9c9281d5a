"""LegacyIndex: the index of runs and tags in the older API, from before TensorBoard had plugins.

Plugins provide the other addresses of that API as routes; see `LegacyApi`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from starlette.requests import Request

from tbcore.errors import NotFoundError
from tbcore.plugin_types import MountedPlugin, attempt, describe
from tbcore.server.pool import NoThreadError, ThreadPool, wait_for
from tbcore.store.multiplexer import Multiplexer
from tbcore.tuning import Tuning

logger = logging.getLogger(__name__)

TAG_TYPES: Mapping[str, list[str] | bool] = {
    "images": [],
    "audio": [],
    "histograms": [],
    "scalars": [],
    "compressedHistograms": [],
    "graph": False,
    "meta_graph": False,
    "run_metadata": [],
}
"""Maps each tag type to its value in the index if no plugin provides it. Old pages need all keys.
TensorBoard's documentation of the API lists all keys except `meta_graph`, which its servers also
sent."""

PAGES = ("/events", "/images", "/audio", "/graphs", "/histograms")
"""Addresses of the old page, one for each of its tabs. They redirect to the page of today."""

STATS_NAME = "legacy tag types"
"""What a plugin's stats call its `tag_types` functions."""

TagsByType = dict[str, dict[str, Any]]
"""Maps the name of a run to a map from tag type to the run's tags of this type. For some tag types
the value is only whether the run has such data."""

TagsFunction = Callable[[str], Any]
"""A plugin's function for one tag type. It gets the name of a run, and returns the run's tags of
the type, or whether the run has such data."""


class LegacyIndex:
    """Merges the tags that the plugins list for each run."""

    def __init__(
        self,
        multiplexer: Multiplexer,
        mounted: Sequence[MountedPlugin],
        pools: Mapping[str, ThreadPool],
        tuning: Tuning,
    ) -> None:
        self._multiplexer = multiplexer
        self._tuning = tuning
        self._pools = pools
        self._functions: dict[str, dict[str, TagsFunction]] = {}
        """Maps the name of a plugin to a map from tag type to function. If two plugins have a
        function for the same type, only that of the first plugin is in here."""
        self._stats = {m.plugin.name: m.plugin.stats for m in mounted}
        self._logged: set[str] = set()
        self._blocked: dict[str, list[Future[TagsByType]]] = {}
        """Maps the name of a plugin to the calls that have timed out; several requests may have
        called it at once. The plugin is not called again while one of these calls runs."""
        taken_types: set[str] = set()
        for m in mounted:
            functions = {t: f for t, f in m.legacy.tag_types.items() if t not in taken_types}
            if functions:
                self._functions[m.plugin.name] = functions
                taken_types |= functions.keys()

    async def as_json(self, request: Request) -> TagsByType:
        """The index of all runs. Each run has all tag types, and the time of its first event."""
        runs = self._multiplexer.runs()
        index: TagsByType = {run: dict(TAG_TYPES) for run in runs}
        names = list(self._functions)
        for part in await asyncio.gather(*(self._tags_of(name, runs) for name in names)):
            for run, tag_types in part.items():
                index[run].update(tag_types)
        for run in runs:
            index[run]["firstEventTimestamp"] = self._first_event_time(run)
        return index

    async def _tags_of(self, name: str, runs: Sequence[str]) -> TagsByType:
        """One plugin's part of the index; empty if the plugin does not return in time."""
        self._blocked[name] = [call for call in self._blocked.get(name, ()) if not call.done()]
        if self._blocked[name]:
            return {}
        try:
            future = self._pools[name].submit(self._call, name, runs)
        except NoThreadError:
            return {}
        timeout = self._tuning.plugin_timeout_seconds
        if await wait_for(future, timeout):
            return future.result()
        self._blocked[name].append(future)
        what = f"plugin {name!r} is left out of the index"
        self._log_omission(name, what, f"no result within {timeout:.1f} s")
        return {}

    def _call(self, name: str, runs: Sequence[str]) -> TagsByType:
        """One plugin's part of the index. A function that raises is skipped for later runs.

        Runs in one of the plugin's threads.
        """
        index: TagsByType = {run: {} for run in runs}
        with self._stats[name].measure(STATS_NAME):
            for tag_type, function in self._functions[name].items():
                for run in runs:
                    tags, error = attempt(_tags, function, run)
                    if error is not None:
                        what = f"plugin {name!r}: tags of type {tag_type!r} are left out"
                        self._log_omission(name, what, describe(error), error)
                        break
                    index[run][tag_type] = tags
        return index

    def _first_event_time(self, run: str) -> float | None:
        try:
            return self._multiplexer.first_event_time(run)
        except NotFoundError:
            # The run was deleted after the index was begun.
            return None

    def _log_omission(
        self, name: str, what: str, reason: str, error: BaseException | None = None
    ) -> None:
        """Records, and logs once, that a part of the index is left out."""
        self._stats[name].record_failure(STATS_NAME, reason, error)
        if what not in self._logged:
            self._logged.add(what)
            logger.error("%s: %s", what, reason, exc_info=error)


def _tags(function: TagsFunction, run: str) -> list[str] | bool:
    """A function's result for a run; raises TypeError if it is neither a bool nor strings."""
    value = function(run)
    if isinstance(value, bool):
        return value
    tags = list(value)
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"tags must be strings, got {type(tag).__name__}")
    return tags
