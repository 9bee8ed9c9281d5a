"""P23: a cluster without keys is for this machine alone; with keys nobody else can use it.

Scheduler, workers and clients are real processes, those of the recipes in docs/indexes.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, until

from tbcore.errors import OptionError
from tbcore_testing import write_run

pytest.importorskip("tbcore_index")
pytest.importorskip("distributed")

import psutil  # type: ignore[import-untyped]
import yaml  # type: ignore[import-untyped]
from same_answers import check_same, loaded, update

from tbcore_index.cluster import _is_safe
from tbcore_index.tls import make_keys

pytestmark = pytest.mark.services

RECIPES = (Path(__file__).parents[2] / "docs" / "indexes.md").read_text(encoding="utf-8")
PYTHON = os.path.dirname(sys.executable)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for number in range(8):
        write_run(tmp_path / "runs", f"run{number}", scalars={"loss": [number, 1.0, 0.5]})
    return tmp_path / "runs"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a program with Dask's command line, and ends it after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str, **environment: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / f"process{len(started)}.log").open("wb")
        started.append(
            subprocess.Popen(command, stderr=log, stdout=log, env=environment_with(**environment))
        )
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
        process.kill()
        process.wait()


def environment_with(**variables: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{PYTHON}{os.pathsep}{os.environ['PATH']}", **variables}


def tbcore(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tbcore", *arguments],
        env=environment_with(**variables),
        check=False, text=True, capture_output=True, timeout=2 * WAIT_SECONDS,
    )  # fmt: skip


def address_in(file: Path) -> str:
    """The address that a scheduler has written."""

    def read() -> str:
        with contextlib.suppress(OSError, ValueError):
            return str(json.loads(file.read_text())["address"])
        return ""

    until(read)
    return read()


def own_address() -> tuple[str, str]:
    """A network interface of this machine and its IPv4 address: not loopback, if possible."""
    found = [
        (name, each.address)
        for name, addresses in psutil.net_if_addrs().items()
        for each in addresses
        if each.family == socket.AF_INET
    ]
    return sorted(found, key=lambda each: each[1].startswith("127."))[0]


# -- keys --------------------------------------------------------------------------------------


def test_keys_are_for_this_user_alone_and_never_replaced(tmp_path: Path) -> None:
    done = tbcore("index", "--make_tls", str(tmp_path / "tls"))
    files = {path.name: path for path in (tmp_path / "tls").iterdir()}
    again = tbcore("index", "--make-tls", str(tmp_path / "tls"))

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert set(files) == {"cert.pem", "key.pem"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700
    assert again.returncode == 2
    assert again.stderr == (
        f"tbcore: cannot make '{tmp_path}/tls': File exists; use a new directory\n"
    )


def test_without_a_package_for_keys_a_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['cryptography'] = None")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    done = tbcore("index", "--make_tls", str(tmp_path / "tls"), PYTHONPATH=path)

    assert (done.returncode, done.stderr) == (
        2, "tbcore: --make_tls needs another package: pip install 'tbcore-index[cluster]'\n",
    )  # fmt: skip
    assert not (tmp_path / "tls").exists()


RUN = """
import sys
from distributed import Client, Security

address, folder, target = sys.argv[1:]
keys = Security(
    require_encryption=True, tls_ca_file=f"{folder}/cert.pem",
    tls_client_cert=f"{folder}/cert.pem", tls_client_key=f"{folder}/key.pem",
) if folder else None
with Client(address, security=keys, timeout=5) as client:
    client.run_on_scheduler(lambda: open(target, "w").close())
"""


def test_only_who_has_the_keys_can_use_a_cluster(
    tmp_path: Path, logdir: Path, start: Callable[..., Any]
) -> None:
    file, keys, others = tmp_path / "scheduler.json", str(tmp_path / "tls"), str(tmp_path / "other")
    make_keys(keys)
    make_keys(others)
    options = [
        "--scheduler-file", str(file), "--protocol", "tls", "--host", "127.0.0.1",
        "--no-dashboard", "--dashboard-address", "127.0.0.1:0",
        "--tls-ca-file", f"{keys}/cert.pem", "--tls-cert", f"{keys}/cert.pem",
        "--tls-key", f"{keys}/key.pem",
    ]  # fmt: skip
    start("dask", "scheduler", "--port", "0", *options)
    start("dask", "worker", "--nthreads", "1", "--no-nanny", *options)
    address = address_in(file)
    assert address.startswith("tls://127.0.0.1:")
    arguments = "index", str(logdir), "--index", str(tmp_path / "index")

    done = tbcore(*arguments, "--cluster", str(file), "--tls", keys)
    assert (done.returncode, done.stderr.splitlines()[-1][:21]) == (0, "tbcore: 8 runs writte")
    check_same(loaded(logdir), loaded(None, tmp_path / "index"))

    # Dask's own client, without tbcore between.
    for cluster, folder, may in [
        (address, keys, True), (address, "", False), (address, others, False),
        (address.replace("tls://", "tcp://"), "", False),
    ]:  # fmt: skip
        target = tmp_path / f"{len(folder)} {may} {cluster[:3]}"
        command = [sys.executable, "-c", RUN, cluster, folder, str(target)]
        ran = subprocess.run(command, check=False, capture_output=True, timeout=2 * WAIT_SECONDS)
        assert ((ran.returncode == 0), target.exists()) == (may, may), ran.stderr[-500:]
    for cluster, more, why in [
        (address, [], "it needs keys: --tls DIR"),
        (address, ["--tls", others], "TLS certificate does not match"),
        (address, ["--tls", "/nowhere"], "no /nowhere/cert.pem; make it with `tbcore index --make"),
        (address.replace("tls://", "tcp://"), ["--tls", keys], "encryption required"),
        (address.replace("tls://", "tcp://"), [], "cannot connect to the cluster"),
    ]:  # fmt: skip
        done = tbcore(*arguments, "--cluster", cluster, *more)
        assert done.returncode == 2, done.stderr
        (line,) = (each for each in done.stderr.splitlines() if why in each)
        assert line.startswith("tbcore: ")


def test_the_processes_of_workers_have_keys_of_their_own(tmp_path: Path, logdir: Path) -> None:
    code = """
import sys
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore_index.cluster import connected, distributed
from tbcore_index.tables import Place

with connected(1, None, [LogdirSpec(None, sys.argv[1])], Place(sys.argv[2])):
    client = distributed.get_client()
    addresses = client.scheduler.address, *client.scheduler_info()["workers"]
    print(*{address[:6] for address in addresses})
"""
    (tmp_path / "index").mkdir()
    command = [sys.executable, "-c", code, str(logdir), str(tmp_path / "index")]
    done = subprocess.run(command, check=False, text=True, capture_output=True)

    assert done.stdout == "tls://\n", done.stderr


# -- without encryption ------------------------------------------------------------------------


def test_loopback_needs_no_encryption_and_no_other_address_goes_without() -> None:
    """Not even one of this machine, which its network can reach."""
    own = own_address()[1]
    for address in ["tcp://127.0.0.1:1", "tcp://[::1]:1", "127.0.0.1:1", "localhost:1",
                    "ws://127.8.8.8:1"]:  # fmt: skip
        assert _is_safe(address), address
    if not own.startswith("127."):
        for address in [f"tcp://{own}:1", f"{own}:1"]:
            assert not _is_safe(address), address
    for address in ["tcp://192.0.2.77:1", "192.0.2.77:1", "ws://192.0.2.77:1", "ucx://192.0.2.77:1",
                    "tcp://0.0.0.0:1", "tcp://[::]:1",
                    "tcp://192.0.2.77:1?tls://"]:  # fmt: skip
        assert not _is_safe(address), address
    for address in ["tls://192.0.2.77:1", "wss://192.0.2.77:1"]:
        assert _is_safe(address), address


@pytest.mark.parametrize("is_file", [False, True])
def test_a_cluster_on_another_host_without_encryption_is_refused(
    tmp_path: Path, logdir: Path, is_file: bool
) -> None:
    cluster = "tcp://192.0.2.77:8786"
    (tmp_path / "scheduler.json").write_text(json.dumps({"address": cluster}))

    with pytest.raises(OptionError) as raised:
        update(logdir, tmp_path / "index", "--cluster",
               str(tmp_path / "scheduler.json") if is_file else cluster)  # fmt: skip

    assert str(raised.value) == (
        f"the cluster {cluster} is not encrypted and not on the loopback address of this machine, "
        f"so others could run programs as you; use tls:// and --tls DIR with the keys of "
        f"--make_tls, or --insecure_cluster"
    )


@pytest.fixture
def other_host(start: Callable[..., Any]) -> Iterator[tuple[Callable[..., Any], str]]:
    """What starts a program on another host, and the host's address: a network namespace."""
    if os.getuid() != 0 or not shutil.which("ip"):
        pytest.skip("only root can make a network namespace, with `ip`")
    name = f"tb{os.getpid()}"
    number = os.getpid() % 250 + 2
    here, there = f"10.213.{number}.1", f"10.213.{number}.2"
    commands = [
        f"ip netns add {name}", f"ip link add {name}a type veth peer name {name}b netns {name}",
        f"ip addr add {here}/24 dev {name}a", f"ip link set {name}a up",
        f"ip -n {name} addr add {there}/24 dev {name}b", f"ip -n {name} link set {name}b up",
        f"ip -n {name} link set lo up",
    ]  # fmt: skip
    try:
        for command in commands:
            made = subprocess.run(command.split(), check=False, capture_output=True, text=True)
            if made.returncode:
                pytest.skip(f"no network namespace: {made.stderr}")
        yield lambda *command: start("ip", "netns", "exec", name, *command), there
    finally:
        subprocess.run(["ip", "link", "del", f"{name}a"], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.mark.alone  # When the network changes, browsers drop their requests.
def test_a_cluster_on_a_real_other_host(
    tmp_path: Path, logdir: Path, other_host: tuple[Callable[..., Any], str]
) -> None:
    """It is refused though it answers, and used with `--insecure_cluster`."""
    start_there, host = other_host
    file = tmp_path / "scheduler.json"
    options = "--scheduler-file", str(file), "--host", host, "--no-dashboard"
    start_there("dask", "scheduler", "--port", "0", *options)
    start_there("dask", "worker", "--nthreads", "1", "--no-nanny", *options)
    address = address_in(file)
    assert address.startswith(f"tcp://{host}:")
    arguments = "index", str(logdir), "--index", str(tmp_path / "index")

    for cluster in (address, str(file)):
        refused = tbcore(*arguments, "--cluster", cluster)
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"tbcore: the cluster {address} is not encrypted and not ")
        assert refused.stderr.count("\n") == 1
    used = tbcore(*arguments, "--cluster", str(file), "--insecure-cluster")

    assert used.returncode == 0, used.stderr
    check_same(loaded(logdir), loaded(None, tmp_path / "index"))


def test_options_of_clusters_need_a_cluster(tmp_path: Path, logdir: Path) -> None:
    arguments = "index", str(logdir), "--index", str(tmp_path / "index")
    for option in (["--tls", "x"], ["--insecure-cluster"]):
        done = tbcore(*arguments, *option)
        assert (done.returncode, done.stderr) == (
            2, f"tbcore: {option[0]} needs --cluster; see `tbcore index --help`\n",
        )  # fmt: skip


# -- recipes -----------------------------------------------------------------------------------

WRAPPER = """
import os, psutil, subprocess, sys

arguments = sys.argv[1:]
done = subprocess.run([sys.executable, "-m", "tbcore", *arguments])
if "--cluster" in arguments:
    with open(os.environ["LISTENING"], "w") as file:
        for process in psutil.Process(os.getppid()).children(recursive=True):
            for each in process.net_connections():
                if each.status == psutil.CONN_LISTEN:
                    print(process.cmdline()[2:3], each.laddr.ip, file=file)
sys.exit(done.returncode)
"""


def test_the_recipe_for_slurm_works_and_listens_where_it_must(tmp_path: Path, logdir: Path) -> None:
    """`srun` is a program that starts its arguments twice, on this machine."""
    interface, address = own_address()
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n#SBATCH.*?)```", RECIPES, re.DOTALL)
    programs = {
        "srun": '#!/bin/bash\n"$@" & "$@" & wait\n',
        "tbcore": f'#!/bin/bash\nexec {sys.executable} {tmp_path}/bin/wrapper.py "$@"\n',
    }
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "wrapper.py").write_text(WRAPPER)
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    script = script.replace("INTERFACE=ib0", f"INTERFACE={interface}")
    script = script.replace("/shared/", f"{tmp_path}/")
    environment = environment_with(
        HOME=str(tmp_path), SLURM_JOB_ID="7", LISTENING=str(tmp_path / "listening")
    )
    environment["PATH"] = f"{tmp_path}/bin{os.pathsep}{environment['PATH']}"

    done = subprocess.run(
        ["bash", "-c", script], env=environment, check=False, text=True, capture_output=True,
        timeout=3 * WAIT_SECONDS,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-3000:]
    assert "tbcore: 8 runs written" in done.stderr
    check_same(loaded(logdir), loaded(None, tmp_path / "runs.index"))
    assert not (tmp_path / "dask-7").exists()
    listening = (tmp_path / "listening").read_text().splitlines()
    assert {line.split()[-1] for line in listening} == {address, "127.0.0.1"}


def test_the_recipe_for_kubernetes_works(
    tmp_path: Path, logdir: Path, start: Callable[..., Any]
) -> None:
    """Its containers' commands, on this machine; and its policy is that of its pods."""
    (text,) = re.findall(r"```yaml\n(.*?)```", RECIPES, re.DOTALL)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    make_keys(str(tmp_path / "tls"))
    for old, new in {
        "/tls": f"{tmp_path}/tls", "dask-scheduler:8786": f"127.0.0.1:{port}",
        '"8786"': f'"{port}"', "s3://bucket": str(tmp_path),
        ', --reload_interval, "300"': "",
    }.items():  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    parts = list(yaml.safe_load_all(text))
    (settings,) = (part["data"] for part in parts if part["kind"] == "ConfigMap")
    (policy,) = (part["spec"] for part in parts if part["kind"] == "NetworkPolicy")
    pods = {
        part["spec"]["template"]["metadata"]["labels"]["role"]: part["spec"]["template"]
        for part in parts
        if part["kind"] == "Deployment"
    }
    for pod in pods.values():
        assert policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert policy["ingress"] == [{"from": [{"podSelector": policy["podSelector"]}]}]

    def command(role: str) -> list[str]:
        (container,) = pods[role]["spec"]["containers"]
        return list(container["command"])

    start(*command("scheduler"), **settings)
    start(*command("worker"), **settings)
    done = tbcore(*command("index")[1:])

    assert done.returncode == 0, done.stderr
    check_same(loaded(logdir), loaded(None, tmp_path / "runs.index"))
