"""Decoders of the formats that summaries hold, for plugins: what `Item.read` returns, as values.

Most formats have two forms on disk, a field of their own and a tensor; the functions here take
both. They raise DecodeError for anything else, with what was found.

A tag's metadata often comes with its first value only. Where the meaning depends on it, the
function takes it as an argument: pass `multiplexer.metadata(run, tag)`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.errors import DecodeError
from tbcore.eventfiles.proto.summary_pb2 import Summary, SummaryMetadata
from tbcore.eventfiles.tensors import tensor_to_numpy

__all__ = [
    "AudioClip",
    "AudioValue",
    "HistogramValue",
    "ImageValue",
    "Value",
    "audio",
    "bucket_table",
    "histogram",
    "image",
    "scalar",
    "tensor",
    "text",
]


Value = Summary.Value | bytes
"""What `Item.read` returns. The bytes are graphs and the like, which nothing here decodes."""


class HistogramValue(NamedTuple):
    """A histogram as the HTTP API documents describe it."""

    min: float
    max: float
    num: float
    """Number of samples."""
    sum: float
    """Of the samples; estimated from the middles of the buckets where the writer stored none."""
    sum_squares: float
    """Likewise of their squares."""
    bucket_limit: NDArray[np.float64]
    """Shape (num_buckets,): right edges, ascending; the last may be the largest double."""
    bucket: NDArray[np.float64]
    """Shape (num_buckets,): number of samples in each."""


class ImageValue(NamedTuple):
    """The images of one step, all of one size."""

    width: int
    """In pixels, as logged."""
    height: int
    """In pixels, as logged."""
    encoded: list[bytes]
    """Each a whole image file, of whatever type the writer chose."""


class AudioClip(NamedTuple):
    """One encoded clip."""

    encoded: bytes
    label: str
    """"" if the writer gave none."""


class AudioValue(NamedTuple):
    """The clips of one step."""

    content_type: str
    """As logged, so any text; `audio/wav` for a tensor whose metadata says so, else
    `application/octet-stream`. Check it against a list before it becomes a header."""
    clips: list[AudioClip]


def scalar(value: Value) -> float:
    """The number: a float, or an int where the tensor holds integers.

    Takes `simple_value` and a tensor of real numbers with exactly one element, of any rank.
    """
    value = _summary(value, "a scalar")
    if value.WhichOneof("value") == "simple_value":
        return value.simple_value
    array = _tensor(value, "a scalar")
    if array.size != 1 or array.dtype.kind not in "fiu":
        raise DecodeError(f"{_name(value)} is no scalar: {_describe(array)}")
    number: float = array.item()
    return number


def histogram(value: Value) -> HistogramValue:
    """The histogram with what the writer stored, or what follows from its buckets.

    A `histo` is returned as it is stored. A tensor of shape (num_buckets, 3) holds no sums: they
    are estimated from the middles of the buckets. Without rows everything is zero.
    """
    value = _summary(value, "a histogram")
    if value.WhichOneof("value") == "histo":
        histo = value.histo
        _check_lengths(value)
        return HistogramValue(
            min=histo.min,
            max=histo.max,
            num=histo.num,
            sum=histo.sum,
            sum_squares=histo.sum_squares,
            bucket_limit=np.array(histo.bucket_limit, np.float64),
            bucket=np.array(histo.bucket, np.float64),
        )
    rows = bucket_table(value)
    if not len(rows):
        return HistogramValue(0.0, 0.0, 0.0, 0.0, 0.0, rows[:, 1], rows[:, 2])
    left, right, count = rows.T
    # Estimates beyond all numbers are infinite, or NaN; what is stored may be so, too.
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (left + right) / 2
        return HistogramValue(
            min=float(left[0]),
            max=float(right[-1]),
            num=float(count.sum()),
            sum=float((count * middle).sum()),
            sum_squares=float((count * middle * middle).sum()),
            bucket_limit=np.ascontiguousarray(right),
            bucket=np.ascontiguousarray(count),
        )


def bucket_table(value: Value) -> NDArray[np.float64]:
    """Histogram buckets as an array of shape (num_buckets, 3): left edge, right edge, count.

    Buckets are in ascending order. A tensor is returned as it is stored. Of a `histo`, empty
    buckets at both ends are left out and the outermost edges are the smallest and the largest
    sample, never +-1.8e308; when all are empty there are no rows.
    """
    value = _summary(value, "a histogram")
    if value.WhichOneof("value") == "histo":
        _check_lengths(value)
        limits = np.array(value.histo.bucket_limit, np.float64)
        counts = np.array(value.histo.bucket, np.float64)
        filled = np.flatnonzero(counts > 0)
        if not len(filled):
            return np.zeros((0, 3), np.float64)
        first, last = int(filled[0]), int(filled[-1])
        edges = np.concatenate(([value.histo.min], limits[first:last], [value.histo.max]))
        return np.stack([edges[:-1], edges[1:], counts[first : last + 1]], axis=1)
    array = _tensor(value, "a histogram")
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "fiu":
        raise DecodeError(
            f"{_name(value)} is no histogram: {_describe(array)}, not numbers of shape (k, 3)"
        )
    return array.astype(np.float64)


def image(value: Value) -> ImageValue:
    """The images of one step: one from an `image`, any number from a tensor.

    The tensor holds the strings width, height, first image, second image and so on.
    """
    value = _summary(value, "an image")
    if value.WhichOneof("value") == "image":
        logged = value.image
        return ImageValue(logged.width, logged.height, [logged.encoded_image_string])
    strings = _strings(value, "an image")
    if strings.ndim != 1 or len(strings) < 2:
        raise DecodeError(
            f"{_name(value)} is no image: {_describe(strings)}, not width, height and images"
        )
    width, height, *encoded = strings.tolist()
    # As in the field: an int32. Longer numbers fit into nothing that is done with them.
    if not all(re.fullmatch(rb"\s*[+-]?\d{1,9}\s*", size) for size in (width, height)):
        raise DecodeError(
            f"{_name(value)} is no image: its size is given as {width[:20]!r} x {height[:20]!r}"
        )
    return ImageValue(int(width), int(height), encoded)


def audio(value: Value, metadata: SummaryMetadata | None = None) -> AudioValue:
    """The clips of one step: one from an `audio`, any number from a tensor.

    The tensor has the shape (num_clips, 2), rows of clip and label, or (num_clips,). Its metadata,
    the value's own when none is given, says whether the clips are WAV.
    """
    value = _summary(value, "audio")
    if value.WhichOneof("value") == "audio":
        clip = AudioClip(value.audio.encoded_audio_string, "")
        return AudioValue(value.audio.content_type, [clip])
    strings = _strings(value, "audio")
    if strings.ndim == 2 and strings.shape[1] == 2:
        rows = strings.tolist()
    elif strings.ndim == 1:
        rows = [(clip, b"") for clip in strings.tolist()]
    else:
        raise DecodeError(
            f"{_name(value)} is no audio: {_describe(strings)}, not rows of clip and label"
        )
    content = (metadata or value.metadata).plugin_data.content
    return AudioValue(
        "audio/wav" if _encoding(content) == _WAV else "application/octet-stream",
        [AudioClip(clip, label.decode(errors="replace")) for clip, label in rows],
    )


def tensor(value: Value) -> NDArray[Any]:
    """The array of a tensor: dtype and shape as logged, bfloat16 and the like as float32.

    Strings are an object array of `bytes`. It is for formats of a plugin's own, whose shape and
    dtype the plugin has to check: anything may be logged under its name.
    """
    return _tensor(_summary(value, "a tensor"), "a tensor")


def text(value: Value) -> NDArray[np.object_]:
    """Strings of any shape, as logged: a table, a list, or shape () for one string.

    Bytes that are no UTF-8 become U+FFFD.
    """
    value = _summary(value, "text")
    strings = _strings(value, "text")
    decoded = np.empty(strings.shape, object)
    for position, string in np.ndenumerate(strings):
        decoded[position] = string.decode(errors="replace")
    return decoded


_WAV = 11
"""AudioPluginData.Encoding.WAV. Source: tensorboard/plugins/audio/plugin_data.proto."""

_MAX_REPEATED = 1 << 16
"""Elements that a single stored one may stand for: tables of empty buckets are written so."""


_MAX_ENCODING_BYTES = 1000


def _encoding(content: bytes) -> int:
    # AudioPluginData has three varint fields: version (1), encoding (2), converted_to_tensor (3).
    # Too little to deserve a generated module; what does not parse says nothing. Anything longer is
    # something else, and a number of a million bytes would take minutes.
    if len(content) > _MAX_ENCODING_BYTES:
        return 0
    fields: dict[int, int] = {}
    numbers: list[int] = []
    number = shift = 0
    for byte in content:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    for key, content_number in zip(numbers[::2], numbers[1::2], strict=False):
        if key & 7:
            return 0
        fields[key >> 3] = content_number
    return fields.get(2, 0)


def _summary(value: Value, wanted: str) -> Summary.Value:
    if isinstance(value, bytes):
        raise DecodeError(f"{len(value)} bytes that belong to no summary are not {wanted}")
    return value


def _tensor(value: Summary.Value, wanted: str) -> NDArray[Any]:
    field = value.WhichOneof("value")
    if field != "tensor":
        found = f"its field is {field}" if field else "it has no value"
        raise DecodeError(f"{_name(value)} is not {wanted}: {found}")
    array = tensor_to_numpy(value.tensor)
    # One element may stand for a tensor full of it, of any size. What is decoded further should
    # need memory by the bytes that are in the file, not by what a shape claims.
    if array.size > max(_MAX_REPEATED, value.tensor.ByteSize()):
        raise DecodeError(f"{_name(value)} is not {wanted}: one element repeated to {array.shape}")
    return array


def _strings(value: Summary.Value, wanted: str) -> NDArray[np.object_]:
    array = _tensor(value, wanted)
    if array.dtype.kind != "O":
        raise DecodeError(f"{_name(value)} is not {wanted}: {_describe(array)}, not strings")
    return array


def _check_lengths(value: Summary.Value) -> None:
    num_limits, num_counts = len(value.histo.bucket_limit), len(value.histo.bucket)
    if num_limits != num_counts:
        raise DecodeError(
            f"{_name(value)} is no histogram: {num_limits} bucket limits, {num_counts} counts"
        )


def _name(value: Summary.Value) -> str:
    return f"value of tag {value.tag!r}"


def _describe(array: NDArray[Any]) -> str:
    kind = "strings" if array.dtype.kind == "O" else str(array.dtype)
    return f"a tensor of {kind} and shape {array.shape}"
