"""The file by which TensorBoard's own magic finds a server of tbcore."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, until

from tbcore import TbcoreError
from tbcore.engine import Config
from tbcore_jupyter import tensorboard_magic
from tbcore_jupyter.tensorboard_magic import FOLDER, InfoFile, launch
from tbcore_testing import write_run

CONFIG = Config(logdir="runs", port=6007, path_prefix="/logs")


@pytest.fixture(autouse=True)
def temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_temporary_files: Callable[[Path], None]
) -> Path:
    """A folder for temporary files, with logs in the working directory."""
    write_run(tmp_path / "runs", "train", scalars={"loss": [1.0, 0.5]})
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tmp"
    keep_temporary_files(folder)
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.parametrize(
    ("command_line", "is_kernel"),
    [
        ("/usr/bin/python3 -m ipykernel_launcher -f /run/user/1/kernel-1234.json", True),
        ("/usr/bin/python3 -m ipykernel_launcher --f=/run/user/1/kernel-v2-12Ab.json", True),
        ("/opt/xeus/bin/xpython -f /home/me/kernel-1234.json", True),
        ("/usr/bin/python3 train.py", False),
        ("-bash", False),
        ("vim kernel.json", False),
        ("", False),
    ],
)
def test_the_parent_must_be_a_kernel_and_the_variable_set(
    monkeypatch: pytest.MonkeyPatch, command_line: str, is_kernel: bool
) -> None:
    """In a terminal of Jupyter the variable may be set, too."""
    text = command_line.replace(" ", "\0")
    monkeypatch.setattr(tensorboard_magic, "_command_line", lambda process: text)
    monkeypatch.setenv("TENSORBOARD_BINARY", "tbcore")
    assert (launch(["--logdir", "runs"]) is not None) is is_kernel
    monkeypatch.delenv("TENSORBOARD_BINARY")
    assert launch(["--logdir", "runs"]) is None


def test_the_command_line_of_a_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """In /proc, or else by ps."""
    assert "python" in tensorboard_magic._command_line(os.getpid())
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: (_ for _ in ()).throw(OSError()))
    if Path("/bin/ps").exists():
        assert "python" in tensorboard_magic._command_line(os.getpid())
    monkeypatch.setenv("PATH", "")
    assert tensorboard_magic._command_line(os.getpid()) == ""


def test_tensorboard_reads_the_file(temporary: Path) -> None:
    """And finds that it fits its own arguments, which are not only ASCII."""
    manager = pytest.importorskip("tensorboard.manager")
    arguments = ["--logdir", "rüns", "--port=0"]
    launched = InfoFile(arguments)
    launched.started(CONFIG)
    [info] = manager.get_all()
    assert (info.port, info.path_prefix, info.logdir, info.db) == (6007, "/logs", "runs", "")
    assert info.pid == os.getpid()
    key = manager.cache_key(os.getcwd(), arguments=arguments, configure_kwargs={})
    assert info.cache_key == key
    launched.ended()
    assert manager.get_all() == []


def test_the_file_is_for_this_user_and_the_folder_for_all(temporary: Path) -> None:
    """As TensorBoard makes it, whatever the mask is: other users' servers have files there."""
    mask = os.umask(0o077)
    try:
        launched = InfoFile([])
        launched.started(CONFIG)
    finally:
        os.umask(mask)
    [file] = (temporary / FOLDER).iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o777
    assert list(temporary.iterdir()) == [file.parent]
    launched.ended()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_other_users_cannot_read_the_file(keep_temporary_files: Callable[[str], None]) -> None:
    """They see that it is there."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        keep_temporary_files(folder)
        launched = InfoFile([])
        launched.started(CONFIG)
        [file] = Path(folder, FOLDER).iterdir()
        command = ["sh", "-c", 'ls "$1" && cat "$1"', "sh", str(file)]
        done = subprocess.run(
            command, user=65534, group=65534, extra_groups=[], cwd="/",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        launched.ended()
    assert done.stdout == f"{file}\n"
    assert "Permission denied" in done.stderr


def test_a_folder_that_is_a_link_gets_no_file(temporary: Path, tmp_path: Path) -> None:
    """Another user may have made it, to get the file to another place."""
    (tmp_path / "elsewhere").mkdir()
    (temporary / FOLDER).symlink_to(tmp_path / "elsewhere")
    launched = InfoFile([])
    with pytest.raises(TbcoreError, match=r"tensorboard-info is not a directory"):
        launched.started(CONFIG)
    launched.ended()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_only_its_own_file_is_removed(temporary: Path) -> None:
    """Anybody may have put another file in its place."""
    launched = InfoFile([])
    launched.started(CONFIG)
    [file] = (temporary / FOLDER).iterdir()
    file.rename(file.with_name("kept"))
    file.write_text("another")
    launched.ended()
    assert file.read_text() == "another"
    assert file.with_name("kept").exists()
    InfoFile([]).ended()  # never started


@pytest.fixture
def start(temporary: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """`start("--option")`: starts a server whose parent is a kernel, by its command line."""
    parents: list[subprocess.Popen[bytes]] = []
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    code = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[3:]).returncode)"

    def start(*options: str) -> subprocess.Popen[bytes]:
        server = [sys.executable, "-m", "tbcore", "--logdir", "runs", "--port", "0", *options]
        kernel = [sys.executable, "-c", code, "-f", "kernel-1.json", *server]
        environment = {**os.environ, "PYTHONPATH": path, "TENSORBOARD_BINARY": "tbcore"}
        with Path("out").open("wb") as out:
            parents.append(
                subprocess.Popen(kernel, env=environment, stdout=out, stderr=out, process_group=0)
            )
        return parents[-1]

    yield start
    for parent in parents:
        with suppress(ProcessLookupError):  # if all have ended
            os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()


def test_the_file_is_there_while_the_server_runs(start: Any, temporary: Path) -> None:
    manager = pytest.importorskip("tensorboard.manager")
    start()
    # `get_all` fails if a file is gone before it reads it, so it is called only while none comes
    # or goes.
    until(lambda: list((temporary / FOLDER).glob("*")))
    [info] = manager.get_all()
    assert manager.cache_key(os.getcwd(), ["--logdir", "runs", "--port", "0"], {}) == info.cache_key
    os.kill(info.pid, signal.SIGTERM)
    until(lambda: not list((temporary / FOLDER).iterdir()))
    assert manager.get_all() == []


@pytest.mark.parametrize("options", ["--secret_prefix=secret", "--bind_all", "--host=0.0.0.0"])
def test_a_server_that_the_magic_cannot_show_ends_and_writes_no_file(
    start: Any, temporary: Path, options: str
) -> None:
    """With an error, which the magic shows; otherwise it would wait for a minute."""
    assert start(options).wait(WAIT_SECONDS) == 2
    [line] = Path("out").read_text().splitlines()
    assert "leave out --host, --bind_all, --uds and --secret_prefix" in line
    assert not (temporary / FOLDER).exists()
