"""Columns of values of mixed types: one hyperparameter or metric, for all sessions or groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
"""Indices of rows: of sessions or of groups."""

# The kinds of values. Columns are sorted by kind, so BOOL, NUMBER and STRING are in sort order. The
# API returns no values of the kinds above STRING, see `is_missing`.
MISSING: Final = 0
BOOL: Final = 1
NUMBER: Final = 2
STRING: Final = 3
NONFINITE: Final = 4
"""A NaN or infinite hyperparameter. JSON has no such values, so the API treats it as missing."""
NULL: Final = 5
OTHER: Final = 6
"""A list or an object."""

MAX_CELLS: Final = 10_000_000
"""Maximum number of rows times columns, separately for hyperparameters and for metrics.

Even a small log can have very many columns, if every session uses different names.
"""

ABSENT: Final = object()
"""Marks a missing value in the input of `Values.from_objects`."""

_KINDS = {bool: BOOL, float: NUMBER, str: STRING, type(None): NULL, type(ABSENT): MISSING}
"""Maps the Python type of a value to the value's kind; all other types are OTHER."""
_NAN = float("nan")


Name = TypeVar("Name")


def max_columns(num_rows: int) -> int:
    """Maximum number of columns of a table with this number of rows."""
    return max(MAX_CELLS // max(num_rows, 1), 1)


def limit_names(counts: Counter[Name], num_rows: int) -> set[Name]:
    """The names that get a column: all of them, or the most frequent ones if there are too many.

    `counts` maps each name to the number of rows in which it occurs.
    """
    return {name for name, _ in counts.most_common(max_columns(num_rows))}


class Values(NamedTuple):
    """A column with one value per row. All arrays have the shape (num_rows,)."""

    kind: NDArray[np.uint8]
    """The kind of each value: one of the constants above."""
    number: NDArray[np.float64]
    """The value of BOOL (0 or 1), NUMBER and NONFINITE; NaN for other kinds."""
    code: NDArray[np.int32]
    """The index in `strings` for STRING; -1 for other kinds."""
    strings: Sequence[str]
    """Unique strings in ascending order. Some may not occur in any row."""
    others: NDArray[np.object_] | None
    """The value of OTHER; None for other kinds. If no row is OTHER, None instead of an array."""

    @classmethod
    def from_objects(cls, logged: Sequence[Any]) -> Values:
        """A column of these objects: what `Session.hparams` contains, or ABSENT."""
        kind = np.array([_KINDS.get(type(value), OTHER) for value in logged], np.uint8)
        number = np.array(
            [value if type(value) in (float, bool) else _NAN for value in logged], np.float64
        )
        kind[(kind == NUMBER) & ~np.isfinite(number)] = NONFINITE
        strings = sorted({value for value in logged if type(value) is str})
        codes = {text: code for code, text in enumerate(strings)}
        code = np.full(len(logged), -1, np.int32)
        if strings:
            code[:] = [codes[value] if type(value) is str else -1 for value in logged]
        others = None
        if (kind == OTHER).any():
            others = np.empty(len(logged), object)
            for row in np.flatnonzero(kind == OTHER).tolist():
                others[row] = logged[row]
        return cls(kind, number, code, strings, others)

    @classmethod
    def from_numbers(cls, number: NDArray[np.float64], present: NDArray[np.bool_]) -> Values:
        """A column of numbers, which may be NaN or infinite; rows that are not present are missing.

        NaN and infinity have the kind NUMBER here: the API does report them for metrics.
        """
        kind = np.where(present, np.uint8(NUMBER), np.uint8(MISSING))
        code = np.full(len(number), -1, np.int32)
        return cls(kind, number, code, strings=(), others=None)

    @classmethod
    def all_missing(cls, length: int) -> Values:
        """A column in which every row is missing."""
        return cls.from_numbers(np.full(length, np.nan), np.zeros(length, bool))

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """True for each row without a value that the API can return, sort by or filter by."""
        is_missing: NDArray[np.bool_] = (self.kind == MISSING) | (self.kind > STRING)
        return is_missing

    def take(self, rows: Rows) -> Values:
        """The column restricted to these rows, in this order."""
        others = None if self.others is None else self.others[rows]
        return Values(self.kind[rows], self.number[rows], self.code[rows], self.strings, others)

    def to_list(self) -> list[Any]:
        """The values as Python objects, as they were logged; None for missing ones."""
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
