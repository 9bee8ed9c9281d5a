"""Tails: clients get only the points that were logged since they asked last."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tbcore_scalars
from tbcore_testing import TbcoreClient, make_client, read_columns, write_run

MakeClient = Callable[..., TbcoreClient]
Tables = dict[str, dict[str, list[float]]]


class Page:
    """A client that keeps rows, and appends the tails that it gets, as the page does."""

    def __init__(self, client: TbcoreClient, **body: Any) -> None:
        self.client, self._body = client, {"tag": "loss", **body}
        self.rows: Tables = {}
        self.entries: dict[str, dict[str, Any]] = {}
        self.segments: dict[str, list[int]] = {}

    def ask(self) -> int:
        """Asks for lines; returns the number of rows that were sent."""
        known = {run: entry["known"] for run, entry in self.entries.items()}
        header, tables = self._post(known)
        for entry, table in zip(header["runs"], tables, strict=True):
            if entry["unchanged"]:
                continue
            run, columns = entry["run"], {name: list(column) for name, column in table.items()}
            old = self.rows[run] if entry["is_tail"] else {name: [] for name in columns}
            before = self.segments[run] if entry["is_tail"] else []
            num_rows = len(old["step"])
            self.segments[run] = [*before, *(num_rows + row for row in entry["segments"])]
            self.rows[run] = {name: old[name] + column for name, column in columns.items()}
            if entry["is_tail"]:
                entry["num_shown"] += self.entries[run]["num_shown"]
            self.entries[run] = entry
        return sum(len(table.get("step", ())) for table in tables)

    def _post(self, known: dict[str, str]) -> Any:
        body = {**self._body, "known": known}
        response = self.client.post("data/plugin/scalars/window", json=body)
        assert response.status_code == 200, response.text
        return read_columns(response.content)

    def assert_same(self) -> None:
        """The rows are those of a client that asks for the first time."""
        other = Page(self.client, **self._body)
        other.ask()
        np.testing.assert_equal(self.rows, other.rows)
        assert self.segments == other.segments
        for run, entry in self.entries.items():
            for name in ("num_points", "num_inside", "num_shown", "start_time"):
                assert entry[name] == other.entries[run][name]


@pytest.mark.parametrize("x", ["step", "relative", "wall", "relative_step"])
@pytest.mark.parametrize("smoothing", [0, 0.9])
def test_only_later_points_are_sent(
    tbcore_logdir: Path, tbcore_client: MakeClient, x: str, smoothing: float
) -> None:
    """Of the runs that have any; also if the training has restarted."""
    for run in ("a", "b"):
        points = [(step, 1 / (step + 1), 10.0 + step) for step in range(90)]
        write_run(tbcore_logdir, run, scalars={"loss": points})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    page = Page(client, runs=["a", "b"], x=x, smoothing=smoothing)
    assert page.ask() == 180
    for points in ([(90, 2.0, 200.0), (91, float("nan"), 201.0)], [(50, 3.0, 300.0)]):
        write_run(tbcore_logdir, "b", scalars={"loss": points, "other": [1.0]})
        client.reload()
        assert page.ask() == len(points)
        page.assert_same()
    write_run(tbcore_logdir, "b", scalars={"other": [2.0]})
    client.reload()
    assert page.ask() == 0


def test_tails_in_a_part_of_the_axis(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """Up to the first point after it."""
    write_run(tbcore_logdir, "a", scalars={"loss": [1.0] * 20})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    page = Page(client, runs=["a"], **{"from": 5, "to": 25})
    assert page.ask() == 16
    for first, sent in [(20, 5), (25, 2), (30, 0)]:
        write_run(tbcore_logdir, "a", scalars={"loss": [(first + i, 2.0) for i in range(5)]})
        page.client.reload()
        assert page.ask() == sent
        page.assert_same()


def test_a_run_that_was_written_again_is_sent_whole(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    write_run(tbcore_logdir, "a", scalars={"loss": [(s, 1.0, 100.0 + s) for s in range(5)]})
    page = Page(tbcore_client(tbcore_logdir, plugins=[tbcore_scalars]), runs=["a"])
    page.ask()
    shutil.rmtree(tbcore_logdir / "a")
    write_run(tbcore_logdir, "a", scalars={"loss": [(s, 1.0, 900.0 + s) for s in range(9)]})
    page.client.reload()
    assert page.ask() == 9
    page.assert_same()


def test_a_line_that_has_grown_much_is_reduced_again(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The client has at most six rows per pixel, and among them all extremes."""
    value = np.random.default_rng(0).normal(size=3000)
    write_run(tbcore_logdir, "a", scalars={"loss": value[:1000]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    page = Page(client, runs=["a"], pixels=100)
    page.ask()
    all_sent = []
    for first in range(1000, 3000, 50):
        points = list(enumerate(value[first : first + 50].tolist(), first))
        write_run(tbcore_logdir, "a", scalars={"loss": points})
        client.reload()
        all_sent.append(page.ask())
        rows = page.rows["a"]
        assert len(rows["step"]) <= 600
        assert rows["step"] == sorted(set(rows["step"]))
        drawn = value[: first + 50].astype(np.float32)
        np.testing.assert_equal(rows["value"], drawn[np.array(rows["step"], int)])
        assert (min(rows["value"]), max(rows["value"])) == (drawn.min(), drawn.max())
    assert all_sent.count(50) == 32
    assert [all_sent[i] > 200 for i in range(40)] == [i % 5 == 4 for i in range(40)]


@pytest.mark.parametrize(
    "sent", ["", "1", "3.3.", "3.3.1", "0.0.0", "9.9.9", "3.3.1x", "-1.3.1", "9" * 18 + ".1.1"]
)
def test_a_text_that_says_nothing_is_as_none(
    tbcore_logdir: Path, tbcore_client: MakeClient, sent: str
) -> None:
    write_run(tbcore_logdir, "a", scalars={"loss": [1.0, 2.0, 3.0]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    page = Page(client, runs=["a"])
    page.ask()
    generation = page.entries["a"]["generation"]
    page.entries["a"]["known"] = f"{generation}1/{sent}"
    assert page.ask() == 3
    assert not page.entries["a"]["is_tail"]


POINTS = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from([0.0, 1.0, -2.5, float("nan"), float("inf")])),
    max_size=12,
)
CHUNKS = st.lists(POINTS, min_size=2, max_size=5)


@settings(max_examples=40, deadline=None)
@given(
    CHUNKS,
    st.sampled_from(["step", "relative", "wall", "relative_step"]),
    st.sampled_from([None, (5, 20)]),
    st.sampled_from([0, 0.6]),
    st.sampled_from(["exponential", "gaussian"]),
)
def test_tails_add_up_to_the_line(
    tmp_path_factory: pytest.TempPathFactory,
    chunks: list[list[tuple[int, float]]],
    x: str,
    bounds: tuple[int, int] | None,
    smoothing: float,
    kind: str,
) -> None:
    """In whatever order steps come, restarts and NaN included."""
    logdir = tmp_path_factory.mktemp("logs")
    view = dict(zip(("from", "to"), bounds, strict=True)) if bounds else {}
    now = 0
    with make_client(logdir, plugins=[tbcore_scalars]) as client:
        page = Page(client, runs=["a"], x=x, smoothing=smoothing, smoothing_kind=kind, **view)
        for chunk in chunks:
            points = [(step, value, float(now + i)) for i, (step, value) in enumerate(chunk)]
            now += len(chunk)
            write_run(logdir, "a", scalars={"loss": points})
            client.reload()
            page.ask()
            if bounds is None:
                page.assert_same()
            elif "a" in page.rows:
                assert page.entries["a"]["num_inside"] == page.entries["a"]["num_shown"]
