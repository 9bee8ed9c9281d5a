"""EventMultiplexer: several runs, with the methods of TensorBoard's class of the same name."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from tbcore.engine import quoted
from tbcore_compat.event_accumulator import EventAccumulator, look_up, reader_of
from tbcore_logs.paths import ROOT
from tbcore_logs.reading import LazyReader

logger = logging.getLogger("tbcore.compat")

P = ParamSpec("P")
T = TypeVar("T")


def _of_run(
    method: Callable[Concatenate[EventAccumulator, P], T],
) -> Callable[Concatenate[EventMultiplexer, str, P], T]:
    """A method of the multiplexer that calls `method` of the run in its first argument."""

    @wraps(method)
    def call(self: EventMultiplexer, run: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self.GetAccumulator(run), *args, **kwargs)

    return call


class EventMultiplexer:
    """Runs by name, each an EventAccumulator. They are empty until `Reload` is called."""

    def __init__(
        self,
        run_path_map: Mapping[str, str] | None = None,
        size_guidance: Mapping[str, int] | None = None,
        purge_orphaned_data: bool = True,
    ) -> None:
        """Adds runs from a mapping of names to paths. See EventAccumulator for other options."""
        self.purge_orphaned_data = purge_orphaned_data
        self._accumulators: dict[str, EventAccumulator] = {}
        self._readers: dict[str, LazyReader] = {}
        """Maps each directory whose runs were added to the reader of these runs."""
        self._reload_called = False
        for run, path in (run_path_map or {}).items():
            self.AddRun(path, run)

    def AddRun(self, path: str | os.PathLike[str], name: str | None = None) -> EventMultiplexer:
        """Adds a run, whose name is its path by default. Returns the multiplexer itself.

        Replaces a run that has the same name and another path.
        """
        path = os.fspath(path)
        accumulator = self._added(path, name or path)
        if accumulator and self._reload_called:
            accumulator.Reload()
        return self

    def AddRunsFromDirectory(
        self, path: str | os.PathLike[str], name: str | None = None
    ) -> EventMultiplexer:
        """Adds all runs below a directory that are not added yet. Returns the multiplexer itself.

        Their names are their paths relative to the directory, after `name/` if there is a name.
        Does nothing if the directory does not exist. Raises ValueError for a file.
        """
        path = os.fspath(path)
        if os.path.isfile(path):
            raise ValueError(f"{path!r} is not a directory")
        if not os.path.exists(path):
            return self
        if path in self._readers:
            self._readers[path].refresh()
        else:
            self._readers[path] = reader_of(path, self.purge_orphaned_data)
        reader = self._readers[path]
        if self._reload_called:
            reader.snapshots(reader.sizes)
        for run in reader.sizes:
            directory = path if run == ROOT else os.path.join(path, run)
            if accumulator := self._added(directory, os.path.join(name or "", run)):
                accumulator.reader, accumulator.run = reader, run
                if self._reload_called:
                    accumulator.load()
        return self

    def Reload(self) -> EventMultiplexer:
        """Reads the data that was logged since the last call, and drops runs that are gone."""
        self._reload_called = True
        readers = list(self._readers.values())
        for reader in readers:
            reader.refresh()
            reader.snapshots(reader.sizes)
        for name, accumulator in list(self._accumulators.items()):
            try:
                accumulator.load() if accumulator.reader in readers else accumulator.Reload()
            except FileNotFoundError:
                logger.warning("run %s is gone", quoted(name))
                del self._accumulators[name]
        return self

    def Runs(self) -> dict[str, dict[str, Any]]:
        """The result of `Tags` for each run."""
        return {name: accumulator.Tags() for name, accumulator in self._accumulators.items()}

    def RunPaths(self) -> dict[str, str]:
        """Maps the names of runs to their paths."""
        return {name: accumulator.path for name, accumulator in self._accumulators.items()}

    def GetAccumulator(self, run: str) -> EventAccumulator:
        """A run. All methods with a run raise KeyError for an unknown one."""
        return look_up(run, self._accumulators, "run")

    def PluginRunToTagToContent(self, plugin_name: str) -> dict[str, dict[str, bytes]]:
        """The result of `PluginTagToContent` for each run that has tags of this plugin."""
        found = {}
        for name, accumulator in self._accumulators.items():
            with suppress(KeyError):
                found[name] = accumulator.PluginTagToContent(plugin_name)
        return found

    Scalars = _of_run(EventAccumulator.Scalars)
    Tensors = _of_run(EventAccumulator.Tensors)
    Images = _of_run(EventAccumulator.Images)
    Audio = _of_run(EventAccumulator.Audio)
    Histograms = _of_run(EventAccumulator.Histograms)
    CompressedHistograms = _of_run(EventAccumulator.CompressedHistograms)
    Graph = _of_run(EventAccumulator.Graph)
    SerializedGraph = _of_run(EventAccumulator.SerializedGraph)
    MetaGraph = _of_run(EventAccumulator.MetaGraph)
    RunMetadata = _of_run(EventAccumulator.RunMetadata)
    FirstEventTimestamp = _of_run(EventAccumulator.FirstEventTimestamp)
    SummaryMetadata = _of_run(EventAccumulator.SummaryMetadata)

    # -- private -------------------------------------------------------------------------------

    def _added(self, path: str, name: str) -> EventAccumulator | None:
        """Adds a run and returns it; None if it is there already."""
        if name in self._accumulators and self._accumulators[name].path == path:
            return None
        accumulator = EventAccumulator(path, purge_orphaned_data=self.purge_orphaned_data)
        self._accumulators[name] = accumulator
        return accumulator
