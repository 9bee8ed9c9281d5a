"""The API from before plugins had addresses of their own: an index of all runs by type of tag.

Its other addresses are routes that plugins bring with them; see `LegacyApi`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from starlette.requests import Request

from tbcore.errors import NotFoundError
from tbcore.plugins import MountedPlugin, attempt, describe
from tbcore.server.pool import NoThreadError, ThreadPool, wait_for
from tbcore.store.multiplexer import Multiplexer

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
"""What a run has of a type that no installed plugin knows. Pages of that time need every key; the
document has all but `meta_graph`, which servers sent too."""

PAGES = ("/events", "/images", "/audio", "/graphs", "/histograms")
"""Addresses of the page, one for each of its tabs then."""

TAG_TYPES_OF_ALL = "legacy tag types"
"""What is timed of a plugin here, in the words of its record."""

PATIENCE_SECONDS = 1.5
"""A plugin that takes longer is taken to have no tags."""

Answer = dict[str, dict[str, Any]]
"""Run to type of tag to its tags, or to whether there is any."""

TagType = Callable[[str], Any]


class LegacyIndex:
    """Merges what the plugins say of each run."""

    def __init__(
        self,
        multiplexer: Multiplexer,
        mounted: Sequence[MountedPlugin],
        pools: Mapping[str, ThreadPool],
    ) -> None:
        self._multiplexer = multiplexer
        self._pools = pools
        self._functions: dict[str, dict[str, TagType]] = {}
        """Plugin name to its tag types; of two plugins with one type the first one has it."""
        self._healths = {m.plugin.name: m.plugin.health for m in mounted}
        self._told: set[str] = set()
        self._blocked: dict[str, Future[Answer]] = {}
        """Calls that have not come back in time; such a plugin is not given another thread."""
        taken: set[str] = set()
        for plugin in mounted:
            own = {k: f for k, f in plugin.legacy.tag_types.items() if k not in taken}
            if own:
                self._functions[plugin.plugin.name] = own
                taken |= own.keys()

    async def answer(self, request: Request) -> Answer:
        """Run to type of tag to its tags, or to whether there is any; every run, every type."""
        runs = self._multiplexer.runs()
        index: Answer = {run: dict(TAG_TYPES) for run in runs}
        names = list(self._functions)
        answers = await asyncio.gather(*(self._ask(name, runs) for name in names))
        for answer in answers:
            for run, tag_types in answer.items():
                index[run].update(tag_types)
        for run in runs:
            index[run]["firstEventTimestamp"] = self._first_event_time(run)
        return index

    async def _ask(self, name: str, runs: Sequence[str]) -> Answer:
        if name in self._blocked:
            if not self._blocked[name].done():
                return {}
            self._blocked.pop(name, None)
        try:
            future = self._pools[name].submit(self._call, name, runs)
        except NoThreadError:
            return {}
        if await wait_for(future, PATIENCE_SECONDS):
            return future.result()
        self._blocked[name] = future
        self._tell(
            name,
            f"plugin {name!r} is left out of the index",
            f"no answer within {PATIENCE_SECONDS:.1f} s",
        )
        return {}

    def _call(self, name: str, runs: Sequence[str]) -> Answer:
        """Asks one plugin for all runs; runs in one of its threads."""
        answer: Answer = {run: {} for run in runs}
        with self._healths[name].at(TAG_TYPES_OF_ALL):
            self._fill(answer, name, runs)
        return answer

    def _fill(self, answer: Answer, name: str, runs: Sequence[str]) -> None:
        for tag_type, function in self._functions[name].items():
            for run in runs:
                outcome = attempt(_tags, function, run)
                if outcome.error is not None:
                    self._tell(
                        name,
                        f"plugin {name!r}: tags of type {tag_type!r} are left out",
                        describe(outcome.error),
                        outcome.error,
                    )
                    break
                answer[run][tag_type] = outcome.value

    def _first_event_time(self, run: str) -> float | None:
        try:
            return self._multiplexer.first_event_time(run)
        except NotFoundError:
            # The run vanished a moment ago.
            return None

    def _tell(self, name: str, what: str, reason: str, error: BaseException | None = None) -> None:
        """Logs once what is left out."""
        self._healths[name].failed(TAG_TYPES_OF_ALL, reason, error)
        if what not in self._told:
            self._told.add(what)
            logger.error("%s: %s", what, reason, exc_info=error)


def _tags(function: TagType, run: str) -> list[str] | bool:
    value = function(run)
    if isinstance(value, bool):
        return value
    tags = list(value)
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"{type(tag).__name__} among the tags, which are texts")
    return tags
