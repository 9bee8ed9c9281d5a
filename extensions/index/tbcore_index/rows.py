"""Tables of the core, made from rows of an index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore.engine import Columns, References, Table, TableColumn, bounds_of, even_steps


def table_of_rows(
    entries: Sequence[tuple[str, str, bool, bytes | None]],
    order: Sequence[int],
    counts: Iterable[int],
    *,
    step: NDArray[np.int64],
    wall_time: NDArray[np.float64],
    value: NDArray[np.floating[Any]],
    references: Mapping[str, NDArray[Any]] | None = None,
    ordinals: Mapping[int, NDArray[np.int64]] | None = None,
) -> Table:
    """A table from rows that were stored elsewhere, column after column.

    `entries` are the columns, each with the fields of TableColumn, first those of scalars; `order`
    is that of `Columns`, and `counts` are their numbers of rows. `step` and `wall_time` have an
    element for each row, `value` for each scalar, and the arrays of `references`, by the fields of
    References, for each other row.
    """
    columns = Columns.of(tuple(map(TableColumn._make, entries)), tuple(order))
    bounds = bounds_of(counts)
    steps = [even_steps(step[begin:end]) for begin, end in pairwise(bounds)]
    found = None
    if references is not None:
        offset, *others = (references[name] for name in References._fields)
        found = References(offset, *(each.astype(np.uint32) for each in others))
    return Table(columns, bounds, steps, wall_time, value, found, ordinals)
