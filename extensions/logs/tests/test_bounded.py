"""`--max_bytes`: answers for programs that fit, and say what they leave out."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from commands import piped

from tbcore.cli import cli
from tbcore_testing import write_run

LONG = "ß\x9b\n" * 3000
NUM_TAGS = 40
ODD_RUN = "-b, " + "\x1b" * 200


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with much of everything, and one with a long series; one file is damaged."""
    path = tmp_path_factory.mktemp("bounded")
    for index, name in enumerate(["a", ODD_RUN]):
        write_run(
            path, name,
            scalars={f"tag{i}": [float(index), i + 0.1] for i in range(NUM_TAGS)},
            texts={f"text{i}": [f"{index}{LONG}"] for i in range(10)},
            hparams={f"hparam{i}": f"{index}{LONG[:100]}" for i in range(30)},
        )  # fmt: skip
    write_run(path, "long", scalars={"loss": [i / 3 for i in range(5000)]})
    for index in range(20):
        damaged = write_run(path / "damaged", f"{index}", scalars={"loss": [1.0]})
        damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    return path


LISTS: dict[tuple[str, ...], int] = {
    ("ls", "{}", "--json"): 23,
    ("tags", "{}", "--json"): NUM_TAGS + 10 + 1 + 1 + 30,
    ("show", "{}", "long", "loss", "--json"): 5000,
    ("show", "{}", "a", "text3", "--json"): 1,
}
"""Commands that print a list of objects, with the number of objects."""
LINES: dict[tuple[str, ...], int] = {
    ("tail", "{}", "--runs", "long", "-n", "3000", "--json"): 3000,
    ("export", "{}", "-o", "-", "--json", "--runs", "a,long"): 5000 + 2 * NUM_TAGS,
    ("export", "{}", "-o", "-", "--json", "--wide", "--runs", "a,long"): 5002,
}
"""Commands that print JSON lines, with the number of lines."""
OBJECTS: list[tuple[str, ...]] = [
    ("show", "{}", "a", "--json"),
    ("show", "--json", "--", "{}", ODD_RUN),
    ("diff", "--json", "--", "{}", "a", ODD_RUN),
    ("check", "{}", "--json"),
]


def answer(command: tuple[str, ...], logdir: Path, *more: str) -> tuple[bytes, int, str]:
    arguments = [*more, *(word.format(logdir) for word in command[1:])]
    result = CliRunner().invoke(cli, [command[0], *arguments], standalone_mode=False, obj=[])
    assert result.exception is None, result.exception
    return result.stdout_bytes, result.return_value, result.stderr


def without_cut(texts: Any, complete: Any) -> bool:
    """Whether a value is complete, or a text whose end was cut."""
    if isinstance(texts, dict):
        return all(without_cut(texts[name], complete[name]) for name in texts)
    if isinstance(texts, list):
        return all(map(without_cut, texts, complete))
    is_cut = isinstance(texts, str) and texts[-1:] == "…" and complete.startswith(texts[:-1])
    return is_cut or texts == complete


@pytest.mark.parametrize("limit", [500, 4000, 70_000])
@pytest.mark.parametrize("command", LISTS, ids=lambda words: " ".join(words)[:40])
def test_a_list_fits_and_its_last_element_says_what_is_cut(
    logdir: Path, command: tuple[str, ...], limit: int
) -> None:
    complete = json.loads(answer(command, logdir)[0])
    content, status, stderr = answer(command, logdir, "--max_bytes", str(limit))

    rows, total = json.loads(content), LISTS[command]
    assert (len(content) <= limit, status, len(complete)) == (True, 0, total)
    if "cut" not in rows[-1]:
        assert (rows, stderr) == (complete, "")
        return
    cut = rows.pop()["cut"]
    assert cut.get("rows", f"{len(rows)} of {len(rows)}") == f"{len(rows):,} of {total:,}"
    assert re.fullmatch(rf"tbcore: warning: cut to --max_bytes {limit}: \d.* of .*\n", stderr)
    if "loss" in command:
        positions = [row["step"] for row in rows]
        distances = {b - a for a, b in pairwise(positions)}
        assert positions[0] == 0
        assert positions[-1] == 4999
        assert max(distances) - min(distances) <= 1
        assert [complete[position] for position in positions] == rows
    else:
        assert without_cut(rows, complete[: len(rows)])
    if len(rows) < total:  # Not much more would have fitted.
        assert len(content) + max(len(json.dumps(row)) for row in complete) + 100 > limit * 0.9


@pytest.mark.parametrize("limit", [500, 4000, 10_000_000])
@pytest.mark.parametrize("command", LINES, ids=lambda words: " ".join(words)[:40])
def test_lines_fit_and_the_last_one_says_what_is_cut(
    logdir: Path, command: tuple[str, ...], limit: int
) -> None:
    """`tail` keeps the newest lines, and `export` the first ones."""
    complete = answer(command, logdir)[0].splitlines()
    content, status, stderr = answer(command, logdir, "--max_bytes", str(limit))

    found, total = content.splitlines(), LINES[command]
    assert (len(content) <= limit, status, len(complete)) == (True, 0, total)
    if limit > 4000:
        assert (found, stderr) == (complete, "")
        return
    assert json.loads(found.pop()) == {"cut": {"rows": f"{len(found):,} of {total:,}"}}
    kept = complete[-len(found) :] if command[0] == "tail" else complete[: len(found)]
    assert found == kept
    is_first_too_long = len(complete[0]) > limit - 50
    assert is_first_too_long or len(content) > limit - 200
    assert stderr.count("\n") == 1


@pytest.mark.parametrize("limit", [500, 4000, 10_000_000])
@pytest.mark.parametrize("command", OBJECTS, ids=lambda words: " ".join(words)[:40])
def test_an_object_fits_and_says_what_is_cut(
    logdir: Path, command: tuple[str, ...], limit: int
) -> None:
    """The exit status is that of the complete answer."""
    plain, usual_status, _ = answer(command, logdir)
    content, status, stderr = answer(command, logdir, "--max_bytes", str(limit))

    complete, found = json.loads(plain), json.loads(content)
    assert (len(content) <= limit, status) == (True, usual_status)
    if limit > 4000:
        assert (found, stderr) == (complete, "")
        return
    cut = found.pop("cut")
    cut.pop("characters", None)
    sizes = {name: len(part) for name, part in complete.items() if isinstance(part, list | dict)}
    shorter = {name for name in sizes if len(found[name]) < sizes[name]}
    assert cut == {name: f"{len(found[name]):,} of {sizes[name]:,}" for name in shorter}
    assert found.keys() == complete.keys()
    assert without_cut(found, complete)


def test_more_rows_fit_into_more_bytes(logdir: Path) -> None:
    sizes = [
        len(answer(("ls", "{}", "--json"), logdir, "--max_bytes", str(limit))[0])
        for limit in range(500, 3000, 100)
    ]
    assert sizes == sorted(sizes)
    assert all(limit - size < 450 for limit, size in zip(range(500, 3000, 100), sizes, strict=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ls", "--max_bytes", "4000"], "--max_bytes is for --format json"),
        (["ls", "--format=csv", "--max_bytes", "4000"], "--max_bytes is for --format json"),
        (["export", "-o", "a.csv", "--max-bytes=4000"], "--max-bytes is for --format json"),
        (["tail", "-f", "--json", "--max_bytes", "4000"], "--follow and --max_bytes cannot"),
        (
            ["ls", "--json", "--max_bytes", "499"],
            "--max_bytes: '499' is not valid; expected an int",
        ),
        (["ls", "--json", "--max_bytes", "4k"], "--max_bytes: '4k' is not valid; expected an int"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_an_error(
    logdir: Path, arguments: list[str], message: str
) -> None:
    result = piped(*arguments, cwd=logdir)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"tbcore: {message}")
    assert result.stderr.count("\n") == 1
