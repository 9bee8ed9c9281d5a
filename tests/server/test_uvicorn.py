"""The start is refused if a version of uvicorn would ignore the timeouts of tbcore's protocol."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
import uvicorn
from common_fixtures import WAIT_SECONDS

CHANGES = {
    "on_response_complete": "del H11Protocol.on_response_complete",
    # As if uvicorn read into a buffer of its own.
    "data_received": "del H11Protocol.data_received, asyncio.Protocol.data_received",
    "send_400_response": "H11Protocol.send_400_response = lambda self, msg, status: None",
    "conn": "H11Protocol.__init__ = lambda self, *a, **o: (self.parser, self.app)",
    "Config.http": (
        "load = uvicorn.Config.load\n"
        "def changed(self): load(self); self.http_protocol_class = H11Protocol\n"
        "uvicorn.Config.load = changed"
    ),
}
"""Maps what the message names to a change of uvicorn, in Python."""


@pytest.mark.parametrize("name", CHANGES)
def test_the_start_is_refused_if_timeouts_would_be_off(name: str, tmp_path: Path) -> None:
    """One line names the version that was found, what it changed, and the range to install."""
    source = (
        "import asyncio, sys, uvicorn\nfrom uvicorn.protocols.http.h11_impl import H11Protocol\n"
        f"{CHANGES[name]}\nfrom tbcore.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", source, "serve", "--logdir", str(tmp_path), "--port", "0"]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
    )
    # The message has the floor of the requirement once more.
    [floor] = re.findall(r"^uvicorn.*>=([\d.]+)", "\n".join(requires("tbcore-server") or ()), re.M)
    version = uvicorn.__version__
    assert result.stderr == (
        f"tbcore: uvicorn {version} changed {name}, so timeouts would be off; "
        f"pip install 'uvicorn>={floor},<{version}'\n"
    )
    assert (result.returncode, result.stdout) == (1, "")
