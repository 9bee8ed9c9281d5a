"""The addresses of hyperparameters: those of TensorBoard's HTTP API, and one for the page."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tbcore import Multiplexer, NotFoundError
from tbcore.http import columns_response, json_response, optional
from tbcore_hparams.aggregate import AVG, Aggregate, aggregate
from tbcore_hparams.answers import experiment_message, session_groups_json
from tbcore_hparams.downloads import FORMATS, download
from tbcore_hparams.metrics import SCALARS, MetricName, run_of
from tbcore_hparams.proto.api_pb2 import (
    GetExperimentRequest,
    ListMetricEvalsRequest,
    ListSessionGroupsRequest,
)
from tbcore_hparams.query import columns_of, selected
from tbcore_hparams.questions import (
    aggregation,
    download_format,
    message,
    one_of,
    session_groups_message,
    visible_columns,
    wanted_hparams,
)
from tbcore_hparams.reader import Reader
from tbcore_hparams.study import Groups, Study
from tbcore_hparams.table import header_of, tables_of
from tbcore_hparams.values import Rows


class Selection(NamedTuple):
    """The groups that a request asks for."""

    groups: Groups
    metrics: Aggregate
    chosen: Rows
    """Places of groups: the slice that is wanted of those that pass, sorted."""
    total_size: int
    """How many pass."""


def make_routes(multiplexer: Multiplexer, samples: int, max_choices: int) -> list[Route]:
    """/experiment, /session_groups, /metric_evals, /download_data, and /table.

    A curve of /metric_evals is sampled to at most `samples` points (0: all). /experiment lists the
    texts of a hyperparameter where there are at most `max_choices`.
    """
    reader = Reader(multiplexer, max_choices)

    def experiment(request: Request) -> Response:
        question = message(request, GetExperimentRequest)
        found = reader.study().declared().experiment
        if question.HasField("include_metrics") and not question.include_metrics:
            found = found._replace(metrics=[])
        if question.hparams_limit > 0:
            found = found._replace(hparams=found.hparams[: question.hparams_limit])
        return json_response(experiment_message(found))

    def session_groups(request: Request) -> Response:
        question = session_groups_message(request)
        study = reader.study().declared()
        selection = select(study, question)
        body = session_groups_json(
            study,
            selection.groups,
            selection.metrics,
            selection.chosen,
            total_size=selection.total_size,
            hparams=wanted_hparams(question),
        )
        return Response(body, media_type="application/json")

    def metric_evals(request: Request) -> Response:
        question = message(request, ListMetricEvalsRequest)
        run = run_of(question.session_name, question.metric_name.group)
        series = multiplexer.scalars(run, question.metric_name.tag, claims=SCALARS, samples=samples)
        columns = (series.wall_time, series.step, series.value)
        return json_response(list(zip(*(column.tolist() for column in columns), strict=True)))

    def download_data(request: Request) -> Response:
        answer_as, visible = FORMATS[download_format(request)], visible_columns(request)
        question = session_groups_message(request)
        study = reader.study().declared()
        selection = select(study, question)
        return answer_as(
            download(
                study.experiment,
                study.sessions,
                selection.groups,
                selection.metrics,
                selection.chosen,
                hparams=wanted_hparams(question),
                visible=visible,
            )
        )

    def table(request: Request) -> Response:
        how = aggregation(request)
        has_extremes = one_of(request, "extremes", ("false", "true")) == "true"
        chosen_by = one_of(request, "by", ("last", "lowest", "highest"))
        by = MetricName(optional(request, "group", ""), optional(request, "tag", ""))
        study = reader.study()
        if how != AVG and by not in study.metrics.names:
            raise NotFoundError(f"no metric with group {by.group!r} and tag {by.tag!r}")
        if optional(request, "known") == study.generation:
            return columns_response({"generation": study.generation, "unchanged": True}, [])
        groups = study.sessions.groups()
        is_needed = has_extremes or chosen_by != "last"
        extremes = reader.extremes(study)._asdict() if is_needed else {}
        chooser = extremes.get(chosen_by, study.metrics)
        last = aggregate(study.metrics, groups, how, by, chooser)
        others = {
            name: (metrics, aggregate(metrics, groups, how, by, chooser))
            for name, metrics in extremes.items()
        }
        return columns_response(header_of(study, groups), tables_of(study, groups, last, others))

    both = ["GET", "POST"]
    return [
        Route("/experiment", experiment, methods=both),
        Route("/session_groups", session_groups, methods=both),
        Route("/metric_evals", metric_evals, methods=both),
        Route("/download_data", download_data, methods=both),
        Route("/table", table),
    ]


def select(study: Study, question: ListSessionGroupsRequest) -> Selection:
    """The groups that the request asks for, aggregated, filtered, sorted and sliced."""
    groups = study.sessions.groups(question.allowed_statuses)
    metrics = study.metrics
    if question.HasField("include_metrics") and not question.include_metrics:
        metrics = metrics.first(0)
    by = MetricName(question.aggregation_metric.group, question.aggregation_metric.tag)
    aggregated = aggregate(metrics, groups, question.aggregation_type, by)
    columns = columns_of(question.col_params, study.sessions, groups, aggregated)
    passing = selected(columns, len(groups.names))
    start = max(question.start_index, 0)
    chosen = passing[start : start + max(question.slice_size, 0)]
    return Selection(groups, aggregated, chosen, len(passing))
