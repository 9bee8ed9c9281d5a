"""Plugins of TensorBoard that a test installs, and clients of servers that run them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import TbcoreClient
from tbcore_testing.wire import bytes_field, varint_field

FAKE = """
import ctypes, json, logging, os, pathlib, signal, socket, sys, threading, time
from werkzeug import wrappers
try:
    from tensorboard.plugins.base_plugin import TBLoader
except ImportError:
    TBLoader = object

def app(function):
    def respond(request):
        try:
            found = function(**request.args)
        except OSError as error:
            return wrappers.Response(type(error).__name__, 500)
        return wrappers.Response(json.dumps(found), mimetype="application/json")
    return wrappers.Request.application(respond)

def connect(port):
    with socket.create_connection(("127.0.0.1", int(port)), 5) as connection:
        return connection.getpeername()

def begin(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    yield b"a part"
    time.sleep(600)

def spin():
    while True:
        pass

def die():
    os.write(2, b"WARNING: no line of Python's logging\\na check failed: 1 == 2\\n")
    os.abort()

def log(level, text, count="1"):
    for _ in range(int(count)):
        logging.getLogger("a.plugin").log(int(level), text)

def fail(text):
    raise ValueError(text)

def thread(text):
    threading.Thread(target=int, args=[text]).start()

def raw(environ, start_response):
    text = json.dumps({k: v for k, v in environ.items() if isinstance(v, str)})
    start_response("200 OK", [("Content-Type", "application/json"), ("Set-Cookie", "a=b"),
                              ("Content-Security-Policy", "default-src *")])
    return [text.encode()]

def page(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    name = environ["PATH_INFO"].rpartition("/")[2]
    content = pathlib.Path(__file__).with_name("fake.html").read_bytes()
    return [content if name == "same.html" else content + environ["QUERY_STRING"].encode() + b"!"]

class Metadata:
    es_module_path = "/index.js"

class Fake:
    plugin_name = "fake"
    def __init__(self, context):
        self.logdir = context.logdir
    def is_active(self):
        return True
    def data_plugin_names(self):
        return (self.plugin_name,)
    def frontend_metadata(self):
        return Metadata()
    def get_plugin_apps(self):
        return {
            "/environment": app(lambda: dict(os.environ)),
            "/raw": raw,
            "/same.html": page,
            "/other.html": page,
            "/pid": app(os.getpid),
            "/logdir": app(lambda: self.logdir),
            "/modes": app(lambda: {
                str(p.relative_to(os.getcwd())): oct(p.stat().st_mode & 0o777)
                for p in (pathlib.Path(os.getcwd()), *pathlib.Path(os.getcwd()).iterdir())}),
            "/read": app(lambda path: open(path, "rb").read(4000).decode("utf-8", "replace")),
            "/write": app(lambda path: open(path, "a").close()),
            "/remove": app(lambda path: os.remove(path)),
            "/rename": app(lambda path: os.rename(path, path + "x")),
            "/truncate": app(lambda path: os.truncate(path, 0)),
            "/child": app(lambda path: os.listdir(path) if os.system("echo >> " + path) else 0),
            "/connect": app(connect),
            "/kill": app(lambda pid: os.kill(int(pid), 0)),
            "/signal": app(lambda number: signal.raise_signal(int(number))),
            "/die": app(die),
            "/log": app(log),
            "/raise": app(fail),
            "/thread": app(thread),
            "/exit": app(lambda: os._exit(3)),
            "/memory": app(lambda: len(bytearray(16 << 30))),
            "/spin": app(spin),
            "/wait": app(lambda: time.sleep(600)),
            "/begin": begin,
            "/gil": app(lambda: ctypes.PyDLL(None).sleep(600)),
            "/capture_profile": app(lambda: "never"),
        }

class Loader(TBLoader):
    def __init__(self): pass
    def define_flags(self, parser): pass
    def fix_flags(self, flags): pass
    def load(self, context):
        return Fake(context)
"""
"""A plugin of TensorBoard whose addresses do what a bad one may do. It needs werkzeug alone."""
INLINE = "<!doctype html><script>document.title = 1</script><p onclick=alert(1)>"


OLD_CODE = "raise TypeError('Descriptors cannot be created directly.\\nRegenerate this code.')"
"""What code does at its import that was generated for a protobuf before version 4."""


class Installed:
    """A folder on the module path with plugins of TensorBoard, as pip installs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, source: str, target: str, **files: str) -> None:
        info = self.folder / f"{name}-1.dist-info"
        info.mkdir(parents=True)
        (self.folder / f"{name}.py").write_text(source)
        for stem, content in files.items():
            (self.folder / f"{stem}.html").write_text(content)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "RECORD").write_text("".join(f"{stem}.html,,\n" for stem in files))
        (info / "entry_points.txt").write_text(f"[tensorboard_plugins]\n{name} = {name}:{target}\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """`fake`, a plugin of TensorBoard that is asked to fail, and three that always do."""
    pytest.importorskip("werkzeug", reason="werkzeug is not installed, which TensorBoard requires")
    found = Installed(tmp_path / "packages")
    found.add("fake", FAKE, "Loader", fake=INLINE)
    found.add("broken", 'raise RuntimeError("no <b>GPU</b> here")', "Loader")
    found.add("old", OLD_CODE, "Loader")
    found.add("none", FAKE.replace("return Fake(context)", "return None"), "Loader")
    found.add("exits", "import sys; sys.exit(5)", "Loader")
    monkeypatch.setattr(sys, "path", [*sys.path, str(found.folder)])
    return found


@pytest.fixture
def hosting(
    installed: Installed, tbcore_logdir: Path, tbcore_client: Callable[..., TbcoreClient]
) -> Iterator[Callable[..., TbcoreClient]]:
    """`hosting(token="x")`: a client of a server with TensorBoard's page and these plugins."""
    from tbcore_tensorboard import plugin

    clients: list[TbcoreClient] = []

    def make(**config: Any) -> TbcoreClient:
        plugins = {"tensorboard": plugin}
        client = tbcore_client(tbcore_logdir, plugins=plugins, dev=False, **config)
        client.follow_redirects = True
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.app.close_plugins()  # type: ignore[attr-defined]


def write_trace(logdir: Path) -> Path:
    """Writes what a profiler of JAX writes: a trace with 20 events, where no run is."""
    line = (
        varint_field(1, 7) + bytes_field(2, "worker") + varint_field(3, 1_700_000_000_000_000_000)
    )
    for index in range(20):
        event = varint_field(1, 1) + varint_field(2, index * 2_000_000) + varint_field(3, 1_000_000)
        line += bytes_field(4, event)
    name = varint_field(1, 1) + bytes_field(2, "train_step")
    names = varint_field(1, 1) + bytes_field(2, name)
    plane = varint_field(1, 1) + bytes_field(2, "/host:CPU") + bytes_field(3, line)
    trace = bytes_field(1, plane + bytes_field(4, names)) + bytes_field(4, "machine")
    file = logdir / "exp" / "plugins" / "profile" / "2026_01_01" / "machine.xplane.pb"
    file.parent.mkdir(parents=True)
    file.write_bytes(trace)
    file.with_name("machine.trace.json.gz").touch()  # As JAX writes it beside each trace.
    return file


def write_embedding(run: Path, sprite: bytes) -> None:
    """Writes 4 points of 3 dimensions, with labels and a sprite of 2 x 2 pictures."""
    (run / "points.tsv").write_text("".join(f"{i}\t{i % 2}\t{i // 2}\n" for i in range(4)))
    (run / "labels.tsv").write_text("".join(f"<b>point {i}</b>\n" for i in range(4)))
    (run / "sprite.png").write_bytes(sprite)
    (run / "projector_config.pbtxt").write_text("""embeddings {
      tensor_name: "digits" tensor_path: "points.tsv" metadata_path: "labels.tsv"
      sprite { image_path: "sprite.png" single_image_dim: 1 single_image_dim: 1 }
    }""")
