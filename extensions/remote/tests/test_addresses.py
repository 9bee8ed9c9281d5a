"""Addresses as users write them: each is read as what it names, or refused in a sentence."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

import click
import httpx
import pytest
import storages
from commands import command, piped
from common_fixtures import until
from storages import S3Server

import tbcore
from tbcore.cli.parsing import logdir_specs
from tbcore.eventfiles.addresses import checked_address
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore_remote.connection import _as_os_error
from tbcore_testing import write_run

MAX_CHARACTERS = 300
CONTEXT = click.Context(click.Command("serve"))


@pytest.fixture(autouse=True)
def without_connections() -> Iterator[None]:
    yield from storages.forget_storages()


# -- directories of this machine -------------------------------------------------------------------

LOCAL = [
    "file://{path}", "local://{path}", "file:{path}", "file://localhost{path}", "FILE://{path}/",
]  # fmt: skip


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A directory with a run, and with a blank in its path."""
    write_run(tmp_path / "my logs", "a", scalars={"loss": [3.0, 2.0]})
    return tmp_path / "my logs"


@pytest.mark.parametrize("form", LOCAL)
def test_a_file_uri_is_a_directory_of_this_machine(logdir: Path, form: str) -> None:
    """In the commands, in `--logdir_spec`, and in Python. Names are percent-encoded."""
    uri = form.format(path=str(logdir).replace(" ", "%20"))
    assert list(tbcore.open(uri)) == ["a"]
    assert list(tbcore.open({"x": uri})) == ["x/a"]
    assert piped("ls", uri).stdout.count("\n") == 2
    assert piped("export", uri, "-o", "-").stdout.count("\n") == 3
    assert piped("check", uri).stdout.startswith("1 run, 1 file ")
    assert logdir_specs(f"x:{uri},{logdir}", CONTEXT, is_spec=True) == [
        LogdirSpec("x", checked_address(uri)), LogdirSpec(None, str(logdir))
    ]  # fmt: skip


def test_a_file_uri_is_served(logdir: Path, serve: Callable[..., str]) -> None:
    """By itself, among several directories, and as an index of such a directory."""
    pytest.importorskip("tbcore_index")
    uri, index = logdir.as_uri(), f"file://{logdir.parent}/index"
    subprocess.run(command("index", uri, "--index", index), check=True)
    assert piped("check", logdir.as_uri(), "--index", index).returncode == 0
    assert (logdir.parent / "index" / "runs").is_dir()
    for options, name in (
        (["--logdir", uri], "a"), (["--logdir_spec", f"x:{uri}"], "x/a"), (["--index", index], "a"),
    ):  # fmt: skip
        address = serve(None, *options)
        until(lambda address=address, name=name: httpx.get(f"{address}/data/runs").json() == [name])


def test_a_file_uri_of_an_event_file_is_that_file(logdir: Path) -> None:
    [path] = (logdir / "a").iterdir()
    assert len(tbcore.open(path.as_uri())["."]["loss"]) == 2


def test_a_directory_with_a_strange_name_is_a_directory(tmp_path: Path) -> None:
    """What exists is never refused for its name."""
    for name in ("runs.zip", "s3:", "zip::"):
        write_run(tmp_path / name / "x", "a", scalars={"loss": [1.0]})
    assert checked_address(str(tmp_path / "runs.zip")) == str(tmp_path / "runs.zip")
    for path in ("s3:/x", "zip::/x"):
        assert len(piped("ls", path, cwd=tmp_path).stdout.splitlines()) == 2


# -- addresses that are refused --------------------------------------------------------------------

SERVE = "serve", "--host", "192.0.2.1"
"""A server with an address of no machine: one that did not refuse what it shall serve would end."""
REFUSED = [
    ("zip://logs::s3://bucket/l.zip", "chained addresses"),
    ("zip://::{path}/l.zip", "zip:// is not supported"),
    ("tar://x", "tar:// is not supported"),
    ("zip::s3://bucket/x", "chained addresses"),
    ("zip::{path}/l.zip", "chained addresses"),
    ("simplecache::s3://bucket/x", "chained addresses"),
    ("filecache::sftp://me:secret@host/x", "chained addresses"),
    ("{path}/l.zip", "is an archive; unpack it"),
    ("{path}/l.tar.gz", "is an archive; unpack it"),
    ("file://{path}/l.zip", "is an archive; unpack it"),
    ("memory://x", "memory:// is not supported"),
    ("dir://x", "dir:// is not supported"),
    ("reference://x", "reference:// is not supported"),
    ("dask://x", "dask:// is not supported"),
    ("file://data/x", "file:// names a directory of this machine by its absolute path"),
    ("s3:/bucket/x", "did you mean 's3://bucket/x'?"),
    ("S3:////bucket/x", "did you mean 's3://bucket/x'?"),
    ("sftp:/me:secret@host/x", "did you mean 'sftp://me@host/x'?"),
    ("sftp://me:secret@host/~/x", "takes the whole path of a directory, as in sftp://host/home/"),
    ("ssh://host/~me/x", "takes the whole path of a directory, as in ssh://host/home/"),
    ("nothing://x", "nothing:// is not known to fsspec"),
    ("s3://", "is not a directory"),
]


@pytest.mark.parametrize(("address", "reason"), REFUSED)
def test_an_address_that_cannot_be_read_is_refused_in_a_sentence(
    tmp_path: Path, address: str, reason: str
) -> None:
    """Wherever a directory can be given, and before anything is started. No password is shown."""
    for name in ("l.zip", "l.tar.gz"):
        (tmp_path / name).touch()
    address = address.format(path=tmp_path)
    commands = [
        ["ls", address], ["export", address, "-o", "-"], ["check", address],
        [*SERVE, address], [*SERVE, "--logdir", address],
    ]  # fmt: skip
    if not re.match(
        "[a-z0-9]+::?/[^/]", address, re.IGNORECASE
    ):  # There a name precedes the colon.
        commands.append([*SERVE, "--logdir_spec", address])
    if entry_points(group="tbcore.index"):
        commands.append(["check", "--index", address])
    for arguments in commands:
        result = piped(*arguments)
        assert (result.returncode, result.stdout) == (2, ""), arguments
        assert result.stderr.startswith("tbcore: ")
        assert reason in result.stderr
        assert "secret" not in result.stderr
        assert result.stderr.count("\n") == 1
        assert len(result.stderr) <= MAX_CHARACTERS
    with pytest.raises(ValueError, match=re.escape(reason)):
        tbcore.open(address)


@pytest.mark.parametrize("name", ["ls", "check"])
def test_a_storage_that_cannot_be_loaded_says_why_in_a_clause(name: str) -> None:
    """Without Java, the error for HDFS lists a hundred paths that were tried."""
    pytest.importorskip("pyarrow")
    result = piped(name, "hdfs://host/x", JAVA_HOME="/none", HADOOP_HOME="/none")
    assert result.returncode == 3
    [line] = result.stderr.splitlines() or result.stdout.splitlines()[:1]
    assert "cannot list hdfs://host/x: " in line
    assert len(line) <= MAX_CHARACTERS


# -- buckets ---------------------------------------------------------------------------------------


@pytest.mark.services
def test_the_case_of_a_scheme_does_not_matter(s3: S3Server, folder: Path) -> None:
    write_run(folder, "a", scalars={"loss": [1.0]})
    s3.upload(folder, "runs")
    for scheme in ("s3", "S3", "s3a"):
        assert list(tbcore.open(f"{scheme}://{storages.BUCKET}/runs")) == ["a"]


@pytest.mark.services
@pytest.mark.parametrize(
    ("given", "missing"),
    [("s3://nobucket/runs", "s3://nobucket"), ("s3://bucket/none/x", "s3://bucket/none/x")],
)
def test_what_does_not_exist_is_the_bucket_or_the_directory(
    s3: S3Server, given: str, missing: str
) -> None:
    """It is no damage, but a check of nothing has not succeeded."""
    result = piped("ls", given)
    assert result.returncode == 2
    assert result.stderr == f"tbcore: '{missing}' does not exist; see `tbcore ls --help`\n"
    with pytest.raises(FileNotFoundError) as raised:
        tbcore.open(given)
    assert raised.value.filename == missing
    result = piped("check", given)
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        missing, "    does not exist", "", "0 runs, 0 files (0 B): no event files",
    ]  # fmt: skip
    report = json.loads(piped("check", given, "--json").stdout)
    assert (report["damaged"], report["findings"][0]["is_damage"]) == (0, False)


def test_a_missing_directory_of_this_machine_is_no_damage(tmp_path: Path) -> None:
    result = piped("check", tmp_path / "none")
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "0 runs, 0 files (0 B): no event files"
    assert os.fspath(tmp_path / "none") in result.stdout


def test_a_long_error_that_begins_with_a_line_break_has_a_message() -> None:
    assert str(_as_os_error(OSError("\n" + "x" * 400))) == "x" * 300
