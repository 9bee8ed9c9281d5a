"""EventAccumulator: one run, with the methods of TensorBoard's class of this name.

Events are named tuples, so that `zip(*accumulator.Scalars(tag))` works as with old versions.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from tbcore.errors import UnknownNameError
from tbcore.eventfiles.proto.tensor_pb2 import TensorProto
from tbcore.eventfiles.tensors import numpy_to_tensor
from tbcore.eventfiles.wire import fields
from tbcore.kinds import Claim
from tbcore.logs.reading import LazyReader, RunSnapshot, multiplexer_of
from tbcore.queries.inheritance import ROOT
from tbcore.store.items import Item
from tbcore.store.series import ScalarSeries
from tbcore.store.state import quoted
from tbcore.store.view import RunView
from tbcore.values import Metadata, Value

T = TypeVar("T")

COMPRESSED_HISTOGRAMS = "distributions"
HISTOGRAMS = "histograms"
IMAGES = "images"
AUDIO = "audio"
SCALARS = "scalars"
TENSORS = "tensors"
GRAPH = "graph"
META_GRAPH = "meta_graph"
RUN_METADATA = "run_metadata"
"""The keys of `EventAccumulator.Tags`."""

DEFAULT_SIZE_GUIDANCE = {
    COMPRESSED_HISTOGRAMS: 500,
    IMAGES: 4,
    AUDIO: 4,
    SCALARS: 10000,
    HISTOGRAMS: 1,
    TENSORS: 10,
}
STORE_EVERYTHING_SIZE_GUIDANCE = dict.fromkeys(DEFAULT_SIZE_GUIDANCE, 0)
"""Both are for scripts that pass them on: nothing is ever sampled."""

NORMAL_HISTOGRAM_BPS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
"""Shares of a normal distribution, in hundredths of a percent, that are below its mean plus -inf,
-1.5, -1, -0.5, 0, 0.5, 1, 1.5 and inf standard deviations."""


class ScalarEvent(NamedTuple):
    """A point."""

    wall_time: float
    """Seconds since the epoch, here and in all other events."""
    step: int
    value: float


class LoggedHistogram(NamedTuple):
    """A histogram as it was logged."""

    min: float
    max: float
    num: float
    """Number of samples."""
    sum: float
    sum_squares: float
    bucket_limit: list[float]
    """The right edge of each bucket."""
    bucket: list[float]
    """The number of samples in each bucket."""


HistogramValue = LoggedHistogram
"""The name that it has in TensorBoard."""


class HistogramEvent(NamedTuple):
    wall_time: float
    step: int
    histogram_value: LoggedHistogram


class CompressedHistogramEvent(NamedTuple):
    wall_time: float
    step: int
    compressed_histogram_values: list[tuple[float, float]]
    """Pairs of a share, in hundredths of a percent, and the value that this share is below."""


class ImageEvent(NamedTuple):
    wall_time: float
    step: int
    encoded_image_string: bytes
    width: int
    height: int


class AudioEvent(NamedTuple):
    wall_time: float
    step: int
    encoded_audio_string: bytes
    content_type: str
    sample_rate: float
    length_frames: int


class TensorEvent(NamedTuple):
    wall_time: float
    step: int
    tensor_proto: TensorProto
    """What was logged. One number comes back as a float32 or float64, in both forms that there are:
    as `tensor_content`, and as `float_val` or `double_val`."""


class EventValues(Generic[T]):
    """All values of one form, by tag. They are read from disk each time that they are asked for."""

    def __init__(self, keys: Callable[[], list[str]], items: Callable[[str], list[T]]) -> None:
        self.Keys = keys
        """Returns the tags, in order of first appearance."""
        self._items = items

    def Items(self, key: str) -> list[T]:
        """The events of a tag, in the order written. Raises KeyError for an unknown tag."""
        if key not in self.Keys():
            raise UnknownNameError(f"no tag {quoted(key)} with values of this form")
        return self._items(key)


class EventAccumulator:
    """The event files in one directory, or a single one, as one run.

    It is empty until `Reload` is called. The properties `scalars`, `tensors`, `images`, `audios`,
    `histograms` and `compressed_histograms` have `Keys()` and `Items(tag)`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        size_guidance: Mapping[str, int] | None = None,
        compression_bps: Sequence[float] = NORMAL_HISTOGRAM_BPS,
        purge_orphaned_data: bool = True,
    ) -> None:
        """`size_guidance` has no effect: there are always all values.

        `compression_bps` are the shares in `CompressedHistograms`. Unless `purge_orphaned_data` is
        false, values that a restart of the training orphaned are left out.
        """
        self.path = os.fspath(path)
        self.purge_orphaned_data = purge_orphaned_data
        self._compression_bps = compression_bps
        self.reader: LazyReader | None = None
        """Of the path, or of a directory above it. Neither this nor `run` is for users."""
        self.run = ROOT
        """The name of the run in the reader."""
        self.show(RunSnapshot(RunView(), 0.0))
        self.scalars = EventValues(self._keys(Claim(is_scalar=True)), self._scalar_events)
        self.tensors = EventValues(self._keys(Claim("tensor")), self._tensor_events)
        self.images = self._values("image", _image_event)
        self.audios = self._values("audio", _audio_event)
        self.histograms = self._values("histo", _histogram_event)
        self.compressed_histograms = self._values("histo", self._compressed_event)

    def show(self, snapshot: RunSnapshot) -> None:
        """Replaces all values by those of a run. Not called by users."""
        self._view = snapshot.view
        self._multiplexer = multiplexer_of({ROOT: snapshot})

    def Reload(self) -> EventAccumulator:
        """Reads what was logged since the last call; returns the accumulator itself.

        Raises FileNotFoundError if the path does not exist.
        """
        if self.reader is None:
            self.reader = LazyReader(self.path, purge_orphaned_data=self.purge_orphaned_data)
        else:
            self.reader.refresh()
        self.load()
        return self

    def load(self) -> None:
        """Shows the run as its reader has it. Not called by users."""
        if self.reader is not None and self.run in self.reader:
            self.show(self.reader.snapshots([self.run])[self.run])
        elif not os.path.exists(self.path):
            raise FileNotFoundError(errno.ENOENT, "no such file or directory", self.path)

    def Tags(self) -> dict[str, Any]:
        """The tags of each form. Of graphs it says whether there is one."""
        meta_graph = bool(self._tags(Claim("meta_graph_def")))
        return {
            IMAGES: self.images.Keys(),
            AUDIO: self.audios.Keys(),
            HISTOGRAMS: self.histograms.Keys(),
            SCALARS: self.scalars.Keys(),
            COMPRESSED_HISTOGRAMS: self.compressed_histograms.Keys(),
            TENSORS: self.tensors.Keys(),
            GRAPH: meta_graph or bool(self._tags(Claim("graph_def"))),
            META_GRAPH: meta_graph,
            RUN_METADATA: self._tags(Claim("tagged_run_metadata")),
        }

    def Scalars(self, tag: str) -> list[ScalarEvent]:
        """The points of a tag, in the order written, as are all values here.

        Raises KeyError for an unknown tag, as do all methods with a tag.
        """
        return self.scalars.Items(tag)

    def Tensors(self, tag: str) -> list[TensorEvent]:
        return self.tensors.Items(tag)

    def Images(self, tag: str) -> list[ImageEvent]:
        return self.images.Items(tag)

    def Audio(self, tag: str) -> list[AudioEvent]:
        return self.audios.Items(tag)

    def Histograms(self, tag: str) -> list[HistogramEvent]:
        return self.histograms.Items(tag)

    def CompressedHistograms(self, tag: str) -> list[CompressedHistogramEvent]:
        return self.compressed_histograms.Items(tag)

    def Graph(self) -> Any:
        """The newest GraphDef. Raises ValueError without a graph.

        The classes of graphs and of run metadata are those of `tensorboard` or `tensorflow`; raises
        ModuleNotFoundError if neither is installed.
        """
        return _message("framework.graph", "GraphDef").FromString(self.SerializedGraph())

    def SerializedGraph(self) -> bytes:
        """The bytes of the GraphDef, which need no other package."""
        graph = self._last("graph_def")
        if graph is not None:
            return graph
        meta = self._last("meta_graph_def")
        if meta is None:
            raise ValueError(f"there is no graph in {self.path}")
        found = [field for field in fields(meta, 0, len(meta)) if field.number == 2]  # graph_def
        return b"".join(meta[field.begin : field.end] for field in found)

    def MetaGraph(self) -> Any:
        """The newest MetaGraphDef. Raises ValueError without one."""
        data = self._last("meta_graph_def")
        if data is None:
            raise ValueError(f"there is no metagraph in {self.path}")
        return _message("protobuf.meta_graph", "MetaGraphDef").FromString(data)

    def RunMetadata(self, tag: str) -> Any:
        """The newest RunMetadata of a tag. Raises ValueError for an unknown tag."""
        data = self._last("tagged_run_metadata", tag)
        if data is None:
            raise ValueError(f"there is no run metadata with the tag {quoted(tag)}")
        return _message("protobuf.config", "RunMetadata").FromString(data)

    def FirstEventTimestamp(self) -> float:
        """When the first event was written. Raises ValueError without events."""
        if self._view.first_event_time is None:
            self.Reload()
        if self._view.first_event_time is None:
            raise ValueError(f"there are no events in {self.path}")
        return self._view.first_event_time

    def SummaryMetadata(self, tag: str) -> Metadata:
        """The first metadata of a tag. Raises KeyError for a tag that has none."""
        info = self._view.schema.tags.get(tag)
        if info is None or info.metadata is None:
            raise UnknownNameError(f"no tag {quoted(tag)} with metadata")
        return Metadata.FromString(info.metadata)

    @property
    def summary_metadata(self) -> dict[str, Metadata]:
        """The first metadata of each tag that has some."""
        tags = self._view.schema.tags.items()
        return {tag: self.SummaryMetadata(tag) for tag, info in tags if info.metadata is not None}

    def PluginTagToContent(self, plugin_name: str) -> dict[str, bytes]:
        """Maps the tags of a plugin to what it stored in their metadata. Raises KeyError."""
        data = {tag: metadata.plugin_data for tag, metadata in self.summary_metadata.items()}
        found = {tag: one.content for tag, one in data.items() if one.plugin_name == plugin_name}
        if not plugin_name or not found:
            raise UnknownNameError(f"no tag is of the plugin {quoted(plugin_name)}")
        return found

    # -- for SummaryReader ---------------------------------------------------------------------

    def numbers(self, tag: str, claim: Claim) -> ScalarSeries:
        """Those values of a tag that are a single number, and match a claim."""
        return self._multiplexer.scalars(ROOT, tag, claims=(claim,))

    def read(self, tag: str, claim: Claim, decode: Callable[[Value], T]) -> list[tuple[Item, T]]:
        """All values of a tag that are not a single number, each with the result of `decode`."""
        return self._multiplexer.read_items(ROOT, tag, (claim,), decode)

    # -- private -------------------------------------------------------------------------------

    def _tags(self, claim: Claim) -> list[str]:
        return list(self._view.schema.tags_matching((claim,)))

    def _keys(self, claim: Claim) -> Callable[[], list[str]]:
        return lambda: self._tags(claim)

    def _values(self, field: str, event: Callable[..., T]) -> EventValues[T]:
        """The values with this field; `event` is called with wall time, step and the field."""
        claim = Claim(field)

        def items(tag: str) -> list[T]:
            found = self.read(tag, claim, attrgetter(field))
            return [event(item.wall_time, item.step, value) for item, value in found]

        return EventValues(self._keys(claim), items)

    def _scalar_events(self, tag: str) -> list[ScalarEvent]:
        series = self.numbers(tag, Claim(is_scalar=True))
        columns = series.wall_time.tolist(), series.step.tolist(), series.value.tolist()
        return list(map(ScalarEvent._make, zip(*columns, strict=True)))

    def _tensor_events(self, tag: str) -> list[TensorEvent]:
        series = self.numbers(tag, Claim("tensor"))
        columns = series.ordinal.tolist(), series.wall_time.tolist(), series.step.tolist()
        numbers = map(_tensor_of_number, series.value)
        rows = list(zip(*columns, numbers, strict=True))
        found = self.read(tag, Claim("tensor"), attrgetter("tensor"))
        rows += [(item.ordinal, item.wall_time, item.step, tensor) for item, tensor in found]
        return [TensorEvent(*row[1:]) for row in sorted(rows, key=lambda row: row[0])]

    def _compressed_event(
        self, wall_time: float, step: int, histo: Any
    ) -> CompressedHistogramEvent:
        values = compressed(histo, self._compression_bps)
        return CompressedHistogramEvent(wall_time, step, values)

    def _last(self, field: str, tag: str = "") -> bytes | None:
        """The last value of a field that is no summary; None if there is none."""
        claim = Claim(field)
        if tag not in self._tags(claim):
            return None
        items = self._multiplexer.items(ROOT, tag, (claim,))
        data = items[-1].read() if items else None
        return data if isinstance(data, bytes) else None


def compressed(histo: Any, shares: Sequence[float]) -> list[tuple[float, float]]:
    """The values that these shares of a histogram's samples are below, each after its share.

    Samples are assumed to be evenly distributed within their bucket. The last share is 100 percent.
    """
    # 1. Append an empty bucket, which is the one of shares that no bucket contains.
    # 2. Accumulate the counts to shares, at the right edge of each bucket.
    # 3. Find the bucket of each share, and interpolate between its edges, which are limited to the
    #    range of the samples.
    if not histo.num:
        return [(share, 0.0) for share in shares]
    counts, edges = np.array([[*histo.bucket, 0.0], [*histo.bucket_limit, 0.0]], float)  # 1
    upto = np.cumsum(counts * shares[-1] / (counts.sum() or 1.0))  # 2
    before, left = np.roll(upto, 1), np.maximum(np.roll(edges, 1), histo.min)
    before[0] = 0.0
    bucket = np.minimum(np.searchsorted(upto, shares, "right"), len(upto) - 1)  # 3
    left = np.where(before == 0, histo.min, left)[bucket]
    right = np.minimum(edges, histo.max)[bucket]
    with np.errstate(all="ignore"):
        part = (np.array(shares) - before[bucket]) / (upto - before)[bucket]
        inside = left + part * (right - left)
    values = np.where(bucket < len(upto) - 1, inside, histo.max)
    return list(zip(shares, values.tolist(), strict=True))


def _image_event(wall_time: float, step: int, image: Any) -> ImageEvent:
    names = ImageEvent._fields[2:]
    return ImageEvent(wall_time, step, *(getattr(image, name) for name in names))


def _audio_event(wall_time: float, step: int, audio: Any) -> AudioEvent:
    names = AudioEvent._fields[2:]
    return AudioEvent(wall_time, step, *(getattr(audio, name) for name in names))


def _histogram_event(wall_time: float, step: int, histo: Any) -> HistogramEvent:
    numbers = histo.min, histo.max, histo.num, histo.sum, histo.sum_squares
    value = LoggedHistogram(*numbers, list(histo.bucket_limit), list(histo.bucket))
    return HistogramEvent(wall_time, step, value)


def _tensor_of_number(number: np.floating[Any]) -> TensorProto:
    tensor = numpy_to_tensor(np.asarray(number))
    (tensor.float_val if number.dtype == np.float32 else tensor.double_val).append(float(number))
    return tensor


def _message(module: str, name: str) -> Any:
    """A class of TensorBoard, or else of TensorFlow, for a message that tbcore does not decode."""
    folder, _, base = module.rpartition(".")
    for path in (f"tensorboard.compat.proto.{base}_pb2", f"tensorflow.core.{folder}.{base}_pb2"):
        try:
            return getattr(import_module(path), name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"the class {name} is part of tensorboard: pip install tensorboard")
