"""Layouts: which charts runs have asked for."""

from __future__ import annotations

from typing import Any

import google.protobuf.message

from tbcore import Claims, DataLossError, DecodeError, Multiplexer, NotFoundError
from tbcore.values import Value, tensor
from tbcore_custom_scalars.proto.layout_pb2 import Chart, Layout

TAG = "custom_scalars__config__"


class Layouts:
    """The layouts of all runs. Each is read once; may be asked on any thread."""

    def __init__(self, multiplexer: Multiplexer, claims: Claims) -> None:
        self._multiplexer = multiplexer
        self._claims = claims
        self._known: dict[str, tuple[object, list[Layout]]] = {}
        """Run to which item was read, and its layout; none when it could not be read."""

    def merged(self) -> Layout | None:
        """One layout of those of all runs, in the order of their names; None without any.

        Categories of one title are one, with each chart once.
        """
        listed = self._multiplexer.tags(self._claims)
        known = {}
        for run in sorted(run for run, tags in listed.items() if TAG in tags):
            try:
                known[run] = self._read(run)
            except (DataLossError, NotFoundError):
                continue  # damaged, or gone since it was listed; it may be there the next time
        self._known = known
        layouts = [layout for _, found in known.values() for layout in found]
        return merge(layouts) if layouts else None

    def _read(self, run: str) -> tuple[object, list[Layout]]:
        items = self._multiplexer.items(run, TAG, self._claims, samples=1)
        which = [(item.ordinal, item.step, item.wall_time) for item in items]
        known = self._known.get(run)
        if known is not None and known[0] == which:
            return known
        try:
            rows = self._multiplexer.read_items(run, TAG, self._claims, parse, samples=1)
        except DecodeError:
            return which, []  # the log says so, once
        return which, [layout for _, layout in rows]


def parse(value: Value) -> Layout:
    """The layout in a string tensor; DecodeError where there is none."""
    array = tensor(value)
    if array.size != 1 or array.dtype.kind != "O":
        raise DecodeError(f"a layout is one string, got {array.dtype} of shape {array.shape}")
    try:
        return Layout.FromString(array.item())
    except google.protobuf.message.DecodeError as error:
        raise DecodeError(f"this is no layout: {error}") from None


def merge(layouts: list[Layout]) -> Layout:
    """One layout of at least one. The version, and what is folded, are those of the first."""
    merged = Layout()
    merged.CopyFrom(layouts[0])
    by_title = {category.title: category for category in merged.category}
    for layout in layouts[1:]:
        for category in layout.category:
            known = by_title.get(category.title)
            if known is None:
                known = by_title[category.title] = merged.category.add()
                known.CopyFrom(category)
            else:
                known.chart.extend([chart for chart in category.chart if chart not in known.chart])
    return merged


def to_json(layout: Layout) -> dict[str, Any]:
    """As the JSON of protobuf has it, with all fields, whatever version of protobuf there is."""
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
