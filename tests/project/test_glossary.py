"""The repository keeps to docs/glossary.md: one word for a thing, and one class for a name."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

GLOSSARY = REPOSITORY / "docs" / "glossary.md"

TEXT_SUFFIXES = (".py", ".js", ".mjs", ".css", ".html", ".md", ".toml", ".yml", ".proto")

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
"""A word of prose, or of a name in snake case, camel case or kebab case."""


def tracked(*patterns: str) -> list[Path]:
    """The files of the repository that match, new ones included."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("needs a clone of the repository")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (REPOSITORY / name for name in listed.stdout.splitlines())
    return [path for path in paths if path.exists()]


def words_of(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def unused_phrases() -> dict[str, str]:
    """The phrases of the glossary's last table, as words with a blank between; what to use."""
    _, table = GLOSSARY.read_text(encoding="utf-8").split("## Words that are not used")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)[2:]
    return {" ".join(words_of(phrase)): use for cell, use in rows for phrase in cell.split(", ")}


def uses(text: str, phrases: dict[str, str]) -> Iterator[str]:
    """A line for each phrase that occurs in the text; phrases do not go across blank lines."""
    for paragraph in re.split(r"\n\s*\n", text):
        words = f" {' '.join(words_of(paragraph))} "
        for phrase, use in phrases.items():
            if f" {phrase} " in words:
                yield f"{phrase!r}; use: {use}"


def test_words_that_the_glossary_rules_out_do_not_occur() -> None:
    phrases = unused_phrases()
    assert len(phrases) > 30
    assert list(uses("takes the `read_turn` of whoeverElse", phrases)) == [
        "'whoever'; use: anyone who",
        "'read turn'; use: read slice, time slice",
    ]
    found = [
        f"{path.relative_to(REPOSITORY)}: {line}"
        for path in tracked()
        if path.suffix in TEXT_SUFFIXES and path not in (GLOSSARY, Path(__file__))
        for line in uses(path.read_text(encoding="utf-8"), phrases)
    ]
    assert not found, "\n".join(found)


def classes(*patterns: str) -> dict[str, set[str]]:
    """Name of each class to the modules that define one of that name."""
    found = defaultdict(set)
    for path in tracked(*patterns):
        name = path.relative_to(REPOSITORY).as_posix()
        if name.endswith(".py") and not name.endswith("_pb2.py") and "/tests/" not in name:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name].add(name)
    return found


def test_a_class_of_the_core_has_a_name_of_its_own() -> None:
    """`Field` in one module and another `Field` elsewhere would be two meanings of a word."""
    core = classes("tbcore")
    assert len(core) > 100
    assert {name: sorted(modules) for name, modules in core.items() if len(modules) > 1} == {}


def test_no_class_of_a_plugin_is_named_like_one_of_the_core() -> None:
    core, plugins = classes("tbcore"), classes("plugins")
    assert len(plugins) > 40
    shared = {name: sorted(core[name] | plugins[name]) for name in plugins.keys() & core.keys()}
    assert shared == {}
