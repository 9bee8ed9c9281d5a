"""TensorBoard's page has the data of the server, wherever that is: an index, an object store."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_servers import RunningServer

from tbcore_testing import summaries, write_run

FAKE = "tb-fake/data/plugin/fake"
TOKEN = "a-token-of-this-test"
needs_tensorboard = pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None, reason="tensorboard is not installed"
)


@pytest.fixture
def s3() -> Iterator[Any]:
    """moto's server. All of a process have one bucket."""
    for name in ("s3fs", "moto.server", "tbcore_remote"):
        pytest.importorskip(name)
    import storages

    server = storages.S3Server()
    yield server
    server.close()


def checked(server: RunningServer, prefix: str) -> dict[str, str]:
    """The environment of a process of a server whose data `write` has written, after all checks."""

    def get(address: str) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        status, _, body = server.get(f"{prefix}/{address}", **headers)
        assert status == 200, (address, body)
        return json.loads(body)

    data = "tensorboard/data"
    assert get(f"{data}/runs") == ["a", "b"]
    assert [row[1:] for row in get(f"{data}/plugin/scalars/scalars?run=a&tag=loss")] == [[0, 0.5]]
    [image] = get(f"{data}/plugin/images/images?run=a&tag=x&sample=0")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    address = f"{prefix}/{data}/plugin/images/individualImage?{image['query']}"
    assert server.get(address, **headers)[2] == summaries.png()
    [text] = get(f"{data}/plugin/text/text?run=b&tag=note")
    assert "some words" in text["text"]
    assert server.get(f"{prefix}/{data}/runs")[0] == 401
    environment: dict[str, str] = get(f"{FAKE}/environment")
    return environment


@needs_tensorboard
@pytest.mark.parametrize(
    "source", ["directory", "index", pytest.param("s3", marks=pytest.mark.services)]
)
def test_the_page_has_the_data_of_any_source(
    installed: object,
    environment: dict[str, str],
    tmp_path: Path,
    source: str,
    request: pytest.FixtureRequest,
) -> None:
    """Below a path prefix, with a token; its process gets no credentials."""
    logdir = tmp_path / "logs"
    write_run(logdir, "a", scalars={"loss": [0.5]}, images={"x": [summaries.png()]})
    write_run(logdir, "b", texts={"note": ["some words"]})
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "TBCORE_PLUGINS": "tensorboard"}
    arguments = ["--logdir", str(logdir)]
    if source == "index":
        make = pytest.importorskip("tbcore_index.command").index_command
        index = tmp_path / "index"
        make.main([str(logdir), "--index", str(index)], standalone_mode=False)
        arguments = ["--index", str(index)]
    elif source == "s3":
        s3 = request.getfixturevalue("s3")
        environment |= s3.environment
        arguments = ["--logdir", s3.upload(logdir, "hosted")]
    arguments = [
        "serve",
        *arguments,
        "--port",
        "0",
        "--token",
        TOKEN,
        "--path_prefix",
        "/team/logs",
    ]
    server = RunningServer(arguments, environment, tmp_path).wait_until_started()
    try:
        found = checked(server, "/team/logs")
    finally:
        server.end(15)
    assert not [name for name in found if name.startswith(("AWS", "FSSPEC", "TBCORE"))]
