"""make_client: the whole server on a log directory, without a socket."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from tbcore.config import Config
from tbcore.eventfiles.logdir import LogdirSpec, parse_logdir_spec
from tbcore.plugins import load_plugins
from tbcore.server.app import create_app
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer

with warnings.catch_warnings():
    # Starlette announces the successor of httpx; either works here, and a plugin's tests should
    # not be noisy about a choice that is not theirs.
    warnings.simplefilter("ignore")
    try:
        from starlette.testclient import TestClient
    except RuntimeError as error:
        raise ImportError(
            "the client of tbcore.testing needs httpx: pip install 'tbcore-server[testing]'"
        ) from error

Plugins = Sequence[Any] | Mapping[str, Any] | None


class TbcoreClient(TestClient):
    """An HTTP client of one server: `get`, `post` and so on, with addresses as a page asks them.

    `client.get("data/runs")` is relative to the server's path prefix. Answers are httpx responses.
    """

    multiplexer: Multiplexer
    """What the server knows."""

    def __init__(self, app: Any, multiplexer: Multiplexer, loader: Loader, base_url: str) -> None:
        super().__init__(app, base_url=base_url)
        self.multiplexer = multiplexer
        self._loader = loader

    def reload(self) -> None:
        """Reads what is new in the log directory, in this thread."""
        self._loader.load_once()


def make_client(
    logdir: str | os.PathLike[str],
    plugins: Plugins = (),
    *,
    logdir_spec: str | None = None,
    purge_orphaned_data: bool = True,
    max_points: int = 0,
    dev: bool = True,
    **config: Any,
) -> TbcoreClient:
    """A client of a server that has read the log directory once.

    Installed plugins are not looked for unless asked: `plugins` holds names of installed plugins,
    modules and objects with hooks; of a module the name is its last part without `tbcore_`.
    A mapping names them itself. None loads everything that is installed.

    With `dev` a fault of a plugin is raised where it happens, and `is_active` is waited for also on
    a busy machine; without, it is answered as a user's server does. `logdir_spec` is read in place
    of `logdir`. Other options are fields of `tbcore.config.Config`, such as `path_prefix` or
    `samples_per_plugin`; with `plugins_dirs` the plugins in these folders are loaded as well.
    """
    only, extra = _split(plugins)
    specs = (
        [LogdirSpec(None, os.fspath(logdir))]
        if logdir_spec is None
        else parse_logdir_spec(logdir_spec)
    )
    settings = Config(logdir=logdir_spec or os.fspath(logdir), dev=dev, **config)
    multiplexer = Multiplexer()
    loader = Loader(
        multiplexer, specs, purge_orphaned_data=purge_orphaned_data, max_points=max_points
    )
    loaded = load_plugins(
        only=only,
        extra=extra,
        folders=settings.plugins_dirs,
        dev=dev,
        strict=dev,
        tuning=settings.tuning,
    )
    app = create_app(settings, multiplexer=multiplexer, plugins=loaded)
    base_url = f"http://localhost:{settings.port}{settings.path_prefix}/"
    client = TbcoreClient(app, multiplexer, loader, base_url)
    client.reload()
    return client


def _split(plugins: Plugins) -> tuple[Sequence[str] | None, dict[str, Any]]:
    if plugins is None:
        return None, {}
    if isinstance(plugins, Mapping):
        return (), dict(plugins)
    names = [plugin for plugin in plugins if isinstance(plugin, str)]
    return names, {
        _plugin_name(plugin): plugin for plugin in plugins if not isinstance(plugin, str)
    }


def _plugin_name(plugin: Any) -> str:
    name = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__name__.lower()
    return str(name).rpartition(".")[2].removeprefix("tbcore_")
