"""Fixtures of the suite: the plugins under test, log directories, servers and the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tbcore.engine import load_plugins
from tbcore_testing.chromium import browser_or_reason
from tbcore_testing.conformance import blank
from tbcore_testing.conformance.logs import ExtraData, SampleLogs, write_logs
from tbcore_testing.conformance.page import Visits
from tbcore_testing.conformance.probing import ProbedRoutes, Prober
from tbcore_testing.conformance.servers import PREFIX, RaisedErrors, RunningServer
from tbcore_testing.conformance.subject import Subject, find_subject

MAX_PAIRS = 40
"""Maximum number of (run, tag) pairs of one log directory with which each route is probed."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "subject" in metafunc.fixturenames:
        names = metafunc.config.getoption("tbcore_plugin", default=[])
        if not names:
            raise pytest.UsageError(
                "no plugin given; try `pytest --pyargs tbcore_testing.conformance --plugin NAME`"
            )
        metafunc.parametrize("subject", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def all_subjects(request: pytest.FixtureRequest) -> dict[str, Subject]:
    """Maps the argument of each --plugin option to the plugin. Every server has all of them."""
    names = request.config.getoption("tbcore_plugin")
    return {name: find_subject(name) for name in names}


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest, all_subjects: dict[str, Subject]) -> Subject:
    """The plugin under test."""
    return all_subjects[request.param]


@pytest.fixture(scope="session")
def plugin(subject: Subject) -> Subject:
    """The plugin under test. If it failed to load (see `test_it_loads`), the test is skipped."""
    if subject.plugin is None:
        pytest.skip(f"plugin {subject.name!r} could not be loaded; see test_it_loads")
    return subject


@pytest.fixture(scope="session")
def logs(
    request: pytest.FixtureRequest,
    all_subjects: dict[str, Subject],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], SampleLogs]:
    """A function that returns the log directory of the given name; the first call writes it."""
    own_logs = request.config.getoption("tbcore_plugin_logs")
    claims = [claim for one in all_subjects.values() for claim in one.claims]
    extra = ExtraData(claims, Path(own_logs).resolve() if own_logs else None)
    folder = tmp_path_factory.mktemp("conformance")
    made: dict[str, SampleLogs] = {}

    def find(name: str) -> SampleLogs:
        if name not in made:
            made[name] = write_logs(name, folder, extra)
        return made[name]

    return find


@pytest.fixture(scope="session")
def server(
    logs: Callable[[str], SampleLogs], all_subjects: dict[str, Subject]
) -> Iterator[Callable[..., RunningServer]]:
    """A function that returns a running server for a log directory's name and a path prefix."""
    plugins = {one.name: one.plugin for one in all_subjects.values() if one.plugin}
    [plugins[blank.NAME]] = load_plugins(only=(), extra={blank.NAME: blank})
    running: dict[tuple[str, str], RunningServer] = {}

    def find(name: str, prefix: str = PREFIX) -> RunningServer:
        if (name, prefix) not in running:
            running[name, prefix] = RunningServer(logs(name), list(plugins.values()), prefix=prefix)
        return running[name, prefix]

    yield find
    for one in running.values():
        one.stop()


@pytest.fixture(scope="session")
def prober(server: Callable[..., RunningServer]) -> Iterator[Callable[..., Prober]]:
    """A function with the arguments of `server` that returns a client of that server."""
    made: dict[tuple[str, str], Prober] = {}
    with RaisedErrors() as errors:

        def find(name: str, prefix: str = PREFIX) -> Prober:
            if (name, prefix) not in made:
                made[name, prefix] = Prober(server(name, prefix), errors)
            return made[name, prefix]

        yield find
    for one in made.values():
        one.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A running Chromium. If there is none, tests of the page are skipped; the summary says why."""
    with browser_or_reason() as (running, reason):
        if running is None:
            _skip_page(reason)
        yield running


def _skip_page(reason: str) -> NoReturn:
    _skip_reasons.append(reason)
    pytest.skip(reason)


_skip_reasons: list[str] = []


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _skip_reasons:
        terminalreporter.section("NOT CHECKED", yellow=True)
        terminalreporter.line(f"The plugin's page was not checked: {_skip_reasons[0]}", yellow=True)


@pytest.fixture(scope="session")
def visits(plugin: Subject, server: Callable[[str], RunningServer], request: Any) -> Visits:
    """Visits to the plugin's tab. Each is made in the browser when a test first needs it."""
    if not plugin.has_page:
        pytest.skip(f"plugin {plugin.name!r} has no module, so it has no tab")
    visits = Visits(request.getfixturevalue("browser"), server, plugin.name)
    if not visits.is_active("plain"):
        pytest.fail(
            f"plugin {plugin.name!r} is not active on any data that the suite writes, so its tab "
            "cannot be opened; pass a folder with event files for it: --plugin-logs DIR",
            pytrace=False,
        )
    return visits


@pytest.fixture(scope="session")
def routes(
    plugin: Subject, prober: Callable[..., Prober], logs: Callable[[str], SampleLogs]
) -> ProbedRoutes:
    """The plugin's routes, probed on plain data."""
    return ProbedRoutes(plugin.name, prober("plain"), logs("plain").pairs(plugin.claims, MAX_PAIRS))
