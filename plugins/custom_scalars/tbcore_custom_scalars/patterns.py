"""Regular expressions, from anybody's layouts and requests: matched in bounded time."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import re2

from tbcore import BadRequestError

MAX_LENGTH = 10_000
"""Characters of an expression."""
MAX_MEMORY = 1 << 20
"""Bytes that a compiled expression may take, its cache of states included."""
MAX_WORK = 30_000_000
"""Instructions of the compiled expression times bytes of one tag. The slowest of the engine's
methods looks at each of them about once, in 15 ns or so."""
TIME_LIMIT_S = 0.5
"""Of a processor, for all expressions of a request together, on all tags."""


class InvalidPatternError(Exception):
    """A text is no regular expression; the message says why."""


def matching(patterns: Sequence[str], tags: Collection[str]) -> tuple[set[str], dict[str, str]]:
    """Which tags begin with a match of any expression, and why each invalid one is none.

    The syntax is RE2's, whose time is linear in the text, and which leaves other threads running.
    Raises BadRequestError when time is over.
    """
    deadline = time.thread_time() + TIME_LIMIT_S
    left = {tag: tag.encode("utf-8", "surrogateescape") for tag in tags}
    matched: set[str] = set()
    invalid: dict[str, str] = {}
    for pattern in patterns:
        try:
            compiled = _compiled(pattern)
        except InvalidPatternError as error:
            invalid[pattern] = str(error)
            continue
        size = max(compiled.programsize, compiled.reverseprogramsize)
        for tag, encoded in list(left.items()):
            if size * len(encoded) > MAX_WORK or time.thread_time() > deadline:
                raise BadRequestError(
                    f"the regular expression {_shown(pattern)} takes too long on these tags"
                )
            if compiled.match(encoded) is not None:
                matched.add(tag)
                del left[tag]
    return matched, invalid


def _compiled(pattern: str) -> re2._Regexp:
    if len(pattern) > MAX_LENGTH:
        raise InvalidPatternError(f"longer than {MAX_LENGTH} characters")
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    try:
        # As bytes, so that tags need not be decoded to tell where it matches.
        return re2.compile(pattern.encode("utf-8", "replace"), options)
    except re2.error as error:
        [reason] = error.args
        raise InvalidPatternError(reason.decode(errors="replace")[:200]) from None


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else f"{pattern[:100]}...")
