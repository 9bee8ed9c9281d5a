"""Fixtures for tests of plugins, and the options of the conformance suite.

Where tbcore is installed, every run of pytest loads this module. So it imports no other module of
tbcore until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tbcore_testing.client import TbcoreClient
    from tbcore_testing.page import Page

pytest.register_assert_rewrite("tbcore_testing.route_tests", "tbcore_testing.media_tests")

SUITE = "tbcore_testing.conformance"
"""The package of the conformance suite, as in `pytest --pyargs tbcore_testing.conformance`."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """Adds the options of the conformance suite if pytest runs it.

    In other runs they could clash with options of other pytest plugins.
    """
    if not any(argument.startswith(SUITE) for argument in args):
        return
    group = parser.getgroup("tbcore", "tbcore's conformance suite")
    group.addoption(
        "--plugin", dest="tbcore_plugin", metavar="NAME", action="append", default=[],
        help="name of an installed tbcore plugin, or path of a folder with one; repeatable",
    )  # fmt: skip
    group.addoption(
        "--plugin-logs", dest="tbcore_plugin_logs", metavar="DIR", default=None,
        help="event files with data of the plugin's own, added to data of all usual kinds",
    )  # fmt: skip


@pytest.fixture
def tbcore_logdir(tmp_path: Path) -> Path:
    """An empty log directory; fill it with `tbcore_testing.write_run`."""
    logdir = tmp_path / "logdir"
    logdir.mkdir()
    return logdir


@pytest.fixture
def tbcore_client() -> Iterator[Callable[..., TbcoreClient]]:
    """`tbcore_testing.make_client`, with clients that are closed when the test ends.

    `tbcore_client(logdir, plugins=["hello"])` serves the logdir with this one plugin.
    """
    from tbcore_testing.client import make_client

    clients: list[TbcoreClient] = []

    def make(*args: Any, **options: Any) -> TbcoreClient:
        clients.append(make_client(*args, **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def tbcore_browser() -> Iterator[Any]:
    """Playwright's Chromium. Tests are skipped, with the reason, where there is none."""
    from tbcore_testing.chromium import browser_or_reason

    with browser_or_reason() as (browser, reason):
        if browser is None:
            pytest.skip(reason)
        yield browser


@pytest.fixture
def tbcore_page(tbcore_browser: Any) -> Iterator[Callable[..., Page]]:
    """Serves a logdir, and opens the server's page in Chromium; returns a `tbcore_testing.Page`.

    `tbcore_page(logdir, plugins=["hello"])` has the arguments of `tbcore_client`, but behaves as it
    does for users unless `dev` is true. The server reads new data by itself. Each page has a
    browser profile of its own.
    """
    from tbcore_testing.client import make_server
    from tbcore_testing.page import Page, record_charts

    opened: list[Any] = []

    def make(
        logdir: Any,
        plugins: Any = (),
        *,
        plugins_dirs: Any = (),
        dev: bool = False,
        **options: Any,
    ) -> Page:
        server = make_server(
            "tbcore_page",
            logdir,
            plugins,
            plugins_dirs=plugins_dirs,
            dev=dev,
            **{"reload_interval": 0.2, **options},
        )
        opened.append(server)
        server.start()
        context = tbcore_browser.new_context()
        opened.append(context)
        record_charts(context)
        return Page(context.new_page(), server.url)

    yield make
    for one in reversed(opened):
        one.stop() if hasattr(one, "stop") else one.close()
