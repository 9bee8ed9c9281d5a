"""JSON of anything that plugins return, and texts that any client can decode."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from enum import Enum
from typing import Any
from uuid import UUID

import numpy as np
import orjson

from tbcore.eventfiles.logdir import one_line
from tbcore.store.state import TagsByRun

_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates other than those that stand for bytes of file names which are not UTF-8."""


def to_json(data: Any) -> bytes:
    """The body of `json_response`, in UTF-8."""
    try:
        if isinstance(data, TagsByRun):
            return data.as_json()
        encoded = orjson.dumps(
            data, default=_plain_if_repeatable, option=orjson.OPT_PASSTHROUGH_DATACLASS
        )
        # orjson writes null for a non-finite number, so an output without null is right. If the
        # data has a None, the slow way below is used needlessly. The search for "n" comes first
        # because it is ten times faster, and the JSON of finite numbers has no "n".
        if b"n" not in encoded or b"null" not in encoded:
            return encoded
    except TypeError:
        # A string with a lone surrogate, such as a file name in another encoding, or an iterator.
        # Any other cause raises TypeError again below.
        pass
    return orjson.dumps(_strict(data))


def _plain_if_repeatable(value: Any) -> Any:
    """`_plain(value)`; raises TypeError for an iterator, which could not be encoded twice."""
    if isinstance(value, TagsByRun):
        return orjson.Fragment(value.as_json())
    if isinstance(value, Iterable) and not isinstance(value, Collection):
        raise TypeError("an iterator can be encoded only once")
    return _plain(value)


def _plain(value: Any) -> Any:
    """Converts an object that orjson cannot encode exactly, or at all, to one that it can."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, Iterable):
        return list(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _strict(value: Any) -> Any:
    """The data with strings for non-finite numbers, and without lone surrogates."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _name_of(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, list) or type(value) is tuple:
        return _strict_sequence(value)
    if isinstance(value, (dict, Mapping)):
        return {
            printable(key) if isinstance(key, str) else key: _strict(element)
            for key, element in value.items()
        }
    if isinstance(value, np.ndarray):
        is_finite = value.dtype.kind in "iub" or (
            value.dtype.kind == "f" and bool(np.isfinite(value).all())
        )
        return value.tolist() if is_finite else _strict(value.tolist())
    if isinstance(value, (datetime, date, time, UUID)):
        return value
    return _strict(_plain(value))


def _strict_sequence(values: Sequence[Any]) -> Sequence[Any]:
    """`_strict` for all elements of a list, fast for a million numbers or rows of numbers."""
    types = set(map(type, values))
    if types == {float}:
        non_finite = np.flatnonzero(~np.isfinite(np.array(values)))
        if not non_finite.size:
            return values
        strict: list[Any] = list(values)
        for index in non_finite.tolist():
            strict[index] = _name_of(strict[index])
        return strict
    if types <= {int, bool, type(None)}:
        return values
    if types <= {list, tuple}:
        widths = set(map(len, values))
        if len(widths) == 1 and 0 not in widths and len(values) > max(widths):
            # Rows of equal length: each column has mostly one type, which is the fast case above.
            columns = map(_strict_sequence, zip(*values, strict=True))
            return list(zip(*columns, strict=True))
    return [_strict(value) for value in values]


def _name_of(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def printable(text: str) -> str:
    r"""The text with lone surrogates replaced by U+FFFD, or by `\xNN` for a byte of a file name."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _NO_BYTE.sub("\ufffd", text)
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text


def printable_line(text: str) -> str:
    """The text as one line: spaces for line ends, and escapes for invisible characters."""
    return one_line(" ".join(printable(text).splitlines()))
