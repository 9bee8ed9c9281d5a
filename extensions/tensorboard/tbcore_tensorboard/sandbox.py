"""Limits that a hosted process sets for itself: memory, files, connections.

Landlock, of Linux 5.13 and later, needs no rights. It makes it an error to read or write anywhere
but in some folders, and from Linux 6.7 on also to connect by TCP.
"""

from __future__ import annotations

import contextlib
import ctypes
import mimetypes
import os
import resource
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""The numbers of the system calls, the same on all processors."""
WRITE_FILE = 1 << 1
WRITES = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))
"""Write to files, and make or remove files, folders, links, sockets, pipes and devices."""
REFER, TRUNCATE = 1 << 13, 1 << 14
READ_FILE = 1 << 2
READS = READ_FILE | 1 << 3
TCP = 0b11
SCOPES = 0b11
"""Connections to abstract unix sockets, and signals, of processes outside."""
SYSTEM = (
    "/usr", "/lib", "/lib64", "/bin", "/opt", "/sys", "/dev",
    "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys", "/proc/driver",
    "/etc/ld.so.cache", "/etc/localtime", *mimetypes.knownfiles,
)  # fmt: skip
"""What programs read besides Python: libraries, fonts, time zones, the number of processors. Of the
rest of `/proc`, root could read the environment of the server, which may have its token."""
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38


def end_with(parent: int) -> None:
    """Ends this process when the thread that started it does; on Linux also if it holds the GIL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    else:
        threading.Thread(target=_watch, args=[parent], daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def confine(*, memory: int, writable: Iterable[str], readable: Iterable[str]) -> str:
    """Limits this process and its children for good. Returns what could not be limited, or "".

    `memory` is in bytes. Reading is limited to `readable`, to Python's own folders and to those of
    the system: a log may name any file, as the configuration of the projector does.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):  # A lower limit may be set already.
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    if sys.platform != "linux":
        return "files and connections"
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # If memory runs out, this process is ended first.
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 1:
        return "files and connections"
    handled = WRITES | READS | (REFER if version > 1 else 0) | (TRUNCATE if version > 2 else 0)
    attributes = struct.pack("QQQ", handled, TCP, SCOPES)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = libc.syscall(CREATE_RULESET, attributes, size, 0)
    home = os.path.realpath(os.path.expanduser("~"))
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path]
    for path, rights in [
        *((path, handled) for path in writable),
        ("/dev/null", READ_FILE | WRITE_FILE),
        *((path, READS) for path in (*readable, *SYSTEM)),
        *((path, READS) for path in python if not f"{home}/".startswith(_folder(path))),
    ]:
        with contextlib.suppress(OSError):
            parent = os.open(path, os.O_PATH)
            allowed = rights if os.path.isdir(path) else rights & (READ_FILE | WRITE_FILE)
            libc.syscall(ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, parent), 0)
            os.close(parent)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # The next call needs it.
    if ruleset < 0 or libc.syscall(RESTRICT_SELF, ruleset, 0) != 0:
        return "files and connections"
    os.close(ruleset)
    return "" if version > 3 else "connections"


def _folder(path: str) -> str:
    """The real path with a slash at its end."""
    return os.path.realpath(path).rstrip("/") + "/"
