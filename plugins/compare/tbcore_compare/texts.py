"""Texts: the lines in which the text of one run differs from that of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tbcore import DataError, Item, Multiplexer, NotFoundError
from tbcore.values import changed_lines, text
from tbcore_compare.reader import TEXTS

MAX_CHARS = 200_000
"""Maximum number of characters of a text that are compared."""
MAX_LINES = 1000
"""Maximum number of lines of a comparison that are returned."""


class LoggedText(NamedTuple):
    """The last text that a run logged under a tag."""

    step: int
    content: str
    """At most MAX_CHARS characters. Cells of an array are separated by tabs, rows by line feeds."""
    is_cut: bool


def last_text(multiplexer: Multiplexer, run: str, tag: str) -> LoggedText:
    """The last text of a tag. Raises NotFoundError if there is none, DataError if it is damaged."""
    items: list[Item] = multiplexer.items(run, tag, TEXTS, samples=1)
    if not items:
        raise NotFoundError(f"run {run!r} has no text {tag!r}")
    array = text(items[-1].read())
    rows = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array.reshape(-1, 1)
    content = "\n".join("\t".join(row) for row in rows.tolist())
    return LoggedText(items[-1].step, content[:MAX_CHARS], len(content) > MAX_CHARS)


def compared(
    multiplexer: Multiplexer, tag: str, base: str | None, runs: Sequence[str]
) -> list[Mapping[str, Any]]:
    """How the last text of each run differs from that of the base; all of it, without a base.

    Each has the name of its `run`, `step`, whether it is the `same`, whether only the beginning
    `is_cut`, the numbers of all lines that were `removed` and `added`, and `lines` with the number
    of further lines, `num_more`; or it has an `error` in words instead. A line is a pair of "same",
    "removed" or "added" and the line, or of "gap" and a number of equal lines.
    """
    before = None if base is None else _try_last(multiplexer, base, tag)
    return [
        {
            "run": run,
            **_difference(before, before if run == base else _try_last(multiplexer, run, tag)),
        }
        for run in runs
    ]


def _try_last(multiplexer: Multiplexer, run: str, tag: str) -> LoggedText | str:
    """The last text, or the reason why it cannot be read."""
    try:
        return last_text(multiplexer, run, tag)
    except (NotFoundError, DataError) as error:
        return str(error)


def _difference(
    before: LoggedText | str | None, after: LoggedText | str | None
) -> Mapping[str, Any]:
    if not isinstance(after, LoggedText):
        return {"error": after}
    if isinstance(before, str):
        return {"error": f"the baseline's text cannot be read: {before}"}
    same = before is not None and before.content == after.content
    lines = changed_lines(before.content if before else "", after.content)
    kinds = [kind for kind, _ in lines]
    return {
        "step": after.step,
        "same": same,
        "is_cut": after.is_cut or (before is not None and before.is_cut),
        "removed": kinds.count("removed"),
        "added": kinds.count("added"),
        "lines": lines[:MAX_LINES],
        "num_more": max(0, len(lines) - MAX_LINES),
    }
