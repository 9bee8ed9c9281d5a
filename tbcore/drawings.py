"""Drawings: tables as HTML and lines as SVG, for notebooks. They have no scripts.

They have the colours of the text around them, and so suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.logdir import one_line

MAX_SHOWN = 50
"""Maximum number of rows of a table of runs or tags."""


class Markup(str):
    """HTML or SVG, which is not escaped again."""

    __slots__ = ()


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
    """The finite points (x, y) as a line, with the extent of both axes if it has a `label`.

    `width` and `height` are those of the drawing in pixels. Of many points, the lowest and the
    highest of each pixel column are drawn.
    """
    # 1. Leave out what is not finite, and reduce the rest to pixel columns.
    # 2. Scale to pixels; a line that is flat or has a single x is in the middle.
    # 3. Draw the line, and the labels below and beside it.
    is_finite = np.isfinite(y) & np.isfinite(x)  # 1
    x, y = x[is_finite].astype(np.float64), y[is_finite].astype(np.float64)
    if not len(y):
        return Markup("")
    low, high, first, last = y.min(), y.max(), x.min(), x.max()
    if len(y) > 4 * width:
        starts = np.linspace(0, len(y), 2 * width, endpoint=False).astype(np.int64)
        extremes = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
        x, y = np.repeat(x[starts], 2), np.stack(extremes, axis=1).ravel()
    bottom = height - 16 if label else height  # 2
    across = _scaled(x, first, last) * (width - 4) + 2
    down = bottom - 2 - _scaled(y, low, high) * (bottom - 4)
    points = " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(across, down, strict=True))  # 3
    parts = [
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-linecap="round"/>'
    ]
    if len(y) == 1:
        parts = [f'<circle cx="{across[0]:.1f}" cy="{down[0]:.1f}" r="2" fill="currentColor"/>']
    if label:
        texts = [
            (0, bottom + 13, "start", f"{first:.6g}"),
            (width, bottom + 13, "end", f"{last:.6g}"),
            (width, 10, "end", f"{high:.4g}"),
            (width, bottom - 4, "end", f"{low:.4g}"),
            (width / 2, bottom + 13, "middle", label),
        ]
        parts += [
            f'<text x="{at:g}" y="{row:g}" text-anchor="{anchor}" font-size="11" '
            f'fill="currentColor">{_cell(text)}</text>'
            for at, row, anchor, text in texts
        ]
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">{"".join(parts)}</svg>'
    )


def _scaled(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """The values relative to an extent, from 0 to 1; 0.5 if the extent is empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = (values / 2 - low / 2) / (high / 2 - low / 2)  # The extent may overflow.
    return np.nan_to_num(scaled, nan=0.5)


def _cell(cell: Any) -> str:
    if isinstance(cell, Markup):
        return cell
    return escape(one_line(f"{cell:.6g}" if isinstance(cell, float) else str(cell)))
