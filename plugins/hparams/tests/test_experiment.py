"""The experiment: as logged, or as inferred from the sessions."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import ListValue

import tbcore_hparams
from tbcore import Multiplexer
from tbcore_hparams.experiment import EXPERIMENT_TAG, logged_experiment
from tbcore_hparams.proto.api_pb2 import DATASET_VALIDATION, Interval
from tbcore_hparams.reader import Reader
from tbcore_testing import summaries, write_run

EMPTY = {
    "name": "",
    "description": "",
    "user": "",
    "timeCreatedSecs": 0.0,
    "hparamInfos": [],
    "metricInfos": [],
}


def choices(*values: Any) -> ListValue:
    result = ListValue()
    result.extend(values)
    return result


def infos(api: Any, **message: Any) -> dict[str, dict[str, Any]]:
    """Name of each hyperparameter to its other fields, without empty strings."""
    found = api.post("experiment", message)["hparamInfos"]
    return {
        info["name"]: {k: v for k, v in info.items() if k != "name" and v != ""} for info in found
    }


def test_without_sessions_the_experiment_is_empty(
    tbcore_logdir: Path, make_api: Callable[[], Any]
) -> None:
    """Other data in the logs does not matter."""
    write_run(tbcore_logdir, "train", scalars={"loss": [1.0]})

    assert make_api().post("experiment", {"experimentName": "anything"}) == EMPTY


VALUES: list[tuple[list[Any], dict[str, Any] | None]] = [
    ([3, 1, 2], {"type": "FLOAT64", "domainInterval": (1.0, 3.0), "differs": True}),
    ([1, 1.0], {"type": "FLOAT64", "domainInterval": (1.0, 1.0), "differs": False}),
    ([0.01, 0.1, math.nan], {"type": "FLOAT64", "domainInterval": (0.01, 0.1), "differs": True}),
    ([math.inf, 5], {"type": "FLOAT64", "domainInterval": (5.0, 5.0), "differs": True}),
    ([math.nan, math.nan], {"type": "FLOAT64", "differs": False}),
    ([math.nan, math.inf], {"type": "FLOAT64", "differs": True}),
    ([True, False], {"type": "BOOL", "domainDiscrete": [False, True], "differs": True}),
    ([True, True], {"type": "BOOL", "domainDiscrete": [True], "differs": False}),
    (["b", "a", "b"], {"type": "STRING", "domainDiscrete": ["a", "b"], "differs": True}),
    (["a"], {"type": "STRING", "domainDiscrete": ["a"], "differs": False}),
    (
        [*"kjihgfedcba"[1:]],
        {"type": "STRING", "domainDiscrete": [*"abcdefghij"], "differs": True},
    ),
    ([*"kjihgfedcba"], {"type": "STRING", "differs": True}),
    (
        ['a"b', 1, True, math.nan, 0.5, None],
        {"type": "STRING", "domainDiscrete": ["0.5", "1.0", 'a"b', "true"], "differs": True},
    ),
    ([1, True], {"type": "STRING", "domainDiscrete": ["1.0", "true"], "differs": True}),
    (["", None], {"type": "STRING", "domainDiscrete": [""], "differs": False}),
    ([None], None),
    ([[1], {"a": 1}], None),
]


@pytest.mark.parametrize(("values", "expected"), VALUES, ids=repr)
def test_type_and_domain_are_inferred_from_the_values(
    values: list[Any], expected: dict[str, Any] | None, write_session: Any, make_api: Any
) -> None:
    """From those of all sessions. A hyperparameter without a value that JSON has is omitted."""
    for number, value in enumerate(values):
        write_session(f"s{number:02}", {"x": value})

    found = infos(make_api())

    if expected is None:
        assert found == {}
        return
    info = {**expected, "type": f"DATA_TYPE_{expected['type']}"}
    if "domainInterval" in expected:
        low, high = expected["domainInterval"]
        info["domainInterval"] = {"minValue": low, "maxValue": high}
    assert found == {"x": info}


def test_inferred_hyperparameters_and_metrics_are_sorted(
    write_session: Any, tbcore_logdir: Path, make_api: Any
) -> None:
    """Hyperparameters by name, metrics by tag and then group."""
    write_session("s", {"b": 1, "B": 1, "a": 1, "é": 1}, scalars={"y": [1.0], "x": [1.0]})
    write_run(tbcore_logdir, "s/eval", scalars={"x": [1.0]})
    write_run(tbcore_logdir, "other", scalars={"z": [1.0]})
    api = make_api()

    assert list(infos(api)) == ["B", "a", "b", "é"]
    assert list(infos(api, hparamsLimit=2)) == ["B", "a"]
    assert len(infos(api, hparamsLimit=0)) == len(infos(api, hparamsLimit=-1)) == 4
    found = api.post("experiment", {"includeMetrics": True})["metricInfos"]
    assert [(info["name"]["tag"], info["name"]["group"]) for info in found] == [
        ("x", ""),
        ("x", "eval"),
        ("y", ""),
    ]
    assert found[0] == {
        "name": {"group": "", "tag": "x"},
        "displayName": "",
        "description": "",
        "datasetType": "DATASET_UNKNOWN",
    }
    assert api.post("experiment", {"includeMetrics": False})["metricInfos"] == []


def test_a_logged_experiment_is_returned_as_it_is(
    write_session: Any, write_experiment: Any, make_api: Any
) -> None:
    """In its order, and without other hyperparameters and metrics."""
    write_experiment(
        ".",
        hparams=[
            {"name": "opt", "display_name": "Optimizer", "description": "**md**", "type": 1,
             "domain_discrete": choices("sgd", "adam", 1, True)},
            {"name": "lr", "type": 3, "differs": True,
             "domain_interval": Interval(min_value=-math.inf, max_value=1)},
            {"name": "new", "type": 9},
        ],
        metrics=[("", "loss"), ("val", "loss")],
        name="n", description="d", user="u", time_created_secs=1.5,
    )  # fmt: skip
    write_session("s", {"lr": 5, "unnamed": 1}, scalars={"loss": [1.0], "unnamed": [1.0]})
    api = make_api()

    found = api.post("experiment", {})

    assert {k: found[k] for k in ("name", "description", "user", "timeCreatedSecs")} == {
        "name": "n",
        "description": "d",
        "user": "u",
        "timeCreatedSecs": 1.5,
    }
    assert infos(api) == {
        "opt": {
            "displayName": "Optimizer",
            "description": "**md**",
            "type": "DATA_TYPE_STRING",
            "domainDiscrete": ["sgd", "adam", 1.0, True],
            "differs": False,
        },
        "lr": {
            "type": "DATA_TYPE_FLOAT64",
            "domainInterval": {"minValue": "-Infinity", "maxValue": 1.0},
            "differs": True,
        },
        "new": {"type": 9, "differs": False},
    }
    assert [info["name"]["group"] for info in found["metricInfos"]] == ["", "val"]
    assert list(infos(api, hparamsLimit=1)) == ["opt"]
    [group] = api.groups()["sessionGroups"]
    assert group["hparams"] == {"lr": 5.0, "unnamed": 1.0}
    assert [metric["name"]["tag"] for metric in group["metricValues"]] == ["loss"]


def test_experiments_of_several_sessions_are_merged(
    write_session: Any, write_experiment: Any, make_api: Any
) -> None:
    """Some programs log one per session. Of equal names, that of the first run is used."""
    write_experiment(
        "s1", hparams=[{"name": "lr", "type": 3}], metrics=[("", "a"), ("", "a")], user="first"
    )
    write_experiment(
        "s2", hparams=[{"name": "n", "type": 3}, {"name": "lr", "type": 1}], metrics=[("", "b")]
    )
    write_session("s1", {"lr": 1}, scalars={"a": [1.0]})
    write_session("s2", {"n": 1}, scalars={"b": [2.0]})
    api = make_api()

    assert {name: info["type"] for name, info in infos(api).items()} == {
        "lr": "DATA_TYPE_FLOAT64",
        "n": "DATA_TYPE_FLOAT64",
    }
    experiment = api.post("experiment", {})
    assert [info["name"]["tag"] for info in experiment["metricInfos"]] == ["a", "b"]
    assert experiment["user"] == "first"
    found = api.groups()["sessionGroups"]
    assert [[m["name"]["tag"] for m in group["metricValues"]] for group in found] == [["a"], ["b"]]


def test_the_number_of_listed_choices_is_an_option(
    write_session: Any, tbcore_logdir: Path, tbcore_client: Any
) -> None:
    """`--set hparams.max_choices=2`: three strings are not listed, two booleans are."""
    for name in "abc":
        write_session(name, {"x": name, "y": name == "a"})
    client = tbcore_client(
        tbcore_logdir, [tbcore_hparams], plugin_values={"hparams": {"max_choices": "2"}}
    )
    infos = client.post("data/plugin/hparams/experiment", json={}).json()["hparamInfos"]

    assert [("domainDiscrete" in info, info["name"]) for info in infos] == [
        (False, "x"),
        (True, "y"),
    ]


def test_changes_on_disk_appear(tbcore_logdir: Path, write_session: Any, make_api: Any) -> None:
    """New sessions, metrics and values, and deleted runs."""
    write_session("a", {"x": 1}, scalars={"loss": [1.0]})
    api = make_api()
    assert infos(api)["x"]["domainInterval"]["maxValue"] == 1.0

    write_session("b", {"x": 2, "y": "new"}, scalars={"acc": [0.5]})
    write_run(tbcore_logdir, "a", scalars={"loss": [(1, 3.0)]})
    api.client.reload()
    assert list(infos(api)) == ["x", "y"]
    assert infos(api)["x"]["domainInterval"]["maxValue"] == 2.0
    first, second = api.groups()["sessionGroups"]
    assert first["metricValues"][0]["value"] == 3.0
    assert second["metricValues"][0]["name"]["tag"] == "acc"

    for path in (tbcore_logdir / "b").iterdir():
        path.unlink()
    api.client.reload()
    assert list(infos(api)) == ["x"]
    assert api.names() == ["a"]


def test_versions_of_an_experiment_do_not_stay_in_memory() -> None:
    """Equal experiments are one object, but only a limited number of them is kept."""
    reader = Reader(Multiplexer(), 10)
    metadata = [summaries.experiment({}, [], created=n).metadata for n in range(1000)]
    experiments = [reader._experiment_in(one) for one in metadata]

    assert experiments[999].time_created_secs == 999
    assert reader._experiment_in(metadata[999]) is experiments[999]
    assert len(reader._experiments) <= 100


START = "_hparams_/session_start_info"
BAD: list[tuple[str, bytes, str]] = [
    (START, b"\x0f\xff", "the metadata cannot be decoded as hyperparameters"),
    (START, b"\x1a\x05\x0a\x03\x0a\x01\xff", "the metadata cannot be decoded as hyperparameters"),
    (START, b"\x08\x01\x1a\x00", "the metadata has hyperparameters of version 1; expected 0"),
    (START, b"\x12\x00", "the metadata has experiment; expected session_start_info"),
    (START, b"", "the metadata has nothing; expected session_start_info"),
    ("_hparams_/experiment", b"\x0f", "the metadata cannot be decoded as hyperparameters"),
    (
        "_hparams_/session_end_info",
        b"\x1a\x00",
        "the metadata has session_start_info; expected session_end_info",
    ),
]


@pytest.mark.parametrize(("tag", "content", "problem"), BAD, ids=lambda value: str(value)[-40:])
def test_invalid_messages_are_ignored(
    tag: str, content: bytes, problem: str, tbcore_logdir: Path, write_session: Any, make_api: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Each is logged as a warning once, and everything else is returned."""
    write_session("good", {"x": 1}, scalars={"loss": [0.5]})
    if tag == START:
        write_run(tbcore_logdir, "bad", values=[summaries.metadata_only(tag, "hparams", content)])
    else:
        write_session("bad", {"x": 2})
        write_run(tbcore_logdir, "bad", values=[summaries.metadata_only(tag, "hparams", content)])
    api = make_api()

    with caplog.at_level(logging.WARNING, logger="tbcore_hparams"):
        names = api.names()
        write_run(tbcore_logdir, "bad", scalars={"loss": [0.25]})
        api.client.reload()
        api.names()

    assert names == (["good"] if tag == START else ["bad", "good"])
    assert list(infos(api)) == ["x"]
    [line] = caplog.messages
    assert line == f"run 'bad': ignoring invalid data in tag {tag}: {problem}"


def test_unknown_tags_are_ignored(tbcore_logdir: Path, write_session: Any, make_api: Any) -> None:
    """Later versions may write them."""
    write_session("s", {"x": 1})
    later = summaries.metadata_only("_hparams_/later", "hparams", b"\xff")
    write_run(tbcore_logdir, "s", values=[later])

    assert make_api().names() == ["s"]


def test_the_number_of_columns_is_limited(
    tbcore_logdir: Path, write_session: Any, write_experiment: Any, make_api: Any,
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A small log can have very many, each in one session. The most frequent ones are used."""
    for number in range(5):
        unique = {f"only-{number}-{i}": 1.0 for i in range(40)}
        write_session(f"s{number}", {"lr": 0.1, **unique}, scalars={"loss": [0.5]})
        write_run(
            tbcore_logdir, f"s{number}/{number}", scalars={f"own-{i}": [1.0] for i in range(40)}
        )
    monkeypatch.setattr("tbcore_hparams.values.MAX_CELLS", 50)
    api = make_api()

    with caplog.at_level(logging.WARNING, logger="tbcore_hparams"):
        found, experiment = api.groups()["sessionGroups"], api.post("experiment", {})

    assert [group["hparams"]["lr"] for group in found] == [0.1] * 5
    assert len(experiment["hparamInfos"]) == len(experiment["metricInfos"]) == 10
    assert {"group": "", "tag": "loss"} in [info["name"] for info in experiment["metricInfos"]]
    assert all(group["metricValues"][0]["name"]["tag"] == "loss" for group in found)
    write_experiment(".", metrics=[("", f"declared-{i}") for i in range(30)])
    api.client.reload()
    assert len(api.post("experiment", {})["metricInfos"]) == 10
    assert caplog.messages == [
        "too many columns for 5 sessions: using at most 10 hyperparameters and 10 metrics"
    ]


def test_fields_of_metrics_are_returned(write_experiment: Any, make_api: Any) -> None:
    """The display name, the description and the type of the dataset."""
    metric = {
        "name": {"tag": "loss"},
        "display_name": "Loss",
        "description": "lower is better",
        "dataset_type": DATASET_VALIDATION,
    }
    write_experiment(".", metric_infos=[metric])

    assert make_api().post("experiment", {}) == {
        **EMPTY,
        "metricInfos": [
            {
                "name": {"group": "", "tag": "loss"},
                "displayName": "Loss",
                "description": "lower is better",
                "datasetType": "DATASET_VALIDATION",
            }
        ],
    }


def test_an_experiment_has_its_hyperparameters_and_metrics() -> None:
    """A domain is a list of values or an interval."""
    domains: dict[str, Any] = {"opt": ["a", "b"], "on": [True], "lr": (0.1, 0.5), "any": []}
    value = summaries.experiment(domains, ["loss"], description="*all*", created=7.0)
    assert value.tag == EXPERIMENT_TAG
    found = logged_experiment(value.metadata)
    assert found[:4] == ("", "*all*", "", 7.0)
    assert [(one.name, one.type, one.values, one.interval) for one in found.hparams] == [
        ("opt", 1, ["a", "b"], None),
        ("on", 2, [True], None),
        ("lr", 3, None, (0.1, 0.5)),
        ("any", 3, [], None),
    ]
    assert found.metrics == [(("", "loss"), "", "", 0, True)]


def test_the_experiment_of_tensorboards_own_writer() -> None:
    """`hparams.api` of TensorBoard, which Keras uses; PyTorch and tensorboardX use copies of it."""
    api = pytest.importorskip("tensorboard.plugins.hparams.summary_v2")
    rate = api.HParam("lr", api.RealInterval(0.25, 0.5), display_name="rate", description="of step")
    metric = api.Metric(
        "acc", group="val", display_name="Accuracy", dataset_type=api.Metric.VALIDATION
    )
    (value,) = api.hparams_config_pb([rate], [metric], time_created_secs=3).value
    metadata = summaries.metadata("hparams", value.metadata.plugin_data.content)
    assert logged_experiment(metadata) == (
        "", "", "", 3.0,
        [("lr", "rate", "of step", 3, None, (0.25, 0.5), False, True)],
        [(("val", "acc"), "Accuracy", "", 2, True)],
        True,
    )  # fmt: skip
