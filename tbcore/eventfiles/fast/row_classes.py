"""Row classes: the distinct combinations of tag, field and metadata among the rows of many files.

Files whose rows have the same classes in the same order get tables with the same *arrangement*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.batch import TableLayout
from tbcore.eventfiles.fast.layouts import Layout
from tbcore.eventfiles.fast.references import References
from tbcore.tuning import Tuning


class RowClass(NamedTuple):
    """The tag, field and metadata that all rows of one class have in common."""

    tag: str
    field: str
    is_scalar: bool
    metadata: bytes | None
    """Serialized SummaryMetadata; None if the values carry none."""


class Arrangement(NamedTuple):
    """How rows with a given sequence of classes are arranged in a table."""

    table_layout: TableLayout
    order: NDArray[np.int64]
    """Row i of the table is row `order[i]` in the order written."""
    has_references: bool


class RowClasses:
    """The row classes of all files so far, and the arrangements of tables.

    Classes are numbered, so that the rows of many files can be described by an array of integers.
    """

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._classes: list[RowClass] = []
        self._numbers: dict[RowClass, int] = {}
        """Maps a class that does not belong to a layout to its class number."""
        self._num_bytes = 0
        """Total length of the tags and metadata of all classes."""
        self._first_classes = np.empty(0, np.int64)
        """Class number of each layout's first value. The values of a layout have a class each, with
        consecutive class numbers."""
        self._columns: list[int] = []
        """Column number of each class. Rows are in the same column of a table if their classes have
        the same column number."""
        self._column_numbers: dict[tuple[str, str, bool], int] = {}
        """Maps tag, field and scalar-or-not to the column number."""
        self._arrangements: dict[bytes, Arrangement | None] = {}
        """Maps the class numbers of rows, as bytes, to the rows' arrangement; None if these rows
        cannot be in one table."""
        self._num_arranged_rows = 0
        """Number of rows in all cached arrangements."""

    def is_full(self) -> bool:
        """Whether there are so many classes that this object should be replaced by an empty one."""
        tuning = self._tuning
        return (
            len(self._classes) > tuning.max_row_classes
            or self._num_bytes > tuning.max_row_class_bytes
        )

    def number_of(self, row_class: RowClass) -> int:
        """The class number of a row class, which is added if it is new."""
        number = self._numbers.get(row_class)
        if number is None:
            number = self._numbers[row_class] = self._add(row_class)
        return number

    def first_classes(self, layouts: Sequence[Layout]) -> NDArray[np.int64]:
        """The class number of each layout's first value; the numbers of its other values follow.

        `layouts` begins with the layouts of all earlier calls. Classes are added for the layouts
        that are new.
        """
        new = layouts[len(self._first_classes) :]
        if new:
            firsts = []
            for layout in new:
                firsts.append(len(self._classes))
                for slot in layout.slots:
                    self._add(RowClass(slot.tag, slot.field, True, slot.metadata))
            self._first_classes = np.append(self._first_classes, firsts)
        return self._first_classes

    def of_references(self, references: References) -> NDArray[np.int64]:
        """The class number of each reference."""
        # Encode each pair of a name and metadata as one integer. Index 0 of `metadata` means no
        # metadata, so the indices of `references.distinct_metadata` are shifted by 1.
        metadata = [None, *references.distinct_metadata]
        pairs = references.name_indices * len(metadata) + references.metadata_indices + 1
        distinct, pair_indices = np.unique(pairs, return_inverse=True)
        numbers = [
            self.number_of(RowClass(tag, field, False, metadata[pair % len(metadata)]))
            for pair in distinct.tolist()
            for tag, field in [references.names[pair // len(metadata)]]
        ]
        return np.array(numbers, np.int64)[pair_indices]

    def arrangement(self, row_classes: NDArray[np.int64]) -> Arrangement | None:
        """The arrangement of rows of these classes, given in the order written.

        Returns None if they cannot be in one table, because a tag would have two columns.
        """
        key = row_classes.tobytes()
        if key not in self._arrangements:
            self._num_arranged_rows += len(row_classes)
            if self._num_arranged_rows > self._tuning.max_table_layout_rows:
                self._arrangements, self._num_arranged_rows = {}, len(row_classes)
            self._arrangements[key] = self._arrange(row_classes)
        return self._arrangements[key]

    def _add(self, row_class: RowClass) -> int:
        """Adds a row class and returns its class number."""
        self._classes.append(row_class)
        self._num_bytes += len(row_class.tag) + len(row_class.metadata or b"")
        key = row_class[:3]
        self._columns.append(self._column_numbers.setdefault(key, len(self._column_numbers)))
        return len(self._classes) - 1

    def _arrange(self, row_classes: NDArray[np.int64]) -> Arrangement | None:
        """The same as `arrangement`, without the cache."""
        # 1. Find the distinct classes, and the first row of each class.
        # 2. In the order of these first rows, list the columns of the table, and find the first
        #    metadata of each column. (All rows of a class have the same metadata.)
        # 3. Make the table layout from the column of each row.
        classes, first_rows, class_of_row = np.unique(  # 1
            row_classes, return_index=True, return_inverse=True
        )
        columns: dict[int, int] = {}
        """Maps a column number (see `_columns`) to the index of the column in the table."""
        keys: list[tuple[str, str, bool]] = []
        metadata: dict[int, tuple[int, bytes]] = {}
        column_of_class = np.empty(len(classes), np.int64)
        for i in np.argsort(first_rows).tolist():  # 2
            number = int(classes[i])
            row_class = self._classes[number]
            column = columns.setdefault(self._columns[number], len(columns))
            if column == len(keys):
                keys.append(row_class[:3])
            if row_class.metadata is not None and column not in metadata:
                metadata[column] = int(first_rows[i]), row_class.metadata
            column_of_class[i] = column
        if len({tag for tag, _, _ in keys}) < len(keys):
            return None
        table_layout, order = TableLayout.of(column_of_class[class_of_row], keys, metadata)  # 3
        return Arrangement(table_layout, order, not all(is_scalar for _, _, is_scalar in keys))
