"""The documentation is complete, and its examples work."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

import tbcore
import tbcore.http
import tbcore.media
import tbcore.patterns
import tbcore.values
import tbcore_logs
import tbcore_testing
from tbcore.plugins import hookspecs
from tbcore_testing import make_client

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
HELLO = DOCS / "examples" / "tbcore-hello"
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "ARCHITECTURE.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "CHANGELOG.md",
    REPOSITORY / "SECURITY.md",
    *sorted(DOCS.glob("*.md")),
    *sorted((REPOSITORY / "plugins").glob("*/*.md")),
    *sorted((REPOSITORY / "extensions").glob("*/*.md")),
    *sorted((REPOSITORY / "extensions").glob("*/tbcore_*/commands/*.md")),
    REPOSITORY / "benchmarks" / "README.md",
    HELLO / "README.md",
]
SITE: Any = runpy.run_path(str(REPOSITORY / "mkdocs_hooks.py"))
"""The module that prepares the pages for the site."""

TIMEOUT_SECONDS = 120.0
"""Timeout of the examples of one page, long enough for a busy machine."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    file: str  # the file whose content the block is, according to the page, or ""
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(
        r"^```(\w*)(?: file=(\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    ):
        language, file, content = match.groups()
        yield Block(language, file or "", content, text.count("\n", 0, match.start()) + 2)


def name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def read(*pages: Path) -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def run_python(*arguments: str, cwd: Path, path: Path | None = None) -> str:
    """Runs Python as a reader does; `path` comes before installed packages."""
    environ = dict(os.environ)
    environ.pop("TBCORE_PLUGINS", None)
    if path is not None:
        environ["PYTHONPATH"] = os.pathsep.join(
            [str(path), *filter(None, [environ.get("PYTHONPATH")])]
        )
    response = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd, env=environ, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    assert response.returncode == 0, f"{response.stdout}\n{response.stderr}"
    return response.stdout


def install(project: Path, target: Path) -> None:
    """Installs a distribution into a folder, without a package index."""
    pytest.importorskip("hatchling", reason="hatchling builds the example, and is not installed")
    run_python(
        "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps",
        "--no-build-isolation", "--no-index", "--target", str(target), str(project),
        cwd=target.parent,
    )  # fmt: skip


PAGES_WITH_EXAMPLES = [page for page in PAGES if any(b.language == "python" for b in blocks(page))]


@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES, ids=name)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """The blocks are run from top to bottom in an empty directory.

    A block with the name of a file is written to that file, and test files are run.
    """
    project = tmp_path / "project"
    project.mkdir()
    script = [""] * 10000
    for block in blocks(page):
        if block.language == "python" and ".to_pandas()" in block.text:
            pytest.importorskip("pandas", reason="the page has examples with pandas")
        if block.file:
            target = project / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            # Line numbers are the same as in the page, for tracebacks.
            lines = block.text.splitlines()
            script[block.line - 1 : block.line - 1 + len(lines)] = lines
    (tmp_path / f"{page.name}.py").write_text("\n".join(script).rstrip() + "\n", encoding="utf-8")

    run_python(str(tmp_path / f"{page.name}.py"), cwd=project)
    if any(project.glob("test_*.py")):
        run_pytest(project)


def run_pytest(folder: Path, site: Path | None = None) -> None:
    """Runs the tests of a plugin in a folder without this repository's configuration.

    `site` is a folder in which the plugin is installed, or None.
    """
    plugin = [] if _fixtures_are_installed() else ["-p", "tbcore_testing.pytest_plugin"]
    run_python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder),
        # At the end of a run, the plugin of Hypothesis imports all of it.
        "-p", "no:hypothesispytest", "-c", os.devnull, *plugin, str(folder),
        cwd=folder, path=site,
    )  # fmt: skip


def _fixtures_are_installed() -> bool:
    from importlib.metadata import entry_points

    return bool(entry_points(group="pytest11", name="tbcore"))


def test_the_example_plugin_is_found_and_its_tests_pass(tmp_path: Path) -> None:
    """The example can be built and installed, and is listed and served."""
    site = tmp_path / "site"
    install(HELLO, site)

    listing = run_python("-m", "tbcore", "plugins", cwd=tmp_path, path=site)
    assert re.search(r"hello.*tbcore-hello 0\.1\.0", listing), listing
    assert (site / "tbcore_hello" / "static" / "index.js").is_file()
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_hello.py").write_bytes((HELLO / "tests" / "test_hello.py").read_bytes())
    run_pytest(tests, site)


def test_every_hook_is_documented() -> None:
    """The page has the arguments of each hook, when it is called, and what happens if it fails."""
    page = read(DOCS / "hooks.md")
    hooks = [
        function
        for hook, function in vars(hookspecs).items()
        if inspect.isfunction(function) and hasattr(function, "tbcore_spec")
    ]
    assert len(hooks) >= 4
    for function in hooks:
        _, _, section = page.partition(f"\n## {function.__name__}\n")
        section = section.partition("\n## ")[0]
        assert section, f"docs/hooks.md has no section on {function.__name__}"
        for argument in inspect.signature(function).parameters:
            assert argument in section, f"{function.__name__}: argument {argument}"
        assert "f it raises" in section or "f the hook raises" in section, function.__name__


@pytest.mark.parametrize(
    "described", [tbcore.PluginInfo, tbcore.LegacyApi, tbcore.PluginOptions, tbcore.Option]
)
def test_every_field_of_classes_for_hooks_is_documented(described: Any) -> None:
    """The page about hooks has all fields."""
    page = read(DOCS / "hooks.md")
    for field in dataclasses.fields(described):
        assert re.search(rf"`(options\.)?{field.name}\b", page), (
            f"{described.__name__}.{field.name}"
        )


@pytest.mark.parametrize(
    "described",
    [
        *(tbcore.Multiplexer, tbcore.SideFile, tbcore.Item, tbcore.Kind),
        *(tbcore.ScalarSeries, tbcore.ItemSeries, tbcore.LastPoints),
    ],
)
def test_every_member_that_plugins_may_use_is_documented(described: Any) -> None:
    """The page has each name without `_`; methods and properties have docstrings."""
    page = read(DOCS / "hooks.md").partition("\n## Claims\n")[2]
    assigned = re.findall(r"^ +self\.([a-z]\w*)\b.* = ", inspect.getsource(described), re.MULTILINE)
    inherited = {*dir(tuple), "replace"} if issubclass(described, tuple) else set()
    members = {name for name in dir(described) if not name.startswith("_")} - inherited
    assert len(members) > 1
    for member in sorted({*members, *assigned}):
        assert re.search(rf"`{member}\b", page), f"{described.__name__}.{member}"
        value = inspect.getattr_static(described, member, None)
        if inspect.isfunction(value) or isinstance(value, property):
            assert value.__doc__, f"{described.__name__}.{member} has no docstring"


PUBLIC_MODULES: list[Any] = [
    tbcore,
    tbcore.http,
    tbcore.media,
    tbcore.patterns,
    tbcore.values,
    tbcore_testing,
]
"""The modules that plugins import."""


def test_every_public_name_is_described() -> None:
    """The page about plugins has each public name in the table of its module."""
    page = read(DOCS / "writing_a_plugin.md").partition("\n## What a plugin imports\n")[2]
    missing = []
    for module in PUBLIC_MODULES:
        table = page.partition(f"\n**`{module.__name__}`**")[2].partition("\n**`tbcore")[0]
        missing += [
            f"{module.__name__}.{public}"
            for public in module.__all__
            if not re.search(rf"\b{public}\b", table)
        ]
    assert missing == []


def test_the_list_of_stable_names_is_that_of_the_modules() -> None:
    """A name is neither added to a public module nor removed without a change of the page."""
    rows = re.findall(
        r"^\| `(tbcore[.\w]*)` \| (.*) \|$", read(DOCS / "stability.md"), re.MULTILINE
    )
    listed = {module: re.findall(r"`(\w+)`", names) for module, names in rows}
    modules = [*PUBLIC_MODULES, tbcore_logs]
    assert listed == {module.__name__: module.__all__ for module in modules}


def commands(command: click.Command, words: str = "tbcore") -> Iterator[tuple[str, click.Command]]:
    """Yields all commands, each with the words to type."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, f"{words} {child.name}")


def test_every_command_and_option_is_documented() -> None:
    """The pages have each command and option as `--help` shows it."""
    from tbcore.cli import cli

    page = read(DOCS / "options.md", DOCS / "command_line.md", DOCS / "indexes.md")
    for words, command in commands(cli):
        assert words in page
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                if option.startswith("--") and option != "--help":
                    assert f"`{option}" in page, f"{words} {option}"


def test_every_environment_variable_is_documented() -> None:
    """Some page has each variable that the code of the core reads."""
    page = read(DOCS / "options.md")
    sources = [p for p in (REPOSITORY / "tbcore").rglob("*.py") if "node_modules" not in p.parts]
    variables = set(re.findall(r"\bTBCORE_[A-Z_]+\b", read(*sources)))
    assert variables
    assert [variable for variable in sorted(variables) if f"`{variable}" not in page] == []


def test_every_address_of_the_core_is_documented() -> None:
    """The page has each address in the code of the server."""
    page = read(DOCS / "http_api.md")
    source = read(*sorted((REPOSITORY / "tbcore" / "server").glob("*.py")))
    addresses = set(re.findall(r'"/((?:legacy/)?data/\w+)"', source))
    assert {"data/runs", "data/updates", "legacy/data/runs"} <= addresses
    assert [address for address in sorted(addresses) if f"`{address}" not in page] == []


def test_every_public_name_of_the_page_is_documented() -> None:
    """The page has the members of the host, and the modules and libraries for plugins."""
    page = read(DOCS / "front_end.md")
    types = (REPOSITORY / "tbcore" / "web" / "host.js").read_text(encoding="utf-8")
    host = types.partition("@typedef {object} Host\n")[2].partition("@typedef")[0]
    members = re.findall(r"^ \* @property \{.*\} \[?(\w+)", host, re.MULTILINE)
    assert members, "tbcore/web/host.js has no typedef of the host"
    missing = [member for member in members if not re.search(rf"\b{member}\b", page)]
    assert missing == []


@pytest.mark.parametrize(
    "folder",
    [path.parent for path in sorted(REPOSITORY.glob("plugins/*/pyproject.toml"))],
    ids=lambda folder: folder.name,
)
def test_every_route_of_a_plugin_is_documented(folder: Path) -> None:
    """The plugin's own page has the route with its errors."""
    plugin = importlib.import_module(f"tbcore_{folder.name}")
    page = read(folder / "http_api.md")
    client = make_client(REPOSITORY / "nowhere", plugins=[plugin])
    info = plugin.plugin_info()
    options = tbcore.PluginOptions(samples=1, values={o.name: o.default for o in info.options})
    given = {"multiplexer": client.multiplexer, "options": options}
    wanted = inspect.signature(plugin.routes).parameters
    for route in plugin.routes(**{name: given[name] for name in wanted}):
        assert f"`data/plugin/{folder.name}{route.path}" in page
    if not hasattr(plugin, "legacy_api"):
        return
    legacy = plugin.legacy_api(client.multiplexer, options)
    for route in legacy.routes:
        assert f"`data{route.path}" in page
    for route in legacy.bare_routes:
        assert f"`{route.path.removeprefix('/')}" in page


def test_the_files_named_in_the_architecture_exist() -> None:
    """Files are named with their folder; others in the same cell are in the same folder."""
    for line in read(REPOSITORY / "ARCHITECTURE.md").splitlines():
        folder = REPOSITORY
        for path in re.findall(r"`([\w/-]+(?:\.(?:py|js|mjs|json|md)|/))`", line):
            target = REPOSITORY / path if "/" in path else folder / path
            assert target.exists(), path
            folder = target.parent


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_are_valid(page: Path) -> None:
    """Links lead to files of the repository that are also on the site, and to existing headings."""
    markdown = re.sub(r"```.*?```", "", read(page), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", markdown)
    pictures = re.findall(r'\b(?:src|srcset)="([^"]+)"', markdown)
    for target in [*links, *pictures]:
        if re.match(r"\w+:", target):
            continue
        path, _, heading = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{target} does not exist"
        assert linked in SITE["site_files"](), f"{target} is not on the site"
        if heading:
            text = re.sub(r"```.*?```", "", read(linked), flags=re.DOTALL)
            slugs = [SITE["anchor"](line) for line in re.findall(r"^#+ (.*)", text, re.MULTILINE)]
            assert heading in slugs, f"{target}: no such heading"


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """The navigation has each page once, and no others. This test does not need mkdocs."""
    navigation = read(REPOSITORY / "mkdocs.yml").partition("\nnav:\n")[2]
    named = re.findall(r"^ +- [^:\n]+: (\S+)$", navigation, re.MULTILINE)
    assert sorted(named) == sorted(name(page) for page in PAGES)


def test_the_readme_names_every_page_of_the_documentation() -> None:
    """The README links to each page."""
    readme = read(REPOSITORY / "README.md")
    pages = [*DOCS.glob("*.md"), *REPOSITORY.glob("plugins/*/README.md")]
    assert [name(page) for page in pages if f"]({name(page)}" not in readme] == []


def test_the_readme_lists_the_plugins_in_the_order_of_their_tabs() -> None:
    """Plugins have different values of `order`, so their titles do not matter."""
    folders = re.findall(r"^\| .*\]\(plugins/(\w+)/README\.md\)", read(REPOSITORY / "README.md"),
                         re.MULTILINE)  # fmt: skip
    orders = [importlib.import_module(f"tbcore_{folder}").plugin_info().order for folder in folders]

    assert sorted(folders) == sorted(
        path.parent.name for path in REPOSITORY.glob("plugins/*/README.md")
    )
    assert orders == sorted(set(orders))


@pytest.mark.release
def test_the_site_is_built_and_needs_no_other_host() -> None:
    """mkdocs fails for a broken link or anchor, and writes every page."""
    run_python("dev.py", "docs", cwd=REPOSITORY)

    site = REPOSITORY / "site"
    for page in PAGES:
        path = name(page).removesuffix(".md")
        html = read(site / f"{re.sub('README$', 'index', path)}.html")
        assert "<h1" in html, path
        # The theme's script fails for an anchor that begins with a digit.
        assert not re.search(r'<h\d id="\d', html), path
        loaded = re.findall(
            r"<(?:link|script|img|iframe)\b[^>]*\b(?:src|href)=[\"']?([^\"'\s>]+)", html
        )
        assert loaded, path
        assert [address for address in loaded if re.match(r"(\w+:)?//", address)] == [], path


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_installs_the_wrong_package(page: Path) -> None:
    """`tbcore` on the package index is another project: the core is `tbcore-server`."""
    for line in read(page).splitlines():
        if "pip" in line:
            assert not re.search(
                r"\btbcore(?=\s|$|[=<>\[])", line.partition("#")[0].partition("pip")[2]
            ), line
