"""Layouts: the definitions of charts that runs have logged."""

from __future__ import annotations

from typing import Any

import google.protobuf.message

from tbcore import Claims, DataLossError, DecodeError, Multiplexer, NotFoundError
from tbcore.values import Value, tensor
from tbcore_custom_scalars.proto.layout_pb2 import Chart, Layout

TAG = "custom_scalars__config__"
"""The tag under which writers log a layout."""


class Layouts:
    """The layouts of all runs. Each layout is read only once. Safe to use from any thread."""

    def __init__(self, multiplexer: Multiplexer, claims: Claims) -> None:
        self._multiplexer = multiplexer
        self._claims = claims
        self._cache: dict[str, tuple[object, list[Layout]]] = {}
        """Maps each run to (key of the item that was read, [layout] or, if it is invalid, [])."""

    def merged(self) -> Layout | None:
        """The layouts of all runs merged, in the order of the runs' names; None if there are none.

        Categories with the same title become one, with each chart only once.
        """
        tags_of = self._multiplexer.tags(self._claims)
        found = {}
        for run in sorted(run for run, tags in tags_of.items() if TAG in tags):
            try:
                found[run] = self._read(run)
            except (DataLossError, NotFoundError):
                continue  # Damaged, or deleted after it was listed. The next request tries again.
        self._cache = found
        layouts = [layout for _, own in found.values() for layout in own]
        return merge(layouts) if layouts else None

    def _read(self, run: str) -> tuple[object, list[Layout]]:
        """The entry of `_cache` for a run's last layout, which is read only if it has changed."""
        items = self._multiplexer.items(run, TAG, self._claims, samples=1)
        key = [(item.ordinal, item.step, item.wall_time) for item in items]
        cached = self._cache.get(run)
        if cached is not None and cached[0] == key:
            return cached
        try:
            rows = self._multiplexer.read_items(run, TAG, self._claims, parse, samples=1)
        except DecodeError:
            return key, []  # read_items has logged a warning.
        return key, [layout for _, layout in rows]


def parse(value: Value) -> Layout:
    """The layout in a string tensor. Raises DecodeError if there is none."""
    array = tensor(value)
    if array.size != 1 or array.dtype.kind != "O":
        raise DecodeError(f"a layout must be one string, got {array.dtype} of shape {array.shape}")
    try:
        return Layout.FromString(array.item())
    except google.protobuf.message.DecodeError as error:
        raise DecodeError(f"not a valid layout: {error}") from None


def merge(layouts: list[Layout]) -> Layout:
    """Merges layouts. There must be at least one.

    The version comes from the first layout, and `closed` of each category from the first layout
    that has the category.
    """
    merged = Layout()
    merged.CopyFrom(layouts[0])
    by_title = {category.title: category for category in merged.category}
    for layout in layouts[1:]:
        for category in layout.category:
            target = by_title.get(category.title)
            if target is None:
                target = by_title[category.title] = merged.category.add()
                target.CopyFrom(category)
            else:
                new = [chart for chart in category.chart if chart not in target.chart]
                target.chart.extend(new)
    return merged


def to_json(layout: Layout) -> dict[str, Any]:
    """The layout as protobuf's JSON with all fields, independent of the version of protobuf."""
    return {
        "version": layout.version,
        "category": [
            {
                "title": category.title,
                "chart": [_chart(chart) for chart in category.chart],
                "closed": category.closed,
            }
            for category in layout.category
        ],
    }


def _chart(chart: Chart) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if chart.HasField("multiline"):
        content["multiline"] = {"tag": list(chart.multiline.tag)}
    if chart.HasField("margin"):
        content["margin"] = {
            "series": [
                {"value": series.value, "lower": series.lower, "upper": series.upper}
                for series in chart.margin.series
            ]
        }
    return {"title": chart.title, **content}
