"""`tbcore export`: files that other programs read, and no half file under a final name."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import environment, on_terminal, piped

import tbcore
from tbcore_testing import EventFileWriter, summaries, write_run

NAN = float("nan")
PNG_1X1 = summaries.png()
TOKENS = 4190109696.0
"""A float32 whose shortest digits are those of 4190109700."""


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    write_run(path, 'a "quoted", name', scalars={"loss": [0.1, NAN, math.inf], "acc": [(2, 0.5)]})
    write_run(path, "b", scalars={"loss": [(5, TOKENS)], "double": [1.0]}, hparams={"lr": 1})
    with EventFileWriter(path / "b" / "tfevents.2") as writer:
        writer.add_summary(1, summaries.scalar("double", 1 / 3, dtype="float64"))
    return path


def export(logdir: Path, *options: str | Path) -> None:
    result = piped("export", logdir, *options)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def points_of(logdir: Path) -> list[tuple[str, str, int, float, float]]:
    columns = tbcore.open(logdir).scalars().columns
    return list(zip(*(columns[n].tolist() for n in columns), strict=True))


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    return rows


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_parquet(path: Path) -> list[dict[str, Any]]:
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "csv": read_csv, "jsonl": read_lines, "parquet": read_parquet,
}  # fmt: skip


@pytest.mark.parametrize("ending", READERS)
def test_every_point_is_a_row(logdir: Path, tmp_path: Path, ending: str) -> None:
    """Values are equal as float32; doubles and large whole numbers as doubles."""
    path = tmp_path / f"x.{ending}"
    export(logdir, "-o", path)
    rows = READERS[ending](path)
    expected = points_of(logdir)
    assert len(rows) == len(expected) == 7
    for row, (run, tag, step, wall_time, value) in zip(rows, expected, strict=True):
        assert list(row) == ["run", "tag", "step", "wall_time", "value"]
        assert (row["run"], row["tag"], int(row["step"])) == (run, tag, step)
        assert float(row["wall_time"]) == wall_time
        found = float(row["value"])
        if tag == "double" or value == TOKENS:
            assert found == value
        else:
            assert np.float32(found) == np.float32(value) or (found != found and value != value)
    assert TOKENS in [value for *_, value in expected]


WIDE_TAGS = [
    ["loss"], ["loss"], ["acc", "loss"], ["double"], ["double"], ["loss"],
]  # fmt: skip
"""The tags that have a value in each row of a wide table."""


@pytest.mark.parametrize("ending", READERS)
def test_wide_tables_have_a_row_for_each_step(logdir: Path, tmp_path: Path, ending: str) -> None:
    """A column without a value is empty, absent, or null; a logged NaN is none of these."""
    path = tmp_path / f"x.{ending}"
    export(logdir, "-o", path, "--wide")
    rows = [
        {name: value for name, value in row.items() if value not in (None, "")}
        for row in READERS[ending](path)
    ]
    run = 'a "quoted", name'
    assert [(row["run"], int(row["step"])) for row in rows] == [
        (run, 0), (run, 1), (run, 2), ("b", 0), ("b", 1), ("b", 5),
    ]  # fmt: skip
    assert float(rows[2]["acc"]) == 0.5
    assert float(rows[2]["loss"]) == math.inf
    assert math.isnan(float(rows[1]["loss"]))
    assert [sorted(row.keys() - {"run", "step"}) for row in rows] == WIDE_TAGS
    assert float(rows[4]["double"]) == 1 / 3


def test_points_that_a_wide_table_has_no_place_for_are_counted(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"run": [(1, 1.0), (1, 2.0)]})
    result = piped("export", tmp_path, "-o", "-", "--wide")
    assert result.stdout == "run,step,run_\n.,1,2.0\n"
    assert result.stderr.startswith("tbcore: warning: 1 points are left out")


def test_tags_and_runs_are_selected(logdir: Path) -> None:
    def rows(*options: str) -> list[list[str]]:
        result = piped("export", logdir, "-o", "-", *options)
        return [line.split(",")[:2] for line in result.stdout.splitlines()[1:]]

    assert rows("--runs", "b", "--tags", "loss") == [["b", "loss"]]
    assert rows("--where", "lr=1", "--tags", "lo*,none*") == [["b", "loss"]]
    result = piped("export", logdir, "-o", "-", "--json", "--tags", "acc")
    assert json.loads(result.stdout)["value"] == 0.5


def test_no_file_is_written_if_nothing_matches(logdir: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("before")
    for options in (["--tags", "los"], ["--tags", "none*"], ["--runs", "none*"]):
        for form in ([], ["--wide"]):
            assert piped("export", logdir, "-o", path, *options, *form).returncode == 1
            assert piped("export", logdir, "-o", "-", *options, *form).stdout == ""
    assert path.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["logs", "x.csv"]


def test_a_full_disk_leaves_the_file_as_it_was(logdir: Path, tmp_path: Path) -> None:
    """The limit for the size of a file is that of a disk without space."""
    write_run(logdir, "c", scalars={"loss": [float(step) for step in range(20_000)]})
    path = tmp_path / "x.csv"
    path.write_text("before")
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (99999, 99999)); "
    program = f"{limit} from tbcore.cli import main; sys.exit(main(sys.argv[1:]))"
    result = subprocess.run(
        [sys.executable, "-B", "-c", program, "export", str(logdir), "-o", str(path)],
        capture_output=True, text=True, timeout=60, check=False, env=environment(),
    )  # fmt: skip
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert line.startswith(f"tbcore: cannot write {str(path)!r}: ")
    assert path.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["logs", "x.csv"]


@pytest.mark.parametrize("target", ["nowhere/x.csv", "folder.csv"])
def test_a_place_that_cannot_be_written_is_an_error(
    logdir: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    result = piped("export", logdir, "-o", tmp_path / target)
    assert result.returncode == 1
    assert result.stderr.startswith("tbcore: cannot write ")
    assert len(result.stderr.splitlines()) == 1


def test_a_link_is_followed(logdir: Path, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    export(logdir, "-o", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_media_are_files_below_the_directory(tmp_path: Path) -> None:
    """Whatever their tags are called; several images of a step are numbered."""
    logs, media = tmp_path / "logs", tmp_path / "media"
    names = ["samples/0", "../../up", "..", ".hidden", "a\x00b", "x" * 300, "é"]
    write_run(logs, "exp/a", images={name: [PNG_1X1] for name in names})
    write_run(logs, "exp/a", images={"twice": [(3, PNG_1X1), (3, PNG_1X1)]})
    write_run(logs, "b", audio={"beep": [b"RIFF....WAVE"]})

    result = piped("export", logs, "-o", f"{media}/")

    assert (result.returncode, result.stderr) == (0, f"10 files in {media}/\n")
    files = [path for path in media.rglob("*") if path.is_file()]
    assert len(files) == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "media"]
    assert (media / "exp" / "a" / "samples%2F0" / "0.png").read_bytes() == PNG_1X1
    assert (media / "exp" / "a" / "twice" / "3_2.png").exists()
    assert (media / "b" / "beep" / "0.wav").read_bytes() == b"RIFF....WAVE"
    only = piped("export", logs, "-o", f"{media}/", "--tags", "be*")
    assert only.stderr == f"1 file in {media}/\n"


def test_no_media_and_no_scalars_are_one_line(logdir: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "texts", "a", texts={"notes": ["one"]})
    for logs, output, what in (
        (logdir, "media/", "images and no audio"), (tmp_path / "texts", "x.csv", "scalars"),
    ):  # fmt: skip
        result = piped("export", logs, "-o", output, cwd=tmp_path)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr == f"tbcore: no {what} match; nothing is written\n"
    assert not any(Path(tmp_path, name).exists() for name in ("media", "x.csv"))


def test_csv_on_a_terminal_is_the_same_but_for_control_characters(logdir: Path) -> None:
    status, text = on_terminal("export", logdir, "-o", "-", columns=40)
    assert status == 0
    assert text == piped("export", logdir, "-o", "-").stdout


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    """Runs are dropped from memory when they have been written."""
    values = [float(step) for step in range(100_000)]
    first = write_run(tmp_path / "logs", "0", scalars={f"tag{n}": values for n in range(3)})
    for number in range(1, 12):
        folder = tmp_path / "logs" / str(number)
        folder.mkdir()
        (folder / first.name).hardlink_to(first)
    peaks = []
    for runs in ("0,1,2,3,4,5", "*"):
        program = (
            "import resource, sys; from tbcore.cli import main; main(sys.argv[1:]);"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        arguments = ["export", str(tmp_path / "logs"), "-o", "/dev/null.csv", "--runs", runs]
        arguments[3] = str(tmp_path / "x.csv")
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout) / 1000)
    assert peaks[1] < peaks[0] * 1.1


def test_steps_of_a_few_rows_are_computed_for_these_rows_only(tmp_path: Path) -> None:
    """Even steps are a range in memory, of which an export takes a chunk at a time."""
    write_run(tmp_path, "even", scalars={"loss": [0.0] * 100_000})
    write_run(tmp_path, "uneven", scalars={"loss": [(5, 0.0), (1, 1.0), (9, 2.0)]})
    logs = tbcore.open(tmp_path)
    series, uneven = logs["even"]["loss"], logs["uneven"]["loss"]

    tracemalloc.start()
    try:
        steps = series.steps(slice(99_998, 200_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert steps.tolist() == [99_998, 99_999]
    assert peak < 100_000  # all steps are 800 kB
    assert uneven.steps(slice(1, 3)).tolist() == uneven.step[1:3].tolist()


@pytest.mark.parametrize(
    ("start", "ending"),
    [(b"ID3\x04", "mp3"), (b"\xff\xfb\x90", "mp3"), (b"OggS", "ogg"), (b"fLaC", "flac"),
     (b"RIFF\0\0\0\0WAVE", "wav"), (b"", "wav"), (b"\xff\xd8\xff\xe0", "jpg"),
     (b"RIFF\0\0\0\0WEBP", "webp"), (b"GIF89a", "gif")],
)  # fmt: skip
def test_a_file_of_media_has_the_ending_of_its_bytes(
    tmp_path: Path, start: bytes, ending: str
) -> None:
    """Or else that of the type that was logged."""
    kind = "images" if ending in ("jpg", "webp", "gif") else "audio"
    write_run(tmp_path / "logs", "a", **{kind: {"m": [start + bytes(40) if start else b""]}})
    assert piped("export", tmp_path / "logs", "-o", f"{tmp_path}/media/").returncode == 0
    [path] = (tmp_path / "media").rglob("0.*")
    assert path.name == f"0.{ending}"
