"""The error for an unknown name in Python. Servers use tbcore.NotFoundError itself."""

from __future__ import annotations

from collections.abc import Iterable

from tbcore import NotFoundError
from tbcore.engine import close_matches, listed, quoted


class UnknownNameError(NotFoundError, KeyError):
    """There is no such run or tag, in a lookup such as `logs["train"]`."""

    __str__ = Exception.__str__  # A KeyError would be printed in quotes.


def instead(name: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """The end of a message about an unknown name: known or other names that are close, or else
    some of all that are known."""
    known = [*known]
    there_are = f"; there are: {listed([*map(quoted, known)])}" if known else ""
    return close_matches(name, dict.fromkeys([*known, *others])) or there_are
