"""Terms of queries that begin with a word of their own, such as `has:`, and names in queries.

A new term is added here, with its description in `tbcore/web/lib/queries/terms.js`, which the page
completes and explains; docs/queries.md has the same, and tests/queries.json has cases for it. It
has a sign, as `newest:` does: words without one find names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tbcore.queries.evaluation import (
    Glob,
    Has,
    Mask,
    Node,
    Not,
    Place,
    QueriedRuns,
    QueryError,
    Term,
)

# No group here has a possessive quantifier: Python 3.11.2 matches such groups wrongly.
QUOTED = re.compile(r'"((?:[^"]|"")*)"(?!")')
WITH_STEP = r"(?i:at|change)\([^)]*\)|(?i:[a-z]+)\([^)]*\)(?=[<>=!])"
"""A statistic of a step, or what is compared as if it was one."""
MASKED = re.compile(rf"{QUOTED.pattern}|(?<=:)(?:{WITH_STEP})")
_GLOB_TOKEN = re.compile(rf'{MASKED.pattern}|\*+|\?|[^*?"]+|"')


def name_or_glob(text: str) -> str | Glob:
    """The lower-cased text; a Glob if it has `*` or `?` outside of double quotes."""
    parts, is_glob = [""], False
    for token in _GLOB_TOKEN.finditer(text.lower()):
        is_wild = token[0][0] in "*?"
        is_glob |= is_wild
        if token[0][0] == "*":
            parts.append("")
        else:
            parts[-1] += "." if is_wild else re.escape(unquoted(token[0]))
    if not is_glob:
        return unquoted(text).lower()
    # The groups are atomic: each part between two `*` matches where it is first found, and there is
    # no backtracking.
    first, *middle, last = parts if len(parts) > 1 else ["", *parts]
    inner = "".join(f"(?>.*?{part})" for part in middle)
    pattern = f"{first}{inner}.*{last}" if len(parts) > 1 else last
    return Glob(re.compile(pattern, re.DOTALL))


def unquoted(chunk: str) -> str:
    """A chunk without its quotes."""
    return QUOTED.sub(lambda found: found[1].replace('""', '"'), chunk)


def _has(text: str, at: int) -> Has:
    if not text:
        raise QueryError("nothing after has:", at - len("has:"))
    end = at + len(text)
    tag = None if text.lower() == "nan" else name_or_glob(text)
    return Has(tag, unquoted(text), Place(at - len("has:"), end, end))


def _is(text: str, at: int) -> Term:
    state = text.lower()
    if state in ("failed", "finished"):
        return _in_state(state)
    if state not in ("starred", "archived"):
        raise QueryError("expected starred, archived, failed or finished after is:", at)
    return _noted("is:", text, at)


def _in_state(state: str) -> Term:
    return Term(lambda facts: [own == state for own in facts.states])


def _noted(sign: str, text: str, at: int) -> Term:
    start = at - len(sign)
    if not unquoted(text):
        raise QueryError(f"nothing after {sign}", start)
    name = name_or_glob(text)
    return Term(lambda facts: facts.noted(sign, name, start))


def _newest(text: str, at: int) -> Term:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise QueryError("expected a number of runs after newest:", at)
    return Term(partial(_is_newest, int(text)))


def _is_newest(count: int, facts: QueriedRuns) -> Mask:
    """Of runs with equal times, the last is the newest; those without events are the oldest."""
    times = facts.last_event_times
    latest_first = np.argsort(-np.array(times, float)[::-1], kind="stable")  # None becomes NaN.
    is_newest = np.zeros(len(times), np.bool_)
    is_newest[::-1][latest_first[:count]] = True
    return is_newest


TERMS: Mapping[str, Callable[[str, int], Node]] = {
    "has:": _has,
    "is:": _is,
    "note:": partial(_noted, "note:"),
    "#": partial(_noted, "#"),
    "newest:": _newest,
    "live": lambda *_: _in_state("live"),
    "quiet": lambda *_: Not(_in_state("live")),
}
"""Maps what a term begins with, or all of it, to a function that makes its node of the rest, and of
the position of the rest in the query. It raises QueryError."""
