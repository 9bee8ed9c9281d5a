"""Hosts over SSH: only those that prove who they are are asked for logs, by real sshds."""

from __future__ import annotations

import getpass
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import storages
from common_fixtures import until
from storages import FILE, Watched, events, make_key

from tbcore.eventfiles.addresses import checked_address

pytest.importorskip("paramiko")

pytestmark = pytest.mark.services

USER = getpass.getuser()
MEMORY = Path("/proc/self/mem")
"""A file that exists, but of which the beginning cannot be read."""


class Machine:
    """This machine with an sshd, and with a home directory of its own for the user of tbcore."""

    def __init__(self, program: str, folder: Path, started: list[subprocess.Popen[bytes]]) -> None:
        self.folder = folder
        self.port = storages.free_port()
        self.known_hosts = folder / "home" / ".ssh" / "known_hosts"
        self.config = folder / "home" / ".ssh" / "config"
        self.user_key = folder / "home" / ".ssh" / "id_ed25519"
        self.program = program
        self.started = started

    def start(self, *host_keys: str) -> None:
        """Starts the sshd, in place of the one before, with these keys. All of them are known."""
        self.stop()
        process = storages.sshd(self.program, self.folder, self.port, host_keys or ("host_key",))
        self.started.append(process)
        storages.wait_for_port(process, self.port)
        self.user_key.write_bytes((self.folder / "user_key").read_bytes())
        self.user_key.chmod(0o600)

    def stop(self) -> None:
        """Stops the sshd, if it was started."""
        if self.started:
            self.started[-1].terminate()
            self.started[-1].wait(10)

    def key(self, name: str = "host_key", key_type: str = "ed25519") -> str:
        """The public half of a key of the host, such as `ssh-ed25519 AAAA`."""
        return make_key(self.folder / name, key_type)

    def hashed(self, line: str) -> str:
        """A line of a known_hosts file with the name hashed by ssh-keygen."""
        path = self.folder / "to_hash"
        path.write_text(f"{line}\n")
        subprocess.run(["ssh-keygen", "-H", "-f", str(path)], check=True, capture_output=True)
        return path.read_text().strip()

    def log(self) -> str:
        """What the sshd has logged."""
        return (self.folder / "sshd.log").read_text()

    def logins(self) -> list[str]:
        """The lines of the log about logging in, of which the first has a user's name."""
        lines = self.log().splitlines()
        return [line for line in lines if "userauth" in line or "password" in line.lower()]

    def uri(self, authority: str = "") -> str:
        return f"sftp://{authority or f'127.0.0.1:{self.port}'}{self.folder}/logs"

    def problem(self, authority: str = "") -> str:
        """Reads the logs at an address; the line that says why that fails, or an empty one."""
        for _ in storages.forget_storages():
            uri = checked_address(self.uri(authority))
            watched = Watched(uri)
            is_read = watched.steps("a") == [1, 2]
            assert is_read == (not watched.problems)
            assert watched.board.status.missing == ()
            [line] = watched.problems or [""]
        return line.removeprefix(f"cannot list {uri}: ")

    def is_trusted_by_ssh(self) -> bool:
        """Whether ssh itself logs in without a question."""
        options = {"UserKnownHostsFile": self.known_hosts, "GlobalKnownHostsFile": "none",
                   "StrictHostKeyChecking": "yes", "BatchMode": "yes"}  # fmt: skip
        command = ["ssh", "-F", "none", "-i", str(self.folder / "user_key"), "-p", str(self.port)]
        command += [f"-o{word}={value}" for word, value in options.items()]
        done = subprocess.run([*command, "127.0.0.1", "true"], capture_output=True, text=True)
        is_refused = "Host key verification failed" in done.stderr
        assert is_refused == (done.returncode != 0), done.stderr
        return not is_refused


@pytest.fixture(autouse=True)
def without_connections() -> Iterator[None]:
    yield from storages.forget_storages()


@pytest.fixture
def machine(
    service: Callable[[str], str],
    tmp_path: Path,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> Machine:
    """A machine with logs, whose sshd was started with one key."""
    machine = Machine(service("sshd"), tmp_path, started)
    events(tmp_path / "logs" / "a" / FILE, 1, 2)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    machine.start()
    return machine


def known_forms(machine: Machine) -> dict[str, Iterable[str]]:
    """Lines of known_hosts files by which a host is known, in every form."""
    key, port = machine.key(), machine.port
    other = machine.key("other")
    name = f"[127.0.0.1]:{port}"
    return {
        "name": [f"127.0.0.1 {key}"],
        "name and port": [f"{name} {key} a comment"],
        "hashed name": [machine.hashed(f"127.0.0.1 {key}")],
        "hashed name and port": [machine.hashed(f"{name} {key}")],
        "list": [f"host,{name},10.0.0.1\t{key}"],
        "wildcards": [f"[127.0.?.*]:* {key}"],
        "negation of others": [f"*,!10.* {key}"],
        "after others": ["# comment", "", "damaged", f"{name} {other}", f"  {name} {key}"],
        "other key without a port": [f"127.0.0.1 {other}", f"{name} {key}"],
        "others revoked": [f"@revoked * {other}", f"{name} {key}"],
        "authority beside the key": [f"@cert-authority * {other}", f"{name} {key}"],
    }


def unknown_forms(machine: Machine) -> dict[str, tuple[Iterable[str], str]]:
    """Lines of known_hosts files by which a host is not trusted, and what is said."""
    key, port, path = machine.key(), machine.port, machine.known_hosts
    other = machine.key("other")
    name = f"[127.0.0.1]:{port}"
    unknown = f"is not known: connect once with `ssh -p {port} 127.0.0.1` to add it"
    differs = f"differs from line 1 of {path}: this may be an impostor; if the host has a new key, "
    return {
        "nothing": ([], unknown),
        "another port": ([f"[127.0.0.1]:{port + 1} {key}"], unknown),
        "another name": ([machine.hashed(f"host {key}"), "|1|x|y a b", "|1|x a b"], unknown),
        "negation": ([f"*,!127.0.*,!{name} {key}"], unknown),
        "characters in brackets": ([f"[127.0.0.1]:[0-9]* {key}"], unknown),
        "authority": (
            [f"@cert-authority * {key}"],
            f"is not known, and certificates are not supported; add it to known_hosts as `{name} ",
        ),
        "unknown marker": ([f"@trusted * {key}"], unknown),
        "another key": ([f"{name} {other}"], differs),
        "another key, hashed": ([machine.hashed(f"{name} {other}")], differs),
        "another key of this port": ([f"{name} {other}", f"127.0.0.1 {key}"], differs),
        "revoked": ([f"{name} {key}", f"@revoked * {key}"], f"is revoked (line 2 of {path})"),
        "revoked first": ([f"@revoked * {key}", f"* {key}"], f"is revoked (line 1 of {path})"),
    }


def test_a_host_with_a_known_key_is_read(machine: Machine) -> None:
    """In each form that known_hosts files have, as ssh itself accepts it."""
    for form, lines in known_forms(machine).items():
        machine.known_hosts.write_text("".join(f"{line}\n" for line in lines))
        assert machine.problem() == "", form
        assert machine.is_trusted_by_ssh(), form


def test_a_host_without_a_known_key_is_refused_before_a_login(machine: Machine) -> None:
    """Nothing of the user, their key and their password is sent, and one line says what to do."""
    shown = f"the key of [127.0.0.1]:{machine.port}, ssh-ed25519 SHA256:"
    for form, (lines, expected) in unknown_forms(machine).items():
        machine.known_hosts.write_text("".join(f"{line}\n" for line in lines))
        for authority in ("", f"{USER}:secret@127.0.0.1:{machine.port}"):
            line = machine.problem(authority)
            assert line.startswith(shown), form
            assert expected in line, form
        assert machine.logins() == []
        assert not machine.is_trusted_by_ssh(), form


def test_an_impostor_gets_no_password(machine: Machine) -> None:
    """The host itself is sent the password that the address has; another one with its name not."""
    machine.user_key.unlink()
    authority = f"{USER}:secret@127.0.0.1:{machine.port}"
    assert "cannot log in as" in machine.problem(authority)
    assert any("method password" in line for line in machine.logins())
    known = machine.known_hosts.read_text()

    (machine.folder / "sshd.log").unlink()
    machine.start("impostors_key")
    machine.user_key.unlink()
    machine.known_hosts.write_text(known)
    assert " differs from line 1 of " in machine.problem(authority)
    assert machine.logins() == []


def test_a_host_with_several_keys_shows_a_known_one(machine: Machine) -> None:
    """Servers choose a key of the first type that a client asks for."""
    types = {"rsa_key": "rsa", "ecdsa_key": "ecdsa", "host_key": "ed25519"}
    keys = {name: machine.key(name, key_type) for name, key_type in types.items()}
    machine.start(*keys)
    for name, key in keys.items():
        machine.known_hosts.write_text(f"127.0.0.1 {key}\n")
        assert machine.problem() == "", name
    other = machine.key("other_rsa", "rsa")
    machine.known_hosts.write_text(f"127.0.0.1 {other}\n127.0.0.1 {keys['ecdsa_key']}\n")
    machine.start("rsa_key", "ecdsa_key")
    machine.known_hosts.write_text(f"* {other}\n* {machine.key('other_ecdsa', 'ecdsa')}\n")
    assert " differs from line 2 of " in machine.problem()


def test_the_configuration_of_ssh_is_followed(machine: Machine) -> None:
    """Names, ports, users, keys, aliases and files with the keys of hosts, also in other files."""
    home = machine.folder / "home"
    (home / "known to training").write_text(f"alias {machine.key()}\n")
    machine.known_hosts.unlink()
    machine.user_key.rename(home / "training_key")
    (home / ".ssh" / "conf.d").mkdir()
    (home / ".ssh" / "conf.d" / "1").write_text(
        f'User {USER}\nHost *\n  UserKnownHostsFile ~/none "%d/known to %n"\n'
        "  IdentityFile ~/none\n  IdentityFile ~/%n_key\n"
    )
    machine.config.write_text(
        f"Host other\n  User nobody\nHost training !other\n  Include conf.d/*\n  User nobody\n"
        f"  HostName 127.0.0.1\n  Port {machine.port}\n  HostKeyAlias alias\n  ProxyJump none\n"
        f"Host *\n  Port 1\n  ProxyCommand touch {machine.folder}/touched\n"
    )
    assert machine.problem("training") == ""
    assert not (machine.folder / "touched").exists()


def test_an_address_has_the_last_word(machine: Machine) -> None:
    """Its user and its port count before those of the configuration."""
    machine.config.write_text("Host host\n  HostName 127.0.0.1\n  User nobody\n  Port 1\n")
    assert "port 1 " in machine.problem("host")
    assert machine.problem(f"host:{machine.port}").startswith("cannot log in as nobody: ")
    assert machine.problem(f"{USER}@host:{machine.port}") == ""


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ProxyJump jump", "ProxyJump"),
        ("ProxyCommand touch TOUCHED", "ProxyCommand"),
        ("RevokedHostKeys ~/revoked", "RevokedHostKeys"),
        ("Match exec touch\\ TOUCHED", "Match exec"),
        ('Match exec "touch TOUCHED" host 127.*', "Match exec"),
    ],
)
def test_what_needs_another_program_is_refused(machine: Machine, text: str, word: str) -> None:
    """One line names it and the host; nothing is executed, and the host is not connected to."""
    touched = machine.folder / "touched"
    text = text.replace("TOUCHED", str(touched))
    machine.config.write_text(f"Host other\nHost *\n {text}\n")
    assert machine.problem() == (
        f"127.0.0.1 is configured with {word} (line 3 of {machine.config}), which only ssh itself "
        "can use; forward a port with `ssh -L`"
    )
    assert "paramiko" not in machine.log()
    assert not touched.exists()


def test_other_hosts_may_need_another_program(machine: Machine) -> None:
    """Only the host's own blocks count."""
    machine.config.write_text(
        "Host other\n ProxyJump jump\n RevokedHostKeys x\n"
        "Match host other exec false\n User nobody\n"
    )
    assert machine.problem() == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Port 0", "'0' is not a valid port of 127.0.0.1; expected 1 to 65535"),
        ("HostName", "HostName has no value (line 1 of CONFIG)"),
        ("HostName 'a", "a quote is not closed (line 1 of CONFIG)"),
        ("IdentityFile /a/%z", "'z' in '/a/%z' of ssh's configuration has no value"),
        (
            "IdentityFile ${NO_SUCH}/a",
            "'NO_SUCH' in '${NO_SUCH}/a' of ssh's configuration has no value",
        ),
        ("Include config", "CONFIG is included too often"),
        ("Include /*/*/*/x", "'/*/*/*/x' has too many wildcards (line 1 of CONFIG)"),
        pytest.param(
            "Include /proc/self/mem",
            "cannot read /proc/self/mem: Input/output error",
            marks=pytest.mark.skipif(not MEMORY.exists(), reason=f"there is no {MEMORY}"),
        ),
    ],
)
def test_a_configuration_that_cannot_be_followed_is_named(
    machine: Machine, text: str, expected: str
) -> None:
    """In one line, at once."""
    machine.config.write_text(f"{text}\nPort {machine.port}\n")
    assert machine.problem("127.0.0.1") == expected.replace("CONFIG", str(machine.config))


def test_a_key_with_a_passphrase_is_not_asked_for(
    machine: Machine, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says what to do: it works if an agent has the key."""
    agent = machine.folder / "agent"
    started.insert(0, subprocess.Popen(["ssh-agent", "-D", "-a", str(agent)]))
    until(agent.exists)
    with monkeypatch.context() as patch:
        patch.setenv("SSH_AUTH_SOCK", str(agent))
        subprocess.run(["ssh-add", "-q", str(machine.user_key)], check=True)
        command = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(machine.user_key)]
        subprocess.run(command, check=True)
        assert machine.problem() == ""
    line = machine.problem()
    assert line.startswith(f"cannot log in as {USER}: ")
    assert "encrypted" in line
    assert line.endswith("; a key with a passphrase must be in the agent, by `ssh-add`")


def test_a_question_of_the_host_is_not_passed_on(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second factor, for example: nobody may be there who could answer."""
    import paramiko

    class Asking(paramiko.ServerInterface):
        def get_allowed_auths(self, username: str) -> str:
            return "publickey,keyboard-interactive"

        def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
            return int(paramiko.AUTH_PARTIALLY_SUCCESSFUL)

        def check_auth_interactive(self, username: str, submethods: str) -> object:
            return paramiko.InteractiveQuery("Second factor", "", "Code:")

    def answer() -> None:
        transport = paramiko.Transport(listening.accept()[0])
        transport.add_server_key(paramiko.Ed25519Key(filename=str(machine.folder / "host_key")))
        transport.start_server(server=Asking())

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, daemon=True).start()
        line = machine.problem(f"127.0.0.1:{listening.getsockname()[1]}")
    assert line.startswith(f"cannot log in as {USER}: more than a key is asked for; ")
    assert capsys.readouterr().out == ""


def test_refused_hosts_leave_no_connections(machine: Machine) -> None:
    """Each scan tries again, so that an added key is noticed; what it began is ended."""
    known = machine.known_hosts.read_text()
    machine.known_hosts.write_text("")
    watched = Watched(machine.uri())
    assert watched.steps("a") == []
    num_threads = threading.active_count()
    for _ in range(5):
        assert watched.steps("a") == []
    assert len([line for line in watched.problems if "is not known" in line]) == 1
    until(lambda: threading.active_count() <= num_threads)
    machine.known_hosts.write_text(known)
    assert watched.steps("a") == [1, 2]


def test_a_command_says_why_a_host_is_refused(machine: Machine) -> None:
    """In one line, and its status is that of an error."""
    machine.known_hosts.write_text("")
    command = [sys.executable, "-m", "tbcore", "ls", machine.uri()]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    [line] = done.stderr.splitlines()
    assert "is not known: connect once with `ssh -p " in line
