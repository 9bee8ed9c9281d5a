"""The Dockerfile: what its images have, and that its steps work where there is nothing else."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import containers
import pytest
from common_fixtures import WAIT_SECONDS, until
from containers import Image
from storages import free_port

from tbcore_testing import write_run

REPOSITORY = Path(__file__).resolve().parents[2]
SOME_USER = "1000730000:0"
"""A user as OpenShift chooses one: unknown to the system, in the group of root."""


def test_only_the_image_for_kubeflow_asks_for_no_token() -> None:
    """The last stage is the default, and TensorBoard's name is made in the Dockerfile alone."""
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
    by_name = {stage.partition("\n")[0].rpartition(" ")[2]: stage for stage in stages}
    assert list(by_name) == ["build", "base", "kubeflow", "tbcore"]
    for name, stage in by_name.items():
        sets = {
            variable for variable in ("NO_TOKEN", "ALLOWED_HOST") if f"TBCORE_{variable}" in stage
        }
        assert sets == ({"NO_TOKEN", "ALLOWED_HOST"} if name == "kubeflow" else set()), name
    assert (
        "tensorboard"
        not in (REPOSITORY / "pyproject.toml")
        .read_text()
        .partition("[project.scripts]")[2]
        .partition("\n\n")[0]
    )


def test_the_context_is_what_git_has() -> None:
    """Nothing that was built or fetched here gets into an image, and nothing is left out."""
    git = ["git", "-C", str(REPOSITORY), "ls-files", "-z", "--cached", "--others"]
    listed = subprocess.run([*git, "--exclude-standard"], capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is not a clone")
    tracked = {name for name in listed.stdout.decode().split("\0") if name}
    tracked = {name for name in tracked if (REPOSITORY / name).is_file()}
    patterns = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    found = set()
    for folder, folders, names in os.walk(REPOSITORY):
        kept = [n for n in (*folders, *names)
                if not containers.is_ignored(REPOSITORY, Path(folder, n), patterns)]  # fmt: skip
        folders[:] = [name for name in folders if name in kept]
        files = [Path(folder, name) for name in names if name in kept]
        found |= {str(path.relative_to(REPOSITORY)) for path in files}
    assert found == tracked


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Image]]:
    """The images, made from this checkout on a bare Debian with Python."""
    if reason := containers.why_not() or containers.prefix_fault():
        pytest.skip(reason)
    scratch = tmp_path_factory.mktemp("images")
    try:
        containers.make_base(scratch / "python")
        yield containers.make_images(REPOSITORY, scratch / "python", scratch)
    finally:
        shutil.rmtree(scratch)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0, 0.5]})
    # Pytest's own folders are for this user only.
    return tmp_path / "logs"


class Container(NamedTuple):
    """A running program of an image."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()

    @property
    def first(self) -> int:
        """The id of its first process on this machine."""
        pid = self.process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


@pytest.fixture
def start(logs: Path, tmp_path: Path) -> Iterator[Callable[..., Container]]:
    """`start(image, "argument", place="/logs", VARIABLE="x")` runs an image, as SOME_USER."""
    started: list[Container] = []

    def run(image: Image, *arguments: str, place: str = "/logs", **variables: str) -> Container:
        command = image.command(*arguments, user=SOME_USER, mounted={place: logs}, **variables)
        log = tmp_path / f"log-{len(started)}"
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)

        def has_started() -> bool:
            assert process.poll() is None, log.read_text()
            return "(Press CTRL+C to quit)" in log.read_text()

        until(has_started)
        port = re.search(r" at http://localhost:(\d+)/", log.read_text())
        assert port
        started.append(Container(process, log, int(port[1])))
        return started[-1]

    yield run
    for container in started:
        container.process.kill()
        container.process.wait()


@pytest.mark.release
@pytest.mark.slow
def test_the_default_image_serves(
    images: dict[str, Image], start: Callable[..., Container]
) -> None:
    """As any user, with a read-only root and read-only logs; a request needs the token."""
    image, port = images[""], str(free_port())
    assert image == images["tbcore"]
    size = int(subprocess.check_output(["du", "-sm", image.root / "opt" / "tbcore"]).split()[0])
    print(f"tbcore with its requirements: {size} MB")
    assert size < 250

    began = time.monotonic()
    container = start(image, TBCORE_TOKEN="secret", TBCORE_PORT=port)
    print(f"serves after {time.monotonic() - began:.1f} s")

    bearer = {"Authorization": "Bearer secret"}
    assert container.get("/healthz")[0] == 200
    assert container.get("/data/runs")[0] == 401
    assert container.get("/data/runs", **bearer) == (200, b'["train"]')
    assert b"<title>" in container.get("/", **bearer)[1]

    assert identity(container) == (1000730000, 0, 1)
    assert written_to(container) == []
    inside = ["nsenter", f"--target={container.first}", "--mount", "--pid", "--root"]
    for asked, status in ((port, 0), (str(free_port()), 1)):
        variables = {**image.environment, "TBCORE_PORT": asked}
        probe = ["/usr/bin/env", "-i", *(f"{name}={text}" for name, text in variables.items())]
        probe += ["/bin/sh", "-c", image.health]
        done = subprocess.run([*inside, *probe], stderr=subprocess.DEVNULL, check=False)
        assert done.returncode == status

    os.kill(container.first, signal.SIGTERM)
    assert container.process.wait(10) == 143


def identity(container: Container) -> tuple[int, int, int]:
    """The user, the group, and the process's id in its namespace."""
    lines = Path(f"/proc/{container.first}/status").read_text().splitlines()
    fields = {name: values.split() for name, _, values in (line.partition(":") for line in lines)}
    assert int(fields["CapEff"][0], 16) == 0
    return int(fields["Uid"][1]), int(fields["Gid"][1]), int(fields["NSpid"][-1])


def written_to(container: Container) -> list[str]:
    """Files outside /dev and /proc that it has open for writing, other than its output."""
    found = []
    for entry in Path(f"/proc/{container.first}/fd").iterdir():
        target = os.readlink(entry)
        flags = int((entry.parent.parent / "fdinfo" / entry.name).read_text().split()[3], 8)
        if target.startswith("/") and flags & os.O_ACCMODE != os.O_RDONLY:
            found.append(target)
    return [path for path in found if not path.startswith(("/dev/", "/proc/", str(container.log)))]


@pytest.mark.release
@pytest.mark.slow
def test_without_a_token_a_read_only_container_says_what_to_set(
    images: dict[str, Image], logs: Path
) -> None:
    """A random token has no place there."""
    command = images[""].command(user=SOME_USER, mounted={"/logs": logs}, TBCORE_PORT="0")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "set TBCORE_TOKEN to a token of your own" in line


@pytest.mark.release
@pytest.mark.slow
def test_other_commands_run_in_the_image(images: dict[str, Image], logs: Path) -> None:
    """Arguments follow `tbcore`, and the variables hold for all commands."""
    image = images["tbcore"]
    for arguments, expected in (
        (["ls"], "train"),
        (["plugins"], "tbcore-hparams"),
        (["serve", "--logdir", "s3://nowhere/logs", "--port", "nonsense"], "nonsense"),
    ):
        command = image.command(*image.entrypoint, *arguments, mounted={"/logs": logs})
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert expected in done.stdout + done.stderr
    code = "import s3fs, gcsfs"
    subprocess.run(image.command("/opt/tbcore/bin/python", "-c", code), check=True)


@pytest.mark.release
@pytest.mark.slow
def test_the_image_for_kubeflow_serves_with_its_command_line(
    images: dict[str, Image], start: Callable[..., Container]
) -> None:
    """Without a token and under any name, with the variables of a Service named `tbcore`."""
    container = start(
        images["kubeflow"], "/usr/local/bin/tensorboard", "--logdir=/tensorboard_logs/",
        "--bind_all", place="/tensorboard_logs/", TBCORE_PORT="tcp://10.0.0.1:80",
    )  # fmt: skip
    log = container.log.read_text()
    assert re.search(r"^TensorBoard 2\.21\.0 \(served by tbcore", log, re.MULTILINE)
    until(lambda: container.get("/readyz", Host="kubeflow.example")[0] == 200)
    assert container.get("/data/runs", Host="kubeflow.example") == (200, b'["train"]')
    os.kill(container.first, signal.SIGTERM)
    assert container.process.wait(10) == 0
