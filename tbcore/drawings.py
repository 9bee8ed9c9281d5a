"""Drawings: tables as HTML and lines as SVG, for notebooks. They have no scripts.

They have the colours of the text around them, and so suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tbcore.eventfiles.logdir import one_line

Floats = NDArray[np.float64]

MAX_SHOWN = 50
"""Maximum number of rows of a table of runs or tags."""


class Markup(str):
    """HTML or SVG, which is not escaped again, and which a notebook draws."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self


def table_html(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> Markup:
    """A table. Floats are rounded; all cells but Markup are escaped."""

    def row_html(cells: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{_cell(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row_html(row, "td") for row in rows)
    above = f"<caption>{_cell(caption)}</caption>" if caption else ""
    return Markup(
        f"<table>{above}<thead>{row_html(header, 'th')}</thead><tbody>{body}</tbody></table>"
    )


def line_svg(
    x: NDArray[Any], y: NDArray[Any], *, width: int = 480, height: int = 160, label: str = ""
) -> Markup:
    """The finite points (x, y) as a line, with axes if there is a `label`, which is that of x.

    `width` and `height` are those of the drawing in pixels. Of many points, the lowest and the
    highest of each pixel column are drawn. Without finite points it is empty.
    """
    # 1. Leave out what is not finite, and reduce the rest to pixel columns.
    # 2. Scale to pixels; a line that is flat or has a single x is in the middle.
    # 3. Draw the line, and the axes with their labels below and beside it.
    is_finite = np.isfinite(y) & np.isfinite(x)  # 1
    x, y = x[is_finite].astype(np.float64), y[is_finite].astype(np.float64)
    if not len(y):
        return Markup("")
    low, high, first, last = y.min(), y.max(), x.min(), x.max()
    if len(y) > 4 * width:
        starts = np.linspace(0, len(y), 2 * width, endpoint=False).astype(np.int64)
        extremes = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
        x, y = np.repeat(x[starts], 2), np.stack(extremes, axis=1).ravel()
    left, right, bottom = (60, width - 24, height - 34) if label else (0, width, height)  # 2

    def pixels(xs: ArrayLike, ys: ArrayLike) -> tuple[Floats, Floats]:
        down = bottom - 2 - _scaled(ys, low, high) * (bottom - 4)
        return left + 2 + _scaled(xs, first, last) * (right - left - 4), down

    across, down = pixels(x, y)
    points = " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(across, down, strict=True))  # 3
    parts = [
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-linecap="round"/>'
    ]
    if len(y) == 1:
        parts = [f'<circle cx="{across[0]:.1f}" cy="{down[0]:.1f}" r="2" fill="currentColor"/>']
    if label:
        x_ticks, y_ticks = _ticks(first, last), _ticks(low, high)
        columns, rows = pixels(x_ticks, y_ticks)
        texts = [((left + right) / 2, height - 4.0, "middle", label)]
        for at, tick in zip(columns.tolist(), x_ticks, strict=True):
            texts.append((at, bottom + 14, "middle", f"{tick:.10g}"))
        for row, tick in zip(rows.tolist(), y_ticks, strict=True):
            texts.append((left - 6, row + 4, "end", f"{tick:.6g}"))
        parts += [
            f'<path d="M{left} {row:.1f}H{right}" stroke="currentColor" stroke-opacity="0.15"/>'
            for row in rows
        ]
        parts += [
            f'<text x="{at:.1f}" y="{row:.1f}" text-anchor="{anchor}" font-size="11" '
            f'fill="currentColor">{_cell(text)}</text>'
            for at, row, anchor, text in texts
        ]
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">{"".join(parts)}</svg>'
    )


def _ticks(low: float, high: float) -> list[float]:
    """At most six round numbers from an extent; its ends if it is empty, tiny or infinite."""
    low, high = float(low), float(high)
    span = high - low
    if not max(1e-9 * max(abs(low), abs(high)), 1e-300) < span < np.inf:
        return sorted({low, high})
    unit = 10.0 ** np.floor(np.log10(span / 5))
    unit *= next((factor for factor in (1, 2, 5) if span / (factor * unit) <= 5), 10)
    numbers = np.arange(np.ceil(low / unit), np.floor(high / unit) + 1)
    ticks: list[float] = (numbers * unit + 0.0).tolist()  # no -0
    return ticks


def _scaled(values: ArrayLike, low: float, high: float) -> Floats:
    """The values relative to an extent, from 0 to 1; 0.5 if the extent is empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = (np.divide(values, 2) - low / 2) / (high / 2 - low / 2)  # The extent may overflow.
    return np.nan_to_num(scaled, nan=0.5)


def time_of(wall_time: float | None) -> datetime | None:
    """A time in UTC; None for NaN, or for a year that Python does not have."""
    try:
        return None if wall_time is None else datetime.fromtimestamp(wall_time, UTC)
    except (OSError, OverflowError, ValueError):
        return None


def _cell(cell: Any) -> str:
    if isinstance(cell, Markup):
        return cell
    if isinstance(cell, datetime):
        cell = f"{cell:%Y-%m-%d %H:%M:%S}"
    return escape(one_line(f"{cell:.6g}" if isinstance(cell, float) else str(cell)))
