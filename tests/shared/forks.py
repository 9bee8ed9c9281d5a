"""Fork: a program that begins with tbcore and its plugins imported, which takes no time."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PRELOADED = ("tbcore.cli", "tbcore.server.app", "tbcore.server.http_server", "tbcore.server.serve")


class Fork(ForkServerProcess):
    """`python -c PROGRAM ARGUMENTS`, with the methods of `Popen` that tests call.

    It is forked from a process in which PRELOADED and all plugins are imported: an import of these
    modules does not depend on its PYTHONPATH. A test of the start of a command uses `Popen`.
    """

    def __init__(
        self, program: str, arguments: Sequence[str], log: Path, environment: Mapping[str, str]
    ) -> None:
        """Starts the program; its output is added to the file `log`."""
        plugins = sorted(point.module for point in entry_points(group="tbcore.plugins"))
        get_context("forkserver").set_forkserver_preload([*PRELOADED, *plugins])
        super().__init__()
        self._program, self._arguments, self._log = program, arguments, log
        self._environment = dict(environment)
        log.touch()
        self.start()

    def run(self) -> None:
        """Runs the program, in the new process."""
        with self._log.open("ab") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        os.environ.clear()
        os.environ.update(self._environment)
        path = [path for path in sys.path if not Path(path).is_relative_to(TESTS)]
        python_path = self._environment.get("PYTHONPATH", "")
        sys.path[:] = [*filter(None, python_path.split(os.pathsep)), *path]
        importlib.invalidate_caches()
        sys.argv = ["-c", *self._arguments]
        exec(self._program, {"__name__": "__main__"})

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Waits until the program has ended; returns its exit status."""
        self.join(timeout)
        if self.exitcode is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        return self.exitcode
