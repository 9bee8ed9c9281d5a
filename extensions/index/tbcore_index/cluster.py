"""Connects to a Dask cluster, or starts workers on this machine. Needs `distributed`."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import platform
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor
from ipaddress import ip_address
from urllib.parse import urlsplit

import dask
import pyarrow as pa

from tbcore import TbcoreError, __version__
from tbcore.engine import LogdirSpec, OptionError, one_line
from tbcore_index.tables import Place
from tbcore_index.tls import CERT, KEY

# We report a lost cluster in one line. The setting is read when `distributed` is imported.
_SILENT = dict.fromkeys(["distributed", "distributed.client", "tornado.application"], "critical")
dask.config.set({"logging": _SILENT})

import distributed  # noqa: E402

logger = logging.getLogger("tbcore.index")

_CONNECT_SECONDS = 30
_GONE = "the cluster is gone; what was committed stays"


@contextlib.contextmanager
def connected(
    workers: int | None,
    cluster: str | None,
    specs: Sequence[LogdirSpec],
    place: Place,
    *,
    tls: str | None = None,
    is_insecure: bool = False,
) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """An executor of `workers` local processes or of a cluster, and a function: its worker count.

    `tls` is a folder from `make_keys`; without it, keys are from Dask's own configuration. Raises
    OptionError if workers have other versions or lack access, naming each of them. Raises
    OptionError, unless `is_insecure`, if others can reach the cluster over the network and it is
    not encrypted. Raises TbcoreError if the scheduler is lost, also in the body of the `with`.
    """
    with contextlib.ExitStack() as stack:
        if workers is not None:
            # Encrypted, since other users of this machine can connect to its loopback address.
            local = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None,
                protocol="tls://", security=distributed.Security.temporary(),
            )  # fmt: skip
            client = distributed.Client(stack.enter_context(local))
        else:
            assert cluster is not None
            try:
                address = _address_of(cluster)
                if not (is_insecure or _is_safe(address)):
                    line = one_line(
                        f"the cluster {address} is not encrypted and not on the loopback address "
                        f"of this machine, so others could run programs as you; use tls:// and "
                        f"--tls DIR with the keys of --make_tls, or --insecure_cluster"
                    )
                    raise OptionError(line)
                client = distributed.Client(
                    address, security=_keys_in(tls) if tls else None, timeout=_CONNECT_SECONDS
                )
            except (OSError, ValueError, TypeError, RuntimeError) as error:
                # Dask raises TypeError if keys are missing, RuntimeError if there is no encryption.
                why = "it needs keys: --tls DIR" if isinstance(error, TypeError) else error
                line = one_line(f"cannot connect to the cluster {cluster}: {why}")
                raise OptionError(line) from None
        stack.enter_context(client)

        def is_closed() -> bool:
            # A client closes itself when its scheduler has been gone for a while.
            return client.status in ("closing", "closed")

        def num_workers() -> int:
            if is_closed():  # A result that was under way will never arrive, so do not wait for it.
                raise TbcoreError(_GONE)
            return len(client.scheduler_info(n_workers=-1).get("workers", ()))

        try:
            if not num_workers():
                logger.warning("the cluster has no worker yet; waiting for one")
            while not num_workers():
                time.sleep(0.1)
            try:
                _check_workers(client, specs, place)
            except OSError as error:  # A client connects again for a while before it is closed.
                raise TbcoreError(_GONE) from error
            # Dask itself retries a task whose worker died, up to three times.
            yield client.get_executor(pure=False, retries=0), num_workers
        except TbcoreError:
            raise
        except Exception as error:  # Which one a closed client raises depends on Dask's version.
            if isinstance(error, CancelledError) or is_closed():
                raise TbcoreError(_GONE) from error
            raise


def _address_of(cluster: str) -> str:
    """The address of a cluster, given as an address or as the file that a scheduler writes.

    Waits for the file. Raises ValueError if there is no address in it.
    """
    if re.search(r"://|:\d+$", cluster):
        return cluster
    if not os.path.exists(cluster):
        logger.warning("no scheduler has written %s yet; waiting for it", one_line(cluster))
    found_at = math.inf
    while True:
        try:
            with open(cluster, encoding="utf-8") as file:
                return str(json.load(file)["address"])
        except FileNotFoundError:  # A job may be in a queue for hours.
            found_at = math.inf
        except (OSError, ValueError, KeyError, TypeError) as error:  # It may be incomplete.
            found_at = min(found_at, time.monotonic())
            if time.monotonic() - found_at >= _CONNECT_SECONDS:
                raise ValueError(f"no address in {cluster!r}: {error}") from None
        time.sleep(0.2)


def _is_safe(address: str) -> bool:
    """Whether connections to an address are encrypted, or only this machine can make them.

    Raises OSError if the host name cannot be resolved.
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme in ("tls", "wss"):
        return True
    infos = socket.getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM)
    return all(ip_address(info[4][0]).is_loopback for info in infos)


def _keys_in(folder: str) -> distributed.Security:
    """The keys in a folder from `make_keys`. Raises OptionError if a file is missing."""
    cert, key = (os.path.join(os.path.expanduser(folder), name) for name in (CERT, KEY))
    for path in (cert, key):
        if not os.path.exists(path):
            line = one_line(f"--tls {folder}: no {path}; make it with `tbcore index --make_tls`")
            raise OptionError(line)
    return distributed.Security(
        require_encryption=True, tls_ca_file=cert, tls_client_cert=cert, tls_client_key=key
    )


def probe(specs: Sequence[LogdirSpec], index: str) -> tuple[dict[str, str], str]:
    """The versions that a worker has, and the reason why it cannot work; "" if it can."""
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
    """Raises OptionError if a worker has other versions, or has no access to logs or index."""
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
