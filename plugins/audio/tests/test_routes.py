"""The routes of audio as a client sees them: listings, bytes and parts of them, types, errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tbcore_audio
from tbcore.testing import EventFileWriter, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

AUDIO = "data/plugin/audio/audio"
INDIVIDUAL = "data/plugin/audio/individualAudio"
FIRST, SECOND = summaries.wav([0.0, 0.5]), summaries.wav([0.25] * 400)


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


def test_tags_list_every_run(client: TbcoreClient) -> None:
    """Runs without audio have an empty list."""
    assert client.get("data/plugin/audio/tags").json() == {
        "train": ["input/audio/2"],
        "eval": ["batch"],
        "numbers": [],
    }
    assert client.get("data/plugins_listing").json() == {"audio": True}


def test_a_listing_has_the_documented_form(client: TbcoreClient) -> None:
    """The query string is exact, too."""
    assert listing(client, "train", "input/audio/2")[0] == {
        "wall_time": 1440210599.246,
        "step": 63702821,
        "content_type": "audio/wav",
        "query": "index=0&tagname=input%2Faudio%2F2&run=train",
    }


PREFIXES = ["data/plugin/audio/", "data/", "legacy/data/", "", "legacy/"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_current_and_legacy_route(client: TbcoreClient, prefix: str) -> None:
    """Routes without data/ require run and tag; without these, `/audio` is a page."""
    entries = client.get(f"{prefix}audio?run=train&tag=input/audio/2").json()

    assert entries == listing(client, "train", "input/audio/2")
    for entry, expected in zip(entries, (FIRST, SECOND), strict=True):
        response = client.get(f"{prefix}individualAudio?{entry['query']}&ts=1.5")
        assert response.headers["content-type"] == "audio/wav"
        assert "content-encoding" not in response.headers
        assert response.content == expected
    assert client.get("audio", follow_redirects=False).status_code == 302


def test_several_clips_of_one_step(client: TbcoreClient) -> None:
    """The first by default. Steps that do not have the requested sample are omitted."""
    assert [entry["step"] for entry in listing(client, "eval", "batch")] == [1, 2]
    (entry,) = listing(client, "eval", "batch", sample=1)
    assert (entry["step"], entry["content_type"]) == (1, "audio/wav")
    assert entry["query"] == "index=0&tagname=batch&run=eval&sample=1"
    assert client.get(f"{INDIVIDUAL}?{entry['query']}").content == SECOND
    assert listing(client, "eval", "batch", sample=2) == []
    assert listing(client, "eval", "batch", sample=-1) == []


def test_the_clips_of_one_step(client: TbcoreClient) -> None:
    """Each has its label and content type, as the front end's slider needs."""
    names = {"runs": ["eval"], "tags": ["batch"]}
    assert client.post("data/plugin/audio/steps", json=names).json()["step"] == [1, 2]
    found = client.get("data/plugin/audio/step?tag=batch&run=eval&step=1").json()
    first, second = found["samples"]
    assert first == {
        "label": "", "content_type": "audio/wav", "query": "index=0&tagname=batch&run=eval",
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


def test_long_series_are_sampled_to_ten(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """With the last step. The number is an option."""
    write_run(tbcore_logdir, "run", audio={"a": [b"%d" % step for step in range(40)]})

    for samples, expected in ((None, 10), (0, 40), (3, 3)):
        config = {} if samples is None else {"samples_per_plugin": {"audio": samples}}
        client = tbcore_client(tbcore_logdir, plugins=[tbcore_audio], **config)
        entries = listing(client, "run", "a")
        assert len(entries) == expected
        assert entries[-1]["step"] == 39
        for entry in entries:
            assert client.get(f"{INDIVIDUAL}?{entry['query']}").content == b"%d" % entry["step"]


@pytest.mark.parametrize("path", [f"{prefix}individualAudio" for prefix in PREFIXES])
@pytest.mark.parametrize(
    ("query", "status", "part"),
    [
        ("tag=batch&index=0", 400, 'query parameter "run" is required'),
        ("run=eval&index=0", 400, 'query parameter "tag" is required'),
        ("run=eval&tag=batch", 400, 'query parameter "index" is required'),
        ("run=eval&tag=batch&index=x", 400, '"index" must be an integer'),
        ("run=eval&tag=batch&index=2", 404, "no item 2"),
        ("run=eval&tag=batch&index=-1", 404, "no item -1"),
        ("run=eval&tag=batch&index=0&sample=2", 404, "there is no sample 2"),
        ("run=eval&tag=batsh&index=0", 404, "'batch'"),
        ("run=numbers&tag=loss&index=0", 404, "'loss'"),
    ],
)
def test_errors_of_one_clip(
    client: TbcoreClient, path: str, query: str, status: int, part: str
) -> None:
    """One line of plain text."""
    response = client.get(f"{path}?{query}")

    assert response.status_code == status
    assert part in response.text
    assert len(response.text.splitlines()) == 1


@pytest.mark.parametrize(
    ("query", "status", "part"),
    [
        ("tag=batch", 400, 'query parameter "run" is required'),
        ("run=eval", 400, 'query parameter "tag" is required'),
        ("run=eval&tag=batch&sample=x", 400, '"sample" must be an integer'),
        ("run=evil&tag=batch", 404, "'eval'"),
        ("run=numbers&tag=loss", 404, "'loss'"),
    ],
)
def test_errors_of_a_listing(client: TbcoreClient, query: str, status: int, part: str) -> None:
    """One line of plain text."""
    response = client.get(f"{AUDIO}?{query}")

    assert response.status_code == status
    assert part in response.text


@pytest.mark.parametrize("change", ["deleted", "replaced", "overwritten"])
def test_a_clip_whose_file_changed_is_not_found(
    tbcore_logdir: Path, tbcore_client: MakeClient, change: str
) -> None:
    """Bytes that differ from those that were logged are never served."""
    path = write_run(tbcore_logdir, "run", audio={"a": [FIRST]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_audio])
    (entry,) = listing(client, "run", "a")
    other = write_run(tbcore_logdir / "elsewhere", "run", audio={"a": [SECOND]})
    if change == "overwritten":
        path.write_bytes(other.read_bytes())
    elif change == "replaced":
        other.replace(path)
    else:
        path.unlink()

    for url in (f"{INDIVIDUAL}?{entry['query']}", f"{AUDIO}?run=run&tag=a"):
        response = client.get(url)
        assert response.status_code == 404
        expected = "No such file" if change == "deleted" else "no longer what was logged"
        assert expected in response.text


def test_the_legacy_index_lists_audio(client: TbcoreClient) -> None:
    """Each run has the tag type `audio`."""
    index = client.get("legacy/data/runs").json()

    assert index["train"]["audio"] == ["input/audio/2"]
    assert index["numbers"]["audio"] == []
