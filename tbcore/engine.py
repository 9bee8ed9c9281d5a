"""The engine: the names of the core for extensions, in addition to the names for plugins.

An extension is a distribution that is neither core nor dashboard; see `tbcore.extensions`. The
names stay the same in all versions 0.1.x, so an extension requires `tbcore-server>=0.1,<0.2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbcore.cli.parsing import (
        Command,
        CommandGroup,
        json_option,
        logdir_specs,
        logs_discarded,
        max_bytes,
        max_bytes_option,
        warn,
        warnings_printed,
        whole_number,
    )
    from tbcore.errors import ExtensionError, OptionError, UnknownStorageError, did_you_mean
    from tbcore.eventfiles.addresses import (
        absolute,
        checked_address,
        is_uri,
        storage_of,
        without_passwords,
    )
    from tbcore.eventfiles.decoder import Decoder
    from tbcore.eventfiles.framing import Damage
    from tbcore.eventfiles.logdir import (
        Logdir,
        LogdirSpec,
        Scan,
        checked_specs,
        local_directory,
        logdirs_here,
    )
    from tbcore.eventfiles.proto.event_pb2 import Event
    from tbcore.eventfiles.proto.summary_pb2 import Summary, SummaryMetadata
    from tbcore.eventfiles.proto.tensor_pb2 import TensorProto
    from tbcore.eventfiles.read_ahead import SmallFileReader
    from tbcore.eventfiles.storage import EventFile, Found, Pacing, Storage, is_event_file
    from tbcore.eventfiles.table import Columns, Table, shared_metadata
    from tbcore.eventfiles.tail import FileReader, FileReplacedError, read_last_event_times
    from tbcore.eventfiles.tensors import numpy_to_tensor, tensor_to_numpy
    from tbcore.eventfiles.wire import encode_varint, fields
    from tbcore.extensions import guarded, loaded
    from tbcore.http.json import to_json
    from tbcore.http.parameters import replace_query
    from tbcore.kinds import has_own_metadata, matches
    from tbcore.plugins.config import Config, user_directory
    from tbcore.plugins.loading import (
        close_all,
        find_sources,
        load_plugins,
        load_sources,
        mount_all,
        plugins_of,
    )
    from tbcore.plugins.sources import Source, in_folder, installed_plugins
    from tbcore.plugins.stats import PluginStats
    from tbcore.plugins.types import LoadedPlugin, MountedPlugin
    from tbcore.queries import format_name, in_quotes, split_attributes
    from tbcore.queries.attributes import RunColumns
    from tbcore.queries.evaluation import Attribute, fact_of, group_text
    from tbcore.queries.offers import format_attribute
    from tbcore.queries.syntax import parse, parse_attribute
    from tbcore.server.app import App, create_app
    from tbcore.server.http_server import HttpServer
    from tbcore.server.listen import Listening, listen, loopback
    from tbcore.server.routing import Row
    from tbcore.server.unclaimed import find_unshown
    from tbcore.store.board import Board
    from tbcore.store.hyperparameters import read_hparams
    from tbcore.store.items import items_of
    from tbcore.store.loader import Loader
    from tbcore.store.notes import Notes, open_notes
    from tbcore.store.run import RunData
    from tbcore.store.run_reader import RunReader, preload_small_files
    from tbcore.store.series import Point, Series, extreme_rows
    from tbcore.store.state import is_live
    from tbcore.store.stored_runs import RunIndex
    from tbcore.store.view import FileRef, RunView, Schema, StoredRun, TagInfo
    from tbcore.store.watch import watch
    from tbcore.store.work_queue import TrackedRun, find_remote_event_times, sort_key
    from tbcore.text import (
        close_matches,
        describe,
        listed,
        one_line,
        plural,
        printable_line,
        quoted,
        size,
    )

__all__ = [
    "App", "Attribute", "Board", "Columns", "Command", "CommandGroup", "Config", "Damage",
    "Decoder", "Event", "EventFile", "ExtensionError", "FileReader", "FileRef", "FileReplacedError",
    "Found", "HttpServer", "Listening", "LoadedPlugin", "Loader", "Logdir", "LogdirSpec",
    "MountedPlugin", "Notes", "OptionError", "Pacing", "PluginStats", "Point", "Row", "RunColumns",
    "RunData", "RunIndex", "RunReader", "RunView", "Scan", "Schema", "Series", "SmallFileReader",
    "Source", "Storage", "StoredRun", "Summary", "SummaryMetadata", "Table", "TagInfo",
    "TensorProto", "TrackedRun", "UnknownStorageError", "absolute", "checked_address",
    "checked_specs", "close_all", "close_matches", "create_app", "describe", "did_you_mean",
    "encode_varint", "extreme_rows", "fact_of", "fields", "find_remote_event_times", "find_sources",
    "find_unshown", "format_attribute", "format_name", "group_text", "guarded", "has_own_metadata",
    "in_folder", "in_quotes",
    "installed_plugins", "is_event_file", "is_live", "is_uri", "items_of", "json_option", "listed",
    "listen", "load_plugins", "load_sources", "loaded", "local_directory", "logdir_specs",
    "logdirs_here", "logs_discarded", "loopback", "matches", "max_bytes", "max_bytes_option",
    "mount_all", "numpy_to_tensor", "one_line", "open_notes", "parse", "parse_attribute",
    "plugins_of", "plural", "preload_small_files", "printable_line", "quoted",
    "read_hparams", "read_last_event_times", "replace_query", "shared_metadata", "size", "sort_key",
    "split_attributes", "storage_of",
    "tensor_to_numpy", "to_json", "user_directory", "warn", "warnings_printed", "watch",
    "whole_number", "without_passwords",
]  # fmt: skip

_MODULES: Mapping[str, tuple[str, ...]] = {
    "tbcore.cli.parsing": (
        "Command",
        "CommandGroup",
        "json_option",
        "logdir_specs",
        "logs_discarded",
        "max_bytes",
        "max_bytes_option",
        "warn",
        "warnings_printed",
        "whole_number",
    ),
    "tbcore.errors": ("ExtensionError", "OptionError", "UnknownStorageError", "did_you_mean"),
    "tbcore.eventfiles.addresses": (
        "absolute",
        "checked_address",
        "is_uri",
        "storage_of",
        "without_passwords",
    ),
    "tbcore.eventfiles.decoder": ("Decoder",),
    "tbcore.eventfiles.framing": ("Damage",),
    "tbcore.eventfiles.logdir": (
        "Logdir",
        "LogdirSpec",
        "Scan",
        "checked_specs",
        "local_directory",
        "logdirs_here",
    ),
    "tbcore.eventfiles.proto.event_pb2": ("Event",),
    "tbcore.eventfiles.proto.summary_pb2": ("Summary", "SummaryMetadata"),
    "tbcore.eventfiles.proto.tensor_pb2": ("TensorProto",),
    "tbcore.eventfiles.read_ahead": ("SmallFileReader",),
    "tbcore.eventfiles.storage": ("EventFile", "Found", "Pacing", "Storage", "is_event_file"),
    "tbcore.eventfiles.table": ("Columns", "Table", "shared_metadata"),
    "tbcore.eventfiles.tail": ("FileReader", "FileReplacedError", "read_last_event_times"),
    "tbcore.eventfiles.tensors": ("numpy_to_tensor", "tensor_to_numpy"),
    "tbcore.eventfiles.wire": ("encode_varint", "fields"),
    "tbcore.extensions": ("guarded", "loaded"),
    "tbcore.http.json": ("to_json",),
    "tbcore.http.parameters": ("replace_query",),
    "tbcore.kinds": ("has_own_metadata", "matches"),
    "tbcore.plugins.config": ("Config", "user_directory"),
    "tbcore.plugins.loading": (
        "close_all",
        "find_sources",
        "load_plugins",
        "load_sources",
        "mount_all",
        "plugins_of",
    ),
    "tbcore.plugins.sources": ("Source", "in_folder", "installed_plugins"),
    "tbcore.plugins.stats": ("PluginStats",),
    "tbcore.plugins.types": ("LoadedPlugin", "MountedPlugin"),
    "tbcore.queries": ("format_name", "in_quotes", "split_attributes"),
    "tbcore.queries.attributes": ("RunColumns",),
    "tbcore.queries.evaluation": ("Attribute", "fact_of", "group_text"),
    "tbcore.queries.offers": ("format_attribute",),
    "tbcore.queries.syntax": ("parse", "parse_attribute"),
    "tbcore.server.app": ("App", "create_app"),
    "tbcore.server.http_server": ("HttpServer",),
    "tbcore.server.listen": ("Listening", "listen", "loopback"),
    "tbcore.server.routing": ("Row",),
    "tbcore.server.unclaimed": ("find_unshown",),
    "tbcore.store.board": ("Board",),
    "tbcore.store.hyperparameters": ("read_hparams",),
    "tbcore.store.items": ("items_of",),
    "tbcore.store.loader": ("Loader",),
    "tbcore.store.notes": ("Notes", "open_notes"),
    "tbcore.store.run": ("RunData",),
    "tbcore.store.run_reader": ("RunReader", "preload_small_files"),
    "tbcore.store.series": ("Point", "Series", "extreme_rows"),
    "tbcore.store.state": ("is_live",),
    "tbcore.store.stored_runs": ("RunIndex",),
    "tbcore.store.view": ("FileRef", "RunView", "Schema", "StoredRun", "TagInfo"),
    "tbcore.store.watch": ("watch",),
    "tbcore.store.work_queue": ("TrackedRun", "find_remote_event_times", "sort_key"),
    "tbcore.text": (
        "close_matches",
        "describe",
        "listed",
        "one_line",
        "plural",
        "printable_line",
        "quoted",
        "size",
    ),
}
"""Maps each module to the names that it defines."""


if not TYPE_CHECKING:  # Otherwise type checkers would accept any name.

    def __getattr__(name: str) -> Any:
        """Imports a name when it is first used: commands must not import what they do not need."""
        for module, names in _MODULES.items():
            if name in names:
                return getattr(import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
