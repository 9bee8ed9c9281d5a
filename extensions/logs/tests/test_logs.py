"""Logs: runs of a directory, read when they are asked for."""

from __future__ import annotations

import copy
import logging
import math
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from disk import Disk

import tbcore
from tbcore import NotFoundError
from tbcore.errors import ExtensionError
from tbcore.eventfiles.table import Table
from tbcore.store.run import RunData
from tbcore_logs import Point, ScalarSeries, Tag, readers
from tbcore_testing import EventFileWriter, write_run
from tbcore_testing.summaries import png

PICTURE = png(8, 8) + bytes(100_000)


def test_a_series_has_all_points_of_a_tag(tmp_path: Path) -> None:
    write_run(tmp_path, "exp/a", scalars={"loss": [(5, 0.5, 100.0), (10, 0.25, 101.0)]})

    series = tbcore.open(tmp_path)["exp/a"]["loss"]

    assert len(series) == 2
    assert series.step.tolist() == [5, 10]
    assert series.last == Point(10, 101.0, 0.25)


def test_runs_are_in_the_order_of_their_first_events(tmp_path: Path) -> None:
    """Like in the page; runs that a later scan finds come last, even if they began earlier."""
    write_run(tmp_path, "b", scalars={"loss": [1]}, wall_time=100.0)
    write_run(tmp_path, "c", scalars={"loss": [1]}, wall_time=50.0)
    write_run(tmp_path, "a", scalars={"loss": [1]}, wall_time=200.0)
    logs = tbcore.open(tmp_path)
    write_run(tmp_path, "0", scalars={"loss": [1]}, wall_time=1.0)

    assert list(logs) == list(logs.runs) == ["c", "b", "a"]
    assert logs.refresh() == {"0"}
    assert list(logs.runs) == ["c", "b", "a", "0"]
    assert len(logs) == 4
    assert "b" in logs
    assert "x" not in logs


def test_the_order_does_not_depend_on_when_it_was_asked_for(tmp_path: Path) -> None:
    write_run(tmp_path, "b", scalars={"loss": [1]}, wall_time=100.0)
    logs = tbcore.open(tmp_path)
    write_run(tmp_path, "a", scalars={"loss": [1]}, wall_time=1.0)
    logs.refresh()

    assert list(logs.runs) == ["b", "a"]


def test_tags_have_kinds_counts_and_steps(tmp_path: Path) -> None:
    write_run(
        tmp_path,
        scalars={"loss": [(3, 1.0), (7, 2.0)]},
        histograms={"weights": [[1.0, 2.0]]},
        images={"samples": [png()]},
        audio={"speech": [b"wav"]},
        texts={"notes": ["a", "b"]},
        graph=b"",
    )
    write_run(tmp_path, scalars={"tensor": [0.5]}, dtype="float64")

    tags = tbcore.open(tmp_path)["."].tags

    assert list(tags.values()) == [
        Tag("", "graph", 1, 0, 0),
        Tag("loss", "scalar", 2, 3, 7),
        Tag("weights", "histogram", 1, 0, 0),
        Tag("samples", "image", 1, 0, 0),
        Tag("speech", "audio", 1, 0, 0),
        Tag("notes", "text", 2, 0, 1),
        Tag("tensor", "scalar", 1, 0, 0),
    ]


def test_a_tag_with_both_forms_of_scalars_is_one_series(tmp_path: Path) -> None:
    """Their points are in the order written; steps count from the first to the last of them."""
    write_run(tmp_path, scalars={"loss": [(0, 1.0)]}, filename="1.tfevents")
    write_run(tmp_path, scalars={"loss": [(1, 0.1)]}, dtype="float64", filename="2.tfevents")
    run = tbcore.open(tmp_path)["."]

    assert run["loss"].value.tolist() == [1.0, 0.1]
    assert run.tags == {"loss": Tag("loss", "scalar", 2, 0, 1)}
    assert list(run) == ["loss"]
    assert "loss" in run
    assert "x" not in run


def test_unknown_names_raise_key_errors_with_close_names(tmp_path: Path) -> None:
    """They are NotFoundErrors, too, and have no quotes around the message."""
    write_run(tmp_path, "train", scalars={"loss": [1]}, texts={"notes": ["a"]})
    logs = tbcore.open(tmp_path)
    run = logs["train"]

    with pytest.raises(KeyError) as error:
        logs["trian"]
    assert str(error.value) == "no run 'trian'; close: 'train'"
    with pytest.raises(NotFoundError, match=r"^no tag 'los' in run 'train'; close: 'loss'$"):
        run["los"]
    with pytest.raises(
        KeyError, match=r"^tag 'notes' .* has no numbers; see run\.texts\('notes'\)$"
    ):
        run["notes"]
    with pytest.raises(KeyError, match=r"^no images under 'loss' in run 'train'$"):
        run.images("loss")
    with pytest.raises(
        KeyError, match=r"^no texts under 'loss' in run 'train'; tags with texts: 'notes'$"
    ):
        run.texts("loss")
    with pytest.raises(KeyError, match=r"^no tag 'lss' in run 'train'"):
        run.texts("lss")


def test_parts_and_initials_are_close_names(tmp_path: Path) -> None:
    """What is spelled alike comes first."""
    images = {f"pictures/recon/image/{i}": [png(1, 1)] for i in range(9)}
    write_run(tmp_path, "models/vit/seed1", images=images, scalars={"val/loss": [1]})
    write_run(tmp_path, "models/vit/seed2", scalars={"learning_rate": [1], "rates": [1]})
    logs = tbcore.open(tmp_path)

    with pytest.raises(KeyError, match=r"close: 'models/vit/seed1', 'models/vit/seed2'$"):
        logs["models/vit"]
    with pytest.raises(KeyError, match=r"close: 'pictures/recon/image/0', .*/1', .*/2'$"):
        logs["models/vit/seed1"].images("pictures/recon")
    with pytest.raises(KeyError, match=r"close: 'learning_rate'$"):
        logs["models/vit/seed2"]["lr"]
    with pytest.raises(KeyError, match=r"close: 'rates', 'learning_rate'$"):
        logs["models/vit/seed2"]["rate"]
    with pytest.raises(KeyError, match=r"^no tag 'a' .*; there are: 'learning_rate', 'rates'$"):
        logs["models/vit/seed2"]["a"]


def test_hyperparameters_are_those_of_a_run_or_of_one_near_it(tmp_path: Path) -> None:
    write_run(tmp_path, "keras", hparams={"lr": 0.5, "name": "a", "fast": True})
    write_run(tmp_path, "keras/train", scalars={"loss": [1]})
    write_run(tmp_path, "torch", scalars={"loss": [1]})
    write_run(tmp_path, "torch/170", hparams={"lr": 0.25})
    write_run(tmp_path, "none", scalars={"loss": [1]})
    logs = tbcore.open(tmp_path)

    assert logs["keras"].hparams == {"lr": 0.5, "name": "a", "fast": True}
    assert logs["keras/train"].hparams == {"lr": 0.5, "name": "a", "fast": True}
    assert logs["torch"].hparams == {"lr": 0.25}
    assert logs["none"].hparams == {}


def test_times_and_state_of_a_run(tmp_path: Path) -> None:
    path = write_run(
        tmp_path, scalars={"loss": [(0, 1.0, 1000.0), (1, 1.0, 1060.5)]}, wall_time=1000.0
    )
    os.utime(path, (1061, 1061))
    run = tbcore.open(tmp_path)["."]

    assert run.started == datetime(1970, 1, 1, 0, 16, 40, tzinfo=UTC)
    assert run.last_event == datetime(1970, 1, 1, 0, 17, 40, 500_000, tzinfo=UTC)
    assert run.state == "quiet"


def test_a_run_that_is_being_written_is_live(tmp_path: Path) -> None:
    now = datetime.now(UTC).timestamp()
    write_run(tmp_path, scalars={"loss": [(0, 1.0, now)]})

    assert tbcore.open(tmp_path)["."].state == "live"


def test_a_run_without_events_has_no_times(tmp_path: Path) -> None:
    (tmp_path / "tfevents").touch()
    run = tbcore.open(tmp_path)["."]

    assert (run.started, run.last_event, run.state, run.tags) == (None, None, "quiet", {})


@pytest.mark.parametrize("wall_time", [math.nan, 1e300, -1e300])
def test_a_time_that_is_no_date_is_none(tmp_path: Path, wall_time: float) -> None:
    write_run(tmp_path, scalars={"loss": [(0, 1.0, wall_time)]}, wall_time=wall_time)

    assert tbcore.open(tmp_path)["."].started is None


# -- what is read ------------------------------------------------------------------------------


def test_opening_reads_nothing_and_a_question_reads_one_run(tmp_path: Path, disk: Disk) -> None:
    """The pictures of other runs are not even opened."""
    write_run(tmp_path, "small", scalars={"loss": [1.0]}, filename="small.tfevents")
    pictures = {"samples": [PICTURE] * 10}
    write_run(tmp_path, "large", images=pictures, filename="large.tfevents")
    logs = tbcore.open(tmp_path)
    assert disk.opened == []

    assert logs["small"]["loss"].value.tolist() == [1.0]
    assert {*map(os.path.basename, disk.opened)} == {"small.tfevents"}


def test_listing_runs_reads_their_first_events_only(tmp_path: Path, disk: Disk) -> None:
    for run in ("a", "b"):
        write_run(tmp_path, run, images={"samples": [PICTURE] * 10})

    assert list(tbcore.open(tmp_path).runs) == ["a", "b"]
    assert len(disk.opened) == 2
    assert disk.num_bytes + disk.num_bytes_of_parts < 10_000


def test_a_picture_is_read_when_its_value_is(tmp_path: Path, disk: Disk) -> None:
    """Steps and times are known without it."""
    write_run(tmp_path, images={"samples": [PICTURE] * 10}, scalars={"loss": [1] * 10})
    run = tbcore.open(tmp_path)["."]
    images = run.images("samples")
    disk.opened.clear()

    assert [image.step for image in images] == list(range(10))
    assert len(run["loss"]) == 10
    assert disk.opened == []
    before = disk.num_bytes_of_parts
    assert images[3].value.encoded == [PICTURE]
    assert 100_000 < disk.num_bytes_of_parts - before < 101_000


def test_runs_are_read_together_and_forgotten(tmp_path: Path, disk: Disk) -> None:
    """What the caller has of a forgotten run stays; the run is read again if it is asked for."""
    for run in ("a", "b", "c"):
        write_run(tmp_path, run, scalars={"loss": [1]}, filename=f"{run}.tfevents")
    logs = tbcore.open(tmp_path)
    assert [run.name for run in logs.read(runs=["a", "b"])] == ["a", "b"]
    assert [logs[name].is_read for name in "abc"] == [True, True, False]
    run = logs["a"]
    disk.opened.clear()

    logs.forget(["a"])

    assert len(run["loss"]) == 1
    assert disk.opened == []
    assert not logs["a"].is_read
    assert len(logs["a"]["loss"]) == 1
    assert [*map(os.path.basename, disk.opened)] == ["a.tfevents"]
    assert list(logs.runs) == ["a", "b", "c"]
    assert logs.refresh() == set()
    assert logs.sizes["a"] == (tmp_path / "a" / "a.tfevents").stat().st_size


def test_importing_tbcore_imports_neither_numpy_nor_logs() -> None:
    code = "import sys, tbcore; print([m for m in ('numpy', 'tbcore_logs') if m in sys.modules])"
    assert run_python(code) == "[]\n"


def test_the_server_imports_nothing_of_it() -> None:
    code = (
        "import sys, tbcore.cli.serve, tbcore.server.serve, tbcore.server.app;"
        "print([m for m in sys.modules if m.startswith('tbcore_logs')])"
    )
    assert run_python(code) == "[]\n"


def test_opening_logs_imports_no_web_server() -> None:
    code = (
        "import sys, tbcore; tbcore.open('.');"
        "print([m for m in ('pandas', 'starlette', 'uvicorn', 'watchfiles') if m in sys.modules])"
    )
    assert run_python(code) == "[]\n"


def run_python(code: str, cwd: Path | None = None) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


# -- paths -------------------------------------------------------------------------------------


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such directory or event file: .*nowhere"):
        tbcore.open(tmp_path / "nowhere")


def test_a_file_that_is_no_event_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    wrong = r"notes.txt' is not an event file: its name lacks 'tfevents'"
    with pytest.raises(ValueError, match=wrong):
        tbcore.open(tmp_path / "notes.txt")


def test_no_paths_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"expected a directory or an event file, got none"):
        tbcore.open([])


def test_an_event_file_is_a_run(tmp_path: Path) -> None:
    """Other files in its directory are not read."""
    path = write_run(tmp_path, "a", scalars={"loss": [1.0]})
    write_run(tmp_path, "a", scalars={"other": [1.0]})
    logs = tbcore.open(path)

    assert list(logs.runs) == ["."]
    assert list(logs["."].tags) == ["loss"]


def test_several_event_files_are_runs_of_their_directories(tmp_path: Path) -> None:
    files = [
        write_run(tmp_path, "x/a", scalars={"one": [1]}, wall_time=1.0),
        write_run(tmp_path, "x/a", scalars={"two": [1]}, wall_time=2.0),
        write_run(tmp_path, "x/b", scalars={"loss": [1]}, wall_time=3.0),
        write_run(tmp_path, "y/a", scalars={"loss": [1]}, wall_time=4.0),
    ]
    logs = tbcore.open(files)

    assert list(logs.runs) == ["a", "b", "a_2"]
    assert list(logs["a"].tags) == ["one", "two"]


def test_several_directories_are_read_together(tmp_path: Path) -> None:
    """They are named as the server names them."""
    write_run(tmp_path / "1", "train", scalars={"loss": [1]}, wall_time=1.0)
    write_run(tmp_path / "2", "train", scalars={"loss": [2]}, wall_time=2.0)

    assert list(tbcore.open([tmp_path / "1", str(tmp_path / "2")])) == ["train", "2/train"]
    named = tbcore.open({"old": tmp_path / "1", "new": tmp_path / "2"})
    assert list(named) == ["old/train", "new/train"]
    assert named["new/train"]["loss"].value.tolist() == [2]


def test_home_directories_and_relative_paths_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "runs", "a", scalars={"loss": [1]})
    monkeypatch.setenv("HOME", str(tmp_path))
    assert list(tbcore.open("~/runs")) == ["a"]
    monkeypatch.chdir(tmp_path)
    assert list(tbcore.open("runs")) == ["a"]


# -- damage and threads ------------------------------------------------------------------------


def test_damage_is_a_problem_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_run(tmp_path, scalars={"loss": [1.0, 2.0, 3.0]})
    data = bytearray(path.read_bytes())
    data[-70] ^= 1
    path.write_bytes(data)
    logs = tbcore.open(tmp_path)
    assert logs.problems == []

    with caplog.at_level(logging.WARNING):
        assert logs["."]["loss"].value.tolist() == [1.0, 3.0]
        logs.refresh()

    (problem,) = logs.problems
    assert str(path) in problem
    assert len([r for r in caplog.records if str(path) in r.getMessage()]) == 1


@pytest.mark.parametrize("how", ["completed", "replaced", "deleted", "forgotten"])
def test_a_problem_lasts_as_long_as_its_cause(tmp_path: Path, how: str) -> None:
    """Until the run is read again, also if its data is dropped from memory."""
    path = write_run(tmp_path, "a", scalars={"loss": [1.0, 2.0, 3.0]})
    write_run(tmp_path, "b", scalars={"loss": [1.0]})
    good = path.read_bytes()
    hole = 16 + good[0]  # After the first record, whose payload is short.
    path.write_bytes(good[:hole] + bytes(len(good) - hole))
    logs = tbcore.open(tmp_path)
    logs.read()
    (problem,) = logs.problems
    assert f"{path}: length checksum wrong" in problem
    logs.refresh()
    assert logs.problems == [problem]

    if how == "forgotten":
        logs.forget(["a"])
        assert logs.problems == [problem]
        assert list(logs["a"]) == []
        assert logs.problems == [problem]
        return
    if how == "deleted":
        path.unlink()
    elif how == "completed":
        with path.open("r+b") as file:
            file.write(good)
    else:
        path.unlink()
        write_run(tmp_path, "a", scalars={"loss": [1.0, 2.0, 3.0]})
    logs.refresh()
    assert logs.problems == []
    if how != "deleted":
        assert logs["a"]["loss"].value.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all files")
def test_a_file_that_must_not_be_read_is_a_problem(tmp_path: Path) -> None:
    path = write_run(tmp_path, scalars={"loss": [1.0]})
    path.chmod(0)
    logs = tbcore.open(tmp_path)

    assert logs["."].tags == {}
    assert "Permission denied" in logs.problems[0]


def test_orphaned_rows_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"loss": [0, 1, 2, 3]}, wall_time=1.0)
    write_run(tmp_path, scalars={"loss": [(2, 20), (3, 30)]}, restart_at=2, wall_time=100.0)

    assert tbcore.open(tmp_path)["."]["loss"].value.tolist() == [0, 1, 20, 30]
    everything = tbcore.open(tmp_path, purge_orphaned_data=False)
    assert everything["."]["loss"].value.tolist() == [0, 1, 2, 3, 20, 30]


def test_what_ctrl_c_interrupted_is_read_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read twice: neither at first nor when a run has grown."""
    path = write_run(tmp_path, "a", scalars={"loss": [1.0, 2.0]}, filename="tfevents")
    write_run(tmp_path, "b", scalars={"loss": [1.0]})
    logs = tbcore.open(tmp_path)
    add_item = RunData.add_item

    def interrupted(*args: Any) -> None:
        add_item(*args)
        if isinstance(args[1], Table):
            raise KeyboardInterrupt

    def interrupt(ask: Callable[[], object]) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(RunData, "add_item", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ask()

    interrupt(logs.scalars)
    assert len(logs.scalars()) == 3
    with EventFileWriter(path) as writer:
        writer.add_scalar("loss", 3.0, 2)
    interrupt(logs.refresh)
    assert len(logs["a"]["loss"]) == 2
    assert "a" in logs.refresh()
    assert logs["a"]["loss"].value.tolist() == [1, 2, 3]
    assert len(logs.scalars()) == 4


def test_threads_read_the_same(tmp_path: Path) -> None:
    """Each run is read once, whichever thread asks first."""
    for index in range(20):
        write_run(tmp_path, f"{index}", scalars={"loss": range(100)}, wall_time=float(index + 1))
    logs = tbcore.open(tmp_path)
    results: list[list[float]] = []

    def read() -> None:
        results.append([float(run["loss"].value.sum()) for run in logs.runs.values()])

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [[4950.0] * 20] * 8
    assert all(logs[name] is run for name, run in logs.runs.items())


def test_the_reprs_are_one_line(tmp_path: Path) -> None:
    """None of them reads anything."""
    size = write_run(tmp_path, "a\nb", scalars={"loss": [1]}).stat().st_size
    logs = tbcore.open(tmp_path)
    run = logs["a\nb"]

    assert repr(logs) == f"Logs(num_runs=1, num_bytes={size})"
    assert repr(run) == r"Run('a\nb', not read yet)"
    assert len(run["loss"]) == 1
    assert repr(run) == r"Run('a\nb', num_tags=1)"
    columns = "['run', 'tag', 'step', 'wall_time', 'value']"
    assert repr(logs.scalars()) == f"ScalarTable(num_rows=1, columns={columns})"


@pytest.mark.skipif(
    not (find_spec("pandas") and find_spec("polars")), reason="pandas or polars is not installed"
)
def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    """It shows what its comments say."""
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```\n(import tbcore\n.*?)```", readme, re.DOTALL)
    write_run(tmp_path / "runs", "exp/a", scalars={"val/loss": [(900, 0.25)]}, hparams={"lr": 0.1})
    *setup, first, second, third = example.strip().splitlines()
    code = "\n".join(
        [*setup, *(f"print({line.partition('#')[0]})" for line in (first, second, third))]
    )

    output = run_python(code, cwd=tmp_path)

    assert output.startswith("Point(step=900, wall_time=")
    assert output.count("exp/a") == 2


def test_series_stay_series_that_draw_themselves(tmp_path: Path) -> None:
    """Parts, smoothed points and copies, too."""
    write_run(tmp_path, "train", scalars={"loss": [1.0, 0.5, 0.25]})
    series = tbcore.open(tmp_path)["train"]["loss"]

    for each in (series.between(0, 1), series.smooth(0.5), copy.copy(series), pickled(series)):
        assert type(each) is ScalarSeries
        assert isinstance(each, tbcore.ScalarSeries)
        assert each.plot().startswith("<svg")
        assert each.steps(slice(0, 1)).tolist() == series.step[:1].tolist()
    assert pickled(series).value.tolist() == series.value.tolist()


def pickled(series: ScalarSeries) -> ScalarSeries:
    """The series that another process gets."""
    copied: ScalarSeries = pickle.loads(pickle.dumps(series))
    return copied


def test_a_broken_extension_for_indexes_costs_only_indexes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says so, however often logs are opened."""
    write_run(tmp_path, "train", scalars={"loss": [1.0]})

    def loaded(group: str, name: str) -> Any:
        raise ExtensionError("an index of broken 1.0 cannot be imported")

    monkeypatch.setattr(readers, "loaded", loaded)
    readers._index_extension.cache_clear()
    try:
        for _ in range(2):
            assert "train" in tbcore.open(tmp_path)
    finally:
        readers._index_extension.cache_clear()

    assert [record.getMessage() for record in caplog.records] == [
        "an index of broken 1.0 cannot be imported"
    ]


def test_attributes_of_runs_are_computed_once_until_something_changes(tmp_path: Path) -> None:
    write_run(tmp_path, "a", scalars={"loss": [0.5]})
    logs = tbcore.open(tmp_path)
    first = logs.attributes().index
    assert logs.attributes(none_archived=True).index is first
    write_run(tmp_path, "b", scalars={"loss": [0.25]})
    logs.refresh()
    assert logs.attributes().points("loss", "last", None) == [(0, 0.5), (0, 0.25)]
