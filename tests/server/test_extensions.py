"""Extensions: found by entry points, imported when used; a broken one is one line."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import NamedTuple

import forks
import pytest
from calls import Watch

import tbcore
from tbcore import __version__, extensions
from tbcore.cli import main
from tbcore.eventfiles import addresses
from tbcore.eventfiles.storage import EventFile
from tbcore_testing import write_run

COMMAND = '''"""Count the runs."""
import click

@click.command()
def command():
    """Counts."""
    print("counted")
'''


class Site(NamedTuple):
    """A folder with distributions, in a place of its own."""

    folder: Path

    def install(
        self,
        distribution: str,
        commands: Mapping[str, str],
        *,
        version: str = "1.0",
        requires: str = "",
        group: str = extensions.COMMANDS,
        source: str = COMMAND,
    ) -> None:
        """Installs a distribution with entry points, and the module `tbcore_found`."""
        info = self.folder / f"{distribution}-{version}.dist-info"
        info.mkdir(parents=True)
        requirement = f"Requires-Dist: {requires}\n" if requires else ""
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n{requirement}"
        )
        lines = [f"{name} = {value}" for name, value in commands.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
        (self.folder / "tbcore_found.py").write_text(source)

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Runs `tbcore`, which finds the distributions of this folder first."""
        if arguments[0] in ("check", "ls"):
            pytest.importorskip("tbcore_logs")
        path = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        return forks.run(forks.TBCORE, arguments, {**os.environ, "PYTHONPATH": path}, cwd)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


def forget_extensions() -> None:
    """Makes this process look for extensions again, as another process does."""
    addresses._storages.clear()
    tbcore._opener.cache_clear()
    with contextlib.suppress(ImportError):
        from tbcore_logs import readers

        readers._index_extension.cache_clear()


@pytest.fixture
def uninstalled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """`uninstalled("tbcore.index")`: nothing that is installed has entry points of these groups."""
    declared = extensions.declared

    def remove(*groups: str) -> None:
        def without(group: str, **options: bool) -> list[EntryPoint]:
            return [] if group in groups else declared(group, **options)

        monkeypatch.setattr(extensions, "declared", without)
        forget_extensions()

    yield remove
    forget_extensions()


def test_a_command_of_another_distribution_runs_and_is_listed(site: Site) -> None:
    """The overview has the first line of its module's docstring."""
    site.install("counting", {"count-runs": "tbcore_found:command"})

    assert site.run("count-runs").stdout == "counted\n"
    lines = site.run("--help").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in lines if "count-runs" in line] == [
        ["count-runs", "Count the runs."]
    ]


@pytest.mark.parametrize("argument", ["count", "count --help", "help count", "--help", "nothing"])
def test_commands_are_searched_for_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, argument: str, calls_of: Watch
) -> None:
    """A search reads the metadata of those that it finds."""
    site.install("counting", {"count": "tbcore_found:command"})
    monkeypatch.syspath_prepend(site.folder)
    searches = calls_of(extensions.declared)

    main(argument.split())

    assert [call.arguments["group"] for call in searches] == [extensions.COMMANDS]
    sys.modules.pop("tbcore_found", None)


def test_distributions_are_read_again_when_one_comes_or_goes(
    site: Site, monkeypatch: pytest.MonkeyPatch, calls_of: Watch
) -> None:
    """And else once, by whatever is searched for: reading them all takes long."""
    reads = calls_of(importlib.metadata.distributions)

    def found(group: str) -> set[str]:
        names = {point.name for point in extensions.declared(group)}
        return names & {"count", "sum"}

    def set_time(time: int) -> None:
        os.utime(site.folder, (time, time))

    site.install("counting", {"count": "tbcore_found:command"})
    monkeypatch.setattr(sys, "path", [str(site.folder)])
    assert found(extensions.COMMANDS) == {"count"}
    assert found(extensions.COMMANDS) == {"count"}
    assert len(reads) == 2, "one may be half installed: the folder has just changed"
    reads.clear()
    set_time(1_700_000_000)
    assert found(extensions.COMMANDS) == {"count"}
    assert (found(extensions.STORAGE), found(extensions.COMMANDS)) == (set(), {"count"})
    assert len(reads) == 1
    site.install("adding", {"sum": "tbcore_found:command"})
    set_time(1_700_000_001)
    assert found(extensions.COMMANDS) == {"count", "sum"}
    shutil.rmtree(site.folder / "counting-1.0.dist-info")
    set_time(1_700_000_002)
    assert found(extensions.COMMANDS) == {"sum"}
    assert len(reads) == 3


def test_the_overview_imports_no_extension(site: Site) -> None:
    """A module that would end the process is read, not imported."""
    source = '"""Ends."""\nimport os\nos._exit(9)\n'
    site.install("ending", {"ends": "tbcore_found:command"}, source=source)

    done = site.run("--help")

    assert done.returncode == 0
    assert "Ends." in done.stdout


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no\\nluck')", "RuntimeError: no luck"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("import tbcore_not_there", "ModuleNotFoundError: No module named 'tbcore_not_there'"),
        ("def commando(): pass", "AttributeError: module 'tbcore_found' has no attribute"),
        ("def broken(:", "SyntaxError: "),
    ],
)
def test_a_command_that_cannot_be_imported_is_one_line(
    site: Site, source: str, reason: str
) -> None:
    """The line names its distribution; other commands work."""
    site.install("broken", {"count": "tbcore_found:command"}, source=source)

    done = site.run("count")

    start = "tbcore: the command 'count' of broken 1.0 cannot be imported: "
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(start + reason)
    assert done.stderr.count("\n") == 1
    assert site.run("plugins").returncode == 0
    assert "count" in site.run("--help").stdout


def test_an_entry_point_that_is_not_a_command_is_one_line(site: Site) -> None:
    site.install("wrong", {"count": "tbcore_found:command"}, source="command = 5")

    done = site.run("count")

    assert done.returncode == 1
    assert (
        done.stderr == "tbcore: the entry point 'count' of tbcore.commands is not a click command\n"
    )


@pytest.mark.parametrize(
    ("group", "what"),
    [(extensions.COMMANDS, "the command 'count'"), (extensions.STORAGE, "count://")],
)
def test_an_import_that_hangs_is_reported(
    group: str,
    what: str,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The import waits for the warning here, at most for a minute."""
    site.install("slow", {"count": "tbcore_found:command"}, group=group, source=(
        "import sys\ncommand = sys.modules['tbcore_reported'].wait(60)\n"
    ))  # fmt: skip
    monkeypatch.syspath_prepend(site.folder)
    monkeypatch.setattr(extensions, "_SLOW_IMPORT_SECONDS", 0.0)
    reported = threading.Event()
    monkeypatch.setitem(sys.modules, "tbcore_reported", reported)  # type: ignore[arg-type]
    caplog.handler.addFilter(lambda record: reported.set() or True)
    assert extensions.loaded(group, "count") is True
    assert caplog.messages == [f"importing slow 1.0 for {what} takes long"]
    del sys.modules["tbcore_found"]


def test_own_commands_are_not_replaced(site: Site) -> None:
    site.install("evil", {"serve": "tbcore_found:command", "plugins": "tbcore_found:command"})

    assert "counted" not in site.run("plugins").stdout
    assert "Path at which the server is reached" in site.run("serve", "--help").stdout


def test_of_two_commands_with_one_name_that_of_tbcore_is_used(site: Site) -> None:
    """Both are named; of two others, the first by distribution is used."""
    for distribution in ("aaa", "tbcore_index", "zzz"):
        site.install(
            distribution, {"index": "tbcore_found:command", "count": "tbcore_found:command"}
        )

    done = site.run("index")
    other = site.run("count")

    assert (done.stdout, other.stdout) == ("counted\n", "counted\n")
    start = "tbcore: warning: tbcore_index 1.0 and"
    assert done.stderr.splitlines() == [
        f"{start} aaa 1.0 both have the command 'index'; the first is used",
        f"{start} zzz 1.0 both have the command 'index'; the first is used",
    ]
    assert other.stderr.startswith("tbcore: warning: aaa 1.0 and tbcore_index 1.0 both have")


def test_names_in_metadata_are_escaped(site: Site) -> None:
    site.install("esc\x1b[31m", {"count": "tbcore_found:command"}, source="raise ValueError('\\a')")

    done = site.run("count")

    assert "esc\\x1b[31m 1.0" in done.stderr
    assert set(done.stderr).isdisjoint("\x1b\a")


def test_the_working_directory_is_not_searched(site: Site) -> None:
    site.install("downloaded", {"count": "tbcore_found:command"})
    elsewhere = Site(site.folder / "elsewhere")
    elsewhere.folder.mkdir()

    assert "count" not in elsewhere.run("--help", cwd=site.folder).stdout
    code = "from tbcore.extensions import available; print('count' in available('tbcore.commands'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=site.folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_a_working_directory_that_was_deleted_is_no_problem(site: Site) -> None:
    site.install("counting", {"count": "tbcore_found:command"})
    gone = site.folder / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from tbcore.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "count"],
        env={**os.environ, "PYTHONPATH": str(site.folder)},
        cwd=gone, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("counted\n", "")


@pytest.mark.parametrize(
    ("requires", "fits"),
    [
        ("tbcore-server", True),
        ("tbcore-server>=0.1,<0.2", True),
        ("tbcore_server[remote] (>=0.1) ; python_version >= '3'", True),
        ("tbcore-server<0.1", False),
        ("tbcore-server>=0.2,<0.3", False),
        ("tbcore-server==0.1.1", False),
        ("tbcore-serverless>=9", True),
    ],
)
def test_another_version_of_the_core_is_one_line(site: Site, requires: str, fits: bool) -> None:
    site.install("counting", {"count": "tbcore_found:command"}, requires=requires)

    done = site.run("count")

    assert done.returncode == (0 if fits else 1)
    wanted = requires.removeprefix("tbcore-server")
    line = (
        f"tbcore: counting 1.0 needs tbcore-server {wanted}, found {__version__}; "
        f"install versions that fit\n"
    )
    assert done.stderr == ("" if fits else line)


def test_what_is_missing_says_what_to_install(uninstalled: Callable[..., None]) -> None:
    """The hint names the distribution of tbcore that has it."""
    uninstalled(*{group for group, _ in extensions.INSTALL})
    for (group, name), distribution in extensions.INSTALL.items():
        with pytest.raises(extensions.OptionError) as info:
            extensions.loaded(group, name)

        quoted = f"'{distribution}'" if "[" in distribution else distribution
        assert str(info.value).endswith(f" needs another package: pip install {quoted}")
    with pytest.raises(extensions.OptionError, match=r"^an index needs another package: "):
        extensions.loaded(extensions.INDEX, "index")
    for name in ("ls", "show", "tail", "diff", "export", "report", "check", "index"):
        with pytest.raises(extensions.OptionError, match=f"^the command '{name}' needs"):
            extensions.loaded(extensions.COMMANDS, name)


def test_open_says_what_to_install(uninstalled: Callable[..., None]) -> None:
    """`tbcore.open` is an attribute also where no distribution has it."""
    uninstalled(extensions.OPEN)

    with pytest.raises(extensions.OptionError) as info:
        tbcore.open("runs")

    assert str(info.value) == "tbcore.open needs another package: pip install tbcore-logs"


def test_a_directory_with_the_name_of_a_command_gets_a_hint(site: Site, tmp_path: Path) -> None:
    """A user may have meant the directory, but hardly where there are `plugins`."""
    site.install("counting", {"count": "tbcore_found:command"})
    for name in ("count", "plugins"):
        (tmp_path / name).mkdir()

    done = site.run("count", cwd=tmp_path)

    hint = "tbcore: 'count' is a command; to serve the directory: tbcore ./count\n"
    assert (done.stdout, done.stderr) == ("counted\n", hint)
    assert site.run("plugins", cwd=tmp_path).stderr == ""


STORAGE = """
from tbcore.eventfiles.local_disk import LocalDisk

class Mirror(LocalDisk):
    def checked_address(self, address):
        print("checks", address)
        return address

    def root(self, address, pacing):
        raise SystemExit(f"scans {address}")

command = Mirror()
"""
"""A storage that prints with what it is called, and ends the process before a scan."""


def test_a_storage_is_found_by_its_scheme(site: Site) -> None:
    """It gets the address with its scheme in small letters, and without a slash at the end."""
    entries = {"mine": "tbcore_found:command"}
    site.install("mirror", entries, group=extensions.STORAGE, source=STORAGE)

    done = site.run("check", "MINE://x/Y/")

    assert done.stdout == "checks mine://x/Y\n"
    assert done.stderr.endswith("scans mine://x/Y\n")


def test_a_storage_may_have_all_schemes_without_one_of_their_own(site: Site) -> None:
    entries = {"*": "tbcore_found:command", "mine": "tbcore_found:absent"}
    site.install("tbcore_remote", entries, group=extensions.STORAGE, source=STORAGE)

    assert site.run("check", "other://x").stdout.startswith("checks other://x\n")
    assert "mine:// of tbcore_remote 1.0 cannot" in site.run("check", "mine://x").stderr


def test_paths_are_always_of_the_local_disk(site: Site, tmp_path: Path) -> None:
    """Nothing that is installed replaces it."""
    entries = dict.fromkeys(("file", "local", "", "*"), "tbcore_found:command")
    site.install("evil", entries, group=extensions.STORAGE, source=STORAGE)

    for address in (str(tmp_path), tmp_path.as_uri(), f"local://{tmp_path}"):
        assert site.run("check", address).stdout.endswith("0 runs, 0 files (0 B): no event files\n")
    done = site.run("check", "file://host/x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'file:///host/x'?" in done.stderr


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no\\nluck')", "RuntimeError: no luck"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("import tbcore_not_there", "ModuleNotFoundError: No module named 'tbcore_not_there'"),
    ],
)
def test_a_storage_that_cannot_be_imported_costs_only_its_addresses(
    site: Site, tmp_path: Path, source: str, reason: str
) -> None:
    """One line names its distribution; other directories are read."""
    entries = {"mine": "tbcore_found:command"}
    site.install("broken", entries, group=extensions.STORAGE, source=source)

    line = f"tbcore: mine:// of broken 1.0 cannot be imported: {reason}\n"
    for arguments in (["check", "mine://x"], ["ls", "mine://x"], ["serve", "--logdir", "mine://x"]):
        done = site.run(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", line)
    assert site.run("check", str(tmp_path)).stderr == ""


def test_an_entry_point_that_is_not_a_storage_is_one_line(site: Site) -> None:
    entries = {"mine": "tbcore_found:command"}
    site.install("wrong", entries, group=extensions.STORAGE, source="command = 5")

    line = "tbcore: the entry point of tbcore.storage for mine:// is not a storage\n"
    assert site.run("check", "mine://x").stderr == line


def test_of_two_storages_for_a_scheme_that_of_tbcore_is_used(site: Site) -> None:
    """Both are named."""
    entries = {"s3": "tbcore_found:command"}
    for distribution in ("aaa", "tbcore_remote"):
        site.install(distribution, entries, group=extensions.STORAGE, source=STORAGE)

    done = site.run("check", "s3://x")

    assert done.stdout == "checks s3://x\n"
    line = "tbcore: warning: tbcore_remote 1.0 and aaa 1.0 both have s3://; the first is used\n"
    assert done.stderr.startswith(line)


@pytest.mark.parametrize(
    ("scheme", "install"),
    [
        ("s3", "'tbcore-remote[s3]'"),
        ("gs", "'tbcore-remote[gcs]'"),
        ("abfs", "'tbcore-remote[azure]'"),
        ("sftp", "'tbcore-remote[sftp]'"),
        ("hf", "'tbcore-remote[hf]'"),
        ("https", "tbcore-remote"),
        ("other", ""),
    ],
)
def test_without_a_storage_one_line_says_what_to_install(
    scheme: str,
    install: str,
    uninstalled: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In commands and in Python. A file that an index names cannot be read, for the same reason."""
    uninstalled(extensions.STORAGE)
    line = f"{scheme}:// needs another package: pip install {install}"
    if not install:
        line = f"{scheme}:// is not known; another package may have it: pip install tbcore-remote"

    for arguments in (["serve", "--logdir"], ["ls"], ["check"]):
        assert main([*arguments, f"{scheme}://x/y"]) == 2
        assert capsys.readouterr() == ("", f"tbcore: {line}\n")
    with pytest.raises(ValueError) as info:
        tbcore.open(f"{scheme}://x/y")
    assert str(info.value) == line
    with pytest.raises(OSError) as error:
        addresses.open_event_file(EventFile(f"{scheme}://x/y"))
    assert str(error.value) == line


@pytest.mark.parametrize(
    ("requirement", "fits"),
    [
        ("tbcore-server>=0.1,<0.2", True),
        ("tbcore-server (>=0.1)", True),
        ("tbcore-server[all]>=0.1", True),
        ("TBCore.Server>=9", False),
        ("tbcore-server<0.1", False),
        # What else a requirement may have is left to pip.
        ("tbcore-server~=9.0", True),
        ("tbcore-server!=0.1.0", True),
        ("tbcore-server==9.*", True),
        ("tbcore-server>=9; extra == 'more'", True),
        ("tbcore-server-more>=9", True),
        ("other @ https://host/other.whl", True),
    ],
)
def test_bounds_of_a_required_version_are_compared(
    site: Site, requirement: str, fits: bool
) -> None:
    site.install("counting", {"count": "tbcore_found:command"}, requires=requirement)

    assert site.run("count").returncode == (0 if fits else 1)


def test_metadata_in_the_working_directory_says_nothing(site: Site, tmp_path: Path) -> None:
    """Not even about the version of the core."""
    requires = f"tbcore-server<={__version__}"
    site.install("counting", {"count": "tbcore_found:command"}, requires=requires)
    info = tmp_path / "tbcore_server-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tbcore-server\nVersion: 9.9\n")

    assert site.run("count", cwd=tmp_path).stdout == "counted\n"


@pytest.mark.parametrize("name", ["runs/", "./runs", "s3://b/x", "a\x1b[31mred", "Count"])
def test_a_command_takes_the_place_of_no_path(site: Site, tmp_path: Path, name: str) -> None:
    """Entry points with other names than those of commands are left out."""
    site.install("counting", {name: "tbcore_found:command"})

    assert "Count the runs" not in site.run("--help").stdout
    assert site.run(name, "--no-such-option", cwd=tmp_path).stdout == ""


FAULTY_INDEX = """
def is_index(path):
    raise RuntimeError("no luck")

def open(path, **options):
    import tbcore_not_there
"""


def test_a_fault_of_an_index_is_one_line_and_costs_only_indexes(site: Site, tmp_path: Path) -> None:
    """Also one of a package that is imported when it is used."""
    site.install("tbcore_index", {"index": "tbcore_found"}, group=extensions.INDEX,
                 source=FAULTY_INDEX)  # fmt: skip
    write_run(tmp_path / "logs", "train", scalars={"loss": [0.5]})

    done = site.run("ls", str(tmp_path / "logs"))
    assert "train" in done.stdout
    line = "an index of tbcore_index 1.0 failed: RuntimeError: no luck\n"
    assert done.stderr == f"tbcore: warning: {line}"

    done = site.run("serve", "--index", str(tmp_path), "--port", "0")
    reason = "ModuleNotFoundError: No module named 'tbcore_not_there'"
    line = f"tbcore: an index of tbcore_index 1.0 failed: {reason}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)


def test_a_fault_of_a_storage_is_one_line(site: Site) -> None:
    head = "def checked_address(self, address):"
    source = STORAGE.replace(head, f"{head}\n        1 / 0")
    entries = {"mine": "tbcore_found:command"}
    site.install("faulty", entries, group=extensions.STORAGE, source=source)

    done = site.run("serve", "--logdir", "mine://x")

    line = "tbcore: mine:// of faulty 1.0 failed: ZeroDivisionError: division by zero\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)


def test_a_class_is_not_a_storage(site: Site) -> None:
    entries = {"mine": "tbcore_found:Mirror"}
    site.install("wrong", entries, group=extensions.STORAGE, source=STORAGE)

    line = "tbcore: the entry point of tbcore.storage for mine:// is not a storage\n"
    assert site.run("serve", "--logdir", "mine://x").stderr == line


def test_a_storage_that_cannot_be_loaded_is_tried_once(
    uninstalled: Callable[..., None], calls_of: Watch
) -> None:
    """A scan asks for the storage of each file."""
    uninstalled(extensions.STORAGE)
    tried = calls_of(extensions.loaded)

    for _ in range(3):
        with pytest.raises(OSError, match="another package may have it"):
            addresses.open_event_file(EventFile("mine://x/y"))

    assert [call.arguments["names"] for call in tried] == [("mine", "*")]


def test_an_index_without_its_extension_says_what_to_install(
    tmp_path: Path, uninstalled: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """An index is not taken for a directory without logs."""
    (tmp_path / "runs" / "_delta_log").mkdir(parents=True)
    uninstalled(extensions.INDEX)
    assert main(["ls", str(tmp_path)]) == 2
    line = "tbcore: an index needs another package: pip install tbcore-index\n"
    assert capsys.readouterr() == ("", line)


@pytest.mark.usefixtures("log_levels")
def test_dev_without_its_extension_says_what_to_install(
    tmp_path: Path, uninstalled: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that reloads nothing would look as if it did."""
    uninstalled(extensions.DEV)
    assert main(["serve", str(tmp_path), "--port", "0", "--dev"]) == 2
    line = "tbcore: --dev needs another package: pip install tbcore-testing\n"
    assert capsys.readouterr() == ("", line)
