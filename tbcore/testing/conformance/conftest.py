"""Fixtures of the suite: the plugins, their logs, the servers and the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tbcore.plugins import load_plugins
from tbcore.testing.chromium import find_chromium, launch
from tbcore.testing.conformance import blank
from tbcore.testing.conformance.asking import Asker, Routes
from tbcore.testing.conformance.logs import Given, Logs, write_logs
from tbcore.testing.conformance.page import Visits
from tbcore.testing.conformance.servers import PREFIX, Faults, RunningServer
from tbcore.testing.conformance.subject import Subject, find_subject

MAX_PAIRS = 40
"""Series that each route is asked for in one log directory."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "subject" in metafunc.fixturenames:
        names = metafunc.config.getoption("tbcore_plugin", default=[])
        if not names:
            raise pytest.UsageError(
                "say which plugin to check: "
                "pytest --pyargs tbcore.testing.conformance --plugin NAME"
            )
        metafunc.parametrize("subject", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def all_subjects(request: pytest.FixtureRequest) -> dict[str, Subject]:
    """What --plugin names, in one set of servers."""
    names = request.config.getoption("tbcore_plugin")
    return {name: find_subject(name) for name in names}


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest, all_subjects: dict[str, Subject]) -> Subject:
    """The plugin that is checked."""
    return all_subjects[request.param]


@pytest.fixture(scope="session")
def plugin(subject: Subject) -> Subject:
    """The same, where it could be loaded: one check says that it could not, and not all."""
    if subject.plugin is None:
        pytest.skip(f"plugin {subject.name!r} could not be loaded; see test_it_loads")
    return subject


@pytest.fixture(scope="session")
def logs(
    request: pytest.FixtureRequest,
    all_subjects: dict[str, Subject],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Logs]:
    """Log directories by name, each written when it is asked for first."""
    given = request.config.getoption("tbcore_plugin_logs")
    claims = [claim for one in all_subjects.values() for claim in one.claims]
    what = Given(claims, Path(given).resolve() if given else None)
    folder = tmp_path_factory.mktemp("conformance")
    made: dict[str, Logs] = {}

    def find(name: str) -> Logs:
        if name not in made:
            made[name] = write_logs(name, folder, what)
        return made[name]

    return find


@pytest.fixture(scope="session")
def server(
    logs: Callable[[str], Logs], all_subjects: dict[str, Subject]
) -> Iterator[Callable[..., RunningServer]]:
    """Servers of a log directory, below a path prefix unless another one is given."""
    plugins = {one.name: one.plugin for one in all_subjects.values() if one.plugin}
    [plugins[blank.NAME]] = load_plugins(only=(), extra={blank.NAME: blank})
    running: dict[tuple[str, str], RunningServer] = {}

    def find(name: str, prefix: str = PREFIX) -> RunningServer:
        if (name, prefix) not in running:
            running[name, prefix] = RunningServer(logs(name), list(plugins.values()), prefix=prefix)
        return running[name, prefix]

    yield find
    for one in running.values():
        one.end()
    for one in running.values():
        one.join()


@pytest.fixture(scope="session")
def asker(server: Callable[..., RunningServer]) -> Iterator[Callable[..., Asker]]:
    """Clients of those servers."""
    made: dict[tuple[str, str], Asker] = {}
    with Faults() as faults:

        def find(name: str, prefix: str = PREFIX) -> Asker:
            if (name, prefix) not in made:
                made[name, prefix] = Asker(server(name, prefix), faults)
            return made[name, prefix]

        yield find
    for one in made.values():
        one.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; without it the checks of the page are skipped, and the summary says so."""
    try:
        from playwright import sync_api
    except ImportError:
        _skip_page("playwright is not installed: pip install playwright")
    path = find_chromium()
    with sync_api.sync_playwright() as playwright:
        try:
            running = launch(playwright, path)
        except sync_api.Error as error:
            line = str(error).strip().partition("\n")[0]
            _skip_page(
                f"no Chromium could be started ({line}): install one, name it in TBCORE_CHROMIUM, "
                "or run `playwright install chromium`"
            )
        yield running
        running.close()


def _skip_page(reason: str) -> NoReturn:
    _why_no_page.append(reason)
    pytest.skip(reason)


_why_no_page: list[str] = []


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _why_no_page:
        terminalreporter.section("NOT CHECKED", yellow=True)
        terminalreporter.line(f"The plugin's page was not checked: {_why_no_page[0]}", yellow=True)


@pytest.fixture(scope="session")
def visits(plugin: Subject, server: Callable[[str], RunningServer], request: Any) -> Visits:
    """Visits to the plugin's tab."""
    if not plugin.has_page:
        pytest.skip(f"plugin {plugin.name!r} has no module, and so no tab")
    visits = Visits(request.getfixturevalue("browser"), server, plugin.name)
    if not visits.is_active("plain"):
        pytest.fail(
            f"plugin {plugin.name!r} is active on nothing that the suite writes, so its tab cannot "
            "be opened; name a folder with event files that it is for: --plugin-logs DIR",
            pytrace=False,
        )
    return visits


@pytest.fixture(scope="session")
def routes(plugin: Subject, asker: Callable[..., Asker], logs: Callable[[str], Logs]) -> Routes:
    """What the plugin answers on plain data, found out once."""
    return Routes(plugin.name, asker("plain"), logs("plain").pairs(plugin.claims, MAX_PAIRS))
