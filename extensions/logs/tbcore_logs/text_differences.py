"""Differences between texts, as the lines that `diff -u` prints."""

from __future__ import annotations

import difflib
import json

_CONTEXT = 3
"""Number of equal lines that are shown before and after a difference."""
_MAX_LINES = 5000
"""Maximum number of lines, in both texts together, that are compared. The time grows with the
square of their number, so longer texts are shown as replaced as a whole."""


def unified_diff(a: str, b: str, a_name: str = "a", b_name: str = "b") -> list[str]:
    """The lines that differ, after `-` or `+`, with a few lines of context; [] for equal texts.

    JSON objects and lists are compared with one value per line, sorted by key.
    """
    a_json, b_json = _json_lines(a), _json_lines(b)
    if a_json is not None and b_json is not None:
        a_lines, b_lines = a_json, b_json
    else:
        a_lines, b_lines = a.splitlines(), b.splitlines()
    # Equal lines at the start and at the end are cut off first, except for the context.
    shortest = min(len(a_lines), len(b_lines))
    head = next((i for i in range(shortest) if a_lines[i] != b_lines[i]), shortest)
    tail = next(
        (i for i in range(shortest - head) if a_lines[-1 - i] != b_lines[-1 - i]), shortest - head
    )
    if head == len(a_lines) == len(b_lines):
        return []
    head, tail = max(head - _CONTEXT, 0), max(tail - _CONTEXT, 0)
    a_lines, b_lines = a_lines[head : len(a_lines) - tail], b_lines[head : len(b_lines) - tail]
    header = [f"--- {a_name}", f"+++ {b_name}"]
    if len(a_lines) + len(b_lines) > _MAX_LINES:
        where = f"@@ -{head + 1},{len(a_lines)} +{head + 1},{len(b_lines)} @@"
        replaced = [*(f"-{line}" for line in a_lines), *(f"+{line}" for line in b_lines)]
        return [*header, where, *replaced]
    lines = [*header]
    matcher = difflib.SequenceMatcher(None, a_lines, b_lines, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        lines.append(
            f"@@ -{head + first[1] + 1},{last[2] - first[1]}"
            f" +{head + first[3] + 1},{last[4] - first[3]} @@"
        )
        for kind, a_start, a_end, b_start, b_end in group:
            if kind == "equal":
                lines += [f" {line}" for line in a_lines[a_start:a_end]]
                continue
            lines += [f"-{line}" for line in a_lines[a_start:a_end]]
            lines += [f"+{line}" for line in b_lines[b_start:b_end]]
    return lines


def _json_lines(text: str) -> list[str] | None:
    """The lines of a JSON object or list, indented and sorted by key; None for any other text.

    Numbers have one form: 1.0 is 1.
    """
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text, parse_float=_number)
        return json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False).split("\n")
    except (ValueError, RecursionError):
        return None


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number
