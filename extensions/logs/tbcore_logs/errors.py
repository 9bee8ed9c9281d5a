"""The error for an unknown name in Python. Servers use tbcore.NotFoundError itself."""

from __future__ import annotations

from tbcore import NotFoundError


class UnknownNameError(NotFoundError, KeyError):
    """There is no such run or tag, in a lookup such as `logs["train"]`."""

    __str__ = Exception.__str__  # A KeyError would be printed in quotes.
