"""Regular expressions from whoever asks: matched in bounded time, whatever they are."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import re2
from numpy.typing import NDArray

from tbcore import BadRequestError

MAX_LENGTH = 10_000
"""Characters of an expression."""
MAX_MEMORY = 1 << 20
"""Bytes that a compiled expression may take, its cache of states included."""
MAX_WORK = 30_000_000
"""Instructions of the compiled expression times bytes of one text. The slowest of the engine's
methods looks at each of them about once, in 15 ns or so."""
TIME_LIMIT_S = 0.5
"""Of a processor, for all expressions of a request together, on all texts."""


class Matcher:
    """The expressions of one request, which share its time."""

    def __init__(self) -> None:
        self._deadline = time.thread_time() + TIME_LIMIT_S

    def matching(self, pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Which texts have a part that matches, of the shape (num_texts,).

        The syntax is RE2's, whose time is linear in the text, and which leaves other threads
        running. Raises BadRequestError for what it does not take, and when time is over.
        """
        compiled = _compiled(pattern)
        size = max(compiled.programsize, compiled.reverseprogramsize)
        matches = np.zeros(len(texts), bool)
        for place, text in enumerate(texts):
            encoded = text.encode()
            if size * len(encoded) > MAX_WORK or time.thread_time() > self._deadline:
                raise BadRequestError(
                    f"the regular expression {_shown(pattern)} takes too long on these values"
                )
            matches[place] = compiled.search(encoded) is not None
        return matches


def _compiled(pattern: str) -> re2._Regexp:
    if len(pattern) > MAX_LENGTH:
        raise BadRequestError(
            f"a regular expression may have {MAX_LENGTH} characters, and this has {len(pattern)}"
        )
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    try:
        # As bytes, so that texts need not be decoded to tell where it matches.
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        [reason] = error.args
        raise BadRequestError(
            f"invalid regular expression {_shown(pattern)}: {reason.decode(errors='replace')[:200]}"
        ) from None


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else f"{pattern[:100]}...")
