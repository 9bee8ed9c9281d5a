"""The engine: the names of the core for extensions, in addition to the names for plugins.

An extension is a distribution that is neither core nor dashboard; see `tbcore.extensions`. The
names stay the same in all versions 0.1.x, so an extension requires `tbcore-server>=0.1,<0.2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tbcore

if TYPE_CHECKING:  # `as` makes a name public.
    from tbcore import lazy_names as lazy_names
    from tbcore.cli.parsing import Command as Command
    from tbcore.cli.parsing import CommandGroup as CommandGroup
    from tbcore.cli.parsing import converter as converter
    from tbcore.cli.parsing import format_option as format_option
    from tbcore.cli.parsing import logdir_specs as logdir_specs
    from tbcore.cli.parsing import logs_discarded as logs_discarded
    from tbcore.cli.parsing import warn as warn
    from tbcore.cli.parsing import warnings_printed as warnings_printed
    from tbcore.cli.parsing import whole_number as whole_number
    from tbcore.errors import ExtensionError as ExtensionError
    from tbcore.errors import OptionError as OptionError
    from tbcore.errors import UnknownStorageError as UnknownStorageError
    from tbcore.errors import did_you_mean as did_you_mean
    from tbcore.eventfiles.addresses import absolute as absolute
    from tbcore.eventfiles.addresses import checked_address as checked_address
    from tbcore.eventfiles.addresses import fetch_ahead as fetch_ahead
    from tbcore.eventfiles.addresses import is_uri as is_uri
    from tbcore.eventfiles.addresses import storage_of as storage_of
    from tbcore.eventfiles.addresses import without_passwords as without_passwords
    from tbcore.eventfiles.crc32c import masked_crc as masked_crc
    from tbcore.eventfiles.decoder import Decoder as Decoder
    from tbcore.eventfiles.formats import Formats as Formats
    from tbcore.eventfiles.formats import SourceFiles as SourceFiles
    from tbcore.eventfiles.formats import SourceRun as SourceRun
    from tbcore.eventfiles.formats import unshown_in as unshown_in
    from tbcore.eventfiles.framing import Damage as Damage
    from tbcore.eventfiles.logdir import Logdir as Logdir
    from tbcore.eventfiles.logdir import LogdirSpec as LogdirSpec
    from tbcore.eventfiles.logdir import Scan as Scan
    from tbcore.eventfiles.logdir import checked_specs as checked_specs
    from tbcore.eventfiles.logdir import folder_spec as folder_spec
    from tbcore.eventfiles.logdir import local_directory as local_directory
    from tbcore.eventfiles.logdir import logdirs_here as logdirs_here
    from tbcore.eventfiles.other_files import kind_of as kind_of
    from tbcore.eventfiles.proto.event_pb2 import Event as Event
    from tbcore.eventfiles.proto.hparams_pb2 import HParamsPluginData as HParamsPluginData
    from tbcore.eventfiles.proto.summary_pb2 import Summary as Summary
    from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata as SummaryMetadata
    from tbcore.eventfiles.proto.tensor_pb2 import TensorProto as TensorProto
    from tbcore.eventfiles.read_ahead import SmallFileReader as SmallFileReader
    from tbcore.eventfiles.steps import even_steps as even_steps
    from tbcore.eventfiles.steps import step_array as step_array
    from tbcore.eventfiles.storage import EventFile as EventFile
    from tbcore.eventfiles.storage import Found as Found
    from tbcore.eventfiles.storage import OpenFile as OpenFile
    from tbcore.eventfiles.storage import Pacing as Pacing
    from tbcore.eventfiles.storage import Storage as Storage
    from tbcore.eventfiles.storage import is_event_file as is_event_file
    from tbcore.eventfiles.table import Columns as Columns
    from tbcore.eventfiles.table import FileVersion as FileVersion
    from tbcore.eventfiles.table import References as References
    from tbcore.eventfiles.table import Table as Table
    from tbcore.eventfiles.table import TableColumn as TableColumn
    from tbcore.eventfiles.table import bounds_of as bounds_of
    from tbcore.eventfiles.table import shared_metadata as shared_metadata
    from tbcore.eventfiles.tail import FileReader as FileReader
    from tbcore.eventfiles.tail import FileReplacedError as FileReplacedError
    from tbcore.eventfiles.tail import event_time_in as event_time_in
    from tbcore.eventfiles.tensors import tensor_to_numpy as tensor_to_numpy
    from tbcore.eventfiles.wire import encode_varint as encode_varint
    from tbcore.eventfiles.wire import fields as fields
    from tbcore.eventfiles.wire import varint as varint
    from tbcore.extensions import declared as declared
    from tbcore.extensions import guarded as guarded
    from tbcore.extensions import loaded as loaded
    from tbcore.http.parameters import replace_query as replace_query
    from tbcore.json import to_json as to_json
    from tbcore.kinds import has_own_metadata as has_own_metadata
    from tbcore.kinds import matches as matches
    from tbcore.plugins.config import Config as Config
    from tbcore.plugins.config import user_directory as user_directory
    from tbcore.plugins.loading import close_all as close_all
    from tbcore.plugins.loading import find_sources as find_sources
    from tbcore.plugins.loading import load_plugins as load_plugins
    from tbcore.plugins.loading import load_sources as load_sources
    from tbcore.plugins.loading import mount_all as mount_all
    from tbcore.plugins.loading import plugins_of as plugins_of
    from tbcore.plugins.sources import Source as Source
    from tbcore.plugins.sources import in_folder as in_folder
    from tbcore.plugins.sources import installed_plugins as installed_plugins
    from tbcore.plugins.stats import PluginStats as PluginStats
    from tbcore.plugins.types import LoadedPlugin as LoadedPlugin
    from tbcore.plugins.types import MountedPlugin as MountedPlugin
    from tbcore.queries import in_quotes as in_quotes
    from tbcore.queries import split_attributes as split_attributes
    from tbcore.queries.attributes import RunAttributes as RunAttributes
    from tbcore.queries.attributes import RunColumns as RunColumns
    from tbcore.queries.attributes import Unknown as Unknown
    from tbcore.queries.evaluation import Attribute as Attribute
    from tbcore.queries.evaluation import Comparison as Comparison
    from tbcore.queries.evaluation import compare_hparam as compare_hparam
    from tbcore.queries.evaluation import fact_of as fact_of
    from tbcore.queries.evaluation import group_text as group_text
    from tbcore.queries.offers import format_attribute as format_attribute
    from tbcore.queries.offers import note_on as note_on
    from tbcore.queries.syntax import parse as parse
    from tbcore.queries.syntax import parse_attribute as parse_attribute
    from tbcore.server.app import App as App
    from tbcore.server.app import create_app as create_app
    from tbcore.server.http_server import HttpServer as HttpServer
    from tbcore.server.listen import Listening as Listening
    from tbcore.server.listen import listen as listen
    from tbcore.server.listen import loopback as loopback
    from tbcore.server.login import private_folders as private_folders
    from tbcore.server.routing import Row as Row
    from tbcore.server.unclaimed import find_unclaimed as find_unclaimed
    from tbcore.store.board import Board as Board
    from tbcore.store.hyperparameters import read_hparams as read_hparams
    from tbcore.store.items import items_of as items_of
    from tbcore.store.loader import Loader as Loader
    from tbcore.store.notes import Notes as Notes
    from tbcore.store.notes import open_notes as open_notes
    from tbcore.store.run import RunData as RunData
    from tbcore.store.run_reader import RunReader as RunReader
    from tbcore.store.run_reader import new_reader as new_reader
    from tbcore.store.run_reader import preload_small_files as preload_small_files
    from tbcore.store.series import Point as Point
    from tbcore.store.series import Series as Series
    from tbcore.store.series import extreme_rows as extreme_rows
    from tbcore.store.series import merged_columns as merged_columns
    from tbcore.store.state import run_state as run_state
    from tbcore.store.stored_runs import RunIndex as RunIndex
    from tbcore.store.stored_runs import StoredRuns as StoredRuns
    from tbcore.store.view import FileRef as FileRef
    from tbcore.store.view import RunView as RunView
    from tbcore.store.view import Schema as Schema
    from tbcore.store.view import SourceRef as SourceRef
    from tbcore.store.view import StoredRun as StoredRun
    from tbcore.store.view import TagInfo as TagInfo
    from tbcore.store.watch import watch as watch
    from tbcore.store.work_queue import TrackedRun as TrackedRun
    from tbcore.store.work_queue import find_remote_event_times as find_remote_event_times
    from tbcore.store.work_queue import sort_key as sort_key
    from tbcore.text import close_matches as close_matches
    from tbcore.text import describe as describe
    from tbcore.text import listed as listed
    from tbcore.text import one_line as one_line
    from tbcore.text import plural as plural
    from tbcore.text import printable_line as printable_line
    from tbcore.text import quoted as quoted
    from tbcore.text import size as size


globals().update(tbcore.lazy_names(__name__))
