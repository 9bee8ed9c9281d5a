"""What a list of runs tells of values that are not finite: in which tags, from which step on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbcore.errors import NotFoundError
from tbcore.store.multiplexer import Multiplexer, RunDetails

_MAX_TAGS = 5
"""As many are named of one run: enough to know where to look."""
_PIECE = 1 << 16
"""Rows that are looked at together: a series may have millions behind its first NaN."""


class Nonfinite:
    """Remembers what was found in each run until the run changes. For any thread."""

    def __init__(self, multiplexer: Multiplexer) -> None:
        self._multiplexer = multiplexer
        self._known: dict[str, tuple[RunDetails, dict[str, Any]]] = {}

    def found(self, details: Sequence[RunDetails]) -> dict[str, dict[str, Any]]:
        """By run, of those that have such values."""
        known = self._known
        now = {}
        for run in details:
            if not run.nonfinite_tags:
                continue
            before, answer = known.get(run.name, (None, {}))
            now[run.name] = run, answer if before is run else self._look(run)
        self._known = now
        return {name: answer for name, (_, answer) in now.items()}

    def _look(self, run: RunDetails) -> dict[str, Any]:
        tags = run.nonfinite_tags[:_MAX_TAGS]
        return {
            "num_tags": len(run.nonfinite_tags),
            "tags": tags,
            "first_steps": [self._first_step(run.name, tag) for tag in tags],
        }

    def _first_step(self, run: str, tag: str) -> int | None:
        """Of the row that was written first; None when it is gone meanwhile."""
        try:
            series = self._multiplexer.scalars(run, tag)
        except NotFoundError:
            return None
        for start in range(0, len(series), _PIECE):
            is_odd = ~np.isfinite(series.value[start : start + _PIECE])
            if is_odd.any():
                return int(series.step[start + is_odd.argmax()])
        return None
