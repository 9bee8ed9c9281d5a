"""JSON of anything that plugins return, and texts that any client can decode."""

from __future__ import annotations

import io
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from enum import Enum
from time import sleep
from typing import Any
from uuid import UUID

import numpy as np
import orjson
from numpy.typing import NDArray

from tbcore.store.state import TagsByRun
from tbcore.text import nonfinite_name, printable

_MAX_SIZE_AT_ONCE = 1 << 17
"""Size of what is encoded at once, in numbers. No other thread runs for these 1 to 5 ms."""
_CHARACTERS_PER_NUMBER = 16
"""Length of a string that counts as one number more."""
_RESERVED_BYTES = 1 << 25
"""Space that is reserved for the JSON of long lists. It takes memory when it is written, and the C
library enlarges a block of this size without copying it."""
_MAX_SAMPLES = 16
"""Maximum number of elements of a mapping from which its size is estimated; a quarter for lists,
whose elements are mostly alike. In mappings of mappings, it decreases with the depth."""


def to_json(data: Any) -> bytes:
    """The body of `json_response`, in UTF-8.

    Long lists are encoded in pieces, between which other threads run. Besides the body, only one
    piece is in memory.
    """
    if _size(data) <= _MAX_SIZE_AT_ONCE:
        return _encoded(data)
    body = io.BytesIO(bytes(_RESERVED_BYTES))
    for piece in _pieces(data):
        body.write(piece)
        release_gil()
    body.truncate()
    return body.getvalue()


def number_texts(numbers: NDArray[Any]) -> list[str]:
    """The JSON of each number of a column: the shortest digits that identify it among those of its
    dtype; `"NaN"`, `"Infinity"` and `"-Infinity"`, with quotes, where there are none. A float32
    from 2**24 on has those of a float64: its own may be those of another whole number.
    """
    encoded = orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)
    texts = encoded[1:-1].decode().split(",") if len(numbers) else []
    for index in np.flatnonzero(~np.isfinite(numbers)).tolist():
        texts[index] = f'"{nonfinite_name(numbers[index])}"'
    if numbers.dtype == np.float32:
        large = np.flatnonzero(np.abs(numbers) >= 1 << 24).tolist()
        for index, text in zip(large, number_texts(numbers[large].astype(float)), strict=True):
            texts[index] = text
    return texts


def release_gil() -> None:
    """Pauses briefly, so that a waiting thread can run; otherwise it gets the GIL after 5 ms."""
    sleep(1e-6)


def _size(data: Any, max_samples: int = _MAX_SAMPLES) -> int:
    """About how many numbers would take as long to encode; of long lists, a sample is examined."""
    if isinstance(data, str):
        return 1 + len(data) // _CHARACTERS_PER_NUMBER
    if isinstance(data, (list, tuple)):
        elements, max_here = data, max_samples // 4 or 1
    elif isinstance(data, dict):
        elements, max_here = list(data.values()), max_samples
    else:
        return data.size if isinstance(data, np.ndarray) else 1
    if not elements:
        return 1
    sample = elements[:: len(elements) // max_here + 1]
    max_below = max_samples // 4 or 1
    size = sum([_size(element, max_below) for element in sample])
    return 1 + size * len(elements) // len(sample)


def _pieces(data: Any) -> Iterator[bytes]:
    """Yields the JSON in pieces whose size is about `_MAX_SIZE_AT_ONCE`.

    A batch of elements is encoded as a list or mapping by itself, without its brackets. An element
    that is too large for a batch is divided in the same way. A string is one piece.
    """
    size = _size(data)
    if size <= _MAX_SIZE_AT_ONCE or isinstance(data, str):
        yield _encoded(data)
        return
    is_mapping = isinstance(data, dict)
    elements = list(data.items()) if is_mapping else data
    batch_size = max(1, _MAX_SIZE_AT_ONCE * len(elements) // size)
    opening = b"{" if is_mapping else b"["
    for start in range(0, len(elements), batch_size):
        batch = elements[start : start + batch_size]
        if batch_size > 1:
            yield opening + _encoded(dict(batch) if is_mapping else batch)[1:-1]
        elif is_mapping:
            [(key, element)] = batch
            yield opening + _encoded({key: 0})[1:-2]
            yield from _pieces(element)
        else:
            yield opening
            yield from _pieces(batch[0])
        opening = b","
    yield b"}" if is_mapping else b"]"


def _encoded(data: Any) -> bytes:
    """The JSON of all the data at once."""
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
        return float(value) if math.isfinite(value) else nonfinite_name(value)
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
            strict[index] = nonfinite_name(strict[index])
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
