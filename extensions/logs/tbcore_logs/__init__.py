"""Logs from Python: `tbcore.open(logdir)` reads event files without a server.

    logs = tbcore.open("runs")           # scans the directory; a run is read on first access
    logs["exp/a"]["loss"].min            # Point(step=900, wall_time=1700000000.0, value=0.125)
    logs.scalars("loss/*").to_pandas()   # all points of all runs

`Logs` has all runs, `Run` the data of one run, and `ScalarTable` the points of several runs.

tbcore-compat and tbcore-index also use `ROOT` and `Paths` of `tbcore_logs.paths`, `LazyReader`,
`RunSnapshot` and `multiplexer_of` of `tbcore_logs.reading`, `BatchReader` of
`tbcore_logs.batch_reader`, `UnknownNameError` of `tbcore_logs.errors`, `CheckReport` and `Finding`
of `tbcore_logs.checks`, and `command_output` of `tbcore_logs.printing.access`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbcore.engine import lazy_names

if TYPE_CHECKING:
    from tbcore.engine import Point
    from tbcore_logs.groups import group_runs
    from tbcore_logs.items import LoggedItem, LoggedItems
    from tbcore_logs.logs import Logs, open
    from tbcore_logs.run import Run, Tag
    from tbcore_logs.selection import matching
    from tbcore_logs.series import ScalarSeries
    from tbcore_logs.tables import LogTable, ScalarTable
    from tbcore_logs.values import LoggedAudio, LoggedHistogram, LoggedImage, LoggedPrCurve

__all__ = [
    "LogTable", "LoggedAudio", "LoggedHistogram", "LoggedImage", "LoggedItem", "LoggedItems",
    "LoggedPrCurve", "Logs", "Point", "Run", "ScalarSeries", "ScalarTable", "Tag", "group_runs",
    "matching", "open",
]  # fmt: skip

globals().update(lazy_names(__name__))
