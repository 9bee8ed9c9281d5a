"""TensorBoard's `DataProvider` over the data of the server. Runs in a hosted process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tbcore_tensorboard.link import Link
from tbcore_tensorboard.mirror import REFRESH_SECONDS

Tagged = Mapping[str, Mapping[str, Any]]


def make_provider(link: Link, logdir: str, folders: Callable[[float], Iterable[str]]) -> Any:
    """A `DataProvider`; the names of the plugins to list are added to its set `plugin_names`.

    `folders` returns paths below the log directory, which are runs even without event files. Its
    argument is the current period, in which its result may stay the same.
    """
    from tensorboard import errors
    from tensorboard.data import provider

    class Provider(provider.DataProvider):  # type: ignore[misc]
        def __init__(self) -> None:
            self.plugin_names: set[str] = set()

        def data_location(self, ctx: Any = None, *, experiment_id: str) -> str:
            return logdir

        def experiment_metadata(self, ctx: Any = None, *, experiment_id: str) -> Any:
            return provider.ExperimentMetadata(data_location=logdir)

        def list_plugins(self, ctx: Any = None, *, experiment_id: str) -> list[str]:
            return list(link("with_data", sorted(self.plugin_names)))

        def list_runs(self, ctx: Any = None, *, experiment_id: str) -> list[Any]:
            more = dict.fromkeys(folders(time.monotonic() // REFRESH_SECONDS))
            return [
                provider.Run(run_id=run, run_name=run, start_time=start)
                for run, start in (more | dict(link("runs"))).items()
            ]

        def list_scalars(self, ctx: Any = None, **given: Any) -> Tagged:
            return listed("scalar", provider.ScalarTimeSeries, given)

        def list_tensors(self, ctx: Any = None, **given: Any) -> Tagged:
            return listed("tensor", provider.TensorTimeSeries, given)

        def list_blob_sequences(self, ctx: Any = None, **given: Any) -> Tagged:
            return listed("blob", provider.BlobSequenceTimeSeries, given)

        def read_scalars(self, ctx: Any = None, **given: Any) -> Tagged:
            datum = provider.ScalarDatum
            found = link("scalars", *_sampled(given))
            return _each(found, lambda row: list(map(datum, *(column.tolist() for column in row))))

        def read_last_scalars(self, ctx: Any = None, **given: Any) -> Tagged:
            return _each(link("last", *_wanted(given)), lambda row: provider.ScalarDatum(*row))

        def read_tensors(self, ctx: Any = None, **given: Any) -> Tagged:
            found = link("tensors", *_sampled(given))
            return _each(found, lambda rows: [provider.TensorDatum(*row) for row in rows])

        def read_blob_sequences(self, ctx: Any = None, **given: Any) -> Tagged:
            def datum(step: int, wall_time: float, keys: list[str]) -> Any:
                blobs = tuple(provider.BlobReference(key) for key in keys)
                return provider.BlobSequenceDatum(step=step, wall_time=wall_time, values=blobs)

            found = link("blobs", *_sampled(given))
            return _each(found, lambda rows: [datum(*row) for row in rows])

        def read_blob(self, ctx: Any = None, *, blob_key: str) -> bytes:
            if (found := link("blob", blob_key)) is None:
                raise errors.NotFoundError("no such blob")
            return bytes(found)

    def listed(kind: str, series: Callable[..., Any], given: Mapping[str, Any]) -> Tagged:
        def row(
            step: int, wall_time: float, content: bytes, description: str, name: str, length: int
        ) -> Any:
            more = {"max_length": length} if kind == "blob" else {}
            return series(
                max_step=step,
                max_wall_time=wall_time,
                plugin_content=content,
                description=description,
                display_name=name,
                **more,
            )

        plugin, *filters = _wanted(given)
        return _each(link("list", plugin, kind, *filters), lambda found: row(*found))

    return Provider()


def _each(found: Tagged, make: Callable[[Any], Any]) -> Tagged:
    return {run: {tag: make(value) for tag, value in tags.items()} for run, tags in found.items()}


def _wanted(given: Mapping[str, Any]) -> tuple[Any, ...]:
    """The plugin, and the runs and tags that are wanted; None for all."""
    found = given.get("run_tag_filter")
    filters = (found.runs, found.tags) if found else (None, None)
    return given["plugin_name"], *(None if each is None else list(each) for each in filters)


def _sampled(given: Mapping[str, Any]) -> tuple[Any, ...]:
    plugin, *filters = _wanted(given)
    return plugin, given.get("downsample") or 0, *filters
