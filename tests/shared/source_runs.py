"""What readers of other formats read: points and lines, and the bits of points."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tbcore
from tbcore.engine import EventFile
from tbcore_formats import Points

Rows = Mapping[str, list[tuple[int, float]]]
"""Steps and values by tag."""


def as_bits(rows: Rows) -> dict[str, list[tuple[int, str]]]:
    return {tag: [(s, np.float64(v).tobytes().hex()) for s, v in p] for tag, p in rows.items()}


def points_of(run: tbcore.Run) -> Rows:
    return {
        tag: list(zip(run[tag].step.tolist(), run[tag].value.tolist(), strict=True))
        for tag in run.scalar_tags
    }


def items_of(reader: Any, path: Path) -> Iterator[Any]:
    return iter(reader.read([EventFile.of(str(path), os.stat(path))]))


def rows_of(items: Iterator[Any]) -> tuple[Rows, list[str]]:
    """The points and the lines of a reader."""
    found: dict[str, list[tuple[int, float]]] = {}
    lines = []
    for item in items:
        if isinstance(item, str):
            lines.append(item)
        elif isinstance(item, dict):
            for tag, points in item.items():
                assert isinstance(points, Points)
                pairs = zip(points.step.tolist(), points.value.tolist(), strict=True)
                found.setdefault(tag, []).extend(pairs)
    return found, lines
