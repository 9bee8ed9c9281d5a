"""Summaries of NaN and infinite values for the list of runs: which tags, and from which step on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbcore.errors import NotFoundError
from tbcore.store.multiplexer import Multiplexer, RunDetails

_MAX_TAGS = 5
"""Tags that are named for each run."""
_PIECE_ROWS = 1 << 16
"""Rows that are checked at once. A series may have millions of rows after its first NaN."""


class NonfiniteSummaries:
    """Caches the summary of each run until the run changes. All methods are for any thread."""

    def __init__(self, multiplexer: Multiplexer) -> None:
        self._multiplexer = multiplexer
        self._cache: dict[str, tuple[RunDetails, dict[str, Any]]] = {}

    def summary(self, details: Sequence[RunDetails]) -> dict[str, dict[str, Any]]:
        """Run to its summary, for the runs that have such values."""
        old_cache = self._cache
        cache = {}
        for run in details:
            if not run.nonfinite_tags:
                continue
            cached_for, summary = old_cache.get(run.name, (None, {}))
            cache[run.name] = run, summary if cached_for is run else self._summary_of(run)
        self._cache = cache
        return {name: summary for name, (_, summary) in cache.items()}

    def _summary_of(self, run: RunDetails) -> dict[str, Any]:
        tags = run.nonfinite_tags[:_MAX_TAGS]
        return {
            "num_tags": len(run.nonfinite_tags),
            "tags": tags,
            "first_steps": [self._first_step(run.name, tag) for tag in tags],
        }

    def _first_step(self, run: str, tag: str) -> int | None:
        """The step of the first nonfinite row as written; None if the data has been deleted."""
        try:
            series = self._multiplexer.scalars(run, tag)
        except NotFoundError:
            return None
        for start in range(0, len(series), _PIECE_ROWS):
            is_nonfinite = ~np.isfinite(series.value[start : start + _PIECE_ROWS])
            if is_nonfinite.any():
                return int(series.step[start + is_nonfinite.argmax()])
        return None
