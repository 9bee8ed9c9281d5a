"""Decoders of single values: scalars, histograms, images, audio, tensors and texts."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.errors import DecodeError
from tbcore.eventfiles import wire
from tbcore.eventfiles.proto.summary_pb2 import Summary, SummaryMetadata
from tbcore.eventfiles.tensors import tensor_to_numpy
from tbcore.kinds import Claim, Claims

Value = Summary.Value | bytes
"""The result of `Item.read`: a Summary.Value, or the serialized bytes of a graph or run metadata.
The functions here raise DecodeError for such bytes."""

Metadata = SummaryMetadata
"""The result of `multiplexer.metadata`: the metadata in the first value of a tag."""


AUDIO_CLAIMS: Claims = (Claim("audio"), Claim("tensor", "audio", is_scalar=False))
"""The kinds that `audio` decodes: both forms of clips."""
HISTOGRAM_CLAIMS: Claims = (Claim("histo"), Claim("tensor", "histograms", is_scalar=False))
"""The kinds that `histogram` and `bucket_table` decode: both forms of histograms."""
IMAGE_CLAIMS: Claims = (Claim("image"), Claim("tensor", "images", is_scalar=False))
"""The kinds that `image` decodes: both forms of images."""


class HistogramValue(NamedTuple):
    """A histogram, with the same fields as in the HTTP API."""

    min: float
    max: float
    num: float
    """Number of samples."""
    sum: float
    """Sum of the samples; if the writer stored none, an estimate from the buckets' centres."""
    sum_squares: float
    """Sum of the squares of the samples; if the writer stored none, an estimate from the buckets'
    centres."""
    bucket_limit: NDArray[np.float64]
    """Right edges of the buckets, ascending, of shape (num_buckets,). The last one may be the
    largest double."""
    bucket: NDArray[np.float64]
    """Number of samples in each bucket, of shape (num_buckets,)."""


class ImageValue(NamedTuple):
    """The images of one step, all of the same size."""

    width: int
    """Width in pixels, as logged."""
    height: int
    """Height in pixels, as logged."""
    encoded: list[bytes]
    """The images, each as the content of an image file, of any type."""


class AudioClip(NamedTuple):
    """One encoded clip."""

    encoded: bytes
    """The content of an audio file."""
    label: str
    """The text that was logged with the clip; "" if there was none."""


class AudioValue(NamedTuple):
    """The clips of one step."""

    content_type: str
    """The logged content type. For a tensor: `audio/wav` if the metadata has WAV as the encoding,
    else `application/octet-stream`. A logged content type can be any text, so check it against a
    list of safe types before you use it as a header."""
    clips: list[AudioClip]


def scalar(value: Value) -> float:
    """The number in a value: an int if the value is a tensor of integers, else a float.

    Accepts `simple_value`, and a tensor of any rank with exactly one element, a real number.
    """
    value = _summary(value, "a scalar")
    if value.WhichOneof("value") == "simple_value":
        return value.simple_value
    array = _tensor(value, "a scalar")
    if array.size != 1 or array.dtype.kind not in "fiu":
        raise _not(value, "a scalar", _describe(array))
    number: float = array.item()
    return number


def histogram(value: Value) -> HistogramValue:
    """The histogram in a value.

    A `histo` is returned unchanged. A tensor of shape (num_buckets, 3) has no sums: estimates from
    the centres of the buckets are returned. If the tensor has no rows, all numbers are zero. A gap
    between rows is a bucket without samples, and rows that overlap are one bucket.
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
    # An estimate may overflow to infinity or NaN. Stored sums may be infinite or NaN, too.
    with np.errstate(over="ignore", invalid="ignore"):
        centre = (left + right) / 2
        num, total, squares = (
            float(part.sum()) for part in (count, count * centre, count * centre * centre)
        )
    if (left[1:] < right[:-1]).any():
        left, right, count = _merged(rows[np.argsort(left, kind="stable")])
    gaps = np.flatnonzero(left[1:] > right[:-1]) + 1
    limits, counts = np.insert(right, gaps, left[gaps]), np.insert(count, gaps, 0.0)
    minimum, maximum = float(left[0]), float(right[-1])
    return HistogramValue(minimum, maximum, num, total, squares, limits, counts)


def bucket_table(value: Value) -> NDArray[np.float64]:
    """Histogram buckets as an array of shape (num_buckets, 3): left edge, right edge, count.

    Buckets are in ascending order. A tensor is returned unchanged. For a `histo`, empty buckets at
    both ends are left out, and the outermost edges are the smallest and the largest sample, never
    +-1.8e308. If all buckets of a `histo` are empty, the array has no rows.
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
        raise _not(value, "a histogram", f"{_describe(array)}, not numbers of shape (k, 3)")
    return array.astype(np.float64)


def image(value: Value) -> ImageValue:
    """The images in a value: one in an `image`, any number in a tensor.

    The strings in the tensor are: width, height, first image, second image, and so on.
    """
    value = _summary(value, "an image")
    if value.WhichOneof("value") == "image":
        logged = value.image
        return ImageValue(logged.width, logged.height, [logged.encoded_image_string])
    strings = _strings(value, "an image")
    if strings.ndim != 1 or len(strings) < 2:
        raise _not(value, "an image", f"{_describe(strings)}, not width, height and images")
    width, height, *encoded = strings.tolist()
    # At most nine digits, which fit in an int32, the type of the sizes in an `image`.
    if not all(re.fullmatch(rb"\s*[+-]?\d{1,9}\s*", size) for size in (width, height)):
        raise _not(value, "an image", f"its size is {width[:20]!r} x {height[:20]!r}")
    return ImageValue(int(width), int(height), encoded)


def audio(value: Value, metadata: Metadata | None = None) -> AudioValue:
    """The clips in a value: one in an `audio`, any number in a tensor.

    A tensor of shape (num_clips, 2) has a clip and its label in each row; a tensor of shape
    (num_clips,) has clips only. Whether the clips are WAV is read from `metadata`, the metadata of
    the tag, or from the metadata in the value if it is None.
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
        raise _not(value, "audio", f"{_describe(strings)}, not rows of clip and label")
    content = (metadata or value.metadata).plugin_data.content
    return AudioValue(
        "audio/wav" if _encoding(content) == _WAV else "application/octet-stream",
        [AudioClip(clip, label.decode(errors="replace")) for clip, label in rows],
    )


def tensor(value: Value) -> NDArray[Any]:
    """The array in a tensor, with the dtype and shape that were logged.

    bfloat16, which numpy lacks, becomes float32. Strings become an object array of `bytes`.
    Use this function for a plugin's own format, and check dtype and shape: anything may be logged
    with the plugin's name.
    """
    return _tensor(_summary(value, "a tensor"), "a tensor")


def pr_curve(value: Value) -> NDArray[Any]:
    """A precision-recall curve as it was logged: real numbers of shape (6, num_thresholds).

    The rows are true positives, false positives, true negatives, false negatives, precision and
    recall, at thresholds that are evenly spaced from 0 to 1. There is at least one.
    """
    rows = tensor(value)
    if rows.ndim != 2 or len(rows) != 6 or not rows.size or rows.dtype.kind not in "fiu":
        found = f"{_describe(rows)}, not numbers of shape (6, thresholds)"
        raise _not(_summary(value, ""), "a PR curve", found)
    return rows


def average_precision(precision: NDArray[Any], recall: NDArray[Any]) -> float:
    """The area under a curve, computed like scikit-learn's `average_precision_score`.

    Recall must descend. The area is the sum, over all thresholds, of the precision times the
    decrease of the recall from this threshold to the next one; after the last one, recall is 0.
    There is no interpolation between thresholds, which would be too optimistic.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.sum(precision * -np.diff(recall, append=0.0)))


def text(value: Value) -> NDArray[np.object_]:
    """The strings in a tensor as an object array of str.

    The array has the shape that was logged: () for a single string. Bytes that are not UTF-8 become
    U+FFFD.
    """
    value = _summary(value, "text")
    strings = _strings(value, "text")
    decoded = np.empty(strings.shape, object)
    for position, string in np.ndenumerate(strings):
        decoded[position] = string.decode(errors="replace")
    return decoded


def fields(content: bytes) -> dict[int, list[int | bytes]]:
    """The fields of a protocol buffer without its schema, such as a plugin's metadata.

    Maps the number of each field to its values in the order written: an int from 0 to 2**64 - 1 for
    a varint, and bytes for anything else: a string, a message, packed numbers, or the 4 or 8 bytes
    of a number of fixed size. Raises DecodeError if the content is not a message.
    """
    found: dict[int, list[int | bytes]] = {}
    try:
        for number, wire_type, begin, end in wire.fields(content, 0, len(content)):
            is_varint = wire_type == 0
            value = wire.varint(content, begin)[0] if is_varint else content[begin:end]
            found.setdefault(number, []).append(value)
    except ProtobufDecodeError as error:
        raise DecodeError(f"{len(content)} bytes are not a protocol buffer: {error}") from None
    return found


_WAV = 11
"""AudioPluginData.Encoding.WAV. Source: tensorboard/plugins/audio/plugin_data.proto."""

_MAX_EXPANDED_SIZE = 1 << 16
"""Maximum number of elements of an array that is stored as a single repeated element. Writers store
tables of empty buckets in this way."""


_MAX_AUDIO_METADATA_BYTES = 1000
"""Maximum length of an AudioPluginData that is parsed. A valid one is far shorter, and a million
fields would take a second for each value."""


def _encoding(content: bytes) -> int:
    """The field `encoding` of an AudioPluginData message; 0 if it is missing or cannot be parsed.

    The message has three varint fields: version (1), encoding (2), converted_to_tensor (3).
    """
    if len(content) > _MAX_AUDIO_METADATA_BYTES:
        return 0
    try:
        encodings = [value for value in fields(content).get(2, []) if isinstance(value, int)]
    except DecodeError:
        return 0
    return encodings[-1] if encodings else 0


def _merged(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Left edges, right edges and counts of sorted rows, of which those that overlap are one."""
    left, right, count = rows.T
    reach = np.maximum.accumulate(right)
    starts = np.append(0, np.flatnonzero(left[1:] >= reach[:-1]) + 1)
    return left[starts], reach[np.append(starts[1:], len(rows)) - 1], np.add.reduceat(count, starts)


def _summary(value: Value, expected: str) -> Summary.Value:
    """Returns the value; raises DecodeError if it is bytes. `expected` is for the message."""
    if isinstance(value, bytes):
        raise DecodeError(f"expected {expected}, got {len(value)} bytes that are not a summary")
    return value


def _tensor(value: Summary.Value, expected: str) -> NDArray[Any]:
    """The array in a value whose field is `tensor`; raises DecodeError for any other value."""
    field = value.WhichOneof("value")
    if field != "tensor":
        found = f"its field is {field}" if field else "it has no value"
        raise _not(value, expected, found)
    array = tensor_to_numpy(value.tensor)
    # One stored element may stand for a huge array. The bound keeps the memory for decoding in
    # proportion to the bytes in the file.
    if array.size > max(_MAX_EXPANDED_SIZE, value.tensor.ByteSize()):
        raise DecodeError(
            f"value of tag {value.tag!r} is too large: one stored element stands for an array of "
            f"shape {array.shape}"
        )
    return array


def _strings(value: Summary.Value, expected: str) -> NDArray[np.object_]:
    """The array of `bytes` in a tensor of strings; raises DecodeError for any other value."""
    array = _tensor(value, expected)
    if array.dtype.kind != "O":
        raise _not(value, expected, f"{_describe(array)}, not strings")
    return array


def _check_lengths(value: Summary.Value) -> None:
    """Raises DecodeError if a `histo` does not have exactly one count for each bucket limit."""
    num_limits, num_counts = len(value.histo.bucket_limit), len(value.histo.bucket)
    if num_limits != num_counts:
        raise _not(value, "a histogram", f"{num_limits} bucket limits, {num_counts} counts")


def _not(value: Summary.Value, expected: str, found: str) -> DecodeError:
    """The error for a value that is not `expected`; `found` describes the value."""
    return DecodeError(f"value of tag {value.tag!r} is not {expected}: {found}")


def _describe(array: NDArray[Any]) -> str:
    """A description of the array in a tensor, for messages."""
    elements = "strings" if array.dtype.kind == "O" else str(array.dtype)
    return f"a tensor of {elements} and shape {array.shape}"
