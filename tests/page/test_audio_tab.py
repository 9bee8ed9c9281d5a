"""The audio tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbcore_testing import EventFileWriter, summaries, write_run

NUM_STEPS = 14
"""More than the 10 steps that the server samples by default."""

HELPERS = """
globalThis.clips = {
  cell: (tag, run) => tb.card(tag)?.querySelector(`.tb-step-cell[aria-label="${run}"]`),
  players: (tag, run) => [...(clips.cell(tag, run)?.querySelectorAll('audio') ?? [])],
  text: (tag, run) => clips.cell(tag, run)?.textContent ?? '',
  // The address of a clip has its index in the series.
  index: (tag, run) => clips.players(tag, run).map(
    (player) => Number(new URL(player.src).searchParams.get('index'))),
};
"""


def clip(seconds: float) -> bytes:
    return summaries.wav(np.sin(np.arange(int(8000 * seconds)) / 4) / 2)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logdir")
    points = [(10 * i, clip(0.1 + 0.1 * i)) for i in range(NUM_STEPS)]
    write_run(logdir, "train", audio={"speech": points})
    write_run(logdir, "eval", audio={"speech": points[:1]})
    with EventFileWriter(logdir / "batch" / "a.tfevents") as writer:
        both = [clip(60.0), clip(60.0)]
        batch = summaries.audio("batch", both, labels=["<b>low</b>", "high"], as_tensor=True)
        writer.add_summary(7, batch)
        noise = summaries.audio("broken", b"no sound", content_type="audio/wav")
        writer.add_summary(7, noise)
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def wait_for_clips(page: Any, tag: str, run: str, indices: list[int]) -> None:
    """Waits until a cell has players for exactly these items of the series."""
    page.wait_for_function(
        "([tag, run, indices]) => String(clips.index(tag, run)) === String(indices)",
        arg=[tag, run, indices],
    )


def num_loaded(profile: Any) -> int:
    return sum("individualAudio" in url for url in profile.requested_urls)


def play(page: Any, tag: str, run: str, place: int = 0) -> None:
    """Starts a clip, and waits until it is playing."""
    page.evaluate(
        """async ([tag, run, place]) => {
          const player = clips.players(tag, run)[place];
          player.muted = true;
          await player.play();
        }""",
        [tag, run, place],
    )
    page.wait_for_function(
        "([tag, run, place]) => clips.players(tag, run)[place].currentTime > 0",
        arg=[tag, run, place],
    )


def test_a_clip_plays_and_is_not_loaded_before(open_page: Any, profile: Any) -> None:
    page = open_page("#audio")
    wait_for_clips(page, "speech", "train", [NUM_STEPS - 1])
    wait_for_clips(page, "batch", "batch", [0, 0])
    assert page.evaluate("() => clips.text('speech', 'train')").endswith("1.4 s")
    assert page.evaluate("() => clips.text('batch', 'batch')").count("1m 00s") == 2
    assert num_loaded(profile) == 0
    play(page, "speech", "train")
    assert num_loaded(profile) >= 1
    duration = page.evaluate("() => clips.players('speech', 'train')[0].duration")
    assert duration == pytest.approx(1.4, abs=0.01)


def test_one_clip_plays_at_a_time(open_page: Any) -> None:
    """It stops when another clip starts and when the tab is closed."""
    page = open_page("#audio&query=batch")
    wait_for_clips(page, "batch", "batch", [0, 0])
    play(page, "batch", "batch", 0)
    play(page, "batch", "batch", 1)
    paused = page.evaluate("() => clips.players('batch', 'batch').map((player) => player.paused)")
    assert paused == [True, False]
    page.evaluate("() => { globalThis.playing = clips.players('batch', 'batch')[1]; }")
    page.get_by_role("button", name="more", exact=True).click()
    page.get_by_role("tab", name="Scalars", exact=True).click()
    page.wait_for_function("() => !playing.isConnected && playing.paused")


def test_all_steps_can_be_reached(open_page: Any) -> None:
    """By the keys of the slider; a link restores the step."""
    page = open_page("#audio&tagQuery=speech")
    slider = page.get_by_role("slider", name="Step of speech")
    slider.press("Home")
    for i in range(NUM_STEPS):
        wait_for_clips(page, "speech", "train", [i])
        wait_for_clips(page, "speech", "eval", [0])
        slider.press("ArrowRight")
    page.get_by_role("slider", name="Step of all clips").press("Home")
    page.wait_for_function("() => location.hash.includes('step=0')")
    again = open_page(page.evaluate("() => location.hash"))
    wait_for_clips(again, "speech", "train", [0])


def test_labels_are_text(open_page: Any) -> None:
    page = open_page("#audio&tagQuery=batch")
    page.wait_for_function("() => clips.text('batch', 'batch').includes('<b>low</b> · 1 of 2')")
    assert "high · 2 of 2" in page.evaluate("() => clips.text('batch', 'batch')")


def test_new_clips_appear_and_do_not_stop_one_that_plays(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """A selected step stays, and so does its player."""
    logdir = tmp_path / "live"
    with EventFileWriter(logdir / "run" / "a.tfevents") as writer:
        for step in (0, 1):
            writer.add_summary(step, summaries.audio("a", clip(3.0)))
            writer.add_summary(step, summaries.audio("b", clip(0.5)))
        writer.flush()
        server = serve(logdir)
        page = profile.open(server.url, "#audio&audio.at=a:0")
        wait_for_clips(page, "a", "run", [0])
        wait_for_clips(page, "b", "run", [1])
        play(page, "a", "run")
        page.evaluate("() => { globalThis.playing = clips.players('a', 'run')[0]; }")
        writer.add_summary(2, summaries.audio("b", clip(0.5)))
        writer.flush()
        wait_for_clips(page, "b", "run", [2])
        assert page.evaluate("() => playing.isConnected && playing.currentTime > 0")


def test_a_newer_clip_does_not_replace_one_that_plays(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Otherwise a job that logs a clip every few seconds would interrupt the one being played."""
    with EventFileWriter(tmp_path / "live" / "run" / "a.tfevents") as writer:
        for tag in ("a", "b"):
            writer.add_summary(0, summaries.audio(tag, clip(60.0)))
        writer.flush()
        server = serve(tmp_path / "live")
        page = profile.open(server.url, "#audio")
        for tag in ("a", "b"):
            wait_for_clips(page, tag, "run", [0])
        play(page, "a", "run")
        for tag in ("a", "b"):
            writer.add_summary(1, summaries.audio(tag, clip(60.0)))
        writer.flush()
        wait_for_clips(page, "b", "run", [1])
        page.wait_for_function(  # so does the cell of a
            "() => performance.getEntriesByType('resource')"
            ".filter(({ name }) => /audio\\/step.*tag=a/.test(name)).length > 1"
        )
        page.evaluate("() => tb.frame()")
        wait_for_clips(page, "a", "run", [0])
        assert page.evaluate("() => !clips.players('a', 'run')[0].paused")
        play(page, "b", "run")  # stops the other clip, which may now be replaced
        wait_for_clips(page, "a", "run", [1])
        assert page.evaluate("() => !clips.players('b', 'run')[0].paused")
        page.evaluate("() => clips.players('b', 'run')[0].pause()")
        writer.add_summary(2, summaries.audio("b", clip(1.0)))
        writer.flush()
        wait_for_clips(page, "b", "run", [2])


def mp3(num_frames: int) -> bytes:
    """Silence as MP3: frames of 128 kbit/s at 44,100 Hz."""
    return (b"\xff\xfb\x90\xc4" + bytes(413)) * num_frames


def ogg_page(packets: list[bytes], number: int, position: int, flags: int) -> bytes:
    lacing = b"".join(b"\xff" * (len(one) // 255) + bytes([len(one) % 255]) for one in packets)
    head = struct.pack("<4sBBqIII", b"OggS", 0, flags, position, 1, number, 0)
    page = head + bytes([len(lacing)]) + lacing + b"".join(packets)
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    return page[:22] + struct.pack("<I", crc) + page[26:]


def opus(num_frames: int) -> bytes:
    """Silence as Ogg Opus: frames of 20 ms."""
    head = struct.pack("<8sBBHIhB", b"OpusHead", 1, 1, 0, 48000, 0, 0)
    tags = struct.pack("<8sI1sI", b"OpusTags", 1, b"t", 0)
    sound = ogg_page([b"\xf8\xff\xfe"] * num_frames, 2, 960 * num_frames, 4)
    return ogg_page([head], 0, 0, 2) + ogg_page([tags], 1, 0, 0) + sound


def flac(num_frames: int) -> bytes:
    """Silence as FLAC: frames of 4,096 equal samples at 44,100 Hz."""

    def crc(data: bytes, polynomial: int, bits: int) -> int:
        rest = 0
        for byte in data:
            rest ^= byte << (bits - 8)
            for _ in range(8):
                rest = (rest << 1 ^ (polynomial if rest >> (bits - 1) else 0)) & ((1 << bits) - 1)
        return rest

    format_bits = 44100 << 44 | 15 << 36 | 4096 * num_frames
    info = struct.pack(">HH", 4096, 4096) + bytes(6) + format_bits.to_bytes(8, "big") + bytes(16)
    stream = b"fLaC\x80\0\0\x22" + info
    for number in range(num_frames):
        head = bytes([0xFF, 0xF8, 0xC9, 0x08, number])
        frame = head + bytes([crc(head, 0x07, 8)]) + bytes(3)
        stream += frame + crc(frame, 0x8005, 16).to_bytes(2, "big")
    return stream


def recorded_by_the_browser(page: Any) -> bytes:
    """Sound as WebM with Opus, which only the browser can write."""
    text = page.evaluate(
        """async () => {
          const context = new AudioContext();
          const tone = context.createOscillator();
          const target = context.createMediaStreamDestination();
          tone.connect(target);
          tone.start();
          const recorder = new MediaRecorder(target.stream, { mimeType: 'audio/webm;codecs=opus' });
          const parts = [];
          recorder.ondataavailable = ({ data }) => parts.push(data);
          const done = new Promise((resolve) => (recorder.onstop = resolve));
          recorder.start();
          await new Promise((resolve) => setTimeout(resolve, 1500));
          recorder.stop();
          await done;
          const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
          return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
        }"""
    )
    return base64.b64decode(text)


def test_every_format_is_played(open_page: Any, serve: Any, profile: Any, tmp_path: Path) -> None:
    """The logged content type decides; a downloaded file has its extension."""
    maker = open_page("#audio")
    maker.mouse.click(700, 450)  # browsers allow sound only after a gesture
    sounds = {
        "mp3": (mp3(80), "audio/mpeg", ".mp3"),
        "ogg": (opus(100), "audio/ogg; codecs=opus", ".ogg"),
        "flac": (flac(22), "audio/flac", ".flac"),
        "webm": (recorded_by_the_browser(maker), "audio/webm", ".webm"),
    }
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for tag, (data, content_type, _) in sounds.items():
            writer.add_summary(0, summaries.audio(tag, data, content_type=content_type))
        # A tensor has no content type; the browser detects the format.
        writer.add_summary(0, summaries.string_tensor("tensor", [mp3(80)], plugin_name="audio"))
    server = serve(tmp_path)
    page = profile.open(server.url, "#audio")
    for tag in (*sounds, "tensor"):
        wait_for_clips(page, tag, "run", [0])
        play(page, tag, "run")
    for tag, (data, _, ending) in sounds.items():
        with page.expect_download() as download:
            page.get_by_role("link", name=f"Download clip of run, {tag}").click()
        assert download.value.suggested_filename == f"run_{tag}_step0{ending}"
        assert Path(download.value.path()).read_bytes() == data
