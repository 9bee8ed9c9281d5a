"""The mirror in which a plugin may write beside traces, and the search for them; without xprof."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hosted import FAKE, Installed, write_trace

from tbcore_tensorboard import mirror, plugin
from tbcore_tensorboard.mirror import Mirror, folders_of
from tbcore_testing import TbcoreClient, make_client, write_run

Hosting = Callable[..., TbcoreClient]


def traces(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*.pb"))


def made(logdir: Path, *runs: str) -> Mirror:
    """A mirror of a server with these runs."""
    return Mirror(str(logdir), str(logdir) + "-mirror", lambda _: [(run, 0.0) for run in runs])  # type: ignore[arg-type]


def test_traces_are_found_at_any_depth(tmp_path: Path) -> None:
    """Of programs that write no run, too."""
    logdir = tmp_path / "logs"
    for above in ("", "a/b", "a/b/c/d/e"):
        write_trace(logdir / above)
    mirrored = made(logdir)

    assert mirrored.refresh() == ""

    found = traces(Path(mirrored.folder))
    assert found == traces(logdir)
    assert len(found) == 3
    assert all((Path(mirrored.folder) / path).is_symlink() for path in found)


def test_the_search_has_an_end(tmp_path: Path, limits: Callable[..., None]) -> None:
    """Not in the first levels, and not for runs; a link to a folder above ends."""
    limits(mirror, MAX_FOLDERS=20)
    logdir = tmp_path / "logs"
    for index in range(30):
        (logdir / f"{index:02}" / "x" / "y" / "z").mkdir(parents=True)
    write_trace(logdir / "29" / "x")
    write_trace(logdir / "29" / "x" / "y" / "z")
    (logdir / "29" / "loop").symlink_to(logdir)
    mirrored = made(logdir)
    mirrored.refresh()
    shallow = ["29/x/exp/plugins/profile/2026_01_01/machine.xplane.pb"]
    assert traces(Path(mirrored.folder)) == []  # "exp" is in the third level.
    made(logdir, "29/x/exp").refresh()
    assert traces(Path(mirrored.folder)) == shallow
    assert len([*folders_of(str(logdir))]) < 200


def test_a_link_costs_no_other_folder_and_does_not_multiply_them(tmp_path: Path) -> None:
    """A run may be called `plugins`, too."""
    write_trace(tmp_path / "logs" / "a" / "plugins" / "run")
    (tmp_path / "elsewhere" / "b").mkdir(parents=True)
    for name, target in {
        "self": "self",
        "all": "..",
        "a/up": "../a",
        "out": "../elsewhere",
    }.items():
        (tmp_path / "logs" / name).symlink_to(target)
    found = {
        str(Path(each).relative_to(tmp_path / "logs"))
        for each in folders_of(str(tmp_path / "logs"))
    }
    assert found == {".", "a", "a/plugins", "a/plugins/run", "a/plugins/run/exp", "out", "out/b"}


@pytest.mark.parametrize("above", ["", "a/b/c/d"])
def test_a_tab_has_data_if_there_are_files_for_it(
    hosting: Hosting, tbcore_logdir: Path, above: str
) -> None:
    """Where no run is, and though no run changes; `projector` is a plugin that TensorBoard has."""
    pytest.importorskip("tensorboard")
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5]})
    client = hosting()
    assert client.get("data/plugins_listing").json()["tb-projector"] is False
    folder = tbcore_logdir / above / "embeddings"
    folder.mkdir(parents=True)
    (folder / "projector_config.pbtxt").touch()
    client.reload()
    assert client.get("data/plugins_listing").json()["tb-projector"] is True
    assert client.get("data/status").json()["other_files"] == []


def test_a_profile_needs_a_trace_that_xprof_reads(
    hosting: Hosting, installed: Installed, tbcore_logdir: Path
) -> None:
    """What else is in a folder counts as shown only if there is such a trace, too."""
    installed.add("profile", FAKE, "Loader")
    trace = write_trace(tbcore_logdir)
    before = write_trace(tbcore_logdir / "before")
    before.rename(before.with_name("machine.trace"))
    client = hosting()

    def shown() -> tuple[bool, list[int]]:
        files = client.get("data/status").json()["other_files"]
        is_active = client.get("data/plugins_listing").json()["tb-profile"]
        return is_active, [each["num_files"] for each in files]

    assert shown() == (True, [2])
    trace.unlink()
    client.reload()
    assert shown() == (False, [3])


def test_files_of_several_log_directories_are_not_read(tbcore_logdir: Path) -> None:
    """Nor those in an object store: the process reads below one directory. The tab says so."""
    pytest.importorskip("tensorboard")
    run = write_run(tbcore_logdir, "train", scalars={"loss": [0.5]}).parent
    (run / "projector_config.pbtxt").touch()
    plugins = {"tensorboard": plugin}
    client = make_client("", logdir_spec=f"{tbcore_logdir},{tbcore_logdir}-2", plugins=plugins)
    fault = client.get("data/plugin/tb-projector/state").json()["fault"]
    assert fault.endswith(": it needs one --logdir on this machine")
    card = client.get("tb-projector/tbcore-tab.html", headers={"accept": "text/html"})
    assert (card.status_code, fault in card.text, "<button" in card.text) == (503, True, False)
