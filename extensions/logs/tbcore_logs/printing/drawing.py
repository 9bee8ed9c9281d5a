"""Charts as text: sparklines of a few characters, and charts of braille dots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tbcore.values import outline_rows
from tbcore_logs.drawings import stretches

_BARS = "▁▂▃▄▅▆▇█"
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint8)
"""Shape (4, 2): the bit of each dot of a braille character."""


def sparkline(values: NDArray[np.floating], width: int) -> str:
    """The values as at most `width` bars, each the mean of some; `!` if none of them is finite."""
    if not len(values):
        return ""
    count = min(width, len(values))
    starts = np.arange(count) * len(values) // count
    is_finite = np.isfinite(values)
    counts = np.add.reduceat(is_finite, starts, dtype=np.int64)
    # Scaled to 0..1 first, since a sum of large numbers may overflow.
    scaled = _scaled(np.where(is_finite, values, np.nan).astype(np.float64))
    sums = np.add.reduceat(np.nan_to_num(scaled), starts)
    means = _scaled(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
    return "".join(
        "!" if np.isnan(mean) else _BARS[min(int(mean * len(_BARS)), len(_BARS) - 1)]
        for mean in means
    )


def braille_chart(
    lines: Sequence[tuple[NDArray[np.integer], NDArray[np.floating]]],
    *,
    width: int,
    height: int,
    styles: Sequence[Callable[[str], str]] = (),
) -> list[str]:
    """The rows of a chart of lines, each x and y, with labels on both axes; [] if no value of any
    line is finite.

    `width` and `height` are in characters and include the labels. Points may have any order. No
    point is dropped: each column of dots extends from its lowest to its highest point. A line has
    gaps where values are not finite. Characters are in the style of the last line that has a dot in
    them.
    """
    # 1. Find the ranges of all lines, and leave out what is not finite at their ends.
    # 2. Set the dots of each line, and note which line has a character last.
    # 3. Write the characters, those of one line in a row together, and the labels.
    drawn = [part for x, y in lines if (part := _from_first_to_last(x, y)) is not None]  # 1
    if not drawn:
        return []
    numbers = np.concatenate([y[np.isfinite(y)] for x, y in drawn])
    labels = [f"{limit:.4g}" for limit in (numbers.max(), numbers.min())]
    margin = max(map(len, labels))
    num_columns, num_rows = max(width - margin - 2, 8) * 2, (height - 2) * 4
    places = np.concatenate([x[[0, -1]] for x, _ in drawn])
    shape = num_rows // 4, num_columns // 2
    codes, owners = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for number, (x, y) in enumerate(lines):  # 2
        if (part := _from_first_to_last(x, y)) is None:
            continue
        dots = _dots(*part, (places.min(), places.max()), (numbers.min(), numbers.max()), num_rows,
                     num_columns)  # fmt: skip
        cells = dots.reshape(num_rows // 4, 4, num_columns // 2, 2)
        own = (cells * _DOTS[None, :, None, :]).sum(axis=(1, 3), dtype=np.int64)
        codes |= own
        owners[own > 0] = number
    rows = []
    for index, (line, by) in enumerate(zip(codes.tolist(), owners.tolist(), strict=True)):  # 3
        text = "".join(
            (styles[owner] if styles else str)("".join(chr(0x2800 + code) for _, code in cells))
            for owner, cells in groupby(zip(by, line, strict=True), key=lambda cell: cell[0])
        )
        label = labels[0] if index == 0 else labels[1] if index == len(codes) - 1 else ""
        rows.append(f"{label:>{margin}} │{text}")
    start, end = f"{places.min():,}", f"{places.max():,}"
    rows.append(f"{'':{margin}} └{'─' * (num_columns // 2)}")
    return [*rows, f"{'':{margin}}  {start}{end:>{num_columns // 2 - len(start)}}"]


def _from_first_to_last(
    x: NDArray[np.integer], y: NDArray[np.floating]
) -> tuple[NDArray[np.integer], NDArray[np.floating]] | None:
    """The points in the order of x, from the first to the last finite one; None without one."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    finite = np.flatnonzero(np.isfinite(y))
    return (x[finite[0] : finite[-1] + 1], y[finite[0] : finite[-1] + 1]) if len(finite) else None


def _dots(
    x: NDArray[np.integer],
    y: NDArray[np.floating],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    num_rows: int,
    num_columns: int,
) -> NDArray[np.bool_]:
    """The dots of a line, of shape (num_rows, num_columns); x ascends."""
    # 1. Scale to dots, and divide the line into stretches of finite points.
    # 2. Find the lowest and highest dot of each column; interpolate columns without points.
    # 3. Extend columns to their neighbours, so that a stretch has no gaps. Set the dots.
    column = (_scaled(x.astype(np.float64), *x_range) * (num_columns - 1)).round()  # 1
    kept = outline_rows(y, np.append(0, np.flatnonzero(column[1:] != column[:-1]) + 1))
    values = np.where(np.isfinite(y[kept]), y[kept], np.nan).astype(np.float64)
    row = ((1 - _scaled(values, *y_range)) * (num_rows - 1)).round()
    dots = np.zeros((num_rows, num_columns), np.bool_)
    all_rows = np.arange(num_rows)[:, None]
    for columns, rows in stretches(column[kept], row):
        known, starts = np.unique(columns.astype(np.int64), return_index=True)
        top, bottom = np.minimum.reduceat(rows, starts), np.maximum.reduceat(rows, starts)
        across = np.arange(known[0], known[-1] + 1)
        first = np.interp(across, known, (top + bottom) / 2).round()  # 2
        last = first.copy()
        first[known - known[0]], last[known - known[0]] = top, bottom
        top = np.minimum(first, np.append(first[0], last[:-1] + 1))  # 3
        bottom = np.maximum(last, np.append(last[0], first[:-1] - 1))
        dots[:, across] |= (all_rows >= top) & (all_rows <= bottom)
    return dots


def _scaled(
    values: NDArray[np.float64], low: float | None = None, high: float | None = None
) -> NDArray[np.float64]:
    """The values scaled from 0 (`low`, or the lowest) to 1 (`high`, or the highest); all 0.5 if
    these are equal. Keeps NaN."""
    if np.isnan(values).all():
        return values
    # The difference may overflow.
    low = (np.nanmin(values) if low is None else float(low)) / 2
    high = (np.nanmax(values) if high is None else float(high)) / 2
    return (
        np.where(np.isnan(values), np.nan, 0.5)
        if low == high
        else ((values / 2 - low) / (high - low))
    )
