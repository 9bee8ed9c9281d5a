"""Connects to a Dask cluster, or starts workers on this machine. Needs `distributed`."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor

import dask
import pyarrow as pa

from tbcore import __version__
from tbcore.errors import OptionError
from tbcore.eventfiles.logdir import LogdirSpec, one_line
from tbcore_index.tables import Place

# A lost cluster is one line of our own. Read when `distributed` is imported.
dask.config.set({"logging": {"distributed": "critical", "distributed.client": "critical"}})

import distributed  # noqa: E402

logger = logging.getLogger("tbcore.index")

_CONNECT_SECONDS = 30


@contextlib.contextmanager
def connected(
    workers: int | None, cluster: str | None, specs: Sequence[LogdirSpec], place: Place
) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """An executor of `workers` processes, or of the cluster, and what counts its workers.

    Raises OptionError, with a line for each worker, if workers lack something.
    """
    with contextlib.ExitStack() as stack:
        if workers is not None:
            local = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None
            )
            client = distributed.Client(stack.enter_context(local))
        else:
            assert cluster is not None
            is_file = not re.search(r"://|:\d+$", cluster)
            if is_file and not os.path.exists(cluster):
                logger.warning("no scheduler has written %s yet; waiting for it", one_line(cluster))
            try:
                client = distributed.Client(
                    **{"scheduler_file" if is_file else "address": cluster},
                    timeout=_CONNECT_SECONDS,
                )
            except (OSError, ValueError) as error:
                line = one_line(f"cannot connect to the cluster {cluster}: {error}")
                raise OptionError(line) from None
        stack.enter_context(client)
        if not client.scheduler_info()["workers"]:
            logger.warning("the cluster has no worker yet; waiting for one")
            client.wait_for_workers(1)
        _check_workers(client, specs, place)
        # A task is given out again after three workers died of it.
        executor = client.get_executor(pure=False, retries=0)
        yield executor, lambda: len(client.scheduler_info()["workers"])


def probe(specs: Sequence[LogdirSpec], index: str) -> tuple[dict[str, str], str]:
    """What a worker has, and why it cannot work; empty if it can."""
    versions = {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "tbcore": __version__,
        "pyarrow": pa.__version__,
    }
    try:
        for spec in specs:
            Place(spec.path).sizes("")
        Place(index).check_writable()
    except Exception as error:
        return versions, one_line(f"{type(error).__name__}: {error}")
    return versions, ""


def _check_workers(client: distributed.Client, specs: Sequence[LogdirSpec], place: Place) -> None:
    """Raises OptionError if a worker has other versions, or lacks access."""
    expected, _ = probe((), place.path)
    found = client.run(probe, list(specs), place.path, on_error="return")
    lines = []
    for worker, result in sorted(found.items()):
        if isinstance(result, BaseException):
            lines.append(f"worker {worker}: {type(result).__name__}: {result}")
            continue
        versions, why = result
        lines += [
            f"worker {worker} has {name} {versions.get(name)}, expected {version}"
            for name, version in expected.items()
            if versions.get(name) != version
        ]
        if why:
            lines.append(f"worker {worker}: {why}")
    if lines:
        raise OptionError(one_line("; ".join(lines)))
