"""What programs get: the same forms, digits and statuses in all commands."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import lines, on_terminal, piped

import tbcore
from tbcore_testing import EventFileWriter, summaries, write_run
from tbcore_testing.summaries import png


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs, of two models, each with three seeds; and a directory without any."""
    path = tmp_path_factory.mktemp("forms")
    (path / "empty").mkdir()
    for index in range(6):
        values = np.random.default_rng(index).random(4)
        write_run(
            path / "runs", f"run{index}", scalars={"loss": values.tolist(), "wide tag": [1.0]},
            hparams={"model": "ab"[index % 2], "lr": 1e-8}, wall_time=1.7e9 + index,
        )  # fmt: skip
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["ls", "runs", "--where", "lr>9"], ["ls", "empty"], ["ls", "runs", "--runs", "no*"],
        ["ls", "runs", "--by", "model", "--where", "lr>9"], ["ls", "runs", "--runs", "none"],
        ["tags", "runs", "--tags", "none"], ["tags", "runs", "--tags", "no*"], ["tags", "empty"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_nothing_found_is_an_empty_list(logdir: Path, command: list[str]) -> None:
    """With status 1 and a line on stderr; a mistake in the command line has no answer."""
    result = piped(*command, "--json", cwd=logdir)
    assert (result.returncode, result.stdout) == (1, "[]\n")
    assert result.stderr.count("\n") == 1
    mistaken = piped(*command, "--json", "--where", "((", cwd=logdir)
    assert mistaken.stdout in ("", "[]\n")
    assert (mistaken.returncode == 2) == (mistaken.stdout == "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ls", "--format=csv", "--json"], "--format csv and json cannot be combined"),
        (["ls", "--format=names", "--json"], "--format names and json cannot be combined"),
        (["show", "run0", "--format=names"], "is not one of"),
        (["tail", "--json", "--format", "csv"], "--format json and csv cannot be combined"),
        (["export", "-o", "x.csv", "--format", "csv"], "--format is for -o -"),
        (["export", "-o", "x/", "--wide"], "--wide is for -o FILE"),
        (["ls", "--csv"], 'no such option "--csv"; use --format csv'),
        (["ls", "-0"], 'no such option "-0"; use --format names'),
        (["report", "--at", "min"], 'no such option "--at"; use --columns TAG:min'),
        (["export", "--media", "x"], 'no such option "--media"; use -o DIR/'),
        (["show", "--tags", "x"], 'no such option "--tags"; use RUN TAG'),
        (["ls", "--tags", "x"], 'no such option "--tags"; use --columns TAG,...'),
        (["tags", "--columns", "x"], 'no such option "--columns"; use --tags TAG; see'),
        (["export", "--csv"], 'no such option "--csv"; use -o FILE.csv, or -o - --format csv'),
        (["diff", "--csv"], 'no such option "--csv"; see'),
        (["report", "--csv"], 'no such option "--csv"; see'),
        (["ls", "--columns", "loss", "--format", "names"], "--format names has no columns"),
        (["show", "run0", "loss", "-o", "x.svg", "--json"], '-o "x.svg" is for a drawing'),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    logdir: Path, arguments: list[str], message: str
) -> None:
    result = piped(*arguments, cwd=logdir / "runs")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert message in result.stderr.replace("\x27", "\x22")


def test_every_command_has_the_formats_that_it_can_have(logdir: Path) -> None:
    """Text is the default, and may be said; CSV has the values of the pipe."""
    commands = (["ls"], ["tags"], ["tail", "-n", "2"], ["show", "run0", "loss"])
    for command in commands:
        text = piped(*command, cwd=logdir / "runs").stdout
        assert text == piped(*command, "--format", "text", cwd=logdir / "runs").stdout
        comma_separated = piped(*command, "--format", "csv", cwd=logdir / "runs").stdout
        assert comma_separated == text.replace("\t", ",")
        one = piped(*command, "--json", "--format", "json", cwd=logdir / "runs").stdout
        assert one == piped(*command, "--json", cwd=logdir / "runs").stdout != text
    table = piped("show", "run0", "--format", "csv", cwd=logdir / "runs").stdout
    assert table.splitlines()[0] == "tag,kind,count,last_step,last,min,max,first"
    names = piped("tags", "--format", "names", "--tags", "*a*", cwd=logdir / "runs")
    assert names.stdout.split("\0")[-2:] == ["wide tag", ""]


def test_json_in_a_pipe_has_a_line_for_each_row(logdir: Path) -> None:
    found = piped("ls", "runs", "--json", cwd=logdir).stdout
    assert len(found.splitlines()) == 6
    assert ": " not in found
    assert ", " not in found


def test_a_value_of_a_group_is_an_object(logdir: Path) -> None:
    """Its fields are the ends of the names of columns elsewhere; equal columns are kept apart."""
    given = ["ls", "runs", "--by", "model", "--columns", "loss:min,lr,loss:min"]
    (row, _) = json.loads(piped(*given, "--json", cwd=logdir).stdout)
    fields = ["mean", "deviation", "n", "nonfinite", "missing", "diverged"]
    assert list(row) == ["group", "runs", "loss:min", "lr", "loss:min_"]
    assert list(row["loss:min"]) == fields
    assert row["loss:min"] == row["loss:min_"]
    assert row["lr"] == 1e-8
    header = lines(given[0], logdir / "runs", *given[2:])[0]
    assert header[2:8] == [f"loss:min {field}" for field in fields]


def test_computed_numbers_have_nine_digits_and_logged_ones_their_own(tmp_path: Path) -> None:
    """In all forms, and written alike."""
    values = {"a": [9.0, 0.1], "b": [0.3, 0.7], "c": [1e-8, 1 / 3], "d": [0.0, 123456789.75]}
    for run, own in values.items():
        write_run(tmp_path, run, scalars={"x": own}, hparams={"lr": 1e-8, "run": run})
    logged = {run: float(str(np.float32(own[-1]))) for run, own in values.items()}
    change = {"a": "-8.9", "b": "0.399999976", "c": "0.333333333", "d": "123456792.0"}
    for form in ("--format=csv", "--json"):
        result = piped("ls", tmp_path, "--columns", "x,x:change(1),lr", form).stdout
        rows: list[Any] = result.splitlines()
        if form == "--json":
            rows = [str(list(row.values())[-3:]).strip("[]") for row in json.loads(result)]
            rows = [row.replace("1e-08", "1e-8").split(", ") for row in rows]
        else:
            rows = [row.split(",")[-3:] for row in rows[1:]]
        assert [row[1:] for row in rows] == [[text, "1e-8"] for text in change.values()], form
        assert [float(row[0]) for row in rows[:3]] == [logged[run] for run in "abc"]
    (row,) = json.loads(piped("ls", tmp_path, "--by", "lr", "--columns", "x", "--json").stdout)
    exact = np.array([np.float32(own[-1]) for own in values.values()], float)
    assert row["x"]["mean"] == round(exact.mean(), 1)
    assert math.isclose(row["x"]["deviation"], exact.std(ddof=1), rel_tol=1e-8)
    (row,) = json.loads(
        piped("ls", tmp_path, "--runs", "b,c", "--by", "lr", "--columns", "x", "--json").stdout
    )
    assert row["x"]["mean"] == round(exact[1:3].mean(), 9)


def test_a_run_has_the_same_fields_whatever_was_noted(logdir: Path) -> None:
    found = json.loads(piped("show", logdir / "runs", "run0", "--json").stdout)
    noted = ["display_name", "starred", "archived", "labels", "note", "color"]
    own = ["run", "state", "started", "last_event"]
    assert list(found) == [*own, *noted, "hparams", "texts", "tags"]


# -- what was asked for ------------------------------------------------------------------------


def test_the_columns_that_are_named_are_all_that_is_printed(logdir: Path) -> None:
    """With the run before them; fields of runs are columns, too, and the size is one."""
    chosen = "size,loss:min,state,lr,model,run"
    given = [logdir / "runs", "--sort", "size", "-n", "1"]
    header, row = lines("ls", *given, "--columns", chosen)
    assert header == ["run", "size", "loss:min", "state", "lr", "model"]
    (own,) = (logdir / "runs" / row[0]).glob("*tfevents*")
    assert (row[1], row[3], row[4]) == (str(own.stat().st_size), "quiet", "1e-8")
    (found,) = json.loads(piped("ls", *given, "--columns", chosen, "--json").stdout)
    assert list(found) == header
    assert lines("ls", *given)[0] == ["state", "run", "step", "last_event", "took", "loss:last",
                                      "wide tag:last"]  # fmt: skip


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_value_that_was_named_is_cut(
    tmp_path: Path, columns: int, variables: dict[str, str]
) -> None:
    """Where columns do not fit, each value has a line."""
    name, text = f"sweep/{'long_' * 9}/seed1", "a hyperparameter of forty-four characters, or so"
    scalars = {"val/loss": [1.0, 0.25], "train/a_tag_with_a_long_name": [2.0, 0.125]}
    write_run(tmp_path, name, scalars=scalars, hparams={"note": text}, wall_time=1.7e9)

    def shown(*arguments: Any) -> str:
        status, found = on_terminal(*arguments, columns=columns, **variables)
        assert (status, "\x1b" in found) == (0, False)
        return found

    one = shown("ls", tmp_path, "--columns", "val/loss:min", "--sort", "val/loss:min")
    assert [line.split()[-1] for line in one.splitlines()] == ["val/loss:min", "0.25"]
    many = ["val/loss:min", "note", "train/a_tag_with_a_long_name:max", "state"]
    found = shown("ls", tmp_path, "--columns", ",".join(many))
    assert {text, "0.25", "quiet"} <= set(re.split("  +|\n|(?<=min) |(?<=note) |state ", found))
    if columns < 200:
        assert found == (
            f"run {name}\nval/loss:min 0.25\nnote {text}\ntrain/a_tag_with_a_long_name:max 2\n"
            "state quiet\n\n"
        )
    group = shown("ls", tmp_path, "--by", "note", "--columns", "val/loss:min,val/loss:max")
    assert {"0.25", "1"} <= set(group.split())
    orders = [["took"], ["val/loss"], [many[2]], [many[2], "--by", "seeds"]]
    for order, value in zip(orders, ["5", "0.25", "2", "2"], strict=True):
        found, _, left_out = shown("ls", tmp_path, "--sort", *order).partition("not shown: ")
        assert {order[0], value} <= set(found.split())
        assert not set(left_out.strip().split(", ")) & set(found.split())
    large = tmp_path.with_name(f"{tmp_path.name}_large")
    write_run(large, scalars={"odd": [(1234567890, -1.2345e-30)]})
    assert shown("tail", large, "--tags", "odd").split()[-3::2] == ["1234567890", "-1.235e-30"]
    tail = shown("tail", tmp_path, "--total", "9", "-n", "1", "--tags", "*", "--runs", name)
    assert {"0.25", "0.125"} <= set(tail.split())
    assert ("0.25" in tail.splitlines()[-1]) == (columns == 200)
    alone = shown("tail", tmp_path, "-n", "1")
    assert ("not shown: " in alone) == (columns == 40)
    assert "…" not in alone.splitlines()[-1]


def test_commands_read_several_folders_with_names(logdir: Path, tmp_path: Path) -> None:
    """`NAME=DIR` is a folder with a name, unless it is a path itself."""
    odd = tmp_path / "lr=0.1"
    write_run(odd, "q", scalars={"loss": [3.0]})
    os.symlink(logdir / "runs", tmp_path / "0.1")
    folders = ["a=0.1", f"b={odd}"]
    expected = {"b/q", *(f"a/run{i}" for i in range(6))}

    listed = json.loads(piped("ls", *folders, "--json", cwd=tmp_path).stdout)
    assert {row["run"] for row in listed} == expected
    assert set(tbcore.open([f"a={tmp_path}/0.1", f"b={odd}"])) == expected
    with contextlib.chdir(tmp_path):
        assert [*tbcore.open("lr=0.1")] == ["q"]
    assert [row[1] for row in lines("ls", odd, logdir / "runs", "--runs", "q,run3")[1:]] == [
        "q", "run3",
    ]  # fmt: skip
    for command, answer in (
        (["show", *folders, "b/q", "loss"], "3.0"), (["tail", *folders, "--runs", "b/q"], "b/q"),
        (["diff", *folders, "a/run0", "b/q"], "model"), (["check", *folders], "7 runs"),
        (["tags", *folders], "hyperparameter\t6\t2"), (["report", *folders], "# a=0.1, lr=0.1"),
        (["export", *folders, "-o", "-"], "b/q,loss,0,"),
        (["completion", "zsh", "--", "ls", *folders, "--runs", "b"], "=b/q\n"),
    ):  # fmt: skip
        result = piped(*command, cwd=tmp_path)
        assert answer in result.stdout, result.stderr
    refused = piped("notes", "list", *folders, cwd=tmp_path)
    assert refused.stderr.startswith("tbcore: notes are about one log directory, got 2;")


def test_the_sizes_of_all_runs_are_summed_once(tmp_path: Path) -> None:
    """After each scan, not at each use: a loop over runs may ask for them."""
    path = write_run(tmp_path, "a", scalars={"loss": [1.0]})
    logs = tbcore.open(tmp_path)
    before = logs.sizes
    assert logs.sizes is before
    write_run(tmp_path, "b", scalars={"loss": [1.0]})
    assert logs.refresh() == {"b"}
    assert logs.sizes == {"a": path.stat().st_size, "b": before["a"]}


@pytest.mark.parametrize(
    "command",
    ["export . -o s3://b/x.csv", "export . -o s3://b/x/", "show a loss -o s3://b/x.svg",
     "report . -o gs://b/x.md"],
)  # fmt: skip
def test_an_output_is_a_local_file(tmp_path: Path, command: str) -> None:
    """Also the folder `s3:` is not made."""
    write_run(tmp_path, "a", scalars={"loss": [1.0]}, images={"x": [png(2, 2)]})
    result = piped(*command.split(), cwd=tmp_path)
    assert result.returncode == 2
    address = command.split()[-1]
    line = f"-o '{address}': files are written to local disks only; write one, and copy it there;"
    assert result.stderr.startswith(f"tbcore: {line}")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ls --sort lr:min", "'lr' is a hyperparameter, which has no ':min'"),
        (
            "ls --columns loss:avg",
            "unknown statistic 'avg'; expected last, min, max, nan, ",
        ),
        ("ls --columns zzz", "no tag or hyperparameter 'zzz'; there are: 'loss', 'wide tag', "),
        ("ls --columns zzz:min", "no tag 'zzz'; there are: 'loss', 'wide tag'"),
        ("ls --by zzz", "--by: no run has the hyperparameter 'zzz'; there are: 'lr', 'model'; see"),
        ("ls --runs zzz", "no run 'zzz'; there are: 'run0', 'run1', 'run2' and 3 more"),
        ("report --tags zzz", "no tag 'zzz'; there are: 'loss', 'wide tag'"),
        ("ls --where model=aa", "none of 6 runs matches; did you mean 'model=a', or 'model=b'?"),
        ("ls --where model:a", "none of 6 runs matches; did you mean 'model=a'?"),
        (
            "ls --where size:a",
            "none of 6 runs matches. No hyperparameter size, so size:a is searched for in run",
        ),
        ("ls --where -has:loss", "none of 6 runs matches\n"),
        ("diff .. run0", "'..' is a directory, not a run; expected [LOGDIR] A B"),
    ],
)
def test_a_message_says_what_there_is_in_place_of_what_was_asked(
    logdir: Path, command: str, message: str
) -> None:
    result = piped(*command.split(), cwd=logdir / "runs")
    assert (result.returncode != 0, result.stdout) == (True, "")
    assert message in result.stderr


def test_python_says_what_there_is_in_place_of_what_was_asked(tmp_path: Path) -> None:
    write_run(tmp_path, "a", scalars={"loss": [1.0, math.nan]}, texts={"note": ["x"]})
    run = tbcore.open(tmp_path)["a"]
    with pytest.raises(IndexError, match=r"^no point 9: there are 2; series\.at\(9\) is the last"):
        run["loss"][9]
    with pytest.raises(KeyError, match=r"has no numbers; see run\.texts\('note'\)$"):
        run["note"]
    with pytest.raises(KeyError, match=r"^no tag 'zzz' in run 'a'; there are: 'loss'$"):
        run["zzz"]
    with pytest.raises(KeyError, match=r"^no tag 'zzz'; there are: 'loss'$"):
        tbcore.open(tmp_path).scalars("zzz")
    assert run["loss"] == tbcore.open(tmp_path)["a"]["loss"] != run["loss"][:1]
    assert run["loss"][-1].step == 1


def test_precision_recall_curves_are_arrays(tmp_path: Path) -> None:
    """The counts at each threshold are those of the predictions that reach it."""
    labels, predictions = [False, True, True, True], [0.1, 0.4, 0.6, 0.9]
    with EventFileWriter(tmp_path / "a" / "tfevents") as writer:
        writer.add_summary(3, summaries.pr_curve("cats", labels, predictions, num_thresholds=3))
    run = tbcore.open(tmp_path)["a"]
    [item] = run.pr_curves("cats")
    assert (item.step, run.tags["cats"].kind) == (3, "pr_curves")
    assert item.value.thresholds.tolist() == [0.0, 0.5, 1.0]
    assert item.value.true_positives.tolist() == [3, 2, 0]
    assert item.value.false_positives.tolist() == [1, 0, 0]
    assert item.value.precision.tolist() == [0.75, 1.0, 0.0]
    assert item.value.recall == pytest.approx([1.0, 2 / 3, 0.0])
    assert item.value.average_precision == pytest.approx(0.75 / 3 + 2 / 3)
    [row] = json.loads(piped("show", tmp_path, "a", "cats", "--json").stdout)
    assert row["value"] == "3 thresholds, average precision 0.9167"


def test_tensors_of_any_plugin_are_arrays(tmp_path: Path) -> None:
    """Such as the parts of meshes, with the shape and the type that were logged."""
    corners, faces = [[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]], [[[0, 1, 2]]]
    odd = [summaries.metadata_only("bare", "odd", b"x"), summaries.scalar("loss", 1.0)]
    with EventFileWriter(tmp_path / "a" / "tfevents") as writer:
        writer.add_summary(3, *summaries.mesh("hull", corners, faces, as_integers=True), *odd)
        writer.add_summary(3, summaries.pr_curve("cats", [True], [0.5], num_thresholds=3))
    run = tbcore.open(tmp_path)["a"]
    shapes = {"hull_VERTEX": "float32 of shape (1, 3, 3)", "hull_FACE": "int32 of shape (1, 1, 3)"}
    for tag, shape in shapes.items():
        [item] = run.tensors(tag)
        assert (item.step, run.tags[tag].kind) == (3, "mesh")
        assert f"{item.value.dtype} of shape {item.value.shape}" == shape
        [row] = json.loads(piped("show", tmp_path, "a", tag, "--json").stdout)
        assert row["value"] == shape
    assert run.tensors("hull_FACE")[0].value.tolist() == faces
    assert run.tensors("cats")[0].value.shape == (6, 3)
    for tag in ("bare", "loss"):
        with pytest.raises(KeyError, match=f"no tensors under '{tag}' in run 'a'; tags with "):
            run.tensors(tag)
    found = piped("show", tmp_path, "a", "bare")
    assert "1 values of the kind 'odd': not readable" in found.stderr
    with pytest.raises(KeyError, match=r"has no numbers; see run\.pr_curves\('cats'\)$"):
        run["cats"]
