"""What audio means to a client: clips with a type that a browser plays, and a label."""

from __future__ import annotations

from tbcore.http import safe_content_type
from tbcore.media import Metadata, Sample
from tbcore.values import Value, audio

UNKNOWN_TYPE = "application/octet-stream"


def clips(value: Value, metadata: Metadata) -> list[Sample]:
    """The clips of one step."""
    logged = audio(value, metadata)
    content_type = playable_type(logged.content_type)
    return [Sample(clip.encoded, content_type, {"label": clip.label}) for clip in logged.clips]


def playable_type(content_type: str) -> str:
    """The type that was logged if it is one of sounds that a browser plays, else UNKNOWN_TYPE.

    Some players' files are called video though nothing is to be seen in them.
    """
    safe = safe_content_type(content_type)
    is_sound = safe.startswith(("audio/", "video/")) or safe == "application/ogg"
    return safe if is_sound else UNKNOWN_TYPE
