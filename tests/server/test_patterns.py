"""Untrusted regular expressions: what they match, and that their cost is bounded."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore import BadRequestError
from tbcore.patterns import MAX_PATTERN_CHARACTERS, InvalidPatternError, Matcher

TEXTS = ["loss", "my/loss", "Loss", "", "größe", "a\nloss"]


@pytest.mark.parametrize(
    ("pattern", "anywhere", "at_the_beginning"),
    [
        ("loss", {"loss", "my/loss", "a\nloss"}, {"loss"}),
        ("^loss$", {"loss"}, {"loss"}),
        ("(?i)LOSS", {"loss", "my/loss", "Loss", "a\nloss"}, {"loss", "Loss"}),
        ("", set(TEXTS), set(TEXTS)),
        ("gr..e", {"größe"}, {"größe"}),
        ("ö", {"größe"}, set()),
        ("a.", set(), set()),
    ],
)
def test_texts_match_anywhere_or_from_their_beginning(
    pattern: str, anywhere: set[str], at_the_beginning: set[str]
) -> None:
    """`search` and `match` have the same results as those of the module `re`."""
    found = Matcher().search(pattern, TEXTS)
    assert {text for text, is_found in zip(TEXTS, found, strict=True) if is_found} == anywhere
    found = Matcher().match(pattern, TEXTS)
    assert {text for text, is_found in zip(TEXTS, found, strict=True) if is_found} == (
        at_the_beginning
    )
    assert Matcher().search(pattern, []).tolist() == []


CASES = json.loads((Path(__file__).parents[1] / "expressions.json").read_text())
"""What expressions match, ignoring case, or their errors. The page is tested with these cases by
tests/page/unit/expressions.test.mjs. `python` has the results of the module `re` that differ."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expression"])
def test_one_syntax_on_the_server_in_python_and_in_the_page(case: dict[str, Any]) -> None:
    """RE2 and `re` match the same texts; the errors are ours, and the same as in the page."""
    expression = case["expression"]
    ignoring_case = expression if expression.startswith("(?i)") else f"(?i){expression}"
    if "error" in case:
        with pytest.raises(InvalidPatternError) as caught:
            Matcher().search(ignoring_case, [""])
        assert caught.value.reason == case["error"]
        return
    texts = case["matches"] + case["rejects"]
    expected = dict.fromkeys(case["matches"], True) | dict.fromkeys(case["rejects"], False)
    assert dict(zip(texts, Matcher().search(ignoring_case, texts), strict=True)) == expected
    # \d, \w, \s and \b are about ASCII characters only.
    flags = re.ASCII if re.search(r"\\[dwsb]", expression, re.IGNORECASE) else re.NOFLAG
    python = re.compile(expression, re.IGNORECASE | flags)
    in_python = {text: python.search(text) is not None for text in texts}
    assert in_python == expected | case.get("python", {})


ATOMS = [
    "a",
    "b",
    "B",
    ".",
    r"\d",
    r"\w",
    r"\W",
    r"\s",
    "[ab]",
    "[^a]",
    "[a-c1]",
    r"[\w-]",
    "1",
    r"\.",
]
EXPRESSIONS = st.recursive(
    st.sampled_from(
        [*ATOMS, r"\b", r"\B", "^", "$", "", "é", " ", r"\x41", "{", "[", "*", "(", ")"]
    ),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, st.sampled_from(["*", "+?", "{2}", "{0,2}", "{1,}", "??"])),
        st.builds("({})".format, inner),
        st.builds("{}|{}".format, inner, inner),
        st.lists(inner, max_size=4).map("".join),
    ),
    max_leaves=8,
)


@settings(max_examples=1000, deadline=None)
@given(EXPRESSIONS, st.lists(st.text("abAB1é -/.\n", min_size=1, max_size=8), max_size=5))
def test_any_expression_has_an_error_or_matches_as_in_python(
    expression: str, texts: list[str]
) -> None:
    r"""No expression is accepted that RE2 rejects, or that has another meaning in Python.

    The texts are not empty: `\B` matches an empty text, except in Python before 3.14.
    """
    reason = None
    try:
        found = Matcher().search(expression, texts)
    except InvalidPatternError as error:
        reason = error.reason
    assert reason != "too large"
    if reason:
        return
    python = re.compile(expression.replace("$", r"\Z"), re.ASCII)
    assert found.tolist() == [python.search(text) is not None for text in texts]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        *[(case["expression"], case["error"]) for case in CASES if "error" in case],
        ("(a{1,100}b?){10}" * 200, "too large"),
        ("x" * (MAX_PATTERN_CHARACTERS + 1), "expected at most 10000 characters, got 10001"),
    ],
)
def test_invalid_expressions(pattern: str, reason: str) -> None:
    """The message has the expression and the reason; `reason` has no expression."""
    for method in (Matcher().search, Matcher().match):
        with pytest.raises(InvalidPatternError) as caught:
            method(pattern, ["a"])
        assert isinstance(caught.value, BadRequestError)
        assert caught.value.reason == reason
        whole = str(caught.value)
        assert whole.startswith("invalid regular expression '")
        assert whole.endswith(f": {caught.value.reason}")
        assert len(whole) < 200


def test_texts_with_unpaired_surrogates() -> None:
    """Such texts come from JSON, and from file names that are not UTF-8."""
    texts = ["a\ud800b", "\udcff", "b"]
    assert Matcher().search("b", texts).tolist() == [True, False, True]
    assert Matcher().search("\ud800", texts).tolist() == [True, False, False]


HOSTILE = [
    ("(a*)*b", "a" * 5000),
    ("(a|aa)+$", "a" * 5000 + "!"),
    ("(x+x+)+y", "x" * 5000),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 5000),
    ("(a?){500}a{500}", "a" * 499),
    ("(a?){200}[ab]{500}c", "ab" * 20_000),
    ("(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^>]", ">" * 20_000),
    ("|".join(f"(a{{{n}}}b?){{3}}" for n in range(1, 200)), "a" * 20_000),
]


@pytest.mark.parametrize(("pattern", "text"), HOSTILE, ids=lambda value: value[:30])
def test_no_expression_takes_long(pattern: str, text: str) -> None:
    """Each expression is matched, or rejected with a reason, within the limit.

    With the module `re` some of these take years. The limit is generous, since the test machine may
    be busy: the promise is one second on an idle machine.
    """
    texts = [text + str(number) for number in range(20)]
    for find in (Matcher().search, Matcher().match):
        started = time.process_time()
        with suppress(BadRequestError):
            assert find(pattern, texts).shape == (20,)
        assert time.process_time() - started < 10


def test_a_text_that_would_take_longer_than_the_rest_is_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 20 ns for each instruction and byte; the clock of the processor stands still here."""
    monkeypatch.setattr("tbcore.patterns.thread_time", lambda: 0.0)
    few = Matcher(scale=1e-5)  # 5 µs
    assert few.search("abc", ["abc", "b"]).tolist() == [True, False]
    with pytest.raises(BadRequestError, match="takes too long"):
        few.search("abc", ["b" * 1000])
    assert Matcher().search("abc", ["b" * 1000]).tolist() == [False]


def test_all_expressions_of_a_request_share_its_time() -> None:
    """Many fast expressions are rejected if they take too long together."""
    texts = ["ab" * 2000 + str(number) for number in range(20)]
    matcher = Matcher()
    slow = (f"(a?){{200}}[ab]{{500}}{number}" for number in range(10_000))
    with pytest.raises(BadRequestError, match="takes too long on these texts"):
        list(map(matcher.search, slow, repeat(texts)))
    assert Matcher().search("b19$", texts).tolist() == [False] * 19 + [True]
