"""A process that runs TensorBoard's code: its start, its two sockets, its faults and its end."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import IO, Any

from tbcore import Multiplexer, PluginOptions, TbcoreError
from tbcore.engine import PluginStats, describe, printable_line
from tbcore_tensorboard.data import Data

logger = logging.getLogger("tbcore.tensorboard")

KEPT = (
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV",
)  # fmt: skip
"""The variables that a process gets: no token, no credentials, no address of an agent."""
START_SECONDS = 60
HANG_SECONDS = 60
PROBE_SECONDS = 5
MAX_REQUESTS = 12
"""Maximum number of requests that wait for a process: fewer than a plugin has threads, so that
others get a response while these hang."""
TURN_SECONDS = 3
"""Time for which another request waits for its turn."""
MAX_PATH_CHARACTERS = 60
"""Maximum length of the directory of such a folder: the path of a socket has 104, on macOS."""
LOG_WINDOW_SECONDS = 60
"""Time in which at most 20 lines of a process are logged."""
PROBLEM = re.compile(r"(WARNING|ERROR|CRITICAL):(\S.*)")
"""A line that the process logged by Python's `logging`: its level and the name of a logger."""
PREFIX = "tbcore-tensorboard-"
"""The beginning of the names of folders with the sockets and files of a process."""


class ProcessError(TbcoreError):
    """The process does not respond; the message says why."""

    status = 503


class HostedProcess:
    """One process, which starts at the first `connect`, and again after it was stopped."""

    def __init__(
        self,
        what: str,
        entry: EntryPoint | None,
        multiplexer: Multiplexer,
        options: Callable[[], PluginOptions],
        missing: str = "",
    ) -> None:
        """`entry` is the plugin to run; None for TensorBoard's page with its own plugins.

        `missing` is what keeps the process from being started at all.
        """
        self.what = what
        self.scripts: dict[str, str] = {}
        """The inline scripts of installed pages, by the names of the files that replace them."""
        self.is_plugin = entry is not None
        self._entry = entry
        self._multiplexer = multiplexer
        self._options = options
        self.missing = missing if os.name == "posix" else "it needs Linux or macOS"
        self._data = Data(multiplexer)
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(MAX_REQUESTS)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._socket: Path | None = None
        """The socket for requests, from the end of the start on."""
        self._folder_lock: IO[bytes] | None = None
        self._last_lines: deque[str] = deque(maxlen=20)
        self._reader: threading.Thread | None = None
        """Reads what the process writes, to its end."""
        self._limit = PluginStats(what, log_window_seconds=LOG_WINDOW_SECONDS)
        self._fault = ""

    @functools.cached_property
    def installed_pages(self) -> frozenset[bytes]:
        """The digests of the HTML files of the plugin's distribution."""
        files = (self._entry and self._entry.dist and self._entry.dist.files) or ()
        pages = (Path(str(file.locate())) for file in files if file.suffix == ".html")
        return frozenset(
            hashlib.sha256(page.read_bytes()).digest() for page in pages if page.exists()
        )

    def state(self) -> dict[str, str]:
        """What a tab shows: why the process does not run, and which limits are missing."""
        process, address = self._process, self._socket
        has_ended = process is not None and process.poll() is not None
        if not self._fault and (has_ended or (address and not address.exists())):
            fault = self._death(process) if has_ended else f"its socket was removed: {address}"
            if process is self._process:  # It was not started again since.
                self._fault = fault
        return {"fault": self._text(self.missing or self._fault), "warning": self._warning()}

    def connect(self) -> socket.socket:
        """A connection to the process, which is started if it does not run. Raises ProcessError."""
        with self._lock:
            if fault := self.state()["fault"]:
                raise ProcessError(fault)
            if self._process is None:
                self._start()
            address = str(self._socket)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(HANG_SECONDS)
        try:
            connection.connect(address)
        except OSError as error:
            connection.close()
            raise ProcessError(self._text(f"it does not respond: {error}")) from None
        return connection

    @contextlib.contextmanager
    def turn(self, seconds: float = TURN_SECONDS) -> Iterator[None]:
        """Within it, a call may wait for the process. Raises ProcessError if too many do."""
        if not self._turns.acquire(timeout=seconds):
            raise ProcessError(self._text(f"it has not responded to {MAX_REQUESTS} requests yet"))
        try:
            yield
        finally:
            self._turns.release()

    def is_to_start(self) -> bool:
        """Whether `connect` would start it, or wait for its start."""
        return not self.state()["fault"] and self._socket is None

    def is_stuck(self) -> bool:
        """Whether it has a fault, or all turns are taken."""
        if self.state()["fault"] or not self._turns.acquire(blocking=False):
            return True
        self._turns.release()
        return False

    def info(self) -> dict[str, Any]:
        """What the process wrote about itself when it began to serve."""
        try:
            return dict(json.loads((self._folder / "info").read_bytes())) if self._folder else {}
        except (OSError, ValueError):
            return {}

    def hung(self) -> ProcessError:
        """The error for a request without a response in time. Other requests may get theirs."""
        with contextlib.suppress(OSError), self.connect() as connection:
            connection.settimeout(PROBE_SECONDS)
            connection.sendall(b"GET /tbcore-probe HTTP/1.0\r\n\r\n")
            if connection.recv(1):
                line = f"it did not respond to this request for {HANG_SECONDS} seconds"
                return ProcessError(self._text(line))
        self._fault = f"it did not respond for {HANG_SECONDS} seconds"
        self._log(logging.ERROR, self._fault)
        return ProcessError(self._text(self._fault))

    def failed(self) -> ProcessError:
        """The error for a request without a response since the connection was closed."""
        with contextlib.suppress(subprocess.TimeoutExpired, AttributeError):
            self._process.wait(1)  # type: ignore[union-attr]
        fault = self.state()["fault"]
        return ProcessError(fault or self._text("it closed the connection"))

    def stop(self) -> None:
        """Ends the process; the next request starts another one."""
        with self._lock:
            self._end()
            self._fault = ""

    # -- private -------------------------------------------------------------------------------

    def _text(self, fault: str) -> str:
        return fault and f"{self.what}: {fault}"

    def _start(self) -> None:
        # Pages of the process are of the origin of this server, and so may use its write token.
        self._multiplexer.distrust_pages()
        listener = socket.socket(socket.AF_UNIX)
        try:
            self._folder, self._folder_lock = _new_folder()
            listener.bind(str(self._folder / "data"))
            listener.listen(64)
        except OSError as error:
            listener.close()
            self._end()
            self._fault = f"the folder with its sockets cannot be made: {error}"
            raise ProcessError(self._text(self._fault)) from None
        began, started = time.monotonic(), threading.Event()
        # Linux ends the process when the thread that started it ends. So that thread stays.
        run = threading.Thread(
            target=self._run, args=(listener, started), name="tensorboard-data", daemon=True
        )
        run.start()
        started.wait()
        while not (self._folder / "http").exists():
            if self._process is None or self._process.poll() is not None:
                self._fault = self._death(self._process)
            elif time.monotonic() - began > START_SECONDS:
                self._fault = f"it did not start within {START_SECONDS} seconds"
                self._log(logging.ERROR, self._fault)
            if self._fault:
                raise ProcessError(self._text(self._fault))
            time.sleep(0.02)
        self._socket = self._folder / "http"
        if warning := self._warning():
            logger.warning("%s", warning)

    def _run(self, listener: socket.socket, started: threading.Event) -> None:
        """Starts the process, and answers its queries until it ends."""
        assert self._folder
        options = self._options()
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        path = [os.path.abspath(entry) for entry in sys.path if entry]
        environment |= {"TMPDIR": str(self._folder), "PYTHONPATH": os.pathsep.join(path)}
        settings = {
            "plugin": self._entry.name if self._entry else None,
            "folder": str(self._folder),
            "logdir": options.logdir or "",
            "memory": options.values["memory"] << 20,
            "unconfined": options.values["unconfined"],
            "parent": os.getpid(),
        }
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tbcore_tensorboard.child", json.dumps(settings)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=self._folder,
                start_new_session=True,
            )
            reader = threading.Thread(target=self._keep_lines, args=(process.stdout,), daemon=True)
            reader.start()
            self._reader, self._process = reader, process
        finally:
            started.set()
        with listener:
            listener.settimeout(0.5)
            while process.poll() is None:
                with contextlib.suppress(TimeoutError):
                    connection, _ = listener.accept()
                    connection.settimeout(None)
                    threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
        if process is self._process:
            self._log(logging.ERROR, self._death(process))

    def _keep_lines(self, output: IO[bytes]) -> None:
        """Keeps the last lines that the process writes; a fault is explained by them."""
        with output:
            while line := output.readline(1000):
                if text := printable_line(line.decode("utf-8", "replace")).strip():
                    logger.debug("%s: %s", self.what, text)
                    if problem := PROBLEM.match(text):
                        self._log(getattr(logging, problem[1]), self._with_limit(problem[2]))
                    if not text.startswith("WARNING:"):
                        self._last_lines.append(text)

    def _log(self, level: int, line: str) -> None:
        if self._limit.may_log():
            logger.log(level, "%s", self._text(line))

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as stream, contextlib.suppress(OSError):
            while line := stream.readline(1 << 24):
                try:
                    result: Any = (True, self._data.answer(*json.loads(line)))
                except Exception as error:
                    self._log(logging.WARNING, f"a query failed: {describe(error)}")
                    result = (False, f"{type(error).__name__}: {error}")
                content = pickle.dumps(result, protocol=5)
                stream.write(len(content).to_bytes(8, "little"))
                stream.write(content)
                stream.flush()

    def _end(self) -> None:
        process, self._process, self._socket = self._process, None, None
        if process is not None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)  # Also what the plugin started.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.5)
        if self._folder is not None and self._folder_lock is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder_lock.close()
            self._folder = self._folder_lock = None
        self._last_lines.clear()

    def _warning(self) -> str:
        unlimited = self.info().get("unlimited")
        return self._text(f"this system does not limit its {unlimited}") if unlimited else ""

    def _death(self, process: subprocess.Popen[bytes] | None) -> str:
        """Why the process ended."""
        if self._reader:
            self._reader.join(1)  # The reason may be in the last line.
        status = process.returncode if process else None
        if error := self.info().get("error"):
            return self._with_limit(str(error))
        how = f"ended with status {status}"
        if status is not None and status < 0:
            how = f"was ended by {signal.Signals(-status).name}"
        last = f"; its last line was: {self._last_lines[-1][:300]}" if self._last_lines else ""
        return self._with_limit(f"its process {how}{last}")

    def _with_limit(self, line: str) -> str:
        """A line of the process, with the limit of its memory if it is about that."""
        if not re.search(r"MemoryError|bad_alloc|[Cc]annot allocate|memory allocation of", line):
            return line
        limit = f"--set tensorboard.memory={self._options().values['memory']}"
        return f"{line}; its memory is limited by {limit}, in MB"


def _new_folder() -> tuple[Path, IO[bytes]]:
    """Makes a folder of mode 0700; a file in it is locked as long as this server runs.

    Removes those of servers that were killed.
    """
    import fcntl

    where = tempfile.gettempdir()
    if len(where) > MAX_PATH_CHARACTERS:
        where = "/tmp"
    for folder in Path(where).glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid != os.getuid():
                continue  # In a directory that all users write to.
            with open(folder / "lock", "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=where))
    try:
        held = open(folder / "lock", "wb")  # noqa: SIM115
    except OSError:
        folder.rmdir()
        raise
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder, held
