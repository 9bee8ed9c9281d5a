"""What users see of the logs of other programs: on the page, in the terminal, and in the log."""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from commands import piped
from held import held_by

import tbcore
from tbcore.cli import main
from tbcore.engine import EventFile, Formats, Logdir, LogdirSpec, logdirs_here
from tbcore_formats.common import safe_name
from tbcore_testing import read_columns, write_run

SAMPLES = Path(__file__).parent / "samples"
MLFLOW = lzma.decompress((SAMPLES.parent / "mlflow_samples" / "mlflow.db.xz").read_bytes())
LIGHTNING = SAMPLES / "lightning-2.6" / "lightning_logs"

WANDB = "wandb/offline-run-20261126_202147-0mkcvqnq/run-0mkcvqnq.wandb"


def test_check_reads_the_logs_of_other_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names those that are not shown, since event files are beside them. What is cut off is
    damage, as in event files; what is left out for another reason is not, whatever its name."""
    logs = LIGHTNING
    assert main(["check", str(logs)]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"4 runs, 4 files \(.* kB\): all can be read", first)
    assert lines[-2:] == [
        f"not shown: 1 file of the kind twin, for example {logs / 'both' / 'metrics.csv'}; "
        "shown by the event files beside them; where these lack columns, a line names some",
        "logs of other programs, most of which have no checksums: 2 runs, for example "
        f"{logs / 'version_0' / 'metrics.csv'}",
    ]
    csv, wandb = tmp_path / "csv" / "metrics.csv", tmp_path / "run-x.wandb"
    last, first_ = (tmp_path / f"checkpoint-{n}" / "trainer_state.json" for n in (30, 20))
    torn, cut = tmp_path / "torn" / "log.csv", tmp_path / "run-y.wandb"
    data = (SAMPLES.parent / "wandb_samples" / "wandb-0.31" / WANDB).read_bytes()
    state = (SAMPLES / "hf-trainer" / "trainer_state.json").read_bytes()
    for path, content, found, status in (
        (csv, b"step,damaged\n0,1\n1,NA\n", {csv: "left out"}, 0),
        (last, state[:900], {csv: "left out", last: "corrupt"}, 1),
        (first_, state, {csv: "left out", last: "corrupt"}, 1),
        (last, state, {csv: "left out"}, 0),
        (wandb, data[:999] + bytes(99) + data[1098:], {csv: "left out", wandb: "corrupt"}, 1),
        (wandb, data, {csv: "left out"}, 0),
        (torn, b"step,a,b\n0,1,2\n1,", {csv: "left out", torn: "cut off"}, 1),
        (cut, data[:-9], {csv: "left out", torn: "cut off", cut: "cut off"}, 1),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1e9, 1e9))
        assert main(["check", str(tmp_path), "--json"]) == status
        report = json.loads(capsys.readouterr().out)
        assert {Path(each["path"]): each["what"] for each in report["findings"]} == found
    line = "ends within the record at offset 15, after 2 of its bytes; the file was cut off"
    assert line in [each["message"] for each in report["findings"]]
    assert main(["export", str(tmp_path), "-o", "-"]) == 3
    assert f"{torn} {line}" in capsys.readouterr().err
    os.truncate(last, 900)
    assert main(["check", str(tmp_path), "--json"]) == 1
    assert "being written" in {
        each["what"] for each in json.loads(capsys.readouterr().out)["findings"]
    }


def test_a_run_says_which_file_it_is_from(
    tbcore_client: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """To the page, to `ls`, and to Python; event files have no such line."""
    sources = tbcore_client(LIGHTNING).get("data/run_details").json()["sources"]
    assert len({source.pop("id") for source in sources.values()}) == 2
    csv = {"has_times": False, "state": ""}
    files = {f"version_{n}": f"version_{n}/metrics.csv" for n in (0, 2)}
    assert sources == {run: {"file": file, **csv} for run, file in files.items()}
    command = ["ls", str(LIGHTNING), "--columns", "source", "--sort", "source"]
    assert main([*command, "--json"]) == 0
    names = ["version_0", "version_2", "both", "version_1"]
    found = {row["run"]: row["source"] for row in json.loads(capsys.readouterr().out)}
    assert found == dict(zip(names, [*files.values(), None, None], strict=True))
    assert {run.name: run.source for run in tbcore.open(LIGHTNING).values()} == found
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[1] == "version_0\tversion_0/metrics.csv"


def test_losses_are_the_first_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of tags that as many runs have, as on the page; then those in the order of the file."""
    (tmp_path / "log.csv").write_text("epoch,lr,grad_norm,acc,val_loss,loss\n0,1,1,1,1,1\n")
    assert main(["ls", str(tmp_path)]) == 0
    header = capsys.readouterr().out.splitlines()[0].split("\t")
    assert header[-3:] == ["val_loss:last", "loss:last", "acc:last"]


def test_a_run_has_the_state_that_its_program_logged(
    tbcore_client: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that failed is not live, however new it is; one that says it runs is, if it writes."""
    now = round(time.time() * 1e3)
    (tmp_path / "mlflow.db").write_bytes(MLFLOW)
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database, database:
        database.execute("update runs set start_time = ?, end_time = null", (now,))
        database.execute("update runs set start_time = 1 where name = 'parent'")
        database.execute("update runs set status = 'RUNNING' where name in ('trial', 'parent')")
        database.execute("update metrics set timestamp = ? + rowid", (now,))
    words = "baseline", "failing", "parent", "trial"
    states = dict(zip(words, ["finished", "failed", "quiet", "live"], strict=True))
    runs = {f"vision_ü exp/{name}": state for name, state in states.items()}
    assert main(["ls", str(tmp_path), "--json"]) == 0
    found = {row["run"]: row["state"] for row in json.loads(capsys.readouterr().out)}
    assert {run: found[run] for run in runs} == runs
    assert main(["show", str(tmp_path), "vision_ü exp/failing", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["state"], shown["source"]) == ("failed", "mlflow.db")
    client = tbcore_client(tmp_path)
    sources = client.get("data/run_details").json()["sources"]
    logged = {**states, "parent": "running", "trial": "running"}
    assert {run: sources[run]["state"] for run in runs} == {
        f"vision_ü exp/{name}": state for name, state in logged.items()
    }
    logs = tbcore.open(tmp_path)
    for state in ("failed", "finished"):
        own = {name for name, each in found.items() if each == state}
        assert {run.name for run in logs.find(f"is:{state}")} == own
    live = {run.name for run in logs.find("live")}
    assert live.intersection(runs) == {"vision_ü exp/trial"}


def test_a_run_without_times_began_and_took_nothing_that_is_known(
    tbcore_client: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor when it ended, as a copy of its file is new, nor whether it is live."""
    shutil.copytree(SAMPLES / "ultralytics" / "exp", tmp_path / "exp")
    os.utime(tmp_path / "exp" / "results.csv")
    assert main(["ls", str(tmp_path), "--columns", "started,state,took,last_event", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row == dict.fromkeys(("started", "state", "took", "last_event")) | {"run": "exp"}
    details = tbcore_client(tmp_path).get("data/run_details").json()
    assert (details["first_event_times"], len(details["last_event_times"])) == ([None], 1)
    logs = tbcore.open(tmp_path)
    assert [len(logs.find(query)) for query in ("live", "took>=0s", "age<1d")] == [0, 0, 1]
    assert main(["show", str(tmp_path), "exp"]) == 0
    assert not re.search("1970|last_event\t.", capsys.readouterr().out)


def test_runs_without_times_are_on_no_axis_of_times(tbcore_client: Callable[..., Any]) -> None:
    """Not in lines, nor in averages of groups; the answer names them."""
    client = tbcore_client(LIGHTNING, plugins=["scalars"])
    runs = ["version_0", "version_1"]
    for axis, shown in {"step": runs, "relative": runs[1:], "wall": runs[1:]}.items():
        asked = {"tag": "train_loss_step", "x": axis, "pixels": 100}
        answer = client.post("data/plugin/scalars/window", json={**asked, "runs": runs})
        header, _ = read_columns(answer.content)
        assert (header["untimed"], [run["run"] for run in header["runs"]]) == (runs[:1], shown)
        asked["groups"] = {"all": runs}
        header, _ = read_columns(client.post("data/plugin/scalars/bands", json=asked).content)
        assert header["groups"][0]["num_runs"] == len(shown)


def test_custom_scalars_name_runs_without_times(tbcore_client: Callable[..., Any]) -> None:
    pytest.importorskip("tbcore_custom_scalars")
    client = tbcore_client(LIGHTNING, plugins=["custom_scalars"])
    margin = dict.fromkeys(("value", "lower", "upper"), "train_loss_step")
    for runs in (["version_0", "version_1"], ["version_1"]):
        for route, asked in {"lines": {"tags": ["train"]}, "margins": {"series": [margin]}}.items():
            body = {"runs": runs, **asked}
            answer = client.post(f"data/plugin/custom_scalars/{route}", json=body)
            header, _ = read_columns(answer.content)
            assert header.get("untimed", []) == runs[:-1]


def test_a_shell_completes_names_of_runs_and_tags(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "ultralytics", tmp_path / "runs")

    def offered(*words: str) -> list[str]:
        done = piped("completion", "zsh", "--", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        return [line.removeprefix("=") for line in done.stdout.splitlines()]

    assert offered("ls", "runs", "--runs", "e") == ["exp", "exp2"]
    assert "metrics/mAP50(B)" in offered("export", "runs", "--tags", "metrics/")


@pytest.mark.parametrize(
    ("formats", "runs", "kinds"),
    [
        ("", ["csv", "csv2", "events", "state"], ["twin"]),
        ("all", ["csv", "csv2", "events", "events/metrics.csv", "state"], []),
        ("trainer", ["events", "state"], ["log"]),
        ("csv, trainer ", ["csv", "csv2", "events", "state"], ["twin"]),
        ("none", ["events"], ["log"]),
    ],
)
def test_formats_are_chosen(
    formats: str, runs: list[str], kinds: list[str], tmp_path: Path
) -> None:
    """Logs that are not read are named, and also those that event files beside them hide."""
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "metrics.csv").symlink_to(LIGHTNING / "version_0" / "metrics.csv")
    for run, name in {"csv": "version_0", "events": "both", "csv2": "version_2"}.items():
        shutil.copytree(LIGHTNING / name, tmp_path / run)
    shutil.copytree(SAMPLES / "hf-trainer", tmp_path / "state")
    scan = Logdir([LogdirSpec(None, str(tmp_path))], formats=Formats(formats)).scan()
    assert (sorted(scan.runs), [files.kind for files in scan.other_files]) == (runs, kinds)
    assert all("links to logs and files" in line for line in scan.problems)
    for files in scan.other_files if kinds == ["log"] else ():
        words = "tbcore, unless `--formats` leaves them out, in a directory of this machine"
        assert files.shown_by == words


def test_folders_of_mlflow_are_named(tmp_path: Path) -> None:
    for name in ("mlruns/0/meta.yaml", "mlruns/0/a/meta.yaml", "recipe/meta.yaml", "meta.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    [found] = Logdir([LogdirSpec(None, str(tmp_path))], formats=Formats()).scan().other_files
    assert str(found) == (
        f"not shown: 1 file of the kind mlflow, for example {tmp_path}/mlruns/0/meta.yaml; "
        "shown by tbcore in the database that `mlflow migrate-filestore` makes of such folders"
    )


@pytest.mark.parametrize(
    ("name", "sample"),
    [("csv", LIGHTNING / "version_0"), ("wandb", SAMPLES.parent / "wandb_samples" / "wandb-0.31")],
)
def test_the_last_files_of_a_directory_are_forgotten(
    name: str, sample: Path, tmp_path: Path
) -> None:
    """Those of another directory are not, and deleted ones are looked for once."""
    for directory in ("a", "b"):
        shutil.copytree(sample, tmp_path / directory)
    formats = Formats(name)
    logdir = Logdir([LogdirSpec(n, str(tmp_path / n)) for n in ("a", "b")], formats=formats)
    logdir.scan()
    known = {file.path for file in held_by(formats, EventFile)}
    of_a = str(tmp_path / "a")
    kept = {path for path in known if not path.startswith(of_a)}
    assert 0 < len(kept) < len(known)
    shutil.rmtree(of_a)
    os.mkdir(of_a)
    logdir.scan()
    assert {file.path for file in held_by(formats, EventFile)} == kept


@pytest.mark.parametrize(
    ("name", "found"), [("ultralytics", ["runs"]), ("hf-trainer", ["."]), ("other", [])]
)
def test_logs_are_found_in_the_working_directory(
    name: str,
    found: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where there are none, a command names the files that it looked for."""
    monkeypatch.chdir(tmp_path)
    if name != "other":
        shutil.copytree(SAMPLES / name, tmp_path / ("runs" if found == ["runs"] else "out"))
    (tmp_path / "loss.csv").write_text("step,loss\n0,1\n")
    assert logdirs_here() == found
    if not found:
        assert main(["ls", str(tmp_path)]) == 1
        *_, line = capsys.readouterr().err.splitlines()
        names = "*tfevents*, *.wandb, *_log.csv, *mlflow*.db, *mlruns*.db, history.csv, log.csv, "
        names += "metrics.csv, progress.csv, results.csv, trainer_state.json, training.log"
        assert line.endswith(f"(looked for {names})")


NOT_READ = "1 file of the kind log, for example {}/a/trainer_state.json; shown by tbcore after "


def test_a_folder_without_the_package_says_what_reads_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In one line of the server's log, of `ls`, and of `check`; an index says what it lacks."""
    shutil.copytree(SAMPLES / "hf-trainer" / "checkpoint-20", tmp_path / "a")
    code = (
        "import sys, tbcore.extensions as extensions\n"
        "from tbcore.cli import main\n"
        "own = extensions.available\n"
        "extensions.declared = lambda group, declared=extensions.declared, **options: "
        "[] if group == 'tbcore.formats' else declared(group, **options)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    line = f"not shown: {NOT_READ.format(tmp_path)}`pip install tbcore-formats`"
    for words, status in (("ls {}", 1), ("check {}", 0), ("serve {} --reload_interval 0", None)):
        command = [sys.executable, "-c", code, *words.format(tmp_path).split()]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            lines = []
            for each in process.stdout:
                lines.append(each)
                if status is None and "no event files below" in each:
                    process.terminate()
        assert status in (None, process.returncode)
        assert sum(line in each for each in lines) == 1, lines


def test_an_index_says_what_it_lacks(tmp_path: Path) -> None:
    pytest.importorskip("tbcore_index")
    done = piped("index", LIGHTNING, "--index", tmp_path / "index")
    assert done.returncode == 0
    line = "not indexed, since they are no event files: 2 logs of other programs, for example "
    assert f"tbcore: {line}{LIGHTNING}/version_0/metrics.csv\n" in done.stderr
    assert "2 runs written" in done.stderr


def test_event_files_that_only_have_the_name_of_a_log_hide_nothing(tmp_path: Path) -> None:
    """Those in `x/log` are not beside `x/log.csv`; those in `y` are beside both of its logs."""
    for folder in "xy":
        (tmp_path / folder).mkdir()
        for name in ("metrics.csv", "log.csv"):
            (tmp_path / folder / name).write_text("step,a\n0,1\n")
    write_run(tmp_path, "x/log", scalars={"b": [1.0]})
    write_run(tmp_path, "y", scalars={"b": [1.0]})
    scan = Logdir([LogdirSpec(None, str(tmp_path))], formats=Formats()).scan()
    assert sorted(scan.runs) == ["x", "x/log", "x/log_2", "y"]
    paths = [str(tmp_path / "y" / f"{n}.csv") for n in ("log", "metrics")]
    assert sorted(files[0].path for files in scan.twins) == paths


def test_columns_that_event_files_lack_are_named(
    tbcore_client: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once for all logs that lack the same; not columns of words, nor empty ones."""
    for run, last in {"a": "2", "b": "2", "c": ""}.items():
        write_run(tmp_path, run, scalars={"opt/LR": [1.0]})
        text = f"step,lr,Loss,host,none\n0,1,{last},x,\n"
        (tmp_path / run / "metrics.csv").write_text(text)
    shutil.copytree(LIGHTNING / "both", tmp_path / "both")
    write_run(tmp_path, "out", scalars={"my/extra": [1.0]})
    state = tmp_path / "out" / "checkpoint-2" / "trainer_state.json"
    state.parent.mkdir()
    rows = [{"step": n, "loss": 1.0, "lr": 1, "x": 1, "eval_y": 2} for n in range(2_000)]
    state.write_text(json.dumps({"log_history": rows}))
    lacks = "{}: not shown, since event files are beside it, but these lack its columns {}; "
    lacks += "`tbcore serve --formats all` shows it, and others like it"
    lines = [
        lacks.format(tmp_path / "a" / "metrics.csv", "Loss"),
        lacks.format(state, "train/loss, train/lr, train/x and 1 more"),
    ]
    assert tbcore_client(tmp_path).get("data/status").json()["problems"] == lines
    assert main(["ls", str(tmp_path)]) == 3
    assert capsys.readouterr().err.count("these lack") == 2
    assert main(["check", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [f"{each['path']}: {each['message']}" for each in found] == lines
    logs = tbcore.open(tmp_path)
    assert [*logs["c"].tags, *logs["a"].tags, *logs["b"].tags] == ["opt/LR"] * 3
    assert logs.problems == lines[:1]
    write_run(tmp_path, "a", scalars={"loss": [1.0]})
    logs.refresh()
    assert logs.problems == [lines[0].replace("/a/", "/b/")]


def test_a_name_is_one_step() -> None:
    """Also the one that is used if there is none, such as the id in a file that was downloaded."""
    for bad in ("", ".", "..", " "):
        assert [safe_name("good", bad), safe_name(bad, "good")] == ["good", "good"]
        assert safe_name(bad, bad) == "_"
    assert safe_name("", "exp/../../etc") == safe_name("exp/../../etc", "") == "exp_.._.._etc"
    assert safe_name("", "\x1b[31m") == "\\x1b[31m"


def test_a_format_that_is_not_known_costs_a_line_with_those_that_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert Formats("csv, trianer").patterns == Formats("csv").patterns
    line = "the format 'trianer' is not known; another package may have it; installed: csv, "
    assert [each[: len(line)] for each in caplog.messages] == [line]


def test_all_twins_of_the_log_directory_itself_are_shown(tmp_path: Path) -> None:
    """Their names begin with no dot."""
    (tmp_path / "metrics.csv").write_text("step,a\n0,1\n")
    write_run(tmp_path, ".", scalars={"b": [1.0]})
    scan = Logdir([LogdirSpec(None, str(tmp_path))], formats=Formats("all")).scan()
    assert sorted(scan.runs) == [".", "metrics.csv"]
