"""Make or update an index of many runs."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import click

from tbcore import DataError
from tbcore.engine import Command, OptionError, logdir_specs

if TYPE_CHECKING:
    from tbcore.engine import LogdirSpec
    from tbcore_index.coordinator import Coordinator
    from tbcore_index.tables import Place


def _make_tls(context: click.Context, parameter: click.Parameter, folder: str | None) -> None:
    """Makes keys, and ends the command."""
    if folder is not None:
        from tbcore_index.tls import make_keys

        make_keys(os.path.expanduser(folder))
        context.exit()


@click.command("index", cls=Command, short_help="Make or update an index of many runs.")
@click.argument("directories", metavar="LOGDIR | NAME=LOGDIR...", nargs=-1, required=True)
@click.option("--index", "path", metavar="PATH", required=True, help="Directory of the index.")
@click.option(
    "--workers", metavar="N", type=click.IntRange(1), help="Read with N processes on this machine."
)
@click.option(
    "--cluster", metavar="ADDRESS",
    help="Read on a Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, or a scheduler file.",
)  # fmt: skip
@click.option("--tls", metavar="DIR", help="The keys of the cluster, which --make_tls has made.")
@click.option(
    "--insecure_cluster", is_flag=True,
    help="Use a cluster in a network that is not encrypted: anyone there can be you.",
)  # fmt: skip
@click.option(
    "--make_tls", metavar="DIR", is_eager=True, expose_value=False, callback=_make_tls,
    help="Make a directory with keys for a cluster, and end.",
)  # fmt: skip
@click.option(
    "--reload_interval", metavar="SECONDS", type=click.FloatRange(0), default=0.0,
    help="Pause between two updates; 0 for one update.  [default: 0]",
)  # fmt: skip
@click.option(
    "--purge_orphaned_data", metavar="BOOL", type=click.BOOL, default=True,
    help="Drop the old data of the steps that a restarted job repeats.  [default: true]",
)  # fmt: skip
@click.option(
    "--keep_days", metavar="DAYS", type=click.FloatRange(0), default=7.0,
    help="Delete replaced files of the index after so many days.  [default: 7]",
)  # fmt: skip
@click.pass_context
def index_command(
    context: click.Context,
    *,
    directories: Sequence[str],
    path: str,
    workers: int | None,
    cluster: str | None,
    tls: str | None,
    insecure_cluster: bool,
    reload_interval: float,
    purge_orphaned_data: bool,
    keep_days: float,
) -> int:
    """Make or update an index: read what is new below LOGDIR, or below several, and keep it in
    INDEX.

    The exit status is 3 if something could not be read. What can be read is in the index.
    """
    if workers and cluster:
        raise click.UsageError("--workers and --cluster cannot be combined", context)
    if (tls or insecure_cluster) and not cluster:
        option = "--tls" if tls else "--insecure_cluster"
        raise click.UsageError(f"{option} needs --cluster", context)
    first, *others = directories
    specs = logdir_specs(os.path.expanduser(first), context, *others, is_spec=False)
    from tbcore.engine import is_uri
    from tbcore_index.coordinator import Coordinator
    from tbcore_index.tables import FORMAT, Place
    from tbcore_logs.printing.access import command_output

    specs = [s if is_uri(s.path) else s._replace(path=os.path.abspath(s.path)) for s in specs]
    place = Place(path)
    for spec in specs:
        if f"{place.path}/".startswith(f"{spec.path}/"):
            raise OptionError(f"the index {place} must not be below the log directory {spec.path}")
    if not (reload_interval or any(is_uri(s.path) or os.path.isdir(s.path) for s in specs)):
        raise OptionError(f"{' and '.join(spec.path for spec in specs)}: no such directory")
    properties = {
        "tbcore.format": FORMAT,
        "tbcore.logdirs": json.dumps(specs),
        "tbcore.purge_orphaned_data": str(purge_orphaned_data).lower(),
    }
    place.create(properties)
    found = place.delta("runs").metadata().configuration
    for name, value in properties.items():
        if (was := found.get(name, "")) != value:
            if name == "tbcore.logdirs":
                was, value = (", ".join(path for _, path in json.loads(v)) for v in (was, value))
            raise OptionError(
                f"the index {place} was made with {name.removeprefix('tbcore.')} {was}, "
                f"not {value}; use another directory"
            )
    report = _Reporter(is_only=reload_interval == 0)
    keys = {"tls": tls, "is_insecure": insecure_cluster}
    engine = _executor(workers, cluster, specs, place, keys)
    with command_output(), engine as (executor, num_workers):
        coordinator = Coordinator(
            place.path, executor,
            specs=specs, num_workers=num_workers, on_progress=report.progress,
        )  # fmt: skip
        vacuumed_at = 0.0
        while True:
            began = time.monotonic()
            coordinator.update(all_changes=reload_interval == 0)
            report.end(coordinator, time.monotonic() - began)
            if time.monotonic() - vacuumed_at > 3600:
                coordinator.vacuum(keep_days)
                vacuumed_at = time.monotonic()
            if reload_interval == 0:
                return DataError.exit_status if coordinator.problems else 0
            time.sleep(reload_interval)


@contextlib.contextmanager
def _executor(
    workers: int | None, cluster: str | None, specs: Sequence[LogdirSpec], place: Place, keys: Any
) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """The executor that runs the batches, and a function that returns its number of workers.

    `keys` are keyword arguments of `connected`.
    """
    if workers is None and cluster is None:
        with ThreadPoolExecutor(1) as pool:
            yield pool, lambda: 1
        return
    try:
        from tbcore_index.cluster import connected
    except ModuleNotFoundError:
        raise OptionError(
            "--workers and --cluster need another package: pip install 'tbcore-index[cluster]'"
        ) from None
    with connected(workers, cluster, specs, place, **keys) as engine:
        yield engine


class _Reporter:
    """Prints progress and results to stderr."""

    def __init__(self, *, is_only: bool) -> None:
        """With `is_only` there is a single update, for which a line is printed in any case."""
        self._is_only = is_only
        self._printed_at = time.monotonic()
        self._known: set[str] = set()

    def progress(self, num_runs: int, num_done: int, num_bytes: int, seconds: float) -> None:
        """Prints the progress of an update, at most once a second."""
        if min(time.monotonic() - self._printed_at, seconds) < 1:
            return
        self._printed_at = time.monotonic()
        rate = num_bytes / max(seconds, 1e-9) / 1e6
        self._print(
            f"indexed {num_done:,} of {num_runs:,} runs, "
            f"{num_bytes / 1e6:,.0f} MB at {rate:,.0f} MB/s"
        )

    def end(self, coordinator: Coordinator, seconds: float) -> None:
        """Prints the result of an update, and its new problems and notes."""
        problems, num_written = coordinator.problems, coordinator.num_written
        lines = [f"warning: {line}" for line in dict.fromkeys(problems)] + coordinator.notes
        for line in lines:
            if line not in self._known:
                self._print(line)
        self._known = set(lines)
        if num_written:
            self._print(f"{num_written:,} run{'s'[: num_written > 1]} written in {seconds:.1f} s")
        elif self._is_only and not problems:
            self._print("nothing new")

    def _print(self, line: str) -> None:
        print(f"tbcore: {line}", file=sys.stderr, flush=True)
