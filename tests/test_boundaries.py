"""Who may import whom, what the core may not name, and what does not belong into the repository."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

ROOMS = {
    "errors": 0,
    "kinds": 0,
    "tuning": 0,
    "eventfiles": 1,
    "values": 2,
    "store": 2,
    "plugin_stats": 1,
    "options": 1,
    "patterns": 1,
    "http": 3,
    "media": 3,
    "hookspecs": 3,
    "sources": 2,
    "plugins": 3,
    "new_plugin": 4,
    "config": 3,
    "": 3,  # tbcore itself: the public names
    "server": 4,
    "cli": 5,
    "__main__": 5,
    "testing": 5,
    "_pytest_plugin": 6,
}
"""Room -> how far to the right it lies. A room imports from its own column or from its left."""

APART = {"values": {"store"}, "store": {"values"}}
"""Rooms of one column that do not know each other: the core does not interpret what it stores."""

FRONT_END = (REPOSITORY / "docs" / "front_end.md").read_text(encoding="utf-8")
"""The page that lists what modules of plugins may import; what it leaves out is private."""

PUBLIC = {
    "tbcore",
    "tbcore.http",
    "tbcore.media",
    "tbcore.patterns",
    "tbcore.values",
    "tbcore.testing",
}
"""What plugins import, they and their tests."""

IMPORT_MAP = {
    "preact",
    "preact/hooks",
    "htm",
    "htm/preact",
    "@preact/signals-core",
    "@preact/signals",
    "uplot",
}
"""What modules of the page import by name, beside `tbcore/...`."""

PLUGIN_NAMES = {
    "audio",
    "distributions",
    "graphs",
    "histograms",
    "hparams",
    "images",
    "pr_curves",
    "scalars",
    "text",
}
"""Of this repository and of TensorBoard; those of `plugins/` are added where it is used."""

WORDS_OF_PROGRAMS = {"audio", "images", "text"}
"""Names of plugins that are words of HTML, CSS and JavaScript, too."""

MAY_NAME_PLUGINS = ("server/unclaimed.py", "testing/", "values.py")
"""Where such words are the file format's: names of fields, and of plugins inside metadata. The
module of the legacy API may as well: its document gives the words."""


class Import(NamedTuple):
    """One imported name and where it stands."""

    module: str  # absolute; of `from a import b` it is a, or a.b when that is a module
    names: tuple[str, ...]  # what is taken from it
    line: int


def imports(path: Path, package: str) -> Iterator[Import]:
    """All imports of a module, relative ones made absolute.

    `package` is the dotted name of the package that holds the module.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], base]).rstrip(".")
            yield Import(base, tuple(alias.name for alias in node.names), node.lineno)


def python_files(folder: Path) -> list[Path]:
    """Modules that people write: generated ones have nothing to say here."""
    return [path for path in sorted(folder.rglob("*.py")) if not path.name.endswith("_pb2.py")]


def dotted(path: Path, root: Path) -> str:
    """The name of the package that holds a module."""
    return ".".join(path.relative_to(root).parent.parts)


def room(module: str) -> str:
    """The room of a module of the core: `tbcore.store.loader` is in `store`."""
    return module.removeprefix("tbcore").lstrip(".").split(".")[0]


def core_rooms(item: Import) -> set[str]:
    """The rooms that an import reaches: `from tbcore import errors` reaches `errors`."""
    if item.module == "tbcore":
        names = {name if name in ROOMS else "" for name in item.names}
        return names or {""}
    return {room(item.module)} if item.module.startswith("tbcore.") else set()


def plugin_folders() -> list[Path]:
    """Every plugin of the repository, the example included."""
    projects = [*REPOSITORY.glob("plugins/*/"), *REPOSITORY.glob("docs/examples/*/")]
    return sorted(path for path in projects if (path / "pyproject.toml").exists())


def test_rooms_import_only_from_their_left() -> None:
    """Data moves from event files to HTTP, and no room knows who comes after it."""
    wrong = []
    for path in python_files(REPOSITORY / "tbcore"):
        name = path.relative_to(REPOSITORY / "tbcore").with_suffix("").parts[0]
        own = "" if name == "__init__" else name
        assert own in ROOMS, f"tbcore/{name}: a new room needs a place in ROOMS"
        for item in imports(path, dotted(path, REPOSITORY)):
            for other in core_rooms(item):
                assert other in ROOMS, f"{path}:{item.line}: what is tbcore.{other}?"
                if ROOMS[other] > ROOMS[own] or other in APART.get(own, set()):
                    wrong.append(f"{path.relative_to(REPOSITORY)}:{item.line} imports {other!r}")
    assert wrong == []


def test_the_core_imports_no_plugin() -> None:
    """Plugins are found by entry points alone."""
    wrong = [
        f"{path.relative_to(REPOSITORY)}:{item.line} imports {item.module}"
        for path in python_files(REPOSITORY / "tbcore")
        for item in imports(path, dotted(path, REPOSITORY))
        if item.module.startswith("tbcore_")
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", plugin_folders(), ids=lambda folder: folder.name)
def test_plugins_import_the_public_surface_only(folder: Path) -> None:
    """Another plugin, or a private module of the core, is out of bounds; in tests as well."""
    public_names = set(exported_names(REPOSITORY / "tbcore" / "__init__.py"))
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    wrong = []
    for path in python_files(folder):
        for item in imports(path, dotted(path, folder)):
            top = item.module.split(".")[0]
            where = f"{path.relative_to(REPOSITORY)}:{item.line}"
            if top.startswith("tbcore_") and top not in packages:
                wrong.append(f"{where} imports {item.module}")
            if top != "tbcore":
                continue
            if item.module not in PUBLIC:
                wrong.append(f"{where} imports {item.module}")
            if item.module == "tbcore":
                modules = {name.rpartition(".")[2] for name in PUBLIC}
                private = set(item.names) - public_names - modules
                wrong += [f"{where} imports {name} from tbcore" for name in sorted(private)]
            elif item.module in PUBLIC:
                private = set(item.names) - exports_of(item.module)
                wrong += [f"{where} imports {name} from {item.module}" for name in sorted(private)]
        wrong += [f"{path.relative_to(REPOSITORY)}:{line}" for line in reached_by_name(path)]
    assert wrong == []


def exports_of(module: str) -> set[str]:
    """The public names of a public module."""
    file = REPOSITORY / module.replace(".", "/")
    return set(exported_names(file / "__init__.py" if file.is_dir() else file.with_suffix(".py")))


def reached_by_name(path: Path) -> Iterator[str]:
    """Where a module goes round `from tbcore import`: private modules are then a name away."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            # `import tbcore.http` binds `tbcore`, and `tbcore.store` is there as well.
            for alias in node.names:
                if alias.name.split(".")[0] == "tbcore" and "tests" not in path.parts:
                    yield f"{node.lineno} imports {alias.name} as a whole"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
            if re.fullmatch(r"tbcore(\.\w+)+", name) and not is_public(name):
                yield f"{node.lineno} names {name}"


def is_public(name: str) -> bool:
    """Whether a dotted name is a public module, the group of entry points, or a name in either."""
    return name == "tbcore.plugins" or bool({name, name.rpartition(".")[0]} & PUBLIC)


def test_what_goes_round_the_public_surface_is_found(tmp_path: Path) -> None:
    """The rule above would hold by never looking."""
    module = tmp_path / "module.py"
    module.write_text(
        "import tbcore\nimport tbcore.http as h\nimport tbcore_other\n"
        "loader = __import__('importlib').import_module('tbcore.store.loader')\n"
        "log = 'tbcore.http'\n"
    )

    assert list(reached_by_name(module)) == [
        "1 imports tbcore as a whole",
        "2 imports tbcore.http as a whole",
        "4 names tbcore.store.loader",
    ]
    assert "json_response" in exports_of("tbcore.http")
    assert "write_run" in exports_of("tbcore.testing")


def exported_names(path: Path) -> list[str]:
    """`__all__` of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise AssertionError(f"{path} has no __all__")


def test_the_core_names_no_plugin() -> None:
    """The core works for any plugin alike; names that it knows would be favourites."""
    names = PLUGIN_NAMES | set(installable_plugins())
    wrong = []
    for path in python_files(REPOSITORY / "tbcore"):
        relative = path.relative_to(REPOSITORY / "tbcore").as_posix()
        if relative.startswith(MAY_NAME_PLUGINS) or "legacy" in relative:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in names:
                wrong.append(f"tbcore/{relative}:{node.lineno} names {node.value!r}")
        text = path.read_text(encoding="utf-8")
        wrong += [f"tbcore/{relative} has {found}" for found in module_names(text, names)]
    for path in page_files(REPOSITORY / "tbcore" / "web"):
        text = path.read_text(encoding="utf-8")
        wrong += [f"{path.name} names {found!r}" for found in names_in_page(text, names)]
    assert wrong == []


def module_names(text: str, names: Iterable[str]) -> list[str]:
    """Distributions and packages of plugins, wherever they stand, comments included."""
    return re.findall(rf"\btbcore[-_](?:{'|'.join(names)})\b", text)


def names_in_page(text: str, names: Iterable[str]) -> list[str]:
    """Names of plugins in a file of the page: as text, as a key, in an address or a selector.

    Comments may give examples. What is a word of every program counts in quotes only.
    """
    found = module_names(text, names)
    code = re.sub(r"/\*.*?\*/|<!--.*?-->|(?<!:)//[^\n]*", "", text, flags=re.DOTALL)
    telling = [name for name in names if name not in WORDS_OF_PROGRAMS]
    found += re.findall(rf"\b(?:{'|'.join(telling)})\b", code)
    return found + [word for _, word in re.findall(r"(['\"`])(\w+)\1", code) if word in names]


def test_names_of_plugins_in_a_page_are_found() -> None:
    """In the ways in which they come in; not in comments, nor as other words."""
    names = {"scalars", "hparams", "text", "images"}
    for text in (
        'if (tab === "text") return;',
        "const order = { scalars: 1 };",
        '.tab[data-plugin="images"] {}',
        "<pre>pip install tbcore-hparams</pre>",
        "html`<a href=#hparams>`",
        "/** As tbcore_scalars/smoothing.py does. */",
    ):
        assert names_in_page(text, names), text
    for text in (
        "context.text = 1; // as scalars do",
        "/* #scalars&x=1 */ const images = [];",
        'fetch("http://host/x") // hparams',
    ):
        assert names_in_page(text, names) == [], text


def installable_plugins() -> list[str]:
    """The names under which the plugins of this repository register."""
    names: list[str] = []
    for path in REPOSITORY.glob("plugins/*/pyproject.toml"):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        names += project["entry-points"]["tbcore.plugins"]
    return names


def page_files(folder: Path) -> list[Path]:
    """The modules, styles and pages below a folder that people of this project write."""
    files = [path for end in ("js", "mjs", "css", "html") for path in folder.rglob(f"*.{end}")]
    return [path for path in sorted(files) if "vendor" not in path.parts]


def page_modules(folder: Path) -> list[Path]:
    """The ES modules below a folder that people of this project write."""
    modules = [*folder.rglob("*.js"), *folder.rglob("*.mjs")]
    return [path for path in sorted(modules) if "vendor" not in path.parts]


IMPORT = re.compile(
    r"""^\s*(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']   # import a from "x"; re-exports
      | ^\s*import\s*["']([^"']+)["']                              # import "x"
      | \bimport\(\s*["']([^"']+)["']                              # import("x"), types in JSDoc too
    """,
    re.MULTILINE | re.VERBOSE,
)


@pytest.mark.parametrize("folder", plugin_folders(), ids=lambda folder: folder.name)
def test_page_modules_of_a_plugin_import_their_own_and_the_shell(folder: Path) -> None:
    """A plugin's page works wherever it is installed: it asks for nothing of another one.

    Of the shell it asks for what docs/front_end.md offers to everybody.
    """
    wrong = []
    for static in folder.glob("*/static"):
        for path in page_modules(static):
            for match in IMPORT.finditer(path.read_text(encoding="utf-8")):
                name = next(group for group in match.groups() if group)
                if name.startswith("."):
                    target = (path.parent / name).resolve()
                    allowed = target.is_file() and target.is_relative_to(static.resolve())
                elif name.startswith("tbcore/"):
                    allowed = f"`{name}`" in FRONT_END
                else:
                    allowed = name in IMPORT_MAP
                if not allowed:
                    wrong.append(f"{path.relative_to(REPOSITORY)} imports {name!r}")
            for module, name in names_from_shell(path):
                if not re.search(rf"\b{name}\b", FRONT_END):
                    wrong.append(f"{path.relative_to(REPOSITORY)} imports {name} of {module!r}")
    assert wrong == []


def names_from_shell(path: Path) -> Iterator[tuple[str, str]]:
    """What a module of the page takes from the shell's modules, by name."""
    text = path.read_text(encoding="utf-8")
    for names, module in re.findall(r'import\s*\{([^}]*)\}\s*from\s*"(tbcore/[^"]+)"', text):
        yield from ((module, name.split()[0]) for name in names.split(",") if name.strip())


def test_what_the_page_offers_to_plugins_exists() -> None:
    """Each module of the tables in docs/front_end.md."""
    modules = set(re.findall(r"`tbcore/([\w/-]+\.js)`", FRONT_END))
    assert len(modules) > 30
    web = REPOSITORY / "tbcore" / "web"
    assert sorted(name for name in modules if not (web / name).is_file()) == []


def test_page_modules_of_the_shell_import_their_own() -> None:
    """The shell meets plugins by the addresses that the server gives it, never by import."""
    web = REPOSITORY / "tbcore" / "web"
    wrong = []
    for path in page_modules(web):
        for match in IMPORT.finditer(path.read_text(encoding="utf-8")):
            name = next(group for group in match.groups() if group)
            if name.startswith("."):
                allowed = (path.parent / name).resolve().is_file()
            elif name.startswith("tbcore/"):
                allowed = (web / name.removeprefix("tbcore/")).is_file()
            else:
                allowed = name in IMPORT_MAP
            if not allowed:
                wrong.append(f"{path.relative_to(REPOSITORY)} imports {name!r}")
    assert wrong == []


def test_no_file_of_others_is_tracked() -> None:
    """Front-end libraries are fetched when a package is built, and are not committed."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no git checkout, so nothing is tracked")
    listing = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    pattern = re.compile(r"(^|/)(vendor|node_modules)/|\.min\.(js|css|mjs)$|\.whl$")
    assert [path for path in listing.splitlines() if pattern.search(path)] == []


def test_the_lock_file_names_hashes_and_no_address() -> None:
    """Whoever builds decides which registry to ask; the hashes say what may come."""
    lock = json.loads((REPOSITORY / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if "integrity" not in package] == []


def test_front_end_libraries_are_pinned_exactly() -> None:
    """A range would let two builds of one version differ."""
    manifest = json.loads((REPOSITORY / "package.json").read_text(encoding="utf-8"))
    versions = {**manifest["dependencies"], **manifest["devDependencies"]}
    assert [
        f"{name} {version}" for name, version in versions.items() if not version[0].isdigit()
    ] == []
