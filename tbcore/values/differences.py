"""Differences between texts, line by line."""

from __future__ import annotations

import json
from collections.abc import Sequence

Line = tuple[str, str | int]
"""A kind, "same", "removed" or "added", and a line; or "gap" and a number of equal lines."""

MAX_CHANGES = 500
"""Maximum number of changes to search for: the time grows with its square. Texts with more have
little in common, and what is between their equal ends is replaced as a whole."""
_CONTEXT = 3
"""Number of equal lines before and after a change. A gap stands for the others, at least two."""


def changed_lines(before: str, after: str) -> list[Line]:
    """The lines that differ, in order, with some equal lines around them; [] for equal texts.

    Removed lines come before those that replace them. Of JSON objects and lists, each value is a
    line and keys are sorted, so that two with the same values are equal. Other texts have the same
    lines as in the page: see tests/differences.json.
    """
    a, b = (_json_lines(text) for text in (before, after))
    if a is None or b is None:
        a, b = before.splitlines(), after.splitlines()
    lines: list[Line] = []
    x = y = 0
    for start, end, shift in _stretches(a, b) if a != b else ():
        lines += [("removed", line) for line in a[x:start]]
        lines += [("added", line) for line in b[y : start - shift]]
        x, y = end, end - shift
        first = start + (_CONTEXT if lines else 0)
        last = end - (_CONTEXT if (x, y) != (len(a), len(b)) else 0)
        if last - first < 2:
            first = last = end
        lines += [("same", line) for line in a[start:first]]
        lines += [("gap", last - first)] if first < last else []
        lines += [("same", line) for line in a[last:end]]
    return lines


def _stretches(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int]]:
    """Start and end in `a` of the lines that both have, and how much later than in `b` they are.

    The first stretch is what both begin with, the last one what both end with; they may be empty.
    """
    length = min(len(a), len(b))
    head = next((i for i in range(length) if a[i] != b[i]), length)
    tail = next((i for i in range(length - head) if a[-1 - i] != b[-1 - i]), length - head)
    between = _fewest_changes(a, b, head, (len(a) - tail, len(b) - tail))
    return [(0, head, 0), *between, (len(a) - tail, len(a), len(a) - len(b))]


def _fewest_changes(
    a: Sequence[str], b: Sequence[str], head: int, ends: tuple[int, int]
) -> Sequence[tuple[int, int, int]]:
    """Myers' algorithm: round d extends all paths to d changes. () for more than MAX_CHANGES.

    A path is the stretches on its way. On the diagonal k, where x in `a` and x - k in `b` are
    compared, `best[k]` is the path that is furthest, after the x that it has reached.
    """
    best: dict[int, tuple[int, tuple[tuple[int, int, int], ...]]] = {1: (head, ())}
    for d in range(MAX_CHANGES + 1):
        for k in range(-d, d + 1, 2):
            is_added = k == -d or (k != d and best[k - 1][0] < best[k + 1][0])
            x, path = best[k + 1] if is_added else best[k - 1]
            start = x = x if is_added else x + 1
            while x < ends[0] and x - k < ends[1] and a[x] == b[x - k]:
                x += 1
            path = (*path, (start, x, k)) if start < x else path
            if x >= ends[0] and x - k >= ends[1]:
                return path
            best[k] = x, path
    return ()


def _json_lines(text: str) -> list[str] | None:
    """The lines of a JSON object or list; None for any other text. 1.0 is 1."""
    try:
        if text.lstrip().startswith(("{", "[")):
            found = json.loads(text, parse_float=_number)
            return json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False).split("\n")
    except (ValueError, RecursionError):
        pass
    return None


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
