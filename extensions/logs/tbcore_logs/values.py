"""Values of tags that are not scalars: notebooks show them, and no repr has all their bytes."""

from __future__ import annotations

import base64
import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.values import (
    AudioValue,
    HistogramValue,
    ImageValue,
    Value,
    average_precision,
    pr_curve,
)
from tbcore_logs.drawings import Markup

_TYPES = {
    b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"OggS": "audio/ogg", b"fLaC": "audio/flac", b"ID3": "audio/mpeg",
}  # fmt: skip
"""Maps the first bytes of files to their types. Browsers can show the images without scripts."""
_RIFF_TYPES = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
"""Maps the bytes from 8 to 12 of RIFF files to their types."""
_MAX_SHOWN = 8
"""Maximum number of images that a notebook shows of a value."""


def image_type(content: bytes) -> str | None:
    """The type of an image file, such as `image/png`, by its first bytes; None if unknown."""
    kind = media_type(content)
    return kind if kind and kind.startswith("image/") else None


def media_type(content: bytes) -> str | None:
    """The type of an image or audio file by its first bytes; None if unknown."""
    if content.startswith(b"RIFF"):
        return _RIFF_TYPES.get(content[8:12])
    if content[:1] == b"\xff" and content[1:2] >= b"\xe0":
        return "audio/mpeg"  # A frame without a tag before it.
    return next((kind for start, kind in _TYPES.items() if content.startswith(start)), None)


class LoggedImage(ImageValue):
    """The images of one step, all of the same size.

    `width` and `height` are those that were logged: some writers leave them out, or exchange them.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(content):,} bytes" for content in self.encoded[:_MAX_SHOWN])
        more = ", ..." if len(self.encoded) > _MAX_SHOWN else ""
        return f"LoggedImage(width={self.width}, height={self.height}, encoded=[{sizes}{more}])"

    def _repr_html_(self) -> str:
        """For notebooks: the images."""
        shown = []
        for content in self.encoded[:_MAX_SHOWN]:
            if kind := image_type(content):
                data = base64.b64encode(content).decode()
                shown.append(f'<img src="data:{kind};base64,{data}" style="max-width: 100%">')
        return Markup(" ".join(shown)) or repr(self)

    def to_numpy(self) -> NDArray[Any]:
        """The pixels, of shape (num_images, height, width, num_channels), as Pillow decodes them.

        Mostly uint8. Raises ValueError if the images have several shapes, and Pillow's errors for
        content that is not an image.
        """
        try:
            from PIL import Image
        except ModuleNotFoundError:
            message = "Pillow is not installed: pip install pillow"
            raise ModuleNotFoundError(message, name="PIL") from None
        pixels = [np.asarray(Image.open(io.BytesIO(content))) for content in self.encoded]
        shapes = {each.shape for each in pixels}
        if len(shapes) > 1:
            raise ValueError(f"the images have several shapes: {sorted(map(str, shapes))}")
        if not pixels:
            return np.empty((0, self.height, self.width, 0), np.uint8)
        found = np.stack(pixels)
        return found if found.ndim == 4 else found[..., np.newaxis]


class LoggedHistogram(HistogramValue):
    """A histogram, with the fields of the HTTP API, and in the form of `np.histogram`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return (
            f"LoggedHistogram(num={self.num:g}, min={self.min:g}, max={self.max:g}, "
            f"num_buckets={len(self.bucket)})"
        )

    @property
    def counts(self) -> NDArray[np.float64]:
        """Number of samples in each bucket, of shape (num_buckets,): `bucket`."""
        return self.bucket

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the buckets, of shape (num_buckets + 1,), from the lowest to the highest sample.

        They are those of `bucket_limit`, whose last one may be the largest double.
        """
        limits = np.concatenate([[self.min], self.bucket_limit])
        edges: NDArray[np.float64] = np.clip(limits, self.min, self.max)
        return edges


class LoggedAudio(AudioValue):
    """The clips of one step."""

    __slots__ = ()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(clip.encoded):,} bytes" for clip in self.clips)
        return f"LoggedAudio(content_type={self.content_type!r}, clips=[{sizes}])"


class LoggedPrCurve(NamedTuple):
    """A precision-recall curve as it was logged. All arrays have the shape (num_thresholds,)."""

    true_positives: NDArray[Any]
    false_positives: NDArray[Any]
    true_negatives: NDArray[Any]
    false_negatives: NDArray[Any]
    precision: NDArray[Any]
    """0 where no prediction reaches the threshold."""
    recall: NDArray[Any]
    thresholds: NDArray[np.float64]
    """Ascending, evenly from 0 to 1."""

    @property
    def average_precision(self) -> float:
        """The area under the curve, as the page shows it."""
        return average_precision(self.precision, self.recall)


def logged_pr_curve(value: Value) -> LoggedPrCurve:
    """The curve in a tensor. Raises DecodeError for any other."""
    rows = pr_curve(value)
    return LoggedPrCurve._make([*rows, np.linspace(0.0, 1.0, rows.shape[1])])
