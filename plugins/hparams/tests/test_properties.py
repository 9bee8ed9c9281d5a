"""Filters, order, aggregation and JSON agree with a reference of plain loops over plain objects.

The reference implements the contract a second time, in the slow and obvious way. Responses are also
compared with what protobuf itself writes for the same messages.
"""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tbcore import BadRequestError, LastPoints
from tbcore_hparams.experiment import infer_experiment
from tbcore_hparams.experiment_data import ExperimentData, Sessions
from tbcore_hparams.logged import Session
from tbcore_hparams.metrics import MetricName, SessionNames, collect, find_metrics
from tbcore_hparams.proto import api_pb2
from tbcore_hparams.proto.api_pb2 import ListSessionGroupsRequest
from tbcore_hparams.request_parsing import included_hparams
from tbcore_hparams.responses import experiment_json, session_groups_json
from tbcore_hparams.routes import run_query

SLOW_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Settings that do not fail a test because the machine is busy."""

NAMES = ["a", "b", "é/x"]
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf, math.nan, -0.0, 1e300])
TEXTS = st.sampled_from(["", "a", "b", "ab", "B", "é", 'q"\\\n,', "1.0", "true"])
VALUES = st.one_of(NUMBERS, TEXTS, st.booleans(), st.none(), st.just([1.0]), st.just({"k": "v"}))
GROUPS = st.sampled_from(["", "", "", "val/deep"])
TAGS = st.sampled_from(["loss", "loss", "acc"])
STATUSES = st.sampled_from([0, 0, 0, 1, 2])


class Point(NamedTuple):
    value: float
    step: int
    wall_time: float


POINTS = st.builds(
    Point, NUMBERS, st.integers(-(2**63), 2**63 - 1), st.sampled_from([0.0, 1.5, 1e9, 2e9])
)
METRICS = st.one_of(
    st.fixed_dictionaries({("", "loss"): POINTS}, optional={("", "acc"): POINTS}),
    st.dictionaries(st.tuples(GROUPS, TAGS), POINTS, max_size=4),
)


class Logged(NamedTuple):
    """A session and its metrics."""

    session: Session
    metrics: dict[tuple[str, str], Point]


@st.composite
def logs(draw: st.DrawFn) -> list[Logged]:
    """Sessions in any order, none inside another one."""
    some = st.lists(st.sampled_from([f"s{n}" for n in range(9)]), unique=True, max_size=9)
    names = draw(st.one_of(some, st.permutations([f"s{n}" for n in range(7)])))
    return [
        Logged(
            Session(
                name=name,
                hparams=draw(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)),
                group=draw(st.sampled_from(["g", "g", "h", name])),
                model_uri=draw(TEXTS),
                monitor_url=draw(TEXTS),
                start=draw(NUMBERS),
                status=draw(STATUSES),
                end=draw(NUMBERS),
            ),
            draw(METRICS),
        )
        for name in names
    ]


def column_names() -> st.SearchStrategy[dict[str, Any]]:
    metric = st.builds(
        lambda group, tag: {"metric": {"group": group, "tag": tag}},
        GROUPS,
        st.sampled_from(["loss", "loss", "loss", "acc", "none"]),
    )
    return st.one_of(metric, st.builds(lambda name: {"hparam": name}, st.sampled_from(NAMES)))


BOUNDS = st.sampled_from([0, 1, 0.5, -1, "Infinity", "-Infinity"])
FILTERS = st.one_of(
    *[st.just({})] * 6,
    st.builds(lambda p: {"filterRegexp": p}, st.sampled_from(["", "a", "^b", "[A-Z]", "é$", '"'])),
    st.builds(lambda a, b: {"filterInterval": {"minValue": a, "maxValue": b}}, BOUNDS, BOUNDS),
    st.builds(
        lambda v: {"filterDiscrete": v},
        st.lists(
            st.one_of(st.sampled_from([0, 1, 0.5, True, False, None, [1]]), TEXTS), max_size=4
        ),
    ),
)
COLUMNS = st.builds(
    lambda name, filtering, order, first, exclude, include: {
        **name,
        **filtering,
        "order": order,
        "missingValuesFirst": first,
        "excludeMissingValues": exclude,
        **({} if include is None else {"includeInResult": include}),
    },
    column_names(),
    FILTERS,
    st.sampled_from([0, 1, 2]),
    st.booleans(),
    st.sampled_from([False, False, True]),
    st.sampled_from([None, None, None, True, False]),
)
MESSAGES = st.fixed_dictionaries(
    {
        "allowedStatuses": st.sampled_from([[0, 1, 2, 3], [0, 1, 2, 3], [0, 1], [2], []]),
        "colParams": st.lists(COLUMNS, max_size=4),
        "aggregationType": st.sampled_from([0, 1, 2, 3, 4]),
        "aggregationMetric": st.fixed_dictionaries(
            {"group": GROUPS, "tag": st.sampled_from(["loss", "loss", "acc", "none"])}
        ),
        "startIndex": st.sampled_from([0, 0, 0, -1, 1]),
        "sliceSize": st.sampled_from([100, 100, 100, 2, 0]),
    },
    optional={"includeMetrics": st.sampled_from([True, True, False])},
)


# The reference -----------------------------------------------------------------------------------


class Rejected(Exception):
    """The message is invalid for the logged values."""


def is_usable(value: Any) -> bool:
    """Whether the value is a string, a boolean or a finite number."""
    return isinstance(value, (str, bool)) or (isinstance(value, float) and math.isfinite(value))


def reference(logged: Sequence[Logged], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The expected response, computed one object at a time."""
    include_metrics = fields.get("includeMetrics", True)
    has_hparams = any(
        isinstance(value, (str, bool, float)) for s, _ in logged for value in s.hparams.values()
    )
    known = sorted({(tag, group) for _, metrics in logged for group, tag in metrics})
    groups: dict[str, dict[str, Any]] = {}
    for session, metrics in sorted(logged, key=lambda entry: entry.session.name):
        if session.status not in fields["allowedStatuses"]:
            continue
        values = [
            metric_value((group, tag), metrics[group, tag])
            for tag, group in known
            if (group, tag) in metrics and has_hparams and include_metrics
        ]
        group = groups.setdefault(
            session.group,
            {
                "name": session.group,
                "hparams": {
                    name: value
                    for name, value in session.hparams.items()
                    if not isinstance(value, float) or math.isfinite(value)
                },
                "sessions": [],
                "monitorUrl": session.monitor_url,
            },
        )
        group["sessions"].append(
            {
                "name": session.name,
                "startTimeSecs": session.start,
                "endTimeSecs": session.end,
                "status": session.status,
                "modelUri": session.model_uri,
                "metricValues": values,
                "monitorUrl": session.monitor_url,
            }
        )
    for group in groups.values():
        group["metricValues"] = aggregate_sessions(group["sessions"], fields)
    found = sorted(groups.values(), key=lambda group: group["name"])
    for column in fields["colParams"]:
        found = [group for group in found if passes(column, value_of(column, group))]
    for column in reversed(fields["colParams"]):
        if column["order"]:
            found = sort_groups(found, column)
    total = len(found)
    start = max(fields["startIndex"], 0)
    found = found[start : start + fields["sliceSize"]]
    if any("includeInResult" in column for column in fields["colParams"]):
        included = {c.get("hparam") for c in fields["colParams"] if c.get("includeInResult", True)}
        for group in found:
            group["hparams"] = {k: v for k, v in group["hparams"].items() if k in included}
    return {"sessionGroups": found, "totalSize": total}


def metric_value(name: tuple[str, str], point: Point) -> dict[str, Any]:
    return {
        "name": {"group": name[0], "tag": name[1]},
        "value": point.value,
        "trainingStep": point.step,
        "wallTimeSecs": point.wall_time,
    }


def aggregate_sessions(
    sessions: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]
) -> list[dict[str, Any]]:
    if fields["aggregationType"] in (0, 1):
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for session in sessions:
            for value in session["metricValues"]:
                key = (value["name"]["group"], value["name"]["tag"])
                found.setdefault(key, []).append(value)

        def mean(values: list[dict[str, Any]], field: str) -> float:
            return sum(value[field] for value in values) / len(values)

        return [
            metric_value(
                name,
                Point(
                    mean(values, "value"),
                    sum(value["trainingStep"] for value in values) // len(values),
                    mean(values, "wallTimeSecs"),
                ),
            )
            for name, values in found.items()
        ]
    pairs = [
        (value["value"], session)
        for session in sessions
        for value in session["metricValues"]
        if value["name"] == fields["aggregationMetric"]
    ]
    numbers = [pair for pair in pairs if not math.isnan(pair[0])]
    pairs = numbers or pairs
    if not pairs:
        return []
    if numbers:
        by_value = sorted(pairs, key=lambda pair: pair[0])
    else:
        by_value = pairs
    match fields["aggregationType"]:
        case api_pb2.AGGREGATION_MIN:
            _, session = by_value[0]
        case api_pb2.AGGREGATION_MAX:
            best = max(value for value, _ in pairs) if numbers else None
            session = next(s for value, s in pairs if best is None or value == best)
        case _:
            _, session = by_value[(len(by_value) - 1) // 2]
    values: list[dict[str, Any]] = session["metricValues"]
    return values


def value_of(column: Mapping[str, Any], group: Mapping[str, Any]) -> Any:
    """The value of a group in a column; None if it is missing."""
    if "hparam" in column:
        value = group["hparams"].get(column["hparam"])
        return value if is_usable(value) else None
    return next((v["value"] for v in group["metricValues"] if v["name"] == column["metric"]), None)


def passes(column: Mapping[str, Any], value: Any) -> bool:
    if value is None:
        return not column["excludeMissingValues"]
    if "filterRegexp" in column:
        if not isinstance(value, str):
            raise Rejected
        return re.search(column["filterRegexp"], value) is not None
    if "filterInterval" in column:
        if isinstance(value, str):
            raise Rejected
        low, high = (float(column["filterInterval"][bound]) for bound in ("minValue", "maxValue"))
        return low <= value <= high
    if "filterDiscrete" in column:
        return value in column["filterDiscrete"]
    return True


def sort_groups(found: list[dict[str, Any]], column: Mapping[str, Any]) -> list[dict[str, Any]]:
    def key(group: Mapping[str, Any]) -> tuple[int, bool, Any]:
        value = value_of(column, group)
        kind = 0 if isinstance(value, bool) else 2 if isinstance(value, str) else 1
        is_nan = isinstance(value, float) and math.isnan(value)
        return kind, is_nan, 0 if is_nan else value

    missing = [group for group in found if value_of(column, group) is None]
    others = [group for group in found if value_of(column, group) is not None]
    others.sort(key=key, reverse=column["order"] == api_pb2.ORDER_DESC)
    return missing + others if column["missingValuesFirst"] else others + missing


# The comparison ----------------------------------------------------------------------------------


def make_data(logged: Sequence[Logged]) -> ExperimentData:
    """The data that the routes of TensorBoard's API return."""
    sessions = Sessions([session for session, _ in logged])
    points: dict[str, LastPoints] = {}
    for session, metrics in logged:
        for group in {group for group, _ in metrics}:
            rows = [(tag, point) for (g, tag), point in metrics.items() if g == group]
            points[f"{session.name}/{group}".rstrip("/")] = LastPoints(
                [tag for tag, _ in rows],
                np.array([point.step for _, point in rows], np.int64),
                np.array([point.wall_time for _, point in rows], np.float64),
                np.array([point.value for _, point in rows], np.float64),
            )
    names = [session.name for session in sessions.all]
    experiment = infer_experiment(sessions.hparams, find_metrics(points, SessionNames(names)))
    metrics = collect(points, names, [info.name for info in experiment.metrics])
    return ExperimentData("1", experiment, sessions, metrics).declared()


def respond(data: ExperimentData, fields: ListSessionGroupsRequest) -> bytes:
    selection = run_query(data, fields)
    return session_groups_json(
        data,
        selection.groups,
        selection.metrics,
        selection.chosen,
        total_size=selection.total_size,
        hparams=included_hparams(fields),
    )


def as_protobuf_writes(message: Mapping[str, Any]) -> Any:
    """The message with non-finite numbers as strings, as in protobuf's JSON."""
    return json.loads(json.dumps(message), parse_constant=lambda name: name)


@settings(SLOW_MACHINE, max_examples=300)
@given(logs(), MESSAGES)
def test_responses_equal_the_reference(logged: list[Logged], fields: dict[str, Any]) -> None:
    """Bit for bit, whatever is logged and requested."""
    data = make_data(logged)
    message = json_format.ParseDict(fields, ListSessionGroupsRequest())

    try:
        expected = as_protobuf_writes(reference(logged, fields))
    except Rejected:
        with pytest.raises(BadRequestError, match=r"cannot filter"):
            respond(data, message)
        return
    found = json.loads(respond(data, message))
    for group in expected["sessionGroups"]:
        for session in group["sessions"]:
            session["status"] = api_pb2.Status.Name(session["status"])
    assert found == expected
    assert [list(g["hparams"]) for g in found["sessionGroups"]] == [
        sorted(g["hparams"]) for g in expected["sessionGroups"]
    ]


@settings(SLOW_MACHINE, max_examples=200)
@given(logs(), MESSAGES)
def test_responses_are_what_protobuf_would_write(
    logged: list[Logged], fields: dict[str, Any]
) -> None:
    """They parse as the message, and protobuf writes the same JSON for it."""
    data = make_data(logged)
    message = json_format.ParseDict(fields, ListSessionGroupsRequest())
    try:
        found = respond(data, message)
    except BadRequestError:
        return  # The test above covers errors.

    # The message's field for steps has 32 bits, and the response contains larger steps.
    found = re.sub(rb'"trainingStep":-?\d+', b'"trainingStep":7', found)
    response = json_format.Parse(found, api_pb2.ListSessionGroupsResponse())
    assert json.loads(found) == as_json(response)
    experiment = json.dumps(as_protobuf_writes(experiment_json(data.experiment)))
    parsed = json_format.Parse(experiment, api_pb2.Experiment())
    assert json.loads(experiment) == as_json(parsed)


def as_json(message: Any) -> Any:
    """The message's JSON with all fields, as TensorBoard's server writes it."""
    # The option has different names in different versions of protobuf.
    try:
        text = json_format.MessageToJson(message, always_print_fields_with_no_presence=True)
    except TypeError:
        text = json_format.MessageToJson(message, including_default_value_fields=True)
    return json.loads(text)


RUNS = st.lists(
    st.sampled_from([".", "a", "a/b", "a/b/c", "ab", "a/bc", "b", "b/a", "b/a/c"]), unique=True
)


@settings(SLOW_MACHINE)
@given(RUNS, RUNS)
def test_metrics_belong_to_the_innermost_session(runs: list[str], sessions: list[str]) -> None:
    """Or to the only session below their run. Compared with a reference that works on paths."""

    def below(run: str, session: str) -> str | None:
        if run == session:
            return ""
        if session == ".":
            return run
        return run.removeprefix(f"{session}/") if run.startswith(f"{session}/") else None

    empty = np.array([1.0])
    points = {run: LastPoints(["t"], empty.astype(np.int64), empty, empty) for run in runs}
    expected = set()
    groups_of: dict[str, set[str]] = {session: set() for session in sessions}
    for run in runs:
        groups = {s: g for s in sessions if (g := below(run, s)) is not None}
        below_run = [s for s in sessions if below(s, run)]
        if not groups and len(below_run) == 1:
            groups = {below_run[0]: posixpath.relpath(run, below_run[0])}
        if groups:
            expected.add(min(groups.values(), key=len))
        for session, group in groups.items():
            groups_of[session].add(group)
    names = sorted(expected, key=lambda group: (group.startswith(".."), group))
    assert find_metrics(points, SessionNames(sessions)) == [MetricName(g, "t") for g in names]

    metrics = collect(points, sessions, [MetricName(g, "t") for g in names])
    for row, group in enumerate(names):
        found = {s for s, has in zip(sessions, metrics.present[row], strict=True) if has}
        assert found == {s for s in sessions if group in groups_of[s]}
