"""An index in S3: it is reached with the credentials of logs there, and errors are a sentence."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from commands import command, piped
from common_fixtures import until
from disk import Clock
from storages import BUCKET, Home, S3Server, forget_connections, s3_error

from tbcore_remote import connection
from tbcore_testing import write_run

pytest.importorskip("tbcore_index")

from tbcore.errors import TbcoreError
from tbcore_index.coordinator import Coordinator
from tbcore_index.reader import IndexReader

pytestmark = pytest.mark.services

LOGS, INDEX = f"s3://{BUCKET}/logs", f"s3://{BUCKET}/index"
KEY = re.compile(r"Credential=([^/]*)/\d+/([^/]*)")
"""Key and region in the header of a request."""


def update() -> None:
    """Makes or updates the index, by the command."""
    subprocess.run(command("index", LOGS, "--index", INDEX), check=True)


def test_a_profile_is_enough(s3: S3Server, home: Home, serve: Callable[..., str]) -> None:
    """With its credentials, region and endpoint, the index is made, read, checked and served."""
    keys: set[tuple[str, str]] = set()
    s3.answer = lambda request: keys.update(KEY.findall(request.authorization))
    update()
    assert [line.split("\t")[1] for line in piped("ls", INDEX).stdout.splitlines()] == ["run", "a"]
    assert piped("check", "--index", INDEX).stdout.endswith(": all can be read\n")
    address = serve(None, "--index", INDEX)
    until(lambda: httpx.get(f"{address}/data/runs").json() == ["a"])
    assert keys == {("first", "eu-west-1")}


SERVICES = "services = s\n[services s]\ns3 =\n  endpoint_url = {}"


@pytest.mark.parametrize(
    ("config", "variable"),
    [(SERVICES, ""), ("", "FSSPEC_S3_ENDPOINT_URL"), ("", "AWS_ENDPOINT_URL_S3")],
)
def test_an_endpoint_may_be_where_others_look_for_it(
    s3: S3Server, home: Home, monkeypatch: pytest.MonkeyPatch, config: str, variable: str
) -> None:
    """What is in the environment counts first."""
    home.write_config(config.format(s3.endpoint) or "endpoint_url = http://127.0.0.1:9")
    if variable:
        monkeypatch.setenv(variable, s3.endpoint)
    for _ in forget_connections():
        nothing = f"tbcore: no index at {INDEX}; make one with `tbcore index`\n"
        assert piped("check", "--index", INDEX).stderr == nothing


def test_new_credentials_are_used_by_what_is_open(
    s3: S3Server, home: Home, folder: Path, clock: Clock
) -> None:
    """A server and a command that run for days go on when others are written into the file."""
    clock.rules(connection)
    update()
    index = IndexReader(INDEX)
    coordinator = Coordinator(INDEX, ThreadPoolExecutor(1))
    write_run(folder, "b", scalars={"loss": [1.0]})
    s3.upload(folder, "logs")
    expired = s3_error("400 Bad Request", "ExpiredToken")
    s3.answer = lambda request: expired if "=first/" in request.authorization else None
    clock.advance(31)
    with pytest.raises(TbcoreError, match=f"^cannot read the index {INDEX}: ExpiredToken$"):
        index.refresh()
    with pytest.raises(TbcoreError, match=f"^cannot read the index {INDEX}: ExpiredToken$"):
        coordinator.update()
    home.write_key("second")
    coordinator.update()
    assert coordinator.problems == []
    index.refresh()
    assert list(index.runs) == ["a", "b"]
    assert [each.column("step").tolist() for each in index.runs["b"].series("loss")] == [[0]]


ERRORS = [
    ("403 Forbidden", "AccessDenied", "Access Denied"),
    ("403 Forbidden", "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist."),
    ("400 Bad Request", "ExpiredToken", "The provided token has expired."),
    ("404 Not Found", "NoSuchBucket", "The specified bucket does not exist"),
]


@pytest.mark.parametrize(("status", "code", "message"), ERRORS)
def test_what_s3_refuses_is_a_sentence(s3: S3Server, status: str, code: str, message: str) -> None:
    """The one of S3, without markup and colours."""
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
    s3.answer = lambda request: (status, body)
    result = piped("check", "--index", INDEX)
    line = f"tbcore: cannot open the index {INDEX}: {message.rstrip('.')}\n"
    assert (result.returncode, result.stderr) == (3, line)
    arguments = command("index", str(Path.cwd()), "--index", INDEX)
    made = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert made.stderr == line.replace("open", "make")
    assert made.returncode == 1


def test_missing_credentials_and_profiles_are_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for profile, reason in (
        ("none", "The config profile (none) could not be found"),
        ("default", "Unable to locate credentials"),
    ):
        monkeypatch.setenv("AWS_PROFILE", profile)
        if profile == "default":
            home.write_config("[default]\nregion = eu-west-1")
        for _ in forget_connections():
            result = piped("check", "--index", INDEX)
            assert result.stderr == f"tbcore: cannot open the index {INDEX}: {reason}\n"
            assert result.returncode == 3
