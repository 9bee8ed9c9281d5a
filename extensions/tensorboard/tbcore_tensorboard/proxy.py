"""Forwards a request to a process, and its response to the browser.

The browser gets pages of this module at addresses that begin with `tbcore-`: the entry page of a
tab, the frame around a plugin, the card about a fault, and scripts.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import html
import http.client
import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from tbcore.http import error_response, request_body
from tbcore_tensorboard.process import HANG_SECONDS, HostedProcess, ProcessError

SENT = (
    "accept", "accept-encoding", "content-type", "if-none-match", "range",
    "x-tensorboard-feature-flags",
)  # fmt: skip
"""The headers of a request that the process gets: no cookie, no token."""
LEFT_OUT = ("connection", "transfer-encoding", "server", "date")
REFUSED = re.compile(r"(/data/plugin/[^/]+)?/capture_profile/*")
"""Addresses that connect to a host that the request names."""
PIECE_BYTES = 1 << 16

_HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>TensorBoard</title>"""
FRAME = f"""{_HEAD}
<style>body {{ margin: 0 }}
iframe {{ display: block; width: 100%; height: 100vh; border: 0 }}</style>
<iframe src="tbcore-entry.html?inner" title="plugin"></iframe></html>"""
"""The page around that of a plugin: xprof changes the address of its parent."""
ENTRY = f"""{_HEAD}
<script type="module" src="tbcore-entry.js"></script></html>"""
_TEXT = f"""{_HEAD}<meta name="viewport" content="width=device-width">
<style>body {{ margin: 2rem; font: 16px/1.5 system-ui, sans-serif }}
:root {{ color-scheme: light dark }} button {{ font: inherit }}</style>"""
STARTING = f'{_TEXT}<p role="status">%s: starting its process</p>'
CARD = f'{_TEXT}<p role="alert">%s</p>'
BUTTON = """<p><button type="button">Start again</button></p>
<script type="module" src="%stbcore-again.js"></script></html>"""
AGAIN = """document.querySelector("button").onclick = async ({ target }) => {
  target.disabled = true;
  await fetch(new URL("tbcore-start", import.meta.url), { method: "POST" });
  location.reload();
};"""
SCRIPTS = {"tbcore-again.js": AGAIN, "tbcore-reload.js": "location.reload();"}


def forward(process: HostedProcess, request: Request, path: str) -> Response:
    """The response of the process; a card if a browser opens a page and there is none.

    Raises ProcessError if there is none for any other request.
    """
    is_opened = "text/html" in request.headers.get("accept", "")
    up = "../" * (path.count("/") - 1) or "./"
    try:
        if is_opened and process.is_to_start():
            return StreamingResponse(_starting(process, up), media_type="text/html")
        return _own_response(process, request, path) or _forwarded(process, request, path)
    except ProcessError as error:
        if not is_opened:
            raise
        button = "" if process.missing else BUTTON % up
        return HTMLResponse(CARD % html.escape(str(error)) + button, error.status)


def _starting(process: HostedProcess, up: str) -> Iterator[str]:
    """A page that is loaded again when the process has started, or has failed to."""
    yield STARTING % html.escape(process.what)
    with contextlib.suppress(ProcessError):
        process.connect().close()
    yield f'<script type="module" src="{up}tbcore-reload.js"></script></html>'


def _own_response(process: HostedProcess, request: Request, path: str) -> Response | None:
    """The response to a request that the process does not get; None for all others."""
    folder, _, name = path.rpartition("/")
    if REFUSED.fullmatch(path):
        return error_response(403, "this address is refused, since it connects to other machines")
    if path == "/tbcore-start":
        if request.method != "POST":
            return error_response(405, "to start the process again, send a POST request")
        if process.is_stuck():
            process.stop()
        return Response(status_code=204)  # The page that is loaded next starts it.
    if path == "/tbcore-tab.html" or (path == "/" and process.is_plugin):
        process.connect().close()
        plugin = quote(str(process.info().get("plugin", "")), safe="")
        return RedirectResponse(f"data/plugin/{plugin}/tbcore-entry.html")
    if name == "plugin_entry.html":
        # The page shows a plugin by the tab of the plugin, whose policy may allow more.
        plugin = quote(parse_qs(request.url.query).get("name", ["-"])[0].lower(), safe="")
        return RedirectResponse(f"../../tb-{plugin}/tbcore-tab.html")
    if name == "tbcore-entry.html":
        return HTMLResponse(ENTRY if request.url.query == "inner" else FRAME)
    if name == "tbcore-entry.js":
        process.connect().close()
        modules = process.info().get("modules", {})
        module = json.dumps("." + modules.get(folder.rpartition("/")[2], "/index.js"))
        return _script(f"import({module}).then((module) => void module.render());")
    script = SCRIPTS.get(name) or process.scripts.get(name)
    return _script(script) if script else None


def _script(text: str) -> Response:
    return Response(text, media_type="text/javascript")


def _forwarded(process: HostedProcess, request: Request, path: str) -> Response:
    headers = {name: request.headers[name] for name in SENT if name in request.headers}
    is_page = path.endswith(".html")
    if is_page:
        headers["accept-encoding"] = "identity"
    body = request_body(request) if request.method == "POST" else None
    # A page that depends on its query could have a text of the query, or of a log, as a script.
    query = f"?{request.url.query}" if request.url.query and not is_page else ""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = process.connect()  # Starts the process, which may take as long as a hang.
    try:
        with process.turn():
            # A response may come, and the connection end, before the body was sent.
            with contextlib.suppress(BrokenPipeError):
                connection.request(request.method, quote(path) + query, body, headers)
            found = connection.getresponse()
    except ProcessError:
        connection.close()
        raise
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise (process.hung() if isinstance(error, TimeoutError) else process.failed()) from None
    kept = {name: value for name, value in found.getheaders() if name.lower() not in LEFT_OUT}
    if is_page and found.status == 200:
        with contextlib.closing(connection):
            content = found.read()
        if found.getheader("content-encoding") == "gzip":  # xprof does not ask.
            content = gzip.decompress(content)
        if hashlib.sha256(content).digest() in process.installed_pages:
            content = _with_files(process, content.decode("utf-8", "replace")).encode()
        return HTMLResponse(content)  # Inline scripts that are left in it do not run.
    return StreamingResponse(_pieces(process, found, connection), found.status, kept)


def _with_files(process: HostedProcess, page: str) -> str:
    """A page whose inline scripts are files, since the policy of pages allows no inline scripts.

    Only for pages that are files of the plugin's distribution: any other page may have a text of a
    log as a script.
    """

    def file(match: re.Match[str]) -> str:
        attributes, code = match.groups()
        if " src=" in attributes or "json" in attributes or "template" in attributes:
            return match[0]
        name = f"tbcore-{hashlib.sha256(code.encode()).hexdigest()}.js"
        process.scripts[name] = code
        return f"<script{attributes} src={name}></script>"

    return re.sub(r"<script((?:\s[^>]*)?)>(.*?)</script>", file, page, flags=re.DOTALL)


def _pieces(
    process: HostedProcess, found: http.client.HTTPResponse, connection: http.client.HTTPConnection
) -> Iterator[bytes]:
    try:
        piece = b"first"
        while piece:
            with process.turn(HANG_SECONDS):  # What has begun is not cut off.
                piece = found.read1(PIECE_BYTES)
            yield piece
    finally:
        connection.close()
