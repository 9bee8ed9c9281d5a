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
    from tbcore.eventfiles.proto.event_pb2 import Event
    from tbcore.eventfiles.proto.summary_pb2 import Summary, SummaryMetadata
    from tbcore.eventfiles.proto.tensor_pb2 import TensorProto
    from tbcore.eventfiles.wire import encode_varint
    from tbcore.http.parameters import replace_query
    from tbcore.kinds import matches
    from tbcore.plugin_types import LoadedPlugin
    from tbcore.plugins import load_plugins
    from tbcore.server.in_thread import Server
    from tbcore.sources import installed_plugins
    from tbcore.text import describe

__all__ = [
    "CommandGroup", "Event", "LoadedPlugin", "Server", "Summary", "SummaryMetadata", "TensorProto",
    "describe", "encode_varint", "installed_plugins", "load_plugins", "matches", "replace_query",
]  # fmt: skip

_MODULES: Mapping[str, tuple[str, ...]] = {
    "tbcore.cli.parsing": ("CommandGroup",),
    "tbcore.eventfiles.proto.event_pb2": ("Event",),
    "tbcore.eventfiles.proto.summary_pb2": ("Summary", "SummaryMetadata"),
    "tbcore.eventfiles.proto.tensor_pb2": ("TensorProto",),
    "tbcore.eventfiles.wire": ("encode_varint",),
    "tbcore.http.parameters": ("replace_query",),
    "tbcore.kinds": ("matches",),
    "tbcore.plugin_types": ("LoadedPlugin",),
    "tbcore.plugins": ("load_plugins",),
    "tbcore.server.in_thread": ("Server",),
    "tbcore.sources": ("installed_plugins",),
    "tbcore.text": ("describe",),
}
"""Maps each module to the names that it defines."""


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used: commands must not import what they do not need."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
