"""Descriptions: the display names and descriptions that writers gave their tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tbcore import Claims, Multiplexer, NotFoundError


def is_described(multiplexer: Multiplexer, tag: str, runs: Iterable[str]) -> bool:
    """Whether a tag has a display name other than the tag, or a description, in any of the runs.

    Runs without the tag are skipped.
    """
    return any(_texts(multiplexer, run, tag) is not None for run in runs)


def descriptions(
    multiplexer: Multiplexer, claims: Claims, tags: Iterable[str], runs: Iterable[str]
) -> list[dict[str, Any]]:
    """The names and descriptions of scalars: one entry for each tag and text, in the order given.

    An entry has `tag`, `display_name` (empty if it is the tag), `description`, as it was written,
    and `runs`, the names of the runs that have this text.
    """
    runs = list(runs)
    found: dict[tuple[str, str, str], list[str]] = {}
    for tag in tags:
        for run in runs:
            texts = _texts(multiplexer, run, tag)
            if texts is not None and _has_scalars(multiplexer, claims, run, tag):
                found.setdefault((tag, *texts), []).append(run)
    return [
        {"tag": tag, "display_name": name, "description": description, "runs": names}
        for (tag, name, description), names in found.items()
    ]


def _texts(multiplexer: Multiplexer, run: str, tag: str) -> tuple[str, str] | None:
    """The display name and the description of a tag; None if the run has neither."""
    try:
        metadata = multiplexer.metadata(run, tag)
    except NotFoundError:
        return None
    name = "" if metadata.display_name == tag else metadata.display_name
    return (name, metadata.summary_description) if name or metadata.summary_description else None


def _has_scalars(multiplexer: Multiplexer, claims: Claims, run: str, tag: str) -> bool:
    try:
        multiplexer.scalars(run, tag, claims=claims)
    except NotFoundError:
        return False
    return True
