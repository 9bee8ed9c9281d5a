"""All exceptions that tbcore raises itself.

    TbcoreError
      + NotFoundError        -> 404   run, tag, item
      + BadRequestError      -> 400   missing or malformed parameter
      + DataError
      |   + DataLossError    -> 404   a record's checksum or framing is wrong
      |   + DecodeError      -> 404   a summary cannot be decoded as the type in its metadata
      + PluginError                   a plugin could not be loaded or broke the contract
      + ExtensionError                an extension could not be imported
      + OptionError                   a user set an option that is unknown or not valid
          + UnknownStorageError       also a ValueError: an address that cannot be read

A message has one line: what was requested, what was found, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TbcoreError(Exception):
    """Base class of all errors of this package."""

    status = 500
    """HTTP status of the response if a route raises the error."""
    exit_status = 1
    """Exit status of a command that the error ends."""


class NotFoundError(TbcoreError):
    """No such run, tag or item."""

    status = 404


class BadRequestError(TbcoreError):
    """A parameter is missing or malformed."""

    status = 400


class DataError(TbcoreError):
    """Data on disk is not valid, or cannot be read."""

    exit_status = 3


class DataLossError(DataError):
    """A record's checksum or framing is wrong."""

    status = 404


class DecodeError(DataError):
    """A summary cannot be decoded as the type that its metadata declares."""

    status = 404


class PluginError(TbcoreError):
    """A plugin could not be loaded, or broke the contract."""


class ExtensionError(TbcoreError):
    """An extension could not be imported."""


class OptionError(TbcoreError):
    """A user set an unknown option, an option of an unknown plugin, or an invalid value."""

    exit_status = 2


class UnknownStorageError(OptionError, ValueError):
    """An address is not one of a directory that can be read, or needs a package."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: `; did you mean 'x'?`.

    The result is "" if no known word is close.
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
