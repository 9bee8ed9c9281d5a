"""Reader: audio clips with a label, their length, and a content type that is safe to serve."""

from __future__ import annotations

from tbcore.http import safe_content_type
from tbcore.media import Sample
from tbcore.values import Metadata, Value, audio
from tbcore_audio.wav import wav_seconds

UNKNOWN_TYPE = "application/octet-stream"
"""Content type of anything that must not be interpreted by a browser."""


def clips(value: Value, metadata: Metadata) -> list[Sample]:
    """The clips that were logged together at one step."""
    logged = audio(value, metadata)
    content_type = playable_type(logged.content_type)
    return [
        Sample(
            clip.encoded,
            content_type,
            {"label": clip.label, "seconds": wav_seconds(clip.encoded)},
        )
        for clip in logged.clips
    ]


def playable_type(content_type: str) -> str:
    """The logged content type if it is an audio type that browsers play, otherwise UNKNOWN_TYPE.

    Video types count as audio: some encoders use them for files without pictures.
    """
    safe = safe_content_type(content_type)
    is_audio = safe.startswith(("audio/", "video/")) or safe == "application/ogg"
    return safe if is_audio else UNKNOWN_TYPE
