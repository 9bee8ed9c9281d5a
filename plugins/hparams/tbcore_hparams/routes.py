"""Routes: TensorBoard's HTTP API, and /table for the front end."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Multiplexer, NotFoundError
from tbcore.http import columns_response, json_response, optional
from tbcore_hparams.aggregate import AVG, Aggregate, aggregate
from tbcore_hparams.downloads import FORMATS, download
from tbcore_hparams.experiment_data import ExperimentData, Groups
from tbcore_hparams.metrics import SCALARS, MetricName, run_of
from tbcore_hparams.proto.api_pb2 import (
    GetExperimentRequest,
    ListMetricEvalsRequest,
    ListSessionGroupsRequest,
)
from tbcore_hparams.query import named_columns, select_groups
from tbcore_hparams.reader import Reader
from tbcore_hparams.request_parsing import (
    aggregation,
    download_format,
    included_hparams,
    one_of,
    parse_message,
    session_groups_request,
    visible_columns,
)
from tbcore_hparams.responses import experiment_json, session_groups_json
from tbcore_hparams.table import header_of, tables_of
from tbcore_hparams.values import Rows


class Selection(NamedTuple):
    """The result of a ListSessionGroupsRequest."""

    groups: Groups
    """All groups of sessions with an allowed status."""
    metrics: Aggregate
    """Metrics of `groups`."""
    chosen: Rows
    """Indices of the groups in the response: those that pass all filters, sorted and sliced."""
    total_size: int
    """Number of groups that pass all filters."""


def make_routes(multiplexer: Multiplexer, samples: int, max_choices: int) -> list[Route]:
    """The routes /experiment, /session_groups, /metric_evals, /download_data and /table.

    /metric_evals returns at most `samples` points; 0 means all. /experiment lists the values of a
    string hyperparameter if there are at most `max_choices`.
    """
    reader = Reader(multiplexer, max_choices)

    def experiment(request: Request) -> Response:
        message = parse_message(request, GetExperimentRequest)
        found = reader.read().declared().experiment
        if message.HasField("include_metrics") and not message.include_metrics:
            found = found._replace(metrics=[])
        if message.hparams_limit > 0:
            found = found._replace(hparams=found.hparams[: message.hparams_limit])
        return json_response(experiment_json(found))

    def session_groups(request: Request) -> Response:
        message = session_groups_request(request)
        data = reader.read().declared()
        selection = run_query(data, message)
        body = session_groups_json(
            data,
            selection.groups,
            selection.metrics,
            selection.chosen,
            total_size=selection.total_size,
            hparams=included_hparams(message),
        )
        return Response(body, media_type="application/json")

    def metric_evals(request: Request) -> Response:
        message = parse_message(request, ListMetricEvalsRequest)
        run = run_of(message.session_name, message.metric_name.group)
        series = multiplexer.scalars(run, message.metric_name.tag, claims=SCALARS, samples=samples)
        columns = (series.wall_time, series.step, series.value)
        return json_response(list(zip(*(column.tolist() for column in columns), strict=True)))

    def download_data(request: Request) -> Response:
        make_response, visible = FORMATS[download_format(request)], visible_columns(request)
        message = session_groups_request(request)
        data = reader.read().declared()
        selection = run_query(data, message)
        return make_response(
            download(
                data.experiment,
                data.sessions,
                selection.groups,
                selection.metrics,
                selection.chosen,
                hparams=included_hparams(message),
                visible=visible,
            )
        )

    def table(request: Request) -> Response:
        method = aggregation(request)
        has_extremes = one_of(request, "extremes", ("false", "true")) == "true"
        # Which value of the metric `by` chooses the session that represents a group.
        value_kind = one_of(request, "by", ("last", "lowest", "highest"))
        by = MetricName(optional(request, "group", ""), optional(request, "tag", ""))
        data = reader.read()
        if method != AVG and by not in data.metrics.names:
            raise NotFoundError(f"no metric with group {by.group!r} and tag {by.tag!r}")
        if optional(request, "known") == data.generation:
            return columns_response({"generation": data.generation, "unchanged": True}, [])
        groups = data.sessions.groups()
        needs_extremes = has_extremes or value_kind != "last"
        extremes = reader.extremes(data)._asdict() if needs_extremes else {}
        chooser = extremes.get(value_kind, data.metrics)
        last = aggregate(data.metrics, groups, method, by, chooser)
        aggregated_extremes = {
            name: (metrics, aggregate(metrics, groups, method, by, chooser))
            for name, metrics in extremes.items()
        }
        return columns_response(
            header_of(data, groups), tables_of(data, groups, last, aggregated_extremes)
        )

    both = ["GET", "POST"]
    return [
        Route("/experiment", experiment, methods=both),
        Route("/session_groups", session_groups, methods=both),
        Route("/metric_evals", metric_evals, methods=both),
        Route("/download_data", download_data, methods=both),
        Route("/table", table),
    ]


def run_query(data: ExperimentData, message: ListSessionGroupsRequest) -> Selection:
    """Aggregates, filters, sorts and slices the groups as requested."""
    groups = data.sessions.groups(message.allowed_statuses)
    metrics = data.metrics
    if message.HasField("include_metrics") and not message.include_metrics:
        metrics = metrics.first(0)
    by = MetricName(message.aggregation_metric.group, message.aggregation_metric.tag)
    aggregated = aggregate(metrics, groups, message.aggregation_type, by)
    columns = named_columns(message.col_params, data.sessions, groups, aggregated)
    passing = select_groups(columns, len(groups.names))
    start = max(message.start_index, 0)
    chosen = passing[start : start + max(message.slice_size, 0)]
    return Selection(groups, aggregated, chosen, len(passing))
