"""Drawings: tables as HTML and lines as SVG, without scripts, for notebooks.

They are drawn in the colour of the surrounding text, so they suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import reduce
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tbcore.engine import one_line
from tbcore.values import drawn_rows
from tbcore_logs.order import name_key

Floats = NDArray[np.float64]

MAX_SHOWN = 50
"""Maximum number of rows of a table of runs or tags."""


SCHEMES = {
    "light": (
        "#57606a",
        "3852d1c651001689668e0d15770a8b229adcd85ea7b68d1b8d51a26642720c5942e83272",
    ),
    "dark": ("#9198a1", "6082fcfd6b0738f1b6b4433e9c3cb172c4fcde76b2efbb289570a2bd59dd1b7b5dfd94ac"),
}
"""Maps each colour scheme to the colour of the text in a drawing, and those of lines."""
_MORE = "6c5c3479ab1a1c6e80b3867720acb353760e88a987fa695c979bc4875a658e875d11ae5b"

_MAX_NAMES = 8
"""Maximum number of lines whose names are shown next to a drawing. If there are more lines, they
are translucent and have no names."""
_NAMES_WIDTH = 150
_NAME_LENGTH = 24


def colors_of(names: Sequence[str], everything: Sequence[str], scheme: str) -> dict[str, str]:
    """The colours of runs or groups that are drawn together, of all that there are, as in the page.
    tbcore/web/lib/ui/colors.js is the same, and tests/colors.json has what both must do.
    """
    ordered = sorted(everything if len(everything) <= 24 else names, key=name_key)
    slots: dict[str, int] = {}
    for name in ordered:
        own = reduce(lambda code, char: (31 * code + ord(char)) % 65521, name, 0)
        parts = (range(7), range(7, 12), range(12, 24))
        others = (part[(own + k) % len(part)] for part in parts for k in part)
        free = (slot for slot in others if slot not in slots.values())
        slots[name] = own % 12 if len(ordered) > 24 else next(free)
    palette = SCHEMES[scheme][1] + _MORE
    return {name: f"#{palette[6 * slots[name] : 6 * slots[name] + 6]}" for name in names}


class Markup(str):
    """HTML or SVG that is not escaped again. Notebooks display it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self


def table_html(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> Markup:
    """A table. Floats are rounded. Cells are escaped, except Markup."""

    def row_html(cells: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(_cell_html(cell, tag) for cell in cells) + "</tr>"

    body = "".join(row_html(row, "td") for row in rows)
    above = f"<caption>{_cell(caption)}</caption>" if caption else ""
    return Markup(
        f"<table>{above}<thead>{row_html(header, 'th')}</thead><tbody>{body}</tbody></table>"
    )


def line_svg(
    x: NDArray[Any], y: NDArray[Any], *, width: int = 480, height: int = 160, label: str = ""
) -> Markup:
    """The points (x, y) as a line in the colour of the text: see `chart_svg`."""
    return chart_svg([(x, y, "currentColor", "")], width=width, height=height, label=label)


def chart_svg(
    lines: Sequence[tuple[NDArray[Any], NDArray[Any], str, str]],
    *,
    ink: str = "currentColor",
    width: int = 480,
    height: int = 160,
    label: str = "",
    bands: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any], str]] = (),
    dotted: Sequence[tuple[NDArray[Any], NDArray[Any], str, bool]] = (),
) -> Markup:
    """Several lines, with axes if there is a `label` for the x axis.

    A band is x, the lower and the upper edge, and a colour; it is drawn below the lines. A dotted
    line is x, y, a colour, and whether it sets the range of y, too: if not, it is cut where it
    leaves it. All have gaps where a value is not finite.

    A line is x, y, a colour and a name. The names of up to eight lines are shown on the right.
    `ink` is the colour of text. `width` and `height` of the drawing are in pixels. Of many points,
    the `drawn_rows` are drawn. Returns "" if there are no finite points.
    """
    # 1. Divide what is drawn into stretches of finite points, and find the extent of all lines.
    # 2. Scale each stretch to pixels, and draw it. If all values are equal, it is in the middle.
    # 3. Draw the axes, with labels below and to the left of the lines.
    drawn = [(drawn_rows(y, 5 * width), x, y, color, name) for x, y, color, name in lines]  # 1
    finite = [
        (*part, color, name)
        for rows, x, y, color, name in drawn
        for part in stretches(x[rows], y[rows])
    ]
    if not finite:
        return Markup("")
    edges = [
        (*part, color) for x, lower, upper, color in bands for part in stretches(x, lower, upper)
    ]
    dashes = [(*part, color, is_in) for x, y, color, is_in in dotted for part in stretches(x, y)]
    xs = [x for x, *_ in (*finite, *dashes)]
    first, last = min(x.min() for x in xs), max(x.max() for x in xs)
    values = [*(y for _, y, *_ in finite), *(y for _, *ys, _ in edges for y in ys)]
    values += [y for _, y, _, is_in in dashes if is_in]
    low, high = min(y.min() for y in values), max(y.max() for y in values)
    left, right, top, bottom = (60, width - 24, 6, height - 34) if label else (0, width, 0, height)
    names = list(dict.fromkeys((color, name) for *_, color, name in finite if name))
    has_names = 0 < len(names) <= _MAX_NAMES
    right -= _NAMES_WIDTH * has_names

    def pixels(xs: ArrayLike, ys: ArrayLike) -> tuple[Floats, Floats]:
        down = bottom - 2 - _scaled(ys, low, high) * (bottom - top - 4)
        return left + 2 + _scaled(xs, first, last) * (right - left - 4), down

    parts = [
        f'<text x="{right + 10}" y="{18 + 18 * index}" font-size="11" font-family="sans-serif" '
        f'fill="{color}">{_cell(_cut(name))}</text>'
        for index, (color, name) in enumerate(names if has_names else ())
    ]
    for x, lower, upper, color in edges:  # 2
        across, down = pixels(np.append(x, x[::-1]), np.append(upper, lower[::-1]))
        parts.append(f'<polygon points="{_corners(across, down)}" fill="{color}" opacity="0.2"/>')
    for x, y, color, name in finite:
        across, down = pixels(x, y)
        title = f"<title>{_cell(name)}</title>" if name else ""
        if len(y) == 1:
            place = f'cx="{across[0]:.1f}" cy="{down[0]:.1f}"'
            parts.append(f'<circle {place} r="2" fill="{color}">{title}</circle>')
        else:
            style = f'fill="none" stroke="{color}" stroke-linecap="round"'
            style += ' stroke-opacity="0.6"' if len(names) > _MAX_NAMES else ""
            parts.append(f'<polyline points="{_corners(across, down)}" {style}>{title}</polyline>')
    size = f'x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"'
    for x, y, color, _ in dashes:
        corners = _corners(*pixels(x, y))
        style = f'fill="none" stroke="{color}" stroke-dasharray="2 4"'
        parts.append(
            f'<svg {size} viewBox="{left} {top} {right - left} {bottom - top}">'
            f'<polyline points="{corners}" {style}/></svg>'
        )
    if label:  # 3
        x_ticks, y_ticks = _ticks(first, last), _ticks(low, high)
        columns, rows = pixels(x_ticks, y_ticks)
        texts = [((left + right) / 2, height - 4.0, "middle", label)]
        for at, tick in zip(columns.tolist(), x_ticks, strict=True):
            texts.append((at, bottom + 14, "middle", f"{tick:.10g}"))
        for row, tick in zip(rows.tolist(), y_ticks, strict=True):
            texts.append((left - 6, row + 4, "end", f"{tick:.6g}"))
        parts += [
            f'<path d="M{left} {row:.1f}H{right}" stroke="{ink}" stroke-opacity="0.15"/>'
            for row in rows
        ]
        parts += [
            f'<text x="{at:.1f}" y="{row:.1f}" text-anchor="{anchor}" font-size="11" '
            f'font-family="sans-serif" fill="{ink}">{_cell(text)}</text>'
            for at, row, anchor, text in texts
        ]
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">{"".join(parts)}</svg>'
    )


def stretches(*columns: NDArray[Any]) -> list[Any]:
    """The stretches of rows in which all columns are finite.

    Each is an array of shape (num_columns, num_rows), float64: its part of the columns.
    """
    table = np.stack(columns).astype(np.float64)
    is_finite = np.isfinite(table).all(axis=0)
    ends = np.flatnonzero(np.diff(is_finite, prepend=False, append=False)).reshape(-1, 2)
    return [table[:, start:end] for start, end in ends.tolist()]


def _corners(across: Floats, down: Floats) -> str:
    return " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(across, down, strict=True))


def _cut(name: str) -> str:
    """The name, without its middle if it is long."""
    half = _NAME_LENGTH // 2
    return name if len(name) <= _NAME_LENGTH else f"{name[: half - 1]}…{name[-half:]}"


def _ticks(low: float, high: float) -> list[float]:
    """At most six round numbers between two bounds; the bounds if their distance is 0, tiny or
    infinite."""
    low, high = float(low), float(high)
    span = high - low
    if not max(1e-9 * max(abs(low), abs(high)), 1e-300) < span < np.inf:
        return sorted({low, high})
    unit = 10.0 ** np.floor(np.log10(span / 5))
    unit *= next((factor for factor in (1, 2, 5) if span / (factor * unit) <= 5), 10)
    numbers = np.arange(np.ceil(low / unit), np.floor(high / unit) + 1)
    ticks: list[float] = (numbers * unit + 0.0).tolist()  # + 0.0 turns -0.0 into 0.0.
    return ticks


def _scaled(values: ArrayLike, low: float, high: float) -> Floats:
    """The values scaled so that `low` becomes 0 and `high` 1; all 0.5 if these are equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # Halved first, since high - low may overflow.
        scaled = (np.divide(values, 2) - low / 2) / (high / 2 - low / 2)
    return np.nan_to_num(scaled, nan=0.5)


def time_of(wall_time: float | None) -> datetime | None:
    """A time in UTC; None for NaN, or for a year that Python does not support."""
    try:
        return None if wall_time is None else datetime.fromtimestamp(wall_time, UTC)
    except (OSError, OverflowError, ValueError):
        return None


def _cell_html(cell: Any, tag: str) -> str:
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    style = ' style="text-align: right"' if is_number else ""
    return f"<{tag}{style}>{_cell(cell)}</{tag}>"


def _cell(cell: Any) -> str:
    if isinstance(cell, Markup):
        return cell
    if isinstance(cell, datetime):
        cell = f"{cell:%Y-%m-%d %H:%M:%S}"
    return escape(one_line(f"{cell:.6g}" if isinstance(cell, float) else str(cell)))
