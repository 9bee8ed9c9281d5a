"""The engine: what extensions may import of the core, besides the names that plugins import.

Extensions are distributions of what is neither core nor dashboard; see `tbcore.extensions`. These
names stay as they are in all versions 0.1.x, so an extension requires `tbcore-server>=0.1,<0.2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbcore.cli.parsing import Command, CommandGroup, logdir_specs, logs_discarded
    from tbcore.errors import OptionError, did_you_mean
    from tbcore.eventfiles.logdir import (
        EventFile,
        Logdir,
        LogdirSpec,
        Scan,
        checked_address,
        is_event_file,
        is_remote,
    )
    from tbcore.eventfiles.tensors import numpy_to_tensor, tensor_to_numpy
    from tbcore.eventfiles.wire import fields
    from tbcore.extensions import loaded
    from tbcore.http.json import to_json
    from tbcore.queries.attributes import RunColumns
    from tbcore.queries.evaluation import is_live
    from tbcore.queries.syntax import parse
    from tbcore.server.unclaimed import find_unshown
    from tbcore.store.batch_reader import BatchReader
    from tbcore.store.series import Point
    from tbcore.store.strict_reader import ReadFile, StrictReader
    from tbcore.store.view import RunView
    from tbcore.store.watch import watch
    from tbcore.store.work_queue import TrackedRun
    from tbcore.text import close_matches, one_line, plural, quoted, size

__all__ = [
    "BatchReader", "Command", "CommandGroup", "EventFile", "Logdir", "LogdirSpec",
    "OptionError", "Point", "ReadFile", "RunColumns", "RunView", "Scan", "StrictReader",
    "TrackedRun", "checked_address", "close_matches", "did_you_mean", "fields", "find_unshown",
    "is_event_file", "is_live", "is_remote", "loaded", "logdir_specs", "logs_discarded",
    "numpy_to_tensor", "one_line", "parse", "plural", "quoted", "size", "tensor_to_numpy",
    "to_json", "watch",
]  # fmt: skip

_MODULES: Mapping[str, tuple[str, ...]] = {
    "tbcore.cli.parsing": ("Command", "CommandGroup", "logdir_specs", "logs_discarded"),
    "tbcore.errors": ("OptionError", "did_you_mean"),
    "tbcore.eventfiles.logdir": (
        "EventFile",
        "Logdir",
        "LogdirSpec",
        "Scan",
        "checked_address",
        "is_event_file",
        "is_remote",
    ),
    "tbcore.eventfiles.tensors": ("numpy_to_tensor", "tensor_to_numpy"),
    "tbcore.eventfiles.wire": ("fields",),
    "tbcore.extensions": ("loaded",),
    "tbcore.http.json": ("to_json",),
    "tbcore.queries.attributes": ("RunColumns",),
    "tbcore.queries.evaluation": ("is_live",),
    "tbcore.queries.syntax": ("parse",),
    "tbcore.server.unclaimed": ("find_unshown",),
    "tbcore.store.batch_reader": ("BatchReader",),
    "tbcore.store.series": ("Point",),
    "tbcore.store.strict_reader": ("ReadFile", "StrictReader"),
    "tbcore.store.view": ("RunView",),
    "tbcore.store.watch": ("watch",),
    "tbcore.store.work_queue": ("TrackedRun",),
    "tbcore.text": ("close_matches", "one_line", "plural", "quoted", "size"),
}
"""Maps each module to the names that it defines."""


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used: commands must not import what they do not need."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
