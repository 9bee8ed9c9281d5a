"""SummaryReader: logs as pandas DataFrames, with the arguments and columns of tbparse's class.

reader -> files below its path -> columns of each tag -> frame
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Set
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tbcore import values
from tbcore.engine import is_event_file, tensor_to_numpy
from tbcore_compat import media
from tbcore_compat.event_accumulator import (
    AUDIO,
    HISTOGRAMS,
    IMAGES,
    SCALARS,
    TENSORS,
    EventAccumulator,
    reader_of,
)
from tbcore_compat.frames import EXTRA_COLUMNS, Block, frame_of
from tbcore_compat.histograms import (
    histogram_to_bins,
    histogram_to_cdf,
    histogram_to_pdf,
    tensor_to_histogram,
)
from tbcore_logs.reading import LazyReader

if TYPE_CHECKING:
    import pandas

HPARAMS, TEXT = "hparams", "text"
EVENT_TYPES = (IMAGES, AUDIO, HISTOGRAMS, SCALARS, TENSORS, HPARAMS, TEXT)


class SummaryReader:
    """A snapshot of the event files below a directory, or of a single event file."""

    def __init__(
        self,
        log_path: str | os.PathLike[str],
        *,
        pivot: bool = False,
        extra_columns: Set[str] | None = None,
        event_types: Set[str] | None = None,
        _reader: LazyReader | None = None,
    ) -> None:
        """Reads the files. Pictures, clips and the like are read when a frame is made.

        With `pivot` there is a column for each tag, and a list where a tag has several values at a
        step. `extra_columns` is a set of EXTRA_COLUMNS, by default empty, and `event_types` is a
        set of EVENT_TYPES, by default all. Raises ValueError for a path that does not exist and for
        an argument that is not a set, and KeyError for unknown names.
        """
        self.log_path = os.fspath(log_path)
        self._pivot = pivot
        self._extra = _checked("extra_columns", extra_columns, EXTRA_COLUMNS)
        self._event_types = _checked("event_types", event_types, EVENT_TYPES) or set(EVENT_TYPES)
        if not os.path.exists(self.log_path):
            raise ValueError(f"no such file or directory: {self.log_path!r}")
        reader = _reader or _reader_of_files(self.log_path)
        self._children: dict[str, SummaryReader] = {}
        self._accumulator: EventAccumulator | None = None
        if not os.path.isdir(self.log_path):
            self._accumulator = EventAccumulator(self.log_path)
            self._accumulator.reader, self._accumulator.run = reader, self.log_path
            self._accumulator.load()
            return
        options: dict[str, Any] = {"extra_columns": extra_columns, "event_types": event_types}
        for name in sorted(os.listdir(self.log_path)):
            path = os.path.join(self.log_path, name)
            if os.path.exists(path):  # False for a broken link.
                self._children[name] = SummaryReader(path, pivot=pivot, _reader=reader, **options)

    def __repr__(self) -> str:
        return f"SummaryReader(log_path={self.log_path!r})"

    def __getitem__(self, child: str) -> SummaryReader:
        return self._children[child]

    @property
    def children(self) -> dict[str, SummaryReader]:
        """A reader for each file and directory in the directory, by name."""
        return dict(self._children)

    # -- frames --------------------------------------------------------------------------------

    def get_events(self, event_type: str) -> pandas.DataFrame:
        """The frame of an event type. It has no columns if there are no values.

        Rows are sorted by `dir_name`, `file_name`, `tag` and `step`, as far as these are columns.
        """
        if _known(event_type, EVENT_TYPES) not in self._event_types:
            raise ValueError(f"event_types has no {event_type!r}")
        return frame_of(list(self._blocks(event_type)), self._extra, self._pivot)

    scalars = property(lambda self: self.get_events(SCALARS))
    """`step`, `tag` and `value`. Includes scalars that were logged as tensors."""
    tensors = property(lambda self: self.get_events(TENSORS))
    """`step`, `tag` and `value`, a number or an array. Includes scalars, pictures, clips and
    histograms that were logged as tensors."""
    histograms = property(lambda self: self.get_events(HISTOGRAMS))
    """`step`, `tag`, `counts` and `limits`."""
    images = property(lambda self: self.get_events(IMAGES))
    """`step`, `tag` and `value`, an array of shape (height, width, channels) of uint8.

    Raises ModuleNotFoundError if there are pictures, but Pillow is not installed.
    """
    audio = property(lambda self: self.get_events(AUDIO))
    """`step`, `tag` and `value`, an array of shape (frames, channels) from -1 to 1."""
    hparams = property(lambda self: self.get_events(HPARAMS))
    """`tag` and `value`."""
    text = property(lambda self: self.get_events(TEXT))
    """`step`, `tag` and `value`."""

    # -- tags and events -----------------------------------------------------------------------

    @property
    def tags(self) -> dict[str, list[str]]:
        """The tags by event type."""
        return {event_type: self._tags(event_type) for event_type in EVENT_TYPES}

    def get_tags(self, event_type: str | None = None) -> Any:
        """The tags of an event type, or `tags`."""
        return self.tags if event_type is None else self._tags(_known(event_type, EVENT_TYPES))

    @property
    def raw_tags(self) -> dict[str, Any]:
        """The result of `EventAccumulator.Tags` for the file, with the tags of texts and
        hyperparameters added. Raises ValueError for a directory."""
        file = self._file()
        return {**file.Tags(), **{name: _plugin_tags(file, name) for name in (HPARAMS, TEXT)}}

    def get_raw_tags(self, event_type: str | None = None) -> Any:
        """`raw_tags`, or only those of one event type."""
        tags = self.raw_tags
        return tags if event_type is None else tags[_known(event_type, tags)]

    @property
    def raw_events(self) -> dict[str, dict[str, Any]]:
        """The events of the file by event type and tag. Raises ValueError for a directory."""
        return {event_type: self.get_raw_events(event_type) for event_type in EVENT_TYPES}

    def get_raw_events(self, event_type: str | None = None, tag: str | None = None) -> Any:
        """`raw_events`, or only those of one event type, or of one event type and tag.

        Events of hyperparameters are serialized messages. Raises KeyError for unknown names.
        """
        if event_type is None:
            return self.raw_events
        if not tag:
            return {tag: self.get_raw_events(event_type, tag) for tag in self.raw_tags[event_type]}
        if event_type == HPARAMS:
            return self._file().PluginTagToContent(HPARAMS)[tag]
        return self._file().events(TENSORS if event_type == TEXT else event_type, tag)

    # -- conversions ---------------------------------------------------------------------------

    tensor_to_histogram = staticmethod(tensor_to_histogram)
    buckets_to_histogram_dict = staticmethod(tensor_to_histogram)
    histogram_to_cdf = staticmethod(histogram_to_cdf)
    histogram_to_pdf = staticmethod(histogram_to_pdf)
    histogram_to_bins = staticmethod(histogram_to_bins)
    tensor_to_image = staticmethod(media.tensor_to_image)
    tensor_to_audio = staticmethod(media.tensor_to_audio)

    # -- private -------------------------------------------------------------------------------

    def _file(self) -> EventAccumulator:
        if self._accumulator is None:
            raise ValueError(f"not an event file: {self.log_path!r}")
        return self._accumulator

    def _tags(self, event_type: str) -> list[str]:
        if self._accumulator is None:
            of_children = (child._tags(event_type) for child in self._children.values())
            return list(dict.fromkeys(tag for tags in of_children for tag in tags))
        return _tags(self._accumulator, event_type) if event_type in self._event_types else []

    def _blocks(self, event_type: str, dir_name: str = "") -> Iterator[Block]:
        """Yields the values of each tag in each file."""
        if self._accumulator is not None:
            file_name = os.path.basename(self.log_path)
            for tag, columns in _columns(self._accumulator, event_type):
                yield {**columns, "tag": tag, "dir_name": dir_name, "file_name": file_name}
        for name, child in self._children.items():
            below = dir_name if child._accumulator else os.path.join(dir_name, name)
            yield from child._blocks(event_type, below)


def _checked(option: str, given: Set[str] | None, known: Collection[str]) -> Set[str]:
    if not isinstance(given or set(), Set):
        raise ValueError(f"{option} must be a set, got {given!r}")
    if unknown := set(given or ()) - set(known):
        raise KeyError(f"{option} has unknown names: {', '.join(map(repr, sorted(unknown)))}")
    return given or set()


def _known(event_type: str, known: Collection[str]) -> str:
    if event_type not in known:
        raise ValueError(f"unknown event type {event_type!r}; expected one of {', '.join(known)}")
    return event_type


def _reader_of_files(path: str) -> LazyReader | None:
    """Reads the event files below a path, each as a run of its own whose name is its path."""
    walk = os.walk(path, followlinks=True)
    below = [os.path.join(folder, name) for folder, _, names in walk for name in names]
    files = [file for file in below or [path] if is_event_file(file)]
    files = [file for file in files if os.path.isfile(file)]
    if not files:
        return None
    reader = reader_of({file: file for file in files}, purge_orphaned_data=True)
    reader.snapshots(files)  # Reads them together.
    return reader


# -- columns -----------------------------------------------------------------------------------


def _plugin_tags(accumulator: EventAccumulator, plugin_name: str) -> list[str]:
    metadata = accumulator.summary_metadata.items()
    return [tag for tag, one in metadata if one.plugin_data.plugin_name == plugin_name]


def _hparams(accumulator: EventAccumulator) -> Mapping[str, Any]:
    metadata = accumulator.summary_metadata.get(values.SESSION_START_TAG)
    return values.session_start(metadata).hparams if metadata else {}


def _tags(accumulator: EventAccumulator, event_type: str) -> list[str]:
    if event_type == HPARAMS:
        return list(_hparams(accumulator))
    if event_type == TEXT:
        return _plugin_tags(accumulator, TEXT)
    others = [_plugin_tags(accumulator, name) for name in (TEXT, HPARAMS) if event_type == TENSORS]
    tags = accumulator.Tags()[event_type]
    return [tag for tag in tags if not any(tag in each for each in others)]


def _columns(accumulator: EventAccumulator, event_type: str) -> Iterator[tuple[str, Block]]:
    """Yields the columns of each tag in one file. A tag may occur twice: numbers, then others."""
    if event_type == HPARAMS:
        for name, value in _hparams(accumulator).items():
            yield name, {"value": np.fromiter([value], object, 1)}
        return
    for tag in _tags(accumulator, event_type):
        if event_type in (SCALARS, TENSORS):
            series = accumulator.numbers(event_type, tag)
            value = series.value.astype(np.float64)
            if len(series):
                yield tag, {"step": series.step, "wall_time": series.wall_time, "value": value}
        if event_type == SCALARS:
            continue
        form = TENSORS if event_type == TEXT else event_type
        if items := accumulator.read(form, tag, partial(_decoded, event_type)):
            columns: dict[str, Any] = {
                "step": np.array([item.step for item, _ in items], np.int64),
                "wall_time": np.array([item.wall_time for item, _ in items], np.float64),
            }
            for name in items[0][1]:  # Object arrays, even if each element is an array itself.
                columns[name] = np.fromiter((own[name] for _, own in items), object, len(items))
            # PyTorch and tensorboardX append this suffix to the tags of texts.
            yield tag.removesuffix("/text_summary") if event_type == TEXT else tag, columns


def _decoded(event_type: str, value: Any) -> dict[str, Any]:
    """The columns of one value, with the EXTRA_COLUMNS that it has."""
    if event_type == TENSORS:
        array = tensor_to_numpy(value.tensor)
        return {"value": array if array.ndim else array.item()}
    if event_type == TEXT:
        strings = values.text(value)
        return {"value": strings.item() if strings.size == 1 else strings}
    message = getattr(value, {HISTOGRAMS: "histo", IMAGES: "image", AUDIO: "audio"}[event_type])
    extra = {name: getattr(message, name) for name in EXTRA_COLUMNS if hasattr(message, name)}
    if event_type == HISTOGRAMS:
        counts, limits = np.array(message.bucket), np.array(message.bucket_limit)
        return {"counts": counts, "limits": limits, **extra}
    if event_type == IMAGES:
        return {"value": media.pixels(message.encoded_image_string), **extra}
    return {"value": media.samples(message.encoded_audio_string)[0], **extra}
