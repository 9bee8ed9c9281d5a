"""Matches untrusted regular expressions, from clients or logs, in bounded time.

    matcher = Matcher()
    is_match = matcher.search(required(request, "pattern"), tags)  # array([True, False, ...])

The syntax is RE2's: Python's without lookaround and backreferences. A match takes time linear in
the length of the text, and does not block other threads. An expression that would still take too
long raises an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore.errors import BadRequestError

try:
    import re2
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "tbcore.patterns needs google-re2: pip install 'tbcore-server[patterns]'", name=error.name
    ) from None

__all__ = ["InvalidPatternError", "Matcher"]

MAX_PATTERN_CHARACTERS = 10_000
"""Maximum number of characters in an expression."""
MAX_PATTERN_BYTES = 1 << 20
"""Maximum memory of one compiled expression and its cache of states."""
MAX_WORK = 30_000_000
"""Maximum product of the compiled expression's instructions and one text's bytes. RE2's slowest
algorithm executes each instruction about once per byte, in some 15 ns."""
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

    def __init__(self) -> None:
        self._deadline = time.thread_time() + CPU_LIMIT_SECONDS

    def search(self, pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each text has a match anywhere, as an array of shape (num_texts,).

        Raises InvalidPatternError, or BadRequestError if the budget is used up.
        """
        compiled = _compiled(pattern)
        return self._matches(compiled, compiled.search, pattern, texts)

    def match(self, pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each text begins with a match, as an array of shape (num_texts,).

        Raises InvalidPatternError, or BadRequestError if the budget is used up.
        """
        compiled = _compiled(pattern)
        return self._matches(compiled, compiled.match, pattern, texts)

    def _matches(
        self,
        compiled: re2._Regexp,
        find: Callable[[bytes], Any],
        pattern: str,
        texts: Sequence[str],
    ) -> NDArray[np.bool_]:
        num_instructions = max(compiled.programsize, compiled.reverseprogramsize)
        is_match = np.zeros(len(texts), bool)
        for index, text in enumerate(texts):
            encoded = text.encode("utf-8", "surrogatepass")
            work = num_instructions * len(encoded)
            if work > MAX_WORK or time.thread_time() > self._deadline:
                raise BadRequestError(
                    f"the regular expression {_shown(pattern)} takes too long on these texts"
                )
            is_match[index] = find(encoded) is not None
        return is_match


def _compiled(pattern: str) -> re2._Regexp:
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidPatternError(
            pattern, f"expected at most {MAX_PATTERN_CHARACTERS} characters, got {len(pattern)}"
        )
    options = re2.Options()
    options.max_mem = MAX_PATTERN_BYTES
    options.log_errors = False
    try:
        # As bytes: for a str, re2 would convert byte positions in every text to characters.
        return re2.compile(pattern.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        [reason] = error.args
        raise InvalidPatternError(pattern, reason.decode(errors="replace")[:200]) from None


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else f"{pattern[:100]}...")
