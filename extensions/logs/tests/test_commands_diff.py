"""`tbcore diff`: hyperparameters, texts, tags and last values that differ."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from commands import on_terminal, piped

from tbcore_logs.text_differences import unified_diff
from tbcore_testing import write_run


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    config = [f"line {number}" for number in range(20)]
    for name, lr, losses in (("a", 0.1, [1.0, 0.5]), ("b", 0.2, [1.0, 0.25])):
        config[10] = f"lr: {lr}"
        write_run(
            tmp_path,
            name,
            scalars={"loss": losses, "same": [1.0], "nan": [float("nan")], f"only_{name}": [1.0]},
            texts={"config": ["ignored", "\n".join(config)]},
            hparams={"lr": lr, "model": "mlp"},
        )
    return tmp_path


def test_texts_and_values_of_other_steps_have_them(tmp_path: Path) -> None:
    for run, texts in (("a", ["x", "y"]), ("b", ["x", "y", "z"])):
        scalars = {"loss": [0.5] * len(texts) + [len(texts)], "once": [len(texts)]}
        write_run(tmp_path, run, texts={"note": texts}, scalars=scalars)
    lines = piped("diff", tmp_path, "a", "b").stdout.splitlines()
    assert lines[1:3] == ["--- a, step 1", "+++ b, step 2"]
    assert lines[-4:] == [
        "last values",
        "tag\ta\tb\tdifference\tsteps",
        "loss\t2.0\t3.0\t1.0\t2, 3",
        "once\t2.0\t3.0\t1.0\t0",
    ]


def test_what_differs_is_printed(logdir: Path) -> None:
    """What is equal is left out; NaN equals NaN. The exit status is that of `diff`."""
    result = piped("diff", logdir, "a", "b")
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.splitlines() == [
        "hyperparameters",
        "name\ta\tb",
        "lr\t0.1\t0.2",
        "",
        "text config",
        "--- a",
        "+++ b",
        "@@ -8,7 +8,7 @@",
        *(f" line {number}" for number in (7, 8, 9)),
        "-lr: 0.1",
        "+lr: 0.2",
        *(f" line {number}" for number in (11, 12, 13)),
        "",
        "tags of one run only",
        "tag\tkind\trun",
        "only_a\tscalar\ta",
        "only_b\tscalar\tb",
        "",
        "last values",
        "tag\ta\tb\tdifference",
        "loss\t0.5\t0.25\t-0.25",
    ]


def test_a_difference_is_that_of_the_digits_that_are_printed(tmp_path: Path) -> None:
    """That of the float32 0.3 and 0.2 themselves would be 0.10000001."""
    for name, losses in (("a", [0.2, math.nan, -math.inf]), ("b", [0.3, 1.0, math.inf])):
        tags = dict(zip(("loss", "nan", "inf"), ([value] for value in losses), strict=True))
        write_run(tmp_path, name, scalars=tags, hparams={"lr": losses[0]})
    assert piped("diff", tmp_path, "a", "b").stdout.splitlines()[2:] == [
        "lr\t0.2\t0.3",
        "",
        "last values",
        "tag\ta\tb\tdifference",
        "loss\t0.2\t0.3\t0.1",
        "nan\tnan\t1.0\tnan",
        "inf\t-inf\tinf\tinf",
    ]
    found = json.loads(piped("diff", tmp_path, "a", "b", "--json").stdout)
    assert [row["difference"] for row in found["values"]] == [0.1, "NaN", "Infinity"]


def test_values_of_other_types_differ_and_other_forms_of_a_number_do_not(tmp_path: Path) -> None:
    """As in queries: `t=true` does not find 1. In JSON, 1.0 is 1."""
    for name, hparams, config in (
        ("a", {"t": True, "f": False, "z": 0.0, "s": "1", "n": 2}, '{"a": 1, "b": [1, 2.5, true]}'),
        ("b", {"t": 1, "f": 0.0, "z": -0.0, "s": 1, "n": 2.0}, '{"b":[1.0,25e-1,true],"a":1e0}'),
    ):
        write_run(tmp_path, name, hparams=hparams, texts={"config": [config]})
    found = json.loads(piped("diff", tmp_path, "a", "b", "--json").stdout)
    assert {row["name"]: (row["a"], row["b"]) for row in found["hparams"]} == {
        "t": (True, 1.0),
        "f": (False, 0.0),
        "s": ("1", 1.0),
    }
    assert found["texts"] == []


def test_equal_runs_have_no_differences(logdir: Path) -> None:
    result = piped("diff", "a", "./a/", cwd=logdir)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_json_has_the_differences(logdir: Path) -> None:
    result = piped("diff", logdir, "a", "b", "--json")
    found = json.loads(result.stdout)
    assert result.returncode == 1
    assert found["runs"] == ["a", "b"]
    assert found["hparams"] == [{"name": "lr", "a": 0.1, "b": 0.2}]
    assert found["tags"][0] == {"tag": "only_a", "kind": "scalar", "run": "a"}
    assert found["values"] == [
        {"tag": "loss", "a": 0.5, "b": 0.25, "difference": -0.25, "a_step": 1, "b_step": 1}
    ]
    assert found["texts"][0]["tag"] == "config"
    assert found["texts"][0]["diff"].splitlines()[6] == "-lr: 0.1"
    assert json.loads(piped("diff", logdir, "a", "a", "--json").stdout)["values"] == []


def test_a_terminal_has_colours(logdir: Path) -> None:
    status, text = on_terminal("diff", logdir, "a", "b")
    assert status == 1
    assert "\x1b[31m-lr: 0.1\x1b[0m\n\x1b[32m+lr: 0.2\x1b[0m" in text
    assert "\x1b" not in on_terminal("diff", logdir, "a", "b", NO_COLOR="1")[1]


# -- texts -------------------------------------------------------------------------------------


def test_equal_texts_have_no_differences() -> None:
    for text in ("", "a", "a\nb\n"):
        assert unified_diff(text, text) == []
    assert unified_diff("a\n", "a") == []


def test_json_is_compared_by_its_values() -> None:
    """Neither the order of keys nor blanks count."""
    assert unified_diff('{"a": 1, "b": [2]}', '{"b":[2],"a":1}') == []
    lines = unified_diff('{"a": 1, "b": 2}', '{"b": 3, "a": 1}', "x", "y")
    assert lines == ["--- x", "+++ y", "@@ -1,4 +1,4 @@", " {", '   "a": 1,', '-  "b": 2',
                     '+  "b": 3', " }"]  # fmt: skip


def test_long_texts_are_compared_in_time() -> None:
    """What is equal at both ends costs nothing; what differs at many places is replaced."""
    a = [str(number) for number in range(200_000)]
    b = [*a[:100_000], "new", *a[100_001:]]
    assert unified_diff("\n".join(a), "\n".join(b))[2:] == [
        "@@ -99998,7 +99998,7 @@", " 99997", " 99998", " 99999", "-100000", "+new",
        " 100001", " 100002", " 100003",
    ]  # fmt: skip
    lines = unified_diff("\n".join(a), "\n".join(f"{line}x" for line in a))
    assert len(lines) == 3 + 400_000
    assert lines[2] == "@@ -1,200000 +1,200000 @@"


def test_a_diff_makes_one_text_of_the_other() -> None:
    """For random texts, lines and their numbers are right."""
    rng = random.Random(0)
    for _ in range(200):
        a, b = ([rng.choice("abcdef") for _ in range(rng.randrange(40))] for _ in range(2))
        result, position = [], 0
        lines = unified_diff("\n".join(a), "\n".join(b))
        for line in lines[2:]:
            if line.startswith("@@"):
                start = int(line.split("-")[1].split(",")[0]) - 1
                result += a[position:start]
                position = start
            elif line[0] in " -":
                assert a[position] == line[1:]
                position += 1
            if line[0] in " +":
                result.append(line[1:])
        assert [*result, *a[position:]] == b
