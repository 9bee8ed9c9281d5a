"""Columns of values of any type: one hyperparameter, or one metric, over sessions or groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

MISSING: Final = 0
BOOL: Final = 1
NUMBER: Final = 2
STRING: Final = 3
NONFINITE: Final = 4
"""A hyperparameter that is NaN or infinite. JSON has no such values: for the API it is missing."""
NULL: Final = 5
OTHER: Final = 6
"""A list or an object."""

MAX_CELLS: Final = 10_000_000
"""Rows times columns of all hyperparameters, and of all metrics. What a log holds may be small and
make a great many columns, when each session has names of its own."""

ABSENT: Final = object()
"""Stands for no value among those that a column is made of."""

_KINDS = {bool: BOOL, float: NUMBER, str: STRING, type(None): NULL, object: MISSING}
_NAN = float("nan")


Name = TypeVar("Name")


def max_columns(num_rows: int) -> int:
    """How many columns of so many rows there may be."""
    return max(MAX_CELLS // max(num_rows, 1), 1)


def names_kept(counts: Counter[Name], num_rows: int) -> set[Name]:
    """The names that get a column: all, or where they are too many those that most rows have."""
    return {name for name, _ in counts.most_common(max_columns(num_rows))}


class Values(NamedTuple):
    """A value a row. All arrays have the shape (n,)."""

    kind: NDArray[np.uint8]
    """What the value is: one of the constants above."""
    number: NDArray[np.float64]
    """Of BOOL (0 and 1), NUMBER and NONFINITE; NaN otherwise."""
    code: NDArray[np.int32]
    """Of STRING the place in `strings`; -1 otherwise."""
    strings: Sequence[str]
    """All different, in ascending order; not every one need occur."""
    others: NDArray[np.object_] | None
    """Of OTHER the value; None when there is no such row."""

    @classmethod
    def of(cls, logged: Sequence[Any]) -> Values:
        """From what was logged, or ABSENT."""
        kind = np.array([_KINDS.get(type(value), OTHER) for value in logged], np.uint8)
        number = np.array(
            [value if type(value) in (float, bool) else _NAN for value in logged], np.float64
        )
        kind[(kind == NUMBER) & ~np.isfinite(number)] = NONFINITE
        strings = sorted({value for value in logged if type(value) is str})
        places = {text: place for place, text in enumerate(strings)}
        code = np.full(len(logged), -1, np.int32)
        if strings:
            code[:] = [places[value] if type(value) is str else -1 for value in logged]
        others = None
        if (kind == OTHER).any():
            others = np.empty(len(logged), object)
            for row in np.flatnonzero(kind == OTHER).tolist():
                others[row] = logged[row]
        return cls(kind, number, code, strings, others)

    @classmethod
    def of_numbers(cls, number: NDArray[np.float64], present: NDArray[np.bool_]) -> Values:
        """Numbers where `present`, which may be NaN or infinite."""
        kind = np.where(present, np.uint8(NUMBER), np.uint8(MISSING))
        return cls(kind, number, np.full(len(number), -1, np.int32), (), None)

    @classmethod
    def nothing(cls, length: int) -> Values:
        """Every row is missing."""
        return cls.of_numbers(np.full(length, np.nan), np.zeros(length, bool))

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where there is no value that the API could tell of, sort by or filter."""
        is_missing: NDArray[np.bool_] = (self.kind == MISSING) | (self.kind > STRING)
        return is_missing

    def taken(self, rows: Rows) -> Values:
        """Of these rows."""
        others = None if self.others is None else self.others[rows]
        return Values(self.kind[rows], self.number[rows], self.code[rows], self.strings, others)

    def to_list(self) -> list[Any]:
        """Python values as they were logged, None where nothing was."""
        found: NDArray[np.object_] = np.full(len(self.kind), None, object)
        has_number = (self.kind == NUMBER) | (self.kind == NONFINITE)
        found[has_number] = self.number[has_number].tolist()
        is_bool = self.kind == BOOL
        found[is_bool] = (self.number[is_bool] != 0).tolist()
        is_string = self.kind == STRING
        found[is_string] = [self.strings[code] for code in self.code[is_string].tolist()]
        if self.others is not None:
            is_other = self.kind == OTHER
            found[is_other] = self.others[is_other]
        values: list[Any] = found.tolist()
        return values
