"""The table: all data at once, for a front end that filters and sorts by itself."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import tbcore_hparams
from tbcore_testing import RouteTests, write_run

NAN = math.nan


def read(content: bytes) -> tuple[dict[str, Any], list[dict[str, list[float]]]]:
    """The header and the tables of a response of `columns_response`."""
    (length,) = struct.unpack_from("<I", content)
    text = json.loads(content[4 : 4 + length])
    offset, tables = 4 + length, []
    for shape in text["tables"]:
        table = {}
        for name in shape["columns"]:
            table[name] = np.frombuffer(content, "<f8", shape["rows"], offset).tolist()
            offset += 8 * shape["rows"]
        tables.append(table)
    assert offset == len(content)
    return text["header"], tables


def table(make_api: Any, query: str = "") -> tuple[dict[str, Any], list[dict[str, list[float]]]]:
    response = make_api.client.get(f"data/plugin/hparams/table?{query}")
    assert response.status_code == 200, response.text
    return read(response.content)


class TestRoutes(RouteTests):
    plugin = tbcore_hparams
    routes: ClassVar = {"data/plugin/hparams/table": []}

    def write_logs(self, logdir: Path) -> None:
        write_run(logdir, "s", hparams={})


def write_sessions(write_session: Any) -> None:
    """Writes two sessions of one group and one of another, with hyperparameters of each type."""
    write_session(
        "b", {"lr": 0.1, "n": 1, "opt": "adam", "flag": True, "any": 1}, group="g", status=1,
        start=10, end=20, monitor_url="http://m/b",
        scalars={"loss": [(7, 0.5, 99.0)], "acc": [0.25]},
    )  # fmt: skip
    write_session(
        "a", {"lr": 0.1, "n": 1, "opt": "adam", "flag": True, "any": 1}, group="g",
        model_uri="/models/a", scalars={"loss": [(0, 9.0), (3, 0.25, 98.0)]},
    )  # fmt: skip
    write_session("c", {"lr": math.nan, "opt": "sgd", "any": "x"}, status=3)


def test_the_header_describes_columns_sessions_and_groups(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """All are sorted by name."""
    write_sessions(write_session)

    header, _ = table(make_api())

    assert [(h["name"], h["type"], h["differs"]) for h in header["hparams"]] == [
        ("any", "mixed", True),
        ("flag", "bool", False),
        ("lr", "number", True),
        ("n", "number", False),
        ("opt", "string", True),
    ]
    assert header["hparams"][2]["nan"] == [0]
    assert [(m["group"], m["tag"]) for m in header["metrics"]] == [("", "acc"), ("", "loss")]
    assert header["groups"] == {"names": ["c", "g"], "monitor_url": ["", ""]}
    assert header["sessions"] == {
        "names": ["a", "b", "c"],
        "group": [1, 1, 0],
        "status": ["unknown", "success", "running"],
        "start": [0.0, 10.0, 0.0],
        "end": [0.0, 20.0, 0.0],
        "model_uri": ["/models/a", "", ""],
        "monitor_url": ["", "http://m/b", ""],
    }
    assert header["strings"] == {"0": ["x", None], "1": [None, True], "4": ["sgd", "adam"]}
    assert header["experiment"] == {
        "name": "",
        "description": "",
        "user": "",
        "time_created_secs": 0.0,
        "is_logged": False,
    }


def test_the_tables_contain_numbers_of_groups_and_of_sessions(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """NaN marks a missing value."""
    write_sessions(write_session)

    _, (groups, sessions) = table(make_api())

    np.testing.assert_equal(
        groups,
        {
            "h0": [NAN, 1.0],
            "h2": [NAN, 0.1],
            "h3": [NAN, 1.0],
            "m0": [NAN, 0.25],
            "m0.step": [0.0, 0.0],
            "m0.sessions": [0.0, 1.0],
            "m1": [NAN, 0.375],
            "m1.step": [0.0, 5.0],
            "m1.sessions": [0.0, 2.0],
        },
    )
    np.testing.assert_equal(sessions["m1"], [0.25, 0.5, NAN])
    np.testing.assert_equal(sessions["m1.step"], [3.0, 7.0, 0.0])
    np.testing.assert_equal(sessions["m1.wall_time"], [98.0, 99.0, NAN])
    np.testing.assert_equal(sessions["m0"], [NAN, 0.25, NAN])
    assert list(sessions) == [f"m{i}{part}" for i in (0, 1) for part in ("", ".step", ".wall_time")]


def test_one_session_represents_its_group(write_session: Any, make_api: Callable[[], Any]) -> None:
    """The group has all metrics of that session and no others."""
    write_sessions(write_session)

    found = {
        method: table(make_api(), f"aggregation={method}&tag=loss")[1][0]
        for method in ("min", "max")
    }

    np.testing.assert_equal(found["min"]["m1"], [NAN, 0.25])
    np.testing.assert_equal(found["min"]["m0"], [NAN, NAN])
    np.testing.assert_equal(found["min"]["m0.sessions"], [0.0, 0.0])
    np.testing.assert_equal(found["max"]["m1"], [NAN, 0.5])
    np.testing.assert_equal(found["max"]["m0"], [NAN, 0.25])
    np.testing.assert_equal(found["max"]["m1.step"], [0.0, 7.0])


def test_a_logged_nan_differs_from_a_missing_value(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """The number of sessions and the wall time distinguish them."""
    write_session("a", {"x": 1}, scalars={"loss": [math.nan]})
    write_session("b", {"x": 2})

    _, (groups, sessions) = table(make_api())

    np.testing.assert_equal(groups["m0"], [NAN, NAN])
    assert groups["m0.sessions"] == [1.0, 0.0]
    assert np.isnan(sessions["m0.wall_time"]).tolist() == [False, True]


def test_sessions_of_a_group_have_their_own_hyperparameters(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """Only those of which the sessions of a group have different values are sent for sessions."""
    same = {"lr": 0.1, "list": [1, {"a": 2}], "nan": NAN, "text": "x"}
    write_session("a", {**same, "seed": 0, "mixed": NAN, "opt": "adam", "extra": [1]}, group="g")
    write_session("b", {**same, "seed": 1, "mixed": "x", "opt": "sgd", "extra": [2]}, group="g")
    write_session("c", {**same, "mixed": 2.0, "only c": True}, group="g")
    write_session("d", {**same, "seed": 5, "lr": 0.2, "mixed": 2.0, "opt": "sgd"})

    header, (groups, sessions) = table(make_api())

    infos = {info["name"]: (i, info) for i, info in enumerate(header["hparams"])}
    varying = {name for name, (_, info) in infos.items() if "of_sessions" in info}
    assert varying == {"seed", "mixed", "opt", "extra", "only c"}
    assert all(infos[name][1]["differs"] for name in varying - {"only c"})

    def of_sessions(name: str) -> list[Any]:
        """Numbers as in the table, and the other values."""
        i, info = infos[name]
        others = info["of_sessions"]["strings"] or [None] * 4
        numbers = sessions.get(f"h{i}", [NAN] * 4)
        return [a if math.isnan(b) else b for a, b in zip(others, numbers, strict=True)]

    assert of_sessions("seed") == [0.0, 1.0, None, 5.0]
    assert of_sessions("mixed") == [None, "x", 2.0, 2.0]
    assert infos["mixed"][1]["of_sessions"]["nan"] == [0]
    assert infos["mixed"][1]["type"] == "mixed"
    assert of_sessions("opt") == ["adam", "sgd", None, "sgd"]
    assert of_sessions("extra") == ["[1]", "[2]", None, None]
    assert of_sessions("only c") == [None, None, True, None]
    assert f"h{infos['lr'][0]}" not in sessions
    assert groups[f"h{infos['seed'][0]}"] == [5.0, 0.0]


def test_values_of_mixed_types_keep_their_types(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """Non-finite numbers do not become strings, and the string "NaN" does not become a number."""
    values = [math.nan, math.inf, "NaN", 0.5, True, [1, "a"], {"b": None}, None]
    for number, value in enumerate(values):
        write_session(f"s{number}", {"x": value})
    write_session("s8", {})

    header, (groups, _) = table(make_api())

    assert [(info["type"], info["nan"]) for info in header["hparams"]] == [("mixed", [0])]
    texts = [None, None, "NaN", None, True, '[1,"a"]', '{"b":null}', None, None]
    assert header["strings"] == {"0": texts}
    np.testing.assert_equal(groups["h0"], [NAN, math.inf, NAN, 0.5, NAN, NAN, NAN, NAN, NAN])


def test_equal_values_do_not_differ(
    write_session: Any, write_experiment: Any, make_api: Callable[[], Any]
) -> None:
    """NaN counts as equal to NaN, and lists and objects are compared by their content."""
    same = {"nan": math.nan, "list": [1, "a"], "object": {"b": 1, "a": 2}, "bool": True}
    names = [*same, "text", "number or bool"]
    write_experiment(".", hparams=[{"name": name} for name in names])
    for name in ("a", "b"):
        write_session(name, {**same, "text": name, "number or bool": name == "a" or 0})

    header, _ = table(make_api())

    differs = {info["name"]: info["differs"] for info in header["hparams"]}
    assert [name for name in differs if differs[name]] == ["text", "number or bool"]
    assert header["strings"]["1"] == ['[1,"a"]'] * 2


def test_undeclared_hyperparameters_and_metrics_come_last(
    tbcore_logdir: Any, write_session: Any, write_experiment: Any, make_api: Callable[[], Any]
) -> None:
    """Only this route has them; the others return just what the logged experiment declares."""
    write_experiment(".", hparams=[{"name": "lr"}], metrics=[("/val/", "acc"), ("", "absent")])
    write_session("a", {"batch": 16, "lr": 0.5}, scalars={"loss": [1.0, 0.5]})
    write_run(tbcore_logdir, "a/val", scalars={"acc": [0.75]})
    api = make_api()

    header, (groups, sessions) = table(api)

    assert header["experiment"]["is_logged"]
    assert [(h["name"], h["declared"]) for h in header["hparams"]] == [
        ("lr", True),
        ("batch", False),
    ]
    assert [(m["group"], m["tag"], m["declared"]) for m in header["metrics"]] == [
        ("/val/", "acc", True),
        ("", "absent", True),
        ("", "loss", False),
    ]
    assert (groups["h1"], groups["m2"], sessions["m0"]) == ([16.0], [0.5], [0.75])
    experiment = api.post("experiment", {})
    assert [info["name"] for info in experiment["hparamInfos"]] == ["lr"]
    assert len(experiment["metricInfos"]) == 2
    [group] = api.groups()["sessionGroups"]
    for entry in (group, group["sessions"][0]):
        assert [metric["name"]["tag"] for metric in entry["metricValues"]] == ["acc"]
    path = "download_data?format=json&columnsVisibility=[true,true,true,true]"
    result = api.post(path, {"allowedStatuses": [0], "sliceSize": 9})
    assert result == {"header": ["lr", "acc", "absent"], "rows": [[0.5, 0.75, None]]}


def test_lists_and_objects_come_after_the_hyperparameters_of_tensorboards_api(
    write_session: Any, make_api: Callable[[], Any]
) -> None:
    """It has none whose values are all such."""
    write_session("a", {"betas": [0.9, 0.99], "lr": 0.5, "nothing": None, "zoo": {"a": 1}})
    write_session("b", {"betas": 1}, scalars={"loss": [1.0]})
    api = make_api()

    header, _ = table(api)
    assert [(h["name"], h["type"], h["declared"]) for h in header["hparams"]] == [
        ("betas", "mixed", True),
        ("lr", "number", True),
        ("zoo", "mixed", False),
    ]
    assert header["strings"]["2"] == ['{"a":1}', None]
    listed = api.post("experiment", {})["hparamInfos"]
    assert [info["name"] for info in listed] == ["betas", "lr"]


def test_a_sweep_over_lists_has_metrics(write_session: Any, make_api: Callable[[], Any]) -> None:
    """Though TensorBoard's API finds neither hyperparameters nor metrics in it."""
    write_session("a", {"layers": [64, 64]}, scalars={"loss": [1.0]})
    write_session("b", {"layers": [128]}, scalars={"loss": [0.5]})
    api = make_api()

    header, (groups, _) = table(api)
    assert header["strings"]["0"] == ["[64,64]", "[128]"]
    assert (header["hparams"][0]["differs"], groups["m0"]) == (True, [1.0, 0.5])
    experiment = api.post("experiment", {})
    assert experiment["hparamInfos"] == experiment["metricInfos"] == []


def test_a_session_has_the_metrics_of_the_run_that_contains_it_alone(
    tbcore_logdir: Any, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """As the Trainer of Hugging Face and accelerate log: hyperparameters below the metrics' run.

    Queries relate the two, too. TensorBoard's API does not, but reads the curve of group `..`.
    """
    for index in range(3):
        write_run(tbcore_logdir, f"out{index}", scalars={"eval/loss": [1.0, 1 / (index + 2)]})
        write_session(f"out{index}/170000.{index}", {"learning_rate": 10.0**-index})
    write_run(tbcore_logdir, "out2/eval", scalars={"eval/loss": [9.0]})
    write_run(tbcore_logdir, "several", scalars={"eval/loss": [8.0]})
    for name in ("several/1", "several/2"):
        write_session(name, {"learning_rate": 5}, scalars={"own": [0.25]})
    write_run(tbcore_logdir, ".", scalars={"eval/loss": [7.0]})
    api = make_api()

    header, (_, sessions) = table(api, "extremes=true")
    assert [(m["group"], m["tag"], m["declared"]) for m in header["metrics"]] == [
        ("", "own", True),
        ("..", "eval/loss", False),
    ]
    assert header["sessions"]["names"][:3] == ["out0/170000.0", "out1/170000.1", "out2/170000.2"]
    np.testing.assert_allclose(sessions["m1"], [1 / 2, 1 / 3, 1 / 4, NAN, NAN])
    np.testing.assert_allclose(sessions["m1.highest"], [1, 1, 1, NAN, NAN])
    assert [m["name"]["tag"] for m in api.post("experiment", {})["metricInfos"]] == ["own"]
    values = [group["metricValues"] for group in api.groups()["sessionGroups"]]
    assert [len(metrics) for metrics in values] == [0, 0, 0, 1, 1]
    message = {"sessionName": "out0/170000.0", "metricName": {"group": "..", "tag": "eval/loss"}}
    assert [row[1:] for row in api.post("metric_evals", message)] == [[0, 1.0], [1, 0.5]]

    write_session("out0/170001.0", {"learning_rate": 2})  # the job was run again
    api.client.reload()
    np.testing.assert_allclose(table(api)[1][1]["m1"][:3], [NAN, NAN, 1 / 3])


def test_extremes_over_the_steps_are_returned_if_requested(
    tbcore_logdir: Any, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """NaN does not count, the first of equal values does, and new points are included."""
    curve = [(0, 0.5), (1, math.nan), (2, 0.125), (3, 0.125), (4, 2.0), (5, 1.0)]
    write_session("a", {"x": 1}, group="g", scalars={"loss": curve})
    write_session("b", {"x": 1}, group="g", scalars={"loss": [(7, 0.25), (8, 0.75)]})
    write_session("c", {"x": 2}, scalars={"loss": [(1, math.nan), (2, math.nan)]})
    write_session("d", {"x": 3})
    api = make_api()

    assert not any("est" in name for one in table(api)[1] for name in one)
    _, (groups, sessions) = table(api, "extremes=true")
    np.testing.assert_equal(groups["m0.lowest"], [NAN, NAN, 0.1875])
    np.testing.assert_equal(groups["m0.highest"], [NAN, NAN, 1.375])
    np.testing.assert_equal(sessions["m0.lowest"], [0.125, 0.25, NAN, NAN])
    np.testing.assert_equal(sessions["m0.highest"], [2.0, 0.75, NAN, NAN])
    assert sessions["m0.lowest_step"] == [2.0, 7.0, 1.0, 0.0]
    assert sessions["m0.highest_step"] == [4.0, 8.0, 1.0, 0.0]
    assert groups["m0"][2] == 0.875
    # The mean of 2 and 7, and of 4 and 8; group g comes last.
    assert (groups["m0.lowest_step"][2], groups["m0.highest_step"][2]) == (4.0, 6.0)

    for by, last, lowest, step in (("last", 0.75, 0.25, 7.0), ("lowest", 1.0, 0.125, 2.0)):
        _, (groups, _) = table(api, f"aggregation=min&tag=loss&by={by}&extremes=true")
        assert (groups["m0"][2], groups["m0.lowest"][2]) == (last, lowest)
        assert groups["m0.lowest_step"][2] == step

    write_run(tbcore_logdir, "b", scalars={"loss": [(9, 0.0625)]})
    write_run(tbcore_logdir, "c/val", scalars={"acc": [0.5, 0.25]})
    api.client.reload()
    _, (groups, sessions) = table(api, "extremes=true")
    assert (sessions["m1.lowest"][1], sessions["m1.lowest_step"][1]) == (0.0625, 9.0)
    assert (groups["m0.highest"][0], groups["m0"][0]) == (0.5, 0.25)


def test_extremes_are_finite(write_session: Any, make_api: Callable[[], Any]) -> None:
    """As the lowest and highest values in queries are. Without a finite value, the first one."""
    curve = [(0, math.inf), (1, 0.5), (2, -math.inf), (3, 0.25), (4, math.nan)]
    write_session("a", {"x": 1}, scalars={"loss": curve})
    write_session("b", {"x": 2}, scalars={"loss": [(5, -math.inf), (6, math.nan)]})

    _, (_, sessions) = table(make_api(), "extremes=true")

    assert sessions["m0.lowest"] == [0.25, -math.inf]
    assert sessions["m0.highest"] == [0.5, -math.inf]
    assert sessions["m0.lowest_step"] == [3.0, 5.0]
    assert sessions["m0.highest_step"] == [1.0, 5.0]


def test_without_sessions_the_table_is_empty(make_api: Callable[[], Any]) -> None:
    """Lists are empty, and there is no error."""
    header, (groups, sessions) = table(make_api())
    assert not header["experiment"]["is_logged"]

    assert header["hparams"] == header["metrics"] == header["groups"]["names"] == []
    assert header["strings"] == groups == sessions == {}


def test_an_unchanged_table_is_not_sent_again(
    tbcore_logdir: Any, write_session: Any, make_api: Callable[[], Any]
) -> None:
    """It is sent again only after something in the table changes."""
    write_sessions(write_session)
    write_run(tbcore_logdir, "elsewhere", scalars={"other": [1.0]})
    api = make_api()
    generation = table(api)[0]["generation"]
    unchanged = ({"generation": generation, "unchanged": True}, [])
    assert table(api, f"known={generation}") == unchanged

    write_run(tbcore_logdir, "elsewhere", scalars={"other": [(1, 2.0)]})
    api.client.reload()
    assert table(api, f"known={generation}") == unchanged

    write_run(tbcore_logdir, "a", scalars={"loss": [(9, 0.125)]})
    api.client.reload()
    header, (_, sessions) = table(api, f"known={generation}")
    assert header["generation"] != generation
    assert sessions["m1"][0] == 0.125


def test_invalid_parameters_are_rejected(write_session: Any, make_api: Callable[[], Any]) -> None:
    """The response is a one-line error."""
    write_sessions(write_session)
    client = make_api().client

    for query, status, words in (
        ("aggregation=sum", 400, '"aggregation" must be one of avg, min, max, median'),
        ("by=first", 400, '"by" must be one of last, lowest, highest'),
        ("extremes=1", 400, '"extremes" must be one of false, true'),
        ("aggregation=min", 400, 'query parameter "tag" is required'),
        ("aggregation=min&tag=los", 404, "no metric with group '' and tag 'los'"),
    ):
        response = client.get(f"data/plugin/hparams/table?{query}")
        assert response.status_code == status
        assert words in response.text
        assert "\n" not in response.text.strip()
