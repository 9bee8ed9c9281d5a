"""The length of a clip by the header of a WAV file."""

from __future__ import annotations

import io
import struct
import wave

import pytest

from tbcore_audio.wav import wav_seconds


def make_wav(num_channels: int, sample_width: int, rate: int, num_frames: int) -> bytes:
    """A silent WAV file, as the standard library writes it; `sample_width` is in bytes."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(num_channels)
        file.setsampwidth(sample_width)
        file.setframerate(rate)
        file.writeframes(bytes(num_channels * sample_width * num_frames))
    return written.getvalue()


@pytest.mark.parametrize("num_channels", [1, 2])
@pytest.mark.parametrize("sample_width", [1, 2, 3, 4])
def test_the_length_is_exact(num_channels: int, sample_width: int) -> None:
    assert wav_seconds(make_wav(num_channels, sample_width, 44100, 30870)) == 0.7


def test_other_chunks_are_skipped() -> None:
    """Also one of an odd number of bytes, which a byte of padding follows."""
    encoded = make_wav(1, 2, 8000, 4000)
    assert wav_seconds(encoded[:12] + b"LIST\x03\0\0\0abc\0" + encoded[12:]) == 0.5


def test_a_cut_or_streamed_file_is_as_long_as_its_bytes() -> None:
    """A writer that cannot seek leaves a size of 2^32 - 1."""
    encoded = make_wav(1, 2, 8000, 4000)
    assert wav_seconds(encoded[:-4000]) == 0.25
    streamed = encoded[:40] + struct.pack("<I", 0xFFFFFFFF) + encoded[44:]
    assert wav_seconds(streamed) == 0.5


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"OggS" + bytes(60),
        b"RIFF\0\0\0\0WAVE",
        b"RIFF\0\0\0\0WAVEdata\4\0\0\0abcd",
        make_wav(1, 2, 8000, 10)[:20],
        make_wav(1, 2, 8000, 10)[:28] + bytes(4) + make_wav(1, 2, 8000, 10)[32:],
    ],
)
def test_others_have_no_length(encoded: bytes) -> None:
    assert wav_seconds(encoded) is None
