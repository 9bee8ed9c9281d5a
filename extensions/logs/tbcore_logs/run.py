"""Run: a snapshot of one run, made when the run is read. It never changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbcore import DataError, Item, Kind, NotFoundError, values
from tbcore.engine import RunView, items_of, listed, merged_columns, one_line, quoted, run_state
from tbcore_logs.drawings import MAX_SHOWN, line_svg, table_html, time_of
from tbcore_logs.errors import UnknownNameError, instead
from tbcore_logs.forms import (
    AUDIO,
    CLAIMS,
    GRAPH,
    HISTOGRAM,
    IMAGE,
    PR_CURVES,
    SCALAR,
    TENSOR,
    TEXT,
    form_of,
    plural_of,
)
from tbcore_logs.items import LoggedItems
from tbcore_logs.noted import NotedField, RunNotes
from tbcore_logs.paths import Paths
from tbcore_logs.readers import Reader, reader_of
from tbcore_logs.reading import RunSnapshot, multiplexer_of
from tbcore_logs.series import ScalarSeries
from tbcore_logs.values import (
    LoggedAudio,
    LoggedHistogram,
    LoggedImage,
    LoggedPrCurve,
    logged_pr_curve,
)

HParam = float | str | bool
"""The value of a hyperparameter."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a run, without its values."""

    name: str
    kind: str
    """`scalar`, `image`, `audio`, `histogram`, `text` or `graph`; for any other data, the name of
    the plugin in its metadata or of its field, such as `tensor`. If any of the tag's values are
    scalars, it is `scalar`."""
    count: int
    """Number of values of this kind; 0 if all of them were orphaned by a restart."""
    first_step: int | None
    """Step of the value that was written first; None without values."""
    last_step: int | None
    """Step of the value that was written last; None without values."""
    display_name: str = ""
    """The tag's title, if it was logged; else "". PyTorch logs none."""
    description: str = ""
    """The tag's description as Markdown, if it was logged; else ""."""


class Run:
    """One run. It is read when its data is first used, and does not change after that.

    A copy in another process is read there again.
    """

    def __init__(self, name: str, reader: Reader) -> None:
        """Not called by users: `logs[name]` returns a run."""
        self.name = name
        self._reader = reader
        self._snapshot: RunSnapshot | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _run_of, (self.name, *self._reader.opened)

    def __repr__(self) -> str:
        if not self.is_read:
            return f"Run({self.name!r}, not read yet)"
        return f"Run({self.name!r}, num_tags={len(self.tags)})"

    def _repr_html_(self) -> str:
        """For notebooks: the tags, with small charts of scalars, and the hyperparameters."""
        first, last = (
            "unknown" if time is None else f"{time:%Y-%m-%d %H:%M:%S}"
            for time in (self.started, self.last_event)
        )  # fmt: skip
        rows: list[list[object]] = []
        for tag in list(self.tags.values())[:MAX_SHOWN]:
            row = [tag.name, tag.kind, tag.count, tag.first_step, tag.last_step]
            if tag.kind == SCALAR and (series := self[tag.name]).last:
                line = line_svg(series.step, series.value, width=120, height=20)
                row += [series.last.value, line]
            rows.append(row)
        header = ["tag", "kind", "count", "first step", "last step", "last value", ""]
        label = RunNotes(lambda: self._reader.notes).label(self.name)
        named = self.name if label == self.name else f"{label} ({self.name})"
        span = f"{first} to {last}" if self.started or self.last_event else ""
        parts = (f"{named}: {len(self.tags):,} tags", self.state, span)
        caption = ", ".join(part for part in parts if part)
        tags = table_html(header, rows, caption)
        hparams = table_html(("hyperparameter", "value"), self.hparams.items())
        return tags + hparams if self.hparams else tags

    @property
    def is_read(self) -> bool:
        """Whether the run's files have been read."""
        return self._snapshot is not None

    # -- notes ---------------------------------------------------------------------------------

    starred = NotedField(False, "Whether a user has starred the run. May be set, like all notes.")
    archived = NotedField(False, "Whether a user has archived the run.")
    display_name = NotedField(
        "", "A name for charts and tables; `name` stays that of the directory."
    )
    labels = NotedField[tuple[str, ...]]((), "The labels, which `#LABEL` finds in queries.")
    note = NotedField("", "A text, as Markdown.")
    color = NotedField("", "A colour such as `#2a78d6`.")

    # -- scalars -------------------------------------------------------------------------------

    def __getitem__(self, tag: str) -> ScalarSeries:
        """All points of the scalars of a tag. Raises KeyError for an unknown tag."""
        try:
            return ScalarSeries(self._data.view.scalars(self.name, tag))
        except NotFoundError as error:
            line = f"no tag {quoted(tag)} in run {quoted(self.name)}"
            line += instead(tag, self.scalar_tags, self)
            if tag in self:
                kind = self.tags[tag].kind
                method, line = plural_of(kind), str(error)
                line += f"; see run.{method}({tag!r})" if hasattr(self, method) else ""
            raise UnknownNameError(line) from None

    @property
    def scalar_tags(self) -> list[str]:
        """The tags with scalars, in order of first appearance."""
        return self._tags_with(SCALAR)

    # -- all other values ----------------------------------------------------------------------

    def images(self, tag: str) -> LoggedItems[LoggedImage]:
        """The pictures of a tag. Raises KeyError for an unknown tag."""
        return self._items(tag, IMAGE, lambda value: LoggedImage(*values.image(value)))

    def audio(self, tag: str) -> LoggedItems[LoggedAudio]:
        """The clips of a tag. Raises KeyError for an unknown tag."""

        def decode(value: Any) -> LoggedAudio:
            metadata = self._data.view.metadata(self.name, tag)
            return LoggedAudio(*values.audio(value, metadata))

        return self._items(tag, AUDIO, decode)

    def histograms(self, tag: str) -> LoggedItems[LoggedHistogram]:
        """The histograms of a tag. Raises KeyError for an unknown tag."""
        return self._items(tag, HISTOGRAM, lambda value: LoggedHistogram(*values.histogram(value)))

    def texts(self, tag: str) -> LoggedItems[str | NDArray[np.object_]]:
        """The texts of a tag. Raises KeyError for an unknown tag.

        Each is a str, or an array of str in the logged shape if several or none were logged.
        """
        return self._items(tag, TEXT, _text)

    def pr_curves(self, tag: str) -> LoggedItems[LoggedPrCurve]:
        """The precision-recall curves of a tag. Raises KeyError for an unknown tag."""
        return self._items(tag, PR_CURVES, logged_pr_curve)

    def tensors(self, tag: str) -> LoggedItems[NDArray[Any]]:
        """The arrays of a tag that was logged as tensors, whichever plugin shows it: such as the
        vertices of meshes. Raises KeyError for an unknown tag.

        They have the dtype and the shape that were logged; strings are objects of type bytes.
        """
        return self._items(tag, TENSOR, values.tensor)

    def graph(self) -> LoggedItems[bytes]:
        """The graphs of the model, each as a serialized GraphDef; the last one is the newest."""
        found = [item for tag in self._tags_with(GRAPH) for item in self._found(tag, GRAPH)]
        return LoggedItems(found, self._reading("", _graph))

    # -- the run -------------------------------------------------------------------------------

    @cached_property
    def tags(self) -> Mapping[str, Tag]:
        """All tags, in order of first appearance. No value is read or decoded."""
        view = self._data.view
        return MappingProxyType({tag: _described(tag, view) for tag in view.schema.tags})

    def __iter__(self) -> Iterator[str]:
        return iter(self._data.view.schema.tags)

    def __contains__(self, tag: object) -> bool:
        return tag in self._data.view.schema.tags

    @cached_property
    def hparams(self) -> Mapping[str, HParam]:
        """The hyperparameters, each a float, str or bool; lists and dicts are JSON.

        If the run itself logged none, it has those of the nearest run above it that did, or else
        those of the only run below it that did.
        """
        # There are few runs above. All other runs may be below, so they are read only if necessary.
        name, reader = self.name, self._reader
        above = [path for path in values.paths_above(name) if path in reader]
        for with_below in (False, True):
            below = reader.names_below(name) if with_below else []
            snapshots = {**reader.snapshots([*above, *below]), name: self._data}
            found = multiplexer_of(snapshots).hyperparameters([name]).get(name)
            if found is not None:
                reader.report(*filter(None, [found.problem]))
                return MappingProxyType(dict(found.values))
        return MappingProxyType({})

    @property
    def started(self) -> datetime | None:
        """When the first event was written, in UTC; None if unknown."""
        return time_of(self._data.view.first_event_time)

    @property
    def last_event(self) -> datetime | None:
        """When the last event was written, in UTC; None if unknown, as for a run of another program
        that logs no times: only its file has one, and a copy of the file that of the copying."""
        view = self._data.view
        is_known = view.source is None or view.source.has_times
        return time_of(view.last_event_time if is_known else None)

    @property
    def last_step(self) -> int | None:
        """The highest step of all events but graphs; None without one."""
        return self._data.view.highest_step()

    @property
    def state(self) -> str | None:
        """`live` if the run was written to in the last five minutes, as of the last scan, else
        `quiet`. A run of another program that says how it ended is `finished` or `failed`; for one
        that logs no times, it is None."""
        view, modified = self._data
        return run_state(view.last_event_time, modified, time.time(), view.source) or None

    @property
    def source(self) -> str | None:
        """The path below the log directory of the file to which another program logged the run,
        such as `version_0/metrics.csv`; None for a run of event files."""
        file = self._data.view.source
        return file and file.name

    # -- private -------------------------------------------------------------------------------

    @property
    def _data(self) -> RunSnapshot:
        """The data in the run's files. The first access reads them."""
        return self._snapshot or load([self], self._reader)[self.name]

    def _tags_with(self, form: str) -> list[str]:
        return list(self._data.view.schema.tags_matching(tuple(CLAIMS[form])))

    def _found(self, tag: str, form: str) -> list[Item]:
        view = self._data.view
        return items_of(view, view.find(self.name, tag, CLAIMS[form]))

    def _items(self, tag: str, form: str, decode: Callable[[Any], T]) -> LoggedItems[T]:
        try:
            return LoggedItems(self._found(tag, form), self._reading(tag, decode))
        except NotFoundError as error:
            message = str(error)
            if tag in self:
                what = plural_of(form)
                others = self._tags_with(form)
                known = f"; tags with {what}: {listed([*map(quoted, others)])}"
                where = f"{quoted(tag)} in run {quoted(self.name)}"
                message = f"no {what} under {where}{known if others else ''}"
            raise UnknownNameError(message) from None

    def _reading(self, tag: str, decode: Callable[[Any], T]) -> Callable[[Item], T]:
        """A function that reads and decodes an item of a tag, and reports any error."""

        def read(item: Item) -> T:
            try:
                return decode(item.read())
            except (DataError, NotFoundError) as error:
                self._reader.report(one_line(f"run {self.name!r}, tag {tag!r}: {error}"))
                raise

        return read


def _run_of(name: str, paths: Paths, purge_orphaned_data: bool) -> Run:
    """A run that was in another process."""
    return Run(name, reader_of(paths, purge_orphaned_data=purge_orphaned_data))


def load(runs: Iterable[Run], reader: Reader) -> dict[str, RunSnapshot]:
    """The data of each run by name. Runs that were not read yet are read together."""
    runs = list(runs)
    snapshots = reader.snapshots(run.name for run in runs if run._snapshot is None)
    for run in runs:
        if run._snapshot is None:
            run._snapshot = snapshots[run.name]
    return {run.name: run._snapshot for run in runs if run._snapshot is not None}


def _described(tag: str, view: RunView) -> Tag:
    """A tag with the facts about its scalars, or if it has none, about its first form."""
    kinds = view.schema.tags[tag].kinds
    forms = [form_of(kind) for kind in kinds]
    shown = SCALAR if SCALAR in forms else forms[0]
    extent = _extent(
        view, tag, [kind for kind, form in zip(kinds, forms, strict=True) if form == shown]
    )
    return Tag(tag, shown, *extent, *_names(view.metadata_of(tag)))


def _extent(view: RunView, tag: str, kinds: Collection[Kind]) -> tuple[int, int | None, int | None]:
    """The number of rows of a tag that have one of these kinds, and their first and last step.

    The steps are None if there are no rows.
    """
    found = [each for each in view.series(tag) if each.kind in kinds]
    if len(found) == 1 and len(found[0]):  # The usual case: no column need be made.
        count = len(found[0])
        steps = found[0].column_at("step", np.array([0, count - 1]))
    else:
        _, steps = merged_columns(found, 0, ["step"])
        count = len(steps)
    return (count, int(steps[0]), int(steps[-1])) if count else (0, None, None)


@lru_cache(maxsize=1024)
def _names(metadata: bytes | None) -> tuple[str, str]:
    """The display name and the description in the metadata, which many tags share."""
    parsed = values.Metadata.FromString(metadata or b"")
    return parsed.display_name, parsed.summary_description


def _text(value: Any) -> str | NDArray[np.object_]:
    strings = values.text(value)
    text: str | NDArray[np.object_] = strings.item() if strings.size == 1 else strings
    return text


def _graph(value: Any) -> bytes:
    graph: bytes = value if isinstance(value, bytes) else bytes(values.tensor(value).item())
    return graph
