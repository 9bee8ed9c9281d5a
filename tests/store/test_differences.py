"""Differences of texts by line."""

from __future__ import annotations

import difflib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore.values import changed_lines

CASES = json.loads((Path(__file__).parents[1] / "differences.json").read_text("utf-8"))["cases"]
LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_the_differences_are_those_of_the_page(case: dict[str, Any]) -> None:
    lines = changed_lines(case["before"], case["after"])
    assert [list(line) for line in lines] == case["lines"]


@settings(deadline=None)  # A busy machine must not fail the test.
@given(LINES, LINES)
def test_the_lines_are_those_of_both_texts(a: list[str], b: list[str]) -> None:
    """Removed lines with the equal ones are the first text, added ones with them the second."""
    a, b = [*a, "end"], [*b, "end"]
    lines = changed_lines("\n".join(a), "\n".join(b))
    for unwanted, text in (("added", a), ("removed", b)):
        rest = list(text)
        for kind, line in lines:
            if kind == "gap":
                del rest[: int(line)]
            elif kind != unwanted:
                assert rest.pop(0) == line
        assert not lines or not rest
    kinds = [kind for kind, _ in lines]
    assert ("added", "removed") not in pairwise(kinds)
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    num_same = sum(block.size for block in matcher.get_matching_blocks())
    assert len(a) - kinds.count("removed") >= num_same


def test_more_than_500_changes_are_one() -> None:
    """They take no time, and leave what both texts have at their ends."""
    a = [f"a{i}" for i in range(250)]
    b = ["same", *(f"b{i}" for i in range(250)), "end"]
    for more, num_same in ([], 2), (["more"], 1):
        lines = changed_lines("\n".join([*a, *more, "same", "end"]), "\n".join(b))
        assert sum(kind == "same" for kind, _ in lines) == num_same
    a, b = (["first", *(f"{letter}{i}" for i in range(100_000)), "end"] for letter in "ab")
    kinds = [kind for kind, _ in changed_lines("\n".join(a), "\n".join(b))]
    assert kinds == ["same", *["removed"] * 100_000, *["added"] * 100_000, "same"]


@pytest.mark.parametrize(
    ("a", "b", "are_equal"),
    [
        ('{"a": 1, "b": [2.0]}', ' {"b":[2],"a":1.0}', True),
        ("[1e3]", "[1000]", True),
        ("[-0.0]", "[0]", True),
        ("[1e999]", "[1e998]", True),
        ("[1]", "[true]", False),
        ("[1]", '["1"]', False),
        ("[9007199254740993]", "[9007199254740992.0]", False),
        ("[9007199254740993]", "[9007199254740992]", False),
        ("[0.1]", "[0.10000000000000002]", False),
        ("{no json", " {no json", False),
        ("[" * 100_000, "x", False),
    ],
)
def test_json_is_compared_by_value(a: str, b: str, are_equal: bool) -> None:
    assert (changed_lines(a, b) == []) == are_equal


def test_each_value_of_json_is_a_line() -> None:
    lines = changed_lines('{"b": 2, "a": [1, 3]}', '{"a": [1, 4], "b": 2}')
    assert [line for line in lines if line[0] != "same"] == [
        ("removed", "    3"),
        ("added", "    4"),
    ]
