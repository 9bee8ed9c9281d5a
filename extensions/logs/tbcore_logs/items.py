"""LoggedItems: the values of one tag that are not scalars. Their bytes are read on access."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar, overload

from tbcore import Item

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class LoggedItem(Generic[T]):
    """One logged value of a tag."""

    step: int
    wall_time: float
    """Seconds since the epoch."""
    _item: Item = field(repr=False)
    _read: Callable[[Item], T] = field(repr=False)

    @property
    def value(self) -> T:
        """The value. It is read from its file at each access, and not cached.

        Raises NotFoundError if the file is gone, DataLossError if its bytes have changed since they
        were logged, and DecodeError if they do not have the form that the tag's metadata declares.
        The error is also added to the `problems` of the logs.
        """
        return self._read(self._item)


class LoggedItems(Sequence[LoggedItem[T]]):
    """The values of one tag, in the order they were written."""

    def __init__(self, items: Iterable[Item], read: Callable[[Item], T]) -> None:
        """`read` is called with an item at each access to its value."""
        self._items = [LoggedItem(item.step, item.wall_time, item, read) for item in items]

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> LoggedItem[T]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LoggedItem[T]]: ...
    def __getitem__(self, index: int | slice) -> LoggedItem[T] | Sequence[LoggedItem[T]]:
        return self._items[index]

    def __repr__(self) -> str:
        last_step = self._items[-1].step if self._items else None
        return f"LoggedItems(num_items={len(self)}, last_step={last_step})"
