"""Charts as text: sparklines of a few characters, and charts of braille dots."""

from __future__ import annotations

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
    x: NDArray[np.integer], y: NDArray[np.floating], *, width: int, height: int
) -> list[str]:
    """The lines of a chart with labels on both axes; [] if no value is finite.

    `width` and `height` are in characters and include the labels. Points may have any order. No
    point is dropped: each column of dots extends from its lowest to its highest point. The line
    has gaps where values are not finite.
    """
    # 1. Scale to dots, and divide the line into stretches of finite points.
    # 2. Find the lowest and highest dot of each column; interpolate columns without points.
    # 3. Extend columns to their neighbours, so that a stretch has no gaps. Set the dots.
    # 4. Add the labels.
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    finite = np.flatnonzero(np.isfinite(y))
    if not len(finite):
        return []
    numbers = y if len(finite) == len(y) else y[finite]
    x, y = x[finite[0] : finite[-1] + 1], y[finite[0] : finite[-1] + 1]
    labels = [f"{limit:.4g}" for limit in (numbers.max(), numbers.min())]
    margin = max(map(len, labels))
    num_columns, num_rows = max(width - margin - 2, 8) * 2, (height - 2) * 4
    column = (_scaled(x.astype(np.float64)) * (num_columns - 1)).round()  # 1
    kept = outline_rows(y, np.append(0, np.flatnonzero(column[1:] != column[:-1]) + 1))
    values = np.where(np.isfinite(y[kept]), y[kept], np.nan).astype(np.float64)
    row = ((1 - _scaled(values)) * (num_rows - 1)).round()
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
    cells = dots.reshape(num_rows // 4, 4, num_columns // 2, 2)  # 4
    codes = (cells * _DOTS[None, :, None, :]).sum(axis=(1, 3))
    lines = ["".join(chr(0x2800 + code) for code in line) for line in codes.tolist()]
    for index, line in enumerate(lines):
        label = labels[0] if index == 0 else labels[1] if index == len(lines) - 1 else ""
        lines[index] = f"{label:>{margin}} │{line}"
    start, end = f"{x[0]:,}", f"{x[-1]:,}"
    lines.append(f"{'':{margin}} └{'─' * (num_columns // 2)}")
    return [*lines, f"{'':{margin}}  {start}{end:>{num_columns // 2 - len(start)}}"]


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values scaled from 0 (lowest) to 1 (highest); all 0.5 if they are equal. Keeps NaN."""
    if np.isnan(values).all():
        return values
    low, high = np.nanmin(values) / 2, np.nanmax(values) / 2  # The difference may overflow.
    return (
        np.where(np.isnan(values), np.nan, 0.5)
        if low == high
        else ((values / 2 - low) / (high - low))
    )
