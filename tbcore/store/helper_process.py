"""HelperProcess: a second process that reads runs for the loader while a server starts.

    loader  -- files of runs -->  assistant
            <-- their readers --   (decodes them, as the loader would)

A reader that comes back is used as if the loader had read the run itself. Its columns come in
memory that both processes map, without being copied on this side; only what holds them together is
pickled. The assistant gives back whole runs in which nothing was wrong. All else (damage, a file
that changed meanwhile, an assistant that died) is left for the loader, which has it all still to
read: so there is one place where such shared_objects are dealt with.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import logging
import mmap
import os
import pickle
import select
import signal
import socket
import threading
import weakref
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import EventFile
from tbcore.eventfiles.read_ahead import Pile
from tbcore.eventfiles.tail import TURN_BYTES
from tbcore.store import series
from tbcore.store.run_reader import RunReader, preload_small_files
from tbcore.store.series import BlockLayout

logger = logging.getLogger(__name__)

_HEADER_BYTES = 8
"""Of a message: where what was pickled begins in its memory."""
_ALIGNMENT = 8
_MAX_PARTS_PER_WRITE = 512
"""Written at once; systems receive_result a thousand."""
_MAX_DESCRIPTOR = 1 << 16
"""Above any that is open when a server starts."""


RunFiles = Sequence[EventFile]
"""The files of a run, to be read from its beginning."""


class HelperError(Exception):
    """The assistant is gone, and what was ordered of it will not come."""


class HelperProcess:
    """A running assistant. Takes runs in batches and answers them in the same files."""

    def __init__(self, decoder: Decoder, **options: Any) -> None:
        """Forks the process: it knows all that is imported, and costs a millisecond.

        Only while this is the only thread, for locks that others hold would never be free there.
        Readers that come back use `decoder`. `options` are those of RunReader. Raises OSError when
        the system gives no process.
        """
        self._shared_objects = _shared_objects(decoder)
        self._connection, theirs = socket.socketpair()
        try:
            with theirs:
                self._pid = os.fork()
                if not self._pid:
                    _helper_main(theirs, options)
        except OSError:
            self._connection.close()
            raise

    @staticmethod
    def is_supported() -> bool:
        """Whether this system can share memory in this way, and has a processor to spare."""
        return hasattr(os, "memfd_create") and len(os.sched_getaffinity(0)) > 1

    def assign(self, runs: Sequence[RunFiles]) -> None:
        """Sends a batch of runs. Raises HelperError."""
        try:
            _send(self._connection, list(runs), self._shared_objects)
        except OSError as error:
            raise HelperError(str(error)) from None

    def has_result(self, timeout: float) -> bool:
        """Waits so many seconds at most for an answer; true as well when none can come any more."""
        answer = select.poll()  # Not select(), which knows only the first 1024 descriptors.
        answer.register(self._connection, select.POLLIN)
        return bool(answer.poll(timeout * 1000))

    def receive_result(self) -> list[RunReader | None]:
        """The answer to the batch that was sent first: for each files a reader that has read all
        there was, None where there was anything wrong. Waits for it. Raises HelperError."""
        try:
            readers: list[RunReader | None] | None = _receive(
                self._connection, self._shared_objects
            )
        except (OSError, ValueError, EOFError, pickle.UnpicklingError) as error:
            raise HelperError(str(error)) from None
        if readers is None:
            raise HelperError("it ended")
        return readers

    def close(self) -> None:
        """Ends the process, whatever it is doing: it holds nothing that is not elsewhere."""
        self._connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _helper_main(connection: socket.socket, options: dict[str, Any]) -> NoReturn:
    """What the process does: carries out runs as long as somebody is at the other end."""
    try:
        # Ctrl+C goes to both; it is for the loader's process to say when it is over.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _close_inherited_fds(connection.fileno())
        # What is read is handed on, and the process ends soon: there is nothing to collect.
        gc.disable()
        logging.disable()  # Whoever reads the run again says what is wrong with it.
        threading.Thread(target=_exit_when_parent_dies, args=[connection], daemon=True).start()
        decoder, pile = Decoder(), Pile()
        shared_objects = _shared_objects(decoder)
        while (runs := _receive(connection, shared_objects)) is not None:
            readers = [_new_reader(files, decoder, options) for files in runs]
            _send(connection, list(_read_all(readers, pile)), shared_objects)
    finally:
        # Nothing of what the other process set up is ours to end.
        os._exit(0)


def _close_inherited_fds(connection: int) -> None:
    """Closes what the other process has open: it would stay open when that one ends."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.closerange(3, connection)
    os.closerange(connection + 1, _MAX_DESCRIPTOR)


def _exit_when_parent_dies(connection: socket.socket) -> None:
    """Ends the process when nobody is at the other end, whatever it is doing.

    The loader's process may have been killed, and an files may receive_result minutes.
    """
    end = select.poll()
    end.register(connection, select.POLLRDHUP)
    end.poll()
    os._exit(0)


def _new_reader(files: RunFiles, decoder: Decoder, options: dict[str, Any]) -> RunReader:
    reader = RunReader(decoder, **options)
    reader.update(files)
    return reader


def _read_all(readers: Sequence[RunReader], pile: Pile) -> Iterator[RunReader | None]:
    """Reads all there is; None for those in which anything was wrong."""
    for number, reader in enumerate(readers):
        try:
            while reader.has_work:
                preload_small_files(pile, islice(readers, number, None))
                reader.read_slice(TURN_BYTES)
        except Exception:
            yield None
        else:
            yield None if reader.pop_read_errors() or reader.pop_problems() else reader


# -- messages: blocks of rows in memory that is passed on, and behind them what was pickled --------

_SharedObjects = dict[str, Any]


def _shared_objects(decoder: Decoder) -> _SharedObjects:
    """What either side has already, by name."""
    names = "FLOAT32", "FLOAT64", "FLOAT32_NO_STEPS", "FLOAT64_NO_STEPS", "REFERENCE"
    layouts = {name: getattr(series, name) for name in names}
    return {"decoder": decoder, **layouts}


def _shared_object(name: str) -> Any:
    """Stands in a message for one of the shared_objects."""
    raise NotImplementedError


def _block_in_memory(begin: int, size: int) -> Any:
    """Stands in a message for bytes of its memory."""
    raise NotImplementedError


class _OutOfBandBlocks:
    """Blocks of rows on their way into a message."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.uint8] | bytes] = []
        """With what makes them begin where eight bytes do."""
        self.end = _HEADER_BYTES

    def reduce(self, array: NDArray[Any]) -> Any:
        """How to pickle an array: a block by its place in the memory."""
        if array.dtype != np.uint8 or array.ndim != 1:
            return array.__reduce_ex__(5)
        begin, size = self.end, len(array)
        padding = -size % _ALIGNMENT
        self.parts += [array, bytes(padding)]
        self.end += size + padding
        return _block_in_memory, (begin, size)


def _pickle(
    message: object, shared_objects: _SharedObjects, blocks: _OutOfBandBlocks
) -> memoryview:
    """The message without its blocks; there may be a million objects, so in few calls."""
    names = {id(shared_object): name for name, shared_object in shared_objects.items()}

    def reduce_shared_object(shared_object: object) -> Any:
        return _shared_object, (names[id(shared_object)],)

    file = io.BytesIO()
    pickler = pickle.Pickler(file, 5)
    pickler.dispatch_table = {
        Decoder: reduce_shared_object,
        BlockLayout: reduce_shared_object,
        np.ndarray: blocks.reduce,
    }
    pickler.dump(message)
    return file.getbuffer()


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, pickled: memoryview, shared_objects: _SharedObjects, memory: NDArray[np.uint8]
    ) -> None:
        super().__init__(io.BytesIO(pickled))
        self._shared_objects = shared_objects
        self._memory = memory

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name == "_shared_object":
            return self._shared_objects.__getitem__
        if module == __name__ and name == "_block_in_memory":
            return self._block_in_memory
        return super().find_class(module, name)

    def _block_in_memory(self, begin: int, size: int) -> NDArray[np.uint8]:
        return self._memory[begin : begin + size]


def _send(connection: socket.socket, message: object, shared_objects: _SharedObjects) -> None:
    blocks = _OutOfBandBlocks()
    pickled = _pickle(message, shared_objects, blocks)
    parts = [blocks.end.to_bytes(_HEADER_BYTES, "little"), *blocks.parts, pickled]
    memory = os.memfd_create("tbcore-helper", os.MFD_CLOEXEC)
    try:
        for first in range(0, len(parts), _MAX_PARTS_PER_WRITE):
            _write(memory, parts[first : first + _MAX_PARTS_PER_WRITE])
        socket.send_fds(connection, [b"."], [memory])
    finally:
        os.close(memory)


def _write(file: int, parts: list[Any]) -> None:
    """Writes all of them, where the last ones ended."""
    left = sum(memoryview(part).nbytes for part in parts)
    done = os.writev(file, parts)
    if done < left:
        # Memory takes up to two gigabytes at once.
        data = memoryview(b"".join(parts))
        while done < left:
            done += os.write(file, data[done:])


def _receive(connection: socket.socket, shared_objects: _SharedObjects) -> Any:
    """The next message; None when there will be none."""
    data, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if not data:
        return None
    [descriptor] = descriptors
    try:
        memory = _map_memory(descriptor)
    finally:
        os.close(descriptor)
    begin = int.from_bytes(memory[:_HEADER_BYTES], "little")
    return _Unpickler(memory[begin:], shared_objects, np.frombuffer(memory, np.uint8)).load()


def _map_memory(memory: int) -> memoryview:
    """All of it, writable; stays as long as an array in it does, without a descriptor.

    The module mmap would keep one as well: for each batch, as long as its runs are there.
    """
    size = os.fstat(memory).st_size
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_ssize_t]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, memory, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "cannot map memory")
    array = (ctypes.c_ubyte * size).from_address(address)
    # When the process ends the system does it, and arrays may be in use until then.
    weakref.finalize(array, libc.munmap, address, size).atexit = False
    return memoryview(array).cast("B")
