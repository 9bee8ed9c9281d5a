"""Media: routes for pictures, clips and similar samples; one step may have several samples.

A plugin decodes a value to samples; `Media` has the routes that `tbcore/steps.js` calls:

    def films(value, metadata):
        return [Sample(data, "video/webm", {}) for data in ...]

    media = Media(multiplexer, CLAIMS, films)
    routes = [*media.routes(), Route("/individualFilm", media.individual)]

A sample may be made of several series, such as the vertices and the faces of a mesh:

    def parts(run, tags):
        return {"bunny": {"vertices": "bunny/v", "faces": "bunny/f"}}

    def meshes(values, metadata):  # Each has one element for a part that was logged at this step.
        return [Sample(data, "model/mesh", {}) for data in ... values["vertices"] ...]

    media = Media(multiplexer, CLAIMS, meshes, group=parts)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore.errors import DataError, NotFoundError
from tbcore.http import (
    bytes_response,
    json_body,
    json_response,
    not_modified,
    optional_int,
    required,
    strings_in,
    tags_response,
)
from tbcore.http.parameters import ItemAddress, item_address
from tbcore.kinds import Claims
from tbcore.store.items import Item
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.series import ItemSeries
from tbcore.text import close_matches, one_line, quoted
from tbcore.values import Metadata, Value

__all__ = ["Decode", "DecodeParts", "Group", "Media", "Sample"]

logger = logging.getLogger(__name__)

Steps = NDArray[np.int64]
Indices = NDArray[np.int64]
Counts = NDArray[np.int64]
StepsAsDoubles = NDArray[np.float64]
"""Steps converted to doubles, as JavaScript converts them: different steps beyond 2**53 may be
equal."""


class Sample(NamedTuple):
    """One picture, clip or the like; several may be logged in one value."""

    encoded: bytes = b""
    """The bytes as logged; b"" if the sample consists of its `fields` alone."""
    content_type: str = "application/octet-stream"
    """The content type of the bytes, sent in responses if `safe_content_type` allows it."""
    fields: Mapping[str, Any] = MappingProxyType({})
    """Further fields of the sample in listings, such as its size: values for `json_response`."""


Decode = Callable[[Value, Metadata], Sequence[Sample]]
"""A function from one value, and the metadata of its tag, to the samples in the value."""
Parts = Mapping[str, str]
"""Maps each part of a sample to its tag."""
Group = Callable[[str, Sequence[str]], Mapping[str, Parts]]
"""A function from a run, and its tags that the claims match, to its samples. Maps their names, in
the order in which tabs list them, to their parts. The first part has the steps of the sample."""
DecodeParts = Callable[[Mapping[str, Value], Mapping[str, Metadata]], Sequence[Sample]]
"""A function from the values of one sample, and the metadata of their tags, both by part, to the
samples in the values. A part without a value at the step is in neither."""


class Media:
    """Routes and listings for all series of samples that the claims match."""

    def __init__(
        self,
        multiplexer: Multiplexer,
        claims: Claims,
        decode: Decode | DecodeParts,
        *,
        group: Group | None = None,
    ) -> None:
        """With `group`, a sample is made of several series, and its name takes the place of a tag.

        `group` is called for each run, again when tags are added, and may read their metadata. It
        should leave out tags that it does not understand: if it raises a DataError, its run has no
        samples, which is logged. `decode` then is a `DecodeParts`. It gets the value of the first
        part, and of each other part the value with the same step: if there are several, the one
        that was written at the nearest time.
        """
        self._multiplexer = multiplexer
        self._claims = claims
        self._decode: Callable[..., Sequence[Sample]] = decode
        self._group = group
        self._groups: tuple[int, Mapping[str, Mapping[str, Parts]]] = -1, {}
        """The generation of the runs and tags for which `group` was called, and the results."""

    def routes(self) -> list[Route]:
        """The routes `/tags`, `/steps` and `/step`, for a tab with a slider for the step."""
        return [
            Route("/tags", self._tags),
            Route("/steps", self._steps, methods=["POST"]),
            Route("/step", self._step),
        ]

    def listing(
        self, run: str, tag: str, *, sample_index: int, samples: int
    ) -> list[tuple[Item, Sample, str]]:
        """One sample of each item, in the order written.

        `sample_index` is a sample's index in its item. `samples` is the maximum number of items (0:
        all). Items without a sample at this index, and items that cannot be read, are left out.
        Returns tuples of the item, the sample, and the query string of the sample's address. Raises
        NotFoundError if there is no such run or tag, NotFoundError or DecodeError if no item can be
        read, and TypeError if samples are made of several series.
        """
        if self._group is not None:
            raise TypeError("samples of several series have no listing")
        metadata = self._multiplexer.metadata(run, tag)

        def decode(value: Value) -> Sample | None:
            decoded = self._samples(value, metadata)
            return decoded[sample_index] if 0 <= sample_index < len(decoded) else None

        items = self._multiplexer.read_items(run, tag, self._claims, decode, samples=samples)
        return [
            (item, found, ItemAddress(run, tag, item.ordinal, sample_index).query)
            for item, found in items
            if found is not None
        ]

    def individual(self, request: Request) -> Response:
        """The bytes of one sample as logged. The request's query is an `ItemAddress.query`."""
        address = item_address(request)
        items = self._items_at(address)
        samples = self._read(address, items)
        if not 0 <= address.sample_index < len(samples):
            step = next(iter(items.values())).step
            raise NotFoundError(
                f"there is no sample {address.sample_index}: "
                f"step {step} of tag {address.tag!r} has {len(samples)}"
            )
        sample = samples[address.sample_index]
        etag = f"{_etag(items)}-{address.sample_index}"
        return bytes_response(sample.encoded, sample.content_type, etag=etag, request=request)

    def _tags(self, request: Request) -> Response:
        names = self._names()
        if self._group is not None:
            names = {run: list(each) for run, each in names.items()}
        return tags_response(request, names)

    def _steps(self, request: Request) -> Response:
        """The union of the steps of the requested runs and tags; reads nothing from files."""
        body = json_body(request)
        runs, tags = strings_in(body, "runs"), strings_in(body, "tags")
        steps, counts = union_of_steps(self._steps_of(runs, tags))
        return json_response({"step": steps, "count": counts})

    def _steps_of(self, runs: Sequence[str], tags: Sequence[str]) -> Iterator[Steps]:
        """Yields the steps of each series that one of the runs has for one of the tags."""
        names_by_run, requested = self._names(), set(tags)
        for run in runs:
            for name in requested.intersection(names_by_run.get(run, ())):
                try:
                    yield self._series(run, name).step
                except NotFoundError:
                    continue  # deleted since the tags were listed

    def _step(self, request: Request) -> Response:
        """The samples of the item at the requested step, or of the last item before that step.

        Also has the `display_name` and the `description` of the tag, if there is any.
        """
        run, tag = required(request, "run", "tag")
        step = optional_int(request, "step")
        duplicate_index = optional_int(request, "nth", 0)
        series = self._series(run, tag)
        order, sorted_steps, duplicate_indices = sort_by_step(series.step)
        position = index_at_or_before(sorted_steps, step, duplicate_index)
        first_step = int(series.step[order[0]]) if len(order) else None
        description = self._multiplexer.description(run, self._first_tag(run, tag))
        if position < 0:
            return json_response(
                {"first_step": first_step, "index": None, "samples": [], **description}
            )
        address = ItemAddress(run, tag, int(series.ordinal[order[position]]))
        items = self._items_at(address)
        item = next(iter(items.values()))
        etag = f"{_etag(items)}-{address.ordinal}-{duplicate_indices[position]}-{first_step}"
        if response := not_modified(request, etag):
            return response
        return json_response(
            {
                "first_step": first_step,
                "index": address.ordinal,
                "step": item.step,
                "nth": duplicate_indices[position],
                "wall_time": item.wall_time,
                "samples": [
                    {
                        **sample.fields,
                        "content_type": sample.content_type,
                        "query": address._replace(sample_index=sample_index).query,
                    }
                    for sample_index, sample in enumerate(self._read(address, items))
                ],
                **description,
            },
            etag=etag,
        )

    def _read(self, address: ItemAddress, items: Mapping[str, Item]) -> Sequence[Sample]:
        """The samples in the items of all parts, decoded with the metadata of the parts' tags."""
        run, tags = address.run, self._tags_of(address.run, address.tag)
        values = {part: item.read() for part, item in items.items()}
        metadata = {part: self._multiplexer.metadata(run, tags[part]) for part in items}
        if self._group is None:
            return self._samples(values[""], metadata[""])
        return self._samples(values, metadata)

    def _samples(self, value: Any, metadata: Any) -> Sequence[Sample]:
        samples = self._decode(value, metadata)
        if isinstance(samples, Sample):
            # A Sample is a tuple, too: without this check its fields would be taken for samples.
            raise TypeError("decode must return a sequence of Sample, got one Sample")
        return samples

    # -- samples of several series -----------------------------------------------------------------

    def _names(self) -> Mapping[str, Collection[str]]:
        """Maps each run to the names of its samples, which without a group are tags."""
        return self._multiplexer.tags(self._claims) if self._group is None else self._grouped()

    def _series(self, run: str, name: str) -> ItemSeries:
        """The series with the steps of a sample. Raises NotFoundError without one."""
        return self._multiplexer.item_series(run, self._first_tag(run, name), self._claims)

    def _first_tag(self, run: str, name: str) -> str:
        return next(iter(self._tags_of(run, name).values()))

    def _tags_of(self, run: str, name: str) -> Parts:
        """The tags of a sample by part, at least one. Raises NotFoundError for an unknown name."""
        if self._group is None:
            return {"": name}
        names = self._grouped().get(run, {})
        if name not in names:
            self._multiplexer.first_event_time(run)  # Raises NotFoundError for an unknown run.
            close = close_matches(name, names)
            raise NotFoundError(f"no tag {quoted(name)} in run {quoted(run)}{close}")
        return names[name]

    def _grouped(self) -> Mapping[str, Mapping[str, Parts]]:
        """Maps each run to its samples by name."""
        # Read before the tags, which are then at least as new.
        generation = self._multiplexer.runs_generation
        if generation != self._groups[0]:
            tags_by_run = self._multiplexer.tags(self._claims)
            names_by_run = {run: self._group_run(run, tags) for run, tags in tags_by_run.items()}
            self._groups = generation, names_by_run
        return self._groups[1]

    def _group_run(self, run: str, tags: Sequence[str]) -> Mapping[str, Parts]:
        assert self._group is not None
        try:
            return {name: parts for name, parts in self._group(run, tags).items() if parts}
        except (DataError, NotFoundError) as error:
            line = one_line(str(error))
            logger.warning("run %s: its samples are left out: %s", quoted(run), line)
            return {}

    def _items_at(self, address: ItemAddress) -> dict[str, Item]:
        """The items of one sample by part: the first one has this ordinal, the others its step.

        Raises NotFoundError if there is no such sample.
        """
        run, claims, multiplexer = address.run, self._claims, self._multiplexer
        (first, tag), *others = self._tags_of(run, address.tag).items()
        item = multiplexer.item(run, tag, claims, address.ordinal)
        items = {first: item}
        for part, tag in others:
            series = multiplexer.item_series(run, tag, claims)
            rows = np.flatnonzero(series.step == item.step)
            if len(rows):
                away = np.abs(series.wall_time[rows] - item.wall_time)
                ordinals = series.ordinal[rows]
                # Values that were written at the same time have the same place among their steps.
                nearest = np.lexsort((np.abs(ordinals - address.ordinal), away))[0]
                items[part] = multiplexer.item(run, tag, claims, int(ordinals[nearest]))
        return items


def _etag(items: Mapping[str, Item]) -> str:
    return "-".join(item.etag for item in items.values())


def sort_by_step(step: Steps) -> tuple[Indices, StepsAsDoubles, Indices]:
    """The items of a series in ascending order of step, as three arrays of shape (num_items,).

    - The indices of the items in the series. Items with the same step stay in the order written.
    - Their steps as doubles.
    - Their duplicate indices: 0 for the first item with a step, 1 for the next with the same step,
      and so on. Steps are the same if they are equal as doubles.
    """
    # 1. Sort; `stable` keeps the order of items with the same step.
    order = np.argsort(step, kind="stable")
    sorted_steps = step[order].astype(np.float64)
    # 2. Find the positions at which a group of items with the same step starts.
    is_start = np.concatenate([[True], sorted_steps[1:] != sorted_steps[:-1]])[: len(step)]
    starts = np.flatnonzero(is_start)
    # 3. Subtract from each position the start of its group.
    lengths = np.diff(starts, append=len(step))
    return order, sorted_steps, np.arange(len(step)) - np.repeat(starts, lengths)


def index_at_or_before(sorted_steps: StepsAsDoubles, step: int | None, duplicate_index: int) -> int:
    """Index of the last item at or before (step, duplicate index); -1 if there is none.

    Items are in order of step, then of duplicate index (see `sort_by_step`). The result is an index
    in `sorted_steps`. A `step` of None stands for the end of the series.
    """
    if step is None:
        return len(sorted_steps) - 1
    # Python ints, because adding a huge `duplicate_index` from a request would overflow int64.
    start = int(np.searchsorted(sorted_steps, float(step)))
    end = int(np.searchsorted(sorted_steps, float(step), side="right"))
    if end == start:
        return end - 1
    return min(max(start + duplicate_index, start - 1), end - 1)


def union_of_steps(series: Iterable[Steps]) -> tuple[Steps, Counts]:
    """The union of the steps of several series, ascending, and an item count for each step.

    The count for a step is the largest number of items that any one series has there. Steps that
    are equal as doubles count as one. Both arrays have one element for each step.
    """
    # 1. Drop series with the same steps as another: tags written together have the same steps.
    distinct = {step.tobytes(): np.sort(step) for step in series}
    if not distinct:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # 2. Count the items of each step in each series.
    columns = []
    for step in distinct.values():
        double, first_index, count = np.unique(
            step.astype(np.float64), return_index=True, return_counts=True
        )
        columns.append((double, step[first_index], count))
    doubles, steps, counts = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    # 3. Merge the steps of all series, and keep the largest count of each step.
    _, first_index, inverse = np.unique(doubles, return_index=True, return_inverse=True)
    largest_counts = np.zeros(len(first_index), np.int64)
    np.maximum.at(largest_counts, inverse, counts)
    return steps[first_index], largest_counts
