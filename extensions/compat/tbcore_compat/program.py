"""TensorBoard: starts a server, with the methods of TensorBoard's class of the same name.

    board = program.TensorBoard()
    board.configure(argv=[None, "--logdir", "runs"])
    print(board.launch())     # http://localhost:6006/

The server is a process of its own, so it takes no time from a training in this one. It ends with
this process; an interrupt that this process handles does not end it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote_plus

from tbcore import TbcoreError

START_TIMEOUT_SECONDS = 60
INTERRUPT_SECONDS = 1
"""How long an interrupted server has to begin to end before it gets SIGTERM."""
_SWITCHES = ("bind_all", "db_import", "inspect", "version_tb", "helpfull")
"""Flags that have no value."""
_FLAGS = (
    *_SWITCHES, "db", "detect_file_replacement", "event_file", "extra_data_server_flags",
    "generic_data", "grpc_creds_type", "grpc_data_provider", "host", "load_fast", "logdir",
    "logdir_spec", "max_reload_threads", "path_prefix", "port", "purge_orphaned_data",
    "reload_interval", "reload_multifile", "reload_multifile_inactive_secs", "reload_task",
    "reuse_port", "samples_per_plugin", "tag", "window_title",
)  # fmt: skip
"""The flags of TensorBoard 2.21."""
_OF_OTHERS = ("TBCORE_UDS", "TENSORBOARD_BINARY")
"""Variables of other servers: those without an address, and those of TensorBoard's magic."""
_ADDRESS = re.compile(r"tbcore \S+ at (.+) \(Press CTRL\+C to quit\)\n")
_TOKEN_FILE = "the address with its token is in "
_SECRET_FILE = "the server is below the secret path in "
_NEEDS_TOKEN = "requests need the given token\n"


class TensorBoard:
    """A server of logs, with the flags of TensorBoard and all options of `tbcore serve`."""

    def __init__(self, *arguments: object, **options: object) -> None:
        """Arguments, such as TensorBoard's list of plugins, have no effect."""
        self.flags: argparse.Namespace | None = None
        """The values of TensorBoard's flags, None for those that were not given."""
        self._others: list[str] = []
        """Options of `tbcore serve` that TensorBoard does not have."""

    def configure(self, argv: Sequence[str | None] = ("",), **flags: Any) -> list[str | None]:
        """Sets the options: `argv` like `sys.argv`, and flags, which take precedence.

        Returns the first element of `argv`, for `absl.app.run`. Raises ValueError for an unknown
        flag among `flags`; `launch` reports what is wrong with other options.
        """
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        for name in _FLAGS:
            value = {"action": "store_true"} if name in _SWITCHES else {"nargs": "?", "const": True}
            parser.add_argument(f"--{name}", default=None, **value)
        for name in flags:
            if name not in _FLAGS:
                raise ValueError(f"unknown TensorBoard flag: {name}")
        self.flags, self._others = parser.parse_known_args([str(text) for text in argv[1:]])
        vars(self.flags).update(flags)
        return list(argv[:1]) or [""]

    def launch(self) -> str:
        """Starts the server, and returns its address when it accepts requests.

        With a token or a secret path, the address has them. With `--uds` it is `unix:PATH`; the
        variable TBCORE_UDS has no effect. Raises TbcoreError, with one line, if the server cannot
        start.
        """
        process = self._start(
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            env={name: text for name, text in os.environ.items() if name not in _OF_OTHERS},
            # Interrupts of a terminal go to its process group, which must not be the server's.
            process_group=None if os.name == "nt" else 0,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        errors, is_late = _Errors(process.stderr), threading.Event()

        def give_up() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(START_TIMEOUT_SECONDS, give_up)
        timer.start()
        try:
            address = self._address(process.stdout)
            if is_late.is_set():
                raise TbcoreError(f"the server did not start within {START_TIMEOUT_SECONDS} s")
            if not address:
                raise TbcoreError(errors.last() or f"tbcore ended with status {process.wait()}")
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            timer.cancel()
        errors.show()
        # Lines that follow are read, too, so that the server never waits.
        threading.Thread(target=list, args=[process.stdout], daemon=True).start()
        return address

    def _address(self, lines: IO[str]) -> str:
        """The address that a server prints when it accepts requests; "" if it ends before.

        Raises TbcoreError if a secret in the address is in a file that cannot be read.
        """
        address = with_token = secret = query = ""
        for line in lines:
            if line.startswith(_TOKEN_FILE):
                with_token = _content(line.removeprefix(_TOKEN_FILE))
            elif line.startswith(_SECRET_FILE):
                secret = _content(line.removeprefix(_SECRET_FILE))
            elif line == _NEEDS_TOKEN:
                words = "\0".join(["", *self._others])
                given = re.findall("\0--token[=\0]([^\0]+)", words) or [os.environ["TBCORE_TOKEN"]]
                query = f"?token={quote_plus(given[-1])}"
            elif match := _ADDRESS.fullmatch(line):
                address = match[1]
                break
        if with_token or not address.startswith("http"):
            return with_token or address
        return f"{address.removesuffix('/')}{secret}/{query}"

    def main(self, ignored_argv: Sequence[str | None] = ("",)) -> int:
        """Serves until the process is interrupted. Returns the exit status."""
        process = self._start()
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # Ctrl-C in a terminal interrupts the server, too; `kill -INT` does not.
                with suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
                    return process.wait(INTERRUPT_SECONDS)
                process.terminate()

    def _start(self, **streams: Any) -> subprocess.Popen[str]:
        if self.flags is None:
            self.configure()
        options = [*self._others]
        for name, value in vars(self.flags).items():
            if value is True:
                options.append(f"--{name}")
            elif value is False and name not in _SWITCHES:
                options.append(f"--{name}=false")
            elif value is not None and value is not False:
                options.append(f"--{name}={os.fspath(value) if name == 'logdir' else value}")
        if os.name != "nt":
            options.append("--exit_with_parent")
        # -P: no file of the working directory takes the place of a module.
        command = [sys.executable, "-P", "-m", "tbcore", "serve", *options]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, **streams)


def _content(path: str) -> str:
    """The text of a file with a secret, without blanks at its ends."""
    try:
        return Path(path.rstrip("\n")).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise TbcoreError(f"cannot read the secret of the server's address: {error}") from None


class _Errors(threading.Thread):
    """What a server prints to stderr: kept until `show`, and then printed here, too."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._kept: list[str] = []
        self._is_shown = threading.Event()
        self.start()

    def run(self) -> None:
        for line in self._stream:
            if self._is_shown.is_set():
                sys.stderr.write(line)
            else:
                self._kept.append(line)

    def show(self) -> None:
        self._is_shown.set()
        sys.stderr.write("".join(self._kept))

    def last(self) -> str:
        """The last line of a server that has ended."""
        self.join()
        return self._kept[-1].strip() if self._kept else ""
