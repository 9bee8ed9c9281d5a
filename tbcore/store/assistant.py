"""Assistant: a second process that reads runs for the loader.

    loader  -- files of runs -->  assistant
            <-- their readers --   (decodes them, as the loader would)

A reader that comes back is used as if the loader had read the run itself. Its columns come in
memory that both processes map, without being copied on this side; only what holds them together is
pickled. The assistant gives back whole runs in which nothing was wrong. All else (damage, a file
that changed meanwhile, an assistant that died) is left for the loader, which has it all still to
read: so there is one place where such things are dealt with.
"""

from __future__ import annotations

import ctypes
import gc
import io
import json
import logging
import math
import mmap
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from pickle import PickleBuffer
from typing import Any, NamedTuple

import numpy as np

from tbcore.eventfiles.decode import Decoder
from tbcore.eventfiles.logdir import EventFile
from tbcore.eventfiles.tail import TURN_BYTES
from tbcore.store import series
from tbcore.store.reader import RunReader

logger = logging.getLogger(__name__)

_SMALL_BYTES = 1 << 14
"""Smaller arrays are pickled: a shared one costs an object or two to find it."""
_ALIGNMENT = 64

_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from tbcore.store.assistant import serve;"
    "serve(int(sys.argv[2]), json.loads(sys.argv[3]))"
)


class Order(NamedTuple):
    """A run to read from its beginning."""

    files: Sequence[EventFile]
    first_event_time: float
    """Seconds since the epoch; infinite as long as there is no event."""


class AssistantError(Exception):
    """The assistant is gone, and what was ordered of it will not come."""


class Assistant:
    """A running assistant. Takes orders in batches and answers them in the same order."""

    def __init__(self, decoder: Decoder, **options: Any) -> None:
        """Starts the process, and does not wait for it.

        Readers that come back use `decoder`. `options` are those of RunReader. Raises OSError when
        the system gives no process.
        """
        self._names = _names(decoder)
        self._connection, theirs = socket.socketpair()
        command = [sys.executable, "-c", _COMMAND]
        command += [json.dumps(sys.path), str(theirs.fileno()), json.dumps(options)]
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
        except OSError:
            self._connection.close()
            raise

    @staticmethod
    def is_possible() -> bool:
        """Whether this system can share memory in this way, and has a processor to spare."""
        if not hasattr(os, "memfd_create") or not sys.executable:
            return False
        return len(os.sched_getaffinity(0)) > 1

    def order(self, orders: Sequence[Order]) -> None:
        """Sends a batch of orders. Raises AssistantError."""
        try:
            _send(self._connection, list(orders), self._names)
        except OSError as error:
            raise AssistantError(str(error)) from None

    def has_answered(self, timeout: float) -> bool:
        """Waits so many seconds at most for an answer; true as well when none can come any more."""
        return bool(select.select([self._connection], [], [], timeout)[0])

    def take(self) -> list[RunReader | None]:
        """The answer to the batch that was sent first: for each order a reader that has read all
        there was, None where there was anything wrong. Waits for it. Raises AssistantError."""
        try:
            readers: list[RunReader | None] | None = _receive(self._connection, self._names)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError) as error:
            raise AssistantError(str(error)) from None
        if readers is None:
            raise AssistantError("it ended")
        return readers

    def close(self) -> None:
        """Ends the process, whatever it is doing: it holds nothing that is not elsewhere."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def serve(descriptor: int, options: dict[str, Any]) -> None:
    """What the process does: carries out orders as long as somebody is at the other end."""
    # Ctrl+C goes to both; it is for the loader's process to say when it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    logging.disable()  # Whoever reads the run again says what is wrong with it.
    decoder = Decoder()
    names = _names(decoder)
    with socket.socket(fileno=descriptor) as connection:
        threading.Thread(target=_end_with, args=[connection], daemon=True).start()
        try:
            while (orders := _receive(connection, names)) is not None:
                _send(connection, [_read(order, decoder, options) for order in orders], names)
        except OSError:
            pass  # Nobody is there any more.


def _end_with(connection: socket.socket) -> None:
    """Ends the process when nobody is at the other end, whatever it is doing.

    The loader's process may have been killed, and an order may take minutes.
    """
    end = select.poll()
    end.register(connection, select.POLLRDHUP)
    end.poll()
    os._exit(0)


def _read(order: Order, decoder: Decoder, options: dict[str, Any]) -> RunReader | None:
    reader = RunReader(decoder, **options)
    reader.update(order.files)
    if order.first_event_time != math.inf:
        reader.data.set_first_event_time(order.first_event_time)
    try:
        while reader.has_work:
            reader.read_turn(TURN_BYTES)
    except Exception:
        return None
    return None if reader.take_troubles() or reader.take_problems() else reader


# -- messages: what was pickled, and behind it the arrays, in memory that is passed on -------------

_Names = dict[str, Any]


def _names(decoder: Decoder) -> _Names:
    """What either side has already."""
    layouts = {name: getattr(series, name) for name in ("SINGLE", "DOUBLE", "REFERENCE")}
    return {"decoder": decoder, **layouts}


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, names: _Names, on_buffer: Callable[[Any], bool]) -> None:
        super().__init__(file, 5, buffer_callback=on_buffer)
        self._names = {id(thing): name for name, thing in names.items()}

    def persistent_id(self, thing: object) -> str | None:
        return self._names.get(id(thing))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, names: _Names, buffers: Sequence[memoryview]) -> None:
        super().__init__(file, buffers=buffers)
        self._names = names

    def persistent_load(self, name: str) -> object:
        return self._names[name]


def _send(connection: socket.socket, message: object, names: _Names) -> None:
    arrays: list[memoryview] = []

    def is_small(buffer: PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < _SMALL_BYTES:
            return True
        arrays.append(view)
        return False

    pickled = io.BytesIO()
    _Pickler(pickled, names, is_small).dump(message)
    parts = [pickled.getbuffer(), *arrays]
    sizes = np.array([len(parts), *(part.nbytes for part in parts)], np.int64)
    memory = os.memfd_create("tbcore-assistant", os.MFD_CLOEXEC)
    try:
        end = _write(memory, sizes.tobytes(), 0)
        for part in parts:
            end = _write(memory, part, end)
        os.ftruncate(memory, end)
        socket.send_fds(connection, [b"."], [memory])
    finally:
        os.close(memory)


def _write(memory: int, data: bytes | memoryview, begin: int) -> int:
    """Writes all of it; returns where the next part begins."""
    view = memoryview(data)
    while view:
        count = os.pwrite(memory, view, begin)
        view, begin = view[count:], begin + count
    return _aligned(begin)


def _receive(connection: socket.socket, names: _Names) -> Any:
    """The next message; None when there will be none."""
    data, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if not data:
        return None
    [memory] = descriptors
    try:
        view = _mapped(memory)
    finally:
        os.close(memory)
    [count] = np.frombuffer(view, np.int64, 1).tolist()
    parts = []
    begin = _aligned(8 * (1 + count))
    for size in np.frombuffer(view, np.int64, count, 8).tolist():
        parts.append(view[begin : begin + size])
        begin = _aligned(begin + size)
    return _Unpickler(io.BytesIO(parts[0]), names, parts[1:]).load()


def _mapped(memory: int) -> memoryview:
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


def _aligned(begin: int) -> int:
    return -(-begin // _ALIGNMENT) * _ALIGNMENT
