"""Every exception that tbcore raises on purpose.

    TbcoreError
      + NotFoundError        -> 404   run, tag, item
      + BadRequestError      -> 400   missing or malformed parameter
      + DataError
      |   + DataLossError             a record's checksum or framing is wrong
      |   + DecodeError               a summary is not what its kind promises
      + PluginError                   a plugin could not be loaded or broke the contract

A message says what was asked, what was found and what to do, in one line.
"""

from __future__ import annotations


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
