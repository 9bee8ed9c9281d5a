"""The JSON of each command has the fields and the types that docs/command_line.md writes down."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import pytest
from commands import piped

from tbcore.cli import cli
from tbcore_testing import EventFileWriter, summaries, write_run

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
SCHEMAS: dict[str, str] = dict(re.findall(r"^tbcore (.*)\n([\[{].*)$", PAGE, re.MULTILINE))
MAX_OPTIONS, MAX_COMMANDS = 107, 14

Fits = Callable[[Any], bool]
"""Whether a value has a type."""


def is_int(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool)


def is_number(found: Any) -> bool:
    return is_int(found) or isinstance(found, float) or found in ("NaN", "Infinity", "-Infinity")


def is_text(found: Any) -> bool:
    return isinstance(found, str)


def is_bool(found: Any) -> bool:
    return isinstance(found, bool)


def is_value(found: Any) -> bool:
    values = found if isinstance(found, list) else [found]
    kinds = (is_number, is_text, is_bool)
    return all(each is None or any(fits(each) for fits in kinds) for each in values)


def is_moment(found: Any) -> bool:
    return is_text(found) and datetime.fromisoformat(found).tzinfo is not None


TYPES: Mapping[str, Fits] = {
    "text": is_text, "bool": is_bool, "null": lambda found: found is None, "int": is_int,
    "number": is_number, "moment": is_moment, "value": is_value,
}  # fmt: skip


def either(tokens: list[str]) -> Fits:
    """Parses types with `|` between them."""
    kinds = [single(tokens)]
    while tokens[:1] == ["|"]:
        del tokens[0]
        kinds.append(single(tokens))
    return lambda found: any(fits(found) for fits in kinds)


def single(tokens: list[str]) -> Fits:
    """Parses a word, a list or an object."""
    token = tokens.pop(0)
    if token == "[":
        each = either(tokens)
        assert tokens.pop(0) == "]"
        return lambda found: isinstance(found, list) and all(map(each, found))
    if token != "{":
        return TYPES[token]
    fields: dict[str, Fits] = {}
    while token != "}":
        name, colon = tokens.pop(0), tokens.pop(0)
        assert colon == ":", name
        fields[name] = either(tokens)
        token = tokens.pop(0)
    other = fields.pop("NAME", None)
    needed = {name[1:-1] for name in fields if name[-2] != "?"}
    known = {name.strip('"').rstrip("?"): fits for name, fits in fields.items()}

    def fits(found: Any) -> bool:
        if not (isinstance(found, dict) and found.keys() >= needed):
            return False
        types = ((known.get(name, other), each) for name, each in found.items())
        return all(kind is not None and kind(each) for kind, each in types)

    return fits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with something of everything, that differ; both are archived, and old."""
    path = tmp_path_factory.mktemp("schemas")
    for number, run in enumerate("ab"):
        scalars = {"val/loss": [1.0, 0.5 + number, float("nan")], f"only/{run}": [1.0]}
        hparams = {"lr": 0.1 * (number + 1), "name": run, "flag": True}
        write_run(
            path / "runs", run, scalars=scalars, hparams=hparams, texts={"config": [f"is {run}"]},
            images={"samples": [summaries.png()]}, wall_time=1.7e9,
        )  # fmt: skip
    with EventFileWriter(path / "runs" / "a" / "b.tfevents", wall_time=1.7e9) as writer:
        writer.add_summary(1, summaries.tensor("odd", [1.0, 2.0], plugin_name="nobody"))
    (path / "runs" / "b" / "c.tfevents").touch()
    for old in path.rglob("*.*"):
        os.utime(old, (1.7e9, 1.7e9))
    return path


@pytest.mark.parametrize("line", SCHEMAS)
def test_a_command_prints_what_is_written_down(
    folder: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    if line.startswith("notes "):
        given = ["--star", "--archive", "--label", "x", "--note", "n", "--name", "m"]
        assert piped("notes", "set", "runs", "a", *given, cwd=folder).returncode == 0
    tokens = re.findall(r'"[^"]*"|\w+|[^\s\w]', SCHEMAS[line])
    fits = either(tokens)
    assert not tokens
    for more in ([], ["--max_bytes", "900"]):
        if more and "--max_bytes" not in piped(line.split()[0], "--help").stdout:
            continue
        result = piped(*shlex.split(line), "--json", *more, cwd=folder)
        assert result.returncode in (0, 1), result.stderr
        is_lines = line.startswith(("tail", "export"))
        for content in result.stdout.splitlines() if is_lines else [result.stdout]:
            found = json.loads(content)
            if isinstance(found, dict) and (found.pop("cut", None), found)[1] == {}:
                continue
            if isinstance(found, list):
                assert found
                assert more or "cut" not in found[-1]
                found = [row for row in found if [*row] != ["cut"]]
            assert fits(found), found


def test_each_command_with_json_is_written_down() -> None:
    """There are as many commands and options as the shell needs, and no more."""
    paths, num_options = [], 0
    waiting: list[tuple[str, click.Command]] = [("", cli)]
    while waiting:
        path, command = waiting.pop()
        options = [each for each in command.params if isinstance(each, click.Option)]
        num_options += len(options)
        if any("--json" in each.opts for each in options):
            paths.append(path)
        if isinstance(command, click.Group):
            context = click.Context(command)
            names = command.list_commands(context)
            assert len(names) <= MAX_COMMANDS
            for name in names:
                found = command.get_command(context, name)
                assert found is not None
                waiting.append((f"{path} {name}".strip(), found))
    assert num_options <= MAX_OPTIONS
    missing = [
        path for path in paths if not any(f"{line} ".startswith(f"{path} ") for line in SCHEMAS)
    ]
    assert not missing
