"""Fork: a program that begins with tbcore and its plugins imported, which takes no time."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

TBCORE = "import sys; from tbcore.cli import main; sys.exit(main())"
"""The program that is the command `tbcore`."""

TESTS = Path(__file__).resolve().parents[1]
PRELOADED = (
    "tbcore.cli",
    "tbcore.server.app",
    "tbcore.server.http_server",
    "tbcore.server.serve",
    "tbcore_index.command",
    "tbcore_index.tables",
)


class Fork(ForkServerProcess):
    """`python -c PROGRAM ARGUMENTS`, with the methods of `Popen` that tests call.

    It is forked from a process in which PRELOADED and all plugins are imported: an import of these
    modules does not depend on its PYTHONPATH. A test of the start of a command uses `Popen`.
    """

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        output: Path,
        environment: Mapping[str, str],
        *,
        errors: Path | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Starts the program; its output is added to a file, and its stderr to that or another.

        If the output is the path of a terminal, the input is read from it.
        """
        plugins = sorted(point.module for point in entry_points(group="tbcore.plugins"))
        get_context("forkserver").set_forkserver_preload([*PRELOADED, *plugins])
        super().__init__()
        self.program, self.arguments, self.cwd = program, arguments, cwd
        self.environment = dict(environment)
        self.files = {1: output, 2: errors or output}
        for path in self.files.values():
            path.touch()
        self.start()

    def run(self) -> None:
        """Runs the program, in the new process."""
        for descriptor, path in self.files.items():
            opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOCTTY)
            os.dup2(opened, descriptor)
            os.close(opened)
        if os.isatty(1):
            os.dup2(1, 0)
            sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        os.chdir(self.cwd or ".")
        os.environ.clear()
        os.environ.update(self.environment)
        time.tzset()
        installed = [path for path in sys.path if path and not Path(path).is_relative_to(TESTS)]
        added = self.environment.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:] = ["", *filter(None, added), *installed]
        importlib.invalidate_caches()
        sys.argv = ["-c", *self.arguments]
        exec(self.program, {"__name__": "__main__"})

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Waits until the program has ended; returns its exit status."""
        self.join(timeout)
        if self.exitcode is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        return self.exitcode


def run(
    program: str, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The result of a Fork that ends by itself."""
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        fork = Fork(program, arguments, output, environment, errors=errors, cwd=cwd)
        status = fork.wait(60)
        return subprocess.CompletedProcess(
            program, status, output.read_text("utf-8"), errors.read_text("utf-8")
        )
