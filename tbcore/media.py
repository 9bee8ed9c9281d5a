"""Pictures, clips and the like, which are logged a few at a time and looked at step by step.

A plugin says what is in a value; the answers that `tbcore/lib/step-tab.js` asks for follow:

    def films(value, metadata):
        return [Sample(data, "video/webm", {}) for data in ...]

    media = Media(multiplexer, CLAIMS, films)
    routes = [*media.routes(), Route("/individualFilm", media.individual)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore.errors import NotFoundError
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.http import (
    ItemAddress,
    bytes_response,
    item_address,
    json_body,
    json_response,
    names_in,
    optional_int,
    required,
    unchanged,
)
from tbcore.kinds import Claims
from tbcore.store.items import Item
from tbcore.store.multiplexer import Multiplexer
from tbcore.values import Value

__all__ = ["Decode", "Media", "Metadata", "Sample"]

Steps = NDArray[np.int64]
Places = NDArray[np.float64]


class Sample(NamedTuple):
    """One picture, clip or the like of those that were logged together."""

    encoded: bytes = b""
    """As logged; nothing where the fields say everything."""
    content_type: str = "application/octet-stream"
    """As it is answered, if `bytes_response` holds it for safe."""
    fields: Mapping[str, Any] = MappingProxyType({})
    """What listings say of it besides, such as its size: anything that `json_response` takes."""


Metadata = SummaryMetadata
"""Of a tag, as its first value had it."""

Decode = Callable[[Value, Metadata], Sequence[Sample]]
"""What was logged together in one value, with the metadata of its tag."""


class Media:
    """All series of samples that the claims match."""

    def __init__(self, multiplexer: Multiplexer, claims: Claims, decode: Decode) -> None:
        self._multiplexer = multiplexer
        self._claims = claims
        self._decode = decode

    def routes(self) -> list[Route]:
        """`tags`, `steps` and `step`, for pages that go over the steps."""
        return [
            Route("/tags", self._tags),
            Route("/steps", self._steps, methods=["POST"]),
            Route("/step", self._step),
        ]

    def listing(
        self, run: str, tag: str, *, sample: int, samples: int
    ) -> list[tuple[Item, Sample, str]]:
        """One sample of each step in order of arrival, of at most `samples` steps (0: all).

        With each the item it belongs to, and the query of its address. It is the one at place
        `sample` of those that were logged together; steps that have fewer are left out, and so are
        those that cannot be read. NotFoundError or DecodeError says why when none can be, and that
        there is no such run or tag.
        """
        metadata = self._multiplexer.metadata(run, tag)

        def decode(value: Value) -> Sample | None:
            logged = self._samples(value, metadata)
            return logged[sample] if 0 <= sample < len(logged) else None

        items = self._multiplexer.read_items(run, tag, self._claims, decode, samples=samples)
        return [
            (item, one, ItemAddress(run, tag, item.ordinal, sample).query)
            for item, one in items
            if one is not None
        ]

    def individual(self, request: Request) -> Response:
        """The bytes of one sample as they were logged; the request is an `ItemAddress.query`."""
        address = item_address(request)
        item = self._multiplexer.item(address.run, address.tag, self._claims, address.ordinal)
        logged = self._read(item, address)
        if not 0 <= address.sample < len(logged):
            raise NotFoundError(
                f"there is no sample {address.sample}: step {item.step} of tag {address.tag!r} "
                f"has {len(logged)}"
            )
        one = logged[address.sample]
        etag = f"{item.etag}-{address.sample}"
        return bytes_response(one.encoded, one.content_type, etag=etag, request=request)

    def _tags(self, request: Request) -> Response:
        return json_response(self._multiplexer.tags(self._claims))

    def _steps(self, request: Request) -> Response:
        """All places that some series have; nothing is read from the files."""
        body = json_body(request)
        runs, tags = names_in(body, "runs"), names_in(body, "tags")
        steps, counts = unite(self._columns(runs, tags))
        return json_response({"step": steps, "count": counts})

    def _columns(self, runs: Sequence[str], tags: Sequence[str]) -> Iterator[Steps]:
        listed, wanted = self._multiplexer.tags(self._claims), set(tags)
        for run in runs:
            for tag in wanted.intersection(listed.get(run, ())):
                try:
                    yield self._multiplexer.item_series(run, tag, self._claims).step
                except NotFoundError:
                    continue  # gone since it was listed

    def _step(self, request: Request) -> Response:
        """What was logged together at a place, or last before it."""
        run, tag = required(request, "run", "tag")
        step = optional_int(request, "step")
        nth = optional_int(request, "nth", 0)
        series = self._multiplexer.item_series(run, tag, self._claims)
        order, ordered, nths = in_order(series.step)
        at = place_of(ordered, step, nth)
        first = int(series.step[order[0]]) if len(order) else None
        if at < 0:
            return json_response({"first_step": first, "index": None, "samples": []})
        ordinal = int(series.ordinal[order[at]])
        item = self._multiplexer.item(run, tag, self._claims, ordinal)
        etag = f"{item.etag}-{ordinal}-{nths[at]}-{first}"
        if answer := unchanged(request, etag):
            return answer
        address = ItemAddress(run, tag, ordinal)
        return json_response(
            {
                "first_step": first,
                "index": ordinal,
                "step": item.step,
                "nth": nths[at],
                "wall_time": item.wall_time,
                "samples": [
                    {
                        **one.fields,
                        "content_type": one.content_type,
                        "query": address._replace(sample=sample).query,
                    }
                    for sample, one in enumerate(self._read(item, address))
                ],
            },
            etag=etag,
        )

    def _read(self, item: Item, address: ItemAddress) -> Sequence[Sample]:
        # The metadata came with the first value of the tag, and says what all are.
        return self._samples(item.read(), self._multiplexer.metadata(address.run, address.tag))

    def _samples(self, value: Value, metadata: Metadata) -> Sequence[Sample]:
        samples = self._decode(value, metadata)
        if isinstance(samples, Sample):
            # A tuple as well, so that its parts would be taken for samples.
            raise TypeError("decode is to return a sequence of Sample, and returned one Sample")
        return samples


def in_order(step: Steps) -> tuple[Steps, Places, Steps]:
    """The order of items by step, those with one step as they were logged; and in this order each
    one's step as a page has it, and its number among those of one such step, from 0.

    A page has doubles for numbers, so steps beyond 2**53 that are one double are one place to it.
    Shapes (n,).
    """
    order = np.argsort(step, kind="stable")
    ordered = step[order].astype(np.float64)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(step)])
    lengths = np.diff(starts, append=len(step))
    return order, ordered, np.arange(len(step)) - np.repeat(starts, lengths)


def place_of(ordered: Places, step: int | None, nth: int) -> int:
    """Where the last item stands that does not come after a place; None is the end. -1: nowhere."""
    if step is None:
        return len(ordered) - 1
    # Python's integers: `nth` comes from a request, and can be any.
    start = int(np.searchsorted(ordered, float(step)))
    end = int(np.searchsorted(ordered, float(step), side="right"))
    return min(max(start + nth, start - 1), end - 1) if end > start else end - 1


def unite(series: Iterable[Steps]) -> tuple[Steps, Steps]:
    """All steps that any of the series has, rising, and how many items one has of it at most. Of
    steps that are one double it is the least of a series."""
    # Tags that are written together have the same steps, so there is much less to look at.
    different = {step.tobytes(): np.sort(step) for step in series}
    if not different:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    columns = []
    for step in different.values():
        place, first, count = np.unique(
            step.astype(np.float64), return_index=True, return_counts=True
        )
        columns.append((place, step[first], count))
    places, steps, num = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    _, first, inverse = np.unique(places, return_index=True, return_inverse=True)
    counts = np.zeros(len(first), np.int64)
    np.maximum.at(counts, inverse, num)
    return steps[first], counts
