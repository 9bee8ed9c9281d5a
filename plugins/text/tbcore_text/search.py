"""Search: finds the steps of series whose text contains a string."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tbcore import Claims, DataLossError, DecodeError, Item, Multiplexer, NotFoundError
from tbcore.values import text

TIMEOUT_SECONDS = 1.0
"""Time after which a search stops. Texts are read from files, and there can be millions."""
MAX_SERIES = 100
"""Maximum number of series with matches in one response."""
MAX_MATCHES_PER_SERIES = 3
"""Maximum number of matches from one series, whose texts are often similar at every step."""
CONTEXT_CHARACTERS = 60
"""Number of characters returned before and after a match."""


class SearchPosition(NamedTuple):
    """Where a search continues: in this series, with the items before `ordinal`."""

    run: str
    tag: str
    ordinal: int | None
    """None for all items of the series."""


class SearchQuery(NamedTuple):
    """The string to find, and the series to search."""

    text: str
    runs: Sequence[str]
    tags: Sequence[str]
    after: SearchPosition | None
    """Where the previous response stopped; None to start from the beginning."""


def search(multiplexer: Multiplexer, claims: Claims, query: SearchQuery) -> dict[str, Any]:
    """The matches in each series, newest first, and where to continue if there may be more.

    Case is ignored. http_api.md describes the response.
    """
    pattern = re.compile(re.escape(query.text), re.IGNORECASE)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    found: list[dict[str, Any]] = []
    num_read = 0
    for position in _series(multiplexer, claims, query):
        run, tag, before = position
        if len(found) >= MAX_SERIES:
            return {"found": found, "num_read": num_read, "next": position._asdict()}
        try:
            items = multiplexer.items(run, tag, claims)
        except NotFoundError:
            continue  # The run was deleted after it was listed.
        matches: list[dict[str, Any]] = []
        for i in reversed(range(len(items))):
            item = items[i]
            if before is not None and item.ordinal >= before:
                continue
            if len(matches) == MAX_MATCHES_PER_SERIES:
                break
            # Every request reads at least one text, so that a search always makes progress.
            if num_read > 0 and time.monotonic() > deadline:
                here = SearchPosition(run, tag, item.ordinal + 1)
                found += _series_entry(run, tag, matches)
                return {"found": found, "num_read": num_read, "next": here._asdict()}
            num_read += 1
            match = _match(item, pattern)
            if match is not None:
                # The number of earlier items with the same step, as in the route /step.
                nth = sum(1 for other in items[:i] if other.step == item.step)
                matches.append({"step": item.step, "nth": nth, **match})
        found += _series_entry(run, tag, matches)
    return {"found": found, "num_read": num_read, "next": None}


def _series_entry(run: str, tag: str, matches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The element of the response for one series; an empty list if it has no matches."""
    return [{"run": run, "tag": tag, "matches": matches}] if matches else []


def _series(
    multiplexer: Multiplexer, claims: Claims, query: SearchQuery
) -> Iterator[SearchPosition]:
    """Yields the position at which to search each series; the first may be `query.after`."""
    all_tags = multiplexer.tags(claims)
    tags = {run: set(all_tags[run]) for run in query.runs if run in all_tags}
    positions = (
        SearchPosition(run, tag, None) for tag in query.tags for run in tags if tag in tags[run]
    )
    if query.after is None:
        yield from positions
        return
    for position in positions:
        if position[:2] == query.after[:2]:
            yield query.after
            break
    yield from positions


def _match(item: Item, pattern: re.Pattern[str]) -> dict[str, str] | None:
    """The first match in an item's text, with its context; None if there is none."""
    try:
        strings = text(item.read())
    except (DataLossError, DecodeError, NotFoundError):
        return None  # The card of this series shows the error.
    for string in strings.ravel().tolist():
        if match := pattern.search(string):
            start, end = match.span()
            return {
                "before": string[max(0, start - CONTEXT_CHARACTERS) : start],
                "match": match[0],
                "after": string[end : end + CONTEXT_CHARACTERS],
            }
    return None
