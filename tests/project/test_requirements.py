"""Each distribution requires what its modules import, in versions that are known to work."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator

import machine
import pytest
from distributions import ROOT, Project, projects
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECTS = projects()

DISTRIBUTIONS = {
    "PIL": "pillow",
    "google.protobuf": "protobuf",
    "google_crc32c": "google-crc32c",
    "markdown_it": "markdown-it-py",
    "re2": "google-re2",
    "tbcore": "tbcore-server",
    "tbcore_logs": "tbcore-logs",
}
"""Maps what is imported to its distribution, where that has another name."""

OPTIONAL = {
    "tbcore-compat": {"pandas", "pillow"},
    "tbcore-index": {"botocore", "fsspec"},  # for S3, with tbcore-remote
    "tbcore-jupyter": {"IPython", "jupyter_core"},
    "tbcore-logs": {"matplotlib", "pandas", "pillow", "polars", "pyarrow"},
    "tbcore-tensorboard": {"tensorboard", "werkzeug"},  # what it runs; xprof also has the latter
    "tbcore-testing": {"playwright"},
}
"""What only some users of a distribution have. It is imported in functions, or for types."""


def imports(project: Project) -> Iterator[tuple[str, bool]]:
    """The distributions that modules import, each with whether the module needs it itself."""
    for path in (ROOT / project.folder / project.package).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            for name in names:
                top = name.split(".")[0]
                top = ".".join(name.split(".")[:2]) if top == "google" else top
                if top not in {*sys.stdlib_module_names, project.package}:
                    yield DISTRIBUTIONS.get(top, top), node in tree.body


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_what_is_imported_is_required(project: Project) -> None:
    """Also if another requirement installs it, today and in the version of today."""
    ours = [text for text in project.metadata["dependencies"] if text.startswith("tbcore-")]
    texts = [*ours, *project.requirements()]
    required = {canonicalize_name(Requirement(text).name) for text in texts}
    found = {(canonicalize_name(name), name, at_top) for name, at_top in imports(project)}
    optional = OPTIONAL.get(project.name, set())

    assert {n for key, n, _ in found if key not in required} == optional
    assert not {n for _, n, at_top in found if at_top} & optional


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_what_others_publish_has_a_floor(project: Project) -> None:
    """`dev.py test --lowest` runs the tests with these versions."""
    floors = [
        [spec.operator for spec in item.specifier]
        for item in map(Requirement, project.requirements())
    ]
    assert all(operators.count(">=") == 1 for operators in floors)
    assert {operator for operators in floors for operator in operators} <= {">=", "<", "!="}


def test_a_requirement_is_the_same_everywhere() -> None:
    specifiers = defaultdict(set)
    for project in PROJECTS:
        for item in map(Requirement, project.requirements()):
            specifiers[item.name].add(str(item.specifier))
    assert {name: found for name, found in specifiers.items() if len(found) > 1} == {}


def test_versions_with_known_holes_are_excluded() -> None:
    """Of h11: a body whose end a proxy finds elsewhere. Of orjson: JSON that ends the process. Of
    click: with TBCORE_BIND_ALL=no, the server listens on all addresses.

    uvicorn has an upper limit, since tbcore/server/protocol.py extends a private class of it.
    """
    core = {item.name: item.specifier for item in map(Requirement, PROJECTS[0].requirements())}
    assert Version("0.15") not in core["h11"]
    assert Version("3.9.14") not in core["orjson"]
    assert Version("1.0") not in core["uvicorn"]
    assert Version("8.2.1") not in core["click"]


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_the_classifiers_have_the_tested_versions_of_python(project: Project) -> None:
    newest = int(machine.NEWEST_PYTHON.removeprefix("3."))
    oldest = int(project.metadata["requires-python"].removeprefix(">=3."))
    prefix = "Programming Language :: Python :: 3."
    found = [text for text in project.metadata["classifiers"] if text.startswith(prefix)]
    assert found == [f"{prefix}{minor}" for minor in range(oldest, newest + 1)]


def test_actions_are_named_by_their_commits() -> None:
    """Anyone who can move a tag of an action could otherwise publish as tbcore."""
    for path in (ROOT / ".github" / "workflows").iterdir():
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        used = [line.split("uses:", 1)[1].strip() for line in lines if "uses:" in line]
        assert used
        for text in used:
            action, _, version = text.partition("  # ")
            assert len(action.partition("@")[2]) == 40, text
            assert int(action.partition("@")[2], 16), text
            assert version.startswith("v"), text
