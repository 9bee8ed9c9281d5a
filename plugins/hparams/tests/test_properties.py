"""Filters, order, aggregation and JSON, compared with plain loops over plain objects.

The reference below is the contract written down a second time, in the slow and obvious way. Answers
are also compared with what protobuf itself writes of the same messages.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tbcore import BadRequestError, LastPoints
from tbcore_hparams.answers import experiment_message, session_groups_json
from tbcore_hparams.experiment import found_experiment
from tbcore_hparams.logged import Session
from tbcore_hparams.metrics import MetricName, found_metrics, gathered
from tbcore_hparams.proto import api_pb2
from tbcore_hparams.proto.api_pb2 import ListSessionGroupsRequest
from tbcore_hparams.questions import wanted_hparams
from tbcore_hparams.routes import select
from tbcore_hparams.study import Sessions, Study

BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine says nothing of the code."""

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
    """Sessions in any order, none below another one."""
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
QUESTIONS = st.fixed_dictionaries(
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


class Refused(Exception):
    """The question cannot be answered."""


def is_usable(value: Any) -> bool:
    """Whether JSON has the value, and it is no list, object or null."""
    return isinstance(value, (str, bool)) or (isinstance(value, float) and math.isfinite(value))


def reference(logged: Sequence[Logged], question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer, worked out one object at a time."""
    include_metrics = question.get("includeMetrics", True)
    has_hparams = any(
        isinstance(value, (str, bool, float)) for s, _ in logged for value in s.hparams.values()
    )
    known = sorted({(tag, group) for _, metrics in logged for group, tag in metrics})
    groups: dict[str, dict[str, Any]] = {}
    for session, metrics in sorted(logged, key=lambda entry: entry.session.name):
        if session.status not in question["allowedStatuses"]:
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
        group["metricValues"] = aggregated(group["sessions"], question)
    found = sorted(groups.values(), key=lambda group: group["name"])
    for column in question["colParams"]:
        found = [group for group in found if passes(column, value_of(column, group))]
    for column in reversed(question["colParams"]):
        if column["order"]:
            found = in_order(found, column)
    total = len(found)
    start = max(question["startIndex"], 0)
    found = found[start : start + question["sliceSize"]]
    if any("includeInResult" in column for column in question["colParams"]):
        wanted = {c.get("hparam") for c in question["colParams"] if c.get("includeInResult", True)}
        for group in found:
            group["hparams"] = {k: v for k, v in group["hparams"].items() if k in wanted}
    return {"sessionGroups": found, "totalSize": total}


def metric_value(name: tuple[str, str], point: Point) -> dict[str, Any]:
    return {
        "name": {"group": name[0], "tag": name[1]},
        "value": point.value,
        "trainingStep": point.step,
        "wallTimeSecs": point.wall_time,
    }


def aggregated(
    sessions: Sequence[Mapping[str, Any]], question: Mapping[str, Any]
) -> list[dict[str, Any]]:
    if question["aggregationType"] in (0, 1):
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
        if value["name"] == question["aggregationMetric"]
    ]
    numbers = [pair for pair in pairs if not math.isnan(pair[0])]
    pairs = numbers or pairs
    if not pairs:
        return []
    if numbers:
        by_value = sorted(pairs, key=lambda pair: pair[0])
    else:
        by_value = pairs
    match question["aggregationType"]:
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
    """None when it is missing."""
    if "hparam" in column:
        value = group["hparams"].get(column["hparam"])
        return value if is_usable(value) else None
    return next((v["value"] for v in group["metricValues"] if v["name"] == column["metric"]), None)


def passes(column: Mapping[str, Any], value: Any) -> bool:
    if value is None:
        return not column["excludeMissingValues"]
    if "filterRegexp" in column:
        if not isinstance(value, str):
            raise Refused
        return re.search(column["filterRegexp"], value) is not None
    if "filterInterval" in column:
        if isinstance(value, str):
            raise Refused
        low, high = (float(column["filterInterval"][bound]) for bound in ("minValue", "maxValue"))
        return low <= value <= high
    if "filterDiscrete" in column:
        return value in column["filterDiscrete"]
    return True


def in_order(found: list[dict[str, Any]], column: Mapping[str, Any]) -> list[dict[str, Any]]:
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


def study_of(logged: Sequence[Logged]) -> Study:
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
    experiment = found_experiment(sessions.hparams, found_metrics(points, set(names)))
    metrics = gathered(points, names, [info.name for info in experiment.metrics])
    return Study("1", experiment, sessions, metrics)


def answer(study: Study, question: ListSessionGroupsRequest) -> bytes:
    selection = select(study, question)
    return session_groups_json(
        study,
        selection.groups,
        selection.metrics,
        selection.chosen,
        total_size=selection.total_size,
        hparams=wanted_hparams(question),
    )


def written(message: Mapping[str, Any]) -> Any:
    """As protobuf writes the message, but for steps beyond its field."""
    return json.loads(json.dumps(message), parse_constant=lambda name: name)


@settings(BUSY, max_examples=300)
@given(logs(), QUESTIONS)
def test_answers_are_those_of_the_reference(logged: list[Logged], question: dict[str, Any]) -> None:
    """Whatever is logged and asked, to the last bit."""
    study = study_of(logged)
    message = json_format.ParseDict(question, ListSessionGroupsRequest())

    try:
        expected = written(reference(logged, question))
    except Refused:
        with pytest.raises(BadRequestError, match=r"cannot filter"):
            answer(study, message)
        return
    found = json.loads(answer(study, message))
    for group in expected["sessionGroups"]:
        for session in group["sessions"]:
            session["status"] = api_pb2.Status.Name(session["status"])
    assert found == expected
    assert [list(g["hparams"]) for g in found["sessionGroups"]] == [
        sorted(g["hparams"]) for g in expected["sessionGroups"]
    ]


@settings(BUSY, max_examples=200)
@given(logs(), QUESTIONS)
def test_answers_are_what_protobuf_would_write(
    logged: list[Logged], question: dict[str, Any]
) -> None:
    """They parse as the message, and its own JSON is the same."""
    study = study_of(logged)
    message = json_format.ParseDict(question, ListSessionGroupsRequest())
    try:
        found = answer(study, message)
    except BadRequestError:
        return  # which the test above looks at

    # Steps are exact here, and 32 bits wide there; 64-bit ones are texts in protobuf's JSON.
    found = re.sub(rb'"trainingStep":-?\d+', b'"trainingStep":7', found)
    response = json_format.Parse(found, api_pb2.ListSessionGroupsResponse())
    assert json.loads(found) == as_json(response)
    experiment = json.dumps(written(experiment_message(study.experiment)))
    parsed = json_format.Parse(experiment, api_pb2.Experiment())
    assert json.loads(experiment) == as_json(parsed)


def as_json(message: Any) -> Any:
    """With all fields, as TensorBoard's server writes it; the option has had two names."""
    try:
        text = json_format.MessageToJson(message, always_print_fields_with_no_presence=True)
    except TypeError:
        text = json_format.MessageToJson(message, including_default_value_fields=True)
    return json.loads(text)


RUNS = st.lists(
    st.sampled_from([".", "a", "a/b", "a/b/c", "ab", "a/bc", "b", "b/a", "b/a/c"]), unique=True
)


@settings(BUSY)
@given(RUNS, RUNS)
def test_metrics_are_found_below_the_nearest_session(runs: list[str], sessions: list[str]) -> None:
    """As one would say it of paths."""

    def below(run: str, session: str) -> str | None:
        if run == session:
            return ""
        if session == ".":
            return run
        return run.removeprefix(f"{session}/") if run.startswith(f"{session}/") else None

    empty = np.array([1.0])
    points = {run: LastPoints(["t"], empty.astype(np.int64), empty, empty) for run in runs}
    expected = set()
    for run in runs:
        groups = [g for session in sessions if (g := below(run, session)) is not None]
        if groups:
            expected.add(min(groups, key=len))
    assert found_metrics(points, sessions) == [MetricName(g, "t") for g in sorted(expected)]

    metrics = gathered(points, sessions, [MetricName(g, "t") for g in sorted(expected)])
    for row, group in enumerate(sorted(expected)):
        there = {s for s, has in zip(sessions, metrics.present[row], strict=True) if has}
        assert there == {s for s in sessions if any(below(run, s) == group for run in runs)}
