"""make_client: an HTTP client of a server in the same process, without a socket.

`read_columns` reads what `tbcore.http.columns_response` sends.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from inspect import signature
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore import Multiplexer, TbcoreError
from tbcore.engine import Config, load_plugins
from tbcore_testing.in_thread import Server

with warnings.catch_warnings():
    # Starlette warns that httpx will be replaced. Both work here, and the tests of a plugin need
    # not choose between them.
    warnings.simplefilter("ignore")
    try:
        from starlette.testclient import TestClient
    except RuntimeError as error:
        raise ImportError(
            "the client of tbcore_testing needs httpx: pip install tbcore-testing"
        ) from error

Plugins = Sequence[Any] | Mapping[str, Any] | None

OPTIONS = {*signature(Server).parameters, *(field.name for field in fields(Config))} - {"config"}
"""The names of the options of a server."""


class TbcoreClient(TestClient):
    """An HTTP client of one server, with the methods of `httpx.Client`: `get`, `post` and so on.

    Addresses are relative to the server's path prefix, as in `client.get("data/runs")`. Responses
    are `httpx.Response` objects.
    """

    multiplexer: Multiplexer
    """The index of the server's runs and tags, as passed to the hooks of plugins."""

    def __init__(self, server: Server) -> None:
        config = server.config
        base_url = f"http://localhost:{config.port}{config.path_prefix}/"
        super().__init__(server.app, base_url=base_url)
        self.multiplexer = server.multiplexer
        self._server = server

    def reload(self) -> None:
        """Reads new data from the log directory, in the calling thread."""
        self._server.load_once()

    def close(self) -> None:
        """Ends the client, and what the plugins started: calls their hook `close`."""
        self._server.app.close_plugins()
        super().close()

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        self.close()


def make_client(
    logdir: str | os.PathLike[str],
    plugins: Plugins = (),
    *,
    logdir_spec: str | None = None,
    purge_orphaned_data: bool = True,
    max_points: int = 0,
    port: int = 6006,
    plugins_dirs: Sequence[str] = (),
    dev: bool = True,
    **config: Any,
) -> TbcoreClient:
    """A client of a new server that has read the log directory once.

    `plugins` are the plugins to load: names of installed plugins, and modules or objects with
    hooks. A module gets its own name without packages and `tbcore_`, and an object the name of its
    class in lower case; a mapping sets the names explicitly. None loads all installed plugins.

    With `dev` an exception of a plugin is raised where it happens, and there is no timeout for
    `is_active`; without `dev`, the server behaves as it does for users. If `logdir_spec` is set, it
    is read instead of `logdir`. `plugins_dirs` are folders with more plugins to load. Other options
    are those of `Server`, such as `path_prefix` or `samples_per_plugin`.

    Raises TbcoreError if the log directory cannot be listed, as with wrong credentials. One that
    does not exist has no runs.
    """
    server = make_server(
        "make_client",
        logdir,
        plugins,
        plugins_dirs=plugins_dirs,
        dev=dev,
        logdir_spec=logdir_spec,
        port=port,
        purge_orphaned_data=purge_orphaned_data,
        max_points=max_points,
        **config,
    )
    return TbcoreClient(server)


def make_server(
    caller: str,
    logdir: str | os.PathLike[str],
    plugins: Plugins,
    *,
    plugins_dirs: Sequence[str],
    dev: bool,
    **options: Any,
) -> Server:
    """A server that has read its logs, and has not been started; `make_client` describes it.

    `caller` is the name of the function that got the options, for the message about a wrong one.
    """
    for name in options:
        if name not in OPTIONS:
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}")
    only, extra = _split(plugins)
    loaded = load_plugins(
        only=only,
        extra=extra,
        folders=plugins_dirs,
        dev=dev,
        strict=dev,
        tuning=options.get("tuning"),
    )
    server = Server(logdir, plugins=loaded, plugins_dirs=tuple(plugins_dirs), dev=dev, **options)
    client = TbcoreClient(server)  # First, since plugins claim files when the app is made.
    client.reload()
    if not server.multiplexer.runs():
        _raise_if_not_listed(server, client)
    return server


def _raise_if_not_listed(server: Server, client: TbcoreClient) -> None:
    """Raises TbcoreError with the reason if the server could not list a directory."""
    headers = {"Authorization": f"Bearer {server.config.token}"}
    for problem in client.get("data/status", headers=headers).json()["problems"]:
        if problem.startswith("cannot list "):
            raise TbcoreError(problem)


def read_columns(content: bytes) -> tuple[Any, list[dict[str, NDArray[np.float64]]]]:
    """(Header, tables) of the content of a `columns_response`; a table maps names to columns."""
    start = 4 + int.from_bytes(content[:4], "little")
    text, numbers = json.loads(content[4:start]), np.frombuffer(content, "<f8", offset=start)
    tables = []
    for table in text["tables"]:
        names, num_rows = table["columns"], table["rows"]
        columns = numbers[: len(names) * num_rows].reshape(len(names), num_rows)
        tables.append(dict(zip(names, columns, strict=True)))
        numbers = numbers[columns.size :]
    if len(numbers):
        raise ValueError(f"{len(numbers)} numbers after the last table")
    return text["header"], tables


def _split(plugins: Plugins) -> tuple[Sequence[str] | None, dict[str, Any]]:
    """Names of installed plugins (None for all), and a dict that maps names to other plugins."""
    if plugins is None:
        return None, {}
    if isinstance(plugins, Mapping):
        return (), dict(plugins)
    names = [plugin for plugin in plugins if isinstance(plugin, str)]
    return names, {plugin_name(plugin): plugin for plugin in plugins if not isinstance(plugin, str)}


def plugin_name(plugin: Any) -> str:
    """The name under which `make_client` serves a module or an object."""
    name = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__name__.lower()
    return str(name).rpartition(".")[2].removeprefix("tbcore_")
