"""Responses about hyperparameters equal those of TensorBoard's plugin, on real and on odd logs.

Tests document intended differences, with the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import tbcore_hparams
from tbcore_testing import make_client, summaries, write_run

Ask = Callable[..., Any]
ALL = {"allowedStatuses": [0, 1, 2, 3], "sliceSize": 1000}


class Both:
    """TensorBoard's plugin and ours, on the same log directory."""

    def __init__(self, logdir: Path) -> None:
        reason = "tensorboard, with whose responses ours are compared, is not installed"
        pem = pytest.importorskip(
            "tensorboard.backend.event_processing.plugin_event_multiplexer", reason=reason
        )
        from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
        from tensorboard.plugins.base_plugin import TBContext
        from tensorboard.plugins.hparams.hparams_plugin import HParamsPlugin
        from tensorboard.plugins.scalar.scalars_plugin import ScalarsPlugin
        from werkzeug.test import Client

        multiplexer = pem.EventMultiplexer(tensor_size_guidance={"scalars": 0})
        multiplexer.AddRunsFromDirectory(str(logdir))
        multiplexer.Reload()
        plugins: dict[str, Any] = {}
        context = TBContext(
            data_provider=MultiplexerDataProvider(multiplexer, str(logdir)),
            logdir=str(logdir),
            multiplexer=multiplexer,
            plugin_name_to_instance=plugins,
        )
        plugins["scalars"] = ScalarsPlugin(context)
        apps = HParamsPlugin(context).get_plugin_apps()
        self.theirs = {route: Client(app) for route, app in apps.items()}
        self.ours = make_client(logdir, plugins=[tbcore_hparams], samples_per_plugin={"hparams": 0})

    def ask(self, route: str, question: Any, query: str = "") -> tuple[Any, Any]:
        """Both responses, theirs first; a text that is not JSON is returned unchanged."""
        path = f"data/plugin/hparams/{route}?request={quote(json.dumps(question))}{query}"
        theirs = self.theirs[f"/{route}"].get(f"/?{path.partition('?')[2]}")
        ours = self.ours.get(path)
        assert (theirs.status_code, ours.status_code) == (200, 200), ours.text
        texts = theirs.get_data(as_text=True), ours.text
        if theirs.mimetype != "application/json":
            return texts
        return json.loads(texts[0]), json.loads(texts[1])


def by_name(experiment: dict[str, Any]) -> dict[str, Any]:
    """The experiment with hyperparameters by name, because the orders differ."""
    infos = sorted(experiment["hparamInfos"], key=lambda info: info["name"])
    return {**experiment, "hparamInfos": infos}


LOGS = [
    "Alwaysproblem__tensorboard-review/logs",
    "Alwaysproblem__tensorboard-review/log/text_hp",
    "Alwaysproblem__tensorboard-review",
    "BFU-Graphics__NeRF-from-scratch",
]
"""Log directories with one experiment each: of several, TensorBoard shows only the first."""


@pytest.fixture(scope="module", params=LOGS, ids=str)
def real(request: pytest.FixtureRequest, real_logs: Path) -> Both:
    return Both(real_logs / request.param)


def test_real_experiments(real: Both) -> None:
    """Experiments of TensorFlow and Lightning, both declared and inferred."""
    for question in ({}, {"includeMetrics": False}, {"experimentName": "x"}):
        theirs, ours = real.ask("experiment", question)
        assert by_name(ours) == by_name(theirs)


def test_real_session_groups(real: Both) -> None:
    """Every way to sort, filter and aggregate, by every column."""
    experiment, _ = real.ask("experiment", {})
    infos, metrics = experiment["hparamInfos"], experiment["metricInfos"]
    names: list[dict[str, Any]] = [{"hparam": info["name"]} for info in infos]
    names += [{"metric": info["name"]} for info in metrics]
    everything, _ = real.ask("session_groups", ALL)
    assert everything["sessionGroups"], "there is nothing to compare"
    questions: list[dict[str, Any]] = [{}, {"includeMetrics": False}, {"startIndex": 1}]
    for name in names:
        for order in ("ORDER_ASC", "ORDER_DESC"):
            for first in (False, True):
                column = {**name, "order": order, "missingValuesFirst": first}
                questions.append({"colParams": [column, {**names[0], "order": "ORDER_DESC"}]})
        questions.append({"colParams": [{**name, "includeInResult": True}]})
        questions.append({"colParams": [{**name, "excludeMissingValues": True}]})
        questions.append({"colParams": [{**name, "filterDiscrete": [16, "sgd", True]}]})
    for info in infos:
        found = [group["hparams"].get(info["name"]) for group in everything["sessionGroups"]]
        if all(isinstance(value, str) for value in found):
            for pattern in ("a", "^s", "(?i)A.M", "[0-9]+$"):
                question = {"hparam": info["name"], "filterRegexp": pattern}
                questions.append({"colParams": [question]})
        elif all(isinstance(value, float) for value in found):
            bounds = {"minValue": 0.1, "maxValue": "Infinity"}
            questions.append({"colParams": [{"hparam": info["name"], "filterInterval": bounds}]})
    for metric in metrics:
        for how in ("AVG", "MIN", "MAX", "MEDIAN"):
            if how == "AVG" or all(
                metric["name"] in [value["name"] for value in group["metricValues"]]
                for group in everything["sessionGroups"]
            ):
                questions.append(
                    {
                        "aggregationType": f"AGGREGATION_{how}",
                        "aggregationMetric": metric["name"],
                    }
                )
    for question in questions:
        theirs, ours = real.ask("session_groups", {**ALL, **question})
        assert ours == theirs, question


def test_real_curves(real: Both) -> None:
    """The curves of every metric in every session."""
    groups, _ = real.ask("session_groups", ALL)
    compared = 0
    for group in groups["sessionGroups"]:
        for session in group["sessions"]:
            for metric in session["metricValues"]:
                question = {"sessionName": session["name"], "metricName": metric["name"]}
                theirs, ours = real.ask("metric_evals", question)
                assert ours == theirs
                compared += len(ours)
    assert compared


def test_real_downloads(real: Both) -> None:
    """Downloads in all formats. Columns, whose orders differ, are compared by their headers."""
    visible = "&columnsVisibility=" + json.dumps([True] * 100)
    theirs, ours = real.ask("download_data", ALL, f"{visible}&format=json")
    tables = [
        {name: column for name, *column in zip(t["header"], *t["rows"], strict=True)}
        for t in (theirs, ours)
    ]
    assert tables[0] == tables[1]
    if theirs["header"] == ours["header"]:
        for kind in ("csv", "latex"):
            theirs, ours = real.ask("download_data", ALL, f"{visible}&format={kind}")
            assert ours == theirs


def session(group: str = "", **hparams: Any) -> Any:
    return summaries.session_start(hparams, group=group)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Groups, sub-runs, missing values and NaN, which the real logs do not have."""
    logs = tmp_path_factory.mktemp("odd")
    nan, inf = math.nan, math.inf
    a = session("g", lr=0.1, opt="adam", flag=True, n=1)
    write_run(
        logs,
        "a",
        values=[a, summaries.session_end(1, 9.5)],
        scalars={"loss": [4.0, 3.0], "acc": [0.5]},
    )
    b = session("g", lr=0.1, opt="adam", flag=True, n=1)
    write_run(logs, "b", values=[b], scalars={"loss": [1.0, 1.0, 2.0], "other": [(7, 1.0, 5.5)]})
    write_run(logs, "b/val", scalars={"loss": [0.25]})
    write_run(logs, "c", values=[session(lr=0.2, opt="sgd", n=2), summaries.session_end(2, 1.0)])
    write_run(logs, "c/val/deep", scalars={"loss": [0.125]})
    d = session("h", lr=nan, opt="Adam", x=inf)
    write_run(logs, "d/e", values=[d], scalars={"loss": [5.0], "odd": [nan]})
    write_run(logs, "d/e/f", values=[session(lr=0.3, flag=False)], scalars={"loss": [-inf]})
    write_run(logs, "elsewhere", scalars={"loss": [1.0]})
    return Both(logs)


LOSS = {"metric": {"tag": "loss"}}
ODD: list[dict[str, Any]] = [
    {},
    {"allowedStatuses": [1]},
    {"allowedStatuses": []},
    {"startIndex": 1, "sliceSize": 2},
    {"includeMetrics": False},
    {"aggregationType": "AGGREGATION_AVG"},
    *({"colParams": [{**name, "order": order, "missingValuesFirst": first}]}
      for name in ({"hparam": "lr"}, {"hparam": "opt"}, {"hparam": "flag"}, LOSS,
                   {"metric": {"group": "val", "tag": "loss"}}, {"hparam": "nothing"})
      for order in (1, 2) for first in (False, True)),
    {"colParams": [{"hparam": "n", "order": 2}, {**LOSS, "order": 1}]},
    {"colParams": [{"hparam": "lr", "filterInterval": {"minValue": 0.1, "maxValue": 0.2}}]},
    {"colParams": [{"hparam": "flag", "filterInterval": {"maxValue": 1}}]},
    {"colParams": [{"hparam": "lr", "filterDiscrete": [0.3], "excludeMissingValues": True}]},
    {"colParams": [{"hparam": "flag", "filterDiscrete": [1]}]},
    {"colParams": [{"hparam": "opt", "filterRegexp": "dam"}]},
    {"colParams": [{"hparam": "opt", "filterRegexp": "^adam$", "excludeMissingValues": True}]},
    {"colParams": [{**LOSS, "filterInterval": {"minValue": "-Infinity", "maxValue": 3}}]},
    {"colParams": [{"hparam": "lr", "includeInResult": True}, {"hparam": "opt"}]},
    {"colParams": [{"hparam": "lr", "includeInResult": False}]},
]  # fmt: skip


@pytest.mark.parametrize("question", ODD, ids=lambda question: json.dumps(question)[:100])
def test_odd_session_groups(odd: Both, question: dict[str, Any]) -> None:
    theirs, ours = odd.ask("session_groups", {**ALL, **question})

    assert ours == theirs


@pytest.mark.parametrize("how", ["MIN", "MAX", "MEDIAN"])
def test_odd_aggregations(odd: Both, how: str) -> None:
    """Groups without the metric, for which TensorBoard fails, are excluded by status."""
    question = {
        "aggregationType": f"AGGREGATION_{how}",
        "aggregationMetric": {"tag": "loss"},
        "allowedStatuses": [0, 1],
    }
    theirs, ours = odd.ask("session_groups", {**ALL, **question})

    assert ours == theirs


def test_odd_experiment(odd: Both) -> None:
    """All fields but the interval of a hyperparameter that is NaN somewhere, or never finite."""
    theirs, ours = odd.ask("experiment", {})
    for info in theirs["hparamInfos"]:
        if info["name"] == "lr":
            info["domainInterval"] = {"minValue": 0.1, "maxValue": 0.3}
        if info["name"] == "x":
            del info["domainInterval"]
        if "domainDiscrete" in info:
            info["domainDiscrete"].sort()

    assert by_name(ours) == by_name(theirs)
