"""EventAccumulator: one run, with the methods of TensorBoard's class of the same name."""

from __future__ import annotations

import errno
import os
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import make_dataclass
from functools import cache, partial
from importlib import import_module
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

import numpy as np

from tbcore import Claim, Item, ScalarSeries
from tbcore.engine import RunView, TensorProto, close_matches, fields, quoted
from tbcore.values import Metadata, Value
from tbcore_logs.errors import UnknownNameError
from tbcore_logs.paths import ROOT, Paths
from tbcore_logs.reading import LazyReader, RunSnapshot, multiplexer_of

T = TypeVar("T")

COMPRESSED_HISTOGRAMS, HISTOGRAMS, IMAGES = "distributions", "histograms", "images"
AUDIO, SCALARS, TENSORS = "audio", "scalars", "tensors"
GRAPH, META_GRAPH, RUN_METADATA = "graph", "meta_graph", "run_metadata"
CLAIMS = {
    IMAGES: Claim("image"),
    AUDIO: Claim("audio"),
    HISTOGRAMS: Claim("histo"),
    SCALARS: Claim(is_scalar=True),
    COMPRESSED_HISTOGRAMS: Claim("histo"),
    TENSORS: Claim("tensor"),
    GRAPH: Claim("graph_def"),
    META_GRAPH: Claim("meta_graph_def"),
    RUN_METADATA: Claim("tagged_run_metadata"),
}
"""Maps the keys of `EventAccumulator.Tags` to the kinds of values under each. As in TensorBoard,
images, clips and histograms that were logged as tensors are only under `tensors`."""

DEFAULT_SIZE_GUIDANCE = {
    COMPRESSED_HISTOGRAMS: 500, IMAGES: 4, AUDIO: 4, SCALARS: 10000, HISTOGRAMS: 1, TENSORS: 10,
}  # fmt: skip
STORE_EVERYTHING_SIZE_GUIDANCE = dict.fromkeys(DEFAULT_SIZE_GUIDANCE, 0)
"""For scripts that use these two constants. They have no effect, since nothing is sampled."""

NORMAL_HISTOGRAM_BPS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
"""Shares of a normal distribution, in hundredths of a percent, below its mean plus -inf, -1.5, -1,
-0.5, 0, 0.5, 1, 1.5 and inf standard deviations."""


class _Event:
    """What TensorBoard's events have that named tuples have not.

    Its events were named tuples, and are dataclasses since version 2.6. Scripts use them as either:
    `zip(*events)`, `event[2]` and `_asdict()`, or `vars(event)` and `dataclasses.asdict(event)`.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        fields: Any = cls
        made: Any = make_dataclass(cls.__name__, fields._fields, frozen=True)
        fields.__dataclass_fields__ = made.__dataclass_fields__

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        event: Any = self
        found: dict[str, Any] = event._asdict()
        return found


class ScalarEvent(namedtuple("ScalarEvent", "wall_time step value"), _Event):
    """A point. Wall times are seconds since the epoch, here and in all other events."""

    __slots__ = ()


class ImageEvent(
    namedtuple("ImageEvent", "wall_time step encoded_image_string width height"), _Event
):
    __slots__ = ()


class AudioEvent(
    namedtuple(
        "AudioEvent", "wall_time step encoded_audio_string content_type sample_rate length_frames"
    ),
    _Event,
):
    __slots__ = ()


class TensorEvent(namedtuple("TensorEvent", "wall_time step tensor_proto"), _Event):
    """A TensorProto as it was logged. A single number becomes a float32 or float64 that is in both
    `tensor_content` and `float_val` or `double_val`, as scripts may read either."""

    __slots__ = ()


class HistogramEvent(namedtuple("HistogramEvent", "wall_time step histogram_value"), _Event):
    __slots__ = ()


class CompressedHistogramEvent(
    namedtuple("CompressedHistogramEvent", "wall_time step compressed_histogram_values"), _Event
):
    """The values are pairs of a share, in hundredths of a percent, and the value that this share of
    the samples is below."""

    __slots__ = ()


class LoggedHistogram(
    namedtuple("LoggedHistogram", "min max num sum sum_squares bucket_limit bucket"), _Event
):
    """The last two are lists, with the right edge of each bucket and the number of its samples."""

    __slots__ = ()


HistogramValue = LoggedHistogram
"""Its name in TensorBoard."""

EventValues = namedtuple("EventValues", "Keys Items")
"""All values of one form: `Keys()` returns the tags, and `Items(tag)` the events of a tag in the
order written, which are read from disk each time."""


class EventAccumulator:
    """One run: the event files in a directory, or a single event file.

    It is empty until `Reload` is called. The attributes `scalars`, `tensors`, `images`, `audios`,
    `histograms` and `compressed_histograms` are `EventValues`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        size_guidance: Mapping[str, int] | None = None,
        compression_bps: Sequence[float] = NORMAL_HISTOGRAM_BPS,
        purge_orphaned_data: bool = True,
    ) -> None:
        """`size_guidance` has no effect: all values are always there.

        `compression_bps` are the shares in `CompressedHistograms`. Values that a restart of the
        training orphaned are left out, unless `purge_orphaned_data` is false.
        """
        self.path = os.fspath(path)
        self.purge_orphaned_data = purge_orphaned_data
        self._compression_bps = compression_bps
        self.reader: LazyReader | None = None
        """The reader of the path, or of a directory above it. Like `run`, it is not for users."""
        self.run = ROOT
        """The name of the run in the reader."""
        self._show(RunSnapshot(RunView(), 0.0))
        forms = SCALARS, TENSORS, IMAGES, AUDIO
        self.scalars, self.tensors, self.images, self.audios = map(self._values, forms)
        self.histograms = self._values(HISTOGRAMS)
        self.compressed_histograms = self._values(COMPRESSED_HISTOGRAMS)

    def Reload(self) -> EventAccumulator:
        """Reads the data that was logged since the last call. Returns the accumulator itself.

        Raises FileNotFoundError if the path does not exist.
        """
        if self.reader is None:
            self.reader = reader_of(self.path, self.purge_orphaned_data)
        else:
            self.reader.refresh()
        return self.load()

    def load(self) -> EventAccumulator:
        """Shows the data that the reader has of the run. Not called by users."""
        if self.reader is not None and self.run in self.reader:
            self._show(self.reader.snapshots([self.run])[self.run])
        elif not os.path.exists(self.path):
            raise FileNotFoundError(errno.ENOENT, "no such file or directory", self.path)
        return self

    def Tags(self) -> dict[str, Any]:
        """Maps each form to its tags; for graphs, to whether there is one."""
        tags: dict[str, Any] = {form: self._tags(form) for form in CLAIMS}
        tags[META_GRAPH] = bool(tags[META_GRAPH])
        return {**tags, GRAPH: tags[META_GRAPH] or bool(tags[GRAPH])}

    def Scalars(self, tag: str) -> list[ScalarEvent]:
        """The points of a tag, in the order written.

        All methods with a tag return values in this order, and raise KeyError for an unknown tag.
        """
        return self.events(SCALARS, tag)

    def Tensors(self, tag: str) -> list[TensorEvent]:
        return self.events(TENSORS, tag)

    def Images(self, tag: str) -> list[ImageEvent]:
        return self.events(IMAGES, tag)

    def Audio(self, tag: str) -> list[AudioEvent]:
        return self.events(AUDIO, tag)

    def Histograms(self, tag: str) -> list[HistogramEvent]:
        return self.events(HISTOGRAMS, tag)

    def CompressedHistograms(self, tag: str) -> list[CompressedHistogramEvent]:
        return self.events(COMPRESSED_HISTOGRAMS, tag)

    def Graph(self) -> Any:
        """The newest GraphDef. Raises ValueError if there is no graph.

        The classes of graphs and of run metadata are from `tensorboard` or `tensorflow`. Raises
        ModuleNotFoundError if neither is installed.
        """
        return _message("framework.graph", "GraphDef").FromString(self.SerializedGraph())

    def SerializedGraph(self) -> bytes:
        """The newest GraphDef as bytes, for which no other package is needed."""
        try:
            return self._last(GRAPH)
        except ValueError:
            meta = self._last(META_GRAPH, what=GRAPH)
        found = [field for field in fields(meta, 0, len(meta)) if field.number == 2]  # graph_def
        return b"".join(meta[field.begin : field.end] for field in found)

    def MetaGraph(self) -> Any:
        """The newest MetaGraphDef. Raises ValueError if there is none."""
        return _message("protobuf.meta_graph", "MetaGraphDef").FromString(self._last(META_GRAPH))

    def RunMetadata(self, tag: str) -> Any:
        """The newest RunMetadata of a tag. Raises ValueError for an unknown tag."""
        data = self._last(RUN_METADATA, tag, f"run metadata with the tag {quoted(tag)}")
        return _message("protobuf.config", "RunMetadata").FromString(data)

    def FirstEventTimestamp(self) -> float:
        """When the first event was written. Raises ValueError if no event has a time."""
        time = self._view.first_event_time or self.Reload()._view.first_event_time
        if time is None:
            what = "no times" if self._view.schema.tags else "no events"
            raise ValueError(f"there are {what} in {self.path}")
        return time

    def SummaryMetadata(self, tag: str) -> Any:
        """The first metadata of a tag. Raises KeyError for a tag that has none.

        Of TensorBoard's class if that is installed, so that they can be equal, else of tbcore's.
        """
        return _metadata_class().FromString(look_up(tag, self._metadata, "tag"))

    @property
    def summary_metadata(self) -> dict[str, Any]:
        """The first metadata of each tag that has some; see `SummaryMetadata`."""
        parse = _metadata_class().FromString
        return {tag: parse(data) for tag, data in self._metadata.items()}

    def PluginTagToContent(self, plugin_name: str) -> dict[str, bytes]:
        """Maps the tags of a plugin to the plugin's data in their metadata.

        Raises KeyError for an unknown plugin.
        """
        found: dict[str, dict[str, bytes]] = {}
        for tag, metadata in self.summary_metadata.items():
            data = metadata.plugin_data
            if data.plugin_name:
                found.setdefault(data.plugin_name, {})[tag] = data.content
        return look_up(plugin_name, found, "plugin")

    # -- for SummaryReader ---------------------------------------------------------------------

    def events(self, form: str, tag: str) -> list[Any]:
        """All events of a form with this tag. Raises KeyError for an unknown tag."""
        look_up(tag, dict.fromkeys(self._tags(form)), "tag")
        if form == COMPRESSED_HISTOGRAMS:
            return [
                CompressedHistogramEvent(wall_time, step, compressed(value, self._compression_bps))
                for wall_time, step, value in self.Histograms(tag)
            ]
        if form == SCALARS:
            series = self.numbers(form, tag)
            columns = series.wall_time.tolist(), series.step.tolist(), series.value.tolist()
            return list(map(ScalarEvent._make, zip(*columns, strict=True)))
        event, decode = _EVENTS[form]
        found = self.read(form, tag, decode)
        rows = [(item.ordinal, item.wall_time, item.step, *values) for item, values in found]
        if form == TENSORS:
            series = self.numbers(form, tag)
            columns = series.ordinal.tolist(), series.wall_time.tolist(), series.step.tolist()
            rows += zip(*columns, map(_tensor_of_number, series.value), strict=True)
            rows.sort(key=itemgetter(0))
        return [event(*row[1:]) for row in rows]

    def numbers(self, form: str, tag: str) -> ScalarSeries:
        """The values of a tag that are single numbers."""
        return self._multiplexer.scalars(self.path, tag, claims=(CLAIMS[form],))

    def read(self, form: str, tag: str, decode: Callable[[Value], T]) -> list[tuple[Item, T]]:
        """The values of a tag that are not single numbers, each with the result of `decode`."""
        return self._multiplexer.read_items(self.path, tag, (CLAIMS[form],), decode)

    # -- private -------------------------------------------------------------------------------

    def _show(self, snapshot: RunSnapshot) -> None:
        self._view = snapshot.view
        self._multiplexer = multiplexer_of({self.path: snapshot})
        found = {tag: snapshot.view.metadata_of(tag) for tag in snapshot.view.schema.tags}
        self._metadata = {tag: each for tag, each in found.items() if each is not None}

    def _tags(self, form: str) -> list[str]:
        return list(self._view.schema.tags_matching((CLAIMS[form],)))

    def _values(self, form: str) -> EventValues:
        return EventValues(partial(self._tags, form), partial(self.events, form))

    def _last(self, form: str, tag: str = "", what: str = "") -> bytes:
        """The last graph or run metadata with this tag. Raises ValueError if there is none."""
        tags = self._tags(form)
        items = self._multiplexer.items(self.path, tag, (CLAIMS[form],)) if tag in tags else []
        if not items:
            raise ValueError(f"there is no {what or form} in {self.path}")
        data = items[-1].read()
        return data if isinstance(data, bytes) else b""


def reader_of(paths: Paths, purge_orphaned_data: bool) -> LazyReader:
    """A reader that drops the orphaned rows that TensorBoard drops.

    `tbcore.open` keeps those before the first START of a run.
    """
    return LazyReader(paths, purge_orphaned_data=purge_orphaned_data, purge_at_start=True)


def compressed(histogram: LoggedHistogram, shares: Sequence[float]) -> list[tuple[float, float]]:
    """Pairs of each share and the value that this share of a histogram's samples is below.

    Samples are assumed to be evenly distributed within their bucket. The last share counts as 100
    percent. tbcore_distributions computes the same for many histograms at once.
    """
    # 1. Append an empty bucket, which stands for shares that no bucket contains.
    # 2. Accumulate the counts to shares, at the right edge of each bucket.
    # 3. Find the bucket that contains each share, and interpolate between the bucket's edges, which
    #    are limited to the range of the samples.
    if not histogram.num:
        return [(share, 0.0) for share in shares]
    counts = np.array([*histogram.bucket, 0.0])  # 1
    edges = np.array([*histogram.bucket_limit, 0.0])
    upto = np.cumsum(counts * shares[-1] / (counts.sum() or 1.0))  # 2
    before, left = np.roll(upto, 1), np.maximum(np.roll(edges, 1), histogram.min)
    before[0] = 0.0
    bucket = np.minimum(np.searchsorted(upto, shares, "right"), len(upto) - 1)  # 3
    left = np.where(before == 0, histogram.min, left)[bucket]
    right = np.minimum(edges, histogram.max)[bucket]
    with np.errstate(all="ignore"):
        part = (np.array(shares) - before[bucket]) / (upto - before)[bucket]
        inside = left + part * (right - left)
    values = np.where(bucket < len(upto) - 1, inside, histogram.max)
    return list(zip(shares, values.tolist(), strict=True))


def look_up(name: str, known: Mapping[str, T], what: str) -> T:
    """The value for a name. For an unknown name, raises KeyError with similar names."""
    if name not in known:
        raise UnknownNameError(f"no {what} {quoted(name)}{close_matches(name, known)}")
    return known[name]


def _logged_histogram(value: Any) -> tuple[LoggedHistogram]:
    *numbers, limits, counts = attrgetter(*LoggedHistogram._fields)(value.histo)
    return (LoggedHistogram._make([*numbers, list(limits), list(counts)]),)


def _fields_of(field: str, event: Any) -> Callable[[Any], tuple[Any, ...]]:
    """A function from a value to the fields of an event after wall time and step."""
    return attrgetter(*(f"{field}.{name}" for name in event._fields[2:]))


_EVENTS: Mapping[str, tuple[Callable[..., Any], Callable[[Any], tuple[Any, ...]]]] = {
    IMAGES: (ImageEvent, _fields_of("image", ImageEvent)),
    AUDIO: (AudioEvent, _fields_of("audio", AudioEvent)),
    HISTOGRAMS: (HistogramEvent, _logged_histogram),
    TENSORS: (TensorEvent, lambda value: (value.tensor,)),
}
"""The event of each form that is decoded, and the function from a value to what comes after wall
time and step."""


def _tensor_of_number(number: np.floating[Any]) -> Any:
    """A TensorProto with a number, both in `tensor_content` and in its typed field."""
    content, values = number.tobytes(), [float(number)]
    if number.dtype == np.float32:
        return TensorProto(dtype="DT_FLOAT", tensor_content=content, float_val=values)
    return TensorProto(dtype="DT_DOUBLE", tensor_content=content, double_val=values)


@cache
def _metadata_class() -> Any:
    try:
        return _message("framework.summary", "SummaryMetadata")
    except ModuleNotFoundError:
        return Metadata


def _message(module: str, name: str) -> Any:
    """TensorBoard's class for a message that tbcore does not decode, or else TensorFlow's."""
    folder, _, base = module.rpartition(".")
    for path in (f"tensorboard.compat.proto.{base}_pb2", f"tensorflow.core.{folder}.{base}_pb2"):
        try:
            return getattr(import_module(path), name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"the class {name} is part of tensorboard: pip install tensorboard")
