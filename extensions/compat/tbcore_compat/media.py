"""Pictures and clips as arrays, with the results of tbparse's `SummaryReader`."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SAMPLE_TYPES = {2: "<i2", 4: "<i4"}
"""Maps the size of a sample in bytes to its dtype."""


def pixels(encoded: bytes) -> NDArray[np.uint8]:
    """A picture as an array of shape (height, width, channels).

    A GIF has the shape (frames, height, width, 3). Raises ModuleNotFoundError if Pillow is not
    installed.
    """
    try:
        from PIL import Image, ImageSequence
    except ModuleNotFoundError:
        raise ModuleNotFoundError("Pillow is not installed: pip install pillow") from None

    with Image.open(io.BytesIO(encoded)) as picture:
        mode = {"1": "L", "I;16": "L"}.get(picture.mode, picture.mode)
        mode = mode if mode in ("L", "LA", "RGB", "RGBA") and picture.format != "GIF" else "RGB"
        frames = [np.asarray(each.convert(mode)) for each in ImageSequence.Iterator(picture)]
        if picture.format == "GIF":
            return np.stack(frames)
    return frames[0].reshape(*frames[0].shape[:2], -1)


def samples(encoded: bytes) -> tuple[NDArray[np.float32], int]:
    """A WAV file as an array of shape (frames, channels), from -1 to 1, and the sample rate.

    Samples are floats. Raises ValueError for anything but WAV with 16 or 32 bits.
    """
    try:
        with wave.open(io.BytesIO(encoded)) as clip:
            width, channels = clip.getsampwidth(), clip.getnchannels()
            data, rate = clip.readframes(clip.getnframes()), clip.getframerate()
    except (wave.Error, EOFError) as error:
        raise ValueError(f"a clip is not WAV with 16 or 32 bits: {error}") from None
    if width not in _SAMPLE_TYPES:
        raise ValueError(f"a clip is WAV with {8 * width} bits, expected 16 or 32")
    numbers = np.frombuffer(data, _SAMPLE_TYPES[width]).reshape(-1, channels)
    return (numbers / float(1 << (8 * width - 1))).astype(np.float32), rate


def tensor_to_image(tensor: NDArray[np.object_]) -> dict[str, Any]:
    """The `image`, `width` and `height` in a tensor of width, height and encoded pictures.

    If there are several pictures, `image` has the shape (pictures, height, width, channels).
    """
    pictures = np.stack([pixels(encoded) for encoded in tensor[2:]])
    image = pictures[0] if len(pictures) == 1 else pictures
    return {"image": image, "width": int(tensor[0]), "height": int(tensor[1])}


def tensor_to_audio(tensor: NDArray[np.object_]) -> dict[str, Any]:
    """The `audio` in a tensor with a clip in each row, with `length_frames` and `sample_rate`.

    If there are several clips, `audio` has the shape (clips, frames, channels), and `sample_rate`
    is an array.
    """
    clips, rates = zip(*(samples(row[0]) for row in tensor), strict=True)
    audio, rate = np.stack(clips), np.array(rates)
    is_one = len(audio) == 1
    return {
        "audio": audio[0] if is_one else audio,
        "content_type": "audio/wav",
        "length_frames": audio.shape[1],
        "sample_rate": rate[0] if is_one else rate,
    }
