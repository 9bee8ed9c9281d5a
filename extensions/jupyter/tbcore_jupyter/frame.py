"""The output of a cell: a frame with a server's page, and the link to it."""

from __future__ import annotations

import html
import json
import os
import re
import secrets
import socket
import time
from importlib import resources

from tbcore_jupyter.servers import Server

DEFAULT_HEIGHT = 800

_HTML = """\
<div id="{id}">
<iframe width="100%" height="{height}" style="border: 0" title="tbcore" hidden></iframe>
<button hidden>Show the charts of tbcore again</button>
<div style="font-size: smaller">
<a href="{link}" target="_blank" rel="noreferrer">Open in a tab</a> <span>{hint}</span>
</div>
</div>
<script>
({script})({arguments});
</script>
"""


class Frame:
    """A server's page, which notebooks show in a frame."""

    def __init__(self, server: Server, *, view: str = "", height: int = DEFAULT_HEIGHT) -> None:
        self._server = server
        self._hash = f"#{view.rpartition('#')[2]}" if view else ""
        self._height = int(height)
        self.url = f"http://{server.host}:{server.port}{server.path}{self._hash}"
        """The address on the kernel's machine. It has a secret path, so it lets others in."""

    def __repr__(self) -> str:
        return f"tbcore at {self.url}"

    def _repr_html_(self) -> str:
        """The frame and the link. A script finds out at which address the browser has the page."""
        server, proxy = self._server, os.environ.get("TENSORBOARD_PROXY_URL", "")
        tunnel = f"ssh -L {server.port}:{server.host}:{server.port} {socket.gethostname()}"
        hint = (
            "If the kernel is on another machine, install jupyter-server-proxy there, or run "
            f"<code>{html.escape(tunnel)}</code> on yours and open this link."
        )
        if proxy and "%PORT%" not in proxy and str(server.port) not in re.findall(r"\d+", proxy):
            hint = (
                f"TENSORBOARD_PROXY_URL is {html.escape(proxy)}, but the port of this server is "
                f"{server.port}; write %PORT% in the variable in place of the port. {hint}"
            )
            proxy = ""
        identifier = f"tbcore-{secrets.token_hex(8)}"
        arguments = {
            "id": identifier, "host": server.host, "port": server.port, "path": server.path,
            "hash": self._hash, "proxy": proxy.replace("%PORT%", str(server.port)),
            "madeAt": time.time() * 1000,
        }  # fmt: skip
        script = resources.files(__package__).joinpath("frame.js").read_text(encoding="utf-8")
        return _HTML.format(
            id=identifier,
            height=self._height,
            link=html.escape(self.url),
            hint=hint,
            script=script.strip().removesuffix(";"),
            # A tag in the text would end the script.
            arguments=json.dumps(arguments).replace("<", "\\u003c"),
        )
