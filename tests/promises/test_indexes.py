"""P24: an index opens only files below the directories that the user confirmed.

The indexes are forged: somebody wrote other paths into the list of files. What a process
opens and lists is recorded by Python's own audit events, and what it requests by the server that it
would ask.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run
from tbcore_testing.summaries import png

pytest.importorskip("tbcore_index")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
deltalake = pytest.importorskip("deltalake")

AUDIT = """
import os, sys

log = os.open(os.environ["OPENED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def hook(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], (str, bytes)):
        os.write(log, os.fsencode(arguments[0]) + b"\\n")

sys.addaudithook(hook)
"""
RUNS = "local", "upwards", "linked", "http", "s3", "file"


class Place:
    """A log directory with its index, what must not be opened, and a server that is not asked."""

    def __init__(self, folder: Path, port: int) -> None:
        self.logdir, self.index = folder / "logs", folder / "index"
        self.outside, self.opened = folder / "outside", folder / "opened.txt"
        (folder / "hook").mkdir()
        (folder / "hook" / "sitecustomize.py").write_text(AUDIT)
        for number, run in enumerate(RUNS):
            write_run(
                self.logdir, run, scalars={"loss": [1.0, 2.0]}, images={"i": [(0, png(4, 4))]},
                wall_time=1.7e9 + number,
            )  # fmt: skip
        # A file of the outside has the very bytes: without a check it would be shown.
        shutil.copytree(self.logdir, self.outside)
        self.targets = {
            "local": f"{self.outside}/local/NAME",
            "upwards": f"{self.logdir}/../outside/upwards/NAME",
            "linked": f"{self.logdir}/link/linked/NAME",
            "http": f"http://127.0.0.1:{port}/http/NAME",
            "s3": "s3://bucket/s3/NAME",
            "file": f"file://{self.outside}/file/NAME",
        }
        path = [str(folder / "hook"), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.variables = {
            "FSSPEC_S3_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "x", "OPENED": str(self.opened),
            "PYTHONPATH": os.pathsep.join(path), "XDG_DATA_HOME": str(folder / "data"),
        }  # fmt: skip

    def tbcore(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of this user."""
        return self.python("-m", "tbcore", *arguments)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], env={**os.environ, **self.variables},
            check=False, text=True, capture_output=True,
        )  # fmt: skip

    def make(self) -> None:
        """Makes the index, as this user."""
        assert self.tbcore("index", str(self.logdir), "--index", str(self.index))

    def forge(self, *, bookmarks: bool = True, **targets: str) -> None:
        """Writes other paths into the index; also into what says where each file goes on.

        `targets` are the path of each run's file: by default those outside.
        """
        (self.logdir / "link").symlink_to(self.outside)
        targets = targets or self.targets
        (path,) = (self.index / "runs").glob("*.parquet")
        rows = pq.read_table(path)
        changed = rows.to_pylist()
        for row in changed:
            if row["run"] not in targets:
                continue
            (file,) = row["files"]
            target = targets[row["run"]].replace("NAME", os.path.basename(file["path"]))
            if bookmarks:
                row["bookmark"] = row["bookmark"].replace(
                    json.dumps(file["path"]), json.dumps(target)
                )
            # A change that only the files know makes a server read on in them.
            file["path"], file["ctime_ns"] = target, -1
        pq.write_table(pa.Table.from_pylist(changed, rows.schema), path, write_page_checksum=True)

    def check_confined(self) -> None:
        """Fails if something outside was opened, listed or linked to."""
        outside = str(self.outside)
        opened = self.really_opened()
        assert [path for path in opened if path == outside or path.startswith(f"{outside}/")] == []

    def really_opened(self) -> set[str]:
        """What was opened or listed, after links are resolved."""
        opened = {os.path.realpath(line) for line in self.opened.read_text().splitlines()}
        assert opened
        return opened


@pytest.fixture
def asked() -> Iterator[tuple[int, list[str]]]:
    """The port of a server, and the requests that it has got."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            requests.append(f"{self.command} {self.path}")
            self.send_error(404)

        do_GET = do_HEAD = do_PUT = do_POST = answer

        def log_message(self, *arguments: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1], requests
        server.shutdown()
        thread.join()


@pytest.fixture
def place(tmp_path: Path, asked: tuple[int, list[str]]) -> Place:
    return Place(tmp_path, asked[0])


def image(server: Any, run: str) -> Any:
    """The response with the only image of a run."""
    return server.get("/data/plugin/images/individualImage", run=run, tag="i", index=0)


@pytest.mark.parametrize("is_own", [True, False])
def test_a_forged_index_opens_nothing_and_asks_nobody(
    place: Place, asked: tuple[int, list[str]], start_server: Callable[..., Any], is_own: bool
) -> None:
    """Also one that this user has made, and that somebody has changed since."""
    place.make()
    place.forge()
    if not is_own:
        shutil.rmtree(place.variables["XDG_DATA_HOME"])

    server = start_server(None, "--index", str(place.index), **place.variables)
    server.wait_until_loaded()
    for run in RUNS:
        assert server.steps(run, "loss") == [0, 1], "the index has the numbers"
        response = image(server, run)
        assert response.status == 404
        assert "you have not confirmed its directory; give the log directory by --logdir" in (
            response.text
        )
    server.wait_for_scan()

    place.check_confined()
    assert asked[1] == []
    problems = server.get("/data/status").json()["problems"]
    assert [line for line in problems if "no `tbcore index` of yours has made" in line] == (
        [] if is_own else problems
    )
    assert len(problems) == (not is_own)
    assert server.stderr.count("give the log directory, too: --logdir") == (not is_own)


def test_a_confirmed_file_does_not_confirm_the_directory_around_it(
    place: Place, start_server: Callable[..., Any]
) -> None:
    """Neither a file behind a link nor the log directory itself, if an index calls it a file."""
    near = place.outside / "near"
    write_run(near.parent, near.name, scalars={"loss": [1.0, 2.0]}, wall_time=1.8e9)
    (file,) = near.iterdir()
    (place.logdir / "near").mkdir()
    (place.logdir / "near" / file.name).symlink_to(file)
    place.make()
    shutil.copy(next((place.outside / "http").iterdir()), near / "2.tfevents")
    place.forge(near=str(file), local=str(place.logdir))

    server = start_server(None, "--index", str(place.index), **place.variables)
    server.wait_until_loaded()
    for run in ("near", "local"):
        assert server.steps(run, "loss") == [0, 1]
    place.opened.write_text("")
    server.wait_for_scan()
    server.wait_for_scan()

    assert place.really_opened().isdisjoint(
        map(str, [near, near / "2.tfevents", place.logdir.parent])
    )


@pytest.mark.parametrize("bookmarks", [True, False])
def test_with_the_log_directory_a_forged_index_does_no_harm(
    place: Place,
    asked: tuple[int, list[str]],
    start_server: Callable[..., Any],
    bookmarks: bool,
) -> None:
    """Whose bookmarks are right, too: runs go on where those say. All is read from the logs."""
    place.make()
    place.forge(bookmarks=bookmarks)
    (place.logdir / "link").unlink()  # A scan of the log directory follows it.

    server = start_server(place.logdir, "--index", str(place.index), **place.variables)
    server.wait_for_scan()
    for run in RUNS:
        assert server.steps(run, "loss") == [0, 1]
        assert image(server, run).status == 200

    place.check_confined()
    assert asked[1] == []


READ = """
import sys, tbcore
from tbcore.errors import NotFoundError

logs = tbcore.open(sys.argv[1])
for name, run in logs.runs.items():
    assert run["loss"].value.tolist() == [1.0, 2.0]
    try:
        run.images("i")[0].value
    except NotFoundError as error:
        line = "you have not confirmed its directory; give the log directory in place of the index"
        assert line in str(error)
    else:
        sys.exit(name)
"""


def test_commands_and_programs_read_the_numbers_of_a_strangers_index(
    place: Place, asked: tuple[int, list[str]]
) -> None:
    place.make()
    place.forge()
    shutil.rmtree(place.variables["XDG_DATA_HOME"])
    warning = (
        f"no `tbcore index` of yours has made {place.index}: its numbers are shown, but no file of "
        f"its logs is opened; for images and the like, give {place.logdir} in place of the index\n"
    )

    listed = place.tbcore("ls", str(place.index))
    exported = place.tbcore("export", str(place.index), "-o", "-")
    place.tbcore("export", str(place.index), "-o", f"{place.outside.parent / 'media'}/")
    read = place.python("-c", READ, str(place.index))
    checked = place.tbcore("check", "--index", str(place.index))

    assert (listed.returncode, listed.stderr) == (0, f"tbcore: warning: {warning}")
    assert all(run in listed.stdout for run in RUNS)
    assert (exported.returncode, exported.stderr) == (0, f"tbcore: warning: {warning}")
    assert exported.stdout.count("loss") == 2 * len(RUNS)
    assert (read.returncode, read.stderr.startswith(warning)) == (0, True)
    assert (checked.returncode, checked.stderr) == (0, "")
    place.check_confined()
    assert asked[1] == []


def test_an_update_of_a_forged_index_reads_only_the_log_directory(
    place: Place, asked: tuple[int, list[str]]
) -> None:
    """A run that is read again, since rows of its segment are gone, and one that has not changed
    are opened where the scan has found them."""
    write_run(place.logdir, "new", scalars={"loss": [3.0]})
    place.make()
    place.forge()
    (place.logdir / "link").unlink()
    for path in (place.index / "points").glob("*.parquet"):
        path.unlink()

    place.tbcore("index", str(place.logdir), "--index", str(place.index))
    place.tbcore("index", str(place.logdir), "--index", str(place.index))

    place.check_confined()
    assert asked[1] == []
    checked = place.tbcore("check", "--index", str(place.index), str(place.logdir))
    assert (checked.returncode, checked.stderr) == (0, "")


def test_an_update_of_a_forged_index_keeps_no_path_of_it(place: Place) -> None:
    """Also where only the list of files is forged, and what says where each goes on is right."""
    place.make()
    place.forge(bookmarks=False)
    (place.logdir / "link").unlink()

    done = place.tbcore("index", str(place.logdir), "--index", str(place.index))

    assert done.returncode == 0, done.stderr
    place.check_confined()
    table = deltalake.DeltaTable(str(place.index / "runs")).to_pyarrow_table(columns=["files"])
    paths = [file["path"] for files in table.column("files").to_pylist() for file in files]
    assert len(paths) == len(RUNS)
    assert all(path.startswith(f"{place.logdir}/") for path in paths), paths


def test_a_colleagues_index_of_a_shared_directory(
    place: Place, start_server: Callable[..., Any]
) -> None:
    """With the log directory everything is shown, though the other user's file is not there."""
    place.make()
    shutil.rmtree(place.variables["XDG_DATA_HOME"])

    server = start_server(place.logdir, "--index", str(place.index), **place.variables)
    server.wait_until_loaded()

    for run in RUNS:
        assert server.steps(run, "loss") == [0, 1]
        assert image(server, run).status == 200
    assert server.get("/data/status").json()["problems"] == []
    assert not Path(place.variables["XDG_DATA_HOME"]).exists(), "a server records nothing"


def test_paths_in_the_delta_log_do_not_lead_out(place: Place) -> None:
    place.make()
    expected = place.tbcore("export", str(place.index), "-o", "-").stdout
    for table in ("runs", "series", "points"):
        for path in (place.index / table / "_delta_log").glob("*.json"):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            for line in lines:
                if "add" in line:
                    name = line["add"]["path"]
                    forged = f"../../outside/{name}" if table == "runs" else f"/{name}"
                    line["add"]["path"] = forged
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    done = place.tbcore("export", str(place.index), "-o", "-")

    assert expected.count("loss") == 2 * len(RUNS)
    assert (done.returncode, done.stdout) == (0, expected)
    place.check_confined()
