"""The four tables of an index: their columns, their files, and commits to them.

    INDEX/
      runs/    _delta_log/  <segment>.parquet     the segments in this table exist, no others
      series/  _delta_log/  <segment>.parquet
      points/  _delta_log/  <segment>.parquet
      items/   _delta_log/  <segment>.parquet

A segment is a batch of runs. It has one file in each table, which is written once, under a new
name. Each table is a Delta Lake table. A commit replaces whole segments, first in the other tables,
and then in `runs`, which readers use to find segments.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from tbcore import DataError, DataLossError, TbcoreError
from tbcore.engine import OptionError, checked_address, is_uri, one_line
from tbcore_index.s3 import s3_options

FORMATS = ("1", "2")
"""Versions of the format that can be read: the newest one, which is last, and up to two before it.
`extensions/index/tests/formats` has an index of each."""
FORMAT = FORMATS[-1]
"""The version that is written."""
_ID = "tbcore.id"
"""The property with the id of an index, under which `Confirmed` stores its directories."""
_APP = "tbcore-index"
"""Name of the transactions. Delta Lake permits no two of them at the same time."""

_TEXT, _INT, _NUMBER = pa.string(), pa.int64(), pa.float64()


def _columns(*groups: tuple[pa.DataType, str]) -> pa.Schema:
    """A schema: each type with the names of its columns."""
    return pa.schema([(name, type_) for type_, names in groups for name in names.split()])


_FILE = pa.struct(_columns((_TEXT, "path version"), (_INT, "size mtime_ns ctime_ns")))
_HPARAM = pa.struct(_columns((_TEXT, "name text"), (_NUMBER, "number"), (pa.bool_(), "flag")))
"""A hyperparameter. Its value is in one of the other three columns."""
_POINT = pa.struct(_columns((_INT, "step"), (_NUMBER, "value")))
COLUMNS = {
    "points": _columns(
        (_TEXT, "run tag field"), (_INT, "ordinal step"), (_NUMBER, "wall_time value")
    ),
    "items": _columns(
        (_TEXT, "run tag field"), (_INT, "ordinal step"), (_NUMBER, "wall_time"),
        (_INT, "file offset length index crc"),
    ),
    # The rows of a series begin at `first_row` in the file of its segment in `points` or `items`.
    "series": _columns(
        (_TEXT, "run tag field plugin"), (pa.bool_(), "is_scalar"), (pa.binary(), "metadata"),
        (_INT, "first_row num_rows"), (pa.bool_(), "has_ordinals"),
        (_INT, "last_ordinal first_step last_step highest_step"),
        (_NUMBER, "first_wall_time last_wall_time last_value min max"), (_INT, "num_nonfinite"),
        (_INT, "min_step max_step"),
    ),
    # The series of a run begin at `first_series` in the file of its segment in `series`.
    "runs": _columns(
        (_TEXT, "run segment revision"), (_INT, "first_series num_series"), (_TEXT, "shape"),
        (_INT, "num_points num_items"), (_NUMBER, "first_event_time last_event_time"),
        (pa.list_(_TEXT), "nonfinite_tags"), (pa.list_(_FILE), "files"), (_TEXT, "bookmark"),
        (pa.list_(_TEXT), "problems"), (pa.list_(_HPARAM), "hparams"),
        (pa.list_(_POINT), "nonfinite"),
    ),
}  # fmt: skip
"""The tables in the order of commits, each with its columns. Runs have the same order in all files
of a segment; the rows of a run are sorted by tag and field. `hparams` is null for hyperparameters
that cannot be decoded, and empty for none. `nonfinite` has the first such point of each tag in
`nonfinite_tags`."""
_SINCE_2 = {"min_step", "max_step", "hparams", "nonfinite"}
"""The columns that format 1 does not have."""

_MAX_ATTEMPTS = 10
"""Maximum number of attempts to take over a table while another process commits to it."""
_GROUP_ROWS = {"points": 1 << 16, "items": 1 << 16, "series": 1 << 13, "runs": 1 << 16}
"""Maximum number of rows in a row group, which is what is read at once."""
_ENCODINGS = {_INT: "DELTA_BINARY_PACKED", _NUMBER: "BYTE_STREAM_SPLIT"}
"""How columns are written by their type. Compression then finds the bytes that values share."""
_MAX_GROUP_BYTES = 1 << 28
"""Maximum size of a row group that is read: a damaged footer may claim any size."""


class Segment(NamedTuple):
    """A segment whose files were written, and are not committed yet."""

    name: str
    num_rows: Mapping[str, int]
    """Number of rows by the name of the table."""
    num_bytes: Mapping[str, int]
    """Size of the file by the name of the table."""


class IndexConflictError(TbcoreError):
    """Another process has committed to the index in the meantime."""


class IndexWriteError(TbcoreError):
    """The index cannot be written, for example since a disk is full."""


class OpenTable(DeltaTable):
    """A table, and the options that it was opened with."""

    def __init__(
        self, uri: str, options: dict[str, str] | None, version: int | None = None
    ) -> None:
        super().__init__(uri, version, storage_options=options)
        self.options = options


class Place:
    """Where an index is: a directory, or a URI in an object store."""

    def __init__(self, path: str) -> None:
        """Raises OptionError for an address that is not valid."""
        path = checked_address(os.path.expanduser(path))
        self.path = path if is_uri(path) else os.path.abspath(path)
        self.columns: Mapping[str, pa.Schema] = COLUMNS
        """The columns of each table in the format of the index."""
        self._has_failed = False
        """Whether the last request of Delta Lake failed."""

    def __str__(self) -> str:
        return one_line(self.path)

    @cached_property
    def _files(self) -> tuple[pafs.FileSystem, str]:
        """The file system, and the path of the index in it."""
        if not is_uri(self.path):
            return pafs.LocalFileSystem(), self.path
        import fsspec

        system, root = fsspec.core.url_to_fs(self.path, use_listings_cache=False)
        return pafs.PyFileSystem(pafs.FSSpecHandler(system)), root

    def set_format(self, number: str) -> None:
        """Sets the format of the index."""
        without = _SINCE_2 if number == "1" else ()
        self.columns = {
            table: pa.schema([field for field in columns if field.name not in without])
            for table, columns in COLUMNS.items()
        }

    def delta(self, table: str) -> OpenTable:
        """A table at its last version. Raises OptionError if there is none, and DataError if it
        cannot be read."""
        with self.reaching("cannot open the index", DataError):
            try:
                return OpenTable(f"{self.path}/{table}", self._options())
            except TableNotFoundError:
                raise OptionError(f"no index at {self}; make one with `tbcore index`") from None

    def reopened(self, table: OpenTable) -> OpenTable:
        """The table at the same version, with the credentials that are valid now."""
        options = self._options()
        if options == table.options:
            return table
        return OpenTable(table.table_uri, options, table.version())

    def updated(self, table: OpenTable) -> OpenTable:
        """The table at its last version. Raises DataError if it cannot be read."""
        with self.reaching("cannot read the index", DataError):
            table = self.reopened(table)
            table.update_incremental()
            return table

    @contextlib.contextmanager
    def reaching(self, failure: str, kind: type[TbcoreError] = TbcoreError) -> Iterator[None]:
        """Turns an error of Delta Lake into a `kind`. Its message begins with `failure`."""
        try:
            yield
        except (DeltaError, OSError) as error:
            self._has_failed = True
            raise kind(one_line(f"{failure} {self}: {_reason(error)}")) from None

    def _options(self) -> dict[str, str] | None:
        """Options of Delta Lake for object stores. Except for S3, it finds credentials itself."""
        if not is_uri(self.path):
            return None
        options = {"allow_http": "true"}
        if self.path.startswith(("s3://", "s3a://")):
            options |= s3_options(self._files[0].handler.fs, was_refused=self._has_failed)
            self._has_failed = False
        return options

    def check_writable(self) -> None:
        """Raises OSError if no file can be written here."""
        system, root = self._files
        path = f"{root}/{uuid.uuid4().hex}.probe"
        with system.open_output_stream(path):
            pass
        system.delete_file(path)

    def sizes(self, folder: str) -> dict[str, int]:
        """The sizes of the files in a folder by their names. Raises OSError."""
        system, root = self._files
        infos = system.get_file_info(pafs.FileSelector(f"{root}/{folder}"))
        return {info.base_name: info.size for info in infos}

    def create(self, properties: Mapping[str, str]) -> None:
        """Creates the tables that do not exist yet, and adds an id to tables that have none.

        Raises TbcoreError if that fails.
        """
        index_id = {_ID: uuid.uuid4().hex}
        for table, columns in COLUMNS.items():
            uri = f"{self.path}/{table}"
            with self.reaching("cannot make the index"):
                if not is_uri(uri):
                    os.makedirs(uri, exist_ok=True)
                made = DeltaTable.create(
                    uri, columns, mode="ignore", configuration={**properties, **index_id},
                    storage_options=self._options(), raise_if_key_not_exists=False,
                )  # fmt: skip
                if _ID not in made.metadata().configuration:
                    made.alter.set_table_properties(index_id, raise_if_not_exists=False)

    def write(self, table: str, segment: str, rows: pa.Table) -> int:
        """Writes the file of a segment in a table; returns its size in bytes.

        Raises IndexWriteError if that fails.
        """
        system, root = self._files
        path = f"{root}/{table}/{segment}.parquet"
        try:
            pq.write_table(
                rows,
                path,
                filesystem=system,
                store_schema=False,
                compression="zstd",
                compression_level=3,
                write_page_checksum=True,
                row_group_size=_GROUP_ROWS[table],
                use_dictionary=["run", "tag", "field", "segment", "shape", "plugin"],
                column_encoding={
                    field.name: _ENCODINGS[field.type]
                    for field in COLUMNS[table]
                    if field.type in _ENCODINGS
                },
            )
            return int(system.get_file_info(path).size)
        except OSError as error:
            raise IndexWriteError(one_line(f"cannot write to the index {self}: {error}")) from None

    def open(self, table: str, segment: str) -> SegmentFile:
        """Opens the file of a segment in a table. Raises OSError or DataLossError."""
        return SegmentFile(*self._files, table, segment, self.columns[table])


def _reason(error: Exception) -> str:
    """The cause of an error of Delta Lake: S3's message, or the last in the chain of causes."""
    text = re.sub(r"\x1b\[[\d;]*m", "", str(error)).strip()
    messages: list[str] = re.findall(r"<Message>(.*?)</Message>", text, re.DOTALL)
    if messages:
        return messages[-1]
    return text.rpartition("\u21b3")[2].strip() or type(error).__name__


_DAMAGE = pa.ArrowException, OSError, ValueError, KeyError
"""Exceptions that may be raised for a file whose bytes have changed."""


class SegmentFile:
    """The file of a segment in one table, open for reading."""

    def __init__(
        self, system: pafs.FileSystem, root: str, table: str, segment: str, columns: pa.Schema
    ) -> None:
        self._name = f"{root}/{table}/{segment}.parquet"
        self._group_rows = _GROUP_ROWS[table]
        self._columns = columns
        try:
            source = system.open_input_file(self._name)
            self.num_bytes: int = source.size()
            self._file = pq.ParquetFile(source, page_checksum_verification=True)
            self.num_rows: int = self._file.metadata.num_rows
            is_known = set(self._columns.names) <= set(self._file.schema_arrow.names)
        except FileNotFoundError:
            raise
        except _DAMAGE as error:
            raise self._damaged(error) from None
        if not is_known:
            raise self._damaged("it lacks columns")

    def group(self, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of one row group. Raises DataLossError if the file is damaged."""
        try:
            metadata = self._file.metadata.row_group(number)
            if metadata.num_rows > self._group_rows or metadata.total_byte_size > _MAX_GROUP_BYTES:
                raise self._damaged(f"row group {number} claims {metadata.num_rows} rows")
            # Without threads, as each thread would keep memory of its own.
            names = columns or self._columns.names
            rows = self._file.read_row_group(number, names, use_threads=False)
            return rows.cast(pa.schema([self._columns.field(name) for name in rows.column_names]))
        except _DAMAGE as error:
            raise self._damaged(error) from None

    def whole(self, columns: Sequence[str]) -> pa.Table:
        """All rows. Raises DataLossError if the file is damaged."""
        groups = list(self.groups(columns))
        return pa.concat_tables(groups) if groups else self._columns.empty_table().select(columns)

    def groups(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yields the row groups. Raises DataLossError if the file is damaged."""
        return (self.group(number, columns) for number in range(self._file.num_row_groups))

    def rows(self, begin: int, end: int) -> list[tuple[int, int, int]]:
        """The row groups that contain these rows, each with the range of the rows in the group."""
        size = self._group_rows
        return [
            (group, max(begin - group * size, 0), min(end - group * size, size))
            for group in range(begin // size, -(-end // size))
        ]

    def _damaged(self, why: object) -> DataLossError:
        return DataLossError(one_line(f"a segment of the index is damaged: {self._name}: {why}"))


class Tables:
    """The tables of an index. One process at a time can commit to them."""

    def __init__(self, place: Place) -> None:
        """Takes over the index: the process that had it gets IndexConflictError from now on.

        If a commit was interrupted, makes the other tables consistent with `runs`. Raises
        TbcoreError if there is no index.
        """
        self._place = place
        self._tables = {name: place.delta(name) for name in reversed(COLUMNS)}
        for name in self._tables:
            self._take_over(name)
        committed = segments_of(self._tables["runs"])
        for name in COLUMNS:
            if name != "runs":
                known = segments_of(self._tables[name])
                files = {each: place.open(name, each) for each in committed - known}
                added = [(each, file.num_bytes, file.num_rows) for each, file in files.items()]
                if added or known - committed:
                    self._commit(name, added, known - committed)

    def _take_over(self, name: str) -> None:
        """Makes the next commit of any other process to a table fail."""
        for attempt in reversed(range(_MAX_ATTEMPTS)):
            try:
                return self._commit(name, [], [])
            except IndexConflictError:
                # The other process has committed once more.
                if not attempt:
                    raise
                self._tables[name] = self._place.updated(self._tables[name])

    def incomplete(self) -> set[str]:
        """Segments with a file that is gone, or whose size has changed since it was written."""
        found = set()
        for name, table in self._tables.items():
            sizes = self._place.sizes(name)
            added = pa.table(table.get_add_actions())
            known = added["path"].to_pylist(), added["size_bytes"].to_pylist()
            for path, size in zip(*known, strict=True):
                if sizes.get(path) != size:
                    found.add(path.removesuffix(".parquet"))
        return found

    def commit(self, added: Sequence[Segment], removed: Collection[str]) -> None:
        """Replaces segments. Raises IndexConflictError if another process took over the index."""
        for name in COLUMNS:
            files = [(each.name, each.num_bytes[name], each.num_rows[name]) for each in added]
            self._commit(name, files, removed)

    def vacuum(self, keep_hours: float) -> int:
        """Deletes files that are in no version of the last hours; returns their number."""
        options: Any = {"dry_run": False, "full": True, "enforce_retention_duration": False}
        with self._place.reaching("cannot delete files of the index"):
            tables = map(self._place.reopened, self._tables.values())
            return sum(len(table.vacuum(int(keep_hours), **options)) for table in tables)

    def _commit(
        self, name: str, added: Sequence[tuple[str, int, int]], removed: Collection[str]
    ) -> None:
        now_ms = int(time.time() * 1000)
        # Only the number of rows: readers would assume that statistics cover all columns.
        actions: list[AddAction | RemoveAction] = [
            AddAction(
                f"{segment}.parquet", size, {}, now_ms, True, json.dumps({"numRecords": rows})
            )
            for segment, size, rows in added
        ]
        actions += [RemoveAction(f"{segment}.parquet", True, now_ms) for segment in removed]
        with self._place.reaching("cannot write to"):
            table = self._tables[name] = self._place.reopened(self._tables[name])
            number = (table.transaction_version(_APP) or 0) + 1
            properties = CommitProperties(app_transactions=[Transaction(_APP, number)])
            try:
                table.create_write_transaction(
                    actions, "append", COLUMNS[name], commit_properties=properties
                )
            except CommitFailedError:
                raise IndexConflictError(
                    f"another `tbcore index` writes to {self._place}; nothing was lost: it goes on"
                ) from None
            table.update_incremental()


def segments_of(table: DeltaTable) -> set[str]:
    """The names of the segments in a table."""
    return {os.path.basename(uri).removesuffix(".parquet") for uri in table.file_uris()}
