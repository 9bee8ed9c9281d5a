"""Row classes: the distinct combinations of tag, field and metadata among the rows of many files.

Files whose rows have the same classes in the same order have tables with the same arrangement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.fast.layouts import Layout
from tbcore.eventfiles.fast.references import FoundReferences
from tbcore.eventfiles.plain import Arrangement
from tbcore.eventfiles.steps import PerRow
from tbcore.eventfiles.table import TableColumn
from tbcore.tuning import Tuning

_MAX_CACHED_ROWS = 1 << 12
"""Maximum number of rows of a table whose arrangement is cached."""


class RowClasses:
    """The row classes of all files so far, and the arrangements of tables.

    Classes are numbered, so that the rows of many files can be described by an array of integers.
    A class is described by a TableColumn with the metadata of its rows.
    """

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._classes: list[TableColumn] = []
        self._numbers: dict[TableColumn, int] = {}
        """Maps a class that does not belong to a layout to its class number."""
        self._num_bytes = 0
        """Total length of the tags and metadata of all classes."""
        self._first_classes = np.empty(0, np.int64)
        """Class number of each layout's first value. The values of a layout have a class each, with
        consecutive class numbers."""
        self._arrangements: dict[bytes, Arrangement] = {}
        """Maps the class numbers of rows, as bytes, to the rows' arrangement."""
        self._num_arranged_rows = 0
        """Number of rows in all cached arrangements."""

    def is_full(self) -> bool:
        """Whether there are so many classes that this object should be replaced by an empty one."""
        tuning = self._tuning
        return (
            len(self._classes) > tuning.max_row_classes
            or self._num_bytes > tuning.max_row_class_bytes
        )

    def number_of(self, row_class: TableColumn) -> int:
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
                    self._add(slot)
            self._first_classes = np.append(self._first_classes, firsts)
        return self._first_classes

    def of_references(self, references: FoundReferences) -> NDArray[np.int64]:
        """The class number of each reference."""
        numbers = [-1 if each is None else self.number_of(each) for each in references.columns]
        return np.array(numbers, np.int64)[references.column_indices]

    def arrangement(self, class_of_row: PerRow) -> Arrangement:
        """The arrangement of rows of these classes, at least one, given in file order."""
        num_rows = len(class_of_row)
        if num_rows > _MAX_CACHED_ROWS:
            return Arrangement.of(self._classes, class_of_row)
        key = class_of_row.tobytes()
        found = self._arrangements.get(key)
        if found is None:
            self._num_arranged_rows += num_rows
            if self._num_arranged_rows > self._tuning.max_arrangement_rows:
                self._arrangements, self._num_arranged_rows = {}, num_rows
            found = self._arrangements[key] = Arrangement.of(self._classes, class_of_row)
        return found

    def _add(self, row_class: TableColumn) -> int:
        """Adds a row class and returns its class number."""
        self._classes.append(row_class)
        self._num_bytes += len(row_class.tag) + len(row_class.metadata or b"")
        return len(self._classes) - 1
