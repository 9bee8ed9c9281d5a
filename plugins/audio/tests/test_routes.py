"""The routes of audio as a client sees them: listings, bytes and parts of them, types, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import tbcore_audio
from tbcore_testing import EventFileWriter, MediaTests, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

AUDIO = "data/plugin/audio/audio"
INDIVIDUAL = "data/plugin/audio/individualAudio"
FIRST, SECOND = summaries.wav([0.0, 0.5]), summaries.wav([0.25] * 400)


class TestRoutes(MediaTests):
    plugin = tbcore_audio
    data_type = tag_type = "audio"
    content_type = "audio/wav"
    samples = 10
    listing = f"{AUDIO}?run={{run}}&tag={{tag}}"
    individual = f"{INDIVIDUAL}?index={{index}}&tagname={{tag}}&run={{run}}"
    routes: ClassVar = {
        "data/plugin/audio/tags": [],
        "data/plugin/audio/step?run={run}&tag={tag}": [],
        listing: ["data/audio", "legacy/data/audio", "audio", "legacy/audio"],
        individual: [
            f"{prefix}individualAudio" for prefix in ("data/", "legacy/data/", "", "legacy/")
        ],
    }

    def value(self, step: int) -> bytes:
        return summaries.wav([step / 1000])

    def summary(self, tag: str, values: Sequence[bytes]) -> Any:
        return summaries.audio(tag, values, as_tensor=True)


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    """Serves a run in each form, and one without audio."""
    points = [(63702821, FIRST, 1440210599.246), (63702822, SECOND)]
    write_run(tbcore_logdir, "train", audio={"input/audio/2": points})
    with EventFileWriter(tbcore_logdir / "eval" / "a.tfevents") as writer:
        writer.add_summary(
            1, summaries.audio("batch", [FIRST, SECOND], labels=["", "é <b>"], as_tensor=True)
        )
        writer.add_summary(2, summaries.audio("batch", [SECOND], as_tensor=True))
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_audio])


def listing(client: TbcoreClient, run: str, tag: str, **more: Any) -> Any:
    response = client.get(AUDIO, params={"run": run, "tag": tag, **more})
    assert response.status_code == 200, response.text
    return response.json()


def test_a_listing_has_the_documented_form(client: TbcoreClient) -> None:
    """The query string is exact, too."""
    assert listing(client, "train", "input/audio/2")[0] == {
        "wall_time": 1440210599.246,
        "step": 63702821,
        "content_type": "audio/wav",
        "query": "index=0&tagname=input%2Faudio%2F2&run=train",
    }


def test_the_clips_of_one_step(client: TbcoreClient) -> None:
    """Each has its label and content type, as the front end's slider needs."""
    found = client.get("data/plugin/audio/step?tag=batch&run=eval&step=1").json()
    first, second = found["samples"]
    assert first == {
        "label": "", "seconds": 2 / 8000, "content_type": "audio/wav",
        "query": "index=0&tagname=batch&run=eval",
    }  # fmt: skip
    assert second["label"] == "é <b>"
    assert client.get(f"{INDIVIDUAL}?{second['query']}").content == SECOND


@pytest.mark.parametrize(
    ("logged", "served"),
    [
        ("audio/wav", "audio/wav"),
        ("audio/mpeg", "audio/mpeg"),
        ("Audio/OGG; codecs=opus", "audio/ogg"),
        ("audio/flac", "audio/flac"),
        ("audio/mp4", "audio/mp4"),
        ("video/webm", "video/webm"),
        ("application/ogg", "application/ogg"),
        ("text/html", "application/octet-stream"),
        ("text/plain", "application/octet-stream"),
        ("image/png", "application/octet-stream"),
        ("image/svg+xml", "application/octet-stream"),
        ("audio/wav\r\nX-Evil: 1", "application/octet-stream"),
        ("audio/x-unheard-of", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_only_audio_types_are_returned(
    tbcore_logdir: Path, tbcore_client: MakeClient, logged: str, served: str
) -> None:
    """In the listing and in the header."""
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        writer.add_summary(0, summaries.audio("a", b"<script>", content_type=logged))
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_audio])

    (entry,) = listing(client, "run", "a")
    response = client.get(f"{INDIVIDUAL}?{entry['query']}")

    assert entry["content_type"] == response.headers["content-type"] == served
    assert response.content == b"<script>"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "x-evil" not in response.headers


@pytest.mark.parametrize("metadata", ["first", "every"])
@pytest.mark.parametrize("shape", [None, (2, 2), (4, 1)])
def test_tensors_of_other_writers(
    tbcore_logdir: Path, tbcore_client: MakeClient, shape: Any, metadata: Any
) -> None:
    """Without labels, without an encoding, and with an invalid shape."""
    value = summaries.string_tensor(
        "a", [FIRST, b"", SECOND, b"x"], shape=shape, plugin_name="audio"
    )
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents", metadata=metadata) as writer:
        writer.add_summary(0, value)
        writer.add_summary(1, value)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_audio])

    if shape == (4, 1):
        response = client.get(f"{AUDIO}?run=run&tag=a")
        assert response.status_code == 404
        assert "shape (4, 1)" in response.text
        return
    entries = listing(client, "run", "a")
    assert [entry["content_type"] for entry in entries] == ["application/octet-stream"] * 2
    clips = client.get("data/plugin/audio/step?run=run&tag=a").json()["samples"]
    assert [clip["label"] for clip in clips] == (["", "x"] if shape else [""] * 4)
    assert client.get(f"{INDIVIDUAL}?{clips[1]['query']}").content == (SECOND if shape else b"")


def test_the_type_of_a_tensor_is_in_the_metadata_of_the_first_value(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """It applies to the whole tag, in all files."""
    write_run(tbcore_logdir, "run", audio={"a": [FIRST, SECOND]}, as_tensors=True)
    write_run(tbcore_logdir, "run", audio={"a": [(2, FIRST)]}, as_tensors=True, metadata="never")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_audio])

    assert [e["content_type"] for e in listing(client, "run", "a")] == ["audio/wav"] * 3


@pytest.mark.parametrize(
    ("range_", "status", "part"),
    [
        ("bytes=0-", 206, slice(0, None)),
        ("bytes=0-1", 206, slice(0, 2)),
        ("bytes=10-19", 206, slice(10, 20)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=800-99999", 206, slice(800, None)),
        ("bytes=99999-", 416, None),
        ("bytes=5-2", 200, slice(0, None)),
        ("bytes=0-1,5-6", 200, slice(0, None)),
        ("items=0-1", 200, slice(0, None)),
    ],
)
def test_players_can_request_parts(
    client: TbcoreClient, range_: str, status: int, part: slice | None
) -> None:
    """They use this to seek, and Safari requires it."""
    path = f"{INDIVIDUAL}?run=train&tag=input/audio/2&index=1"
    whole = client.get(path)
    assert whole.headers["accept-ranges"] == "bytes"

    response = client.get(path, headers={"Range": range_})

    assert response.status_code == status
    if part is None:
        assert response.headers["content-range"] == f"bytes */{len(SECOND)}"
        return
    assert response.content == SECOND[part]
    assert int(response.headers["content-length"]) == len(SECOND[part])
    if status == 206:
        start = range(len(SECOND))[part][0]
        end = start + len(response.content) - 1
        assert response.headers["content-range"] == f"bytes {start}-{end}/{len(SECOND)}"
    assert response.headers["etag"] == whole.headers["etag"]
    # If the clip is not the one that the player has, the response is the whole clip.
    changed = client.get(path, headers={"Range": "bytes=0-1", "If-Range": '"other"'})
    assert (changed.status_code, changed.content) == (200, SECOND)
