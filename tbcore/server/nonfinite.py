"""Summaries of the nonfinite values of each run: which tags have them, and from which step on.

Nonfinite values are NaN and the two infinities. The page marks runs that have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tbcore.store.multiplexer import Multiplexer
from tbcore.store.state import RunDetails

_MAX_TAGS = 5
"""Maximum number of tags in the summary of a run."""


class NonfiniteSummaries:
    """Caches the summary of each run until the run changes. May be used in any thread."""

    def __init__(self, multiplexer: Multiplexer) -> None:
        self._multiplexer = multiplexer
        self._cache: dict[str, tuple[RunDetails, dict[str, Any]]] = {}
        """Maps the name of a run to its details, and to the summary that was made for them."""

    def summaries(self, details: Sequence[RunDetails]) -> dict[str, dict[str, Any]]:
        """Maps the name of each run with nonfinite values to the summary of the run.

        In a summary, `num_tags` counts all tags with nonfinite values, `tags` has the first few of
        these tags, and `first_steps` and `first_values` have the step of the first such value of
        each tag in `tags`, and this value.
        """
        previous, cache = self._cache, {}
        for run in details:
            if run.nonfinite_tags:
                cached_for, summary = previous.get(run.name, (None, {}))
                cache[run.name] = (run, summary if cached_for is run else self._summary_of(run))
        self._cache = cache
        return {name: summary for name, (_, summary) in cache.items()}

    def _summary_of(self, run: RunDetails) -> dict[str, Any]:
        tags = run.nonfinite_tags[:_MAX_TAGS]
        firsts = zip(*(self._first(run.name, tag) for tag in tags), strict=True)
        return {
            "num_tags": len(run.nonfinite_tags),
            "tags": tags,
            **dict(zip(("first_steps", "first_values"), firsts, strict=True)),
        }

    def _first(self, run: str, tag: str) -> list[Any]:
        """Step and value of the first nonfinite value, as written; None if it was deleted."""
        view = self._multiplexer._state.runs.get(run)
        return list((view and view.point(tag, "nan")) or (None, None))
