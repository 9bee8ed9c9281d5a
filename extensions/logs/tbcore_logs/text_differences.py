"""Differences between texts, as the lines that `diff -u` prints."""

from __future__ import annotations

from itertools import groupby

from tbcore.values import changed_lines

_SIGNS = {"same": " ", "removed": "-", "added": "+"}


def unified_diff(a: str, b: str, a_name: str = "a", b_name: str = "b") -> list[str]:
    """What `changed_lines` returns, each line after its sign; [] for equal texts."""
    lines = [f"--- {a_name}", f"+++ {b_name}"]
    before = after = 1
    for is_gap, part in groupby(changed_lines(a, b), lambda line: line[0] == "gap"):
        if is_gap:
            num_before = num_after = sum(int(count) for _, count in part)
        else:
            found = list(part)
            num_before = sum(kind != "added" for kind, _ in found)
            num_after = sum(kind != "removed" for kind, _ in found)
            lines.append(f"@@ -{before},{num_before} +{after},{num_after} @@")
            lines += [f"{_SIGNS[kind]}{line}" for kind, line in found]
        before, after = before + num_before, after + num_after
    return lines if len(lines) > 2 else []
