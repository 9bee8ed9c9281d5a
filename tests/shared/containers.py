"""The images of a Dockerfile, made and run without a container engine: in roots, by chroot.

A root is a folder with a whole system. Programs run in namespaces of their own, which need Linux
and root, so nothing is mounted on this machine, and no process outlives the first one.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

NETWORK_VARIABLES = re.compile(
    r"(?i:https?|no)_proxy|PIP_(CERT|INDEX_URL|DEFAULT_TIMEOUT)|SSL_CERT_(FILE|DIR)"
    r"|NODE_EXTRA_CA_CERTS|npm_config_registry"
)
"""Variables that say how this machine reaches package indexes."""
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs")
"""The same, for files."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

DEBIAN = "bookworm"
LIBRARIES = (
    *("ca-certificates", "libbz2-1.0", "libffi8", "liblzma5", "libncursesw6", "libreadline8"),
    *("libsqlite3-0", "libssl3", "libuuid1", "zlib1g"),
)
"""What Python needs of Debian."""


@dataclass(frozen=True)
class Image:
    """A stage of a Dockerfile."""

    root: Path
    environment: Mapping[str, str]
    directory: str = "/"
    user: str = "0"
    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """What CMD has."""
    health: str = ""
    """The command of HEALTHCHECK."""
    is_shared: bool = False
    """Whether the root is that of another stage."""

    def command(
        self,
        *arguments: str,
        user: str | None = None,
        mounted: Mapping[str, Path] | None = None,
        is_read_only: bool = True,
        **variables: str,
    ) -> list[str]:
        """The command line that runs a program as an engine does.

        Without arguments it is that of ENTRYPOINT and CMD. `mounted` maps paths in the root to
        folders, which are read-only there. The root is read-only, too, unless `is_read_only` is
        false. `user` is `UID:GID`, by default that of the image.
        """
        program = arguments or (*self.entrypoint, *self.arguments)
        environment = {**self.environment, **variables}
        steps = [f"mount --bind {self.root} {self.root}"]
        return in_root(
            self.root, program, steps=steps, user=user or f"{self.user}:0", mounted=mounted or {},
            environment=environment, directory=self.directory, is_read_only=is_read_only,
        )  # fmt: skip


def in_root(
    root: Path,
    program: Sequence[str],
    *,
    steps: Sequence[str],
    environment: Mapping[str, str],
    user: str = "0:0",
    mounted: Mapping[str, Path] | None = None,
    directory: str = "/",
    is_read_only: bool = True,
) -> list[str]:
    """The command line that runs a program in a root, as the first process of a namespace.

    `steps` are commands that mount the root. The program has no capability unless it runs as root.
    """
    script = ["set -e", *steps]
    script += [f"mount --rbind /dev {root}/dev", f"mount -t proc proc {root}/proc"]
    for place, folder in (mounted or {}).items():
        script += [f"mkdir -p {root}{place}", f"mount --bind {folder} {root}{place}"]
        script += [f"mount -o remount,bind,ro {root}{place}"]
    if is_read_only:
        script += [f"mount -o remount,bind,ro {root}"]
    start = f"cd {shlex.quote(directory)} && exec {shlex.join(program)}"
    variables = [f"{name}={value}" for name, value in environment.items()]
    command = ["chroot", f"--userspec={user}", "--groups=", str(root)]
    command += ["/usr/bin/env", "-i", *variables, "/bin/sh", "-c", start]
    script.append(f"exec {shlex.join(command)}")
    namespaces = ["--mount", "--pid", "--fork", "--kill-child"]
    return ["unshare", *namespaces, "/bin/sh", "-c", "\n".join(script)]


def on_this_machine(
    program: Sequence[str], scratch: Path, folders: Sequence[Path], *steps: str, **given: Any
) -> list[str]:
    """The command line that runs a program in a read-only copy of this machine's root.

    `scratch` is an empty folder. All users can read `folders`, which are mounted at their places;
    `steps` are commands that prepare the copy, with its path for `{root}`. For `given` see
    `in_root`.
    """
    root = scratch / "root"
    parents = {parent for folder in folders for parent in folder.parents}
    places = " ".join(str(root) + str(parent) for parent in sorted(parents))
    layers = f"lowerdir=/,upperdir={scratch}/upper,workdir={scratch}/work"
    copied = [
        f"mount -t tmpfs tmpfs {scratch}",
        f"mkdir {scratch}/upper {scratch}/work {root}",
        f"mount -t overlay -o {layers} overlay {root}",
        *(f"mkdir -p {root}{folder}" for folder in folders),
        f"chmod a+rx {places}",
        *(step.format(root=root) for step in steps),
    ]
    given["mounted"] = {str(folder): folder for folder in folders} | given.get("mounted", {})
    return in_root(root, program, steps=copied, **given)


def why_not() -> str:
    """Why nothing can be run in a root here; empty if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "namespaces need Linux and root"
    test = "mount -t tmpfs tmpfs /mnt && exec chroot --userspec=1:0 / /bin/true"
    command = ["unshare", "--mount", "--pid", "--fork", "/bin/sh", "-c", test]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"no namespaces: {done.stderr.strip()}" if done.returncode else ""


# Making images -----------------------------------------------------------------------------------


def make_images(context: Path, base: Path, scratch: Path) -> dict[str, Image]:
    """Runs the Dockerfile of a folder; returns its stages by name, the default one also as "".

    `base` is the root of each image that is not a stage. Raises CalledProcessError if a step fails.
    """
    images: dict[str, Image] = {}
    name, arguments = "", {}
    for instruction, text in instructions((context / "Dockerfile").read_text(encoding="utf-8")):
        if instruction == "FROM":
            parent, _, name = text.partition(" AS ")
            start = images.get(parent) or Image(base, {"PATH": PATH})
            images[name] = replace(start, is_shared=True)
            arguments = {}
        elif instruction == "ARG":
            variable, _, value = text.partition("=")
            arguments[variable] = value
        else:
            image = images[name]
            if instruction in ("RUN", "COPY") and image.is_shared:
                root = scratch / name
                subprocess.run(["cp", "-a", "--reflink=auto", image.root, root], check=True)
                image = replace(image, root=root, is_shared=False)
            images[name] = followed(image, instruction, text, arguments, images, context)
    return {**images, "": images[name]}


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, each with what follows its first word."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n", "", "\n".join(lines))
    found = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, rest in found]


def followed(
    image: Image,
    instruction: str,
    text: str,
    arguments: Mapping[str, str],
    images: Mapping[str, Image],
    context: Path,
) -> Image:
    """An image after an instruction other than FROM and ARG; raises ValueError for unknown ones."""
    if instruction == "RUN":
        run(image, text, arguments)
        return image
    if instruction == "COPY":
        copy(image, text, images, context)
        return image
    if instruction == "ENV":
        pairs = dict(word.split("=", 1) for word in shlex.split(text))
        return replace(image, environment={**image.environment, **pairs})
    if instruction == "WORKDIR":
        (image.root / text.lstrip("/")).mkdir(parents=True, exist_ok=True)
        return replace(image, directory=text)
    if instruction == "USER":
        return replace(image, user=text)
    if instruction == "ENTRYPOINT":
        return replace(image, entrypoint=tuple(json.loads(text)), arguments=())
    if instruction == "CMD":
        return replace(image, arguments=tuple(json.loads(text)))
    if instruction == "HEALTHCHECK":
        return replace(image, health=text.removeprefix("CMD "))
    if instruction == "EXPOSE":
        return image
    raise ValueError(f"unknown instruction {instruction} {text}")


def run(image: Image, command: str, variables: Mapping[str, str]) -> None:
    """Runs a command of RUN in an image, as root, with this machine's way to package indexes."""
    network = {k: v for k, v in os.environ.items() if NETWORK_VARIABLES.fullmatch(k)}
    mounts = [
        f"mount --bind {path} {image.root}{path}"
        for path in NETWORK_FILES
        if Path(path).exists() and (image.root / path[1:]).exists()
    ]
    command_line = in_root(
        image.root, ["/bin/sh", "-c", command],
        steps=[f"mount --bind {image.root} {image.root}", *mounts],
        environment={**image.environment, **network, **variables},
        directory=image.directory, is_read_only=False,
    )  # fmt: skip
    subprocess.run(command_line, check=True)


def copy(image: Image, text: str, images: Mapping[str, Image], context: Path) -> None:
    """Copies one file or folder into an image, from a stage or from what .dockerignore leaves."""
    *options, source, target = text.split()
    into = image.root / os.path.join(image.directory, target).lstrip("/")
    if options:
        stage = images[options[0].removeprefix("--from=")]
        shutil.copytree(stage.root / source.lstrip("/"), into, symlinks=True, dirs_exist_ok=True)
        return
    patterns = (context / ".dockerignore").read_text(encoding="utf-8").splitlines()

    def left_out(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if is_ignored(context, Path(folder, name), patterns)}

    shutil.copytree(context / source, into, symlinks=True, dirs_exist_ok=True, ignore=left_out)


def is_ignored(context: Path, path: Path, patterns: Sequence[str]) -> bool:
    """Whether a pattern of .dockerignore, `NAME` or `**/NAME`, matches a path."""
    place = path.relative_to(context)
    return any(
        fnmatch.fnmatchcase(place.name, pattern.removeprefix("**/"))
        for pattern in patterns
        if pattern.startswith("**/") or len(place.parts) == 1
    )


def make_base(folder: Path) -> None:
    """Makes the root of an image like `python:slim`: Debian, with this Python in /usr/local."""
    debootstrap = ["debootstrap", "--variant=minbase", f"--include={','.join(LIBRARIES)}"]
    subprocess.run([*debootstrap, DEBIAN, str(folder)], check=True, stdout=subprocess.DEVNULL)
    prefix, local = Path(sys.base_prefix), folder / "usr" / "local"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (local / "bin").mkdir(exist_ok=True)
    shutil.copy(prefix / "bin" / version, local / "bin")
    ignored = shutil.ignore_patterns("__pycache__", "site-packages", "test", "idlelib", "*.a")
    shutil.copytree(
        prefix / "lib", local / "lib", symlinks=True, dirs_exist_ok=True, ignore=ignored
    )
    for name in ("python", "python3"):
        (local / "bin" / name).symlink_to(version)
    (local / "lib" / version / "site-packages").mkdir()
    (folder / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    set_up = Image(folder, {"PATH": PATH})
    # As in that image, pip is the newest; 23.2 fails for constraints on a name with extras.
    pip = "pip --quiet install --upgrade pip"
    steps = ["ldconfig", f"{version} -m ensurepip", "ln -s pip3 /usr/local/bin/pip", pip]
    run(set_up, " && ".join(steps), {})


def prefix_fault() -> str:
    """Why `make_base` cannot use this Python; empty if it can."""
    if shutil.which("debootstrap") is None:
        return "no debootstrap"
    if sys.base_prefix in ("/usr", "/usr/local"):
        return "this Python has no prefix of its own, such as one of pyenv has"
    return ""
