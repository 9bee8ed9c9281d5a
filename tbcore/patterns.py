"""Matches untrusted regular expressions, from clients or logs, in bounded time.

    matcher = Matcher()
    is_match = matcher.search(required(request, "pattern"), tags)  # array([True, False, ...])

The syntax is what RE2, Python and browsers understand alike, without lookaround, backreferences and
named groups. Digits, letters and spaces are those of ASCII, and `(?i)` at the start ignores case.
tbcore/web/lib/queries/expression-syntax.js is the same for the page, and tests/expressions.json has
what both must do.

A match takes time linear in the length of the text, and does not block other threads. An expression
that would still take too long raises an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import thread_time

import numpy as np
import re2
from numpy.typing import NDArray

from tbcore.errors import BadRequestError

__all__ = ["InvalidPatternError", "Matcher"]

MAX_PATTERN_CHARACTERS = 10_000
"""Maximum number of characters in an expression."""
MAX_PATTERN_BYTES = 1 << 20
"""Maximum memory of one compiled expression and its cache of states."""
SECONDS_PER_STEP = 20e-9
"""CPU time of an instruction of a compiled expression at one byte. RE2's slowest algorithm executes
each about once per byte, in 15 to 25 ns."""
MAX_REPETITIONS = 1000
"""Maximum number of repetitions; those of nested groups are multiplied. RE2 has the same limit."""
CPU_LIMIT_SECONDS = 0.5
"""Maximum CPU time of one request, for all its expressions and texts together."""


class InvalidPatternError(BadRequestError):
    """A regular expression is not valid, or is too large."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"invalid regular expression {_shown(pattern)}: {reason}")
        self.reason = reason
        """The reason without the expression, for a response that lists several errors."""


class Matcher:
    """Matches the expressions of one request, which share a budget of 0.5 s of CPU time.

    Create a Matcher in the handler of each request: the budget is CPU time of the calling thread.
    Texts may be any str, even with unpaired surrogates.
    """

    def __init__(self, *, scale: float = 1) -> None:
        """The budget is multiplied by `scale`, for very many texts."""
        self._deadline = thread_time() + scale * CPU_LIMIT_SECONDS

    def search(self, pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each text has a match anywhere, as an array of shape (num_texts,).

        Raises InvalidPatternError, or BadRequestError if the budget is used up.
        """
        return self._matches("search", pattern, texts)

    def match(self, pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each text begins with a match, as an array of shape (num_texts,).

        Raises InvalidPatternError, or BadRequestError if the budget is used up.
        """
        return self._matches("match", pattern, texts)

    def _matches(self, method: str, pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        compiled = _compiled(pattern)
        find = getattr(compiled, method)
        num_instructions = max(compiled.programsize, compiled.reverseprogramsize)
        is_match = np.zeros(len(texts), bool)
        for i, text in enumerate(texts):
            encoded = text.encode("utf-8", "surrogatepass")
            cost = SECONDS_PER_STEP * num_instructions * len(encoded)
            # Not before each short text: asking for the time would take a third of the whole.
            if (i % 64 == 0 or cost > 2e-4) and thread_time() + cost > self._deadline:
                raise BadRequestError(
                    f"the regular expression {_shown(pattern)} takes too long on these texts"
                )
            is_match[i] = find(encoded) is not None
        return is_match


def _compiled(pattern: str) -> re2._Regexp:
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidPatternError(
            pattern, f"expected at most {MAX_PATTERN_CHARACTERS} characters, got {len(pattern)}"
        )
    try:
        _check(pattern)
    except ValueError as error:
        raise InvalidPatternError(pattern, str(error)) from None
    options = re2.Options()
    options.max_mem = MAX_PATTERN_BYTES
    options.log_errors = False
    try:
        # As bytes: for a str, re2 would convert byte positions in every text to characters.
        return re2.compile(pattern.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        is_range = error.args[0].startswith(b"invalid character class range")
        reason = "range out of order in []" if is_range else "too large"
        raise InvalidPatternError(pattern, reason) from None


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else f"{pattern[:100]}...")


# The syntax --------------------------------------------------------------------------------------

_CHAR = r"(?:\\x[\dA-Fa-f]{2}|\\[nrtfv]|\\[^\w\x80-\U0010ffff]|[^\\[\]])"
"""A character, as itself or with a backslash."""
_TOKEN = re.compile(
    r"(?P<repeat>(?:[*+?]|\{(?P<min>\d+)(?:,(?P<max>\d*))?\})\??)|(?P<open>\((?!\?)|\(\?:)"
    r"|(?P<close>\))|(?P<bar>\|)|(?P<edge>[$^]|\\[Bb])|(?P<list>\[\^?-?)|\.|\\[DSWdsw]"
    rf"|(?!\(|\{{,\d*\}})(?:{_CHAR}|\])",
    re.DOTALL | re.ASCII,
)
"""Matches one part of an expression."""
_MEMBER = re.compile(
    rf"\\[DSWdsw]|(?!-){_CHAR}(?:-(?!-){_CHAR})?|-(?=\])|(?P<end>\])", re.DOTALL | re.ASCII
)
"""Matches one part of the list in brackets, or the bracket at its end."""
_FAULTS = [
    (re.compile(r"\(\?[=!]"), "lookahead is not supported"),
    (re.compile(r"\(\?<[=!]"), "lookbehind is not supported"),
    (re.compile(r"\(\?P?<"), "named groups are not supported"),
    (re.compile(r"\(\?"), "(? is supported only in (?: and, at the start, in (?i)"),
    (re.compile(r"\\\Z"), "\\ at the end"),
    (re.compile(r"\\[1-9gk]"), "backreferences are not supported"),
    (re.compile(r"\\.", re.DOTALL), "$& is not supported"),
    (re.compile(r"\{"), "a number must follow {"),
    (re.compile(r"\["), "write \\[ for [ inside of []"),
    (re.compile(r"-"), "write \\- for - inside of []"),
]
"""Patterns of what is not supported, each with the error. The first one that matches is used."""


def _check(pattern: str) -> None:
    """Raises ValueError if an expression's syntax is not supported."""
    # For each open group, the most repetitions of anything before it in the surrounding group.
    outer: list[float] = []
    most = 1.0  # the most repetitions of anything in the current group
    last = 0.0  # the same for what a following `*` would repeat; 0 if there is nothing to repeat
    at = 4 if pattern.startswith("(?i)") else 0
    while at < len(pattern):
        token = _read(_TOKEN, pattern, at)
        at = token.end()
        match token.lastgroup:
            case "repeat":
                if not last:
                    raise ValueError(f"nothing to repeat before {token[0][0]}")
                if token["max"] and float(token["max"]) < float(token["min"]):
                    raise ValueError("numbers out of order in {}")
                most = max(most, last * float(token["max"] or token["min"] or 1))
                if most > MAX_REPETITIONS:
                    raise ValueError(f"more than {MAX_REPETITIONS} repetitions")
                last = 0
            case "open":
                outer.append(most)
                most, last = 1, 0
            case "close":
                if not outer:
                    raise ValueError("unmatched )")
                most, last = max(outer.pop(), most), most
            case "bar" | "edge":
                last = 0
            case "list":
                at = _check_list(pattern, at)
                last = 1
            case _:
                last = 1
    if outer:
        raise ValueError("unclosed (")


def _check_list(pattern: str, at: int) -> int:
    """The end of a list in brackets, whose `[`, `[^`, `[-` or `[^-` ends at `at`."""
    is_empty = pattern[at - 1] != "-"
    while at < len(pattern):
        member = _read(_MEMBER, pattern, at)
        at = member.end()
        if member.lastgroup != "end":
            is_empty = False
        elif is_empty:
            raise ValueError("nothing in []")
        else:
            return at
    raise ValueError("unclosed [")


def _read(expected: re.Pattern[str], pattern: str, at: int) -> re.Match[str]:
    if found := expected.match(pattern, at):
        return found
    for fault, message in _FAULTS:
        if found := fault.match(pattern, at):
            raise ValueError(message.replace("$&", found[0]))
    raise ValueError(f"{pattern[at]} is not supported")
