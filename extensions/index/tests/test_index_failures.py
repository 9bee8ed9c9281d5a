"""What goes wrong while an index is made or read: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import forks
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from common_fixtures import WAIT_SECONDS, until
from disk import Disk
from held import held_by
from same_answers import check_same, loaded, properties_of, state_of, status_of, update

from tbcore.errors import DataLossError, TbcoreError
from tbcore.store.run import RunData
from tbcore.store.view import FileRef
from tbcore_index.coordinator import Coordinator
from tbcore_index.reader import IndexReader
from tbcore_index.tables import COLUMNS, Place, Tables
from tbcore_testing import EventFileWriter, write_run

NUM_RUNS = 6


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Some runs with points and texts."""
    for number in range(NUM_RUNS):
        write_run(
            tmp_path / "logs",
            f"run{number}",
            scalars={"loss": [1 / (1 + number + step) for step in range(40)], "lr": [0.1]},
            texts={"note": ["hello"]},
            wall_time=1.7e9 + number,
        )
    return tmp_path / "logs"


def grow(logdir: Path) -> None:
    """Adds points to two runs, deletes one, and adds one."""
    for run in ("run0", "run3"):
        path = next((logdir / run).iterdir())
        with EventFileWriter(path) as writer:
            writer.add_scalar("loss", 0.5, step=99)
    shutil.rmtree(logdir / "run1")
    write_run(logdir, "run9", scalars={"loss": [3.0]}, wall_time=1.8e9)


def check_whole(logdir: Path, index: Path) -> None:
    """Fails unless the index has all of the logs, once, in each table alone."""
    expected = loaded(logdir)
    check_same(expected, loaded(None, index))
    place = Place(str(index))
    for table in COLUMNS:
        delta = place.delta(table)
        rows = Counter(delta.to_pyarrow_table(columns=["run"]).column("run").to_pylist())
        assert set(rows) <= set(expected.runs()), table
        if table == "runs":
            assert set(rows.values()) == {1}
        if table == "points":
            for run in expected.runs():
                tags = state_of(expected).run(run).schema.tags
                series = [s for tag in tags for s in state_of(expected).run(run).series(tag)]
                assert rows[run] == sum(len(s) for s in series if s.kind.is_scalar)


KILLED = """
import os, sys
from tbcore_index import tables
from tbcore_index.command import index_command

calls, when = 0, int(sys.argv[1])
commit, write_table = tables.Tables._commit, tables.pq.write_table

def count():
    global calls
    calls += 1
    if calls == when:
        os._exit(9)

def killing(self, *arguments):
    # Each commit has two moments: before it and after it.
    count()
    commit(self, *arguments)
    count()

def killing_in_the_middle(rows, path, **options):
    write_table(rows, path, **options)
    whole = open(path, "rb").read()
    open(path, "wb").write(whole[: len(whole) // 2])
    count()
    open(path, "wb").write(whole)

if sys.argv[2] == "commit":
    tables.Tables._commit = killing
else:
    tables.pq.write_table = killing_in_the_middle
index_command.main([sys.argv[3], "--index", sys.argv[4]], standalone_mode=False)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("at", "moments"), [("commit", 10), ("write", len(COLUMNS))])
def test_a_coordinator_that_is_killed_at_any_moment_leaves_a_whole_index(
    logdir: Path, tmp_path: Path, at: str, moments: int
) -> None:
    """Around the commit that takes over and those to the four tables, and while a file of each
    table is written, for new and for changed runs."""
    update(logdir, tmp_path / "first")
    grow(logdir)
    for when in range(1, moments + 1):
        for kind in ("new", "old"):
            index = tmp_path / f"{kind}{when}"
            if kind == "old":
                shutil.copytree(tmp_path / "first", index)
            arguments = [str(when), at, str(logdir), str(index)]
            killed = forks.run(KILLED, arguments, os.environ)
            assert killed.returncode == 9, (kind, when)
            names = loaded(None, index).runs()
            assert len(names) in (0, NUM_RUNS)

            assert update(logdir, index) == 0

            check_whole(logdir, index)


WAITING = """
import pathlib, sys, time
from tbcore.cli import main
from tbcore_index import tables

commit, folder = tables.Tables.commit, pathlib.Path(sys.argv[1])

def waiting(self, *arguments):
    (folder / "waits").touch()
    while not (folder / "goes on").exists():
        time.sleep(0.01)
    commit(self, *arguments)

tables.Tables.commit = waiting
sys.exit(main(sys.argv[2:]))
"""


def test_of_two_commands_the_one_that_started_last_goes_on(logdir: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    update(logdir, index)
    grow(logdir)
    arguments = "index", str(logdir), "--index", str(index)
    first = subprocess.Popen(
        [sys.executable, "-c", WAITING, str(tmp_path), *arguments],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until((tmp_path / "waits").exists)
    second = subprocess.run([sys.executable, "-m", "tbcore", *arguments], check=False)
    (tmp_path / "goes on").touch()
    lines = first.communicate(timeout=WAIT_SECONDS)[1].splitlines()

    assert (first.returncode, second.returncode) == (1, 0)
    line = f"tbcore: another `tbcore index` writes to {index}; nothing was lost: it goes on"
    assert lines == [line]
    check_whole(logdir, index)


def test_a_full_disk_leaves_a_whole_index(logdir: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    update(logdir, index)
    grow(logdir)
    write_run(logdir, "long", scalars={"loss": [random.random() for _ in range(20_000)]})

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    arguments = ["-B", "-m", "tbcore", "index", str(logdir), "--index", str(index)]
    failed = subprocess.run(
        [sys.executable, *arguments], preexec_fn=limit, check=False, text=True, capture_output=True
    )

    assert failed.returncode == 1, failed.stderr
    assert "tbcore: cannot write to the index" in failed.stderr
    assert "File too large" in failed.stderr
    names = {f"run{number}" for number in range(NUM_RUNS)}
    assert names - set(loaded(None, index).runs()) <= {"run1"}
    assert update(logdir, index) == 0
    check_whole(logdir, index)


def files_of(index: Path) -> list[Path]:
    return sorted(index.glob("*/*.parquet"))


@pytest.mark.parametrize(
    "num_bytes", [25, pytest.param(0, marks=pytest.mark.release, id="every byte")]
)
def test_a_flipped_bit_is_an_error_or_nothing(logdir: Path, tmp_path: Path, num_bytes: int) -> None:
    """In some bytes of each file of a segment, or in all of them."""
    update(logdir, tmp_path / "index")
    expected, found = loaded(logdir), Counter[str]()
    numbers = random.Random(num_bytes)
    for path in files_of(tmp_path / "index"):
        data = path.read_bytes()
        for position in numbers.sample(range(len(data)), num_bytes or len(data)):
            changed = bytearray(data)
            changed[position] ^= 1 << numbers.randrange(8)
            path.write_bytes(changed)
            try:
                multiplexer = loaded(None, tmp_path / "index")
                if multiplexer.runs():
                    check_same(expected, multiplexer)
                    found["same"] += 1
                else:
                    assert path.stem in status_of(multiplexer).problems[0]
                    found["named"] += 1
            except TbcoreError as error:
                is_named = "damaged" in str(error) and path.stem in str(error)
                found["error" if is_named else str(error)] += 1
        path.write_bytes(data)
    assert set(found) == {"same", "named", "error"}
    assert min(found.values()) > 5
    assert found["error"] > 10
    print(dict(found))


def test_a_row_group_that_claims_too_much_is_refused(logdir: Path, tmp_path: Path) -> None:
    """By what its footer says, before memory is taken for it."""
    update(logdir, tmp_path / "index")
    (path,) = (tmp_path / "index" / "points").glob("*.parquet")
    rows = pq.read_table(path)
    times = (1 << 16) // len(rows) + 1
    pq.write_table(pa.concat_tables([rows] * times), path, row_group_size=1 << 20)

    with pytest.raises(DataLossError, match=rf"{path.stem}.*: row group 0 claims \d+ rows"):
        loaded(None, tmp_path / "index").scalars("run2", "loss")


@pytest.mark.parametrize("table", COLUMNS)
@pytest.mark.parametrize("damage", ["cut", "gone", "other"])
@pytest.mark.parametrize("has_grown", [False, True])
def test_a_damaged_segment_is_made_again_from_the_logs(
    logdir: Path, tmp_path: Path, table: str, damage: str, has_grown: bool
) -> None:
    index = tmp_path / "index"
    update(logdir, index)
    (path,) = (index / table).glob("*.parquet")
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        names = [name.upper() for name in COLUMNS[table].names]
        pq.write_table(pq.read_table(path).rename_columns(names), path)
    if has_grown:
        grow(logdir)

    assert update(logdir, index) == 3

    check_whole(logdir, index)
    assert update(logdir, index) == 0


def test_a_run_that_cannot_be_read_is_left_out_with_a_line(
    logdir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str],
    broken: Callable[..., None], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A bug in the reading of one run costs this run alone."""
    broken(RunData, "add_item", lambda data, *_: "run2" in next(held_by(data, FileRef)).path)
    assert update(logdir, tmp_path / "index") == 3
    monkeypatch.undo()

    assert "run run2: left out, since it cannot be read whole" in capfd.readouterr().err
    assert len(loaded(None, tmp_path / "index").runs()) == NUM_RUNS - 1
    assert update(logdir, tmp_path / "index") == 0
    check_whole(logdir, tmp_path / "index")


def test_what_an_index_lacks_is_said_each_time(
    logdir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once for each record: when nothing is new, and when the run has grown. A file without the
    damage ends it."""
    index = tmp_path / "index"
    (path,) = (logdir / "run2").iterdir()
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[whole.index(b"loss") + 6] ^= 1
    path.write_bytes(damaged)

    def found() -> tuple[int, int]:
        """The exit status, and the number of lines about the file."""
        status = update(logdir, index)
        return status, capfd.readouterr().err.count(f"warning: {path}: ")

    assert [found(), found(), found()] == [(3, 1)] * 3
    with EventFileWriter(path) as writer:
        writer.add_scalar("loss", 0.5, step=99)
    assert [found(), found()] == [(3, 1)] * 2
    path.unlink()
    path.write_bytes(whole)
    assert [found(), found()] == [(0, 0)] * 2
    check_whole(logdir, index)


def test_a_file_that_could_not_be_read_is_no_loss_any_more_when_it_can(
    logdir: Path, tmp_path: Path, disk: Disk
) -> None:
    write_run(logdir, "run2", scalars={"loss": [7.0]}, wall_time=1.9e9)
    index = tmp_path / "index"
    disk.refuse(max((logdir / "run2").iterdir()))
    assert [update(logdir, index), update(logdir, index)] == [3, 3]
    disk.errors.clear()

    assert [update(logdir, index), update(logdir, index)] == [0, 0]
    check_whole(logdir, index)


def test_a_run_stays_while_its_replaced_file_cannot_be_read(
    logdir: Path, tmp_path: Path, disk: Disk
) -> None:
    index = tmp_path / "index"
    update(logdir, index)
    (path,) = (logdir / "run2").iterdir()
    path.unlink()
    write_run(logdir, "run2", scalars={"loss": [7.0]}, wall_time=1.9e9)
    (replaced,) = (logdir / "run2").iterdir()
    disk.refuse(replaced)
    assert update(logdir, index) == 3
    disk.errors.clear()

    assert len(loaded(None, index).scalars("run2", "loss")) == 40
    assert update(logdir, index) == 0
    check_whole(logdir, index)


def test_a_batch_that_dies_is_halved_until_one_run_is_left(logdir: Path, tmp_path: Path) -> None:
    """As it is with a run that takes all memory of its worker."""

    class Dying(ThreadPoolExecutor):
        def submit(self, function: Callable[..., object], /, *args: object) -> object:  # type: ignore[override]
            def work(batch: object, index: str) -> object:
                if "run4" in str(batch):
                    raise MemoryError
                return function(batch, index)

            return super().submit(work, *args)  # type: ignore[arg-type]

    index = tmp_path / "index"
    Place(str(index)).create(properties_of(logdir))
    coordinator = Coordinator(str(index), Dying(1))

    coordinator.update()

    assert coordinator.problems == ["run run4 is left out: MemoryError: "]
    assert len(loaded(None, index).runs()) == NUM_RUNS - 1
    coordinator.update()
    assert coordinator.problems == ["run run4 is left out: MemoryError: "]
    assert len(loaded(None, index).runs()) == NUM_RUNS - 1, "it is tried when its files change"


def test_a_vacuum_keeps_what_a_server_may_still_read(logdir: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    update(logdir, index)
    reader = IndexReader(str(index))
    grow(logdir)
    update(logdir, index)

    assert Tables(Place(str(index))).vacuum(24) == 0
    assert len(reader.runs["run0"].tables[0].value) == 41
