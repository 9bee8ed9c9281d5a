"""NotedField: a field of a run that users note, kept by tbcore-notes and read when it is used.

`RunNotes` has what tables and figures show of it, and nothing without tbcore-notes.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar, cast, overload

from tbcore import TbcoreError
from tbcore.engine import Notes, OptionError, guarded, one_line
from tbcore_logs.readers import Reader

logger = logging.getLogger("tbcore.logs")

NOTED: Mapping[str, Any] = {
    "display_name": "", "starred": False, "archived": False, "labels": [], "note": "", "color": "",
}  # fmt: skip
"""The fields of a run that users note, each with its value without a note."""
_COLOR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
T = TypeVar("T")


class NotedField(Generic[T]):
    """A property of `Run` whose value is a note: `run.starred = True`.

    Raises OptionError without tbcore-notes, BadRequestError for a value that is not valid, and
    TbcoreError if the note cannot be kept.
    """

    def __init__(self, default: T, doc: str) -> None:
        """`default` is the value without a note. It is a tuple for a list."""
        self._default, self.__doc__ = default, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, run: None, owner: type) -> NotedField[T]: ...

    @overload
    def __get__(self, run: Any, owner: type) -> T: ...

    def __get__(self, run: Any, owner: type) -> T | NotedField[T]:
        if run is None:
            return self
        value: Any = run._reader.notes.values(run.name).get(self._name, self._default)
        return cast(T, tuple(value) if isinstance(value, list) else value)

    def __set__(self, run: Any, value: T) -> None:
        kept = list(value) if isinstance(value, list | tuple | set) else value
        run._reader.notes.change([run.name], {self._name: kept})


class NotesOfReader:
    """The `Notes` on a reader's runs, which are opened when they are first used."""

    def __init__(self, reader: Reader, none_archived: bool) -> None:
        self._reader, self._none_archived = reader, none_archived

    def found(self, sign: str, text: str | re.Pattern[str]) -> Collection[str]:
        if self._none_archived and (sign, text) == ("is:", "archived"):
            return ()
        found = self._reader.notes.found(sign, text)
        self._reader.needs_notes = True
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader.notes, name)


def notes_of(reader: Reader, none_archived: bool) -> Notes:
    """The notes on a reader's runs. Using them raises the errors of `open_notes`.

    With `none_archived`, `is:archived` finds no run.
    """
    return cast(Notes, NotesOfReader(reader, none_archived))


class RunNotes:
    """What users have noted about runs, for tables and figures.

    Nothing without tbcore-notes, for runs of which it keeps no notes, and with a warning if it
    fails: no table depends on it.
    """

    def __init__(self, notes: Callable[[], Notes]) -> None:
        """`notes` may raise the errors of `open_notes`."""
        self._open = notes

    @cached_property
    def _values(self) -> Callable[[str], Mapping[str, Any]]:
        def nothing(run: str) -> Mapping[str, Any]:
            return {}

        try:
            with guarded("tbcore.notes", "notes"):
                values = self._open().values
                values("")  # Reads the files.
                return values
        except OptionError:  # It is not installed, or keeps none about these runs.
            return nothing
        except (TbcoreError, OSError) as error:
            logger.warning("%s", one_line(f"notes cannot be read: {error}"))
            return nothing

    def of(self, run: str) -> dict[str, Any]:
        """The fields of NOTED that have another value than without a note."""
        values = self._values(run)
        return {field: values[field] for field in NOTED if values.get(field)}

    def label(self, run: str) -> str:
        """The name to show for a run: its display name, or else its name."""
        return str(self._values(run).get("display_name") or run)

    def labels(self, runs: Iterable[str]) -> dict[str, str]:
        """The names to show for runs, by name. If several have the same, they have names, too."""
        found = {run: self.label(run) for run in runs}
        counts = Counter(found.values())
        return {
            run: label if counts[label] == 1 or label == run else f"{label} ({run})"
            for run, label in found.items()
        }

    def color(self, run: str, default: str) -> str:
        """The colour of a run, such as `#2a78d6`."""
        color = str(self._values(run).get("color") or "")
        return color if _COLOR.fullmatch(color) else default
