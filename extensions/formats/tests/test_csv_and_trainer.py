"""CSV and trainer_state.json: samples of the real programs against their truth, bit for bit."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from calls import Watch
from disk import Disk
from held import held_by
from loaded_logs import Logs
from source_runs import Rows, as_bits, items_of, points_of, rows_of

import tbcore
from tbcore.engine import EventFile, FileReplacedError, Formats, SourceRun
from tbcore_formats import csv_cells, trainer_runs
from tbcore_formats.common import leaves, number
from tbcore_formats.csv_runs import Reader, Runs
from tbcore_formats.flat_yaml import flat_yaml
from tbcore_testing import EventFileWriter

SAMPLES = Path(__file__).parent / "samples"
TRUTH = json.loads((SAMPLES / "truth.json").read_text(encoding="utf-8"))
CSV_FILES = [name for name in TRUTH if name.endswith((".csv", ".log"))]


def cell(text: str) -> float | None:
    try:
        return {"True": 1.0, "False": 0.0}[text] if text in ("True", "False") else float(text)
    except ValueError:
        return None


def so_far(items: Iterator[Any]) -> Iterator[Any]:
    """The items of a file that is being written."""
    with suppress(BlockingIOError):
        yield from items


def truth_of(name: str) -> Rows:
    """The points in the truth of a CSV file, which has the text of each cell."""
    columns, rows = TRUTH[name]["columns"], TRUTH[name]["rows"]
    if not (SAMPLES / name).read_bytes().endswith(b"\n"):
        rows = rows[:-1]  # The last row has not all cells.
    names = "step", "training_iteration", "epoch"
    step = next(columns.index(each) for each in names if each in columns)
    found: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        for index, text in enumerate(row):
            if index != step and (value := cell(text)) is not None:
                found.setdefault(columns[index], []).append((int(row[step]), value))
    return found


@pytest.mark.parametrize("name", CSV_FILES)
def test_csv_equals_the_truth(name: str) -> None:
    found, lines = rows_of(items_of(Reader(Runs(), "x"), SAMPLES / name))
    assert lines == []
    assert as_bits(found) == as_bits(truth_of(name))
    assert found


def test_a_folder_of_samples(caplog: pytest.LogCaptureFixture) -> None:
    """Runs are named by their folders. Where there are event files, these are shown alone."""
    logs = tbcore.open(SAMPLES)
    names = {os.path.dirname(name) for name in CSV_FILES} | {"hf-trainer"}
    unknown = {"live-states/hf-half", "live-states/csv-half-rewrite"}
    assert {run.name for run in logs.values()} == names | unknown | {
        "lightning-2.6/lightning_logs/version_1"
    }
    csv, both = (
        points_of(logs[f"lightning-2.6/lightning_logs/{n}"]) for n in ("version_0", "both")
    )
    assert as_bits(csv) == as_bits(truth_of("lightning-2.6/lightning_logs/version_0/metrics.csv"))
    assert "hp_metric" in both  # Which is in the event file alone.
    assert [run.tags for run in logs.values() if run.name.endswith("hf-half")] == [{}]
    assert [line.count("hf-half") for line in logs.problems] == [1]
    assert "it is not JSON" in caplog.text


@pytest.mark.parametrize("name", [name for name in TRUTH if name.endswith(".yaml")])
def test_hyperparameters_equal_the_truth(name: str) -> None:
    def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
        for key, each in value.items():
            if isinstance(each, dict):
                yield from flat(each, f"{prefix}{key}/")
            else:
                yield prefix + key, each

    assert flat_yaml((SAMPLES / name).read_text()) == dict(flat(TRUTH[name]["yaml"]))


def test_hyperparameters_of_runs() -> None:
    logs = tbcore.open(SAMPLES)
    lightning = {
        "lr": 0.01, "name": "ü net", "opt/amsgrad": False, "opt/betas": "[0.9,0.99]"
    }  # fmt: skip
    assert logs["lightning-2.6/lightning_logs/version_2"].hparams == lightning
    assert logs["ultralytics/exp"].hparams["model"] == "yolov8n.pt"
    assert logs["hf-trainer"].hparams == {
        "max_steps": 30, "num_train_epochs": 3, "train_batch_size": 4
    }  # fmt: skip


def test_yaml_as_it_is_written_by_pyyaml() -> None:
    yaml = pytest.importorskip("yaml")
    value = {
        "a": {"b": {"c": 1e-05, "d": [1, "two", None, True], "e": {}}, "f": "yes", "1.5": "x: y"},
        "long": "word " * 40 + "end", "ü": 'q"uo\tte\\ \x07', "big": 10**30, "inf": [math.inf],
        "empty": "", "tilde": "~", "minus": "-5", "date": "1e3", "n": -7, "list": [], "-x": 3,
    }  # fmt: skip
    a = {
        "a/b/c": 1e-05, "a/b/d": [1, "two", None, True], "a/b/e": {}, "a/f": "yes", "a/1.5": "x: y"
    }  # fmt: skip
    for options in ({}, {"allow_unicode": True}, {"sort_keys": False}):
        found = flat_yaml(yaml.dump(value, **options))
        assert found == {**a, **{key: each for key, each in value.items() if key != "a"}}
    text = "x: !!python/object/apply:os.system ['true']\nbetas: !!python/tuple\n- 1\ny: *z\n"
    assert set(flat_yaml(text)) == {"x", "betas", "y"}


@pytest.mark.parametrize("name", CSV_FILES)
def test_each_prefix_of_a_csv_gives_a_prefix_of_its_points(name: str, tmp_path: Path) -> None:
    """At once, and when it grows byte by byte. There is no line about it."""
    whole = (SAMPLES / name).read_bytes()
    path, growing = tmp_path / "metrics.csv", tmp_path / "growing.csv"
    expected = as_bits(truth_of(name))
    header = whole.index(b"\n") + 1
    reader, grown = Reader(Runs(), "x"), dict[str, list[tuple[int, float]]]()
    for size in range(header, len(whole) + 1):
        path.write_bytes(whole[:size])
        found, lines = rows_of(so_far(items_of(Reader(Runs(), "y"), path)))
        assert lines == []
        for tag, bits in as_bits(found).items():
            assert bits == expected[tag][: len(bits)]
        with growing.open("ab") as file:
            file.write(whole[growing.stat().st_size if growing.exists() else 0 : size])
        more, lines = rows_of(so_far(items_of(reader, growing)))
        assert lines == []
        for tag, pairs in more.items():
            grown.setdefault(tag, []).extend(pairs)
        assert as_bits(grown) == as_bits(found)
    assert as_bits(grown) == expected


def test_a_csv_that_is_rewritten_in_place_never_shows_fewer_points(logs: Logs) -> None:
    """Lightning truncates the file and writes it again when a column is added."""
    path = logs.path / "version_0" / "metrics.csv"
    path.parent.mkdir()
    rows = [f"{step},{step / 7}\n" for step in range(50)]
    path.write_text("step,loss\n" + "".join(rows))
    logs.load()
    assert len(logs.steps("version_0")) == 50
    new = "step,loss,acc\n" + "".join(f"{row[:-1]},\n" for row in rows) + "50,,0.5\n"
    with path.open("r+") as file:
        file.truncate(0)
        for size in (0, 3, 100, 101, len(new) - 9, len(new)):
            file.write(new[file.tell() : size])
            file.flush()
            logs.load()
            assert len(logs.steps("version_0")) == 50
            assert logs.board.status.problems == ()
    assert logs.steps("version_0", "acc") == [50]
    path.write_text("step,loss\n1,1\n")
    os.utime(path, (1e9, 1e9))
    logs.loader = logs.new_loader()
    logs.load()
    assert logs.steps("version_0") == [1]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_cells_are_the_same_beside_others(separator: str, tmp_path: Path) -> None:
    """Lines of numbers are read as JSON, which has other words, and no zero with a sign."""
    cells = {
        "1": 1.0, "-0": -0.0, "-0.0": -0.0, " 5 ": 5.0, "1e5": 1e5, "1E-5": 1e-5, "nan": math.nan,
        "NaN": math.nan, "inf": math.inf, "-Infinity": -math.inf, "True": 1.0, "false": 0.0,
        "007": 7.0, "+1": 1.0, ".5": 0.5, "1.": 1.0, "1" + "0" * 400: math.inf, "": None,
        "null": None, "[1]": None, "x": None, "-": None, "1" * 20: float("1" * 20),
        "0.1000000000000000055511151231257827": 0.1, "5e-324": 5e-324,
    }  # fmt: skip
    if separator != ",":  # Then a comma is a decimal point.
        cells |= {
            "1,5": 1.5,
            ",5": 0.5,
            "-2,": -2.0,
            "1,5e-3": 1.5e-3,
            "1,2,3": None,
            "1,2.3": None,
        }
    path = tmp_path / "metrics.csv"
    for first in ("2", "", '"2"', "x", "[1", "{"):
        for cell, value in cells.items():
            lines = ["a|step|b", "2|0|2", f"{first}|1|{cell}", "3|2|3"]
            path.write_text("".join(f"{line}\n" for line in lines).replace("|", separator))
            found, problems = rows_of(items_of(Reader(Runs(), "x"), path))
            middle = [] if value is None else [(1, value)]
            assert as_bits({"b": found["b"]}) == as_bits({"b": [(0, 2.0), *middle, (2, 3.0)]})
            is_odd = [first in ("x", "[1", "{"), value is None and cell != ""]
            assert len(problems) == sum(is_odd)


def test_steps_are_decided_once(tmp_path: Path) -> None:
    """By the first 100 rows. Later rows without a step are left out, with a line."""

    def read(*cells: object) -> tuple[list[int], list[str]]:
        path = tmp_path / "metrics.csv"
        path.write_text("epoch,loss\n" + "".join(f"{each},1\n" for each in cells))
        found, lines = rows_of(items_of(Reader(Runs(), "x"), path))
        assert len(found.get("epoch", ())) in (0, len(cells))
        return [step for step, _ in found["loss"]], lines

    assert read(0, 1, 2, 2, 0) == ([0, 1, 2, 2, 0], [])
    assert read("1.0", "2e0", 3) == ([1, 2, 3], [])
    assert read(0, 0.25, 0.5) == ([0, 1, 2], [])
    assert read(*range(99), 0.5, 7) == ([*range(101)], [])
    late = ["rows without a step are left out"]
    assert read(*range(100), 0.5, 7) == ([*range(100), 7], late)
    assert read(*range(100), 10**30, 7) == ([*range(100), 7], late)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("epoch,loss\n0,1\n1,1\n", "epoch,loss\n0,1\n1,1\n1.5,1\n"),
        ("epoch,loss\n", "epoch,loss,acc\n0,1,1\n"),
        ("epoch,loss\n0,1\n", "epoch,acc,loss\n0,1,\n"),
        ("epoch,loss\n0,1\n", "epoch,loss\n0,2\n1,1\n"),
        ("epoch,loss\n0,1\n", "epoch,loss\n"),
    ],
)
def test_another_csv_is_read_from_its_start(tmp_path: Path, before: str, after: str) -> None:
    """Also if its first rows show that there are no steps, or if it has only another header."""
    path, reader = tmp_path / "metrics.csv", Reader(Runs(), "x")
    path.write_text(before)
    rows_of(items_of(reader, path))
    path.write_text(after)
    with pytest.raises(FileReplacedError):
        rows_of(items_of(reader, path))


def test_the_history_of_a_trainer_equals_the_truth(tmp_path: Path) -> None:
    """Of the newest checkpoint, until there is the state of the whole run."""
    for name in [name for name in TRUTH if name.startswith("hf-trainer/")]:
        history = TRUTH[name]["json"]["log_history"]
        expected: dict[str, list[tuple[int, float]]] = {}
        for entry in history:
            for key, each in entry.items():
                value = float(each["float"]) if isinstance(each, dict) else number(each)
                tag = f"eval/{key[5:]}" if key.startswith("eval_") else f"train/{key}"
                if key != "step" and value is not None:
                    expected.setdefault(tag, []).append((entry["step"], value))
        found, lines = rows_of(items_of(trainer_runs.Reader(), SAMPLES / name))
        assert (as_bits(found), lines) == (as_bits(expected), [])
    runs = [("x/checkpoint-9", 9), ("x/checkpoint-10", 10), ("x", 11), ("checkpoint-2", 2)]
    files = [(f"{name}/trainer_state.json", EventFile(str(size))) for name, size in runs]
    found_runs = {
        run.name: [file.path for file in run.files] for run in trainer_runs.Runs().runs(files)
    }
    assert found_runs == {"x": ["10", "11"], ".": ["2"]}


def test_a_history_that_differs_from_what_was_read_is_read_again(logs: Logs) -> None:
    """Also if it is longer: another training has begun in the same directory."""
    path = logs.path / "run" / "trainer_state.json"
    path.parent.mkdir()
    for losses in ([4.0, 3.0], [4.0, 2.0, 1.0], [8.0]):
        rows = [{"step": step, "loss": loss} for step, loss in enumerate(losses)]
        path.write_text(json.dumps({"log_history": rows}))
        logs.load()
        found = logs.multiplexer.scalars("run", "train/loss")
        assert found.value.tolist() == losses


def test_a_training_is_followed_through_its_checkpoints(logs: Logs) -> None:
    """A checkpoint that is being written is waited for; old ones are deleted."""

    def save(folder: str, num_rows: int, *, size: int | None = None) -> Path:
        rows = [{"step": step, "loss": 1 / step} for step in range(1, num_rows + 1)]
        path = logs.path / "out" / folder / "trainer_state.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"log_history": rows, "max_steps": 9})[:size])
        logs.load()
        return path

    def steps() -> list[int]:
        return logs.steps("out", "train/loss")

    first = save("checkpoint-2", 2)
    assert steps() == [1, 2]
    save("checkpoint-4", 4, size=40)
    assert steps() == [1, 2]
    save("checkpoint-4", 4)
    assert steps() == [1, 2, 3, 4]
    first.unlink()
    save("", 5)
    save("", 6)
    assert steps() == [1, 2, 3, 4, 5, 6]
    assert (logs.multiplexer.runs(), logs.board.status.problems) == (["out"], ())


def _many(count: int, form: str) -> bytes:
    return b",".join(form.replace("N", str(n)).encode() for n in range(count))


HOSTILE: dict[str, tuple[str, bytes | Callable[[], bytes], int]] = {
    "words": ("metrics.csv", b"step,a\n0,1\n1,word\n2,3\n", 1),
    "only words": ("metrics.csv", b"step,a\n0,x\n1,y\n", 0),
    "NUL": ("metrics.csv", b"step,a\n0,1\n1,\x002\n2,3\n", 1),
    "open quote": ("metrics.csv", b'step,a\n0,1\n1,"2\n2,3\n', 1),
    "too many cells": ("metrics.csv", b"step,a\n0,1,2\n1,2\n", 1),
    "long line": ("metrics.csv", b"step,a\n0," + b"1" * (3 << 20) + b"\n", 1),
    "long cell": ("metrics.csv", b'step,a\n0,"' + b"1" * 200_000 + b'"\n', 0),
    "long header": ("metrics.csv", lambda: b"step," + _many(1_000_000, "cN") + b"\n1\n", 0),
    "many columns": (
        "metrics.csv", b"step," + _many(9_000, "cN") + b"\n" + b"1," * 9_000 + b"1\n", 0
    ),
    "no UTF-8": ("metrics.csv", b"step,\xff\n0,1\n", 0),
    "bytes": ("metrics.csv", bytes(range(256)) * 100, 0),
    "huge numbers": ("metrics.csv", b"step,a\n0,1e999\n" + b"9" * 5000 + b",1\n1,2\n", 0),
    "empty": ("trainer_state.json", b" \n", 1),
    "deep JSON": ("trainer_state.json", b"[" * 100_000 + b"]" * 100_000, 1),
    "long integer": ("trainer_state.json", b'{"log_history": [' + b"1" * 5000 + b"]}", 1),
    "no history": ("trainer_state.json", b"{}", 1),
    "another history": ("trainer_state.json", b'{"log_history": "text"}', 1),
    "no steps": ("trainer_state.json", b'{"log_history": [{"loss": 1}, {"step": 1e400}]}', 1),
    "huge values": (
        "trainer_state.json",
        b'{"log_history": [{"step": 1, "a": 1' + b"0" * 400 + b'}, {"step": 1' + b"0" * 30 + b"}]}",
        1,
    ),
    "many tags": (
        "trainer_state.json", b'{"log_history": [{"step": 1, ' + _many(30_000, '"N": 1') + b"}]}", 1
    ),
    "odd facts": (
        "trainer_state.json", b'{"log_history": [], "trial_params": [1], "max_steps": {"a": []}}', 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_itself_and_one_line(name: str, tmp_path: Path) -> None:
    file, content, num_lines = HOSTILE[name]
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / file).write_bytes(content() if callable(content) else content)
    os.utime(tmp_path / "bad" / file, (1e9, 1e9))
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "metrics.csv").write_bytes(b"step,a\n0,1\n")
    logs = tbcore.open(tmp_path)
    for run in logs.values():
        _ = [run[tag].value for tag in run.scalar_tags]
    assert points_of(logs["good"]) == {"a": [(0, 1.0)]}
    assert len([line for line in logs.problems if "bad" in line]) == len(logs.problems) == num_lines
    assert all(len(line) < 500 for line in logs.problems)
    assert name != "empty" or "it is not JSON: the file is empty" in logs.problems[0]


def test_files_that_links_lead_to_and_others_that_are_no_files(tmp_path: Path) -> None:
    """A downloaded folder may have a link to any file, or a FIFO, whose opening would wait."""
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: 1\n")
    logdir = tmp_path / "logs"
    for run, make in {
        "link": lambda path: path.symlink_to(secret),
        "fifo": os.mkfifo,
        "folder": os.mkdir,
        "big": lambda path: path.write_text("a: 1\n" * 500_000),
    }.items():
        (logdir / run).mkdir(parents=True)
        (logdir / run / "metrics.csv").write_text("step,a\n0,1\n")
        make(logdir / run / "hparams.yaml")
    (logdir / "csv").mkdir()
    os.mkfifo(logdir / "csv" / "metrics.csv")
    logs = tbcore.open(logdir)
    found = {run.name: run.hparams for run in logs.values()}
    assert found == {"link": {}, "fifo": {}, "folder": {}, "big": {"a": 1.0}}


def test_nothing_is_imported_without_a_file(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path / "1.tfevents") as writer:
        writer.add_scalar("a", 1.0, 0)
    (tmp_path / "hparams.yaml").write_text("a: 1\n")
    code = (
        "import sys, tbcore; tbcore.open(sys.argv[1])['.']['a'].value\n"
        "print(sorted(m for m in sys.modules if m.startswith('tbcore_formats')))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "['tbcore_formats', 'tbcore_formats.format']\n"


def test_the_folder_stays_as_it_was() -> None:
    def status() -> Sequence[tuple[str, int, int]]:
        files = [SAMPLES, *sorted(SAMPLES.rglob("*"))]
        return [(str(f), (s := f.stat()).st_size, s.st_mtime_ns) for f in files]

    before = status()
    for run in tbcore.open(SAMPLES).values():
        points_of(run)
    assert status() == before


def test_a_header_is_read_once(logs: Logs, disk: Disk) -> None:
    """A scan opens no file again that has not changed, whether it is a log or not."""
    (logs.path / "results.csv").write_text("name,value\na,1\n")
    (logs.path / "metrics.csv").write_text("step,value\n0,1\n")
    runs = Runs()
    names = ["metrics.csv", "results.csv"]
    files = [(n, EventFile.of(str(logs.path / n), os.stat(logs.path / n))) for n in names]
    for _ in range(3):
        assert [*runs.runs(files)] == [SourceRun(".", [files[0][1]], "metrics.csv")]
    assert disk.opened == [file.path for _, file in files]
    assert {"metrics.csv", "trainer_state.json"} <= Formats().patterns


def test_each_csv_is_a_run_also_if_two_have_one_name(tmp_path: Path) -> None:
    """x/log is the name of both x/log.csv and the log in the directory x/log."""
    for value, name in enumerate(["x/metrics.csv", "x/log.csv", "x/log/log.csv", "y/log.csv"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"step,a\n0,{value}\n")
    logs = tbcore.open(tmp_path)
    assert sorted(run["a"].value.item() for run in logs.values()) == [0, 1, 2, 3]
    assert list(logs.problems) == []


@pytest.mark.parametrize(
    ("text", "steps", "more", "later"),
    [
        ("step,loss\n1,0.5", [1], "\n2,0.5\n", [2]),
        ("step,loss\r\n1,1\r\n2,0.5", [1, 2], "\r\n3,1\r\n", None),
        ("step,loss\n1,1\n2,0.5", [1, 2], "7\n3,1\n", None),
        ("step,loss\n1,1\n2", [1], "2,1\n", [22]),
        ("step,loss\n1,1\n2,", [1], "", []),
        ("step,loss\n" + "1,1\n" * 4000 + "2,1", [1] * 4000 + [2], "\n3,1", [3]),
    ],
)
def test_the_last_line_of_a_csv_needs_no_line_break(
    tmp_path: Path, text: str, steps: Sequence[int], more: str, later: Sequence[int] | None
) -> None:
    """If it has all cells, and the file was not written to just before. What it becomes `later`
    is read on if it was whole, else from the start of the file."""
    path, reader = tmp_path / "metrics.csv", Reader(Runs(), "x")

    def read() -> tuple[Sequence[int], list[str]]:
        found, lines = rows_of(items_of(reader, path))
        return [step for step, _ in found.get("loss", ())], lines

    path.write_bytes(text.encode())
    with pytest.raises(BlockingIOError):
        rows_of(items_of(Reader(Runs(), "x"), path))
    os.utime(path, (1e9, 1e9))
    [run] = tbcore.open(tmp_path).values()
    assert run["loss"].step.tolist() == steps
    assert read() == (steps, [])
    assert read() == ([], [])
    with path.open("ab") as file:
        file.write(more.encode())
    os.utime(path, (1e9, 1e9))
    if later is None:
        with pytest.raises(FileReplacedError):
            read()
    else:
        assert read() == (later, [])


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("step,a,a,a", ["a", "a_2", "a_3"]),
        ("step,a_2,a,a", ["a_2", "a", "a_3"]),
        ("step,a,a,a_2,a_2", ["a", "a_3", "a_2", "a_2_2"]),
        ("epoch,epoch,step,step", ["epoch", "epoch_2", "step_2"]),
    ],
)
def test_equal_columns_have_numbers(tmp_path: Path, names: str, found: Sequence[str]) -> None:
    cells = ",".join(str(index) for index in range(names.count(",") + 1))
    (tmp_path / "metrics.csv").write_text(f"{names}\n{cells}\n")
    read, _ = rows_of(items_of(Reader(Runs(), "x"), tmp_path / "metrics.csv"))
    assert [*read] == found


def test_a_long_header_is_no_work() -> None:
    """Neither one of too many columns, which are counted first, nor one of equal names."""

    class Name(str):
        num_comparisons = 0

        def strip(self, *_: Any) -> Name:
            return self

        def __hash__(self) -> int:
            return super().__hash__()

        def __eq__(self, other: object) -> bool:
            Name.num_comparisons += 1
            return super().__eq__(other)

    names = ["step", *(f"c{n}" for n in range(9_998)), *["a"] * 9_998]
    assert len({*csv_cells._unique([Name(name) for name in names])}) == len(names)
    assert Name.num_comparisons < 10 * len(names)
    for num_columns in (10_000, 10_001):
        line = ",".join(names[:num_columns]).encode() + b"\n"
        source = SimpleNamespace(read=lambda offset, size, line=line: line[offset : offset + size])
        _, header = csv_cells.read_head(source)
        assert (header is not None) == (num_columns == 10_000)


@pytest.mark.parametrize("cell", ["y" * 200_000, '"' + "y" * 200_000 + '"', "[1", "[1]", "1]"])
def test_a_cell_costs_no_other_rows(cell: str, tmp_path: Path) -> None:
    """Not one that is longer than the csv module allows, nor one that is JSON."""
    path = tmp_path / "metrics.csv"
    path.write_text(f"step,a,note\n0,1,x\n1,2,{cell}\n2,3,z\n")
    found, lines = rows_of(items_of(Reader(Runs(), "x"), path))
    assert (found, lines) == ({"a": [(0, 1.0), (1, 2.0), (2, 3.0)]}, [])
    path.write_text("step,a,b\n[1,2,3]\n")
    assert rows_of(items_of(Reader(Runs(), "x"), path)) == ({"a": [(0, 2.0)]}, [])


@pytest.mark.parametrize("depth", [1, 7])
def test_a_long_key_is_not_copied_for_each_value(depth: int) -> None:
    """Keys that have more than 512 characters when they are joined are left out."""
    num_values = 9_000
    for length in (500 // depth, 20_000 // depth):
        value: dict[str, Any] = {str(n): n for n in range(num_values)}
        text = "".join(f"{' ' * depth}{n}: {n}\n" for n in range(num_values))
        for level in reversed(range(depth)):
            value = {"k" * length: value}
            text = f"{' ' * level}{'k' * length}:\n{text}"
        is_short = (length + 1) * depth + 4 <= 512
        assert len(flat_yaml(f"{text}last: 1\n")) == num_values * is_short + 1
        assert len([*leaves({**value, "last": 1}, ".")]) == num_values * is_short + 1


def test_lists_and_texts_of_many_lines() -> None:
    text = "list:\n" + "- 1\n" * 9_000 + "text: a\n" + "  b\n" * 9_000 + "end: 1\n"
    assert flat_yaml(text) == {"list": [1] * 9_000, "text": "a" + " b" * 9_000, "end": 1}


def test_yaml_is_parsed_when_it_has_changed(tmp_path: Path, calls_of: Watch) -> None:
    """And not when the CSV beside it has."""
    calls = calls_of(flat_yaml)
    path, reader = tmp_path / "metrics.csv", Reader(Runs(), "x")
    for count, yaml in ((1, "a: 1"), (2, "a: 1"), (3, "a: 1"), (4, "a: 20"), (5, "a: 20")):
        path.write_text("step,a\n" + "1,1\n" * count)
        if count in (1, 4):
            (tmp_path / "hparams.yaml").write_text(yaml)
        facts = next(items_of(reader, path))
        assert facts.hparams == {"a": float(yaml[3:])}
    assert [call.arguments["text"] for call in calls] == ["a: 1", "a: 20"]


@pytest.mark.parametrize(
    ("states", "shown", "num_lines"),
    [
        # Name, number of rows, loss, and time of the last write. The state that is shown is among
        # the files of the run, of which the last checkpoint is the first.
        ([("checkpoint-1000", 10, 1, 1), ("checkpoint-100", 2, 7, 2)], (2, 7), 1),
        ([("checkpoint-1000", 3, 1, 1), ("checkpoint-100", 2, 7, 2)], (2, 7), 1),
        ([(".", 10, 1, 1), ("checkpoint-100", 2, 7, 2), ("checkpoint-90", 1, 7, 1)], (2, 7), 1),
        ([("checkpoint-1000", 10, 1, 1), ("checkpoint-100", 2, 7, 0)], (10, 1), 0),
        # Copied in the order of their names.
        ([("checkpoint-1000", 10, 1, 1), ("checkpoint-500", 5, 1, 2)], (10, 1), 0),
        ([("checkpoint-1000", 10, math.nan, 1), ("checkpoint-500", 5, math.nan, 2)], (10, None), 0),
        ([(".", 11, 1, 1), ("checkpoint-1000", 10, 1, 2)], (11, 1), 0),
    ],
)
def test_a_stale_checkpoint_does_not_hide_a_later_training(
    tmp_path: Path, states: Sequence[Any], shown: tuple[int, float | None], num_lines: int
) -> None:
    for name, num_rows, loss, at in states:
        path = tmp_path / "out" / name / "trainer_state.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"step": step, "loss": loss} for step in range(num_rows)]
        path.write_text(json.dumps({"log_history": rows}))
        os.utime(path, (1e9 + at, 1e9 + at))
    logs = tbcore.open(tmp_path)
    points = logs["out"]["train/loss"]
    loss = points.value[-1]
    assert (len(points.step), None if math.isnan(loss) else loss) == shown
    assert len(logs.problems) == num_lines
    [source] = {name for name, num_rows, *_ in states if num_rows == shown[0]}
    path = "out" if source == "." else f"out/{source}"
    assert logs["out"].source == f"{path}/trainer_state.json"


def test_a_state_that_takes_much_memory_is_not_read(tmp_path: Path) -> None:
    """Before any of it is in memory."""
    path = tmp_path / "trainer_state.json"
    with path.open("wb") as file:
        file.truncate((32 << 20) + 1)
    with pytest.raises(ValueError, match="it has more than 32 MB"):
        next(items_of(trainer_runs.Reader(), path))


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["metrics.csv", "a_log.csv", "log.csv"], [".", "a_log", "log"]),
        (["log.csv", "a_log.csv", "val_log.csv"], [".", "a_log", "val_log"]),
        (["x/a_log.csv", "x/b_log.csv", "x/y/log.csv"], ["x", "x/b_log", "x/y"]),
    ],
)
def test_a_csv_keeps_its_name_when_others_are_added(
    tmp_path: Path, files: Sequence[str], names: Sequence[str]
) -> None:
    for count, name in enumerate(files, 1):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("step,a\n0,1\n")
        paths = sorted(each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*.*"))
        found = [(n, EventFile.of(str(tmp_path / n), os.stat(tmp_path / n))) for n in paths]
        runs = [run for run in Runs().runs(found) if isinstance(run, SourceRun)]
        assert {run.key: run.name for run in runs} == dict(zip(files[:count], names, strict=False))


def test_equal_runs_share_what_is_known_of_their_tags(logs: Logs) -> None:
    """As runs of event files do: the page's lists of 10,000 runs are made once for all of them."""
    for name in ("a", "b", "c"):
        (logs.path / name).mkdir()
        (logs.path / name / "metrics.csv").write_text("step,loss,acc\n0,1,2\n")
    logs.load()
    [schema, *others] = (view.schema for view in logs.board.state.runs.values())
    assert all(other is schema for other in others)


def test_runs_without_times_say_so_in_notebooks_and_to_programs(tmp_path: Path) -> None:
    event_accumulator = pytest.importorskip("tbcore_compat.event_accumulator")
    (tmp_path / "metrics.csv").write_text("step,loss\n0,1\n")
    logs = tbcore.open(tmp_path)
    [run] = logs.values()
    assert "None" not in run._repr_html_() + logs._repr_html_()
    assert "<caption>.: 1 tags</caption>" in run._repr_html_()
    with pytest.raises(ValueError, match="there are no times in "):
        event_accumulator.EventAccumulator(str(tmp_path)).Reload().FirstEventTimestamp()


def test_what_is_known_about_files_is_of_the_last_scan(tmp_path: Path) -> None:
    """By root; and no content is kept of a file that nobody reads, such as a twin."""
    runs, read = Runs(), 0
    for root in ("a", "b"):
        for run in range(3):
            (tmp_path / root / str(run)).mkdir(parents=True)
            (tmp_path / root / str(run) / "metrics.csv").write_text("step,a\n0,1\n")

    def scan(root: str) -> Sequence[SourceRun]:
        names = sorted(f"{path.parent.name}/{path.name}" for path in tmp_path.glob(f"{root}/*/*"))
        paths = {name: tmp_path / root / name for name in names}
        files = [(n, EventFile.of(str(p), p.stat())) for n, p in paths.items()]
        return [run for run in runs.runs(files) if isinstance(run, SourceRun)]

    def known() -> tuple[int, int, int]:
        return len(runs.small), len({*held_by(runs, EventFile)}), len(runs.num_rows)

    for root in ("a", "b"):
        found = scan(root)
        for run in found[:2]:
            read += len(rows_of(so_far(runs.reader(run).read(run.files)))[0])
    assert (read, *known()) == (4, 2, 6, 4)
    (tmp_path / "a" / "1" / "metrics.csv").unlink()
    assert len(scan("a")) == 2
    assert known() == (1, 5, 3)
    assert len(scan("b")) == 3
    assert known() == (0, 5, 3)


def test_a_large_state_takes_little_memory(tmp_path: Path) -> None:
    """Three times its size, of which its bytes and its text are two; whole, it would take 25."""
    path = tmp_path / "trainer_state.json"
    names = "epoch", "grad_norm", "learning_rate", "loss"
    entries = [{"step": n} | dict.fromkeys(names, n / 7) for n in range(20_000)]
    path.write_text(json.dumps({"log_history": entries, "max_steps": 7}, indent=2))
    entries.clear()
    reader, count = trainer_runs.Reader(), 0
    tracemalloc.start()
    try:
        for item in items_of(reader, path):
            if isinstance(item, dict):
                count += sum(len(points.step) for points in item.values())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 80_000
    assert peak < 3 * path.stat().st_size


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"log_history": []}', None),
        ('{"log_history":[ ] , "max_steps": 3 }\n', None),
        (
            '{"max_steps": 3, "log_history": [{"step": 1, "loss": NaN} , {"step": 2, "loss": 1}]}',
            None,
        ),
        ("{}", "it has no log_history"),
        ('{"log_history": {"step": 1}}', "it has no log_history"),
        ('{"log_history": [{"step": 1} {"step": 2}]}', "it is not JSON"),
        ('{"log_history": [{"step": 1},]}', "it is not JSON"),
        ('{"log_history": [], }', "it is not JSON"),
        ('{"log_history": []} x', "it is not JSON"),
        ('{"log_history": [', "it is not JSON"),
        ('["log_history"]', "it is not JSON"),
        ("", "it is not JSON"),
    ],
)
def test_a_state_is_parsed_as_json_is(text: str, problem: str | None, tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(text)
    os.utime(path, (1.6e9, 1.6e9))
    if problem is None:
        assert [type(item).__name__ for item in items_of(trainer_runs.Reader(), path)][-1] == (
            "RunFacts"
        )
        return
    with pytest.raises(ValueError, match=problem):
        [*items_of(trainer_runs.Reader(), path)]


def test_a_line_names_the_file_that_it_is_about(logs: Logs) -> None:
    """Of several files of a run, it need not be the first. It is over when it is no longer true."""
    history = [{"step": step, "loss": 1.0} for step in range(5)]

    def save(folder: str, rows: Sequence[Any], at: float, size: int | None = None) -> Path:
        path = logs.path / "out" / folder / "trainer_state.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"log_history": rows})[:size])
        os.utime(path, (at, at))
        return path

    save("checkpoint-9", history[3:], 1.7e9)
    earlier = save(".", history, 1.6e9)
    logs.load()
    line = f"{logs.path}/out/trainer_state.json: it is of an earlier training, and not shown"
    assert logs.board.status.problems == (line,)
    assert logs.steps("out", "train/loss") == [3, 4]
    earlier.unlink()
    save("checkpoint-9", history[3:], 1.6e9, size=40)
    save("checkpoint-5", history[3:4], 1.7e9)
    logs.load()
    [line] = logs.board.status.problems
    assert "checkpoint-9/trainer_state.json: damaged, not JSON: " in line
    assert logs.steps("out", "train/loss") == [3]
    save("checkpoint-9", history[3:], 1.6e9)
    logs.load()
    assert logs.board.status.problems == ()
    assert logs.steps("out", "train/loss") == [3, 4]
