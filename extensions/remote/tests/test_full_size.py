"""A run of as many remote files as writers that never append leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from storages import BUCKET, FILE, Request, S3Server, Watched, events

pytestmark = [pytest.mark.services, pytest.mark.release]


def fill(s3: S3Server, files: dict[str, bytes]) -> None:
    """Puts objects into the storage without requests, and answers their readers from memory."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    for key, data in files.items():
        backend.put_object(BUCKET, key, data)

    def answer(request: Request) -> tuple[str, bytes] | None:
        data = files.get(request.path.removeprefix(f"/{BUCKET}/"))
        return None if data is None else ("206 Partial Content", data)

    s3.answer = answer


def test_a_run_of_5000_files(s3: S3Server, tmp_path: Path) -> None:
    """Some writers upload a new file with each flush. A listing is five requests."""
    path = tmp_path / FILE
    fill(s3, {f"runs/a/{FILE}.{n:06}": events(path, n, start=1.7e9 + n) for n in range(5000)})
    watched = Watched()
    assert watched.steps("a") == list(range(5000))
    assert len(s3.reads()) == 5005
    assert watched.steps("a") == list(range(5000))
    assert len(s3.reads()) == 5
    assert watched.problems == ()
