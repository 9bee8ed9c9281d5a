"""Session groups: how sessions form them, and how they are filtered, sorted and sliced."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tbcore_testing import EventFileWriter, summaries, write_run

LOSS = {"tag": "loss"}
EVAL_LOSS = {"group": "eval", "tag": "loss"}


@pytest.fixture
def api(write_session: Any, make_api: Callable[[], Any]) -> Any:
    """Serves three sessions of one group, one of another, and one without a group name."""
    common = {"lr": 0.5, "opt": "adam", "flag": True}
    for name, loss, step in (("s1", 0.4, 10), ("s2", 0.2, 9), ("s5", 0.3, 8)):
        status = {"s1": 1, "s2": 2}.get(name)
        write_session(
            name, common, group="g1", status=status, scalars={"loss": [(step, loss, 100.0 + step)]}
        )
    write_session("s3", {"lr": 0.25, "opt": "sgd", "flag": False}, status=1)
    write_session("s4", {"lr": 1, "opt": "Adam"}, group="g4", scalars={"loss": [2.0]})
    return make_api()


def metric_values(entry: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Any, int]]:
    return {
        (m["name"]["group"], m["name"]["tag"]): (m["value"], m["trainingStep"])
        for m in entry["metricValues"]
    }


# Groups ------------------------------------------------------------------------------------------


def test_sessions_with_the_same_group_name_form_a_group(api: Any) -> None:
    """Groups are sorted by name. A session without a group name forms a group of its own."""
    result = api.groups()

    found = {g["name"]: [s["name"] for s in g["sessions"]] for g in result["sessionGroups"]}
    assert found == {"g1": ["s1", "s2", "s5"], "g4": ["s4"], "s3": ["s3"]}
    assert list(found) == ["g1", "g4", "s3"]
    assert result["totalSize"] == 3


def test_only_sessions_with_an_allowed_status_form_groups(api: Any) -> None:
    """Statuses are names or numbers. If none is allowed, the response is empty."""
    unknown = api.groups(allowedStatuses=["STATUS_UNKNOWN"])["sessionGroups"]
    assert [(g["name"], [s["name"] for s in g["sessions"]]) for g in unknown] == [
        ("g1", ["s5"]),
        ("g4", ["s4"]),
    ]
    assert api.names(allowedStatuses=[2, "STATUS_SUCCESS"]) == ["g1", "s3"]
    assert api.post("session_groups", {}) == {"sessionGroups": [], "totalSize": 0}
    assert api.groups(allowedStatuses=[77]) == {"sessionGroups": [], "totalSize": 0}


def test_a_group_has_the_hyperparameters_of_its_first_session(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """The first by name of those with an allowed status. The monitor URL is the same session's."""
    write_session("b", {"x": 2}, group="g", monitor_url="http://m/b", status=1)
    write_session("a", {"x": 1}, group="g", monitor_url="http://m/a")
    api = make_api()

    [group] = api.groups()["sessionGroups"]
    assert (group["hparams"], group["monitorUrl"]) == ({"x": 1.0}, "http://m/a")
    [group] = api.groups(allowedStatuses=["STATUS_SUCCESS"])["sessionGroups"]
    assert (group["hparams"], group["monitorUrl"]) == ({"x": 2.0}, "http://m/b")


def test_a_session_has_all_logged_fields(write_session: Any, make_api: Callable[[], Any]) -> None:
    """A status without a name in this version is returned as a number."""
    write_session(
        "s", {"x": 1}, start=1.5, status=2, end=9.25, model_uri="file:///m", monitor_url="http://m"
    )
    write_session("t", {"x": 1}, status=9)

    [group, other] = make_api().groups(allowedStatuses=[2, 9])["sessionGroups"]

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


def test_the_last_logged_end_of_a_session_is_used(
    tbcore_logdir: Path, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """A job that resumes after an interruption logs another end."""
    write_session("s", {"x": 1}, status=2, end=1.0)
    api = make_api()
    assert api.groups()["sessionGroups"][0]["sessions"][0]["status"] == "STATUS_FAILURE"

    write_session("s", {"x": 9}, status=1, end=2.0)
    api.client.reload()
    [group] = api.groups()["sessionGroups"]
    assert (group["sessions"][0]["status"], group["sessions"][0]["endTimeSecs"]) == (
        "STATUS_SUCCESS",
        2.0,
    )
    assert group["hparams"] == {"x": 1.0}

    # After its file is truncated, the first end is used, which is in memory.
    for path in (tbcore_logdir / "s").glob("*.000001"):
        path.write_bytes(b"")
    api.client.reload()
    assert api.groups()["sessionGroups"][0]["sessions"][0]["status"] == "STATUS_FAILURE"


def test_values_have_the_type_they_were_logged_with(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """Values that JSON does not have are omitted."""
    logged = {
        "number": 1, "text": 'a"b\\\n', "yes": True, "no": False, "null": None,
        "list": [1, "a", [True]], "object": {"a": {"b": 1}}, "": "empty name",
    }  # fmt: skip
    lacking = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    write_session("s", logged | lacking)

    [group] = make_api().groups()["sessionGroups"]

    assert group["hparams"] == {**logged, "number": 1.0}
    assert isinstance(group["hparams"]["yes"], bool)


# Metrics -----------------------------------------------------------------------------------------


def test_metrics_are_found_in_runs_below_the_session(
    tbcore_logdir: Path, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """The relative path is the group. A run inside two sessions belongs to the innermost one."""
    write_session("exp/s1", {"x": 1}, scalars={"loss": [0.5]})
    write_session("exp/s1/inner", {"x": 2}, scalars={"loss": [0.125]})
    write_run(tbcore_logdir, "exp/s1/eval", scalars={"loss": [0.25, 0.75]})
    write_run(tbcore_logdir, "exp/s1/val/deep", scalars={"acc": [1.0]})
    write_run(tbcore_logdir, "exp/s10", scalars={"elsewhere": [1.0]})
    write_run(tbcore_logdir, "exp", scalars={"above": [1.0]})
    api = make_api()

    assert [info["name"] for info in api.post("experiment", {})["metricInfos"]] == [
        {"group": "val/deep", "tag": "acc"},
        {"group": "", "tag": "loss"},
        {"group": "eval", "tag": "loss"},
    ]
    first, inner = api.groups()["sessionGroups"]
    assert metric_values(first) == {
        ("val/deep", "acc"): (1.0, 0),
        ("", "loss"): (0.5, 0),
        ("eval", "loss"): (0.75, 1),
    }
    assert metric_values(inner) == {("", "loss"): (0.125, 0)}


def test_the_root_run_is_a_session_like_any_other(
    tbcore_logdir: Path, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """It contains every run that is in no other session."""
    write_session(".", {"x": 1}, scalars={"loss": [0.5]})
    write_session("s", {"x": 2}, scalars={"loss": [0.25]})
    write_run(tbcore_logdir, "val", scalars={"loss": [0.125]})
    write_run(tbcore_logdir, "s/val", scalars={"loss": [0.0625]})
    api = make_api()

    root, other = api.groups()["sessionGroups"]
    assert root["name"] == "."
    assert metric_values(root) == {("", "loss"): (0.5, 0), ("val", "loss"): (0.125, 0)}
    assert metric_values(other) == {("", "loss"): (0.25, 0), ("val", "loss"): (0.0625, 0)}
    for group, value in (("", 0.5), ("val", 0.125), ("/val/", 0.125)):
        message = {"sessionName": ".", "metricName": {"group": group, "tag": "loss"}}
        assert [row[2] for row in api.post("metric_evals", message)] == [value]


def test_a_metric_of_the_experiment_may_begin_with_a_slash(
    tbcore_logdir: Path, write_session: Any, write_experiment: Any, make_api: Callable[[], Any]
) -> None:
    """Its name is returned as it was written."""
    groups = ("/val", "val/", "./val", "")
    write_experiment(".", metrics=[(group, "loss") for group in groups])
    write_session("s", {"x": 1})
    write_run(tbcore_logdir, "s/val", scalars={"loss": [0.5]})

    [group] = make_api().groups()["sessionGroups"]

    assert list(metric_values(group)) == [("/val", "loss"), ("val/", "loss"), ("./val", "loss")]
    assert set(metric_values(group).values()) == {(0.5, 0)}


def test_a_value_is_the_last_one_logged(
    tbcore_logdir: Path, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """With its step and time, also from a tensor. Large steps are exact, and NaN is a value."""
    write_session("s")
    with EventFileWriter(tbcore_logdir / "s" / "z.tfevents") as writer:
        writer.add_scalar("a", 1.0, 1)
        writer.add_scalar("a", 0.1, 2**40 + 1, wall_time=5.5, dtype="float64")
        writer.add_scalar("nan", math.nan, 1)
        writer.add_scalar("inf", -math.inf, 1)
        writer.add_summary(0, summaries.scalar("ints", 7, dtype="int64"))

    api = make_api()
    # Without any hyperparameter there is nothing to compare, so the experiment has no metrics. The
    # session is still listed.
    assert api.post("experiment", {})["metricInfos"] == []
    assert api.names() == ["s"]

    write_session("t", {"x": 1})
    api.client.reload()
    [group, _] = api.groups()["sessionGroups"]
    assert metric_values(group) == {
        ("", "a"): (0.1, 2**40 + 1),
        ("", "inf"): ("-Infinity", 1),
        ("", "ints"): (7.0, 0),
        ("", "nan"): ("NaN", 1),
    }
    assert group["metricValues"][0]["wallTimeSecs"] == 5.5
    assert group["metricValues"] == group["sessions"][0]["metricValues"]


def test_metrics_can_be_left_out(api: Any) -> None:
    """Filters, sort orders and aggregation of metrics then have no effect."""
    result = api.groups(
        {"metric": LOSS, "excludeMissingValues": False, "filterInterval": {}},
        {"metric": LOSS, "order": "ORDER_DESC"},
        includeMetrics=False,
        aggregationType="AGGREGATION_MIN",
        aggregationMetric=LOSS,
    )

    assert [group["name"] for group in result["sessionGroups"]] == ["g1", "g4", "s3"]
    for group in result["sessionGroups"]:
        assert group["metricValues"] == []
        assert all(session["metricValues"] == [] for session in group["sessions"])


# Aggregation -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["AGGREGATION_AVG", "AGGREGATION_UNSET", 1, None])
def test_the_average_is_over_the_sessions_that_have_the_metric(api: Any, method: Any) -> None:
    """The average of steps is rounded down."""
    groups = api.groups(aggregationType=method)["sessionGroups"]

    assert metric_values(groups[0]) == {("", "loss"): (pytest.approx(0.30000000695387524), 9)}
    assert groups[0]["metricValues"][0]["wallTimeSecs"] == 109.0
    assert groups[2]["metricValues"] == []


@pytest.mark.parametrize(
    ("method", "value", "step"),
    [("MIN", 0.2, 9), ("MAX", 0.4, 10), ("MEDIAN", 0.3, 8)],
)
def test_one_session_represents_its_group(api: Any, method: str, value: float, step: int) -> None:
    """It is chosen by the requested metric. A group that does not have it has no values."""
    groups = api.groups(aggregationType=f"AGGREGATION_{method}", aggregationMetric=LOSS)

    first, other, without = groups["sessionGroups"]
    assert metric_values(first) == {("", "loss"): (pytest.approx(value), step)}
    assert metric_values(other) == {("", "loss"): (2.0, 0)}
    assert without["metricValues"] == []
    missing = api.groups(aggregationType=f"AGGREGATION_{method}", aggregationMetric=EVAL_LOSS)
    assert [group["metricValues"] for group in missing["sessionGroups"]] == [[], [], []]


def test_a_group_has_only_the_metrics_of_the_session_that_represents_it(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """Of equal sessions it is the first by name, and the median of four is the second lowest."""
    for name, loss, other in (("a", 4, "p"), ("b", 1, "q"), ("c", 1, "r"), ("d", 3, "s")):
        write_session(name, {"x": 1}, group="g", scalars={"loss": [float(loss)], other: [0.5]})
    api = make_api()

    for method, tag in (("MIN", "q"), ("MAX", "p"), ("MEDIAN", "r")):
        result = api.groups(aggregationType=f"AGGREGATION_{method}", aggregationMetric=LOSS)
        [group] = result["sessionGroups"]
        assert [m["name"]["tag"] for m in group["metricValues"]] == ["loss", tag]


def test_a_session_with_nan_represents_its_group_only_if_all_have_nan(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """An average over NaN is NaN."""
    for name, group, loss in (
        ("a", "g", math.nan), ("b", "g", 2.0), ("c", "g", 1.0), ("d", "h", math.nan),
    ):  # fmt: skip
        write_session(name, {"x": 1}, group=group, scalars={"loss": [loss]})
    api = make_api()

    for method, value in (("MIN", 1.0), ("MAX", 2.0), ("MEDIAN", 1.0), ("AVG", "NaN")):
        result = api.groups(aggregationType=f"AGGREGATION_{method}", aggregationMetric=LOSS)
        assert [g["metricValues"][0]["value"] for g in result["sessionGroups"]] == [value, "NaN"]


def test_metrics_of_a_group_are_in_the_order_of_its_sessions(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """This is the order of TensorBoard's server: those of the first session come first."""
    write_session("a", {"x": 1}, group="g", scalars={"m3": [1.0], "m1": [1.0]})
    write_session("b", {"x": 1}, group="g", scalars={"m2": [1.0], "m3": [2.0]})

    [group] = make_api().groups()["sessionGroups"]

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
    ({"hparam": "missing", "excludeMissingValues": True}, []),
    ({"hparam": "missing", "filterRegexp": "x"}, ["g1", "g4", "s3"]),
    ({"metric": LOSS, "filterInterval": {"minValue": 1, "maxValue": 2}}, ["g4", "s3"]),
    ({"metric": LOSS, "excludeMissingValues": True}, ["g1", "g4"]),
    ({"metric": LOSS, "filterDiscrete": [2]}, ["g4", "s3"]),
    ({"metric": EVAL_LOSS, "excludeMissingValues": True}, []),
    ({"metric": {}, "excludeMissingValues": True}, []),
]


@pytest.mark.parametrize(("column", "names"), FILTERS, ids=lambda value: json.dumps(value))
def test_groups_that_pass_a_filter(api: Any, column: dict[str, Any], names: list[str]) -> None:
    """Groups with a missing value pass, unless they are excluded."""
    result = api.groups(column)

    assert [group["name"] for group in result["sessionGroups"]] == names
    assert result["totalSize"] == len(names)


def test_groups_must_pass_all_filters(api: Any) -> None:
    """A column may occur twice, with two filters."""
    column = {"hparam": "lr", "filterInterval": {"minValue": 0.3, "maxValue": 2}}
    assert api.names(column, {"hparam": "opt", "filterRegexp": "a"}) == ["g1", "g4"]
    assert api.names(column, {"hparam": "lr", "filterDiscrete": [1]}) == ["g4"]


def test_nan_passes_no_interval(write_session: Any, make_api: Callable[[], Any]) -> None:
    """But it is not missing either. Infinity does pass an interval that is not bounded."""
    for name, loss in (("a", math.nan), ("b", math.inf), ("c", 1.0)):
        write_session(name, {"x": 1}, scalars={"loss": [loss]})
    everything = {"minValue": "-Infinity", "maxValue": "Infinity"}
    api = make_api()

    assert api.names({"metric": LOSS, "filterInterval": everything}) == ["b", "c"]
    assert api.names({"metric": LOSS, "filterDiscrete": ["NaN"]}) == []
    assert api.names({"metric": LOSS, "excludeMissingValues": True}) == ["a", "b", "c"]


def test_a_hyperparameter_that_cannot_be_compared_is_missing(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """NaN, infinity, null, lists and objects are filtered and sorted like missing values."""
    for name, value in (("a", math.nan), ("b", math.inf), ("c", None), ("d", [1]), ("e", {"a": 1})):
        write_session(name, {"x": value, "y": 1})
    write_session("f", {"x": 1, "y": 1})
    api = make_api()

    assert api.names({"hparam": "x", "excludeMissingValues": True}) == ["f"]
    assert api.names({"hparam": "x", "filterDiscrete": []}) == ["a", "b", "c", "d", "e"]
    assert api.names({"hparam": "x", "order": "ORDER_ASC"}) == ["f", "a", "b", "c", "d", "e"]


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
    ([{"hparam": "missing", "order": "ORDER_DESC"}], ["g1", "g4", "s3"]),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "names"), ORDERS, ids=lambda value: json.dumps(value))
def test_order(api: Any, columns: list[dict[str, Any]], names: list[str]) -> None:
    """Missing values are first or last as requested, in both directions."""
    assert api.names(*columns) == names


def test_the_first_column_is_the_most_significant(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """Equal groups are in ascending order of names, even when sorted in descending order."""
    for name, x, y in (("a", 1, 2), ("b", 2, 1), ("c", 1, 1), ("d", 2, 1), ("e", 1, 2)):
        write_session(name, {"x": x, "y": y})
    api = make_api()

    def ordered(**orders: str) -> str:
        return "".join(
            api.names(*({"hparam": k, "order": f"ORDER_{v}"} for k, v in orders.items()))
        )

    assert ordered(x="ASC", y="ASC") == "caebd"
    assert ordered(x="DESC", y="ASC") == "bdcae"
    assert ordered(y="DESC", x="DESC") == "aebdc"
    assert ordered(x="DESC") == "bdace"


def test_the_order_of_types_and_nan(write_session: Any, make_api: Callable[[], Any]) -> None:
    """Booleans are less than numbers, numbers less than strings; NaN is above all numbers."""
    values = {"a": "x", "b": 2, "c": True, "d": -1, "e": False, "f": "B", "h": 10}
    for name, value in values.items():
        write_session(name, {"x": value})
    write_session("g", {"y": 1})
    for name, loss in (("a", math.nan), ("b", math.inf), ("c", 0.5), ("d", -math.inf)):
        write_session(name, scalars={"loss": [loss]})
    api = make_api()

    by = {"hparam": "x", "order": "ORDER_ASC"}
    assert "".join(api.names(by)) == "ecdbhfag"
    assert "".join(api.names(by | {"order": "ORDER_DESC"})) == "afhbdceg"
    by = {"metric": LOSS, "order": "ORDER_ASC"}
    assert "".join(api.names(by)) == "dcbaefgh"
    assert "".join(api.names(by | {"order": "ORDER_DESC"})) == "abcdefgh"
    assert "".join(api.names(by | {"missingValuesFirst": True})) == "efghdcba"


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
def test_slices(api: Any, start: Any, size: Any, names: list[str]) -> None:
    """`totalSize` counts all groups that pass, not only those in the slice."""
    result = api.groups(startIndex=start, sliceSize=size)

    assert [group["name"] for group in result["sessionGroups"]] == names
    assert result["totalSize"] == 3


# Responses ---------------------------------------------------------------------------------------


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
def test_only_requested_hyperparameters_are_included(
    api: Any, columns: list[dict[str, Any]], names: set[str]
) -> None:
    """If at least one column sets `includeInResult`. Metrics are always included."""
    group = api.groups(*columns)["sessionGroups"][0]

    assert set(group["hparams"]) == names
    assert len(group["metricValues"]) == 1


def test_get_and_post_return_the_same(api: Any) -> None:
    """With GET, the message is the parameter `request`. Field names may be in snake_case."""
    body = {"allowed_statuses": [0, 1, 2, 3], "slice_size": "2", "col_params": [{"hparam": "lr"}]}
    path = "data/plugin/hparams/session_groups"
    posted = api.client.post(path, content=json.dumps(body), headers={"Content-Type": "text/plain"})
    got = api.client.get(f"{path}/?request={quote(json.dumps(body))}")

    assert posted.json() == got.json() == api.groups({"hparam": "lr"}, sliceSize=2)
    assert got.headers["content-type"] == "application/json"
    assert api.client.head(f"{path}?request={quote(json.dumps(body))}").status_code == 200


@pytest.mark.parametrize(
    "name", ['<img src=x onerror="alert(1)">', "a b%2F?&#", "é\u202e日本", "x" * 200]
)
def test_names_can_be_anything(
    name: str, tbcore_logdir: Path, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """Names of runs, hyperparameters, groups and metrics."""
    write_session("s", {name: name}, group=name, scalars={name: [0.5]})
    write_session(f"dir/{name.replace('/', '')}", {name: "x"})
    api = make_api()

    [own, other] = sorted(api.groups()["sessionGroups"], key=lambda g: g["name"] != name)
    assert (own["name"], own["hparams"]) == (name, {name: name})
    assert own["metricValues"][0]["name"] == {"group": "", "tag": name}
    assert other["sessions"][0]["name"] == f"dir/{name.replace('/', '')}"
    assert api.names({"hparam": name, "filterDiscrete": [name]}) == [name]
    message = {"sessionName": "s", "metricName": {"tag": name}}
    assert len(api.post("metric_evals", message)) == 1


def test_a_run_whose_name_is_not_utf_8_is_a_session(
    tbcore_logdir: Path, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """Invalid bytes are escaped in its name, and requests use the escaped name."""
    write_session("s", {"x": 1}, scalars={"loss": [0.5]})
    folder = os.fsencode(tbcore_logdir)
    try:
        os.rename(os.path.join(folder, b"s"), os.path.join(folder, b"s\xff"))
    except OSError:
        pytest.skip("this file system accepts only UTF-8 names")
    api = make_api()

    [group] = api.groups()["sessionGroups"]
    assert group["name"] == r"s\xff"
    message = {"sessionName": r"s\xff", "metricName": LOSS}
    assert len(api.post("metric_evals", message)) == 1
    assert api.client.get("data/plugin/hparams/table").status_code == 200
