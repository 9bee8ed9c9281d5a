"""LegacyIndex: the index of runs and tags in the older API, from before TensorBoard had plugins.

Plugins provide the other addresses of that API as routes; see `LegacyApi`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from starlette.requests import Request

from tbcore.plugins.stats import PluginStats
from tbcore.plugins.types import MountedPlugin, attempt
from tbcore.server.plugin_status import ServedPlugin
from tbcore.server.pool import wait_for
from tbcore.store.board import Board
from tbcore.text import describe
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
"""The name of a plugin's `tag_types` functions in the plugin's stats."""

TagsByType = dict[str, dict[str, Any]]
"""Maps the name of a run to a map from tag type to the run's tags of this type. For some tag types
the value is only whether the run has such data."""


class LegacyIndex:
    """Merges the tags that the plugins list for each run."""

    def __init__(self, board: Board, plugins: Iterable[ServedPlugin], tuning: Tuning) -> None:
        self._board = board
        self._tuning = tuning
        self._plugins = [plugin for plugin in plugins if plugin.mounted.legacy.tag_types]
        self._logged: set[str] = set()
        self._blocked: dict[str, list[Future[TagsByType]]] = {}
        """Maps the name of a plugin to the calls that have timed out; several requests may have
        called it at once. The plugin is not called again while one of these calls runs."""

    async def as_json(self, request: Request) -> TagsByType:
        """The index of all runs. Each run has all tag types, and the time of its first event."""
        runs = list(self._board.state.details.values())
        names = [run.name for run in runs]
        parts = await asyncio.gather(*(self._tags_of(plugin, names) for plugin in self._plugins))
        index: TagsByType = {}
        for run in runs:
            index[run.name] = dict(TAG_TYPES)
            # If several plugins have a function for the same type, the first plugin counts.
            for part in reversed(parts):
                index[run.name].update(part.get(run.name, {}))
            index[run.name]["firstEventTimestamp"] = run.first_event_time
        return index

    async def _tags_of(self, plugin: ServedPlugin, runs: Sequence[str]) -> TagsByType:
        """One plugin's part of the index; empty if the plugin does not return in time."""
        stats, timeout = plugin.mounted.plugin.stats, self._tuning.plugin_timeout_seconds
        blocked = [call for call in self._blocked.get(stats.name, ()) if not call.done()]
        self._blocked[stats.name] = blocked
        if blocked:
            return {}
        future = plugin.pool.submit(self._call, plugin.mounted, runs)
        if await wait_for(future, timeout):
            return future.result()
        self._blocked[stats.name].append(future)
        what = f"plugin {stats.name!r} is left out of the index"
        self._log_omission(stats, what, f"no result within {timeout:.1f} s")
        return {}

    def _call(self, mounted: MountedPlugin, runs: Sequence[str]) -> TagsByType:
        """One plugin's part of the index. A function that raises is skipped for later runs.

        Runs in one of the plugin's threads.
        """
        stats = mounted.plugin.stats
        index: TagsByType = {run: {} for run in runs}
        with stats.measure(STATS_NAME):
            for tag_type, function in mounted.legacy.tag_types.items():
                for run in runs:
                    tags, error = attempt(_tags, function, run)
                    if error is not None:
                        what = f"plugin {stats.name!r}: tags of type {tag_type!r} are left out"
                        self._log_omission(stats, what, describe(error), error)
                        break
                    index[run][tag_type] = tags
        return index

    def _log_omission(
        self, stats: PluginStats, what: str, reason: str, error: BaseException | None = None
    ) -> None:
        """Records, and logs once, that a part of the index is left out."""
        stats.record_failure(STATS_NAME, reason, error)
        if what not in self._logged:
            self._logged.add(what)
            logger.error("%s: %s", what, reason, exc_info=error)


def _tags(function: Callable[[str], Any], run: str) -> list[str] | bool:
    """A function's result for a run; raises TypeError if it is neither a bool nor strings."""
    value = function(run)
    if isinstance(value, bool):
        return value
    tags = list(value)
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"tags must be strings, got {type(tag).__name__}")
    return tags
