"""Hyperparameters have one text and one meaning in the page, in commands and in Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import command, environment, lines, piped

import tbcore
from tbcore_testing import make_client, read_columns, summaries, write_run

NESTED = {"b": {"z": 0.5, "y": [1, {"d": "x y", "c": None}], "x": float("nan")}, "a": 2, "k": 1e-7}
TEXT = '{"a":2,"b":{"x":"NaN","y":[1,{"c":null,"d":"x y"}],"z":0.5},"k":1e-7}'
UNDECODABLE = "the metadata cannot be decoded as hyperparameters"


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with equal hyperparameters."""
    logdir = tmp_path_factory.mktemp("same")
    for number in range(16):
        write_run(logdir, f"{number:02}", scalars={"loss": [1.0]}, hparams={"opt": NESTED})
    return logdir


def test_a_dict_is_one_text_in_all_runs_commands_processes_and_tabs(same: Path) -> None:
    rows = lines("ls", same, "--columns", "opt")[1:]
    assert [row[-1] for row in rows] == [TEXT] * 16
    assert lines("ls", same, "--by", "opt")[1][:2] == [f"opt={TEXT}", "16"]
    assert len(lines("ls", same, "--where", f"opt={TEXT}")) == 1 + 16
    assert piped("ls", same, "--where", f"opt!={TEXT}").returncode == 1
    assert piped("diff", same, "00", "11").returncode == 0
    for seed in "01":  # The order of a map is another in each process.
        shown = subprocess.run(
            command("show", same, "00", "--json"), capture_output=True, text=True, check=True,
            env=environment(PYTHONHASHSEED=seed),
        )  # fmt: skip
        assert json.loads(shown.stdout)["hparams"] == {"opt": TEXT}
    logs = tbcore.open(same)
    assert set(logs.hparams().to_pandas()["opt"]) == {TEXT}

    client = make_client(same, plugins=["hparams", "compare"])
    columns = client.post("data/run_attributes", json={"columns": ["opt"]}).json()["columns"]
    assert columns[0]["values"] == [TEXT] * 16
    header, _ = read_columns(client.get("data/plugin/hparams/table").content)
    assert header["strings"]["0"] == [TEXT] * 16
    facts = client.post("data/plugin/compare/runs", json={"runs": ["00"]})
    rows = read_columns(facts.content)[0]["runs"][0]["hparams"]["rows"]
    assert [["opt", "b", "y"], "list", '[1,{"c":null,"d":"x y"}]'] in rows


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("damaged")
    bad = summaries.metadata_only("_hparams_/session_start_info", "hparams", b"\x1a\x7fxyz")
    write_run(logdir, ".", scalars={"loss": [2.0]}, hparams={"lr": 0.5})
    write_run(logdir, "bad", scalars={"loss": [1.0]}, values=[bad])
    write_run(logdir, "bad/eval", scalars={"loss": [1.0]})
    write_run(logdir, "good", scalars={"loss": [1.0]}, hparams={"lr": 0.1})
    return logdir


COMMANDS = [
    (("show", "bad"), 3), (("show", "bad/eval"), 3), (("diff", "bad", "good"), 3),
    (("ls", "--where", "lr=0.1"), 3), (("ls", "--columns", "lr"), 3), (("ls", "--by", "lr"), 3),
    (("ls", "--columns", "rate"), 2), (("report",), 3), (("ls",), 0), (("tags",), 3),
    (("show", "good"), 0), (("ls", "--where", "loss:last<9"), 0),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "status"), COMMANDS, ids=lambda each: str(each))
def test_what_cannot_be_decoded_is_said_where_an_answer_depends_on_it(
    damaged: Path, arguments: tuple[str, ...], status: int
) -> None:
    """Other runs are shown all the same, and nothing is inherited past such a run."""
    result = piped(arguments[0], damaged, *arguments[1:])
    assert result.returncode == status
    assert (f"run 'bad': {UNDECODABLE}" in result.stderr) == (status > 0)
    if "--columns" in arguments and status == 3:
        found = {row.split("\t")[0]: row.split("\t")[-1] for row in result.stdout.splitlines()[1:]}
        assert found == {".": "0.5", "bad": "", "bad/eval": "", "good": "0.1"}


def test_a_check_finds_damage_where_hyperparameters_cannot_be_decoded(damaged: Path) -> None:
    result = piped("check", damaged, "--json")
    report: dict[str, Any] = json.loads(result.stdout)
    assert (result.returncode, report["damaged"]) == (1, 1)
    [finding] = report["findings"]
    assert (finding["what"], finding["run"], finding["message"]) == (
        "undecodable",
        "bad",
        UNDECODABLE,
    )
    [path] = (damaged / "bad").glob("*tfevents*")
    assert (finding["path"], finding["offset"]) == (str(path), 40)
    assert path.read_bytes().index(b"_hparams_/") > finding["offset"]


def test_programs_and_tabs_get_a_line_for_hyperparameters_that_cannot_be_decoded(
    damaged: Path,
) -> None:
    logs = tbcore.open(damaged)
    assert logs["good"].hparams == {"lr": 0.1}
    assert logs["good"]["loss"].last
    assert logs.problems == []
    assert logs["bad/eval"].hparams == {}
    assert logs.problems == [f"run 'bad': {UNDECODABLE}"]
    everything = tbcore.open(damaged)
    assert len(everything.hparams()) == 2
    assert everything.problems == logs.problems

    client = make_client(damaged, plugins=["hparams", "compare"])
    header, _ = read_columns(client.get("data/plugin/hparams/table").content)
    assert header["sessions"]["names"] == [".", "good"]
    assert header["problems"]["count"] == 1
    assert UNDECODABLE in header["problems"]["first"][0]
    runs = client.post("data/plugin/compare/runs", json={"runs": ["bad", "bad/eval", "good"]})
    errors = [run.get("hparams_error") for run in read_columns(runs.content)[0]["runs"]]
    assert errors == [UNDECODABLE, UNDECODABLE, None]


def test_groups_are_those_that_a_query_takes_for_equal(tmp_path: Path) -> None:
    logged = [0.003, "0.003", "3e-3", float("nan"), "nan", "NaN", 1.0, "1", True, "true"]
    for number, lr in enumerate(logged):
        write_run(tmp_path, f"r{number}", scalars={"loss": [1.0]}, hparams={"lr": lr})
    rows = lines("ls", tmp_path, "--by", "lr", "--columns", "lr")[1:]
    assert rows == [["lr=0.003", "3", "0.003"], ["lr=NaN", "3", "nan"], ["lr=1", "2", "1.0"],
                    ["lr=true", "2", "true"]]  # fmt: skip
    for group, count, _ in rows:
        assert len(lines("ls", tmp_path, "--where", group)) == 1 + int(count)
    summary = tbcore.open(tmp_path).summary("loss", by="lr")
    assert summary.to_pandas()["runs"].tolist() == [3, 3, 2, 2]
