"""What images mean to a client: for each step a size, a type, and the bytes that were logged."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tbcore import Claims, Item, Multiplexer, NotFoundError
from tbcore.http import ItemAddress
from tbcore.values import ImageValue, Value, image
from tbcore_images.headers import header_of

Entry = dict[str, str | int | float]
"""What a listing says of a picture."""


class Picture(NamedTuple):
    """One picture."""

    width: int
    """In pixels; as logged where the picture itself does not say. So is the height."""
    height: int
    content_type: str


def steps(multiplexer: Multiplexer, claims: Claims, run: str, tag: str) -> list[Item]:
    """All steps of one tag in order of arrival; nothing is read."""
    return multiplexer.items(run, tag, claims)


def entries(
    multiplexer: Multiplexer, claims: Claims, run: str, tag: str, *, sample: int, samples: int
) -> list[Entry]:
    """One picture of each step in order of arrival, of at most `samples` steps (0: all).

    It is the one at place `sample` of those that were logged together; steps that have fewer are
    left out, and so are those that cannot be read. NotFoundError or DecodeError says why when none
    can be, and that there is no such run or tag.
    """
    items = multiplexer.read_items(run, tag, claims, _picture_at(sample), samples=samples)
    return [
        {
            "width": picture.width,
            "height": picture.height,
            "wall_time": item.wall_time,
            "step": item.step,
            "query": ItemAddress(run, tag, item.ordinal, sample).query,
        }
        for item, picture in items
        if picture is not None
    ]


def _picture_at(sample: int) -> Callable[[Value], Picture | None]:
    def decode(value: Value) -> Picture | None:
        logged = image(value)
        return _picture(logged, sample) if 0 <= sample < len(logged.encoded) else None

    return decode


def entries_of_step(multiplexer: Multiplexer, claims: Claims, address: ItemAddress) -> list[Entry]:
    """All pictures that were logged together; the address may name any of them."""
    item = multiplexer.item(address.run, address.tag, claims, address.ordinal)
    logged = image(item.read())
    pictures = [_picture(logged, sample) for sample in range(len(logged.encoded))]
    return [
        {
            "width": picture.width,
            "height": picture.height,
            "content_type": picture.content_type,
            "wall_time": item.wall_time,
            "step": item.step,
            "query": address._replace(sample=sample).query,
        }
        for sample, picture in enumerate(pictures)
    ]


def encoded(
    multiplexer: Multiplexer, claims: Claims, address: ItemAddress
) -> tuple[bytes, str, str]:
    """The bytes of a picture as they were logged, their type, and a text that names them."""
    item = multiplexer.item(address.run, address.tag, claims, address.ordinal)
    logged = image(item.read())
    if not 0 <= address.sample < len(logged.encoded):
        raise NotFoundError(
            f"there is no sample {address.sample}: step {item.step} of tag {address.tag!r} "
            f"has {len(logged.encoded)}"
        )
    data = logged.encoded[address.sample]
    return data, header_of(data).content_type, f"{item.etag}-{address.sample}"


def _picture(logged: ImageValue, sample: int) -> Picture:
    header = header_of(logged.encoded[sample])
    width, height = header.size or (logged.width, logged.height)
    return Picture(width, height, header.content_type)
