"""Every exception that tbcore raises on purpose.

    TbcoreError
      + NotFoundError        -> 404   run, tag, item
      + BadRequestError      -> 400   missing or malformed parameter
      + DataError
      |   + DataLossError             a record's checksum or framing is wrong
      |   + DecodeError               a summary is not what its kind promises
      + PluginError                   a plugin could not be loaded or broke the contract
      + OptionError                   what the user set for a plugin makes no sense

A message says what was asked, what was found and what to do, in one line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TbcoreError(Exception):
    """Base of all errors of this package; `status` is the HTTP status that a route answers with."""

    status = 500


class NotFoundError(TbcoreError):
    """No such run, tag or item."""

    status = 404


class BadRequestError(TbcoreError):
    """A parameter is missing or malformed."""

    status = 400


class DataError(TbcoreError):
    """What is on disk is not what it should be."""


class DataLossError(DataError):
    """A record's checksum or framing is wrong."""

    status = 404


class DecodeError(DataError):
    """A summary is not what its kind promises."""

    status = 404


class PluginError(TbcoreError):
    """A plugin could not be loaded, or broke the contract."""


class OptionError(TbcoreError):
    """What the user set for a plugin makes no sense: no such plugin, option or value."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about a word that is not known: the one it comes closest to, if any."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
