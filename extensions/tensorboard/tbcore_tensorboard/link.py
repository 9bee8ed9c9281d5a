"""Link: sends queries of a hosted process to the server. Runs in that process."""

from __future__ import annotations

import json
import pickle
import socket
import threading
from typing import Any


class Link:
    """Calls the queries of `data.py` by name, on one connection for each thread."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._local = threading.local()

    def __call__(self, query: str, *arguments: Any) -> Any:
        """The result of a query; raises RuntimeError with the reason if it failed."""
        stream = getattr(self._local, "stream", None)
        if stream is None:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(self._address)
            stream = self._local.stream = connection.makefile("rwb")
        stream.write(json.dumps([query, arguments]).encode() + b"\n")
        stream.flush()
        is_found, result = pickle.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        if not is_found:
            raise RuntimeError(result)
        return result
