"""write_run: writes an event file with the given data of a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tbcore.engine import Summary
from tbcore_testing import summaries
from tbcore_testing.writer import WALL_TIME, EventFileWriter, MetadataPolicy

Points = Mapping[str, Sequence[Any]]
"""Maps each tag to its points. A point is a tuple (step, value) or (step, value, wall_time), or
only a value, whose step is then its index in the sequence."""


class _Point(NamedTuple):
    step: int
    value: Any
    wall_time: float | None


def write_run(
    logdir: str | os.PathLike[str],
    run: str = ".",
    *,
    scalars: Points | None = None,
    histograms: Points | None = None,
    images: Points | None = None,
    audio: Points | None = None,
    texts: Points | None = None,
    graph: bytes | None = None,
    run_metadata: Mapping[str, bytes] | None = None,
    hparams: Mapping[str, Any] | None = None,
    values: Iterable[Summary.Value] = (),
    dtype: str | None = None,
    as_tensors: bool = False,
    restart_at: int | None = None,
    filename: str | None = None,
    file_version: str | None = "brain.Event:2",
    wall_time: float | None = None,
    metadata: MetadataPolicy = "first",
) -> Path:
    """Writes an event file of a run and returns its path.

    Points are written in the order of a training loop: the first points of all tags, then the
    second ones, and so on. Scalars are written as `simple_value` or, with a `dtype`, as tensors of
    this type. With `as_tensors` all values are tensors, and `dtype` is float32 by default.

    In `histograms` a value is a list of samples, and in `images` and `audio` it is encoded bytes.
    `graph` is a serialized GraphDef. `run_metadata` maps tags to serialized messages. `hparams`
    are hyperparameters, as for `summaries.session_start`. Other `values` are written at step 0,
    before the points.

    Each call writes a new file, which is read after the run's earlier files. If a file `filename`
    exists, the call appends to this file instead. `restart_at` is the step of a START event that is
    written before the points. `wall_time` is the time of the first event in seconds since the
    epoch, by default 1,000 seconds later for each file of the run. `file_version` and `metadata`
    are passed to EventFileWriter.
    """
    directory = Path(logdir) / run
    directory.mkdir(parents=True, exist_ok=True)
    file_index = len(list(directory.glob("*tfevents*")))
    if wall_time is None:
        wall_time = WALL_TIME + 1000.0 * file_index
    if filename is None:
        # All names have the same time, so that they are sorted by the index.
        filename = f"events.out.tfevents.{int(WALL_TIME)}.testing.{file_index:06d}"
    if as_tensors and dtype is None:
        dtype = "float32"

    def value_of(data_type: str, tag: str, value: Any) -> Summary.Value:
        match data_type:
            case "scalar":
                return summaries.scalar(tag, value, dtype=dtype)
            case "histogram":
                return summaries.histogram(tag, value, as_tensor=as_tensors)
            case "image":
                return summaries.image(tag, value, as_tensor=as_tensors)
            case "audio":
                return summaries.audio(tag, value, as_tensor=as_tensors)
            case _:
                return summaries.text(tag, value)

    series = [
        (data_type, tag, [*_points(points)])
        for data_type, points_by_tag in (
            ("scalar", scalars),
            ("histogram", histograms),
            ("image", images),
            ("audio", audio),
            ("text", texts),
        )
        for tag, points in (points_by_tag or {}).items()
    ]
    with EventFileWriter(
        directory / filename, file_version=file_version, wall_time=wall_time, metadata=metadata
    ) as writer:
        if restart_at is not None:
            writer.add_session_log("START", restart_at)
        if graph is not None:
            writer.add_graph(graph)
        if hparams is not None:
            writer.add_summary(0, summaries.session_start(hparams))
        for value in values:
            writer.add_summary(0, value)
        for tag, message in (run_metadata or {}).items():
            writer.add_run_metadata(tag, message)
        for index in range(max((len(points) for _, _, points in series), default=0)):
            for data_type, tag, points in series:
                if index < len(points):
                    point = points[index]
                    value = value_of(data_type, tag, point.value)
                    writer.add_summary(point.step, value, wall_time=point.wall_time)
    return directory / filename


def _points(points: Sequence[Any]) -> Iterator[_Point]:
    for index, point in enumerate(points):
        if isinstance(point, tuple):
            step, value, *rest = point
            yield _Point(step, value, rest[0] if rest else None)
        else:
            yield _Point(index, point, None)
