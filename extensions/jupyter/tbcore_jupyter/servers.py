"""The servers of this kernel, which end with it.

Each has a secret path, which other users of the machine do not know: they can connect to the port,
but get nothing. This process knows the path, and the output of the cell has it, so a saved notebook
has it, too. Nothing else about a server is in a file that outlives its start.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from tbcore import TbcoreError

START_TIMEOUT_SECONDS = 60
COMMAND = (sys.executable, "-P", "-m", "tbcore", "serve", "--exit_with_parent")
"""The beginning of a server's command line. -P: no file of the working directory takes the place of
a module."""
_REFUSED = ("secret_prefix", "token", "uds")
_OF_OTHERS = ("TBCORE_BIND_ALL", "TBCORE_HOST", "TBCORE_UDS", "TENSORBOARD_BINARY")
"""Variables that say where other servers listen, and that TensorBoard's magic starts them."""
_ADDRESS = re.compile(r"^tbcore \S+ at (http://\S+) ", re.MULTILINE)
_COLAB = ("https://colab.research.google.com", "https://*.googleusercontent.com")
"""Origins of the pages that show the output of cells in Colab."""


class Server(NamedTuple):
    """A server that was started by this process."""

    process: subprocess.Popen[bytes]
    port: int
    path: str
    """The secret path, with a slash at both ends."""
    host: str = "localhost"
    """The host of its address, on the kernel's machine; an IPv6 address is in brackets."""


_servers: dict[tuple[str, ...], Server] = {}
"""Maps the working directory and the arguments of each server to the server."""


def server_for(arguments: Sequence[str]) -> Server:
    """The server with these arguments of `tbcore serve`, which is started unless it runs.

    Raises TbcoreError, with one line, if it cannot start.
    """
    for argument in arguments:
        option = argument.partition("=")[0]
        if option.startswith("--") and option[2:].replace("-", "_") in _REFUSED:
            raise TbcoreError(f"{argument}: servers of notebooks have a secret path of their own")
    key = (os.getcwd(), *arguments)
    server = _servers.get(key)
    if server is None or server.process.poll() is not None:
        server = _servers[key] = _start(arguments)
    return server


def _start(arguments: Sequence[str]) -> Server:
    """Starts a server; prints its warnings; returns when it accepts requests."""
    with tempfile.TemporaryDirectory(prefix="tbcore-") as folder:
        secret, stdout, stderr = (Path(folder, name) for name in ("secret", "stdout", "stderr"))
        # Options of the secret path take the place of variables such as TBCORE_TOKEN. The user's
        # come last: one that lacks its value must not take the next option for it.
        command = [*COMMAND, "--no_token", "--secret_prefix", str(secret)]
        command += [f"--embed_in={origin}" for origin in _origins_of_notebooks()]
        command += arguments
        environment = {k: v for k, v in os.environ.items() if k not in _OF_OTHERS}
        if any(server.process.poll() is None for server in _servers.values()):
            environment.pop("TBCORE_PORT", None)  # It is the port of another server here.
        with stdout.open("wb") as out, stderr.open("wb") as err:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                # Interrupts of the kernel go to its process group, which must not be the server's.
                process_group=None if os.name == "nt" else 0,
            )  # fmt: skip
        try:
            address = _wait_for_address(process, stdout, stderr)
            prefix = address.path.rstrip("/") + secret.read_text(encoding="utf-8").strip()
        except BaseException:
            process.kill()
            process.wait()
            raise
        sys.stderr.write(stderr.read_text(encoding="utf-8", errors="replace"))
        host = address.netloc.removesuffix(f":{address.port}")
        return Server(process, address.port or 80, f"{prefix}/", host)


def _wait_for_address(process: subprocess.Popen[bytes], stdout: Path, stderr: Path) -> SplitResult:
    """The address that a server prints when it accepts requests, without its secret path."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while True:
        has_ended = process.poll() is not None
        found = _ADDRESS.search(stdout.read_text(encoding="utf-8", errors="replace"))
        if found and not has_ended:
            return urlsplit(found[1])
        if has_ended:
            lines = stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise TbcoreError(lines[-1] if lines else f"status {process.returncode}")
        if time.monotonic() > deadline:
            raise TbcoreError(f"the server did not start within {START_TIMEOUT_SECONDS} s")
        time.sleep(0.02)


def _origins_of_notebooks() -> Sequence[str]:
    """Origins of the pages that show this kernel's output, if these are not behind a proxy.

    They are those of the Jupyter server that started the kernel, as its own file says, and of
    Colab.
    """
    if "google.colab" in sys.modules:
        return _COLAB
    with suppress(ImportError, OSError, ValueError, KeyError):
        from jupyter_core.paths import jupyter_runtime_dir

        name = f"jpserver-{os.environ['JPY_PARENT_PID']}.json"
        jupyter = json.loads(Path(jupyter_runtime_dir(), name).read_text(encoding="utf-8"))
        scheme = "https" if jupyter["secure"] else "http"
        return [f"{scheme}://{host}:{jupyter['port']}" for host in ("localhost", "127.0.0.1")]
    return ()
