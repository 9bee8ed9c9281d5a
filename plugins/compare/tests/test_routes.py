"""The routes of compared runs, over event files, as a client sees them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import tbcore_compare
from tbcore_compare.bands import MAX_STEPS
from tbcore_compare.reader import MAX_POINTS
from tbcore_testing import TbcoreClient, graphs, read_columns, summaries, write_run

MakeClient = Callable[..., TbcoreClient]
NAN, INF = math.nan, math.inf


class Api:
    """A client of the plugin's routes on a log directory."""

    def __init__(self, client: TbcoreClient) -> None:
        self.client = client

    def post(self, route: str, **body: Any) -> tuple[Any, Sequence[Mapping[str, Any]]]:
        """The header and the tables of a response."""
        response = self.client.post(f"data/plugin/compare/{route}", json=body)
        assert response.status_code == 200, response.text
        return read_columns(response.content)

    def facts(self, *runs: str) -> list[Any]:
        return self.post("runs", runs=runs)[0]["runs"]

    def tags(self, *runs: str) -> list[Any]:
        """The tags of each run with their types."""
        header, _ = self.post("runs", runs=runs)
        return [header["tag_sets"][run["tag_set"]] for run in header["runs"]]

    def texts(self, tag: str, base: str | None, *runs: str) -> list[Any]:
        return self.post("texts", tag=tag, base=base, runs=runs)[0]

    def is_active(self) -> bool:
        return self.client.get("data/plugins_listing").json()["compare"]


@pytest.fixture
def make_api(tbcore_logdir: Path, tbcore_client: MakeClient) -> Callable[[], Api]:
    """Makes a client that serves what was written so far."""
    return lambda: Api(tbcore_client(tbcore_logdir, plugins=[tbcore_compare]))


def test_it_is_active_with_two_runs_that_have_anything(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    assert not make_api().is_active()
    write_run(tbcore_logdir, "a", scalars={"loss": [1.0]})
    write_run(tbcore_logdir, "pictures", images={"i": [summaries.png()]})
    assert not make_api().is_active()
    write_run(tbcore_logdir, "b", texts={"config": ["lr: 1"]})
    assert make_api().is_active()


def test_values_are_those_of_the_series(tbcore_logdir: Path, make_api: Callable[[], Api]) -> None:
    """The last value, and the first lowest and highest finite ones, with their steps."""
    series: dict[str, list[tuple[int, float]]] = {
        "loss": [(0, 0.5), (10, 0.25), (20, 0.25), (30, 0.75)],
        "nan": [(0, 2.0), (5, NAN), (6, INF), (7, -INF), (8, NAN)],
        "only inf": [(3, INF), (4, INF)],
    }
    write_run(tbcore_logdir, "a", scalars=series)
    write_run(tbcore_logdir, "b", scalars={"loss": [0.125]})
    api = make_api()
    tags = ["loss", "nan", "only inf", "none"]
    header, tables = api.post("values", runs=["a", "b", "gone"], tags=tags)
    assert header == {"runs": ["a", "b", "gone"], "tags": tags}
    rows = {name: column.tolist() for name, column in tables[0].items()}
    assert rows["tag"] == [0, 1, 2]
    assert rows["count"] == [4, 5, 2]
    assert rows["nonfinite"] == [0, 4, 2]
    assert rows["last"][0] == 0.75
    assert math.isnan(rows["last"][1])
    assert rows["last"][2] == INF
    assert rows["last_step"] == [30, 8, 4]
    assert rows["min"][:2] == [0.25, 2.0]
    assert math.isnan(rows["min"][2])
    assert rows["min_step"][:2] == [10, 0]
    assert math.isnan(rows["min_step"][2])
    assert rows["max"][:2] == [0.75, 2.0]
    assert rows["max_step"][:2] == [30, 0]
    for index, tag in enumerate(tags[:2]):
        own = api.client.multiplexer.scalars("a", tag)
        assert own.min is not None
        assert own.last is not None
        assert own.max is not None
        found = [rows[name][index] for name in ("min_step", "last_step", "max_step")]
        assert found == [own.min.step, own.last.step, own.max.step]
    assert tables[1]["tag"].tolist() == [0]
    assert len(tables[2]["tag"]) == 0


def test_hyperparameters_have_their_types_and_are_unfolded(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    hparams = {"lr": 0.1, "amp": True, "name": "adam", "optim": {"betas": [0.5, 1], "eps": 1.0}}
    write_run(tbcore_logdir, "a", hparams=hparams)
    write_run(tbcore_logdir, "b", scalars={"loss": [1.0]})
    with_hparams, without = make_api().facts("a", "b")
    assert with_hparams["hparams"] == {
        "source": "a",
        "rows": [
            [["amp"], "bool", True],
            [["lr"], "number", 0.1],
            [["name"], "text", "adam"],
            [["optim", "betas"], "list", "[0.5,1]"],
            [["optim", "eps"], "number", 1.0],
        ],
    }
    assert without["hparams"] is None


def test_mappings_are_in_the_order_of_their_names(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    """On disk they have none, so that equal ones would differ."""
    names = [f"n{i}" for i in range(9)]
    inner = dict.fromkeys(names, 1.0)
    write_run(tbcore_logdir, "a", hparams={"map": inner, "list": [inner]})
    (run,) = make_api().facts("a")
    rows = run["hparams"]["rows"]
    assert rows[0][2] == json.dumps([dict.fromkeys(names, 1)], separators=(",", ":"))
    assert [path for path, _, _ in rows[1:]] == [["map", name] for name in names]


def test_hyperparameters_are_inherited_as_in_queries(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    """From the nearest run above, or from the only run below that logged any."""
    write_run(tbcore_logdir, "keras", hparams={"lr": 0.5})
    write_run(tbcore_logdir, "keras/train", scalars={"loss": [1.0]})
    write_run(tbcore_logdir, "torch", scalars={"loss": [1.0]})
    write_run(tbcore_logdir, "torch/1700", hparams={"lr": 0.25})
    write_run(tbcore_logdir, "torch/1700/deep", scalars={"loss": [1.0]})
    write_run(tbcore_logdir, "two", scalars={"loss": [1.0]})
    write_run(tbcore_logdir, "two/x", hparams={"lr": 1.0})
    write_run(tbcore_logdir, "two/y", hparams={"lr": 2.0})
    names = ["keras", "keras/train", "torch", "torch/1700/deep", "two"]
    sources = [(run["hparams"] or {}).get("source") for run in make_api().facts(*names)]
    assert sources == ["keras", "keras", "torch/1700", "torch/1700", None]


def test_hyperparameters_that_cannot_be_decoded_are_reported(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    damaged = summaries.metadata_only("_hparams_/session_start_info", "hparams", b"\xff")
    write_run(tbcore_logdir, "a", values=[damaged], scalars={"loss": [1.0]})
    (run,) = make_api().facts("a")
    assert run["hparams"] is None
    assert "cannot be decoded" in run["hparams_error"]
    assert run["times"]["step"] == 0


def test_tags_have_their_types(tbcore_logdir: Path, make_api: Callable[[], Api]) -> None:
    write_run(
        tbcore_logdir,
        "a",
        scalars={"loss": [1.0]},
        texts={"config": ["x"]},
        images={"i": [summaries.png()]},
        histograms={"h": [[1.0]]},
        audio={"s": [summaries.wav()]},
        values=[summaries.pr_curve("pr", [True], [0.5])],
        graph=graphs.graph_def([]),
        hparams={"lr": 1.0},
    )
    write_run(tbcore_logdir, "b", scalars={"loss": [1.0]})
    a, b, gone = make_api().tags("a", "b", "gone")
    assert sorted(a) == [
        ["", "graph"], ["config", "text"], ["h", "histogram"], ["i", "image"], ["loss", "scalar"],
        ["pr", "other"], ["s", "audio"],
    ]  # fmt: skip
    assert b == [["loss", "scalar"]]
    assert gone == []


def test_times_are_those_of_the_scalars(tbcore_logdir: Path, make_api: Callable[[], Api]) -> None:
    points = [(10, 0.5, 1_700_000_000.0), (20, 0.5, 1_700_000_060.0)]
    late = [(30, 0.5, 1_700_000_090.0)]
    write_run(tbcore_logdir, "a", scalars={"loss": points, "late": late})
    write_run(tbcore_logdir, "b", texts={"config": ["x"]})
    a, b, gone = make_api().facts("a", "b", "gone")
    assert a["times"] == {"first": 1_700_000_000.0, "last": 1_700_000_090.0, "step": 30}
    assert (b["exists"], b["times"]) == (True, None)
    assert (gone["exists"], gone["times"]) == (False, None)


def test_texts_differ_by_line(tbcore_logdir: Path, make_api: Callable[[], Api]) -> None:
    """The last ones; JSON by value, and an array by its rows."""
    old, new = "lr: 1\nseed: 0\nname: a", "lr: 2\nseed: 0\nname: a"
    write_run(tbcore_logdir, "a", texts={"c": ["before", old], "j": ['{"x": 1.0, "y": [2]}']})
    write_run(tbcore_logdir, "b", texts={"c": [(7, new)], "j": ['{"y": [2], "x": 1}']})
    write_run(tbcore_logdir, "rows", texts={"c": [[["lr: 2"], ["seed: 0"]]]})
    api = make_api()
    a, b, rows, gone = api.texts("c", "a", "a", "b", "rows", "gone")
    assert (a["same"], a["step"], a["lines"]) == (True, 1, [])
    assert (b["same"], b["step"]) == (False, 7)
    assert b["lines"] == [
        ["removed", "lr: 1"], ["added", "lr: 2"], ["same", "seed: 0"], ["same", "name: a"],
    ]  # fmt: skip
    assert (b["removed"], b["added"]) == (1, 1)
    assert rows["lines"][-1] == ["removed", "name: a"]
    assert "gone" in gone["error"]
    (as_json,) = api.texts("j", "a", "b")
    assert (as_json["same"], as_json["lines"]) == (False, [])
    (whole,) = api.texts("c", None, "b")
    assert whole["lines"] == [["added", line] for line in new.split("\n")]
    (unknown,) = api.texts("c", "gone", "b")
    assert unknown["error"].startswith("the baseline's text cannot be read: ")


def test_the_counts_of_a_long_text_are_of_all_its_lines(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    """Also of those that are not shown."""
    write_run(tbcore_logdir, "a", texts={"c": ["\n".join(f"old {n}" for n in range(1500))]})
    write_run(tbcore_logdir, "b", texts={"c": ["\n".join(f"new {n}" for n in range(700))]})
    (found,) = make_api().texts("c", "a", "b")
    assert (found["removed"], found["added"]) == (1500, 700)
    assert (len(found["lines"]), found["num_more"]) == (1000, 1200)


def test_curves_say_how_many_points_they_have(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    """A restart begins a segment, and a run without the tag is left out."""
    long = [(step, float(step == 7777)) for step in range(10 * MAX_POINTS)]
    write_run(tbcore_logdir, "long", scalars={"loss": long})
    restarted = [(step % 10, 1.0) for step in range(20)]
    write_run(tbcore_logdir, "other", scalars={"acc": [1.0]})
    write_run(tbcore_logdir, "short", scalars={"loss": restarted})
    header, (first, second) = make_api().post("curves", runs=["long", "other", "short"], tag="loss")
    assert [(curve["run"], curve["num_points"]) for curve in header] == [
        ("long", 10 * MAX_POINTS), ("short", 20),
    ]  # fmt: skip
    assert len(first["step"]) <= MAX_POINTS
    assert first["step"][first["value"].argmax()] == 7777
    assert header[1]["segments"] == [10]
    assert second["step"].tolist() == [step for step, _ in restarted]


def test_the_band_of_a_group_is_interpolated_and_counts_runs(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    """Before a run's first and after its last point it has no value; a restart replaces points."""
    write_run(tbcore_logdir, "a", scalars={"loss": [(0, 1.0), (10, 3.0), (20, NAN)]})
    write_run(tbcore_logdir, "b", scalars={"loss": [(5, 4.0), (9, 9.0), (8, 8.0), (10, 9.0)]})
    write_run(tbcore_logdir, "c", scalars={"acc": [1.0]})
    groups = [["a", "b", "c", "gone"], ["c"]]
    header, (band, nothing) = make_api().post("bands", groups=groups, tag="loss", average="mean")
    assert header == [{"num_runs": 2, "num_steps": 5}, {"num_runs": 0, "num_steps": 0}]
    assert not nothing
    assert band["step"].tolist() == [0, 5, 8, 10, 20]
    assert band["mean"][:4].tolist() == pytest.approx([1.0, 3.0, 5.3, 6.0])
    deviation = [half / 2**0.5 for half in (0.0, 2.0, 5.4, 6.0)]
    assert band["low"][:4] == pytest.approx(band["mean"][:4] - deviation)
    assert band["high"][:4] == pytest.approx(band["mean"][:4] + deviation)
    assert band["count"].tolist() == [1, 2, 2, 2, 0]
    assert band["nonfinite"].tolist() == [0, 0, 0, 0, 1]


def test_the_band_of_long_runs_has_some_steps_with_both_ends(
    tbcore_logdir: Path, make_api: Callable[[], Api]
) -> None:
    for run, offset in (("a", 0.0), ("b", 2.0)):
        write_run(tbcore_logdir, run, scalars={"x": [float(i) + offset for i in range(5001)]})
    header, (band,) = make_api().post("bands", groups=[["a", "b"]], tag="x", average="median")
    assert header == [{"num_runs": 2, "num_steps": 5001}]
    assert len(band["step"]) == MAX_STEPS
    assert band["step"][[0, -1]].tolist() == [0, 5000]
    assert band["mean"].tolist() == (band["step"] + 1).tolist()


@pytest.mark.parametrize(
    ("route", "body", "message"),
    [
        ("runs", {}, '"runs"'),
        ("runs", {"runs": [f"r{i}" for i in range(1001)]}, "at most 1000 runs"),
        ("values", {"runs": ["a"], "tags": "loss"}, '"tags"'),
        ("values", {"runs": ["a"] * 9 + ["b"], "tags": ["t"] * 10_001}, "at most 20000 values"),
        ("texts", {"runs": ["a"], "base": "a"}, '"tag"'),
        ("texts", {"runs": ["a"], "tag": "t", "base": 1}, '"base"'),
        ("curves", {"runs": ["a"]}, '"tag"'),
        ("bands", {"groups": [["a"]], "tag": "t", "average": "sum"}, '"average"'),
        ("bands", {"groups": "a", "tag": "t", "average": "mean"}, '"groups"'),
        ("bands", {"groups": ["a"], "tag": "t", "average": "mean"}, '"groups"'),
        ("bands", {"groups": [["a"] * 1001], "tag": "t", "average": "mean"}, "at most 1000"),
    ],
)
def test_a_wrong_request_is_refused_in_a_line(
    make_api: Callable[[], Api], route: str, body: Any, message: str
) -> None:
    response = make_api().client.post(f"data/plugin/compare/{route}", json=body)
    assert response.status_code == 400
    assert message in response.text
    assert response.text.count("\n") <= 1
