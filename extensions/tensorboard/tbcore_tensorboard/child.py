"""The hosted process: TensorBoard's application with its plugins, served on a unix socket.

`python -m tbcore_tensorboard.child SETTINGS` has its settings as JSON, and ends with its parent.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from tbcore_tensorboard.link import Link
from tbcore_tensorboard.mirror import Mirror, folders_of
from tbcore_tensorboard.sandbox import confine, end_with

logger = logging.getLogger("tbcore.tensorboard")

App = Callable[..., Iterable[bytes]]
EVERYTHING = 2**31 - 1
SAMPLED = (
    "scalars", "histograms", "distributions", "images", "audio", "text", "pr_curves", "mesh",
)  # fmt: skip
WRITERS = ("profile",)
"""Plugins that write files beside the traces, and fail where they cannot: they get a mirror."""
FLAGS = ("logdir_spec", "host", "db", "window_title", "generic_data", "load_fast", "path_prefix")


class _Lines(logging.Formatter):
    """Formats a record as one line, below its traceback if there is one.

    The server logs lines that begin with a level of at least WARNING.
    """

    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record).splitlines()
        # The lines of a traceback but for its first and its last ones are indented.
        frames = [index for index, line in enumerate(lines) if line.startswith("  ")]
        if not frames:
            return " ".join(lines)
        _, _, trace = record.exc_info or sys.exc_info()
        found = [v for frame, _ in traceback.walk_tb(trace) for v in frame.f_locals.values()]
        # The errors of the projector lack the path of the configuration, which some variable has.
        path = [f"({v})" for v in found if type(v) is str and v.endswith("projector_config.pbtxt")]
        return "\n".join([*lines[1:], " ".join([lines[0], *lines[frames[-1] + 1 :], *path[-1:]])])


def _is_problem(record: logging.LogRecord) -> bool:
    """Whether it is not one of the warnings that TensorBoard logs about single responses.

    One is about headers, where the server's are right; the other says what a 404 says.
    """
    return record.module != "security_validator" and "sending 404" not in str(record.msg)


def _log_problems() -> None:
    """Lets warnings, errors and the exceptions of threads become lines of the server's log."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Lines(logging.BASIC_FORMAT))
    handler.addFilter(_is_problem)
    logging.basicConfig(handlers=[handler])
    threading.excepthook = lambda failed: logger.error(
        "a thread failed:", exc_info=failed.exc_value or failed.exc_type()
    )


def main() -> None:
    settings = json.loads(sys.argv[1])
    end_with(settings["parent"])
    _log_problems()
    folder = Path(settings["folder"])
    unlimited = confine(
        memory=settings["memory"],
        writable=[str(folder)],
        readable=[settings["logdir"]] if settings["logdir"] else [],
    )
    info = {"unlimited": unlimited}
    try:
        if unlimited and not settings["unconfined"]:
            raise SystemExit(
                f"this system does not limit its {unlimited}, so it was not started; "
                "`tbcore serve --set tensorboard.unconfined=true` starts it nevertheless"
            )
        app, more = _application(settings, Link(f"{folder}/data"))
        (folder / "info").write_text(json.dumps({**info, **more}))
        _serve(app, folder)
    except BaseException as error:  # Packages raise anything, SystemExit included.
        lines = [line for line in str(error).splitlines() if line] or [""]
        line = lines[0]
        if not line.startswith("this system"):
            traceback.print_exc()
            line = f"it cannot be loaded: {type(error).__name__}: {line}"
        (folder / "info").write_text(json.dumps({**info, "error": line}))
        sys.exit(1)


def _serve(app: App, folder: Path) -> None:
    from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

    class Handler(WSGIRequestHandler):  # type: ignore[misc]
        def log(self, *args: Any) -> None:
            pass

        def address_string(self) -> str:
            return "unix"

    os.umask(0o177)
    server = ThreadedWSGIServer(f"unix://{folder}/starting", 0, app, Handler)
    os.umask(0o077)
    server.daemon_threads = True
    server.block_on_close = False
    os.rename(folder / "starting", folder / "http")
    server.serve_forever()


def _application(settings: Mapping[str, Any], link: Link) -> tuple[App, dict[str, Any]]:
    """The application, and what the server has to know about its plugins."""
    name = settings["plugin"]
    found = {entry.name: entry for entry in entry_points(group="tensorboard_plugins")}
    logdir, folder, mirror = settings["logdir"], settings["folder"], None
    if logdir and name in WRITERS:
        mirror = Mirror(logdir, f"{folder}/logs", link)
        logdir = mirror.folder
    if name in WRITERS or importlib.util.find_spec("tensorboard") is None:
        app, plugins = _alone(found[name], logdir)
    else:
        app, plugins = _with_tensorboard(name, found, logdir, link)
    if name and not plugins:
        raise RuntimeError("its loader returned no plugin; a package that it needs is missing")
    modules = {
        plugin.plugin_name: path
        for plugin in plugins
        if (path := getattr(plugin.frontend_metadata(), "es_module_path", None))
    }
    return (mirror.refreshing(app) if mirror else app), {
        "plugin": plugins[-1].plugin_name if name else "",
        "modules": modules,
    }


def _with_tensorboard(
    name: str | None, found: Mapping[str, EntryPoint], logdir: str, link: Link
) -> tuple[App, list[Any]]:
    """TensorBoard's application with one plugin, or with those that come with it."""
    from tensorboard import assets, default
    from tensorboard.backend import application

    from tbcore_tensorboard.provider import make_provider

    subjects = [] if name else list(default.get_static_plugins())
    if name:
        subjects.append(found[name].load())
    elif "projector" in found:  # Other plugins have tabs and processes of their own.
        try:
            subjects.append(found["projector"].load())
        except BaseException:
            logger.exception("the projector cannot be loaded:")
    loaders = [application.make_plugin_loader(subject) for subject in subjects]
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    for flag in FLAGS:
        parser.add_argument(f"--{flag}", default="")
    for loader in loaders:
        loader.define_flags(parser)
    flags = parser.parse_args([])
    flags.logdir = logdir
    flags.samples_per_plugin = dict.fromkeys(SAMPLED, EVERYTHING)
    embeddings = partial(_embeddings, logdir if name == "projector" else "")
    provider = make_provider(link, logdir, embeddings)
    page = assets.get_default_assets_zip_provider()
    app = application.TensorBoardWSGIApp(flags, loaders, provider, page)
    plugins = list(app._plugins)
    for plugin in plugins:
        provider.plugin_names |= set(plugin.data_plugin_names())
    return app, plugins


@lru_cache(maxsize=1)
def _embeddings(logdir: str, period: float) -> Sequence[str]:
    """The paths below a log directory of the folders that the projector reads, once a period."""
    found = (f for f in folders_of(logdir) if os.path.isfile(f"{f or '.'}/projector_config.pbtxt"))
    return [os.path.relpath(folder, logdir) for folder in found]


def _alone(entry: EntryPoint, logdir: str) -> tuple[App, list[Any]]:
    """The application of a plugin that does without TensorBoard, as xprof.

    Its buttons for profiles of other hosts are left out, since their addresses are refused.
    """
    loader = entry.load()()
    parser = argparse.ArgumentParser()
    loader.define_flags(parser)
    context = types.SimpleNamespace(
        logdir=logdir,
        flags=parser.parse_args([]),
        data_provider=None,
        multiplexer=None,
        hide_capture_profile_button=True,
        enable_tab_name_label=False,
        src_prefix=None,
    )
    plugin = loader.load(context)
    if plugin is None:
        return _not_found, []
    start = f"/data/plugin/{plugin.plugin_name}"
    apps = plugin.get_plugin_apps()

    def app(environ: Any, start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"].removeprefix(start).rstrip("/") or "/"
        answer: App = apps.get(path, _not_found)
        return answer(environ, start_response)

    return app, [plugin]


def _not_found(environ: Any, start_response: Any) -> Iterable[bytes]:
    start_response("404 Not Found", [("Content-Type", "text/plain")])
    return [b"Not found"]


if __name__ == "__main__":
    main()
