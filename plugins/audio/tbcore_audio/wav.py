"""Wav: how long a clip is, by the header of its bytes."""

from __future__ import annotations

import struct

_FORMAT_BYTES = 16
"""Bytes of the format chunk that every WAV file has."""


def wav_seconds(encoded: bytes) -> float | None:
    """The length of a WAV file in seconds; None for other formats, and if the header is wrong.

    A data chunk that says more bytes than there are, as streams and cut files have, ends with the
    bytes. Source: RIFF WAVE, "Multimedia Programming Interface and Data Specifications 1.0".
    """
    if encoded[:4] != b"RIFF" or encoded[8:12] != b"WAVE":
        return None
    bytes_per_second, offset = 0, 12
    # A chunk is: name (4), number of bytes (4), content, and a byte of padding if that is odd.
    while offset + 8 <= len(encoded):
        name, num_bytes = struct.unpack_from("<4sI", encoded, offset)
        offset += 8
        if name == b"fmt " and offset + _FORMAT_BYTES <= len(encoded):
            # format (2), channels (2), samples per second (4), bytes per second (4)
            bytes_per_second = struct.unpack_from("<HHII", encoded, offset)[3]
        elif name == b"data":
            num_bytes = min(num_bytes, len(encoded) - offset)
            return num_bytes / bytes_per_second if bytes_per_second else None
        offset += num_bytes + num_bytes % 2
    return None
