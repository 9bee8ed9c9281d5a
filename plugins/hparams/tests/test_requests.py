"""Invalid requests, and the routes for curves and downloads."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import tbcore_hparams
from tbcore_testing import TbcoreClient, write_run

MakeClient = Callable[..., TbcoreClient]
MESSAGES = ["experiment", "session_groups", "metric_evals"]
ALL = {"allowedStatuses": [0, 1, 2, 3], "sliceSize": 1000}


@pytest.fixture
def client(tbcore_logdir: Path, write_session: Any, tbcore_client: MakeClient) -> TbcoreClient:
    """Serves a session with a number and a string. Errors are responses, not exceptions."""
    write_session("s", {"lr": 0.5, "opt": "adam"}, scalars={"loss": [1.0, 0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_hparams], dev=False)


def assert_rejected(response: Any, *words: str) -> None:
    """The response is 400, with one line of plain text that contains these words."""
    assert response.status_code == 400, response.text
    assert response.headers["content-type"].startswith("text/plain")
    assert "\n" not in response.text.strip()
    assert len(response.text) < 700
    for word in words:
        assert word in response.text


# Messages ----------------------------------------------------------------------------------------


BODIES: list[tuple[bytes, str]] = [
    (b"", ""),
    (b"{", ""),
    (b"nothing", ""),
    (b'"x"', ""),
    (b"3", ""),
    (b"null", ""),
    (b'{"unknownField": 1}', "unknownField"),
    (b'{"experimentName": 1}', "experimentName"),
    (b'{"experimentName": "a", "experimentName": "b"}', ""),
    (b'{"experimentName": "\\ud800"}', ""),
    (b'{"experimentName": "\xff"}', ""),
    (b"\xff\xfe", ""),
    (b"[" * 100_000, ""),
    (b'{"a":' * 100_000, ""),
    (b"1" * 100_000, ""),
]


@pytest.mark.parametrize("route", MESSAGES)
@pytest.mark.parametrize(("body", "words"), BODIES, ids=lambda value: repr(value)[:30])
def test_a_body_that_is_not_a_message_is_rejected(
    client: TbcoreClient, route: str, body: bytes, words: str
) -> None:
    """The error names the expected message, and the problem."""
    names = {
        "experiment": "GetExperimentRequest",
        "session_groups": "ListSessionGroupsRequest",
        "metric_evals": "ListMetricEvalsRequest",
    }
    assert_rejected(client.post(f"data/plugin/hparams/{route}", content=body), names[route], words)
    if len(body) < 1000 and b"\xff" not in body:  # The core replaces invalid UTF-8 in URLs.
        text = quote(body)
        assert_rejected(client.get(f"data/plugin/hparams/{route}?request={text}"), words)


@pytest.mark.parametrize("route", [*MESSAGES, "download_data?format=csv&columnsVisibility=[]"])
def test_get_requires_the_parameter_request(client: TbcoreClient, route: str) -> None:
    """It contains the message."""
    assert_rejected(client.get(f"data/plugin/hparams/{route}"), '"request" is required')


COLUMN = {"hparam": "lr"}
INVALID_MESSAGES: list[tuple[dict[str, Any], str]] = [
    ({"colParams": [{}]}, 'neither "metric" nor "hparam"'),
    ({"colParams": [{"order": "ORDER_ASC"}]}, 'neither "metric" nor "hparam"'),
    ({"colParams": [{**COLUMN, "order": 9}]}, "unknown order 9"),
    ({"colParams": [{**COLUMN, "order": "ORDER_UP"}]}, "ORDER_UP"),
    ({"colParams": [{**COLUMN, "metric": {"tag": "x"}}]}, ""),
    ({"colParams": [{**COLUMN, "filterRegexp": "x", "filterDiscrete": []}]}, ""),
    ({"colParams": [{**COLUMN, "filterInterval": {"minValue": "low"}}]}, "low"),
    ({"colParams": [{**COLUMN, "filterDiscrete": "x"}]}, ""),
    ({"colParams": "x"}, "colParams"),
    ({"aggregationType": 77}, "unknown aggregationType 77"),
    ({"aggregationType": "AGGREGATION_SUM"}, "AGGREGATION_SUM"),
    ({"allowedStatuses": ["STATUS_DONE"]}, "STATUS_DONE"),
    ({"sliceSize": 2**31}, ""),
    ({"sliceSize": 1.5}, "sliceSize"),
    ({"startIndex": "x"}, "startIndex"),
    (
        {"colParams": [{**COLUMN, "filterRegexp": "x"}]},
        "a regular expression cannot filter 'lr': one value is 0.5",
    ),
    (
        {"colParams": [{"metric": {"tag": "loss"}, "filterRegexp": "x"}]},
        "a regular expression cannot filter 'loss': one value is 0.5",
    ),
    (
        {"colParams": [{"hparam": "opt", "filterInterval": {}}]},
        "an interval cannot filter 'opt': one value is 'adam'",
    ),
    ({"colParams": [{"hparam": "opt", "filterRegexp": "("}]}, "unclosed ("),
    ({"colParams": [{"hparam": "opt", "filterRegexp": "a\n("}]}, "unclosed ("),
    ({"colParams": [{"hparam": "opt", "filterRegexp": "(?=a)"}]}, "lookahead is not supported"),
    (
        {"colParams": [{"hparam": "opt", "filterRegexp": r"(a)\1"}]},
        "backreferences are not supported",
    ),
    ({"colParams": [{"hparam": "opt", "filterRegexp": "a" * 10_001}]}, "10000 characters"),
]


@pytest.mark.parametrize(("message", "words"), INVALID_MESSAGES, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("route", ["session_groups", "download_data"])
def test_a_question_without_a_meaning_is_refused(
    client: TbcoreClient, message: dict[str, Any], words: str, route: str
) -> None:
    """The error names the invalid part."""
    query = "?format=csv&columnsVisibility=[true]" if route == "download_data" else ""
    path = f"data/plugin/hparams/{route}{query}"
    assert_rejected(client.post(path, json=ALL | message), words)


def test_a_filter_is_applied_only_to_groups_that_pass_earlier_filters(
    write_session: Any, make_api: Any
) -> None:
    """It is no error if only the values of other groups have the wrong type."""
    write_session("a", {"x": "text"})
    write_session("b", {"x": 1})
    api = make_api()

    only_strings = {"hparam": "x", "filterDiscrete": ["text"]}
    assert api.names(only_strings, {"hparam": "x", "filterRegexp": "t"}) == ["a"]
    assert api.names({"hparam": "x", "filterRegexp": "t"}, allowedStatuses=[1]) == []


def test_the_size_of_a_body_is_limited(client: TbcoreClient) -> None:
    """A body just below the limit is accepted, a larger one is rejected."""
    column = {"hparam": "opt", "filterDiscrete": ["x" * 1000] * 900 + ["adam"]}
    response = client.post(
        "data/plugin/hparams/session_groups", json={**ALL, "colParams": [column]}
    )
    assert response.json()["totalSize"] == 1

    response = client.post("data/plugin/hparams/session_groups", content=b" " * (1 << 20) + b"{}")
    assert response.status_code == 413
    assert "1048576 bytes" in response.text


def test_a_message_with_too_many_values_is_rejected_immediately(client: TbcoreClient) -> None:
    """Compressed, millions of values are a small body, which protobuf would parse for minutes."""
    for values in ("1," * 2_000_000 + "1", "{}," * 2_000_000 + "{}"):
        body = b'{"colParams": [{"hparam": "lr", "filterDiscrete": [%b]}]}' % values.encode()
        started = time.process_time()
        response = client.post(
            "data/plugin/hparams/session_groups",
            content=gzip.compress(body, 1),
            headers={"content-encoding": "gzip"},
        )
        assert_rejected(response, "too many values in the ListSessionGroupsRequest", "50000")
        assert time.process_time() - started < 5

    many = [float(number) for number in range(40_000)]
    column = {"hparam": "lr", "filterDiscrete": [*many, 0.5]}
    response = client.post(
        "data/plugin/hparams/session_groups", json={**ALL, "colParams": [column]}
    )
    assert response.json()["totalSize"] == 1


@pytest.mark.parametrize("route", ["experiment", "session_groups", "metric_evals", "table"])
def test_other_methods_are_rejected(client: TbcoreClient, route: str) -> None:
    """All routes are read-only."""
    for method in ("PUT", "DELETE", *(["POST"] if route == "table" else [])):
        assert client.request(method, f"data/plugin/hparams/{route}").status_code == 405


def test_all_patterns_of_a_request_share_one_time_limit(write_session: Any, make_api: Any) -> None:
    """Ten thousand slow patterns take no longer to reject than one."""
    for number in range(20):
        write_session(f"s{number}", {"x": "ab" * 4000 + str(number)})
    client = make_api().client
    path = "data/plugin/hparams/session_groups"

    slow = [{"hparam": "x", "filterRegexp": f"(a?){{200}}[ab]{{500}}{n}"} for n in range(10_000)]
    started = time.process_time()
    response = client.post(path, json={**ALL, "colParams": slow})
    assert time.process_time() - started < 10
    assert_rejected(response, "takes too long")

    quick = {"hparam": "x", "filterRegexp": "b1", "order": "ORDER_DESC"}
    result = client.post(path, json={**ALL, "colParams": [quick] * 50}).json()
    assert [group["name"] for group in result["sessionGroups"]] == ["s19", "s18", "s17", "s16",
        "s15", "s14", "s13", "s12", "s11", "s10", "s1"]  # fmt: skip
    assert_rejected(
        client.post(path, json={**ALL, "colParams": [{"hparam": "x"}] * 10_001}),
        "colParams has 10001 elements; expected at most 10000",
    )


FIELDS = [
    "allowedStatuses", "colParams", "metric", "hparam", "group", "tag", "order", "filterRegexp",
    "filterInterval", "minValue", "maxValue", "filterDiscrete", "excludeMissingValues", "sliceSize",
    "startIndex", "aggregationType", "aggregationMetric", "includeMetrics", "includeInResult",
    "sessionName", "metricName", "hparamsLimit",
]  # fmt: skip
LEAVES = [
    None, True, False, 0, 1, 2, -1, 0.5, 1e400, 2**31, -(2**31), 2**63, 10**30, "", "lr", "opt",
    "loss", "s", "NaN", "Infinity", "(", "a", "ORDER_ASC", "AGGREGATION_MIN", "STATUS_UNKNOWN",
    "\ud800",
]  # fmt: skip


def nonsense(pick: random.Random, depth: int = 0) -> Any:
    """Random JSON whose keys are names of fields."""
    kind = pick.random()
    if depth == 0 or (depth < 5 and kind < 0.35):
        return {pick.choice(FIELDS): nonsense(pick, depth + 1) for _ in range(pick.randrange(6))}
    if depth < 5 and kind < 0.6:
        return [nonsense(pick, depth + 1) for _ in range(pick.randrange(4))]
    return pick.choice(LEAVES)


def test_no_message_causes_a_server_error(client: TbcoreClient) -> None:
    """The status is 200, 400 or 404, and errors are one line."""
    pick = random.Random(7)
    statuses = Counter[int]()
    for number in range(1500):
        route = pick.choice([*MESSAGES, "download_data?format=json&columnsVisibility=[true,true]"])
        message = nonsense(pick)
        if number % 2:
            # Random JSON almost always has an invalid field. This message is mostly valid.
            column = {"hparam": pick.choice(["lr", "opt"]), pick.choice(FIELDS): nonsense(pick, 3)}
            message = {**ALL, "colParams": [column], pick.choice(FIELDS): nonsense(pick, 3)}
        response = client.post(f"data/plugin/hparams/{route}", content=json.dumps(message))
        statuses[response.status_code] += 1
        assert response.status_code in (200, 400, 404), (route, message, response.text)
        if response.status_code != 200:
            assert len(response.text.splitlines()) == 1
    assert min(statuses[200], statuses[400]) > 50


# Curves ------------------------------------------------------------------------------------------


def test_a_curve_has_rows_of_time_step_and_value(
    tbcore_logdir: Path, write_session: Any, make_api: Any
) -> None:
    """Also from a run inside the session's run, and without the scalars plugin."""
    write_session("exp/s", {"x": 1}, scalars={"loss": [(1, 0.5, 10.5), (2, math.nan, 11.5)]})
    write_run(tbcore_logdir, "exp/s/val/deep", scalars={"loss": [(3, 2.0, 12.5)]})
    api = make_api()

    def curve(session: str, group: str, tag: str = "loss") -> Any:
        message = {"sessionName": session, "metricName": {"group": group, "tag": tag}}
        return api.post("metric_evals", message)

    assert curve("exp/s", "") == [[10.5, 1, 0.5], [11.5, 2, "NaN"]]
    for session, group in (
        ("exp/s", "val/deep"),
        ("exp/s", "/val/deep/"),
        ("./exp/s", "./val/deep"),
    ):
        assert curve(session, group) == [[12.5, 3, 2.0]]


def test_a_curve_is_sampled(tbcore_logdir: Path, write_session: Any, tbcore_client: Any) -> None:
    """To 1000 points by default."""
    write_session("s", {"x": 1}, scalars={"loss": [float(n) for n in range(1500)]})
    message = {"sessionName": "s", "metricName": {"tag": "loss"}}
    for samples, length in ((None, 1000), (0, 1500), (3, 3)):
        config = {} if samples is None else {"samples_per_plugin": {"hparams": samples}}
        client = tbcore_client(tbcore_logdir, plugins=[tbcore_hparams], **config)
        rows = client.post("data/plugin/hparams/metric_evals", json=message).json()
        assert (len(rows), rows[-1][1]) == (length, 1499)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"sessionName": "s"},
        {"sessionName": "missing", "metricName": {"tag": "loss"}},
        {"sessionName": "s", "metricName": {"tag": "lost"}},
        {"sessionName": "s", "metricName": {"group": "../s", "tag": "loss"}},
        {"sessionName": "s", "metricName": {"group": "val", "tag": "loss"}},
        {"sessionName": "s", "metricName": {"tag": "_hparams_/session_start_info"}},
    ],
)
def test_a_curve_that_does_not_exist_is_not_found(
    client: TbcoreClient, message: dict[str, Any]
) -> None:
    """The response is a one-line error."""
    response = client.post("data/plugin/hparams/metric_evals", json=message)

    assert response.status_code == 404
    assert "\n" not in response.text.strip()


# Downloads ---------------------------------------------------------------------------------------


def download(client: TbcoreClient, kind: str, visible: Any, **message: Any) -> Any:
    text = quote(json.dumps({**ALL, **message}))
    path = f"data/plugin/hparams/download_data?request={text}&format={kind}"
    return client.get(f"{path}&columnsVisibility={quote(json.dumps(visible))}")


@pytest.fixture
def varied(write_session: Any, write_experiment: Any, make_api: Any) -> TbcoreClient:
    """Serves values of each type, some of which are missing."""
    write_experiment(
        ".",
        hparams=[{"name": "opt", "display_name": "Optimizer_%"}, {"name": "lr"}, {"name": "flag"}],
        metrics=[("", "loss"), ("val", "loss")],
    )
    write_session("a", {"opt": 'x,"y"', "lr": 1e-7, "flag": True}, scalars={"loss": [0.5]})
    write_session("b", {"opt": "a_b%", "lr": 1}, scalars={"loss": [math.nan]})
    write_session("c", {"lr": None, "flag": False}, scalars={"loss": [math.inf]})
    api = make_api()
    client: TbcoreClient = api.client
    return client


def test_csv(varied: TbcoreClient) -> None:
    """Lines end with CRLF, cells are quoted if necessary, and values are as in Python."""
    response = download(varied, "csv", [True] * 5)

    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.text == (
        "Optimizer_%,lr,flag,loss,loss\r\n"
        '"x,""y""",1e-07,True,0.5,\r\n'
        "a_b%,1.0,,nan,\r\n"
        ",,False,inf,\r\n"
    )
    assert len(list(csv.reader(io.StringIO(response.text)))) == 4


def test_json(varied: TbcoreClient) -> None:
    """A missing hyperparameter is an empty string, a missing metric is null."""
    response = download(varied, "json", [True, True, True, True, True])

    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "header": ["Optimizer_%", "lr", "flag", "loss", "loss"],
        "rows": [
            ['x,"y"', 1e-07, True, 0.5, None],
            ["a_b%", 1.0, "", "NaN", None],
            ["", "", False, "Infinity", None],
        ],
    }


def test_latex(varied: TbcoreClient) -> None:
    """Numbers have three digits and powers of ten, and special characters are escaped."""
    response = download(varied, "latex", [True, True, True, True, True])

    assert response.headers["content-type"].startswith("application/x-latex")
    assert response.text == "\n".join(
        [
            r"\begin{table}[tbp]",
            r"\begin{tabular}{lllll}",
            r"Optimizer\_\% & lr & flag & loss & loss \\ \hline",
            r'x,"y" & $1\cdot 10^{-7}$ & $1$ & $0.5$ & - \\',
            r"a\_b\% & $1$ &  & $\mathrm{NaN}$ & - \\",
            r" &  & $0$ & $+\infty$ & - \\",
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def test_latex_commands_in_values_are_escaped(write_session: Any, make_api: Any) -> None:
    """A log can contain any string."""
    write_session("s", {"x": r"\input{/etc/passwd} & $ # ~ ^ {"})

    row = download(make_api().client, "latex", [True]).text.splitlines()[3]

    assert row == (
        r"\textbackslash{}input\{/etc/passwd\} \& \$ \# \textasciitilde{} \textasciicircum{} \{ \\"
    )


def test_a_download_has_visible_columns_and_requested_groups(varied: TbcoreClient) -> None:
    """Columns after the end of the list are hidden; the message filters, sorts and slices."""
    assert download(varied, "csv", [False, True]).text == 'lr\r\n1e-07\r\n1.0\r\n""\r\n'
    assert download(varied, "json", []).json() == {"header": [], "rows": [[], [], []]}
    by_rate = {"hparam": "lr", "order": "ORDER_DESC", "excludeMissingValues": True}
    found = download(varied, "json", [False, True, False, True], colParams=[by_rate], sliceSize=1)
    assert found.json() == {"header": ["lr", "loss"], "rows": [[1.0, "NaN"]]}
    for filtering in (
        {"hparam": "opt", "filterRegexp": "_", "excludeMissingValues": True},
        {"hparam": "opt", "filterDiscrete": ["a_b%"], "excludeMissingValues": True},
        {
            "hparam": "lr",
            "filterInterval": {"minValue": 1, "maxValue": 1},
            "excludeMissingValues": True,
        },
    ):
        rows = download(varied, "json", [False, True], colParams=[filtering]).json()["rows"]
        assert rows == [[1.0]]
    only = download(
        varied, "json", [True] * 5, colParams=[{"hparam": "lr", "includeInResult": True}]
    )
    assert only.json()["rows"][0] == ["", 1e-07, "", 0.5, None]
    without = download(varied, "json", [True] * 5, includeMetrics=False).json()
    assert without["header"] == ["Optimizer_%", "lr", "flag"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("columnsVisibility=[]", '"format" is required'),
        ("format=csv", '"columnsVisibility" is required'),
        ("format=pdf&columnsVisibility=[]", "one of json, csv, latex"),
        ("format=CSV&columnsVisibility=[]", "one of json, csv, latex"),
        ("format=csv&columnsVisibility=true", "a JSON array of booleans"),
        ("format=csv&columnsVisibility=[1]", "a JSON array of booleans"),
        ("format=csv&columnsVisibility=[", "a JSON array of booleans"),
        ("format=csv&columnsVisibility=", "a JSON array of booleans"),
    ],
)
def test_invalid_parameters_of_a_download_are_rejected(
    client: TbcoreClient, query: str, words: str
) -> None:
    """The error says what is allowed."""
    path = f"data/plugin/hparams/download_data?{query}&request={quote(json.dumps(ALL))}"
    assert_rejected(client.get(path), words)
