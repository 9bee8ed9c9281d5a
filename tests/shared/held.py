"""What an object keeps in memory, whatever the names of its attributes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def held_by(owner: object, kind: type[Kind]) -> Iterator[Kind]:
    """Yields the objects of a type that `owner` keeps, at any depth, each once."""
    seen: dict[int, Any] = {}
    waiting = [owner]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type | FunctionType | ModuleType):
            continue
        seen[id(each)] = each
        if isinstance(each, kind):
            yield each
        waiting += gc.get_referents(each)
