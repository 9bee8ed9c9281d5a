"""The examples of how to run a server for others, in docs/containers.md and docs/operations.md."""

from __future__ import annotations

import http.client
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import containers
import pytest
from common_fixtures import WAIT_SECONDS, port_of, until

from tbcore.cli import cli
from tbcore.server.gate import PROBES
from tbcore_testing import write_run

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    REPOSITORY / "docs" / name for name in ("containers.md", "operations.md", "coming_from.md")
]


def block(page: str, name: str) -> str:
    """The block of a page that has the content of a file."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    found = re.search(
        rf"^```\w+ file={re.escape(name)}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE
    )
    assert found, f"docs/{page} has no block {name}"
    return found[1]


def documents(name: str) -> list[Any]:
    yaml = pytest.importorskip("yaml", reason="the examples are YAML")
    return list(yaml.safe_load_all(block("containers.md", name)))


def serve_variables() -> set[str]:
    """The variables of the options of `tbcore serve`."""
    command = cli.get_command(click.Context(cli), "serve")
    assert command is not None
    return {str(option.envvar) for option in command.params if option.envvar}


def test_the_variables_in_examples_exist() -> None:
    """Those in the Dockerfile, too."""
    texts = [path.read_text(encoding="utf-8") for path in (*PAGES, REPOSITORY / "Dockerfile")]
    named = set(re.findall(r"\bTBCORE_[A-Z_]+\b", "\n".join(texts)))
    assert named - serve_variables() == set()
    assert len(named) >= 8


def test_the_options_in_examples_exist() -> None:
    """Command lines of `tbcore` and `tensorboard`, in blocks, tables and units."""
    checked = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in re.findall(r"(?:^|[` /])(?:tbcore|tensorboard) ([^`\n]*--[^`\n]*)", text):
            words = shlex.split(line, comments=True)
            # In `docker build --tag tbcore --build-arg ...` it is the name of an image.
            first = words[0] if not words[0].startswith("-") else "serve"
            command = cli.get_command(click.Context(cli), first) if first.isalpha() else None
            command = command or cli.get_command(click.Context(cli), "serve")
            assert command is not None
            known = {name for option in command.params for name in option.opts}
            given = {w.partition("=")[0] for w in words if w.startswith("--")} - {"--build-arg"}
            assert given <= known, (page.name, line)
            checked |= given
    assert {"--logdir", "--uds", "--bind_all", "--sort"} <= checked


def test_the_example_for_compose() -> None:
    """It has nothing that the image does not need, a token, and read-only logs."""
    [compose] = documents("compose.yaml")
    [service] = compose["services"].values()
    assert service["read_only"] is True
    assert service["volumes"] == ["./runs:/logs:ro", f"notes:{of_image()['XDG_DATA_HOME']}"]
    assert list(compose["volumes"]) == ["notes"]
    assert service["ports"] == ["127.0.0.1:6006:6006"]
    assert service["environment"]["TBCORE_TOKEN"].startswith("${TBCORE_TOKEN:?")
    assert set(service["environment"]) <= serve_variables()


def test_the_example_for_kubernetes() -> None:
    """Its parts fit: labels, ports and paths; what asks for no token has its policy beside it."""
    deployment, service, policy = documents("tbcore.yaml")
    assert [item["kind"] for item in (deployment, service, policy)] == [
        "Deployment", "Service", "NetworkPolicy",
    ]  # fmt: skip
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert service["spec"]["selector"] == labels
    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    [rule] = policy["spec"]["ingress"]
    assert rule["from"]
    assert rule["ports"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    [port] = container["ports"]
    exposed = dict(containers.instructions((REPOSITORY / "Dockerfile").read_text()))["EXPOSE"]
    assert str(port["containerPort"]) == exposed
    assert service["spec"]["ports"][0]["targetPort"] == port["name"] == rule["ports"][0]["port"]
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")]
    assert {probe["path"] for probe in probes} == PROBES
    assert {probe["port"] for probe in probes} == {port["name"]}
    assert {item["name"] for item in container["env"]} <= serve_variables()
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    [mounted] = container["volumeMounts"]
    assert mounted == {"name": "logs", "mountPath": "/logs", "readOnly": True}


class Served:
    """A server that is started with the variables of an example."""

    def __init__(self, folder: Path, *command: str, **variables: str) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TBCORE_")}
        self.log = folder / "log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command, env={**kept, **variables}, cwd=folder, stdout=out, stderr=out
            )


@pytest.fixture
def ended() -> Iterator[list[Served]]:
    """Servers in this list are ended after the test."""
    servers: list[Served] = []
    yield servers
    for server in servers:
        server.process.kill()
        server.process.wait()


def test_probes_and_proxies_reach_the_server_of_the_deployment(
    tmp_path: Path, ended: list[Served]
) -> None:
    """Probes name the pod by its address, a proxy names itself, or what the browser asked for."""
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0]})
    [container] = documents("tbcore.yaml")[0]["spec"]["template"]["spec"]["containers"]
    variables = {item["name"]: item["value"] for item in container["env"]}
    image = {"TBCORE_LOGDIR": "logs", "TBCORE_HOST": "0.0.0.0", "TBCORE_PORT": "0"}
    tbcore = str(Path(sys.executable).with_name("tbcore"))
    server = Served(tmp_path, tbcore, "serve", **image, **variables)
    ended.append(server)
    port = port_of(server.process, server.log)

    def status(path: str, host: str) -> int:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
        client.request("GET", path, headers={"Host": host})
        return client.getresponse().status

    assert status("/healthz", "10.244.1.7:6006") == 200
    until(lambda: status("/readyz", "10.244.1.7:6006") == 200)
    assert status("/data/runs", "logs.example.com") == 200


def of_image() -> dict[str, str]:
    """The variables that the default image sets."""
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8").partition("\nFROM base AS")[0]
    [variables] = [rest for name, rest in containers.instructions(text) if name == "ENV"]
    return dict(word.split("=", 1) for word in shlex.split(variables))


def test_variables_take_the_place_of_those_of_the_image(
    tmp_path: Path, ended: list[Served]
) -> None:
    """As in the table of docs/containers.md; without it they are an error that names both."""
    page = (REPOSITORY / "docs" / "containers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(TBCORE_\w+)` \| `(-e .*)` \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == ["TBCORE_LOGDIR_SPEC", "TBCORE_BIND_ALL", "TBCORE_UDS"]
    tbcore = str(Path(sys.executable).with_name("tbcore"))
    for name in "ab":
        write_run(tmp_path / "logs" / name, "train", scalars={"loss": [1.0]})
    token = {"TBCORE_TOKEN": "secret"}
    # Port 6006 may be taken on this machine.
    image = {name: text.replace("6006", "0") for name, text in of_image().items()}
    for number, (name, options) in enumerate(rows):
        text = re.sub("/logs|/run/tbcore", lambda place: f"{tmp_path}{place[0]}", options)
        given = dict(word.split("=", 1) for word in text.split() if word != "-e")
        folder = tmp_path / f"server-{number}"
        (tmp_path / "run" / "tbcore").mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        server = Served(folder, tbcore, "serve", **token, **{**image, name: given[name]})
        ended.append(server)
        assert server.process.wait(WAIT_SECONDS) != 0
        pattern = rf"tbcore: .*({name} .*cannot|and {name} cannot) be combined.*\n"
        assert re.fullmatch(pattern, server.log.read_text())
        server = Served(folder, tbcore, "serve", **token, **{**image, **given})
        ended.append(server)
        until(lambda log=server.log: "(Press CTRL+C to quit)" in log.read_text())


def test_notes_have_a_place(tmp_path: Path, ended: list[Served]) -> None:
    """A server with the variables of the image keeps them there; that of a unit can write to it."""
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0]})
    tbcore = str(Path(sys.executable).with_name("tbcore"))
    data = tmp_path / of_image()["XDG_DATA_HOME"].lstrip("/")
    image = {**of_image(), "TBCORE_LOGDIR": "logs", "TBCORE_TOKEN": "x", "TBCORE_PORT": "0"}
    server = Served(tmp_path, tbcore, "serve", **{**image, "XDG_DATA_HOME": str(data)})
    ended.append(server)
    client = http.client.HTTPConnection("127.0.0.1", port_of(server.process, server.log))
    body = '{"runs": ["train"], "set": {"starred": true}}'
    headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}
    client.request("POST", "/data/notes", body, headers)
    assert client.getresponse().status == 200
    assert [path.name for path in data.iterdir()] == ["tbcore"]

    unit = block("operations.md", "tbcore-group.service")
    [directory] = re.findall(r"^StateDirectory=(.*)$", unit, re.MULTILINE)
    [home] = re.findall(r"^Environment=XDG_DATA_HOME=(.*)$", unit, re.MULTILINE)
    # systemd makes `%S/tbcore`, which is the only directory that the server can write to.
    assert f"{home}/tbcore" == f"%S/{directory}"


@pytest.mark.parametrize("prefix", ["", "runs"])
def test_the_check_of_health_reads_variables_as_the_server_does(
    tmp_path: Path, ended: list[Served], prefix: str
) -> None:
    """A path may be written with slashes at its ends, and without."""
    health = dict(containers.instructions((REPOSITORY / "Dockerfile").read_text()))["HEALTHCHECK"]
    tbcore = str(Path(sys.executable).with_name("tbcore"))
    (tmp_path / "logs").mkdir()
    image = {**of_image(), "TBCORE_LOGDIR": "logs", "TBCORE_TOKEN": "x", "TBCORE_PORT": "0"}
    server = Served(tmp_path, tbcore, "serve", **image, TBCORE_PATH_PREFIX=f"{prefix}/")
    ended.append(server)
    port = str(port_of(server.process, server.log))

    def status(path: str, port: str = port) -> int:
        path_of_python = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        variables = {"PATH": path_of_python, "TBCORE_PORT": port, "TBCORE_PATH_PREFIX": path}
        command = ["/bin/sh", "-c", health.removeprefix("CMD ")]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert "ValueError" not in done.stderr
        return done.returncode

    for path in (prefix, f"/{prefix}", f"{prefix}/", f"/{prefix}/"):
        assert status(path) == 0
    assert status("other") == 1
    for no_number in ("", "tcp://10.0.0.1:80"):  # The server listens on port 6006 then.
        status(prefix, no_number)


UNITS = [
    ("tbcore.service", "--user"),
    ("tbcore-group.service", "--system"),
]


@pytest.mark.parametrize(("name", "manager"), UNITS)
def test_systemd_accepts_the_units(tmp_path: Path, name: str, manager: str) -> None:
    """Keys and values are those of systemd; unknown ones would only be ignored."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze")
    text = block("operations.md", name)
    # The programs do not exist here.
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE)
    for key, accepted in (("Restart=on-failure", True), ("Restrat=on-failure", False)):
        (tmp_path / "tbcore.service").write_text(text.replace("Restart=on-failure", key))
        done = subprocess.run(
            [analyze, "verify", "--man=no", manager, str(tmp_path / "tbcore.service")],
            env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ("tbcore.service" not in done.stderr) is accepted, done.stderr


def test_the_unit_of_a_user_serves_on_its_socket(tmp_path: Path, ended: list[Served]) -> None:
    """`%h` and `%t` are the user's home and runtime directories; the end counts as success."""
    write_run(tmp_path / "runs", "train", scalars={"loss": [1.0]})
    (tmp_path / ".local" / "bin").mkdir(parents=True)
    tbcore = Path(sys.executable).with_name("tbcore")
    (tmp_path / ".local" / "bin" / "tbcore").symlink_to(tbcore)
    unit = dict(line.split("=", 1) for line in block("operations.md", "tbcore.service").split("\n")
                if "=" in line)  # fmt: skip
    words = unit["ExecStart"].replace("%h", str(tmp_path)).replace("%t", str(tmp_path))
    server = Served(tmp_path, *shlex.split(words))
    ended.append(server)
    path = tmp_path / "tbcore.sock"

    def response() -> bytes:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(WAIT_SECONDS)
            client.connect(str(path))
            client.sendall(b"GET /data/runs HTTP/1.0\r\nHost: localhost:6006\r\n\r\n")
            with client.makefile("rb") as stream:
                return stream.read()

    until(lambda: "Press CTRL+C" in server.log.read_text())
    assert server.log.read_text().startswith(f"tbcore {version('tbcore-server')} at unix:{path} (")
    assert response().endswith(b'["train"]')
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(WAIT_SECONDS) == int(unit["SuccessExitStatus"])
    assert not path.exists()
