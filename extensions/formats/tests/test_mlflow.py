"""MLflow: the sample of its database against what its own client reads; writers and damage."""

from __future__ import annotations

import json
import lzma
import os
import re
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from calls import Watch
from common_fixtures import descriptors, until
from disk import Disk
from held import held_by
from loaded_logs import Logs
from source_runs import Rows, as_bits, points_of

import tbcore
from tbcore import Claim, values
from tbcore.values import session_end, session_start
from tbcore_formats import mlflow_runs, sqlite

SAMPLES = Path(__file__).parent / "mlflow_samples"
TRUTH = json.loads((SAMPLES / "truth.json").read_text(encoding="utf-8"))["runs"]
SAMPLE = lzma.decompress((SAMPLES / "mlflow.db.xz").read_bytes())
SCHEMA = """
create table experiments (experiment_id integer primary key, name text, lifecycle_stage text);
create table runs (run_uuid varchar(32) primary key, name text, status text, start_time bigint,
    end_time bigint, lifecycle_stage text, experiment_id integer);
create table metrics (key text not null, value float not null, timestamp bigint, run_uuid text,
    step bigint, is_nan boolean, primary key (key, timestamp, step, run_uuid, value, is_nan));
create index index_metrics_run_uuid on metrics (run_uuid);
create table params (key text, value text, run_uuid text, primary key (key, run_uuid));
create table tags (key text, value text, run_uuid text, primary key (key, run_uuid));
insert into experiments values (1, 'exp', 'active');
insert into runs values ('a1', 'one', 'RUNNING', 1000, null, 'active', 1);
insert into runs values ('b2', 'two', 'FINISHED', 2000, 3000, 'active', 1);
"""


@pytest.fixture
def database(logs: Logs) -> Iterator[sqlite3.Connection]:
    """A database with the tables of MLflow and two runs, as somebody who writes has it open."""
    connection = sqlite3.connect(logs.path / "mlflow.db", isolation_level=None)
    connection.executescript(SCHEMA)
    yield connection
    connection.close()


def add(database: sqlite3.Connection, run: str, *steps: int, key: str = "loss") -> None:
    """Adds metrics in one transaction. The value is the step."""
    rows = [(key, float(step), 1_790_000_000_000 + step, run, step, 0) for step in steps]
    database.execute("begin")
    database.executemany("insert into metrics values (?, ?, ?, ?, ?, ?)", rows)
    database.execute("commit")


def status_of(folder: Path) -> list[tuple[str, int, int]]:
    files = [folder, *sorted(folder.rglob("*"))]
    return [(str(f), (s := f.stat()).st_size, s.st_mtime_ns) for f in files]


def test_the_sample_equals_the_truth(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes(SAMPLE)
    before = status_of(tmp_path)
    logs = tbcore.open(tmp_path)
    active = [each for each in TRUTH if each["lifecycle_stage"] == "active"]
    # Those of one name are in the order of their starts.
    active.sort(key=lambda run: run["start_time_ms"])
    expected: dict[str, dict[str, Any]] = {}
    for run in active:
        base = "/".join(run[key].replace("/", "_") for key in ("experiment", "name"))
        number = sum(name.partition("_2")[0].partition("_3")[0] == base for name in expected) + 1
        expected[base if number == 1 else f"{base}_{number}"] = run
    assert set(logs) == set(expected)
    for name, truth in expected.items():
        points: Rows = {
            tag: [(p[0], float(p[2]["float"] if isinstance(p[2], dict) else p[2])) for p in pairs]
            for tag, pairs in truth["metrics"].items()
        }
        found = points_of(logs[name])
        for tag in points:  # The client gives other numbers for infinity, and sorts.
            large = {1.7976931348623157e308: float("inf"), -1.7976931348623157e308: -float("inf")}
            points[tag] = sorted((s, large.get(v, v)) for s, v in points[tag])
            found[tag].sort()
        assert as_bits(found) == as_bits(points)
        values = {key: str(value) for key, value in logs[name].hparams.items()}
        numbers = {k: v for k, v in truth["params"].items() if not _is_number(v)}
        lists = {k: v.replace(", ", ",") for k, v in numbers.items() if v[0] == "["}
        assert {key: values[key] for key in numbers} == numbers | lists
        assert values.keys() == truth["params"].keys()
        assert [float(values[key]) for key in values.keys() - numbers.keys()] == [
            float(truth["params"][key]) for key in values.keys() - numbers.keys()
        ]
    assert list(logs.problems) == []
    assert status_of(tmp_path) == before


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_facts(logs: Logs, database: sqlite3.Connection) -> None:
    """Parameters, parent, note, tags and state; also those that come without a new metric."""
    add(database, "a1", 1)
    logs.load()
    assert logs.multiplexer.runs() == ["exp/one", "exp/two"]
    changes = [
        "insert into params values ('lr', '0.5', 'a1'), ('name', 'x', 'a1'), ('amp', 'True', 'a1')",
        "insert into params values ('layers', '[64, 32]', 'a1'), ('odd', '[64, x', 'a1')",
        "insert into tags values ('mlflow.runName', 'tagged', 'b2'), ('mlflow.user', 'u', 'a1')",
        "insert into tags values ('mlflow.parentRunId', 'b2', 'a1')",
        "insert into tags values ('mlflow.note.content', 'some *note*', 'a1'), ('team', 't', 'a1')",
        "update runs set status = 'FAILED', end_time = 5000 where run_uuid = 'a1'",
        "update tags set value = 'some *text*' where key = 'mlflow.note.content'",
        "update runs set name = 'new' where run_uuid = 'b2'",
        "update runs set lifecycle_stage = 'deleted' where run_uuid = 'b2'",
    ]
    for change in changes:
        database.execute(change)
        logs.load()
        # As the parent is shown: by its name, else its tag, else its id.
        for name, parent in ("'two'", "two"), ("null", "tagged"), ("''", "tagged"):
            if "parentRunId" in change:
                database.execute(f"update runs set name = {name} where run_uuid = 'b2'")
                found = tbcore.open(logs.path)
                assert [item.value for item in found["exp/one"].texts("parent")] == [parent]
                assert [*found] == ["exp/one", f"exp/{parent}"]
        if "parentRunId" in change:  # Which others have, too: with its id.
            database.execute("update runs set name = 'one' where run_uuid = 'b2'")
            logs.load()
            assert [*logs.multiplexer.runs()][-1] == "exp/one_2"
            parents = [item.value for item in tbcore.open(logs.path)["exp/one"].texts("parent")]
            assert parents == ["one (b2)"]
            database.execute("update runs set name = '' where run_uuid = 'b2'")
    run = tbcore.open(logs.path)["exp/one"]
    lists = {"layers": "[64,32]", "odd": "[64, x"}
    assert run.hparams == {"lr": 0.5, "name": "x", "amp": True, **lists}
    assert {tag: [item.value for item in run.texts(tag)] for tag in ("note", "tags")} == {
        "note": ["some *text*"], "tags": ["**team**: t"]
    }  # fmt: skip
    assert logs.multiplexer.runs() == ["exp/one"]
    start, end = (f"_hparams_/session_{each}_info" for each in ("start", "end"))
    found = session_start(logs.multiplexer.metadata("exp/one", start))
    assert (found.hparams, found.group) == (run.hparams, ""), "no mean of the runs of a sweep"
    assert session_end(logs.multiplexer.metadata("exp/one", end)) == (2, 5.0)
    assert logs.steps("exp/one") == [1]


def test_metrics_are_added_and_deleted(logs: Logs, database: sqlite3.Connection) -> None:
    """Rows are read after the last one, unless that is another row now."""
    add(database, "a1", *range(12_000))
    logs.load()
    assert logs.steps("exp/one") == [*range(12_000)]
    add(database, "a1", 5, 3, key="acc")
    add(database, "b2", 7)
    logs.load()
    assert (logs.steps("exp/one", "acc"), logs.steps("exp/two")) == ([5, 3], [7])
    database.executescript("delete from metrics where run_uuid = 'b2';")
    database.executescript("delete from runs where name = 'two';")
    add(database, "a1", 20_000)  # With the number of the row that was deleted.
    logs.load()
    assert (logs.multiplexer.runs(), logs.steps("exp/one")[-2:]) == (["exp/one"], [11_999, 20_000])
    database.executescript("delete from metrics where rowid > 5")
    add(database, "a1", *range(50, 59))
    logs.load()
    assert logs.steps("exp/one") == [*range(5), *range(50, 59)]
    assert logs.board.status.problems == ()


def test_facts_that_change_take_the_place_of_the_earlier_ones(
    logs: Logs, database: sqlite3.Connection, calls_of: Callable[..., Any]
) -> None:
    """No point is read again for them. What a request has begun to read is still valid."""
    add(database, "a1", *range(12_000))
    add(database, "a1", 1, 2, key="note")  # The tag of a metric may be that of a text, too.
    database.execute("insert into tags values ('mlflow.note.content', 'old', 'a1')")
    logs.load()
    text = [Claim("tensor", "text")]
    (old,) = logs.multiplexer.items("exp/one", "note", text)
    readers = calls_of(mlflow_runs.Runs.reader)
    for change in (
        "insert into params values ('lr', '0.5', 'a1')",
        "update tags set value = 'new'",
        "insert into tags values ('team', 't', 'a1')",
        "delete from tags where key = 'team'",
        "update runs set status = 'FAILED', end_time = 5000 where run_uuid = 'a1'",
    ):
        database.execute(change)
        add(database, "a1", 12_000, key=change)
        logs.load()
    assert readers == []
    assert logs.steps("exp/one") == [*range(12_000)]
    assert logs.multiplexer.scalars("exp/one", "note").step.tolist() == [1, 2]
    (new,) = logs.multiplexer.items("exp/one", "note", text)
    assert [values.text(item.read()).item() for item in (old, new)] == ["old", "new"]
    view = logs.board.state.runs["exp/one"]
    assert ("tags" in view.schema.tags, len(view.files)) == (False, 2)
    start, end = (f"_hparams_/session_{each}_info" for each in ("start", "end"))
    assert session_start(logs.multiplexer.metadata("exp/one", start)).hparams == {"lr": 0.5}
    (last,) = logs.multiplexer.items("exp/one", end, [Claim("tensor", "hparams")])
    assert session_end(last.read().metadata) == (2, 5.0)


WRITER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
database.execute(f"pragma journal_mode={sys.argv[2]}")
database.execute("pragma wal_autocheckpoint=50")
database.execute("pragma cache_size=5")
database.execute("pragma synchronous=off")
for number in range(100):
    database.execute("begin immediate")
    step = -1 if number % 7 == 3 else number
    for run in ("a1", "b2"):
        rows = [(f"{key}", step, 1790000000000 + number, run, step, 0) for key in range(40)]
        database.executemany("insert into metrics values (?, ?, ?, ?, ?, ?)", rows)
    database.execute("update tags set value = value || 'x' where key = 'big'")
    database.execute("rollback" if step < 0 else "commit")
    if number % 50 == 25 and sys.argv[2] == "wal":
        database.execute("pragma wal_checkpoint(truncate)")
    time.sleep(0.003)
database.close()
"""


@pytest.mark.parametrize("mode", ["delete", "truncate", "persist", "wal"])
def test_a_busy_writer_is_never_locked_out(
    mode: str, logs: Logs, database: sqlite3.Connection
) -> None:
    """Seen are only states that were committed, and nothing is made in the folder. The writer
    would fail at once if it ever had to wait."""
    database.executemany(
        "insert into tags values ('big', ?, ?)", [("x" * 100, f"r{n}") for n in range(500)]
    )
    database.close()
    command = [sys.executable, "-c", WRITER, str(logs.path / "mlflow.db"), mode]
    expected = [number for number in range(100) if number % 7 != 3]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as writer:
        while writer.poll() is None:
            logs.load()
            for run in ("exp/one", "exp/two"):
                steps = logs.steps(run, "7")
                assert steps == expected[: len(steps)]
            assert logs.board.status.problems == ()
            assert {path.suffix for path in logs.path.iterdir()} <= {
                ".db", ".db-journal", ".db-wal", ".db-shm"
            }  # fmt: skip
        assert writer.stderr
        assert writer.stderr.read() == ""
    logs.load()
    assert logs.steps("exp/one", "39") == logs.steps("exp/two", "0") == expected
    left = {path.name for path in logs.path.iterdir()} - {"mlflow.db"}
    assert left == ({"mlflow.db-journal"} if mode in ("truncate", "persist") else set())


def test_a_wal_without_its_writer(logs: Logs, database: sqlite3.Connection, tmp_path: Path) -> None:
    """Its committed pages are read, and it stays; not so a transaction without its end. A link to
    one is not followed."""
    database.execute("pragma journal_mode=wal")
    add(database, "a1", 1, 2)
    database.execute("pragma wal_checkpoint")
    add(database, "a1", 3)
    whole = (logs.path / "mlflow.db-wal").read_bytes()
    add(database, "b2", *range(3000))
    longer = (logs.path / "mlflow.db-wal").read_bytes()
    main = (logs.path / "mlflow.db").read_bytes()
    for name, wal in {
        "whole": whole,
        "cut": longer[:-9],
        "damaged": longer[:-9] + b"x" * 9,
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "mlflow.db").write_bytes(main)
        (folder / "mlflow.db-wal").write_bytes(wal)
        before = status_of(folder)
        assert points_of(tbcore.open(folder)["exp/one"]) == {
            "loss": [(n, float(n)) for n in (1, 2, 3)]
        }
        assert "loss" not in points_of(tbcore.open(folder)["exp/two"])
        assert status_of(folder) == before
    link = tmp_path / "cut" / "mlflow.db-wal"
    link.unlink()
    link.symlink_to(tmp_path / "whole" / "mlflow.db-wal")
    found = tbcore.open(tmp_path / "cut")
    assert points_of(found["exp/one"]) == {"loss": [(1, 1.0), (2, 2.0)]}
    assert ["links to logs" in line for line in found.problems] == [True]


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_wal_that_goes_while_it_is_read_is_no_problem(
    is_closed: bool, logs: Logs, database: sqlite3.Connection, disk: Disk
) -> None:
    """The last program that has the database open deletes it, and a checkpoint may truncate it."""
    database.execute("pragma journal_mode=wal")
    add(database, "a1", 1, 2)

    def end(path: str) -> None:
        """After its first bytes were read, and before all of it is."""
        if path.endswith("-wal") and disk.opened.count(path) == 1:
            database.close() if is_closed else database.execute("pragma wal_checkpoint(truncate)")

    disk.before_open = end
    found = sqlite.Database(str(logs.path / "mlflow.db"), mlflow_runs._TABLES)
    with pytest.raises(BlockingIOError), found.snapshot():
        pass
    logs.load()
    assert (logs.steps("exp/one"), logs.board.status.problems) == ([1, 2], ())


def test_a_transaction_that_is_being_written_is_waited_for(
    logs: Logs, database: sqlite3.Connection
) -> None:
    """The next pass is made soon, although nothing reports that it has ended. One whose program
    ended within it is a line, and what was read before stays."""
    add(database, "a1", 1)
    logs.load()
    add(database, "a1", 2)
    journal = logs.path / "mlflow.db-journal"
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    logs.load()
    assert (logs.steps("exp/one"), logs.board.status.problems) == ([1], ())
    logs.loader = logs.new_loader(reload_interval=600)
    seen = logs.watch(logs.multiplexer.runs)
    logs.loader.start()
    until(lambda: len(seen) > 3)
    journal.unlink()
    until(lambda: logs.steps("exp/one") == [1, 2])
    logs.end()
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    os.utime(journal, (1e9, 1e9))
    os.utime(logs.path / "mlflow.db", (1e9, 1e9))
    found = tbcore.open(logs.path)
    assert (list(found), ["mlflow.db" in line for line in found.problems]) == ([], [True])


def _text(old: str, new: str) -> Callable[[sqlite3.Connection], Any]:
    return lambda database: database.executescript(SCHEMA.replace(old, new))


ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
COLUMNS = "key, i value, i timestamp, 'a1' run_uuid, i step, 0 is_nan"
HOSTILE: dict[str, Callable[[sqlite3.Connection], Any]] = {
    "nothing": lambda database: database.execute("create table x (a)"),
    "no columns": _text("status text", "state text"),
    "a view": lambda database: database.executescript(
        SCHEMA.replace("table metrics", "table others").replace("on metrics", "on others")
        + f"create view metrics as select 'k' {COLUMNS} from ({ENDLESS});"
    ),
    "computed columns": lambda database: database.executescript(
        SCHEMA
        + "alter table runs drop column end_time;"
        + "alter table runs add column end_time bigint as (abs(start_time));"
    ),
    "a virtual table": lambda database: database.executescript(
        SCHEMA.replace("create table metrics (", "create virtual table metrics using fts4(").split(
            "create index"
        )[0]
    ),
    "other types": lambda database: database.executescript(
        SCHEMA + "insert into metrics values (x'ff', 'word', 'x', 'a1', 'y', 0);"
        "insert into metrics values ('k', 1, 1, 'a1', 0.5, 0),"
        "('big', 1e999, 1 << 62, 'a1', -1 << 62, 0), ('k', x'00', 1, 'a1', 1, 2);"
        "update runs set start_time = 'x', end_time = x'00', status = 5, name = x'ff';"
        "insert into params values (x'ff', null, 'a1'), ('p', zeroblob(99), 'a1');"
        "insert into tags values (null, null, null), ('mlflow.runName', x'ff', 'a1');"
    ),
    "large rows": lambda database: database.executescript(
        SCHEMA + "insert into params values ('p', zeroblob(20000000), 'a1');"
    ),
}


@pytest.mark.parametrize("name", [*HOSTILE, "malformed", "zeros", "half", "text"])
def test_a_hostile_database_costs_itself_and_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad" / "mlflow.db"
    for each in (path, tmp_path / "good" / "mlflow.db"):
        each.parent.mkdir()
        database = sqlite3.connect(each)
        make = HOSTILE.get(name) if each == path else None
        (make or _text("", ""))(database)
        database.executescript("" if make else "insert into metrics values ('k', 1, 1, 'a1', 1, 0)")
        database.commit()
        database.close()
    data = path.read_bytes()
    changed = {
        "malformed": data[:8192] + b"\xff" * (len(data) - 8192), "zeros": bytes(len(data)),
        "half": data[: len(data) // 2 + 100], "text": b"some text",
    }  # fmt: skip
    path.write_bytes(changed.get(name, data))
    os.utime(path, (1e9, 1e9))
    logs = tbcore.open(tmp_path)
    for run in logs.values():
        _ = [run[tag].value for tag in run.scalar_tags]
    assert points_of(logs["good/exp/one"]) == {"k": [(1, 1.0)]}
    assert ["bad/mlflow.db" in line for line in logs.problems] == [True]


def test_links_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(SAMPLE)
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "mlflow.db").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "mlflow2.db")
    (folder / "mlflow3.db").write_bytes(SAMPLE)
    os.mkfifo(folder / "mlflow3.db-journal")
    os.mkfifo(folder / "mlflow3.db-wal")
    logs = tbcore.open(folder)
    assert len(logs) == 9
    assert ["links to logs" in line for line in logs.problems] == [True]


def peak(folder: Path) -> tuple[int, list[str]]:
    """The most memory that reading the logs in a folder takes, in bytes, and the lines."""
    tracemalloc.start()
    try:
        lines = [line for line in tbcore.open(folder).problems if "mlflow.db" in line]
        return tracemalloc.get_traced_memory()[1], lines
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("num_pages", [100_000, (1 << 32) - 1])
def test_a_wal_that_asks_for_many_pages_costs_one_line(
    num_pages: int, logs: Logs, database: sqlite3.Connection, tmp_path: Path
) -> None:
    """Its checksums are right, and it has one page."""
    database.execute("pragma journal_mode=wal")
    add(database, "a1", 1)
    main, wal = ((logs.path / f"mlflow.db{end}").read_bytes() for end in ("", "-wal"))
    page = int.from_bytes(wal[8:12])
    head = struct.pack(">2I", 1, num_pages)
    order = ">" if wal[3] & 1 else "<"
    sums = (int.from_bytes(wal[24:28]), int.from_bytes(wal[28:32]))
    sums = sqlite._sums(main[:page], sqlite._sums(head, sums, order), order)
    folder = tmp_path / "hostile"
    for name in ("bad", "good"):
        (folder / name).mkdir(parents=True)
        (folder / name / "mlflow.db").write_bytes(main)
    path = folder / "bad" / "mlflow.db"
    os.utime(path, (1e9, 1e9))
    frame = head + wal[16:24] + struct.pack(">2I", *sums) + main[:page]
    path.with_name("mlflow.db-wal").write_bytes(wal[:32] + frame)
    size, lines = peak(folder)
    assert (size < 1 << 26, len(lines)) == (True, 1)
    assert list(tbcore.open(folder)) == ["good/exp/one", "good/exp/two"]


@pytest.mark.parametrize(("num_rows", "size"), [(1_000, 900_000), (10_000, 60_000)])
def test_a_default_of_many_small_rows_costs_one_line(
    num_rows: int, size: int, logs: Logs, database: sqlite3.Connection
) -> None:
    """Rows older than a column have its default, which the file has once."""
    database.executescript("drop table tags; create table tags (key text, run_uuid text)")
    database.execute("begin")
    database.executemany("insert into tags values (?, 'a1')", [(f"k{n}",) for n in range(num_rows)])
    database.execute("commit")
    database.execute(f"alter table tags add column value text default '{'x' * size}'")
    path = logs.path / "mlflow.db"
    os.utime(path, (1e9, 1e9))
    taken, lines = peak(logs.path)
    assert (taken < 300 << 20, len(lines), path.stat().st_size < 2 << 20) == (True, 1, True)


OTHER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
try:
    database.execute("select count(*) from runs").fetchall()
    database.execute("begin immediate")
except sqlite3.OperationalError as error:
    print(error)
database.close()
"""


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_transaction_of_the_same_process_keeps_its_locks(
    mode: str, logs: Logs, database: sqlite3.Connection
) -> None:
    """Another program cannot write within it, and does not end the -wal as if it were the last."""
    path = logs.path / "mlflow.db"
    database.execute(f"pragma journal_mode={mode}")
    add(database, "a1", 1)
    logs.load()
    database.execute("begin immediate")
    database.execute("insert into metrics values ('loss', 2, 2, 'a1', 2, 0)")
    for _ in range(2):
        assert points_of(tbcore.open(logs.path)["exp/one"]) == {"loss": [(1, 1.0)]}
        logs.load()
        command = [sys.executable, "-c", OTHER, str(path)]
        other = subprocess.run(command, capture_output=True, text=True, check=True)
        assert other.stdout == "database is locked\n"
    database.execute("commit")
    assert path.with_name("mlflow.db-wal").exists() == (mode == "wal")
    logs.load()
    assert logs.steps("exp/one") == [1, 2]


def test_a_database_that_is_deleted_is_forgotten(logs: Logs, database: sqlite3.Connection) -> None:
    second = logs.path / "mlflow2.db"
    second.write_bytes(SAMPLE)
    for expected in (["mlflow.db", "mlflow2.db"], ["mlflow.db", "mlflow2.db"], ["mlflow.db"]):
        if len(expected) == 1:
            second.unlink()
        logs.load()
        opened = {target for _, target in descriptors() if target.startswith(str(logs.path))}
        assert opened == {str(logs.path / name) for name in expected}
        assert len([*held_by(logs.loader, sqlite.Database)]) == len(expected)


def test_more_databases_than_stay_open_are_read_and_the_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """To a training in the same process, that matters."""
    monkeypatch.setattr(sqlite, "_OPEN", [])
    limits(sqlite, _MAX_OPEN=2)
    monkeypatch.setitem(sys.modules, "mlflow", sys)
    sqlite._log_limit.cache_clear()
    for name in "xyz":
        with closing(sqlite3.connect(tmp_path / f"{name}-mlflow.db", isolation_level=None)) as each:
            each.executescript(re.sub("'(exp|a1|b2)'", rf"'{name}\1'", SCHEMA))
            add(each, f"{name}a1", ord(name))
    logs = tbcore.open(tmp_path)
    assert {name: points_of(run) for name, run in logs.items()} == {
        f"{name}exp/{run}": {"loss": [(ord(name), ord(name))]} if run == "one" else {}
        for name in "xyz" for run in ("one", "two")
    }  # fmt: skip
    assert len(sqlite._OPEN) == 2
    assert [line[:30] for line in caplog.messages] == ["more than 2 databases of MLflow"[:30]]
    for file in sqlite._OPEN:
        file.__exit__()


def test_a_parameter_that_is_nan_costs_no_second_reading(
    logs: Logs, database: sqlite3.Connection, calls_of: Watch
) -> None:
    """NaN does not equal itself, and a run whose facts have changed is read from its start."""
    database.execute("insert into params values ('a', 'nan', 'a1'), ('b', '-NaN', 'a1')")
    add(database, "a1", *range(100))
    logs.load()
    calls = calls_of(mlflow_runs.Rows.extend)
    add(database, "a1", 100)
    logs.load()
    assert [call.arguments["columns"][0].tolist() for call in calls] == [[100]]
    assert logs.steps("exp/one") == [*range(101)]


def test_a_pass_makes_one_copy_and_closes_it(
    logs: Logs, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, calls_of: Watch
) -> None:
    """Also while others write between the queries of a pass."""
    database.execute("pragma journal_mode=wal")
    add(database, "a1", *range(6000))
    add(database, "b2", 1)
    copies, rows_of = calls_of(sqlite._overlaid), sqlite.rows_of

    def write(cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
        database.execute("insert into tags values ('written', 0, hex(randomblob(9)))")
        return rows_of(cursor)

    monkeypatch.setattr(mlflow_runs, "rows_of", write)
    for num_passes in (1, 2):
        logs.load()
        assert (logs.steps("exp/one"), logs.steps("exp/two")) == ([*range(6000)], [1])
        assert len(copies) == num_passes
        assert [*held_by(logs.loader, sqlite3.Connection)] == []


def test_a_large_wal_costs_one_line(logs: Logs, database: sqlite3.Connection) -> None:
    """If a checkpoint has copied its pages, it is as large, but only its new pages count."""
    database.execute("pragma journal_mode=wal")
    database.execute("pragma wal_autocheckpoint=0")
    database.executescript("create table large (x); insert into large values (zeroblob(35000000))")
    os.utime(logs.path / "mlflow.db", (1e9, 1e9))
    logs.load()
    assert ["its -wal has more than 32 MB" in each for each in logs.board.status.problems] == [True]
    database.execute("pragma wal_checkpoint")
    add(database, "a1", 1)
    logs.load()
    assert (logs.steps("exp/one"), logs.board.status.problems) == ([1], ())
