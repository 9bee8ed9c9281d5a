"""Descriptions: the display names and descriptions that writers gave their tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tbcore import Claims, Multiplexer, NotFoundError


def is_described(multiplexer: Multiplexer, tag: str, runs: Iterable[str]) -> bool:
    """Whether a tag has a display name other than the tag, or a description, in any of the runs.

    Runs without the tag are skipped.
    """
    return any(_description(multiplexer, run, tag) for run in runs)


def descriptions(
    multiplexer: Multiplexer, claims: Claims, tags: Iterable[str], runs: Iterable[str]
) -> list[dict[str, Any]]:
    """The names and descriptions of scalars: one entry for each tag and text, in the order given.

    An entry has `tag`, `display_name` (empty if it is the tag), `description`, as it was written,
    and `runs`, the names of the runs that have this text.
    """
    runs = list(runs)
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for tag in tags:
        for run in runs:
            texts = _description(multiplexer, run, tag)
            if texts and _has_scalars(multiplexer, claims, run, tag):
                entry = found.setdefault((tag, *texts.values()), {"tag": tag, **texts, "runs": []})
                entry["runs"].append(run)
    return list(found.values())


def _description(multiplexer: Multiplexer, run: str, tag: str) -> dict[str, str]:
    """The display name and the description of a tag; empty if the run has neither."""
    try:
        return multiplexer.description(run, tag)
    except NotFoundError:
        return {}


def _has_scalars(multiplexer: Multiplexer, claims: Claims, run: str, tag: str) -> bool:
    try:
        multiplexer.scalars(run, tag, claims=claims)
    except NotFoundError:
        return False
    return True
