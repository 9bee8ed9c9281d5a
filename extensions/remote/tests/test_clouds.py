"""Logs in Google Cloud Storage and in Azure, by emulators that run already.

They run only if the packages and the emulators are there, since both bring hundreds of packages:

    pip install gcsfs adlfs gcp-storage-emulator; npm install azurite
    gcp-storage-emulator start --port=9023 --in-memory; azurite-blob --inMemoryPersistence
    export STORAGE_EMULATOR_HOST=http://127.0.0.1:9023 GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT=false
    export FSSPEC_GS_TOKEN=anon AZURE_STORAGE_CONNECTION_STRING=UseDevelopmentStorage=true
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from storages import FILE, Watched, events, forget_storages

pytestmark = pytest.mark.services

CLOUDS = {
    "gs": ("gcsfs", "STORAGE_EMULATOR_HOST"),
    "az": ("adlfs", "AZURE_STORAGE_CONNECTION_STRING"),
}
"""The package for each scheme, and the variable that has the address of the emulator."""


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """The URI of a new bucket, and a file system that writes to it."""
    package, address = CLOUDS[request.param]
    pytest.importorskip(package)
    if address not in os.environ:
        pytest.skip(f"{address} is not set")
    import fsspec

    for _ in forget_storages():
        system, bucket = fsspec.filesystem(request.param), f"bucket-{uuid4()}"
        system.mkdir(bucket)
        yield f"{request.param}://{bucket}", system


def test_logs_in_other_clouds_are_read_and_followed(cloud: tuple[str, Any], tmp_path: Path) -> None:
    """Any name, and files that grow, are replaced and deleted, by one request for each change."""
    bucket, system = cloud
    names = ["a", "a b", "100%", "%20", "größe", "a+b=c&d", "#1", "[1]*", "q?v=1"]
    for name in names:
        system.pipe_file(f"{bucket}/runs/{name}/{FILE}", events(tmp_path / FILE, 1, 2, 3))
    watched = Watched(f"{bucket}/runs", f"{bucket}-none/runs", f"{bucket}/none")
    for name in names:
        assert watched.steps(name) == [1, 2, 3]
    status = watched.board.status
    # What does not exist is a bucket, and a directory in a bucket.
    assert status.missing == (f"{bucket}-none", f"{bucket}/none")
    assert status.problems == ()

    before = status.num_requests
    path = f"{bucket}/runs/a/{FILE}"
    for steps in ([1, 2, 3, 4], [7, 8, 9, 10], []):
        if steps:
            system.pipe_file(path, events(tmp_path / FILE, *steps))
        else:
            system.rm(path)
        assert watched.steps("a") == steps
    assert watched.problems == ()
    assert watched.board.status.num_requests - before <= 3 * 3 + 4
    watched.loader.load_once()
    assert watched.multiplexer.runs() == sorted(names[1:])
