"""Reader: text values as tables of strings and as rendered markdown."""

from __future__ import annotations

import csv
import io
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore.media import Sample
from tbcore.values import Value, text
from tbcore_text.markdown import to_html, to_nodes

Strings = NDArray[np.object_]

MAX_LENGTH = 100_000
"""Maximum number of characters of one step in `cells`. The front end can request the rest."""
MAX_CELLS = 2_000
"""Maximum number of table cells of one step in `cells`. The front end can request the rest."""


def samples(value: Value, _metadata: object) -> list[Sample]:
    """The text of one step as a sample; an empty list if the logged array has no elements.

    Its `fields` are:
    - `shape`: the shape of the array as logged.
    - `cells`: rows of strings; only the first ones if `is_cut`.
    - `nodes`: in the rows of `cells`, each cell's markdown as nodes, see `to_nodes`, or None if
      too long.
    - `length`: the number of characters in all cells.
    - `is_cut`: whether `cells` is incomplete.

    For an array of rank 3 or more, all but `shape` describe its first table, as in TensorBoard. The
    sample's bytes are the text itself or, for several strings, all rows of all tables as CSV.
    """
    strings = text(value)
    if strings.size == 0:
        return []
    table = as_table(strings)
    shown = _first_cells(table)
    nodes = to_nodes([cell for row in shown for cell in row])
    remaining = iter(nodes or ())
    length = sum(len(cell) for row in table.tolist() for cell in row)
    num_cells = sum(map(len, shown))
    fields: dict[str, Any] = {
        "shape": strings.shape,
        "cells": shown,
        "nodes": nodes and [[next(remaining) for _ in row] for row in shown],
        "length": length,
        "is_cut": num_cells < table.size
        or sum(len(cell) for row in shown for cell in row) < length,
    }
    if strings.size == 1:
        return [Sample(strings.item().encode(), "text/plain", fields)]
    return [Sample(_to_csv(strings.reshape(-1, table.shape[1])), "text/csv", fields)]


def as_table(strings: Strings) -> Strings:
    """A non-empty array as a table of shape (rows, columns); the first table if rank is above 2."""
    if strings.ndim > 2:
        strings = strings[(0,) * (strings.ndim - 2)]
    return strings if strings.ndim == 2 else strings.reshape(-1, 1)


def html_of(strings: Strings, *, is_markdown: bool) -> str:
    """The HTML that TensorBoard returns: a scalar as its markdown, an array as a table."""
    rows: list[list[str]] = as_table(strings).tolist() if strings.size else []
    cells = [cell for row in rows for cell in row]
    nodes = to_nodes(cells) if is_markdown else None
    if nodes is not None:
        html = [to_html(nodes_of_cell) for nodes_of_cell in nodes]
    else:
        html = [escape(cell, quote=False) for cell in cells]
        if is_markdown:
            html = [f"<pre>{cell}</pre>" for cell in html]
    if strings.ndim == 0:
        return html[0]
    remaining = iter(html)
    lines = ["<table>", "<tbody>"]
    for row in rows:
        lines += ["<tr>", *(f"<td>{next(remaining)}</td>" for _ in row), "</tr>"]
    lines += ["</tbody>", "</table>"]
    if strings.ndim > 2:
        note = f"This text has {strings.ndim} dimensions. This is its first table."
        lines.insert(0, f"<p><strong>Warning:</strong> {note}</p>")
    return "\n".join(lines)


def _first_cells(table: Strings) -> list[list[str]]:
    """The first rows, within MAX_CELLS and MAX_LENGTH, but always part of the first row."""
    num_columns = min(table.shape[1], MAX_CELLS)
    rows: list[list[str]] = []
    num_left = MAX_LENGTH  # Number of characters that may still be added.
    for row in table[: max(1, MAX_CELLS // num_columns)].tolist():
        if num_left <= 0:
            break
        cells = []
        for cell in row[:num_columns]:
            cells.append(cell[: max(0, num_left)])
            num_left -= len(cell)
        rows.append(cells)
    return rows


def _to_csv(table: Strings) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows(table.tolist())
    return out.getvalue().encode()
