"""Fixtures for the tests: they log sessions and experiments as programs do, and make a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import tbcore_hparams
from tbcore_hparams.proto.api_pb2 import Experiment
from tbcore_testing import TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]
ALL_STATUSES = [0, 1, 2, 3]


class HparamsApi:
    """A client of the plugin's routes on a log directory."""

    def __init__(self, client: TbcoreClient) -> None:
        self.client = client

    def post(self, route: str, body: Any) -> Any:
        """The JSON of the response to a message."""
        response = self.client.post(f"data/plugin/hparams/{route}", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    def groups(self, *columns: Mapping[str, Any], **message: Any) -> Any:
        """The response for session groups: all groups, unless fields of the message limit them."""
        defaults = {"allowedStatuses": ALL_STATUSES, "sliceSize": 1_000_000, "colParams": columns}
        return self.post("session_groups", defaults | message)

    def names(self, *columns: Mapping[str, Any], **message: Any) -> list[str]:
        """The names of the groups in the response, in order."""
        return [group["name"] for group in self.groups(*columns, **message)["sessionGroups"]]


@pytest.fixture
def write_session(tbcore_logdir: Path) -> Callable[..., None]:
    """Writes an event file with the hyperparameters of a session, and scalars of its own run.

    `started` are options of `summaries.session_start`.
    """

    def write(
        name: str,
        hparams: Mapping[str, Any] | None = None,
        *,
        status: int | None = None,
        end: float = 0.0,
        scalars: Mapping[str, Sequence[Any]] | None = None,
        **started: Any,
    ) -> None:
        values = [summaries.session_start(hparams or {}, **started)]
        if status is not None:
            values.append(summaries.session_end(status, end))
        write_run(tbcore_logdir, name, values=values, scalars=scalars)

    return write


@pytest.fixture
def write_experiment(tbcore_logdir: Path) -> Callable[..., None]:
    """Writes an event file with an experiment.

    `hparams` are fields of HParamInfo, `metrics` pairs of group and tag.
    """

    def write(
        run: str,
        *,
        hparams: Sequence[Mapping[str, Any]] = (),
        metrics: Sequence[tuple[str, str]] = (),
        **fields: Any,
    ) -> None:
        experiment = Experiment(**fields)
        for info in hparams:
            experiment.hparam_infos.add(**info)
        for group, tag in metrics:
            name = experiment.metric_infos.add().name
            name.group, name.tag = group, tag
        # Field 2 of an HParamsPluginData, whose length is a varint.
        data, length = experiment.SerializeToString(), b""
        size = len(data)
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        content = b"\x12" + length + bytes([size]) + data
        value = summaries.metadata_only("_hparams_/experiment", "hparams", content)
        write_run(tbcore_logdir, run, values=[value])

    return write


@pytest.fixture
def make_api(tbcore_logdir: Path, tbcore_client: MakeClient) -> Callable[[], HparamsApi]:
    """Makes a client that serves what was written so far."""
    return lambda: HparamsApi(tbcore_client(tbcore_logdir, plugins=[tbcore_hparams]))
