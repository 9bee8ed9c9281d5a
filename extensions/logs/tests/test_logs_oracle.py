"""What `tbcore.open` reads from logs of other programs equals what the server returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbcore
import tbcore_audio
import tbcore_histograms
import tbcore_images
import tbcore_scalars
import tbcore_text
from tbcore.values import AudioValue
from tbcore_logs import LoggedItems, Logs, Run
from tbcore_testing import TbcoreClient, make_client

PLUGINS = {
    "scalars": tbcore_scalars,
    "histograms": tbcore_histograms,
    "images": tbcore_images,
    "audio": tbcore_audio,
    "text": tbcore_text,
}


@pytest.fixture(scope="module", params=["real", "frameworks"])
def logdir(request: pytest.FixtureRequest, real_logs: Path) -> Path:
    path = real_logs if request.param == "real" else real_logs.parent / "frameworks"
    if not path.is_dir():
        pytest.skip(f"no logs at {path}")
    return path


@pytest.fixture(scope="module")
def logs(logdir: Path) -> Logs:
    return tbcore.open(logdir)


@pytest.fixture(scope="module")
def client(logdir: Path) -> TbcoreClient:
    """A client of a server without limits for samples."""
    plugins = [*PLUGINS.values()]
    return make_client(logdir, plugins=plugins, samples_per_plugin=dict.fromkeys(PLUGINS, 0))


def responses(
    client: TbcoreClient, plugin: str, **params: str | int
) -> Iterator[tuple[str, str, Any]]:
    """The run, the tag and the response of each series of a plugin."""
    found = client.get(f"data/plugin/{plugin}/tags").json()
    route = f"data/plugin/{plugin}/{plugin}"
    for run, tags in found.items():
        for tag in tags:
            response = client.get(route, params={"run": run, "tag": tag, **params})
            assert response.status_code == 200, (run, tag, response.text)
            yield run, tag, response.json()


def test_runs_are_the_servers_and_in_its_order(client: TbcoreClient, logs: Logs) -> None:
    assert list(logs.runs) == client.get("data/runs").json()


def test_every_scalar_is_what_the_server_returns(client: TbcoreClient, logs: Logs) -> None:
    """In the series, and in the table of all runs."""
    table = logs.scalars()
    columns = table.columns
    num_points = 0
    for run, tag, rows in responses(client, "scalars"):
        series = logs[run][tag]
        ours = np.stack([series.wall_time, series.step.astype(float), series.value.astype(float)])
        theirs = np.array([[float(number) for number in row] for row in rows], float).T
        np.testing.assert_array_equal(ours, theirs)
        is_row = (columns["run"] == run) & (columns["tag"] == tag)
        np.testing.assert_array_equal(columns["step"][is_row], series.step)
        np.testing.assert_array_equal(columns["wall_time"][is_row], series.wall_time)
        np.testing.assert_array_equal(columns["value"][is_row], series.value)
        num_points += len(rows)
    print(f"{num_points} points compared")
    assert num_points


def test_every_histogram_is_what_the_server_returns(client: TbcoreClient, logs: Logs) -> None:
    def check(ours: Any, row: Any) -> None:
        wall_time, step, numbers = row
        assert (ours.wall_time, ours.step) == (wall_time, step)
        *sums, limits, counts = numbers
        value = ours.value
        np.testing.assert_array_equal(value[:5], [float(each) for each in sums])
        np.testing.assert_array_equal(value.bucket_limit, [float(each) for each in limits])
        np.testing.assert_array_equal(value.bucket, [float(each) for each in counts])

    compare(responses(client, "histograms"), logs, Run.histograms, check)


def test_every_picture_is_what_the_server_returns(client: TbcoreClient, logs: Logs) -> None:
    compare_media(client, "images", "individualImage", logs, Run.images, lambda v: v.encoded)


def test_every_clip_is_what_the_server_returns(client: TbcoreClient, logs: Logs) -> None:
    def clips(value: AudioValue) -> list[bytes]:
        return [clip.encoded for clip in value.clips]

    compare_media(client, "audio", "individualAudio", logs, Run.audio, clips)


def compare_media(
    client: TbcoreClient,
    plugin: str,
    route: str,
    logs: Logs,
    method: Callable[[Run, str], LoggedItems[Any]],
    encoded: Callable[[Any], Sequence[bytes]],
) -> None:
    """Compares the bytes of all samples; a response has the sample with one index at each step."""
    num_compared = 0
    for sample in range(10):
        for run, tag, rows in responses(client, plugin, sample=sample):
            items = [(item, encoded(item.value)) for item in method(logs[run], tag)]
            ours = [(item, samples[sample]) for item, samples in items if sample < len(samples)]
            for (item, data), row in zip(ours, rows, strict=True):
                assert (item.wall_time, item.step) == (row["wall_time"], row["step"])
                assert client.get(f"data/plugin/{plugin}/{route}?{row['query']}").content == data
                num_compared += 1
    print(f"{num_compared} samples compared")
    assert num_compared


def test_every_text_is_what_the_server_returns(client: TbcoreClient, logs: Logs) -> None:
    def check(ours: Any, row: Any) -> None:
        assert (ours.wall_time, ours.step) == (row["wall_time"], row["step"])
        if isinstance(ours.value, str) and not row["text"].startswith("<table>"):
            assert ours.value == row["text"]
            return
        # The server returns the first table of an array.
        cells = re.findall("<td>(.*?)</td>", row["text"], re.DOTALL)
        strings = [ours.value] if isinstance(ours.value, str) else ours.value.ravel().tolist()
        assert cells == [escape(string, quote=False) for string in strings][: len(cells)]
        assert bool(cells) == bool(strings)

    compare(responses(client, "text", markdown="false"), logs, Run.texts, check)


def compare(
    expected: Iterator[tuple[str, str, Any]],
    logs: Logs,
    method: Callable[[Run, str], LoggedItems[Any]],
    check: Callable[[Any, Any], None],
) -> None:
    """Calls `check` with each of our items and the row of the response."""
    num_items = 0
    for run, tag, rows in expected:
        for ours, row in zip(method(logs[run], tag), rows, strict=True):
            check(ours, row)
            num_items += 1
    print(f"{num_items} items compared")
    assert num_items
