"""Log directories that the suite writes, each with one difficulty of real logs.

Most types of data have two *forms* on disk: a field of its own, such as `histo`, and a tensor.
Functions that write several values get a *tag format*, a format string with `{}` for the tag that
the suite gives to each value, such as `loss/simple`. So "{}" leaves the tags as they are.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError

from tbcore import Claim, Claims, Kind
from tbcore.engine import Event, Summary, matches
from tbcore_testing import graphs, summaries
from tbcore_testing.conformance.odd_names import INHERITED_NAMES, ODD_RUNS, ODD_TAGS
from tbcore_testing.in_thread import Server
from tbcore_testing.other_logs import use_lines
from tbcore_testing.writer import EventFileWriter

NUM_TAGS_IN_MANY = 10_000
"""Number of tags of each type of data in the log directory `many`."""
MAX_EXTRA_TAGS = 20
"""Maximum number of tags to take from the logs that the plugin's author supplied. The suite writes
the first value of each of these tags into its own log directories."""

KNOWN_PLUGIN_NAMES = {
    *("", "scalars", "histograms", "images", "audio", "text", "pr_curves", "hparams", "graphs"),
    *("graph_keras_model", "graph_tagged_run_metadata"),
    *("graph_run_metadata", "graph_run_metadata_graph"),
}
"""Plugin names in metadata for which the suite writes valid values."""

GUESSED_FILE = "guessed"
"""What stands for each `*` and `?` in names of files that the suite writes for a claim of files.

Their content has no format, so the plugin may reject it.
"""

GUESSED_TAG_ENDS = ("number", "vector", "texts", "no tensor", "NaN", "one NaN")
"""Ends of the tags of guessed values.

A value is guessed if the suite does not know the data format of the plugin that its metadata names.
"""

ODD_NUMBERS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 3e38, -3e38, 1e-45, 1.0]


@dataclass
class SampleLogs:
    """A log directory with the index of its data."""

    name: str
    logdir: Path
    guessed_tags: Sequence[str] = ()
    """Substrings that identify the tags of guessed values (see GUESSED_TAG_ENDS). The plugin may
    reject these values."""
    _num_added: int = 0

    def __post_init__(self) -> None:
        server = Server(self.logdir, plugins=())
        if self.name == "other" and server._loader is not None:
            use_lines(server._loader)
        self.board, self.multiplexer = server.board, server.multiplexer
        self.reload = server.load_once
        self.reload()

    def add_step(self) -> None:
        """Writes one more value, as a running program does, and reads it."""
        # The writer appends to the file that `_plain` wrote, where the last step is 5.
        with EventFileWriter(self.logdir / "train" / "events.out.tfevents.1") as writer:
            self._num_added += 1
            writer.add_scalar("accuracy", 0.5, 5 + self._num_added)
        self.reload()

    def pairs(self, claims: Claims, limit: int) -> list[tuple[str, str]]:
        """(Run, tag) pairs that the claims match.

        One pair for each tag, or for `limit` evenly spaced tags if there are more tags. In
        addition, one pair for each run that is in none of these pairs.
        """
        tags = self.multiplexer.tags(claims)
        run_of: dict[str, str] = {}
        for run in tags:
            for tag in tags[run]:
                run_of.setdefault(tag, run)
        pairs = [(run, tag) for tag, run in run_of.items()]
        if len(pairs) > limit:
            pairs = [pairs[i] for i in np.linspace(0, len(pairs) - 1, limit).astype(int)]
        covered = {run for run, _ in pairs}
        return pairs + [(run, tags[run][0]) for run in tags if run not in covered and tags[run]]


@dataclass(frozen=True)
class ExtraData:
    """Data to write in addition to the usual types, for plugins with formats of their own."""

    claims: Claims = (Claim(),)
    """The claims of all plugins under test. The default, an empty claim, matches everything."""
    logdir: Path | None = None
    """Folder with event files of the plugin's author, or None."""

    @property
    def plugin_names(self) -> list[str]:
        """Plugin names in the claims for which the suite guesses values (see GUESSED_TAG_ENDS)."""
        return sorted({claim.plugin_name or "" for claim in self.claims} - KNOWN_PLUGIN_NAMES)

    @property
    def guessed_tags(self) -> list[str]:
        """Substrings that identify the tags of guessed values, and guessed files."""
        tags = [f"{name}/{end}" for name in self.plugin_names for end in GUESSED_TAG_ENDS]
        return [*tags, *([GUESSED_FILE] if self.patterns else [])]

    @property
    def patterns(self) -> list[str]:
        """The patterns of files in the claims."""
        return sorted({claim.files for claim in self.claims if claim.files is not None})

    def write_files(self, run: Path) -> None:
        """Writes a file for each pattern into a run's folder, and those of the author's logs."""
        for pattern in self.patterns:
            pattern = pattern.removeprefix("**/")
            guessed = run / re.sub(r"[*?]", GUESSED_FILE, pattern)
            guessed.parent.mkdir(parents=True, exist_ok=True)
            guessed.write_bytes(b"guessed\xff\n")
            own = [] if self.logdir is None else sorted(self.logdir.rglob("*"))
            for file in (file for file in own if file.is_file() and file.match(pattern)):
                copy = run / Path(*file.parts[-len(Path(pattern).parts) :])
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)

    def write_tags(self, file: Path) -> None:
        """Writes what an event file has again, with tags that the claims of tags match."""
        of_tags = {claim.tags: replace(claim, tags=None) for claim in self.claims if claim.tags}
        if not of_tags:
            return
        with EventFileWriter(f"{file}.tags", metadata="every") as writer:
            for event in _events_in(file):
                for value in event.summary.value:
                    for pattern, claim in of_tags.items():
                        if _is_claimed(value, [claim]):
                            tag = str(pattern).replace("?", "x").replace("*", value.tag)
                            writer.add_summary(event.step, _renamed(value, tag))

    def values(self) -> list[Summary.Value]:
        """The first value of each tag in the author's logs, up to MAX_EXTRA_TAGS tags."""
        found: dict[str, Summary.Value] = {}
        files = [] if self.logdir is None else sorted(self.logdir.rglob("*tfevents*"))
        events = (event for file in files for event in _events_in(file))
        for value in (value for event in events for value in event.summary.value):
            found.setdefault(value.tag, value)
            if len(found) == MAX_EXTRA_TAGS:
                break
        return list(found.values())


def write_logs(name: str, folder: Path, extra: ExtraData) -> SampleLogs:
    """Writes the log directory with this name into a folder, and reads it."""
    logdir = folder / name
    logdir.mkdir()
    WRITERS[name](logdir, extra)
    event_files = [*logdir.rglob("*tfevents*")]
    for file in event_files:
        extra.write_tags(file)
    for run in {file.parent for file in event_files}:
        extra.write_files(run)
    logs = SampleLogs(name, logdir, extra.guessed_tags)
    if name == "gone":
        shutil.rmtree(logdir)
    return logs


def _no_data(logdir: Path, extra: ExtraData) -> None:
    """An empty directory."""


def _plain(logdir: Path, extra: ExtraData) -> None:
    """Two sessions and their experiment, with every type of data at six steps, in both forms."""
    own_values = extra.values()
    with EventFileWriter(logdir / "events.out.tfevents.1") as writer:
        domains: dict[str, summaries.Domain] = {
            "lr": (1e-4, 0.1),
            "optimizer": ["adam", "sgd"],
            "nesterov": [True, False],
        }
        writer.add_summary(0, summaries.experiment(domains, ["loss/simple", "accuracy"]))
    for index, run in enumerate(("train", "deep/eval")):
        with EventFileWriter(logdir / run / "events.out.tfevents.1") as writer:
            _write_session(writer, index, Path(run).name)
            for step in range(6):
                values = [*_every_type("{}", step), *_guessed_values(extra.plugin_names, "{}")]
                writer.add_summary(step, *values, *own_values)
                writer.add_scalar("accuracy", step / 10 + index / 20, step)
            writer.add_summary(6, summaries.session_end())
    if extra.logdir is not None:
        shutil.copytree(extra.logdir, logdir / "given")


def _numbers(logdir: Path, extra: ExtraData) -> None:
    """NaN, infinities, extreme steps and times."""
    for index, run in enumerate(("train", "eval")):
        with EventFileWriter(logdir / run / "events.out.tfevents.1") as writer:
            hparams = {"lr": math.nan, "momentum": math.inf, "decay": -math.inf, "layers": 2.0}
            writer.add_summary(0, summaries.session_start(hparams, start=math.nan))
            for step, value in enumerate(ODD_NUMBERS):
                _write_numbers(writer, "{}", value, step)
                _write_numbers(writer, "all NaN/{}", math.nan, step)
            for step, wall_time in ((2**62, math.nan), (-(2**62), math.inf), (0, -1.0)):
                writer.add_scalar("extreme", 0.5, step, wall_time=wall_time)
                writer.add_histogram("extreme histogram", [0.5], step, wall_time=wall_time)
                writer.add_image("extreme image", summaries.png(), step, wall_time=wall_time)
                writer.add_audio("extreme audio", summaries.wav(), step, wall_time=wall_time)
                writer.add_text("extreme text", "text", step, wall_time=wall_time)
            for name in extra.plugin_names:
                writer.add_tensor(f"{name}/NaN", 3 * [math.nan], index, plugin_name=name)
                writer.add_tensor(f"{name}/one NaN", math.nan, index, plugin_name=name)


def _write_numbers(writer: EventFileWriter, tag_format: str, value: float, step: int) -> None:
    tag = tag_format.format
    writer.add_scalar(tag("scalar"), value, step)
    writer.add_scalar(tag("tensor"), value, step, dtype="float64")
    histogram = Summary.Value(tag=tag("histogram"))
    histo = histogram.histo
    histo.min, histo.max, histo.num, histo.sum, histo.sum_squares = 5 * (value,)
    histo.bucket_limit.extend([0.0, 1.0, value])
    histo.bucket.extend([1.0, value, 2.0])
    rows = [[0.0, 1.0, 1.0], [1.0, value, value]]
    table = summaries.tensor(
        tag("histogram tensor"), rows, dtype="float64", plugin_name="histograms"
    )
    curve = summaries.tensor(tag("curve"), np.full((6, 3), value), plugin_name="pr_curves")
    writer.add_summary(step, histogram, table, curve)


def _names(logdir: Path, extra: ExtraData) -> None:
    """Runs and tags with names that are markup, paths, quotes or inherited, or very long."""
    write_inherited_names(logdir, extra)
    own_values = extra.values()
    for run_index, run in enumerate(ODD_RUNS):
        with EventFileWriter(logdir / run / "events.out.tfevents.1") as writer:
            _write_session(writer, run_index, run)
            # The first run has all tags. Each tag is also in one of the other runs.
            for tag_index, tag in enumerate(ODD_TAGS):
                if run_index and tag_index % (len(ODD_RUNS) - 1) != run_index - 1:
                    continue
                # One value has exactly this tag. All others have the tag with a suffix, such as
                # `loss/simple`. Braces in the tag are doubled, as in any format string.
                tag_format = tag.replace("{", "{{").replace("}", "}}") + "{}"
                values = [summaries.scalar(tag, 0.5), *_every_type(tag_format, 0)]
                values += _guessed_values(extra.plugin_names, tag_format)
                values += [_renamed(value, f"{tag}{value.tag}") for value in own_values]
                for step in range(2):
                    writer.add_summary(step, *values)


def write_inherited_names(logdir: Path, extra: ExtraData) -> None:
    """Writes a run for each inherited name, with tags and sections of tags that have such names.

    Every second run has nothing but what is logged once, so that most plugins list no tags for it.
    """
    valid = [*_every_type("{}", 0), *extra.values()]
    values = [*valid, *_guessed_values(extra.plugin_names, "{}")]
    for run_index, run in enumerate(INHERITED_NAMES):
        with EventFileWriter(logdir / run / "events.out.tfevents.1") as writer:
            _write_session(writer, run_index, run)
            for index, value in enumerate(values if run_index % 2 == 0 else []):
                tag = INHERITED_NAMES[(run_index // 2 + index) % len(INHERITED_NAMES)]
                writer.add_summary(0, _renamed(value, f"{tag}/{value.tag}"))
                if index < len(valid):
                    writer.add_summary(0, _renamed(value, tag))


def _many(logdir: Path, extra: ExtraData) -> None:
    """Ten thousand tags of each type of data. The two forms of a type alternate."""
    own_values = [*_guessed_values(extra.plugin_names, "{}"), *extra.values()[:3]]
    forms = [
        [v for v in (*_every_type("{}", 0, form=form), *own_values) if _is_claimed(v, extra.claims)]
        for form in (0, 1)
    ]
    with EventFileWriter(logdir / "train" / "events.out.tfevents.1") as writer:
        _write_session(writer, 0, "train")
        for tag_index in range(NUM_TAGS_IN_MANY):
            values = [
                _renamed(value, f"group {tag_index // 100}/{value.tag} {tag_index}")
                for value in forms[tag_index % 2]
            ]
            writer.add_summary(tag_index % 10, *values)


def _odd(logdir: Path, extra: ExtraData) -> None:
    """Values that do not match the plugin that their metadata names, empty values, and damage."""
    names = sorted({*KNOWN_PLUGIN_NAMES, *extra.plugin_names} - {""})
    # Some writers log metadata with every value. In the other logs, only the first value has it.
    with EventFileWriter(logdir / "train" / "events.out.tfevents.1", metadata="every") as writer:
        for step in range(2):
            for name in names:
                empty = np.zeros((0, 3))
                for description, value in {
                    "number": summaries.tensor("", 1.0, plugin_name=name),
                    "cube": summaries.tensor("", np.ones((2, 2, 2)), plugin_name=name),
                    "no rows": summaries.tensor(
                        "", empty, plugin_name=name, plugin_content=b"\xff"
                    ),
                    "complex": summaries.tensor("", [1j], dtype="complex64", plugin_name=name),
                    "quantized": summaries.tensor("", [1], dtype="qint8", plugin_name=name),
                    "texts": summaries.string_tensor("", [b"a", b"\xff"], plugin_name=name),
                    "no text": summaries.string_tensor("", [], plugin_name=name),
                    "no tensor": summaries.metadata_only("", name, b"\x12\xff"),
                }.items():
                    value.tag = f"{name}/{description}"
                    writer.add_summary(step, value)
            short = Summary.Value(tag="short histogram")
            short.histo.bucket.append(1.0)
            not_an_image = summaries.image("no image", b"no image", width=-1, height=1 << 30)
            writer.add_summary(step, short, not_an_image, summaries.audio("no audio", b""))
            writer.add_summary(step, Summary.Value(tag=""), Summary.Value(tag="empty"))
        for tag in ("_hparams_/experiment", "_hparams_/session_start_info"):
            writer.add_summary(0, summaries.metadata_only(tag, "hparams", b"\x1a\xff\xff\xff\x01"))
        writer.add_graph(b"\x0a\xff\xff no graph")
        writer.add_run_metadata("step", b"\x0a\xff\xff nothing")
        writer.add_record(b"no event", damage="payload")
        writer.add_record(b"the rest of a record is missing", damage="torn")


def _write_session(writer: EventFileWriter, index: int, name: str) -> None:
    """Writes hyperparameters, a graph, run metadata and a Keras model, which are logged once."""
    hparams = {"lr": 0.1**index, "optimizer": ("adam", "sgd")[index % 2], "nesterov": True}
    hparams[name[:50]] = 1.0  # One more hyperparameter, named after the run.
    writer.add_summary(0, summaries.session_start(hparams))
    nodes = [
        graphs.Node("input", "Placeholder", shape=(-1, 4)),
        graphs.Node("layer/weights", "VariableV2", shape=(4, 2)),
        graphs.Node("layer/matmul", "MatMul", ("input", "layer/weights"), (-1, 2)),
        graphs.Node(f"{name}/output", "Softmax", ("layer/matmul:0", "^input")),
    ]
    writer.add_graph(graphs.graph_def(nodes))
    stats = [graphs.NodeStats("layer/matmul", 1_700_000_000_000_000, 25, 4096)]
    writer.add_run_metadata("step 1", graphs.run_metadata(stats))
    layer = {"class_name": "Dense", "config": {"name": "dense"}, "inbound_nodes": []}
    model = {"class_name": "Sequential", "config": {"name": name[:50], "layers": [layer]}}
    for tag, plugin_name, content in (
        ("keras", "graph_keras_model", json.dumps(model).encode()),
        ("function", "graph_run_metadata", graphs.run_metadata(stats)),
    ):
        value = summaries.string_tensor(tag, [content], shape=(), plugin_name=plugin_name)
        writer.add_summary(0, value)


def _every_type(tag_format: str, step: int, *, form: int | None = None) -> Iterator[Summary.Value]:
    """Yields one value of each type of data, in the selected form.

    `form` 0: fields such as `histo`; 1: tensors; None: both. Types with only one form are always
    included.
    """
    tag = tag_format.format
    samples = np.linspace(-1, 1 + step, 20)
    if form in (0, None):
        yield summaries.scalar(tag("loss/simple"), 1 / (step + 1))
        yield summaries.histogram(tag("weights/histogram"), samples)
        yield summaries.image(tag("picture/image"), summaries.png(4 + step, 3))
        yield summaries.audio(tag("sound/audio"), summaries.wav(samples))
    if form in (1, None):
        yield summaries.scalar(tag("loss/tensor"), 1 / (step + 1), dtype="float64")
        yield summaries.histogram(tag("weights/tensor"), samples, as_tensor=True)
        pictures = [summaries.png(5, 4), summaries.png(5, 4, (0, 128, 255))]
        yield summaries.image(tag("picture/tensor"), pictures, as_tensor=True)
        clips = [summaries.wav(samples), summaries.wav(-samples)]
        yield summaries.audio(tag("sound/tensor"), clips, labels=["one"], as_tensor=True)
    yield summaries.text(tag("note/text"), [["*markdown*", "b"], ["<i>c</i>", "d"]])
    yield summaries.pr_curve(tag("curve/pr"), [True, False, True], [0.9, 0.4, 0.3])
    yield summaries.tensor(tag("values/tensor"), [[1.0, 2.0], [3.0, 4.0]])


def _guessed_values(names: Sequence[str], tag_format: str) -> list[Summary.Value]:
    """Guessed values for these plugin names."""
    tag = tag_format.format
    return [
        value
        for name in names
        for value in (
            summaries.tensor(tag(f"{name}/number"), 0.5, plugin_name=name),
            summaries.tensor(tag(f"{name}/vector"), [0.5, 1.5], plugin_name=name),
            summaries.string_tensor(tag(f"{name}/texts"), [b"{}", b"text"], plugin_name=name),
            summaries.metadata_only(tag(f"{name}/no tensor"), name),
        )
    ]


def _renamed(value: Summary.Value, tag: str) -> Summary.Value:
    renamed = Summary.Value()
    renamed.CopyFrom(value)
    renamed.tag = tag
    return renamed


def _is_claimed(value: Summary.Value, claims: Claims) -> bool:
    """Whether a claim matches the value as a scalar or as another value: both are tried."""
    field, plugin_name = value.WhichOneof("value") or "", value.metadata.plugin_data.plugin_name
    return any(matches(claims, Kind(field, plugin_name, is_scalar)) for is_scalar in (False, True))


def _events_in(path: Path) -> Iterator[Event]:
    """Yields the events of a file up to the first damage; does not check the checksums."""
    data = path.read_bytes()
    position = 0
    while position + 16 <= len(data):
        length = int.from_bytes(data[position : position + 8], "little")
        try:
            yield Event.FromString(data[position + 12 : position + 12 + length])
        except DecodeError:
            return
        position += 16 + length


WRITERS: dict[str, Callable[[Path, ExtraData], None]] = {
    "empty": _no_data,
    "plain": _plain,
    "numbers": _numbers,
    "names": _names,
    "many": _many,
    "odd": _odd,
    "gone": _plain,
    "other": _no_data,
}
"""Maps the name of each log directory to the function that writes it. `gone` is deleted later, and
`other` has two runs in a file of another program, which a test writes."""
