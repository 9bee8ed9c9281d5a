"""Logs from Python: `tbcore.open(logdir)` reads event files without a server.

    logs = tbcore.open("runs")           # scans the directory; a run is read when it is asked for
    logs["exp/a"]["loss"].min            # Point(step=900, wall_time=1700000000.0, value=0.125)
    logs.scalars("loss/*").to_pandas()   # all points of all runs

`Logs` has the runs, `Run` has what was logged in one, and `ScalarTable` the points of several.
"""

from tbcore.logs.items import LoggedItem, LoggedItems
from tbcore.logs.logs import Logs, open
from tbcore.logs.run import Run, Tag
from tbcore.logs.tables import LogTable, ScalarTable
from tbcore.store.series import Point, ScalarSeries

__all__ = [
    "LogTable", "LoggedItem", "LoggedItems", "Logs", "Point", "Run", "ScalarSeries", "ScalarTable",
    "Tag", "open",
]  # fmt: skip
