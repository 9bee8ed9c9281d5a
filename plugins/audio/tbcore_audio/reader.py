"""What audio means to a client: for each step a type, and the bytes that were logged."""

from __future__ import annotations

from typing import NamedTuple

from tbcore import Claims, Item, Multiplexer, NotFoundError
from tbcore.http import ItemAddress, safe_content_type
from tbcore.values import AudioValue, Value, audio

UNKNOWN_TYPE = "application/octet-stream"

Entry = dict[str, str | int | float]
"""What a listing says of a clip."""


class _Clips(NamedTuple):
    content_type: str
    labels: list[str]
    """One for each clip."""


def steps(multiplexer: Multiplexer, claims: Claims, run: str, tag: str) -> list[Item]:
    """All steps of one tag in order of arrival; nothing is read."""
    return multiplexer.items(run, tag, claims)


def entries(
    multiplexer: Multiplexer, claims: Claims, run: str, tag: str, *, sample: int, samples: int
) -> list[Entry]:
    """One clip of each step in order of arrival, of at most `samples` steps (0: all).

    It is the one at place `sample` of those that were logged together; steps that have fewer are
    left out, and so are those that cannot be read. NotFoundError or DecodeError says why when none
    can be, and that there is no such run or tag.
    """

    def decode(value: Value) -> _Clips:
        return _clips(_audio(multiplexer, run, tag, value))

    items = multiplexer.read_items(run, tag, claims, decode, samples=samples)
    return [
        {
            "wall_time": item.wall_time,
            "step": item.step,
            "content_type": clips.content_type,
            "query": ItemAddress(run, tag, item.ordinal, sample).query,
        }
        for item, clips in items
        if 0 <= sample < len(clips.labels)
    ]


def entries_of_step(multiplexer: Multiplexer, claims: Claims, address: ItemAddress) -> list[Entry]:
    """All clips that were logged together; the address may name any of them."""
    item = multiplexer.item(address.run, address.tag, claims, address.ordinal)
    clips = _clips(_audio(multiplexer, address.run, address.tag, item.read()))
    return [
        {
            "label": label,
            "content_type": clips.content_type,
            "wall_time": item.wall_time,
            "step": item.step,
            "query": address._replace(sample=sample).query,
        }
        for sample, label in enumerate(clips.labels)
    ]


def encoded(
    multiplexer: Multiplexer, claims: Claims, address: ItemAddress
) -> tuple[bytes, str, str]:
    """The bytes of a clip as they were logged, their type, and a text that names them."""
    item = multiplexer.item(address.run, address.tag, claims, address.ordinal)
    logged = _audio(multiplexer, address.run, address.tag, item.read())
    if not 0 <= address.sample < len(logged.clips):
        raise NotFoundError(
            f"there is no sample {address.sample}: step {item.step} of tag {address.tag!r} "
            f"has {len(logged.clips)}"
        )
    data = logged.clips[address.sample].encoded
    return data, _clips(logged).content_type, f"{item.etag}-{address.sample}"


def playable_type(content_type: str) -> str:
    """The type that was logged if it is one of sounds that a browser plays, else UNKNOWN_TYPE.

    Some players' files are called video though nothing is to be seen in them.
    """
    safe = safe_content_type(content_type)
    is_sound = safe.startswith(("audio/", "video/")) or safe == "application/ogg"
    return safe if is_sound else UNKNOWN_TYPE


def _audio(multiplexer: Multiplexer, run: str, tag: str, value: Value) -> AudioValue:
    # The metadata came with the first value of the tag, and says what all are.
    return audio(value, multiplexer.metadata(run, tag))


def _clips(logged: AudioValue) -> _Clips:
    return _Clips(playable_type(logged.content_type), [clip.label for clip in logged.clips])
