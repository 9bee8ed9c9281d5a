"""`tbcore ls` and `tbcore show`, and what all commands that print logs have in common."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import (
    command,
    environment,
    lines,
    on_terminal,
    piped,
    received_by_terminal,
    without_progress,
)

from tbcore_logs.printing.access import command_output
from tbcore_testing import EventFileWriter, summaries, write_run

WALL_TIME = 1_700_000_000.0


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs with hyperparameters; the loss of the last one is NaN at the end."""
    path = tmp_path_factory.mktemp("commands") / "logs"
    for number in range(3):
        last = float("nan") if number == 2 else 0.1 + number
        write_run(
            path,
            f"exp/lr{number}",
            scalars={"loss": [3.0, 1.0, last], "acc": [(2, 0.25 * number)]},
            texts={"config": [f"lr: {number}\n\tepochs: 3"]},
            hparams={"lr": 10.0**-number, "model": "mlp"},
            wall_time=WALL_TIME + number,
        )
    return path


# -- ls ----------------------------------------------------------------------------------------


def test_runs_are_listed_with_their_last_values(logdir: Path) -> None:
    """A pipe gets all digits, those of a float32, and no line that is drawn."""
    header, *rows = lines("ls", logdir)

    assert header == ["state", "run", "step", "last_event", "took", "loss:last", "acc:last"]
    assert [row[:3] for row in rows] == [["quiet", f"exp/lr{n}", "2"] for n in range(3)]
    assert [row[5:] for row in rows] == [["0.1", "0.0"], ["1.1", "0.25"], ["nan", "0.5"]]
    assert rows[0][3].startswith("2023-11-14T22:13:2")


def test_json_has_the_names_of_the_columns(logdir: Path) -> None:
    result = piped(
        "ls", logdir, "--json", "--columns", "state,step,took,lr,loss:min,loss:at(1),acc", "-n", "1"
    )

    [run] = json.loads(result.stdout)
    assert (run["run"], run["state"], run["step"]) == ("exp/lr0", "quiet", 2)
    assert (run["lr"], run["loss:min"], run["loss:at(1)"], run["acc"]) == (1.0, 0.1, 1.0, 0.0)
    assert isinstance(run["took"], float)


def test_the_steps_of_the_lowest_and_the_highest_values_are_columns(logdir: Path) -> None:
    """The first NaN has no step; runs can be sorted by them."""
    names = "loss:argmin,loss:argmax,loss:min"
    header, *rows = lines("ls", logdir, "--columns", names, "--sort", "loss:argmin", "-r")
    assert header[-3:] == names.split(",")
    assert [row[-3:] for row in rows] == [
        ["2", "0", "0.1"],
        ["1", "0", "1.0"],
        ["1", "0", "1.0"],
    ]


def test_a_name_with_a_comma_is_written_in_quotes(tmp_path: Path) -> None:
    for run in ("a,b", "c", 'd"e'):
        write_run(tmp_path, run, scalars={"x,y": [1.0]})
    assert [row[1] for row in lines("ls", tmp_path, "--runs", '"a,b",c')[1:]] == ["a,b", "c"]
    assert [row[1] for row in lines("ls", tmp_path, "--runs", 'd"e')[1:]] == ['d"e']
    assert lines("ls", tmp_path, "--columns", '"x,y":last')[0][-1] == "x,y:last"


HYDRA = ("lr=0.1,seed=1", "lr=0.1,seed=2", "lr=0.1", "seed=1", "a*b", "aXb", '"q","r"', "-dash")


@pytest.mark.parametrize("name", HYDRA)
def test_each_run_and_each_tag_can_be_selected_by_its_name_alone(tmp_path: Path, name: str) -> None:
    """As sweeps name them: a value that is a name is not split at its commas."""
    for run in HYDRA:
        write_run(tmp_path / "runs", run, scalars={"loss": [1.0]})
    write_run(tmp_path / "tags", scalars={tag: [1.0] for tag in HYDRA})
    given = {"runs": [tmp_path / "runs", f"--runs={name}"], "tags": [tmp_path / "tags"]}
    given["tags"].append(f"--tags={name}")

    printed = [json.loads(line) for line in piped("tail", *given["runs"], "--json").stdout.split()]
    assert [row["run"] for row in printed] == [name]
    [row] = json.loads(piped("ls", *given["runs"], "--json").stdout)
    assert row["run"] == name
    [row] = map(json.loads, piped("tail", *given["tags"], "--json").stdout.splitlines())
    assert row.keys() == {"run", "step", "wall_time", name}
    [row] = json.loads(piped("tags", *given["tags"], "--json").stdout)
    assert row["name"] == name
    for option, column in (("runs", "run"), ("tags", "tag")):
        [row] = map(
            json.loads, piped("export", *given[option], "--json", "-o", "-").stdout.splitlines()
        )
        assert row[column] == name
        report = piped("report", *given[option])
        assert (report.returncode, report.stderr) == (0, "")
        assert "1 run" in report.stdout


def test_a_value_that_is_no_name_is_split_at_its_commas(logdir: Path) -> None:
    found = lines("ls", logdir, "--runs", "exp/lr1,exp/lr0")[1:]
    assert [row[1] for row in found] == ["exp/lr0", "exp/lr1"]
    assert piped("ls", logdir, "--runs", "exp/lr1,lost").stderr.startswith("tbcore: no run 'lost'")


def test_a_chart_is_drawn_to_a_file(logdir: Path, tmp_path: Path) -> None:
    path = tmp_path / "loss.svg"
    result = piped("show", logdir, "exp/lr0", "loss", "-o", path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert path.read_text().startswith("<svg ")
    assert "loss by step" in path.read_text()
    assert ">exp/lr0</text>" in path.read_text()
    for arguments, message in (
        (["exp/lr0", "loss", "-o", "x.pdf"], "-o 'x.pdf' is for a drawing, FILE.svg or FILE.png"),
        (["exp/lr0", "loss", "-o", "x.png", "--json"], "-o 'x.png' is for a drawing, FILE.svg or"),
        (["exp/lr0", "-o", "x.svg"], "-o: name a tag, too; 'exp/lr0' has: loss, acc"),
        (["exp/*", "--json"], "3 runs: name a tag, too; 'exp/lr0' has: loss, acc"),
        (["exp/lr0", "--smooth", "0.5"], "--smooth: name a tag, too; 'exp/lr0' has: loss, acc"),
        (["zz*", "loss"], "none of 3 runs matches 'zz*'"),
        (["zz,exp/lr0", "loss"], "no run 'zz'"),
        (["exp/*", "zz"], "none of 3 runs has the tag 'zz'; there are: 'loss', 'acc'"),
        (["exp/*", "loss", "--smooth", "1"], "--smooth: '1' is not valid; expected a number from"),
    ):
        result = piped("show", logdir, *arguments, cwd=tmp_path)
        assert result.stderr.startswith(f"tbcore: {message}")
        assert result.stderr.count("\n") == 1


def test_a_chart_is_a_png_with_matplotlib_and_one_line_without(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "loss.png"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        result = piped("show", logdir, "exp/lr0", "loss", "-o", path)
    line = "FILE.png needs another package: pip install matplotlib; FILE.svg needs none"
    assert (result.returncode, result.stderr, path.exists()) == (1, f"tbcore: {line}\n", False)

    pytest.importorskip("matplotlib")
    result = piped("show", logdir, "exp/lr0", "loss", "-o", path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_a_closed_stdout_is_an_error_unless_a_file_is_written(logdir: Path, tmp_path: Path) -> None:
    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        script = f"{shlex.join(command(*arguments))} >&-"
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)

    for arguments in (["ls", logdir], ["export", logdir, "-o", "-"]):
        result = run(*arguments)
        assert result.stderr == "tbcore: cannot print anything: stdout is closed\n"
        assert result.returncode == 1
    result = run("export", logdir, "-o", tmp_path / "x.csv")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_a_full_disk_behind_stdout_is_said_to_be_that(logdir: Path) -> None:
    script = f"{shlex.join(command('ls', logdir))} >/dev/full"
    result = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert result.stderr == "tbcore: cannot write to stdout: No space left on device\n"
    assert result.returncode == 1


def test_a_drawing_goes_before_a_name_is_cut(tmp_path: Path) -> None:
    """A name is what is copied to the next command."""
    name = "models/resnet18/batch=128,lr=0.01/seed2"
    write_run(tmp_path, name, scalars={"loss": [1.0, 0.5]}, wall_time=WALL_TIME)
    for columns, is_drawn in ((100, True), (75, False)):
        _, text = on_terminal("ls", tmp_path, columns=columns, NO_COLOR="1")
        assert name in text
        assert ("█" in text) is is_drawn


def test_csv_has_the_values_of_the_pipe(tmp_path: Path) -> None:
    """But a name is as it was logged, and a line break in it is quoted."""
    write_run(tmp_path, 'a, "b"\n', scalars={"loss": [0.5, 0.25]}, wall_time=WALL_TIME)
    result = piped("ls", tmp_path, "--format=csv")
    header, row = csv.reader(io.StringIO(result.stdout, newline=""))
    assert header == ["state", "run", "step", "last_event", "took", "loss:last"]
    assert (row[:3], row[5:]) == (["quiet", 'a, "b"\n', "1"], ["0.25"])
    assert piped("tags", tmp_path, "--format=csv").stdout.splitlines()[1:] == ["loss,scalar,1,2,1,"]


def test_names_for_xargs_are_those_of_the_directories(tmp_path: Path) -> None:
    """In the order of the list, each ended by NUL; a terminal gets no control character."""
    for number, name in enumerate(["a\nb", "c d\x1b[2J"]):
        write_run(tmp_path, name, scalars={"loss": [float(-number)]}, wall_time=WALL_TIME)
    assert piped("ls", tmp_path, "--format=names", "--sort", "loss").stdout == "c d\x1b[2J\0a\nb\0"
    assert piped("tags", tmp_path, "--format=names").stdout == "loss\0"
    _, text = on_terminal("ls", tmp_path, "--format=names")
    assert "\x1b[2J" not in text
    assert "\\x1b[2J" in text


def test_not_a_number_is_a_name_in_json(logdir: Path) -> None:
    result = piped("ls", logdir, "--json", "--runs", "*2")
    assert json.loads(result.stdout)[0]["loss:last"] == "NaN"


def test_a_large_float32_keeps_its_digits(tmp_path: Path) -> None:
    """Its shortest digits as a float32, 1700024200, would be those of another number."""
    write_run(tmp_path, scalars={"n": [1700024192.0]})
    assert lines("ls", tmp_path)[1][5] == "1700024192.0"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--sort", "loss:last"], ["0", "1", "2"]),
        (["--sort", "loss:last", "-r"], ["1", "0", "2"]),
        (["--sort", "lr"], ["2", "1", "0"]),
        (["--sort", "run", "--reverse", "-n", "2"], ["2", "1"]),
        (["--sort", "age"], ["2", "1", "0"]),
        (["--sort", "started"], ["0", "1", "2"]),
        (["-r"], ["2", "1", "0"]),
        (["--where", "lr<0.5"], ["1", "2"]),
        (["--where", "-has:nan", "--runs", "exp/lr0,exp/lr2"], ["0"]),
        (["--runs", "*lr1", "--runs", "exp/lr2"], ["1", "2"]),
    ],
)
def test_runs_are_sorted_and_selected(
    logdir: Path, options: list[str], expected: list[str]
) -> None:
    """What has no value, or NaN, comes last in either order."""
    _, *rows = lines("ls", logdir, *options)
    assert [row[1].removeprefix("exp/lr") for row in rows] == expected


def test_tags_are_listed_with_their_kinds(logdir: Path) -> None:
    _, *rows = lines("tags", logdir)
    assert rows[0] == ["lr", "hyperparameter", "3", "3", "", "0.01 0.1 1.0"]
    assert ["loss", "scalar", "3", "9", "2", ""] in rows
    assert ["config", "text", "3", "3", "0", ""] in rows
    assert [row[0] for row in lines("tags", logdir, "--tags", "l*,config")[1:]] == [
        row[0] for row in rows if row[0] == "config" or row[0].startswith("l")
    ]


def test_of_many_values_of_a_hyperparameter_ten_are_listed(tmp_path: Path) -> None:
    """Evenly from the lowest to the highest; only those of the selected runs."""
    for i in range(30):
        write_run(
            tmp_path, f"r{i}", scalars={"loss": [1.0]}, hparams={"id": i, "model": "ab"[i % 2]}
        )
    rows = json.loads(piped("tags", tmp_path, "--json").stdout)
    assert rows[0]["values"] == [0, 3, 6, 10, 13, 16, 19, 23, 26, 29]
    assert [(row["name"], row["count"]) for row in rows[:2]] == [("id", 30), ("model", 2)]
    [row] = json.loads(
        piped("tags", tmp_path, "--runs", "r1,r3", "--tags", "model", "--json").stdout
    )
    assert row == {
        "name": "model", "kind": "hyperparameter", "num_runs": 2, "count": 1, "last_step": None,
        "values": ["b"],
    }  # fmt: skip
    assert "model" not in piped("tags", tmp_path, "--format", "names").stdout


def test_a_run_that_is_being_written_is_live(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"loss": [1.0]}, wall_time=time.time())
    assert lines("ls", tmp_path)[1][0] == "live"


# -- show --------------------------------------------------------------------------------------


def test_a_run_is_shown_with_hyperparameters_texts_and_tags(logdir: Path) -> None:
    shown = lines("show", logdir, "exp/lr1")
    assert ["run", "exp/lr1"] in shown
    assert ["hyperparameters", "lr", "0.1"] in shown
    assert ["texts", "config", r"lr: 1\n\tepochs: 3"] in shown
    assert ["loss", "scalar", "3", "2", "1.1", "1.0", "3.0", "3.0"] in shown

    data = json.loads(piped("show", logdir, "exp/lr1", "--json").stdout)
    assert data["hparams"] == {"lr": 0.1, "model": "mlp"}
    assert data["texts"] == {"config": "lr: 1\n\tepochs: 3"}
    loss = next(tag for tag in data["tags"] if tag["tag"] == "loss")
    assert (loss["count"], loss["last"], loss["min"], loss["max"]) == (3, 1.1, 1, 3)


def test_a_tag_is_shown_with_all_points(logdir: Path) -> None:
    header, *rows = lines("show", logdir, "exp/lr0", "loss")
    assert header == ["step", "wall_time", "value"]
    assert [(step, value) for step, _, value in rows] == [("0", "3.0"), ("1", "1.0"), ("2", "0.1")]

    points = json.loads(piped("show", logdir, "exp/lr0", "loss", "--json").stdout)
    assert [point["value"] for point in points] == [3, 1, 0.1]
    assert lines("show", logdir, "exp/lr0", "config")[1][2] == r"lr: 0\n\tepochs: 3"


@pytest.mark.parametrize(
    ("cwd", "arguments", "variables"),
    [
        (".", ["exp/lr0"], {}),
        (".", ["./exp/lr0/"], {}),
        (".", ["exp/lr0", "loss"], {}),
        ("..", ["exp/lr0", "loss"], {}),
        ("..", ["logs", "exp/lr0"], {}),
        ("..", ["logs", "exp/lr0", "loss"], {}),
        ("..", ["logs/exp/lr0"], {}),
        ("..", ["logs/exp/lr0", "loss"], {}),
        ("..", ["exp/lr0", "loss"], {"TBCORE_LOGDIR": "logs"}),
    ],
)
def test_the_directory_may_be_left_out(
    logdir: Path, cwd: str, arguments: list[str], variables: dict[str, str]
) -> None:
    """A path that a shell completes is the name of a run."""
    where = {".": logdir, "..": logdir.parent}[cwd]
    result = piped("show", *arguments, cwd=where, **variables)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_directory_is_the_one_that_is_served(logdir: Path, tmp_path: Path) -> None:
    """Of `runs`, `lightning_logs` and `logs`, the first; a line names it. Or else the working
    directory. `show` and `diff` also take paths, of any run."""
    write_run(tmp_path, "outputs/a", scalars={"loss": [1.0]})
    alone = piped("ls", "--format=names", cwd=tmp_path)
    assert (alone.stdout, alone.stderr) == ("outputs/a\0", "")
    for name in ("logs/b", "runs/c"):
        write_run(tmp_path, name, scalars={"loss": [2.0]})

    found = piped("ls", "--format=names", cwd=tmp_path)

    line = "tbcore: no log directory given; reading runs (found: runs, logs)\n"
    assert (found.stdout, found.stderr) == ("c\0", line)
    assert piped("ls", "--format=names", cwd=tmp_path, TBCORE_LOGDIR="outputs").stderr == ""
    for names in (["c", "c"], ["runs/c", "runs/c"], ["c", "runs/c"], ["outputs/a", "outputs/a/"]):
        result = piped("diff", *names, cwd=tmp_path)
        is_mixed = "/" in names[1] and "/" not in names[0]
        assert (result.returncode, result.stdout) == (1 if is_mixed else 0, "")
        assert is_mixed == ("no run 'runs/c'" in result.stderr)
    assert "outputs/a" in piped("show", "outputs/a", cwd=tmp_path).stdout


# -- on a terminal -----------------------------------------------------------------------------


def test_a_table_fits_on_the_terminal(logdir: Path) -> None:
    """It has a line for each run, with lines that are drawn, and numbers of few digits."""
    for columns in (40, 50, 80):
        status, text = on_terminal("ls", logdir, columns=columns, NO_COLOR="1")
        assert status == 0
        header, *rows = text.splitlines()
        assert max(map(len, [header, *rows])) <= columns
        assert header.startswith("state")
    assert "age" in header
    assert len(rows) == 3
    assert rows[1].endswith("█▁▁")
    assert rows[2].endswith("█▁!")

    status, text = on_terminal("ls", logdir, columns=40, NO_COLOR="1")
    assert text.splitlines()[-1].startswith("not shown: ")


def test_names_are_cut_in_the_middle_and_wide_characters_count_twice(tmp_path: Path) -> None:
    write_run(tmp_path, f"{'長' * 30}/seed7", scalars={"loss": [1.0]})
    _, text = on_terminal("ls", tmp_path, columns=50, NO_COLOR="1")
    row = text.splitlines()[1]
    assert "長…" in row
    assert "/seed7" in row
    assert len(row) + row.count("長") <= 50


def test_colours_are_left_out_on_request(logdir: Path) -> None:
    assert "\x1b[" in on_terminal("ls", logdir)[1]
    assert "\x1b[" not in on_terminal("ls", logdir, NO_COLOR="1")[1]
    assert "\x1b[" not in on_terminal("ls", logdir, TERM="dumb")[1]


def test_a_chart_is_as_wide_as_the_terminal(tmp_path: Path) -> None:
    """A line that falls begins at the top left and ends at the bottom right."""
    write_run(tmp_path, "a", scalars={"loss": [1 - step / 100 for step in range(101)]})
    for columns in (50, 100):
        _, text = on_terminal("show", tmp_path, "a", "loss", columns=columns, NO_COLOR="1")
        title, *chart, steps, facts = text.splitlines()
        assert title == "a: loss"
        assert {len(line) for line in chart} == {columns}
        dots = [line.partition("│")[2] for line in chart[:-1]]
        assert dots[0][0] > "\u2800"
        assert dots[0][-1] == "\u2800" == dots[-1][0]
        assert dots[-1][-1] > "\u2800"
        # No column of dots is empty: the line has no gaps.
        assert all(any(ord(line[i]) & 0xFF for line in dots) for i in range(len(dots[0])))
        assert steps.split() == ["0", "100"]
        assert facts.startswith("101 points, first 1 at 0, last 0 at 100")


def test_a_text_is_shown_with_its_lines(logdir: Path) -> None:
    _, text = on_terminal("show", logdir, "exp/lr0", "config", NO_COLOR="1")
    assert "\nlr: 0\n\\tepochs: 3\n" in text
    _, text = on_terminal("show", logdir, "exp/lr0", NO_COLOR="1")
    assert "lr: 0 epochs: 3" in text


def test_logs_do_not_drive_the_terminal(tmp_path: Path) -> None:
    """Control characters in names and texts are escaped, in JSON, too."""
    evil = "\x1b]0;x\x07\x9b2J\u202e"
    with EventFileWriter(tmp_path / "tfevents") as writer:
        writer.add_summary(0, summaries.scalar(evil, 1.0), summaries.text("text", evil))
        writer.add_summary(0, summaries.session_start({evil: evil}))
    commands = [
        ["ls"], ["tags"], ["ls", "--json"], ["show", "."], ["show", ".", "text"],
        ["show", ".", evil], ["show", ".", "--json"], ["tail"], ["tail", "--json"],
        ["export", "-o", "-"], ["export", "-o", "-", "--wide"], ["export", "-o", "-", "--json"],
        ["show", f"x{evil}"], ["ls", "--columns", evil[::-1]],
    ]  # fmt: skip
    program = "for argv in json.loads(sys.argv[1]): main(argv); print(end='= END =', flush=True)"
    argv = [sys.executable, "-c", f"import json, sys; from tbcore.cli import main\n{program}"]
    status, received = received_by_terminal(
        [*argv, json.dumps(commands)], NO_COLOR="1", TBCORE_LOGDIR=str(tmp_path)
    )
    *texts, rest = without_progress(received).split("= END =")
    assert (status, rest, len(texts)) == (0, "", len(commands))
    for arguments, text in zip(commands, texts, strict=True):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text), arguments
        assert text, arguments


def test_a_time_in_a_year_that_python_does_not_have_is_left_out(tmp_path: Path) -> None:
    """The last second of the year 9999 in UTC is in the year 10000 in Tokyo."""
    write_run(tmp_path, "a", scalars={"loss": [1.0]}, wall_time=253402300799.0)
    for arguments in (["tail", tmp_path], ["show", tmp_path, "a"]):
        status, text = on_terminal(*arguments, TZ="Asia/Tokyo")
        assert (status, "Traceback" in text, "9999" in text) == (0, False, False), text


# -- command_output ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["ls", "LOGS", "--runs", "none*"], 1, "none of 3 runs matches"),
        (["ls", "LOGS", "--where", "lr>5"], 1, "none of 3 runs matches"),
        (["ls", "LOGS", "--runs", "exp/lr9"], 1, "no run 'exp/lr9'; close: 'exp/lr2'"),
        (["ls", "LOGS/empty"], 1, "no event files below"),
        (["ls", "LOGS/empty", "--where", "step>1"], 1, "no event files below"),
        (["ls", "LOGS/nowhere"], 2, "does not exist"),
        (["ls", "LOGS/empty/file.txt"], 2, "is not an event file"),
        (["ls", "LOGS", "--where", "lr>"], 2, "--where: "),
        (["ls", "LOGS", "--where", "re:("], 2, "--where: "),
        (["ls", "LOGS", "--columns", "los:min"], 2, "'los'; close: 'loss'"),
        (["ls", "LOGS", "-n", "-1"], 2, "expected an int, 0 or more"),
        (["tail", "LOGS", "--total", "x"], 2, "--total: 'x' is not valid; expected an int, 0 or"),
        (["tags", "LOGS", "--tags", "los"], 1, "no tag 'los'; close: 'loss'"),
        (["tags", "LOGS", "--tags", "los?x*"], 1, "tags matches"),
        (["show"], 2, "expected [LOGDIR] RUN [TAG]"),
        (["show", "LOGS", "exp/lr"], 1, "no run 'exp/lr'; close: 'exp/lr"),
        (["show", "LOGS", "exp/lr0", "los"], 1, "close: 'loss'"),
        (["diff", "exp/lr0"], 2, "expected [LOGDIR] A B"),
        (["diff", "LOGS", "exp/lr0", "exp"], 1, "no run 'exp'"),
        (["tail", "LOGS", "--tags", "los"], 1, "no tag 'los'; close: 'loss'"),
        (["export", "LOGS"], 2, "missing option '-o'"),
        (["export", "LOGS", "-o", "x.xls"], 2, "ends with none of .csv, .jsonl, .parquet"),
        (["lss", "LOGS"], 2, "did you mean 'ls'?"),
        (["ls", "LOGS", "--bogus"], 2, "no such option '--bogus'; see"),
        (["ls", "LOGS", "--where", "exp and not lr0"], 1, "did you mean 'exp -lr0', which finds"),
        (["ls", "LOGS", "--where", 'none and "or"'], 1, "runs matches"),
        (["show", "LOGS"], 1, "is a directory, not a run; "),
    ],
)
def test_mistakes_are_one_line(
    logdir: Path, tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    """The exit status is 1 if nothing matches, and 2 for an invalid command line."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "file.txt").touch()
    places = {"LOGS": str(logdir)}
    typed = [
        places.get(argument, argument.replace("LOGS", str(tmp_path))) for argument in arguments
    ]
    result = piped(*typed, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (status, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["ls", "show", "tail", "export"])
def test_a_closed_pipe_ends_a_command_quietly(tmp_path: Path, name: str) -> None:
    """As `tbcore export -o - | head` closes it; the exit status is that of SIGPIPE."""
    path = write_run(tmp_path, scalars={"loss": [float(step) for step in range(30_000)]})
    options = {"show": [path, ".", "loss"], "tail": [path, "-n", "30000"]}
    options |= {"export": [path, "-o", "-"], "ls": [path]}
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        command(name, *options[name]), stdout=writer, stderr=subprocess.PIPE, env=environment()
    )
    os.close(writer)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (-13, b"")


def test_a_lost_connection_does_not_end_a_command() -> None:
    """SIGPIPE would end it without a word, while it reads remote files."""
    with command_output():
        one, other = socket.socketpair()
        other.close()
        with one, pytest.raises(BrokenPipeError):
            one.send(b"request")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_an_error(logdir: Path) -> None:
    for arguments in (["ls", logdir], ["export", logdir, "-o", "-"], ["tail", logdir]):
        with open("/dev/full", "w") as full:
            process = subprocess.run(
                command(*arguments), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                check=False, env=environment(),
            )  # fmt: skip
        assert process.returncode == 1
        [line] = process.stderr.splitlines()
        assert "No space left on device" in line


def test_a_query_for_a_name_that_no_run_has_is_a_warning(logdir: Path) -> None:
    result = piped("ls", logdir, "--where", "los:last<1")
    assert (result.returncode, result.stdout) == (1, "")
    warning, error = result.stderr.splitlines()
    assert warning.startswith("tbcore: warning: ")
    assert "loss" in warning
    assert error == "tbcore: none of 3 runs matches"


def test_damage_is_a_warning(tmp_path: Path) -> None:
    path = write_run(tmp_path, scalars={"loss": [1.0, 2.0]})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    result = piped("ls", tmp_path)

    assert result.returncode == 3
    assert result.stderr.startswith("tbcore: warning: ")
    assert str(path) in result.stderr


def test_a_directory_with_the_name_of_a_command_gets_a_hint(logdir: Path, tmp_path: Path) -> None:
    (tmp_path / "ls").mkdir()
    hint = "tbcore: 'ls' is a command; to serve the directory: tbcore ./ls\n"
    assert piped("ls", cwd=tmp_path).stderr.startswith(hint)
    assert piped("ls", logdir, cwd=tmp_path).stderr == ""


@pytest.mark.parametrize(("seconds", "is_shown"), [(1.5, True), (0.1, False)])
def test_progress_is_shown_after_a_second(seconds: float, is_shown: bool) -> None:
    """The line is removed at the end. Nothing is shown if stderr is no terminal."""
    program = (
        "import threading\nfrom tbcore_logs.printing.access import progress\n"
        f"with progress(lambda: 'reading'): threading.Event().wait({seconds})"
    )
    argv = [sys.executable, "-c", program]
    _, text = received_by_terminal(argv)
    assert text.startswith("\r\x1b[Ktbcore: reading" if is_shown else "")
    assert text.endswith("\r\x1b[K" if is_shown else "")
    quiet = subprocess.run(argv, capture_output=True, timeout=60, check=True)
    assert quiet.stderr == b""


def test_help_imports_no_more_than_declarations() -> None:
    """`tbcore --help` imports nothing of this package, `tbcore ls --help` what declares it."""
    parts = ("arguments", "ls", "offers", "options")
    declared = ["tbcore_logs", "tbcore_logs.commands"]
    declared += [f"tbcore_logs.commands.{part}" for part in parts]
    for arguments, modules in (
        (["--help"], []), (["serve", "--help"], []), (["ls", "--help"], declared),
    ):  # fmt: skip
        program = (
            f"import sys; from tbcore.cli import main; main({arguments!r}); "
            "print(sorted(m for m in sys.modules if m.startswith('tbcore_logs')), "
            "'numpy' in sys.modules)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout.splitlines()[-1] == f"{modules} False"


@pytest.mark.parametrize("command", ["ls", "tags", "show", "diff", "tail"])
def test_commands_that_print_import_no_web_server(tmp_path: Path, command: str) -> None:
    for name in "ab":
        write_run(tmp_path, name, scalars={"loss": [1.0]})
    more = {"show": ["a"], "diff": ["a", "b"]}.get(command, [])
    program = (
        f"import sys; from tbcore.cli import main; main({[command, str(tmp_path), *more]!r}); "
        "print([m for m in ('starlette', 'uvicorn') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_show_has_the_titles_and_descriptions_of_tags(tmp_path: Path) -> None:
    """Only if there are any: most writers give none."""
    assert (
        "display_name"
        not in piped("show", write_run(tmp_path / "b", scalars={"x": [1.0]}).parent, ".").stdout
    )
    with EventFileWriter(tmp_path / "a" / "a.tfevents") as writer:
        value = summaries.scalar("loss", 1.0, dtype="float32")
        value.metadata.summary_description = "The *mean*\nof a batch."
        writer.add_summary(0, value)
        writer.add_scalar("plain", 1.0, 0)
    shown = json.loads(piped("show", tmp_path / "a", ".", "--json").stdout)
    assert [tag["description"] for tag in shown["tags"]] == ["The *mean*\nof a batch.", ""]
    assert "display_name" not in shown["tags"][0]
    assert shown["tags"][0]["first"] == 1.0
