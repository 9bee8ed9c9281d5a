"""The engine: what extensions may import of the core, besides the names that plugins import.

Extensions are distributions of what is neither core nor dashboard; see `tbcore.extensions`. These
names stay as they are in all versions 0.1.x, so an extension requires `tbcore-server>=0.1,<0.2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbcore.cli.parsing import CommandGroup
    from tbcore.errors import UnknownStorageError
    from tbcore.eventfiles.storage import EventFile, Found, Pacing, Storage, is_event_file
    from tbcore.text import one_line

__all__ = [
    "CommandGroup", "EventFile", "Found", "Pacing", "Storage", "UnknownStorageError",
    "is_event_file", "one_line",
]  # fmt: skip

_MODULES: Mapping[str, tuple[str, ...]] = {
    "tbcore.cli.parsing": ("CommandGroup",),
    "tbcore.errors": ("UnknownStorageError",),
    "tbcore.eventfiles.storage": ("EventFile", "Found", "Pacing", "Storage", "is_event_file"),
    "tbcore.text": ("one_line",),
}
"""Maps each module to the names that it defines."""


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used: commands must not import what they do not need."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
