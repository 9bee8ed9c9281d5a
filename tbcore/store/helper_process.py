"""HelperProcess: a second process that reads runs for the loader while a server starts.

    loader  -- files of some runs -->  helper process
            <-- their RunReaders  --   (reads the files)

The loader continues with a returned reader in place of its own. The helper returns a reader only if
it has read the whole run and nothing was wrong. In all other cases (damage, a file that changed
while it was read, a helper that died) the loader reads the run itself. So errors are handled in the
loader only.

The process is a fork, made as soon as tbcore can decode. A program of its own would have to import
numpy again, which takes as long as the program would save.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NoReturn

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.storage import EventFile
from tbcore.store.run_reader import RunReader, preload_small_files

logger = logging.getLogger(__name__)

_MAX_DESCRIPTOR = 1 << 16
"""Higher than any file descriptor that is open when a server starts."""


RunFiles = Sequence[EventFile]
"""All files of one run."""


class HelperError(Exception):
    """The helper process has ended, and will not return the runs assigned to it."""


class HelperProcess:
    """A running helper process. It returns batches of runs in the order of assignment."""

    def __init__(self, decoder: Decoder, new_reader: Callable[[RunFiles], RunReader]) -> None:
        """Forks the process, which takes a millisecond: all modules are imported already.

        Must be called while this is the only thread, since a lock that another thread holds would
        never be released in the fork. `new_reader` returns a reader that uses `decoder` and has
        read nothing yet. The helper uses its own copies of both; readers that it returns use
        `decoder` itself. Raises OSError if the system cannot start a process.
        """
        self._decoder = decoder
        self._connection, child_connection = socket.socketpair()
        try:
            with child_connection:
                self._pid = os.fork()
                if not self._pid:
                    _helper_main(child_connection, decoder, new_reader)
        except OSError:
            self._connection.close()
            raise

    @staticmethod
    def is_supported() -> bool:
        """Whether the system can share memory this way, and there is a second processor."""
        return hasattr(os, "memfd_create") and len(os.sched_getaffinity(0)) > 1

    def assign(self, runs: Sequence[RunFiles]) -> None:
        """Sends a batch of runs, each as its files. Raises HelperError."""
        try:
            _send(self._connection, list(runs))
        except OSError as error:
            raise HelperError(str(error)) from None

    def has_result(self, timeout: float) -> bool:
        """Waits at most `timeout` seconds for a result; also true if the helper has ended."""
        poll = select.poll()  # Not select.select(), which knows only the first 1024 descriptors.
        poll.register(self._connection, select.POLLIN)
        return bool(poll.poll(timeout * 1000))

    def receive_result(self) -> list[RunReader | None]:
        """Waits for the result of the oldest batch of runs that has not been returned.

        Returns, for each run of the batch, a reader that has read all data, or None if anything was
        wrong. Raises HelperError.
        """
        try:
            readers: list[RunReader | None] | None = _receive(self._connection, self._decoder)
        except Exception as error:  # Unpickling may raise almost anything.
            raise HelperError(repr(error)) from None
        if readers is None:
            raise HelperError("the helper process ended")
        return readers

    def close(self) -> None:
        """Kills the process at once. Nothing is lost, since the loader can read all runs itself."""
        self._connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _helper_main(
    connection: socket.socket, decoder: Decoder, new_reader: Callable[[RunFiles], RunReader]
) -> NoReturn:
    """Runs the helper process: reads batches of runs until the connection is closed."""
    try:
        # Ctrl+C is sent to both processes, and only the loader's process handles it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _close_inherited_fds(connection.fileno())
        # The process ends soon, so its garbage need not be collected.
        gc.disable()
        logging.disable()  # The loader reads a run with problems again, and logs the problems.
        threading.Thread(target=_exit_when_parent_dies, args=[connection], daemon=True).start()
        small_files = SmallFileReader(tuning=decoder.tuning)
        while (runs := _receive(connection, decoder)) is not None:
            readers = [new_reader(files) for files in runs]
            _send(connection, list(_read_all(readers, small_files)))
    finally:
        # Not sys.exit(): the fork has copies of the exit handlers and output buffers of the
        # loader's process. Only the loader's process must run the handlers and write the buffers.
        os._exit(0)


def _close_inherited_fds(connection_fd: int) -> None:
    """Closes all files and sockets of the parent, except the connection to the parent.

    Otherwise these files would stay open after the parent has ended.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.closerange(3, connection_fd)
    os.closerange(connection_fd + 1, _MAX_DESCRIPTOR)


def _exit_when_parent_dies(connection: socket.socket) -> None:
    """Runs in a thread: ends the process as soon as the parent's end of the connection is closed.

    Without this thread, the main thread might read for minutes after the parent was killed.
    """
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    poll.poll()
    os._exit(0)


def _read_all(
    readers: Sequence[RunReader], small_files: SmallFileReader
) -> Iterator[RunReader | None]:
    """Reads each run to its end. Yields its reader, or None if anything was wrong."""
    for index, reader in enumerate(readers):
        try:
            while reader.has_work:
                preload_small_files(small_files, islice(readers, index, None))
                reader.read_slice(reader.tuning.time_slice_bytes)
        except Exception:
            yield None
        else:
            yield None if any((reader.read_errors, reader.problems, reader.other_files)) else reader


# -- messages ----------------------------------------------------------------------------------
#
# A message is a pickled object in a memory file, whose descriptor is passed through the socket. So
# the sender never waits for the receiver to read it.


def _decoder_of_receiver() -> Decoder:
    """Stands for any decoder in a message. Never called: see `_Unpickler.find_class`."""
    raise NotImplementedError


class _Unpickler(pickle.Unpickler):
    """Unpickles a message with the decoder of the process that receives it."""

    decoder: Decoder

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name == _decoder_of_receiver.__name__:
            decoder = self.decoder  # A cycle through the unpickler is never freed by Python 3.11.2.
            return lambda: decoder
        return super().find_class(module, name)


def _send(connection: socket.socket, message: object) -> None:
    """Writes a message to a memory file, and sends the file's descriptor to the other process."""
    with open(os.memfd_create("tbcore-helper", os.MFD_CLOEXEC), "wb") as file:
        pickler = pickle.Pickler(file, 5)
        pickler.dispatch_table = {Decoder: lambda _: (_decoder_of_receiver, ())}
        pickler.dump(message)
        file.flush()
        socket.send_fds(connection, [b"."], [file.fileno()])


def _receive(connection: socket.socket, decoder: Decoder) -> Any:
    """Waits for the next message and returns it; None if the other process has ended."""
    data, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if not data:
        return None
    with open(descriptors[0], "rb") as file:
        file.seek(0)
        unpickler = _Unpickler(file)
        unpickler.decoder = decoder
        return unpickler.load()
