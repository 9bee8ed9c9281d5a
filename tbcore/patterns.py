"""Regular expressions from whoever asks, or logs: matched in bounded time, whatever they are.

    matcher = Matcher()
    found = matcher.search(required(request, "pattern"), tags)  # array([True, False, ...])

The syntax is RE2's: Python's without lookaround and backreferences. A match takes time linear in
the text, and leaves other threads running. What costs too much all the same is refused.
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

MAX_LENGTH = 10_000
"""Characters of an expression."""
MAX_MEMORY = 1 << 20
"""Bytes that a compiled expression may take, its cache of states included."""
MAX_WORK = 30_000_000
"""Instructions of the compiled expression times bytes of one text. The slowest of the engine's
methods looks at each of them about once, in 15 ns or so."""
TIME_LIMIT_S = 0.5
"""Of a processor, for all expressions of a request together, on all texts."""


class InvalidPatternError(BadRequestError):
    """A text is no regular expression, or too large a one."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"invalid regular expression {_shown(pattern)}: {reason}")
        self.reason = reason
        """Why, without the expression: for an answer that lists several."""


class Matcher:
    """The expressions of one request, which share half a second of its thread.

    Make one for each request, in the handler. Texts may be anything, unpaired surrogates too.
    """

    def __init__(self) -> None:
        self._deadline = time.thread_time() + TIME_LIMIT_S

    def search(self, pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Which texts have a match anywhere, of the shape (num_texts,).

        Raises InvalidPatternError, and BadRequestError when time is over.
        """
        compiled = _compiled(pattern)
        return self._found(compiled, compiled.search, pattern, texts)

    def match(self, pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Which texts begin with a match, of the shape (num_texts,).

        Raises InvalidPatternError, and BadRequestError when time is over.
        """
        compiled = _compiled(pattern)
        return self._found(compiled, compiled.match, pattern, texts)

    def _found(
        self,
        compiled: re2._Regexp,
        find: Callable[[bytes], Any],
        pattern: str,
        texts: Sequence[str],
    ) -> NDArray[np.bool_]:
        size = max(compiled.programsize, compiled.reverseprogramsize)
        found = np.zeros(len(texts), bool)
        for place, text in enumerate(texts):
            encoded = text.encode("utf-8", "surrogatepass")
            if size * len(encoded) > MAX_WORK or time.thread_time() > self._deadline:
                raise BadRequestError(
                    f"the regular expression {_shown(pattern)} takes too long on these texts"
                )
            found[place] = find(encoded) is not None
        return found


def _compiled(pattern: str) -> re2._Regexp:
    if len(pattern) > MAX_LENGTH:
        raise InvalidPatternError(
            pattern, f"it may have {MAX_LENGTH} characters, and has {len(pattern)}"
        )
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    try:
        # As bytes, so that texts need not be decoded to tell where it matches.
        return re2.compile(pattern.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        [reason] = error.args
        raise InvalidPatternError(pattern, reason.decode(errors="replace")[:200]) from None


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else f"{pattern[:100]}...")
