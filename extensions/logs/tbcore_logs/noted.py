"""NotedField: a field of a run that users note, kept by tbcore-notes and read when it is used."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast, overload

from tbcore.engine import Notes
from tbcore_logs.reading import Reader

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

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader.notes, name)


def notes_of(reader: Reader) -> Notes:
    """The notes on a reader's runs. Using them raises the errors of `open_notes`."""
    return cast(Notes, NotesOfReader(reader))
