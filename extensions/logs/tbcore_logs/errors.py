"""The error for an unknown name, which tbcore.NotFoundError is for servers."""

from __future__ import annotations

from tbcore import NotFoundError


class UnknownNameError(NotFoundError, KeyError):
    """No such run or tag, in a lookup in Python such as `logs["train"]`."""

    __str__ = Exception.__str__  # A KeyError would be printed in quotes.
