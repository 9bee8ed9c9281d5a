"""Requests of the conformance suite: what they measure on a busy machine."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from tbcore_testing.conformance import probing
from tbcore_testing.conformance.probing import Probe, Prober
from tbcore_testing.conformance.servers import RaisedErrors


class SlowBySelf(BaseHTTPRequestHandler):
    """Answers after 0.2 s of a processor, or `/sleep` after 0.6 s, all requests in one thread."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/sleep":
            time.sleep(0.6)
        else:
            began = time.thread_time()
            while time.thread_time() - began < 0.2:
                pass
        self.send_response(204)
        self.end_headers()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_a_route_is_not_slow_because_other_programs_have_the_processor(
    limits: Callable[..., None],
) -> None:
    """One processor for this server and four busy programs."""
    limits(probing, SLOW_RESPONSE_SECONDS=0.45)

    def are_slow(path: str) -> tuple[bool, bool]:
        os.sched_setaffinity(
            0, {min(os.sched_getaffinity(0))}
        )  # for this thread and what it starts
        loop = [sys.executable, "-c", "while True: pass"]
        busy = [subprocess.Popen(loop) for _ in range(4)]
        server = ThreadingHTTPServer(("127.0.0.1", 0), SlowBySelf)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            address: Any = SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}")
            with contextlib.closing(Prober(address, RaisedErrors())) as prober:
                probe = Probe("GET", path)
                return prober.send(probe).is_slow, prober.send_patiently(probe).is_slow
        finally:
            for process in busy:
                process.kill()
                process.wait()
            server.shutdown()
            server.server_close()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(are_slow, "/").result() == (True, False)
        assert pool.submit(are_slow, "/sleep").result() == (True, True)
