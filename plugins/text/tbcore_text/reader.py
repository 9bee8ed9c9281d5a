"""What a text means to a client: strings in rows, and what they say as markdown."""

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
"""Characters of one step that a page gets at once; the rest is a click away."""
MAX_CELLS = 2_000
"""Likewise of a table."""


def samples(value: Value, _metadata: object) -> list[Sample]:
    """The text of one step as a page shows it; none where an array without elements was logged.

    Its `fields` are `shape` as logged; `cells`, rows of strings, the first of them where `is_cut`;
    `nodes`, rows of what each says as markdown (see `tbcore_text.markdown`), or None where that is
    too much; and `length`, the characters of all. An array of rank 3 and more shows its first
    table, as in TensorBoard. The bytes are the text itself, or CSV of all rows.
    """
    strings = text(value)
    if strings.size == 0:
        return []
    table = rows_of(strings)
    shown = _begin(table)
    nodes = to_nodes([cell for row in shown for cell in row])
    each = iter(nodes or ())
    length = sum(len(cell) for row in table.tolist() for cell in row)
    num_cells = sum(map(len, shown))
    fields: dict[str, Any] = {
        "shape": strings.shape,
        "cells": shown,
        "nodes": nodes and [[next(each) for _ in row] for row in shown],
        "length": length,
        "is_cut": num_cells < table.size
        or sum(len(cell) for row in shown for cell in row) < length,
    }
    if strings.size == 1:
        return [Sample(strings.item().encode(), "text/plain", fields)]
    return [Sample(_to_csv(strings.reshape(-1, table.shape[1])), "text/csv", fields)]


def rows_of(strings: Strings) -> Strings:
    """Strings of any shape, but with elements, as a table of shape (rows, columns)."""
    if strings.ndim > 2:
        strings = strings[(0,) * (strings.ndim - 2)]
    return strings if strings.ndim == 2 else strings.reshape(-1, 1)


def html_of(strings: Strings, *, is_markdown: bool) -> str:
    """As TensorBoard answers: one string as it is, anything else as a table."""
    rows: list[list[str]] = rows_of(strings).tolist() if strings.size else []
    cells = [cell for row in rows for cell in row]
    nodes = to_nodes(cells) if is_markdown else None
    if nodes is not None:
        html = [to_html(each) for each in nodes]
    else:
        html = [escape(cell, quote=False) for cell in cells]
        if is_markdown:
            html = [f"<pre>{cell}</pre>" for cell in html]
    if strings.ndim == 0:
        return html[0]
    each = iter(html)
    lines = ["<table>", "<tbody>"]
    for row in rows:
        lines += ["<tr>", *(f"<td>{next(each)}</td>" for _ in row), "</tr>"]
    lines += ["</tbody>", "</table>"]
    if strings.ndim > 2:
        note = f"This text has {strings.ndim} dimensions. This is its first table."
        lines.insert(0, f"<p><strong>Warning:</strong> {note}</p>")
    return "\n".join(lines)


def _begin(table: Strings) -> list[list[str]]:
    """The first rows, as long as they are not too much; always some of the first."""
    num_columns = min(table.shape[1], MAX_CELLS)
    rows: list[list[str]] = []
    left = MAX_LENGTH
    for row in table[: max(1, MAX_CELLS // num_columns)].tolist():
        if left <= 0:
            break
        cells = []
        for cell in row[:num_columns]:
            cells.append(cell[: max(0, left)])
            left -= len(cell)
        rows.append(cells)
    return rows


def _to_csv(table: Strings) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows(table.tolist())
    return out.getvalue().encode()
