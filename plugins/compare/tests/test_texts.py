"""Differences of texts by line."""

from __future__ import annotations

import difflib
import time
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore_compare.texts import MAX_CHANGES, changed_lines, shortened

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@settings(deadline=None)  # A busy machine must not fail the test.
@given(LINES, LINES)
def test_the_lines_are_those_of_both_texts(a: list[str], b: list[str]) -> None:
    """Removed lines with the equal ones are the first text, added ones with them the second."""
    lines = changed_lines("\n".join([*a, "end"]), "\n".join([*b, "end"]))
    assert [line for kind, line in lines if kind != "added"] == [*a, "end"]
    assert [line for kind, line in lines if kind != "removed"] == [*b, "end"]
    pairs = pairwise(lines)
    assert not [
        1 for (kind, _), (next_kind, _) in pairs if (kind, next_kind) == ("added", "removed")
    ]
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    num_same = sum(block.size for block in matcher.get_matching_blocks())
    assert sum(kind == "same" for kind, _ in lines) >= num_same + 1


def test_json_is_compared_by_value() -> None:
    """Sorted by key, and 1 is 1.0, but large integers keep their digits."""
    assert shortened(changed_lines('{"a": 1, "b": 2.0}', ' {"b": 2, "a": 1.0}')) == []
    lines = changed_lines('{"a": 9007199254740993}', '{"a": 9007199254740992}')
    assert [line for line in lines if line[0] != "same"] == [
        ("removed", '  "a": 9007199254740993'),
        ("added", '  "a": 9007199254740992'),
    ]
    assert changed_lines("{no json", "{no") == [("removed", "{no json"), ("added", "{no")]
    assert changed_lines("[" * 100_000, "x")[0][0] == "removed"


def test_lines_far_from_a_change_are_a_gap() -> None:
    before = [f"line {i}" for i in range(20)]
    after = [*before[:10], "new", *before[11:]]
    lines = shortened(changed_lines("\n".join(before), "\n".join(after)))
    assert lines == [
        ("gap", 7),
        *(("same", f"line {i}") for i in (7, 8, 9)),
        ("removed", "line 10"),
        ("added", "new"),
        *(("same", f"line {i}") for i in (11, 12, 13)),
        ("gap", 6),
    ]


def test_texts_with_nothing_in_common_take_no_time() -> None:
    """They are replaced as a whole."""
    a = [f"a{i}" for i in range(20_000)]
    b = [f"b{i}" for i in range(20_000)]
    started = time.process_time()
    lines = changed_lines("\n".join(a), "\n".join(b))
    assert time.process_time() - started < 5
    assert [kind for kind, _ in lines] == ["removed"] * 20_000 + ["added"] * 20_000
    assert len(a) > MAX_CHANGES
