"""Tails: the points that a line got since they were last sent.

A client that has the rows of a line says so by the text that came with them. If these points are
still the first ones of the line, it gets only the others, all of them, and appends these to its
rows. A line that has grown much since it was sent whole is sent whole again, reduced to what its
chart can show.
"""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

import numpy as np

from tbcore import ScalarSeries
from tbcore_scalars.windows import Line, Rows, wider_spans

SENT = re.compile(r"(\d{1,18})\.(\d{1,18})\.\d{1,10}")


class Sent(NamedTuple):
    """What a client has of a line."""

    num_points: int
    """The number of points of the line when rows of it were sent last."""
    num_points_whole: int
    """The number of points of the line when it was sent whole."""

    def text(self, series: ScalarSeries) -> str:
        """A short text that says this, and tells whether these are still the first points."""
        last = self.num_points - 1
        # Ordinals never change, so the points before are the same if this one is. The others are
        # for a run that was deleted and written again.
        columns = series.ordinal, series.step, series.wall_time, series.value
        point = b"".join(column[last].tobytes() for column in columns)
        return f"{self.num_points}.{self.num_points_whole}.{zlib.crc32(point)}"


def parse_sent(text: str, series: ScalarSeries, max_points: int) -> Sent | None:
    """What a client has, if its rows are still the first ones, and the others are few enough."""
    found = SENT.fullmatch(text)
    sent = Sent(int(found[1]), int(found[2])) if found else None
    if sent is None or not 0 < sent.num_points <= len(series):
        return None
    has_grown_much = len(series) - sent.num_points_whole > max_points
    return sent if not has_grown_much and sent.text(series) == text else None


def tail_indices(line: Line, start: float, stop: float, first_row: int) -> tuple[Rows, list[int]]:
    """(Indices, segments) of the rows from `first_row` on between two x, and those next to them.

    Indices ascend; segments are the positions in them at which a segment begins. `line` is sorted.
    """
    kept, segments, num_rows = [np.empty(0, np.int64)], [], 0
    for first, end in wider_spans(line, start, stop):
        if first_row <= first < end:
            segments.append(num_rows)
        kept.append(np.arange(max(first, first_row), end, dtype=np.int64))
        num_rows += len(kept[-1])
    return np.concatenate(kept), segments
