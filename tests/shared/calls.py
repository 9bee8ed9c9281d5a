"""What a function was called with, while it works as ever."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import CO_GENERATOR
from types import FrameType
from typing import Any

import pytest

__all__ = ["calls_of"]


@dataclass
class Call:
    """A call of a function."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    """Maps the names of parameters to their values; empty for a function that is not in Python."""
    result: Any = None
    """What the call returned; of a generator, what it yielded last."""


Watch = Callable[..., list[Call]]
"""The fixture `calls_of`."""


class Watcher:
    """A list of calls that grows by each call of some functions."""

    def __init__(self, functions: tuple[Callable[..., Any], ...]) -> None:
        self.codes = {f.__code__ for f in functions if hasattr(f, "__code__")}
        self.others = {f for f in functions if not hasattr(f, "__code__")}
        self.names = {f.__name__ for f in self.others}
        self.calls: list[Call] = []
        self.running: dict[FrameType, Call] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            if argument.__name__ in self.names and argument in self.others:
                self.calls.append(Call(argument.__name__))
        elif frame.f_code in self.codes:
            if event == "call" and frame not in self.running:
                call = Call(frame.f_code.co_name, dict(frame.f_locals))
                self.running[frame] = call
                self.calls.append(call)
            elif event == "return":
                self.running[frame].result = argument
                if not frame.f_code.co_flags & CO_GENERATOR:
                    del self.running[frame]


@pytest.fixture
def calls_of() -> Iterator[Watch]:
    """`calls_of(f, g)`: a list that grows by each call of these functions, until the test ends.

    Python reports the calls, as it does to profilers, so nothing is replaced: those of this thread,
    and of threads that begin later. A generator counts once, when it begins.
    """
    before = sys.getprofile()

    def watch(*functions: Callable[..., Any]) -> list[Call]:
        watching = Watcher(functions)
        sys.setprofile(watching)
        threading.setprofile(watching)
        return watching.calls

    yield watch
    sys.setprofile(before)
    threading.setprofile(None)
