"""Texts: the lines in which the text of one run differs from that of another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tbcore import DataError, Item, Multiplexer, NotFoundError
from tbcore.values import text
from tbcore_compare.reader import TEXTS

Line = tuple[str, str]
"""A line and what became of it: "same", "removed" or "added"."""

MAX_CHARS = 200_000
"""Maximum number of characters of a text that are compared."""
MAX_CHANGES = 500
"""Maximum number of changes to search for: the time grows with its square. Texts with more have
little in common, and are shown as replaced as a whole."""
MAX_LINES = 1000
"""Maximum number of lines of a comparison that are returned."""
CONTEXT = 3
"""Number of equal lines that are shown before and after a change."""


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
    all_lines = [] if same else changed_lines(before.content if before else "", after.content)
    kinds = [kind for kind, _ in all_lines]
    lines = shortened(all_lines)
    return {
        "step": after.step,
        "same": same,
        "is_cut": after.is_cut or (before is not None and before.is_cut),
        "removed": kinds.count("removed"),
        "added": kinds.count("added"),
        "lines": lines[:MAX_LINES],
        "num_more": max(0, len(lines) - MAX_LINES),
    }


def changed_lines(before: str, after: str) -> list[Line]:
    """The lines of both texts in order; removed lines come before those that replace them.

    JSON objects and lists are compared with one value in a line, sorted by key, so that two with
    the same values have no changed lines.
    """
    a, b = _json_lines(before), _json_lines(after)
    if a is None or b is None:
        a, b = before.splitlines(), after.splitlines()
    # 1. Set aside what both have at the start and at the end.
    # 2. Find the fewest changes in the rest.
    # 3. Between equal lines, removed lines come first.
    shortest = min(len(a), len(b))
    head = next((i for i in range(shortest) if a[i] != b[i]), shortest)
    tail = next((i for i in range(shortest - head) if a[-1 - i] != b[-1 - i]), shortest - head)
    rest = _fewest_changes(a[head : len(a) - tail], b[head : len(b) - tail])
    lines: list[Line] = [("same", line) for line in a[:head]]
    removed: list[Line] = []
    added: list[Line] = []
    for line in [*rest, *(("same", line) for line in a[len(a) - tail :])]:
        if line[0] == "same":
            lines += [*removed, *added, line]
            removed, added = [], []
        else:
            (removed if line[0] == "removed" else added).append(line)
    return [*lines, *removed, *added]


def shortened(lines: Sequence[Line]) -> list[tuple[str, str | int]]:
    """The changed lines with CONTEXT lines around them; a gap has the number of the others."""
    changed = [i for i, (kind, _) in enumerate(lines) if kind != "same"]
    near = {i + k for i in changed for k in range(-CONTEXT, CONTEXT + 1)}
    found: list[tuple[str, str | int]] = []
    for i, line in enumerate(lines if changed else ()):
        if i in near:
            found.append(line)
        elif found and found[-1][0] == "gap":
            found[-1] = ("gap", int(found[-1][1]) + 1)
        else:
            found.append(("gap", 1))
    return found


def _fewest_changes(a: Sequence[str], b: Sequence[str]) -> list[Line]:
    """Myers' algorithm: round d extends all paths to d changes.

    `reached[k]` is the furthest x on the diagonal k = x - y. `trace` has its state before each
    round, from which the path is followed backwards.
    """
    reached, trace = {1: 0}, []
    for d in range(min(MAX_CHANGES, len(a) + len(b)) + 1):
        trace.append(dict(reached))
        for k in range(-d, d + 1, 2):
            x = _start(reached, d, k)[0]
            while x < len(a) and x - k < len(b) and a[x] == b[x - k]:
                x += 1
            reached[k] = x
            if x >= len(a) and x - k >= len(b):
                return _path(a, b, trace)
    return [*(("removed", line) for line in a), *(("added", line) for line in b)]


def _start(reached: Mapping[int, int], d: int, k: int) -> tuple[int, bool]:
    """Where diagonal k begins in round d: its x, and whether a line of b is added before."""
    is_added = k == -d or (k != d and reached[k - 1] < reached[k + 1])
    return (reached[k + 1] if is_added else reached[k - 1] + 1), is_added


def _path(a: Sequence[str], b: Sequence[str], trace: Sequence[Mapping[int, int]]) -> list[Line]:
    x, y = len(a), len(b)
    path: list[Line] = []
    for d in reversed(range(len(trace))):
        start, is_added = _start(trace[d], d, x - y)
        while x > start:
            x, y = x - 1, y - 1
            path.append(("same", a[x]))
        if d == 0:
            break
        if is_added:
            y -= 1
            path.append(("added", b[y]))
        else:
            x -= 1
            path.append(("removed", a[x]))
    return path[::-1]


def _json_lines(content: str) -> list[str] | None:
    """The lines of a JSON object or list, sorted by key; None for any other text."""
    if not content.lstrip().startswith(("{", "[")):
        return None
    try:
        values = json.loads(content, parse_float=_number)
        return json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False).split("\n")
    except (ValueError, RecursionError):
        return None


def _number(text: str) -> float:
    """A whole number as an integer, whatever the writer made of it."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
