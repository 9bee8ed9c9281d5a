"""Logs of other programs: CSV of Lightning and others, Hugging Face, W&B, MLflow.

Here are only the names of their files. A reader is imported as soon as there is a file for it.
Readers of other distributions derive from `Format`, and yield `Points` and `RunFacts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tbcore.engine import EventFile, SourceRun, lazy_names
from tbcore_formats.format import Format as Format

if TYPE_CHECKING:  # `as` makes a name public.
    from tbcore_formats.facts import RunFacts as RunFacts
    from tbcore_formats.reader import FormatReader as FormatReader
    from tbcore_formats.reader import Points as Points

_ENDS = "", "-journal", "-wal"


class _Format(Format):
    """A format whose objects are in the module `<name of the class>_runs`."""

    patterns: Sequence[str]
    has_twins = True
    has_times = True

    @cached_property
    def _runs(self) -> Any:
        return import_module(f"tbcore_formats.{type(self).__name__.lower()}_runs").Runs()

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterable[SourceRun | str]:
        found: Iterable[SourceRun | str] = self._runs.runs(files)
        return found

    def reader(self, run: SourceRun) -> FormatReader:
        reader: FormatReader = self._runs.reader(run)
        return reader

    def columns(self, file: EventFile) -> Sequence[str]:
        columns: Sequence[str] = self._runs.columns(file)
        return columns


class Csv(_Format):
    """CSV of Lightning, Fabric, Keras, Ultralytics, Ray, and others with a column of steps."""

    patterns = (
        "metrics.csv", "results.csv", "progress.csv", "training.log", "log.csv", "history.csv",
        "*_log.csv",
    )  # fmt: skip
    has_times = False


class Trainer(_Format):
    """The state that the Trainer of Hugging Face saves."""

    patterns = ("trainer_state.json",)
    has_times = False


class Mlflow(_Format):
    """The databases of MLflow."""

    patterns = tuple(f"*{name}*.db{end}" for name in ("mlflow", "mlruns") for end in _ENDS)
    has_twins = False


class Wandb(_Format):
    """The log of a run of W&B."""

    patterns = ("*.wandb",)
    has_twins = False


globals().update(lazy_names(__name__))
