"""Programs whose logs other formats read, as processes that log one step at a time.

They run in an interpreter that has their packages: this one, or one of those in TBCORE_WRITERS,
whose paths are separated by colons.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_NEXT = """
import os, sys
folder = sys.argv[1]
steps = iter(range(1, 1 << 30))
def flushed(step):  # Says so, and waits to be told to go on.
    print(step, file=sys.__stdout__, flush=True)
    if not sys.stdin.readline():
        os._exit(0)
"""


class Writer(NamedTuple):
    module: str
    run: str
    tag: str
    code: str


WRITERS = {
    "mlflow": Writer("mlflow", "Default/it", "loss", """
        import mlflow
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.start_run(run_name="it")
        for step in steps:
            mlflow.log_metric("loss", 1 / step, step=step)
            flushed(step)
    """),
    "Lightning's CSVLogger": Writer("lightning", "lightning_logs/version_0", "loss", """
        from lightning.pytorch.loggers import CSVLogger
        logger = CSVLogger(folder)
        for step in steps:
            logger.log_metrics({"loss": 1 / step, **({"late": 1.0} if step > 5 else {})}, step)
            logger.save()
            flushed(step)
    """),
    "Keras' CSVLogger": Writer("keras", ".", "loss", """
        os.environ.setdefault("KERAS_BACKEND", "jax")
        import keras, numpy
        class Wait(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                flushed(epoch)
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(loss="mse")
        x = numpy.ones((4, 1))
        logger = keras.callbacks.CSVLogger(f"{folder}/training.log")
        model.fit(x, x, epochs=1 << 20, verbose=0, callbacks=[logger, Wait()])
    """),
    "Trainer": Writer("transformers", "out", "train/loss", """
        import torch
        from transformers import Trainer, TrainerCallback, TrainingArguments
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(1))
            def forward(self, x, labels):
                return {"loss": ((self.weight * x - labels) ** 2).mean()}
        class Wait(TrainerCallback):
            def on_save(self, args, state, control, **others):
                flushed(state.global_step)
        data = [{"x": torch.tensor([float(n)]), "labels": torch.ones(1)} for n in range(64)]
        arguments = TrainingArguments(f"{folder}/out", max_steps=1 << 20, save_steps=1,
            logging_steps=1, save_total_limit=2, report_to="none", use_cpu=True,
            per_device_train_batch_size=1, disable_tqdm=True)
        Trainer(Model(), arguments, train_dataset=data, callbacks=[Wait()]).train()
    """),
}  # fmt: skip


def interpreter_with(module: str) -> str | None:
    """The path of an interpreter that has a module; None if there is none."""
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    others = os.environ.get("TBCORE_WRITERS", "").split(":")
    for path in [sys.executable, *filter(None, others)]:
        if subprocess.run([path, "-c", code], check=False).returncode == 0:
            return path
    return None


@contextmanager
def writing(python: str, writer: Writer, folder: Path) -> Iterator[Iterator[int]]:
    """Yields the steps that a program has flushed, each when it is asked for."""
    lines = "\n".join(line[8:] for line in writer.code.splitlines())
    command: Sequence[str] = [python, "-c", _NEXT + lines, str(folder)]
    # Without PYTHONPATH: the program has its own packages.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=folder, env=environment,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    assert process.stderr

    def steps() -> Iterator[int]:
        while line := process.stdout.readline():
            if line.strip().isdigit():
                yield int(line)
                process.stdin.write("\n")
                process.stdin.flush()
        raise AssertionError(process.stderr.read())

    try:
        yield steps()
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
        process.stderr.close()
