"""Completion in shells: commands, options, and the names in the logs on the command line."""

from __future__ import annotations

import os
import pty
import re
import resource
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import TIMEOUT_SECONDS, command, environment, piped

from tbcore_testing import write_run

RUNS = [
    "my run", "a,b", "lr=0.1:x", "it's", 'quo"te', "-dash", "é$x", "two/my run", "c\\d",
    "#h~{z}!&;|*?",
]  # fmt: skip
TAGS = ["val loss", "a,b/c", "x:y", "-t", "late"]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "logs"
    for run in RUNS:
        write_run(
            path, run,
            scalars={tag: [0.5] for tag in TAGS}, texts={"text note": ["x"]},
        )  # fmt: skip
    return path


# What is typed before the tab, and the arguments after it and Enter.
COMPLETED: dict[str, list[str]] = {
    "rep": ["report"],
    "ls --wh": ["ls", "--where"],
    "ls --format js": ["ls", "--format", "json"],
    "show my": ["show", "my run"],
    "show it": ["show", "it's"],
    "show quo": ["show", 'quo"te'],
    "show lr": ["show", "lr=0.1:x"],
    "show lr=0.1:": ["show", "lr=0.1:x"],
    "show é": ["show", "é$x"],
    "show c": ["show", "c\\d"],
    "show two/my\\ r": ["show", "two/my run"],
    "show 'two/my r": ["show", "two/my run"],
    'show "two/my r': ["show", "two/my run"],
    "show 'é": ["show", "é$x"],
    'show "é': ["show", "é$x"],
    'show "quo': ["show", 'quo"te'],
    "show my\\ run va": ["show", "my run", "val loss"],
    "show 'my run' x:": ["show", "my run", "x:y"],
    "diff my\\ run two": ["diff", "my run", "two/my run"],
    "ls --runs 'my run,lr": ["ls", "--runs", "my run,lr=0.1:x"],
    "ls --runs my\\ run,a": ["ls", "--runs", 'my run,"a,b"'],
    "ls --runs=tw": ["ls", "--runs=two/my run"],
    "tail --tags 'x:y,va": ["tail", "--tags", "x:y,val loss"],
}
BASH = """tbcore() {
    if [ "$1" = completion ]; then command tbcore "$@"; else printf '<%s>' "$@"; echo; fi
}"""
FISH = """function tbcore
    if [ $argv[1] = completion ]; command tbcore $argv; else; printf '<%s>' $argv; echo; end
end"""
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], BASH),
    "zsh": (["zsh", "-f", "-i"], f"autoload -Uz compinit; compinit -u -D; {BASH}"),
    "fish": (["fish", "-N", "-i"], FISH),
}


class Shell:
    """An interactive shell in a directory, in which `tbcore` prints its arguments."""

    def __init__(self, name: str, cwd: Path) -> None:
        argv, setup = SHELLS[name]
        page = Path(__file__).resolve().parents[3] / "docs" / "command_line.md"
        [line] = re.findall(rf"^(.*tbcore completion {name}\b.*?) +#", page.read_text(), re.M)
        control, terminal = pty.openpty()
        self._keys = os.fdopen(control, "r+b", buffering=0)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *argv], stdin=terminal, stdout=terminal, stderr=terminal,
            cwd=cwd, env=environment(PATH=path, LC_ALL="C.UTF-8", TERM="dumb"),
        )  # fmt: skip
        os.close(terminal)
        self.output_of(f"{setup}\n{line}\n".replace("\n", "\r"))

    def output_of(self, keys: str) -> str:
        """What the terminal shows for these keys and a command that follows them."""
        self._keys.write(f"{keys}echo END''S\r".encode())
        received = b""
        while b"ENDS" not in received:
            assert select.select([self._keys], [], [], TIMEOUT_SECONDS)[0], received
            received += self._keys.read(1 << 16)
        return received.decode()

    def arguments_of(self, typed: str) -> list[str]:
        """The arguments of a command that is typed as `tbcore`, these words, a tab and Enter."""
        output = self.output_of(f"tbcore {typed}\t\r")
        lines = re.findall(r"^<.*>\r?$", output.replace("\r\n", "\n"), re.MULTILINE)
        assert lines, output
        return lines[-1].strip()[1:-1].split("><")


@pytest.fixture(scope="module", params=SHELLS)
def shell(request: pytest.FixtureRequest, logdir: Path) -> Iterator[Shell]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    found = Shell(request.param, logdir)
    yield found
    found.process.kill()
    found.process.wait()


@pytest.mark.parametrize("typed", COMPLETED)
def test_a_tab_completes_words_with_their_quotes(shell: Shell, typed: str) -> None:
    """The shell passes the very name to the command."""
    assert shell.arguments_of(typed) == COMPLETED[typed]


def offered(line: str, cwd: Path) -> list[str]:
    """The values that are offered in place of the last word, as zsh gets them."""
    result = piped("completion", "zsh", "--", *line.split(" "), cwd=cwd)
    assert (result.returncode, result.stderr) == (0, "")
    return [each.removeprefix("=") for each in result.stdout.splitlines()]


def test_names_are_those_of_the_logdir_on_the_command_line(logdir: Path) -> None:
    outside = logdir.parent
    quoted = {"a,b": '"a,b"', 'quo"te': '"quo""te"'}
    runs = [run for run in RUNS if run != "-dash"]  # It would be taken for an option.
    assert sorted(offered("ls logs --runs ", outside)) == sorted(quoted.get(r, r) for r in runs)
    assert offered("show logs two", outside) == ["two/my run"]
    assert offered("show logs two/my ", outside) == []
    assert offered("ls --json logs --runs my", outside) == ["my run"]
    assert offered("export logs --tags x:y,t", outside) == ["x:y,text note"]
    assert offered("show log", outside) == [f"logs/{run}" for run in sorted(RUNS)]
    assert offered("show nowhere ", outside) == []
    assert offered("ls logs --sort ", outside) == []


def test_the_scripts_of_click_offer_names_too(logdir: Path) -> None:
    """They do not quote them."""
    found = subprocess.run(
        command(), cwd=logdir, capture_output=True, text=True, check=True,
        env=environment(
            _TBCORE_COMPLETE="bash_complete", COMP_WORDS="tbcore show my", COMP_CWORD="2"
        ),
    )  # fmt: skip
    assert (found.stdout, found.stderr) == ("plain,my run\n", "")


@pytest.mark.parametrize("arguments", [["tcsh"], ["bash", "one word"], []])
def test_mistakes_are_reported_in_one_line(arguments: list[str]) -> None:
    result = piped("completion", *arguments)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)


QUOTES = '"' * 101


def test_quotes_take_no_time(logdir: Path) -> None:
    assert offered(f"ls --runs {QUOTES}", logdir) == []


def test_damaged_and_unreadable_files_offer_nothing(tmp_path: Path) -> None:
    path = write_run(tmp_path, "a", scalars={"loss": [1.0]})
    path.write_bytes(path.read_bytes()[:60] + b"\xff" * 100)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "events.out.tfevents.1").write_bytes(bytes(5))
    os.mkfifo(tmp_path / "b" / "events.out.tfevents.2")
    assert offered("ls --runs ", tmp_path) == ["a", "b"]
    assert offered("export --tags lo", tmp_path) == []


def cpu_seconds(arguments: list[str], cwd: Path) -> float:
    """The CPU time of a command: unlike its duration, hardly longer while the machine is busy."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command(*arguments), cwd=cwd, env=environment(), stdout=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_names_in_a_thousand_runs_take_little_more_than_a_start(tmp_path: Path) -> None:
    """0.16 to 0.20 s on a busy machine where `tbcore --version` takes 0.08 s."""
    for index in range(1000):
        write_run(
            tmp_path, f"run {index}",
            scalars={f"tag{tag}": [0.5] * 50 for tag in range(4)},
        )  # fmt: skip
    offers = [["ls", "--runs", "run 99"], ["export", "--tags", ""], ["show", "run 5", ""]]
    commands = [["--version"], *(["completion", "zsh", "--", *words] for words in offers)]
    rounds = [[cpu_seconds(arguments, tmp_path) for arguments in commands] for _ in range(5)]
    start, *others = map(min, zip(*rounds, strict=True))
    assert max(others) < 4 * start
