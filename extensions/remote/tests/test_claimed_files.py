"""Files beside event files, which a plugin claims, in a bucket and on another machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from storages import FILE, SSH, URI, S3Server, Watched, events

from tbcore import Claim, NotFoundError
from tbcore.store.multiplexer import Multiplexer

TRACES = "plugins/profile/*/*.xplane.pb"
NAME = "plugins/profile/1/host.xplane.pb"


def watched(uri: str = URI) -> Watched:
    found = Watched(uri)
    found.board.claim_files([Claim(files=TRACES)])
    found.loader.load_once()
    return found


def names(multiplexer: Multiplexer, run: str) -> list[str]:
    return [file.name for file in multiplexer.files(run, TRACES)]


def test_files_in_a_bucket(s3: S3Server, tmp_path: Path) -> None:
    """Each costs no request before it is read, and one then."""
    s3.put(f"runs/a/{FILE}", events(tmp_path / "e", 0, 1))
    s3.put(f"runs/a/{NAME}", b"trace")
    s3.put(f"runs/b/{NAME}", b"not below a run")
    found = watched()
    multiplexer = found.multiplexer
    assert multiplexer.has([Claim(files=TRACES)])
    assert [files.num_files for files in found.board.status.other_files] == [1]
    s3.requests.clear()
    [file] = multiplexer.files("a", TRACES)
    assert (file.name, file.size, len(s3.requests)) == (NAME, 5, 0)
    assert (file.read(5), len(s3.requests)) == (b"trace", 1)
    assert file.read_part(1, 3) == b"rac"
    generation = multiplexer.generation
    found.loader.scan_soon()
    found.loader.load_once()
    assert multiplexer.generation == generation

    s3.put(f"runs/a/{NAME}", b"longer trace")
    found.loader.scan_soon()
    found.loader.load_once()
    [newer] = multiplexer.files("a", TRACES)
    assert newer.read(100) == b"longer trace"
    assert (newer.etag != file.etag, multiplexer.generation) == (True, generation + 1)


def test_no_name_in_a_bucket_leads_out_of_a_run(s3: S3Server, tmp_path: Path) -> None:
    """A key may have any steps, and a plugin may use a name as a path of its own."""
    s3.put(f"runs/a/{FILE}", events(tmp_path / "e", 0))
    for step in ("..", ".", "", "1", "..1", ".1"):
        s3.put(f"runs/a/plugins/profile/{step}/x.xplane.pb", b"trace")
    assert names(watched().multiplexer, "a") == [
        f"plugins/profile/{step}/x.xplane.pb" for step in ("..1", ".1", "1")
    ]


def test_a_bucket_without_claims_is_listed_as_before(s3: S3Server, tmp_path: Path) -> None:
    """Of files that no plugin claims, nothing is kept but the known kinds, and those that would be
    runs of another program in a directory of this machine."""
    s3.put(f"runs/a/{FILE}", events(tmp_path / "e", 0))
    s3.put(f"runs/a/{NAME}", b"trace")
    s3.put("runs/a/model.pt", b"weights")
    s3.put("runs/b/trainer_state.json", b"{}")
    found = Watched()
    assert found.steps("a") == [0]
    log, files = found.board.status.other_files
    assert log[:3] == ("log", 1, f"{URI}/b/trainer_state.json")
    assert log.shown_by.endswith("in a directory of this machine")
    assert (files.kind, files.num_files, files.example) == ("profile", 1, f"{URI}/a/{NAME}")


@pytest.mark.services
def test_files_over_ssh(ssh: SSH, folder: Path) -> None:
    """Links are not followed, whether they are there at the listing or made after it."""
    pytest.importorskip("paramiko")
    events(folder / "a" / FILE, 0)
    for path in (folder / "a" / NAME, folder.parent / "secret" / "host.xplane.pb"):
        path.parent.mkdir(parents=True)
        path.write_bytes(path.parent.name.encode())
    profile = folder / "a" / "plugins" / "profile"
    (profile / "1" / "link.xplane.pb").symlink_to(folder.parent / "secret" / "host.xplane.pb")
    (profile / "2").symlink_to(folder.parent / "secret")
    os.mkfifo(profile / "1" / "fifo.xplane.pb")
    found = watched(f"{ssh[0]}{folder}")
    by_name = {file.name: file for file in found.multiplexer.files("a", TRACES)}
    assert by_name[NAME].read(10) == b"1"
    assert by_name.keys() <= {NAME, "plugins/profile/1/fifo.xplane.pb"}
    assert all(file.read(10) == b"" for name, file in by_name.items() if name != NAME)
    [problem] = found.problems
    assert "links to files that plugins read are not followed" in problem

    (profile / "1").rename(profile / "moved")
    (profile / "1").symlink_to(folder.parent / "secret")
    with pytest.raises(NotFoundError, match="links to files that plugins read are not followed"):
        by_name[NAME].read(10)


@pytest.mark.services
def test_the_log_directory_over_ssh_may_be_a_link(ssh: SSH, folder: Path) -> None:
    events(folder / "a" / FILE, 0)
    (folder / "a" / NAME).parent.mkdir(parents=True)
    (folder / "a" / NAME).write_bytes(b"trace")
    (folder.parent / "link").symlink_to(folder)
    found = watched(f"{ssh[0]}{folder.parent}/link")
    [file] = found.multiplexer.files("a", TRACES)
    assert file.read(10) == b"trace"
