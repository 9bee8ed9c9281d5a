"""What a plugin leaves when its hook `close` has been called, found in a process of its own.

`python -m tbcore_testing.conformance.closing NAME LOGDIR` prints one line for each fault.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tbcore_testing.client import TbcoreClient
from tbcore_testing.conformance.subject import find_subject
from tbcore_testing.in_thread import Server

END_SECONDS = 2.0
"""How long the server waits for the hook, and this program for threads and processes to end."""


def faults_of(name: str, logdir: str) -> Iterator[str]:
    """Serves a plugin, sends requests to its routes, closes it, and yields what is wrong then."""
    # The log has one line for a hook that raises, and one for a hook that takes too long.
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    before = _running()
    plugin = find_subject(name).plugin
    assert plugin
    with TbcoreClient(Server(logdir, plugins=[plugin])) as client:
        client.reload()
        [mounted] = client.app.mounted  # type: ignore[attr-defined]
        for address, route in mounted.addresses():
            if "GET" in (route.methods or ()) and "{" not in address:
                client.get(address.removeprefix("/"))
        logging.getLogger("tbcore").addHandler(handler)
    yield from lines
    deadline = time.monotonic() + END_SECONDS
    while (left := _running() - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    yield from sorted(f"{one} runs after close" for one in left)
    for process in (one for one in left if one.startswith("process ")):
        os.kill(int(process.split()[1]), signal.SIGKILL)


def _running() -> set[str]:
    """The child processes, if there is `/proc`, and the threads that keep a program running."""
    others = (t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread())
    processes = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue  # It has ended.
        if parent == str(os.getpid()) and state != "Z":
            processes.add(f"process {path.parent.name}")
    return {*processes, *(f"thread {thread.name!r}" for thread in others)}


if __name__ == "__main__":
    for fault in faults_of(*sys.argv[1:]):
        print(fault, flush=True)
    os._exit(0)  # Threads that were left would keep this process running.
