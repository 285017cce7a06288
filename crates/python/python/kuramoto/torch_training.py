"""Training in PyTorch, on whatever device it has, by the recipe of ``kuramoto.train``.

Start, batches, schedule, optimizer and validation are those of the program, so a run differs from the program's
own by rounding alone, and by the masks of dropout where there is any. What it leaves is a run folder.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from torch import Tensor

from . import _native
from .errors import RunError
from .model import Model
from .progress import Follower, Row
from .run import Corpus, PathLike, Run, _path
from .settings import resolve
from .torch import LanguageModel, build, config_from_dict


def train(
    preset: str = "quick",
    data: Optional[PathLike] = None,
    *,
    out: PathLike,
    device: Optional[str] = None,
    model: Optional[str] = None,
    ablations: Sequence[str] = (),
    keys: Optional[Mapping[str, Any]] = None,
    cache: Optional[PathLike] = None,
    compile: bool = False,
    on_row: Optional[Callable[[Row], Any]] = None,
    progress: Optional[bool] = None,
    **settings: Any,
) -> Run:
    """Trains a model as :func:`kuramoto.train` does, with the same settings, on a device of PyTorch.

    ``device`` is ``cuda``, ``mps``, ``cpu``, ..; by default the first of these that there is. ``compile`` has
    ``torch.compile`` make the model faster. A run that is stopped keeps its checkpoints, and
    :meth:`kuramoto.Run.resume` goes on from the last one on this machine's processor.

    >>> import kuramoto.torch_training, tempfile
    >>> run = kuramoto.torch_training.train(steps=2, width=8, batch=4, context=32, device="cpu",
    ...     keys={"data.bytes": 60_000}, validation_windows=8, out=tempfile.mkdtemp() + "/run")
    >>> run.status, run.model().kind
    ('finished', 'kuramoto')
    """
    if Path(out).exists() and any(Path(out).iterdir()):
        raise RunError(f"{out}: the folder is not empty: choose another")
    named = dict(preset=preset, data=None if data is None else os.fspath(data), model=model, **settings)
    recipe = _native.Recipe(resolve(named, keys), list(ablations), _path(cache))
    config = json.loads(recipe.config)
    corpus, batch = Corpus._of(recipe.corpus), config["batch"]
    start = Model(
        config["model"], vocabulary=corpus.vocabulary, context=batch["context"], seed=config["seed"]
    )
    module = build(config_from_dict(config["model"]), corpus.vocabulary, batch["context"])
    module.load_state_dict({name: torch.tensor(array) for name, array in start.parameters.items()})
    place = torch.device(device or _best_device())
    module.to(place)
    trainer = _Trainer(recipe, config, corpus, module, place, compile, Path(out))
    follower = Follower(on_row, progress)
    follower.plan(json.dumps({"run": os.fspath(out), "steps": recipe.steps, "done": 0}))
    try:
        for step in range(1, recipe.steps + 1):
            follower.row(json.dumps(trainer.step(step)))
    finally:
        follower.close()
    return Run(out)


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


class _Trainer:
    def __init__(
        self,
        recipe: _native.Recipe,
        config: Dict[str, Any],
        corpus: Corpus,
        module: LanguageModel,
        place: torch.device,
        compile: bool,
        out: Path,
    ) -> None:
        optimizer = config["optimizer"]
        groups = module.parameter_groups(optimizer["weight-decay"], optimizer["decay"])
        self.optimizer = torch.optim.AdamW(
            groups,
            lr=optimizer["learning-rate"],
            betas=(optimizer["beta1"], optimizer["beta2"]),
            eps=optimizer["epsilon"],
        )
        self.recipe, self.config, self.corpus, self.module = recipe, config, corpus, module
        self.place, self.out = place, out
        # The module itself keeps the names of its parameters.
        self.forward = torch.compile(module) if compile else module
        self.rows: List[Row] = []
        self.best = math.inf
        self.seconds = 0.0

    def tokens(self, batch: Tuple[Any, Any]) -> Tuple[Tensor, Tensor]:
        tokens, targets = (torch.from_numpy(array).to(self.place, torch.long) for array in batch)
        return tokens, targets

    def step(self, step: int) -> Row:
        """One step; validates and saves where the configuration says so."""
        began = time.perf_counter()
        rate = self.recipe.learning_rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.module.train()
        _, loss = self.forward(*self.tokens(self.recipe.batch(step)))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        clip = self.config["optimizer"]["clip"] or math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.module.parameters(), clip)
        bits = loss.item() / math.log(2)
        if not (math.isfinite(bits) and math.isfinite(norm.item())):
            raise RunError(f"step {step}: the loss or the gradient is not finite; the step was not applied")
        self.optimizer.step()
        seconds = time.perf_counter() - began
        self.seconds += seconds
        tokens = self.config["batch"]["sequences"] * self.config["batch"]["context"]
        row: Row = {
            "step": step,
            "epoch": step / self.recipe.steps_per_epoch,
            "tokens": step * tokens,
            "train_bits_per_byte": bits,
            "gradient_norm": norm.item(),
            "learning_rate": rate,
            "seconds": self.seconds,
            "tokens_per_second": tokens / seconds,
        }
        self.rows.append(row)
        every = self.config["validation"]["every"] or self.recipe.steps_per_epoch
        if step % every == 0 or step == self.recipe.steps:
            row["validation_bits_per_byte"] = self.validate()
            row["best"] = row["validation_bits_per_byte"] < self.best
            self.best = min(self.best, row["validation_bits_per_byte"])
            self.save(step)
        return row

    @torch.no_grad()
    def validate(self) -> float:
        """Bits per byte of what a validation reads."""
        self.module.eval()
        nats, count = 0.0, 0
        for batch in self.recipe.validation():
            tokens, targets = self.tokens(batch)
            _, loss = self.forward(tokens, targets)
            nats += loss.item() * targets.numel()
            count += targets.numel()
        return nats / count / math.log(2)

    def save(self, step: int) -> None:
        keys = {key: value for key, value in self.config.items() if key != "model"}
        self.module.save(
            self.out, corpus=self.corpus, step=step, rows=self.rows, optimizer=self.optimizer, keys=keys
        )
