"""Session groups: which sessions make them, and how they are filtered, sorted and sliced."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tbcore.testing import EventFileWriter, summaries, write_run

LOSS = {"tag": "loss"}
EVAL_LOSS = {"group": "eval", "tag": "loss"}


@pytest.fixture
def five(write_session: Any, asking: Callable[[], Any]) -> Any:
    """Three sessions of one group, one that names its own, and one that names none."""
    common = {"lr": 0.5, "opt": "adam", "flag": True}
    for name, loss, step in (("s1", 0.4, 10), ("s2", 0.2, 9), ("s5", 0.3, 8)):
        status = {"s1": 1, "s2": 2}.get(name)
        write_session(
            name, common, group="g1", status=status, scalars={"loss": [(step, loss, 100.0 + step)]}
        )
    write_session("s3", {"lr": 0.25, "opt": "sgd", "flag": False}, status=1)
    write_session("s4", {"lr": 1, "opt": "Adam"}, group="g4", scalars={"loss": [2.0]})
    return asking()


def metric_values(entry: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Any, int]]:
    return {
        (m["name"]["group"], m["name"]["tag"]): (m["value"], m["trainingStep"])
        for m in entry["metricValues"]
    }


# Groups ------------------------------------------------------------------------------------------


def test_sessions_that_name_a_group_are_one(five: Any) -> None:
    """In the order of names; a session that names none is a group of its own."""
    answer = five.groups()

    found = {g["name"]: [s["name"] for s in g["sessions"]] for g in answer["sessionGroups"]}
    assert found == {"g1": ["s1", "s2", "s5"], "g4": ["s4"], "s3": ["s3"]}
    assert list(found) == ["g1", "g4", "s3"]
    assert answer["totalSize"] == 3


def test_only_sessions_with_an_allowed_status_make_groups(five: Any) -> None:
    """By name or number; with none allowed there is nothing."""
    unknown = five.groups(allowedStatuses=["STATUS_UNKNOWN"])["sessionGroups"]
    assert [(g["name"], [s["name"] for s in g["sessions"]]) for g in unknown] == [
        ("g1", ["s5"]),
        ("g4", ["s4"]),
    ]
    assert five.names(allowedStatuses=[2, "STATUS_SUCCESS"]) == ["g1", "s3"]
    assert five.post("session_groups", {}) == {"sessionGroups": [], "totalSize": 0}
    assert five.groups(allowedStatuses=[77]) == {"sessionGroups": [], "totalSize": 0}


def test_a_group_has_the_hyperparameters_of_its_first_session(
    write_session: Any, asking: Callable[[], Any]
) -> None:
    """First by name, of those that are allowed; and its monitor."""
    write_session("b", {"x": 2}, group="g", monitor_url="http://m/b", status=1)
    write_session("a", {"x": 1}, group="g", monitor_url="http://m/a")
    asked = asking()

    [group] = asked.groups()["sessionGroups"]
    assert (group["hparams"], group["monitorUrl"]) == ({"x": 1.0}, "http://m/a")
    [group] = asked.groups(allowedStatuses=["STATUS_SUCCESS"])["sessionGroups"]
    assert (group["hparams"], group["monitorUrl"]) == ({"x": 2.0}, "http://m/b")


def test_a_session_tells_what_it_logged(write_session: Any, asking: Callable[[], Any]) -> None:
    """Also a status that has no name yet."""
    write_session(
        "s", {"x": 1}, start=1.5, status=2, end=9.25, model_uri="file:///m", monitor_url="http://m"
    )
    write_session("t", {"x": 1}, status=9)

    [group, other] = asking().groups(allowedStatuses=[2, 9])["sessionGroups"]

    assert group["sessions"] == [
        {
            "name": "s",
            "startTimeSecs": 1.5,
            "endTimeSecs": 9.25,
            "status": "STATUS_FAILURE",
            "modelUri": "file:///m",
            "metricValues": [],
            "monitorUrl": "http://m",
        }
    ]
    assert other["sessions"][0]["status"] == 9


def test_the_last_end_of_a_session_counts(
    tbcore_logdir: Path, write_session: Any, asking: Callable[[], Any]
) -> None:
    """A job that goes on after an interruption ends again."""
    write_session("s", {"x": 1}, status=2, end=1.0)
    asked = asking()
    assert asked.groups()["sessionGroups"][0]["sessions"][0]["status"] == "STATUS_FAILURE"

    write_session("s", {"x": 9}, status=1, end=2.0)
    asked.client.reload()
    [group] = asked.groups()["sessionGroups"]
    assert (group["sessions"][0]["status"], group["sessions"][0]["endTimeSecs"]) == (
        "STATUS_SUCCESS",
        2.0,
    )
    assert group["hparams"] == {"x": 1.0}

    # Its file is gone: the one that is in memory counts.
    for path in (tbcore_logdir / "s").glob("*.000001"):
        path.write_bytes(b"")
    asked.client.reload()
    assert asked.groups()["sessionGroups"][0]["sessions"][0]["status"] == "STATUS_FAILURE"


def test_values_have_the_type_they_were_logged_with(
    write_session: Any, asking: Callable[[], Any]
) -> None:
    """Those that JSON does not have are not there."""
    logged = {
        "number": 1, "text": 'a"b\\\n', "yes": True, "no": False, "null": None,
        "list": [1, "a", [True]], "object": {"a": {"b": 1}}, "": "empty name",
    }  # fmt: skip
    lacking = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    write_session("s", logged | lacking)

    [group] = asking().groups()["sessionGroups"]

    assert group["hparams"] == {**logged, "number": 1.0}
    assert isinstance(group["hparams"]["yes"], bool)


# Metrics -----------------------------------------------------------------------------------------


def test_metrics_are_found_in_runs_below_the_session(
    tbcore_logdir: Path, write_session: Any, asking: Callable[[], Any]
) -> None:
    """The path in between is the group; a run that is below two sessions belongs to the nearest."""
    write_session("exp/s1", {"x": 1}, scalars={"loss": [0.5]})
    write_session("exp/s1/inner", {"x": 2}, scalars={"loss": [0.125]})
    write_run(tbcore_logdir, "exp/s1/eval", scalars={"loss": [0.25, 0.75]})
    write_run(tbcore_logdir, "exp/s1/val/deep", scalars={"acc": [1.0]})
    write_run(tbcore_logdir, "exp/s10", scalars={"elsewhere": [1.0]})
    write_run(tbcore_logdir, "exp", scalars={"above": [1.0]})
    asked = asking()

    assert [info["name"] for info in asked.post("experiment", {})["metricInfos"]] == [
        {"group": "val/deep", "tag": "acc"},
        {"group": "", "tag": "loss"},
        {"group": "eval", "tag": "loss"},
    ]
    first, inner = asked.groups()["sessionGroups"]
    assert metric_values(first) == {
        ("val/deep", "acc"): (1.0, 0),
        ("", "loss"): (0.5, 0),
        ("eval", "loss"): (0.75, 1),
    }
    assert metric_values(inner) == {("", "loss"): (0.125, 0)}


def test_the_root_run_is_a_session_like_any_other(
    tbcore_logdir: Path, write_session: Any, asking: Callable[[], Any]
) -> None:
    """It is above every run that no other session is above."""
    write_session(".", {"x": 1}, scalars={"loss": [0.5]})
    write_session("s", {"x": 2}, scalars={"loss": [0.25]})
    write_run(tbcore_logdir, "val", scalars={"loss": [0.125]})
    write_run(tbcore_logdir, "s/val", scalars={"loss": [0.0625]})
    asked = asking()

    root, other = asked.groups()["sessionGroups"]
    assert root["name"] == "."
    assert metric_values(root) == {("", "loss"): (0.5, 0), ("val", "loss"): (0.125, 0)}
    assert metric_values(other) == {("", "loss"): (0.25, 0), ("val", "loss"): (0.0625, 0)}
    for group, value in (("", 0.5), ("val", 0.125), ("/val/", 0.125)):
        question = {"sessionName": ".", "metricName": {"group": group, "tag": "loss"}}
        assert [row[2] for row in asked.post("metric_evals", question)] == [value]


def test_a_metric_of_the_experiment_may_begin_with_a_slash(
    tbcore_logdir: Path, write_session: Any, write_experiment: Any, asking: Callable[[], Any]
) -> None:
    """And stays as it was written."""
    groups = ("/val", "val/", "./val", "")
    write_experiment(".", metrics=[(group, "loss") for group in groups])
    write_session("s", {"x": 1})
    write_run(tbcore_logdir, "s/val", scalars={"loss": [0.5]})

    [group] = asking().groups()["sessionGroups"]

    assert list(metric_values(group)) == [("/val", "loss"), ("val/", "loss"), ("./val", "loss")]
    assert set(metric_values(group).values()) == {(0.5, 0)}


def test_a_value_is_the_last_one_logged(
    tbcore_logdir: Path, write_session: Any, asking: Callable[[], Any]
) -> None:
    """As a tensor too, with its own step and time; a large step is exact; NaN is a value."""
    write_session("s")
    with EventFileWriter(tbcore_logdir / "s" / "z.tfevents") as writer:
        writer.add_scalar("a", 1.0, 1)
        writer.add_scalar("a", 0.1, 2**40 + 1, wall_time=5.5, dtype="float64")
        writer.add_scalar("nan", math.nan, 1)
        writer.add_scalar("inf", -math.inf, 1)
        writer.add_summary(0, summaries.scalar("ints", 7, dtype="int64"))

    asked = asking()
    # A session without any hyperparameter has none to be compared by, but it is a session.
    assert asked.post("experiment", {})["metricInfos"] == []
    assert asked.names() == ["s"]

    write_session("t", {"x": 1})
    asked.client.reload()
    [group, _] = asked.groups()["sessionGroups"]
    assert metric_values(group) == {
        ("", "a"): (0.1, 2**40 + 1),
        ("", "inf"): ("-Infinity", 1),
        ("", "ints"): (7.0, 0),
        ("", "nan"): ("NaN", 1),
    }
    assert group["metricValues"][0]["wallTimeSecs"] == 5.5
    assert group["metricValues"] == group["sessions"][0]["metricValues"]


def test_metrics_can_be_left_out(five: Any) -> None:
    """Then no metric filters, sorts or aggregates."""
    answer = five.groups(
        {"metric": LOSS, "excludeMissingValues": False, "filterInterval": {}},
        {"metric": LOSS, "order": "ORDER_DESC"},
        includeMetrics=False,
        aggregationType="AGGREGATION_MIN",
        aggregationMetric=LOSS,
    )

    assert [group["name"] for group in answer["sessionGroups"]] == ["g1", "g4", "s3"]
    for group in answer["sessionGroups"]:
        assert group["metricValues"] == []
        assert all(session["metricValues"] == [] for session in group["sessions"])


# Aggregation -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["AGGREGATION_AVG", "AGGREGATION_UNSET", 1, None])
def test_the_average_is_over_the_sessions_that_have_the_metric(five: Any, how: Any) -> None:
    """Of steps it is rounded down."""
    groups = five.groups(aggregationType=how)["sessionGroups"]

    assert metric_values(groups[0]) == {("", "loss"): (pytest.approx(0.30000000695387524), 9)}
    assert groups[0]["metricValues"][0]["wallTimeSecs"] == 109.0
    assert groups[2]["metricValues"] == []


@pytest.mark.parametrize(
    ("how", "value", "step"),
    [("MIN", 0.2, 9), ("MAX", 0.4, 10), ("MEDIAN", 0.3, 8)],
)
def test_one_session_stands_for_its_group(five: Any, how: str, value: float, step: int) -> None:
    """By the metric that is named; a group whose sessions lack it has no values."""
    groups = five.groups(aggregationType=f"AGGREGATION_{how}", aggregationMetric=LOSS)

    first, other, without = groups["sessionGroups"]
    assert metric_values(first) == {("", "loss"): (pytest.approx(value), step)}
    assert metric_values(other) == {("", "loss"): (2.0, 0)}
    assert without["metricValues"] == []
    missing = five.groups(aggregationType=f"AGGREGATION_{how}", aggregationMetric=EVAL_LOSS)
    assert [group["metricValues"] for group in missing["sessionGroups"]] == [[], [], []]


def test_whoever_stands_for_a_group_brings_what_it_has(
    write_session: Any, asking: Callable[[], Any]
) -> None:
    """And not what others have. Of equal ones it is the first; of four the second lowest."""
    for name, loss, other in (("a", 4, "p"), ("b", 1, "q"), ("c", 1, "r"), ("d", 3, "s")):
        write_session(name, {"x": 1}, group="g", scalars={"loss": [float(loss)], other: [0.5]})
    asked = asking()

    for how, tag in (("MIN", "q"), ("MAX", "p"), ("MEDIAN", "r")):
        answer = asked.groups(aggregationType=f"AGGREGATION_{how}", aggregationMetric=LOSS)
        [group] = answer["sessionGroups"]
        assert [m["name"]["tag"] for m in group["metricValues"]] == ["loss", tag]


def test_a_session_with_nan_stands_for_its_group_only_if_all_have_it(
    write_session: Any, asking: Callable[[], Any]
) -> None:
    """The average of it is NaN."""
    for name, group, loss in (
        ("a", "g", math.nan), ("b", "g", 2.0), ("c", "g", 1.0), ("d", "h", math.nan),
    ):  # fmt: skip
        write_session(name, {"x": 1}, group=group, scalars={"loss": [loss]})
    asked = asking()

    for how, value in (("MIN", 1.0), ("MAX", 2.0), ("MEDIAN", 1.0), ("AVG", "NaN")):
        answer = asked.groups(aggregationType=f"AGGREGATION_{how}", aggregationMetric=LOSS)
        assert [g["metricValues"][0]["value"] for g in answer["sessionGroups"]] == [value, "NaN"]


def test_metrics_of_a_group_come_in_the_order_in_which_its_sessions_have_them(
    write_session: Any, asking: Callable[[], Any]
) -> None:
    """As today's server tells them."""
    write_session("a", {"x": 1}, group="g", scalars={"m3": [1.0], "m1": [1.0]})
    write_session("b", {"x": 1}, group="g", scalars={"m2": [1.0], "m3": [2.0]})

    [group] = asking().groups()["sessionGroups"]

    assert [m["name"]["tag"] for m in group["metricValues"]] == ["m1", "m3", "m2"]


# Filters -----------------------------------------------------------------------------------------


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"hparam": "opt"}, ["g1", "g4", "s3"]),
    ({"hparam": "opt", "filterRegexp": "da"}, ["g1", "g4"]),
    ({"hparam": "opt", "filterRegexp": "^a"}, ["g1"]),
    ({"hparam": "opt", "filterRegexp": ""}, ["g1", "g4", "s3"]),
    ({"hparam": "opt", "filterRegexp": "(?i)^ADAM$"}, ["g1", "g4"]),
    ({"hparam": "opt", "filterDiscrete": ["sgd", "x"]}, ["s3"]),
    ({"hparam": "opt", "filterDiscrete": []}, []),
    ({"hparam": "opt", "filterDiscrete": [None, 1, ["adam"], {"a": 1}]}, []),
    ({"hparam": "lr", "filterInterval": {"minValue": 0.25, "maxValue": 0.5}}, ["g1", "s3"]),
    ({"hparam": "lr", "filterInterval": {}}, []),
    ({"hparam": "lr", "filterInterval": {"maxValue": "Infinity"}}, ["g1", "g4", "s3"]),
    ({"hparam": "lr", "filterInterval": {"minValue": "-Infinity", "maxValue": 0.3}}, ["s3"]),
    ({"hparam": "lr", "filterDiscrete": [True]}, ["g4"]),
    ({"hparam": "flag", "filterDiscrete": [1]}, ["g1", "g4"]),
    ({"hparam": "flag", "filterDiscrete": [1], "excludeMissingValues": True}, ["g1"]),
    ({"hparam": "flag", "filterDiscrete": [False]}, ["g4", "s3"]),
    ({"hparam": "flag", "filterInterval": {"minValue": 1, "maxValue": 2}}, ["g1", "g4"]),
    ({"hparam": "flag", "excludeMissingValues": True}, ["g1", "s3"]),
    ({"hparam": "nobody", "excludeMissingValues": True}, []),
    ({"hparam": "nobody", "filterRegexp": "x"}, ["g1", "g4", "s3"]),
    ({"metric": LOSS, "filterInterval": {"minValue": 1, "maxValue": 2}}, ["g4", "s3"]),
    ({"metric": LOSS, "excludeMissingValues": True}, ["g1", "g4"]),
    ({"metric": LOSS, "filterDiscrete": [2]}, ["g4", "s3"]),
    ({"metric": EVAL_LOSS, "excludeMissingValues": True}, []),
    ({"metric": {}, "excludeMissingValues": True}, []),
]


@pytest.mark.parametrize(("column", "names"), FILTERS, ids=lambda value: json.dumps(value))
def test_what_passes_a_filter(five: Any, column: dict[str, Any], names: list[str]) -> None:
    """Groups that lack the value pass, unless they are excluded."""
    answer = five.groups(column)

    assert [group["name"] for group in answer["sessionGroups"]] == names
    assert answer["totalSize"] == len(names)


def test_all_filters_must_be_passed(five: Any) -> None:
    """One column may have two."""
    column = {"hparam": "lr", "filterInterval": {"minValue": 0.3, "maxValue": 2}}
    assert five.names(column, {"hparam": "opt", "filterRegexp": "a"}) == ["g1", "g4"]
    assert five.names(column, {"hparam": "lr", "filterDiscrete": [1]}) == ["g4"]


def test_nan_passes_no_interval(write_session: Any, asking: Callable[[], Any]) -> None:
    """It is not missing either. An infinity does."""
    for name, loss in (("a", math.nan), ("b", math.inf), ("c", 1.0)):
        write_session(name, {"x": 1}, scalars={"loss": [loss]})
    everything = {"minValue": "-Infinity", "maxValue": "Infinity"}
    asked = asking()

    assert asked.names({"metric": LOSS, "filterInterval": everything}) == ["b", "c"]
    assert asked.names({"metric": LOSS, "filterDiscrete": ["NaN"]}) == []
    assert asked.names({"metric": LOSS, "excludeMissingValues": True}) == ["a", "b", "c"]


def test_a_hyperparameter_that_json_lacks_is_missing(
    write_session: Any, asking: Callable[[], Any]
) -> None:
    """NaN, infinities, null, lists and objects: they pass filters as what is not there does."""
    for name, value in (("a", math.nan), ("b", math.inf), ("c", None), ("d", [1]), ("e", {"a": 1})):
        write_session(name, {"x": value, "y": 1})
    write_session("f", {"x": 1, "y": 1})
    asked = asking()

    assert asked.names({"hparam": "x", "excludeMissingValues": True}) == ["f"]
    assert asked.names({"hparam": "x", "filterDiscrete": []}) == ["a", "b", "c", "d", "e"]
    assert asked.names({"hparam": "x", "order": "ORDER_ASC"}) == ["f", "a", "b", "c", "d", "e"]


# Order and slices --------------------------------------------------------------------------------


ORDERS: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([{"hparam": "lr", "order": "ORDER_ASC"}], ["s3", "g1", "g4"]),
    ([{"hparam": "lr", "order": 2}], ["g4", "g1", "s3"]),
    ([{"hparam": "opt", "order": "ORDER_ASC"}], ["g4", "g1", "s3"]),
    ([{"hparam": "flag", "order": "ORDER_ASC"}], ["s3", "g1", "g4"]),
    ([{"hparam": "flag", "order": "ORDER_DESC"}], ["g1", "s3", "g4"]),
    (
        [{"hparam": "flag", "order": "ORDER_ASC", "missingValuesFirst": True}],
        ["g4", "s3", "g1"],
    ),
    (
        [{"hparam": "flag", "order": "ORDER_DESC", "missingValuesFirst": True}],
        ["g4", "g1", "s3"],
    ),
    ([{"metric": LOSS, "order": "ORDER_ASC"}], ["g1", "g4", "s3"]),
    ([{"metric": LOSS, "order": "ORDER_DESC"}], ["g4", "g1", "s3"]),
    ([{"hparam": "lr", "order": 0, "missingValuesFirst": True}], ["g1", "g4", "s3"]),
    ([{"hparam": "nobody", "order": "ORDER_DESC"}], ["g1", "g4", "s3"]),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "names"), ORDERS, ids=lambda value: json.dumps(value))
def test_order(five: Any, columns: list[dict[str, Any]], names: list[str]) -> None:
    """Missing values are where they are wanted, in both directions."""
    assert five.names(*columns) == names


def test_of_several_columns_the_first_is_the_most_significant(
    write_session: Any, asking: Callable[[], Any]
) -> None:
    """What is equal stays in ascending order of names, also when descending."""
    for name, x, y in (("a", 1, 2), ("b", 2, 1), ("c", 1, 1), ("d", 2, 1), ("e", 1, 2)):
        write_session(name, {"x": x, "y": y})
    asked = asking()

    def ordered(**orders: str) -> str:
        return "".join(
            asked.names(*({"hparam": k, "order": f"ORDER_{v}"} for k, v in orders.items()))
        )

    assert ordered(x="ASC", y="ASC") == "caebd"
    assert ordered(x="DESC", y="ASC") == "bdcae"
    assert ordered(y="DESC", x="DESC") == "aebdc"
    assert ordered(x="DESC") == "bdace"


def test_types_and_nan_have_their_place_in_an_order(
    write_session: Any, asking: Callable[[], Any]
) -> None:
    """A boolean is less than a number, that is less than a text; NaN is above all numbers."""
    values = {"a": "x", "b": 2, "c": True, "d": -1, "e": False, "f": "B", "h": 10}
    for name, value in values.items():
        write_session(name, {"x": value})
    write_session("g", {"y": 1})
    for name, loss in (("a", math.nan), ("b", math.inf), ("c", 0.5), ("d", -math.inf)):
        write_session(name, scalars={"loss": [loss]})
    asked = asking()

    by = {"hparam": "x", "order": "ORDER_ASC"}
    assert "".join(asked.names(by)) == "ecdbhfag"
    assert "".join(asked.names(by | {"order": "ORDER_DESC"})) == "afhbdceg"
    by = {"metric": LOSS, "order": "ORDER_ASC"}
    assert "".join(asked.names(by)) == "dcbaefgh"
    assert "".join(asked.names(by | {"order": "ORDER_DESC"})) == "abcdefgh"
    assert "".join(asked.names(by | {"missingValuesFirst": True})) == "efghdcba"


@pytest.mark.parametrize(
    ("start", "size", "names"),
    [
        (0, 2, ["g1", "g4"]),
        (1, 1, ["g4"]),
        (2, 5, ["s3"]),
        (3, 5, []),
        (0, 0, []),
        (-2, 1, ["g1"]),
        (0, -1, []),
        (2**31 - 1, 2**31 - 1, []),
        ("1", "1", ["g4"]),
        (None, None, []),
    ],
)
def test_slices(five: Any, start: Any, size: Any, names: list[str]) -> None:
    """The total is that of all that pass."""
    answer = five.groups(startIndex=start, sliceSize=size)

    assert [group["name"] for group in answer["sessionGroups"]] == names
    assert answer["totalSize"] == 3


# What is told ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ([], {"lr", "opt", "flag"}),
        ([{"hparam": "lr"}], {"lr", "opt", "flag"}),
        ([{"hparam": "lr", "includeInResult": True}], {"lr"}),
        ([{"hparam": "lr", "includeInResult": True}, {"hparam": "opt"}], {"lr", "opt"}),
        ([{"hparam": "lr", "includeInResult": False}, {"hparam": "opt"}], {"opt"}),
        ([{"hparam": "lr", "includeInResult": False}], set()),
        ([{"metric": LOSS, "includeInResult": True}], set()),
    ],
)
def test_only_hyperparameters_that_are_wanted_are_told(
    five: Any, columns: list[dict[str, Any]], names: set[str]
) -> None:
    """As soon as one column says so. Metrics stay."""
    group = five.groups(*columns)["sessionGroups"][0]

    assert set(group["hparams"]) == names
    assert len(group["metricValues"]) == 1


def test_a_get_answers_as_a_post(five: Any) -> None:
    """The message is the parameter `request` then; names may be those of the fields."""
    body = {"allowed_statuses": [0, 1, 2, 3], "slice_size": "2", "col_params": [{"hparam": "lr"}]}
    path = "data/plugin/hparams/session_groups"
    posted = five.client.post(
        path, content=json.dumps(body), headers={"Content-Type": "text/plain"}
    )
    got = five.client.get(f"{path}/?request={quote(json.dumps(body))}")

    assert posted.json() == got.json() == five.groups({"hparam": "lr"}, sliceSize=2)
    assert got.headers["content-type"] == "application/json"
    assert five.client.head(f"{path}?request={quote(json.dumps(body))}").status_code == 200


@pytest.mark.parametrize(
    "name", ['<img src=x onerror="alert(1)">', "a b%2F?&#", "é\u202e日本", "x" * 200]
)
def test_names_can_be_anything(
    name: str, tbcore_logdir: Path, write_session: Any, asking: Callable[[], Any]
) -> None:
    """Those of runs, hyperparameters, groups and metrics."""
    write_session("s", {name: name}, group=name, scalars={name: [0.5]})
    write_session(f"dir/{name.replace('/', '')}", {name: "x"})
    asked = asking()

    [own, other] = sorted(asked.groups()["sessionGroups"], key=lambda g: g["name"] != name)
    assert (own["name"], own["hparams"]) == (name, {name: name})
    assert own["metricValues"][0]["name"] == {"group": "", "tag": name}
    assert other["sessions"][0]["name"] == f"dir/{name.replace('/', '')}"
    assert asked.names({"hparam": name, "filterDiscrete": [name]}) == [name]
    question = {"sessionName": "s", "metricName": {"tag": name}}
    assert len(asked.post("metric_evals", question)) == 1


def test_a_run_whose_name_is_no_text_is_a_session(
    tbcore_logdir: Path, write_session: Any, asking: Callable[[], Any]
) -> None:
    """Its bytes are shown, and its curve can be asked for by what is shown."""
    write_session("s", {"x": 1}, scalars={"loss": [0.5]})
    folder = os.fsencode(tbcore_logdir)
    try:
        os.rename(os.path.join(folder, b"s"), os.path.join(folder, b"s\xff"))
    except OSError:
        pytest.skip("this file system takes only names that are text")
    asked = asking()

    [group] = asked.groups()["sessionGroups"]
    assert group["name"] == r"s\xff"
    question = {"sessionName": r"s\xff", "metricName": LOSS}
    assert len(asked.post("metric_evals", question)) == 1
    assert asked.client.get("data/plugin/hparams/table").status_code == 200
