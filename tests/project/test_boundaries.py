"""Rules for imports, for names of plugins in the core, and for files in the repository."""

from __future__ import annotations

import ast
import compileall
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from google.protobuf.message import Message

from tbcore import engine

REPOSITORY = Path(__file__).resolve().parents[2]

ROOMS = (
    "errors", "kinds", "text", "tuning", "extensions",
    "eventfiles", "values", "store",
    "json", "patterns", "plugins", "http", "media", "queries", "server", "cli", "__main__",
    "",  # tbcore itself: the names that plugins import
    "engine",  # the names that extensions import
)  # fmt: skip
"""The rooms of the core. Each imports only from those before it."""

LAZY = {"", "engine"}
"""Rooms that import a module when one of its names is used. Any room may import from tbcore itself,
such as its version, since that needs no other room."""

APART = {"values", "store"}
"""Rooms that must not import each other: the core does not interpret what it stores."""

INTERPRETS = "tbcore/store/hyperparameters.py"
"""The one module of `store` that imports from `values`, since runs inherit hyperparameters."""

FRONT_END = (REPOSITORY / "docs" / "front_end.md").read_text(encoding="utf-8")
"""The page that documents all names that modules of plugins may import."""

PAGE_MODULES = {
    "cards.js",
    "chart.js",
    "format.js",
    "frame.js",
    "groups.js",
    "options.js",
    "requests.js",
    "steps.js",
    "tags.js",
    "text-names.js",
    "tooltip.js",
    "ui.js",
}
"""The public modules of the page. Besides them there is `host.js`, which has only types."""

TESTING = "tbcore_testing"

PUBLIC = {
    "tbcore",
    "tbcore.http",
    "tbcore.media",
    "tbcore.patterns",
    "tbcore.values",
    TESTING,
}
"""Modules that plugins may import; TESTING only in their tests."""

IMPORT_MAP = {
    "preact",
    "preact/hooks",
    "htm",
    "htm/preact",
    "@preact/signals-core",
    "@preact/signals",
}
"""Names that modules of the page may import besides `tbcore/...`."""

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
"""Names of plugins of TensorBoard; tests add those in `plugins/`."""

WORDS_OF_PROGRAMS = {"audio", "compare", "hparams", "images", "text"}
"""Names of plugins that are also words of HTML, CSS and JavaScript, or a field of
`data/run_attributes`."""

MAY_NAME_PLUGINS = ("server/run_attributes.py", "server/unclaimed.py", "values/")
"""Files that may have names of plugins, since these are part of the file format: as names of
fields, and of plugins in metadata. In the first one, they are names of fields in JSON."""


class Import(NamedTuple):
    """One import statement."""

    module: str  # absolute name; `a` for `from a import b`
    names: tuple[str, ...]  # the names that are imported from it
    line: int


def imports(path: Path, package: str, *, with_types: bool = True) -> Iterator[Import]:
    """All imports of a module; relative ones are made absolute.

    `package` is the dotted name of the package that holds the module. Without `with_types`, those
    below `if TYPE_CHECKING` are left out.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in skipped and not with_types:
            continue
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
    """The Python modules in a folder, without generated ones."""
    return [path for path in sorted(folder.rglob("*.py")) if not path.name.endswith("_pb2.py")]


def dotted(path: Path, root: Path) -> str:
    """Dotted name of the package that contains a module."""
    return ".".join(path.relative_to(root).parent.parts)


def room(module: str) -> str:
    """The room of a module of the core: `tbcore.store.loader` is in `store`."""
    return module.removeprefix("tbcore").lstrip(".").split(".")[0]


def core_rooms(item: Import) -> set[str]:
    """The rooms that an import needs: `errors` for `from tbcore import errors`."""
    if item.module == "tbcore":
        names = {name if name in ROOMS else "" for name in item.names}
        return names or {""}
    return {room(item.module)} if item.module.startswith("tbcore.") else set()


def plugin_folders() -> list[Path]:
    """The folders of all plugins in the repository, including the example."""
    projects = [*REPOSITORY.glob("plugins/*/"), *REPOSITORY.glob("docs/examples/*/")]
    return sorted(path for path in projects if (path / "pyproject.toml").exists())


def extension_folders() -> list[Path]:
    """The folders of all extensions."""
    return sorted(path.parent for path in REPOSITORY.glob("extensions/*/pyproject.toml"))


def test_rooms_import_only_from_those_before_them() -> None:
    """In the direction from event files to HTTP."""
    wrong = []
    for path in python_files(REPOSITORY / "tbcore"):
        name = path.relative_to(REPOSITORY / "tbcore").with_suffix("").parts[0]
        own = "" if name == "__init__" else name
        assert own in ROOMS, f"tbcore/{name}: a new room needs a place in ROOMS"
        is_apart = own in APART and path != REPOSITORY / INTERPRETS
        allowed = {"", *ROOMS[: ROOMS.index(own) + 1]} - (APART - {own} if is_apart else set())
        for item in imports(path, dotted(path, REPOSITORY)):
            for other in core_rooms(item) - allowed:
                assert other in ROOMS, f"{path}:{item.line}: what is tbcore.{other}?"
                wrong.append(f"{path.relative_to(REPOSITORY)}:{item.line} imports {other!r}")
    assert wrong == []
    for room_ in LAZY:
        path = REPOSITORY / "tbcore" / f"{room_ or '__init__'}.py"
        at_runtime = {item.module for item in imports(path, "tbcore", with_types=False)}
        assert {name for name in at_runtime if name.startswith("tbcore.")} <= {"tbcore.extensions"}


def test_no_modules_import_each_other() -> None:
    """Neither directly nor through others; imports in functions count, those for types do not."""
    folders = [REPOSITORY / "tbcore", *(REPOSITORY.glob("extensions/*/tbcore_*"))]
    paths = [path for folder in folders for path in python_files(folder)]
    modules = {}
    for path in paths:
        root = next(folder.parent for folder in folders if path.is_relative_to(folder))
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        modules[name] = (path, dotted(path, root))
    arrows = {}
    for name, (path, package) in modules.items():
        targets = set()
        for item in imports(path, package, with_types=False):
            whole = {f"{item.module}.{each}" for each in item.names} & modules.keys()
            targets |= whole or ({item.module} & modules.keys())
        arrows[name] = targets - {name}
    order = TopologicalSorter(arrows)
    order.prepare()  # raises CycleError


def test_only_two_modules_import_the_fast_ways() -> None:
    """Without the folder `tbcore/eventfiles/fast`, only these two would need a change, or none."""
    users = {
        path.stem
        for path in python_files(REPOSITORY / "tbcore")
        if path.parent.name != "fast"
        for item in imports(path, dotted(path, REPOSITORY))
        if item.module.startswith("tbcore.eventfiles.fast") or "fast" in item.names
    }
    assert users == {"decoder", "read_ahead"}


def test_the_core_imports_no_plugin() -> None:
    """The core finds plugins by entry points only."""
    wrong = [
        f"{path.relative_to(REPOSITORY)}:{item.line} imports {item.module}"
        for path in python_files(REPOSITORY / "tbcore")
        for item in imports(path, dotted(path, REPOSITORY))
        if item.module.startswith("tbcore_")
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", plugin_folders(), ids=lambda folder: folder.name)
def test_plugins_import_the_public_surface_only(folder: Path) -> None:
    """Plugins and their tests import no other plugin and nothing private, also not of tests."""
    public_names = set(exported_names(REPOSITORY / "tbcore" / "__init__.py"))
    shared = {path.stem for path in (REPOSITORY / "tests" / "shared").glob("*.py")}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    wrong = []
    for path in python_files(folder):
        for item in imports(path, dotted(path, folder)):
            top = item.module.split(".")[0]
            where = f"{path.relative_to(REPOSITORY)}:{item.line}"
            if (top.startswith("tbcore_") and top not in {*packages, TESTING}) or top in shared:
                wrong.append(f"{where} imports {item.module}")
            if top not in ("tbcore", TESTING):
                continue
            if top == TESTING and "tests" not in path.parts:
                wrong.append(f"{where} imports {TESTING} outside of tests")
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


@pytest.mark.parametrize("folder", extension_folders(), ids=lambda folder: folder.name)
def test_extensions_import_the_engine_and_the_public_surface_only(folder: Path) -> None:
    """Of the core, an extension imports what plugins may, and the names of `tbcore.engine`."""
    own = {path.parent.name for path in folder.glob("*/__init__.py")}
    wrong = []
    for path in python_files(folder):
        if "tests" in path.relative_to(folder).parts:
            continue
        for item in imports(path, dotted(path, folder)):
            top = item.module.split(".")[0]
            where = f"{path.relative_to(REPOSITORY)}:{item.line}"
            if top.startswith("tbcore_") and top not in {*own, *needed(folder)}:
                wrong.append(f"{where} imports {item.module}")
            if top == "tbcore":
                private = set(item.names) - public_names_of(item.module)
                wrong += [f"{where} imports {name} from {item.module}" for name in sorted(private)]
                if not item.names:
                    wrong.append(f"{where} imports {item.module} as a whole")
    assert wrong == []


@pytest.mark.parametrize("folder", extension_folders(), ids=lambda folder: folder.name)
def test_loggers_of_extensions_are_below_that_of_the_core(folder: Path) -> None:
    """The server and the commands print what the logger `tbcore` gets, with their prefix."""
    wrong = [
        f"{path.relative_to(REPOSITORY)} has {call}"
        for path in python_files(folder)
        for call in re.findall(
            r"logger = logging.getLogger\((?!\"tbcore[.\"]).*", path.read_text(encoding="utf-8")
        )
    ]
    assert wrong == []


def needed(folder: Path) -> set[str]:
    """The packages of the extensions that an extension requires."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (re.match(r"tbcore-(?!server)([\w-]+)", one) for one in project["dependencies"])
    return {one[0].replace("-", "_") for one in found if one}


def public_names_of(module: str) -> set[str]:
    """The names that an extension may import from a module of the core."""
    if module == "tbcore":
        modules = {name.rpartition(".")[2] for name in PUBLIC if name.startswith("tbcore.")}
        return {*exports_of("tbcore"), "__version__", *modules}
    if module == "tbcore.engine":
        return set(dir(engine))
    return exports_of(module) if module in PUBLIC else set()


def test_names_of_the_engine_are_described_and_used() -> None:
    """Each has a docstring of its own, and some extension imports it; none is a module."""
    used = {
        name
        for folder in extension_folders()
        for path in python_files(folder)
        for item in imports(path, dotted(path, folder))
        if item.module == "tbcore.engine"
        for name in item.names
    }
    for name in dir(engine):
        found = getattr(engine, name)
        assert not isinstance(found, ModuleType), name
        assert callable(found), f"{name} has no docstring"
        # Classes that protoc generated are documented in the .proto file.
        assert found.__doc__ or issubclass(found, Message), name
    assert [name for name in dir(engine) if name not in used] == []


def exports_of(module: str) -> set[str]:
    """The public names of a public module."""
    root = REPOSITORY / "extensions" / "testing" if module == TESTING else REPOSITORY
    file = root / module.replace(".", "/")
    return set(exported_names(file / "__init__.py" if file.is_dir() else file.with_suffix(".py")))


def reached_by_name(path: Path) -> Iterator[str]:
    """Dotted names by which a module uses private modules without importing them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            # After `import tbcore.http` the name `tbcore.store` is available, too.
            for alias in node.names:
                if alias.name.split(".")[0] == "tbcore" and "tests" not in path.parts:
                    yield f"{node.lineno} imports {alias.name} as a whole"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
            if re.fullmatch(r"tbcore(\.\w+)+", name) and not is_public(name):
                yield f"{node.lineno} names {name}"


def is_public(name: str) -> bool:
    """Whether a dotted name is a public module, a name in one, or the group of entry points."""
    return name == "tbcore.plugins" or bool({name, name.rpartition(".")[0]} & PUBLIC)


def test_uses_of_private_names_are_found(tmp_path: Path) -> None:
    """The test above is able to fail."""
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
    assert "write_run" in exports_of("tbcore_testing")


def exported_names(path: Path) -> list[str]:
    """`__all__` of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise AssertionError(f"{path} has no __all__")


def test_the_core_names_no_extension() -> None:
    """Hints take what to install from one table, `tbcore.extensions.INSTALL`."""
    names = "|".join(folder.name for folder in extension_folders())
    wrong = []
    for path in python_files(REPOSITORY / "tbcore"):
        found = re.findall(rf"\btbcore[-_](?:{names})\b", path.read_text(encoding="utf-8"))
        if path != REPOSITORY / "tbcore" / "extensions.py":
            wrong += [f"{path.relative_to(REPOSITORY)} names {name}" for name in found]
        else:
            wrong += [f"extensions.py names {name}" for name in found if "_" in name]
    assert wrong == []


def test_the_core_names_no_plugin() -> None:
    """The core has no code for particular plugins."""
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
    """Names of distributions and packages of plugins in a text, including comments."""
    return re.findall(rf"\btbcore[-_](?:{'|'.join(names)})\b", text)


def names_in_page(text: str, names: Iterable[str]) -> list[str]:
    """Names of plugins in a file of the page: as strings, keys, in addresses or selectors.

    Comments are ignored. WORDS_OF_PROGRAMS are only found in quotes.
    """
    found = module_names(text, names)
    code = re.sub(r"/\*.*?\*/|<!--.*?-->|(?<!:)//[^\n]*", "", text, flags=re.DOTALL)
    telling = [name for name in names if name not in WORDS_OF_PROGRAMS]
    found += re.findall(rf"\b(?:{'|'.join(telling)})\b", code)
    return found + [word for _, word in re.findall(r"(['\"`])(\w+)\1", code) if word in names]


def test_names_of_plugins_in_a_page_are_found() -> None:
    """Names are found in code, but not in comments or in other words."""
    names = {"scalars", "hparams", "text", "images"}
    for text in (
        'if (tab === "text") return;',
        "const order = { scalars: 1 };",
        '.tab[data-plugin="images"] {}',
        "<pre>pip install tbcore-hparams</pre>",
        "html`<a href=#scalars>`",
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
    """The names of the plugins in this repository."""
    names: list[str] = []
    for path in REPOSITORY.glob("plugins/*/pyproject.toml"):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        names += project["entry-points"]["tbcore.plugins"]
    return names


def page_files(folder: Path) -> list[Path]:
    """The modules, styles and pages in a folder, without libraries."""
    files = [path for end in ("js", "mjs", "css", "html") for path in folder.rglob(f"*.{end}")]
    return [path for path in sorted(files) if "vendor" not in path.parts]


def page_modules(folder: Path) -> list[Path]:
    """The ES modules in a folder, without libraries."""
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
def test_page_modules_of_a_plugin_import_only_their_own_and_public_ones(folder: Path) -> None:
    """A plugin's modules import no other plugin; of the page, only the public modules."""
    wrong = []
    for static in folder.glob("*/static"):
        for path in page_modules(static):
            for match in IMPORT.finditer(path.read_text(encoding="utf-8")):
                name = next(group for group in match.groups() if group)
                if name.startswith("."):
                    target = (path.parent / name).resolve()
                    allowed = target.is_file() and target.is_relative_to(static.resolve())
                elif name.startswith("tbcore/"):
                    allowed = name.removeprefix("tbcore/") in {*PAGE_MODULES, "host.js"}
                else:
                    allowed = name in IMPORT_MAP
                if not allowed:
                    wrong.append(f"{path.relative_to(REPOSITORY)} imports {name!r}")
    assert wrong == []


def test_public_modules_of_the_page_are_documented() -> None:
    """Public modules lie beside index.html; their sections in docs/front_end.md have all names."""
    web = REPOSITORY / "tbcore" / "web"
    assert {path.name for path in web.glob("*.js")} == {*PAGE_MODULES, "host.js"}
    assert set(re.findall(r"`tbcore/([\w/-]+\.js)`", FRONT_END)) <= {*PAGE_MODULES, "host.js"}
    for module in sorted(PAGE_MODULES):
        names = names_exported_by_page_module(web / module)
        assert names
        assert f"`tbcore/{module}`" in FRONT_END
        section = FRONT_END.partition(f"\n## tbcore/{module}\n")[2].partition("\n## ")[0]
        assert [name for name in names if f"`{name}`" not in section] == [], module


def names_exported_by_page_module(path: Path) -> list[str]:
    """The names that a module of the page exports, with those that it re-exports."""
    text = path.read_text(encoding="utf-8")
    names = re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", text, re.MULTILINE)
    for listed in re.findall(r"^export \{([^}]*)\}", text, re.MULTILINE):
        names += [name.split()[-1] for name in listed.split(",") if name.strip()]
    for target in re.findall(r'^export \* from "([^"]+)"', text, re.MULTILINE):
        names += names_exported_by_page_module(path.parent / target)
    return names


def test_page_modules_of_the_shell_import_only_their_own() -> None:
    """The shell loads plugins from addresses in responses of the server, never by import."""
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


def test_no_third_party_file_is_tracked() -> None:
    """Front-end libraries are fetched when a package is built, and never committed."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no git checkout, so nothing is tracked")
    listing = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    pattern = re.compile(r"(^|/)(vendor|node_modules)/|\.min\.(js|css|mjs)$|\.whl$")
    assert [path for path in listing.splitlines() if pattern.search(path)] == []


def test_the_lock_file_has_hashes_and_no_addresses() -> None:
    """Any registry may be used to build, since hashes verify the packages."""
    lock = json.loads((REPOSITORY / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if "integrity" not in package] == []


def test_front_end_libraries_are_pinned_exactly() -> None:
    """With version ranges, two builds of one version could differ."""
    manifest = json.loads((REPOSITORY / "package.json").read_text(encoding="utf-8"))
    versions = {**manifest["dependencies"], **manifest["devDependencies"]}
    assert [
        f"{name} {version}" for name, version in versions.items() if not version[0].isdigit()
    ] == []


def test_names_are_imported_where_there_is_no_source(tmp_path: Path) -> None:
    """From files of bytecode alone, such as bundles of programs have."""
    shutil.copytree(Path(engine.__file__).parent, tmp_path / "tbcore")
    compileall.compile_dir(tmp_path / "tbcore", quiet=2, legacy=True)
    for path in (tmp_path / "tbcore").rglob("*.py"):
        path.unlink()
    code = "import tbcore, tbcore.engine as e; print(tbcore.Claim, e.quoted, hasattr(tbcore, 'x'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith(" False\n")
