"""Search in texts: which steps of which series have some words."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tbcore import Claims, DataLossError, DecodeError, Item, Multiplexer, NotFoundError
from tbcore.values import text

SECONDS = 1.0
"""How long one answer may take. Texts lie in files, and there can be millions of them."""
MAX_SERIES = 100
"""Series with matches in one answer."""
MAX_STEPS = 3
"""Matches of one series. What is logged at each step is likely to have the same words again."""
AROUND = 60
"""Characters before and after a match that go with it."""


class Place(NamedTuple):
    """Where a search goes on: with this series, before this ordinal (None: at its end)."""

    run: str
    tag: str
    ordinal: int | None


class Asked(NamedTuple):
    """What is searched, and where."""

    query: str
    runs: Sequence[str]
    tags: Sequence[str]
    after: Place | None  # where the last answer stopped


def search(multiplexer: Multiplexer, claims: Claims, asked: Asked) -> dict[str, Any]:
    """Matches from the newest to the oldest of each series, and where to go on if there is more.

    Upper and lower case are the same.
    """
    pattern = re.compile(re.escape(asked.query), re.IGNORECASE)
    deadline = time.monotonic() + SECONDS
    found: list[dict[str, Any]] = []
    num_read = 0
    for place in _series(multiplexer, claims, asked):
        run, tag, before = place
        if len(found) >= MAX_SERIES:
            return {"found": found, "num_read": num_read, "next": place._asdict()}
        try:
            items = multiplexer.items(run, tag, claims)
        except NotFoundError:
            continue  # gone since it was listed
        matches: list[dict[str, Any]] = []
        for at in reversed(range(len(items))):
            item = items[at]
            if before is not None and item.ordinal >= before:
                continue
            if len(matches) == MAX_STEPS:
                break
            # At least one is read, so that every answer is a step further.
            if num_read > 0 and time.monotonic() > deadline:
                rest = Place(run, tag, item.ordinal + 1)
                found += _listed(run, tag, matches)
                return {"found": found, "num_read": num_read, "next": rest._asdict()}
            num_read += 1
            match = _match(item, pattern)
            if match is not None:
                nth = sum(1 for other in items[:at] if other.step == item.step)
                matches.append({"step": item.step, "nth": nth, **match})
        found += _listed(run, tag, matches)
    return {"found": found, "num_read": num_read, "next": None}


def _listed(run: str, tag: str, matches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"run": run, "tag": tag, "matches": matches}] if matches else []


def _series(multiplexer: Multiplexer, claims: Claims, asked: Asked) -> Iterator[Place]:
    listed = multiplexer.tags(claims)
    has = {run: set(listed[run]) for run in asked.runs if run in listed}
    places = (Place(run, tag, None) for tag in asked.tags for run in has if tag in has[run])
    if asked.after is None:
        yield from places
        return
    for place in places:
        if place[:2] == asked.after[:2]:
            yield asked.after
            break
    yield from places


def _match(item: Item, pattern: re.Pattern[str]) -> dict[str, str] | None:
    """The first match in a text, and what stands around it."""
    try:
        strings = text(item.read())
    except (DataLossError, DecodeError, NotFoundError):
        return None  # its card says what is wrong
    for string in strings.ravel().tolist():
        if match := pattern.search(string):
            start, end = match.span()
            return {
                "before": string[max(0, start - AROUND) : start],
                "match": match[0],
                "after": string[end : end + AROUND],
            }
    return None
