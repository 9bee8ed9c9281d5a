"""Fixtures for tests of the server: plugins made of functions, and clients of a server for them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from common_fixtures import patient_tuning
from installed_plugins import distributions
from running_servers import environment, home, install, start

from tbcore import PluginInfo, hookimpl
from tbcore.plugins.config import Config
from tbcore.plugins.loading import load_plugins
from tbcore.plugins.types import Plugins
from tbcore.server.app import create_app
from tbcore.store.board import Board

__all__ = [
    "distributions",
    "environment",
    "home",
    "install",
    "log_levels",
    "make_client",
    "make_plugin",
    "start",
    "tuning",
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient


@pytest.fixture(scope="session")
def make_plugin() -> Callable[..., SimpleNamespace]:
    """`make_plugin(routes=..., is_active=...)`: a plugin with these functions as its hooks.

    `info` are fields of its PluginInfo.
    """

    def make(*, info: dict[str, Any] | None = None, **hooks: Callable[..., Any]) -> SimpleNamespace:
        fields = {"title": "Made", "module": None, **(info or {})}
        functions = {"plugin_info": lambda: PluginInfo(**fields), **hooks}
        return SimpleNamespace(**{name: hookimpl(f) for name, f in functions.items()})

    return make


@pytest.fixture
def tuning() -> Any:
    """Stands in for `patient_tuning()`; a test may set its fields while a server is running."""
    return SimpleNamespace(**asdict(patient_tuning()))


@pytest.fixture(scope="session")
def make_client() -> Callable[..., TestClient]:
    """`make_client({"name": plugin}, path_prefix="/x")`: a client of a server with these plugins.

    A list of plugins is used as it is: its plugins have been loaded by the test. By default, the
    board is empty. Other keyword arguments are fields of Config.
    """

    def make(
        plugins: dict[str, object] | Plugins | None = None,
        *,
        board: Board | None = None,
        dev: bool = False,
        logdir: str = "logs",
        **config: Any,
    ) -> TestClient:
        settings = Config(logdir=logdir, dev=dev, **config)
        if not isinstance(plugins, list):
            plugins = load_plugins(
                only=(), extra=plugins or {}, dev=dev, strict=dev, tuning=settings.tuning
            )
        app = create_app(
            settings,
            board=board or Board(),
            plugins=plugins,
        )
        return TestClient(
            app,
            base_url=f"http://localhost:6006{settings.path_prefix}/",
            raise_server_exceptions=dev,
            follow_redirects=False,
        )

    return make


@pytest.fixture
def log_levels() -> Iterator[None]:
    """Restores log levels, for tests that start a server, which changes those of libraries."""
    loggers = [logging.getLogger(name) for name in ("asyncio", "tbcore", "uvicorn")]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)
