"""The columns of the run list: what tests read of them, and waits for what they show."""

from __future__ import annotations

import json
from typing import Any

START = 1_700_000_000.0
"""When the runs of these tests begin, in seconds since 1970."""
HELPERS = """
globalThis.columns = {
  // Texts of the headings, without the first, with the sign for the order.
  headings: () => [...document.querySelectorAll('.tb-heads .tb-cell')].map(
    (cell) => cell.textContent),
  // Name and cells of each row, without steps.
  rows: () => Object.fromEntries([...document.querySelectorAll('.tb-row:not(.tb-heads)')].map(
    (row) => [row.title, [...row.querySelectorAll('.tb-cell')].map(columns.value)])),
  value: (cell) => [...cell.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).map(
    ({ data }) => data).join('').trim(),
  // Names of the rows from top to bottom.
  names: () => Object.keys(columns.rows()).join(),
};
"""
GROUP_CELL = """(name) => {
  const cell = document.querySelector(`.tb-row[title="${name}"] .tb-cell`);
  const isCut = cell.scrollWidth > cell.clientWidth;
  const counts = cell.querySelector('.tb-step')?.innerText.trim();
  const words = cell.querySelector('.tb-step')?.ariaLabel;
  return { title: cell.title, text: cell.innerText, counts, words, isCut };
}"""
"""The first cell of the row of a group: what it shows, its title, and whether it is cut."""


def wait_for_cells(page: Any, run: str, *cells: str) -> None:
    """Waits until the row of a run has these cells."""
    page.wait_for_function(
        "([run, cells]) => JSON.stringify(columns.rows()[run]) === cells",
        arg=[run, json.dumps(cells, ensure_ascii=False, separators=(",", ":"))],
    )


def wait_for_names(page: Any, names: str) -> None:
    """Waits until the rows of the list have these names."""
    page.wait_for_function("(names) => columns.names() === names", arg=names)
