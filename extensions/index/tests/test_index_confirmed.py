"""Which files an index may name: those below directories that this user has confirmed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from same_answers import check_same, loaded, update

import tbcore
from tbcore_index.confirmed import Confirmed
from tbcore_index.reader import IndexReader
from tbcore_index.tables import Place
from tbcore_index.work import Batch, work
from tbcore_testing import write_run
from tbcore_testing.summaries import png


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with this user's files about indexes."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "tbcore" / "indexes"


def log(logdir: Path, run: str) -> Path:
    write_run(logdir, run, scalars={"loss": [1.0]}, images={"i": [(0, png(2, 2))]})
    return logdir / run


@pytest.mark.parametrize(
    ("path", "is_covered"),
    [
        ("s3://bucket/runs/a/1.tfevents", True),
        ("s3://bucket/runs", True),
        ("s3://bucket//runs//a", True),
        ("s3://bucket/runs/a/../b", True),
        ("s3://bucket/runs/a%20b", True),
        ("s3://bucket/runs2/a", False),
        ("s3://bucket/other", False),
        ("s3://bucket/runs/../other", False),
        ("s3://bucket/runs/%2e%2e/other", False),
        ("s3://bucket/runs/%252E%252e/other", False),
        ("s3://bucket/runs%2f..%2fother", False),
        ("s3://bucket/runs/..\\other", False),
        ("s3://bucket/../bucket2/runs", False),
        ("s3://other/runs/a", False),
        ("s3a://bucket/runs/a", False),
        ("s3:/bucket/runs/a", False),
        ("http://host:80/logs/a", True),
        ("http://host/logs/a", False),
        ("https://host:80/logs/a", False),
        ("http://host:80@evil/logs/a", False),
        ("http://evil@host:80/logs/a", False),
        ("http://host:80\\@evil/logs/a", False),
        ("http://host:80%2flogs/a", False),
        ("sftp://me@host/runs/a", True),
        ("sftp://you@host/runs/a", False),
        ("sftp://me:secret@host/runs/a", False),
        ("sftp://host/runs/a", False),
        ("file:///LOGS/a", False),
        ("/LOGS/a", True),
        ("/LOGS", True),
        ("/LOGS//./a", True),
        ("/LOGS/../LOGS/a", True),
        ("/LOGS2/a", False),
        ("/LOGS/../a", False),
        ("/LOGS/out/a", False),
        ("/LOGS/out/../a", False),
        ("/LOGS/in/a", True),
        ("/way/a", True),
        ("/LOGS/a\0", False),
        ("/", False),
        ("", False),
        ("a", False),
    ],
)
def test_what_is_below_a_confirmed_directory(tmp_path: Path, path: str, is_covered: bool) -> None:
    """`/LOGS` is a directory with a link out of it and one in it; the link `/way` leads to it."""
    (tmp_path / "LOGS" / "a").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "LOGS" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "LOGS" / "in").symlink_to(tmp_path / "LOGS" / "a")
    (tmp_path / "way").symlink_to(tmp_path / "LOGS")
    logdirs = ["s3://bucket/runs/", "http://host:80/logs", "sftp://me@host/runs", f"{tmp_path}/way"]

    path = str(tmp_path) + path if path[1:].startswith(("LOGS", "way")) else path

    assert Confirmed("", logdirs).covers(path) == is_covered


def test_everything_is_below_the_root() -> None:
    assert Confirmed("", ["/"]).covers("/etc/passwd")
    assert not Confirmed("", ["/"]).covers("http://host/a")


def test_what_tbcore_index_confirms_is_in_a_file_that_nobody_else_can_read(
    tmp_path: Path, data: Path
) -> None:
    log(tmp_path / "logs", "a")
    update(tmp_path / "logs", tmp_path / "index")

    (path,) = data.iterdir()
    assert json.loads(path.read_text()) == [str(tmp_path / "logs")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert [*IndexReader(str(tmp_path / "index")).warnings] == []
    os.rename(tmp_path / "index", tmp_path / "moved")
    assert [*IndexReader(str(tmp_path / "moved")).warnings] == []


@pytest.mark.parametrize("index_id", ["../../secret", "", "A" * 32, "/etc/passwd"])
def test_an_id_that_is_none_names_no_file(data: Path, index_id: str) -> None:
    data.mkdir(parents=True)
    (data.parent / "secret.json").write_text('["/"]')
    (data / f"{'A' * 32}.json").write_text('["/"]')
    (data / ".json").write_text('["/"]')

    confirmed = Confirmed(index_id)
    confirmed.add(["/data"])

    assert confirmed.directories == {"/data"}
    assert len([*data.iterdir()]) == 2


@pytest.mark.parametrize("content", ["", "{", "null", "1", '{"/": 1}', "\x00"])
def test_a_damaged_file_confirms_nothing(data: Path, content: str) -> None:
    data.mkdir(parents=True)
    (data / f"{'a' * 32}.json").write_text(content)

    assert Confirmed("a" * 32).directories == set()


def test_a_data_directory_that_cannot_be_written_is_a_warning(
    tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log(tmp_path / "logs", "a")
    (tmp_path / "data").write_text("a file")

    assert update(tmp_path / "logs", tmp_path / "index") == 0

    (line,) = (m for m in caplog.messages if "cannot write" in m)
    assert line.startswith(f"cannot write {data}/")
    assert line.endswith(": Not a directory; to open files of the logs, servers will need --logdir")


def test_runs_behind_links_of_the_log_directory(tmp_path: Path, data: Path) -> None:
    """What `tbcore index` has followed is confirmed, and nothing beside it."""
    run, file = log(tmp_path / "far", "a"), next(log(tmp_path / "away", "b").iterdir())
    (tmp_path / "logs" / "b").mkdir(parents=True)
    (tmp_path / "logs" / "a").symlink_to(run)
    (tmp_path / "logs" / "b" / file.name).symlink_to(file)

    update(tmp_path / "logs", tmp_path / "index")

    (path,) = data.iterdir()
    assert json.loads(path.read_text()) == sorted(map(str, [run, file, tmp_path / "logs"]))
    logs = tbcore.open(tmp_path / "index")
    assert [logs[name].images("i")[0].value.width for name in "ab"] == [2, 2]
    # For others, the scan of `--logdir` follows them.
    path.unlink()
    check_same(loaded(tmp_path / "logs"), found := loaded(tmp_path / "logs", tmp_path / "index"))
    for name in "ab":
        (item,) = found.items(name, "i", [tbcore.Claim()])
        item.read()


def test_an_index_without_an_id_gets_one_with_its_next_update(tmp_path: Path, data: Path) -> None:
    from deltalake import DeltaTable

    from tbcore_index.tables import COLUMNS, FORMAT

    log(tmp_path / "logs", "a")
    properties = {
        "tbcore.format": FORMAT, "tbcore.purge_orphaned_data": "true",
        "tbcore.logdirs": json.dumps([[None, str(tmp_path / "logs")]]),
    }  # fmt: skip
    for table, columns in COLUMNS.items():
        DeltaTable.create(
            str(tmp_path / "index" / table), columns, configuration=properties,
            raise_if_key_not_exists=False,
        )  # fmt: skip
    assert len(IndexReader(str(tmp_path / "index")).warnings) == 1

    update(tmp_path / "logs", tmp_path / "index")

    assert len([*data.iterdir()]) == 1
    assert [*IndexReader(str(tmp_path / "index")).warnings] == []
    before = Place(str(tmp_path / "index")).delta("runs").metadata().configuration
    update(tmp_path / "logs", tmp_path / "index")
    assert Place(str(tmp_path / "index")).delta("runs").metadata().configuration == before


def test_a_worker_reads_again_only_what_the_user_has_confirmed(tmp_path: Path, data: Path) -> None:
    """The worker may have another user's data directory, or none."""
    log(tmp_path / "logs", "a")
    update(tmp_path / "logs", tmp_path / "index")
    (next(data.iterdir())).unlink()
    (path,) = (tmp_path / "index" / "points").glob("*.parquet")
    path.unlink()

    done = work(Batch([], [path.stem]), str(tmp_path / "index"))
    again = work(Batch([], [path.stem], (), [str(tmp_path / "logs")]), str(tmp_path / "index"))

    assert (done.num_bytes, [*done.segments]) == (0, [])
    assert done.problems[0].endswith("; 1 run is left out")
    assert again.num_bytes > 0
    assert again.problems[0].endswith("; 1 run is read from the logs again")
