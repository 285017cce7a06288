"""Training in PyTorch, on whatever device it has, by the recipe of ``kuramoto.train``.

Start, batches, schedule, optimizer, validation, patience and checkpoints are those of the program, so a run differs
from the program's own by rounding alone, and by the masks of dropout where there is any. What it leaves is a run
folder. Spikes of the loss are not looked at: training stops where it is not finite.
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
from .errors import RunError, SettingError
from .model import _several
from .progress import Follower, Row
from .run import Corpus, PathLike, Run, _path, add_note
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
    ``torch.compile`` make the model faster. On Ctrl-C, or if ``on_row`` raises, the state is saved after the step;
    :meth:`kuramoto.Run.resume` goes on from there on this machine's processor.

    >>> import kuramoto.torch_training, tempfile
    >>> run = kuramoto.torch_training.train(steps=2, width=8, batch=4, context=32, device="cpu",
    ...     keys={"data.bytes": 60_000}, validation_windows=8, out=tempfile.mkdtemp() + "/run")
    >>> run.status, run.model().kind
    ('finished', 'kuramoto')
    """
    if Path(out).exists() and any(Path(out).iterdir()):
        raise RunError(f"{out}: the folder is not empty: choose another")
    named = dict(preset=preset, data=None if data is None else os.fspath(data), model=model, **settings)
    recipe = _native.Recipe(resolve(named, keys), _several(ablations), _path(cache))
    place = torch.device(device or _best_device())
    trainer = _Trainer(recipe, place, compile, Path(out))
    follower = Follower(on_row, progress)
    follower.plan(json.dumps({"run": os.fspath(out), "steps": recipe.steps, "done": 0}))
    try:
        with torch.random.fork_rng([place] if place.type == "cuda" else []):
            torch.manual_seed(trainer.config["seed"])
            for step in range(1, recipe.steps + 1):
                follower.row(json.dumps(trainer.step(step)))
                if trainer.patience_is_over():
                    break
        trainer.finish()
    except RunError:
        raise
    except BaseException as error:  # Ctrl-C, or an exception of on_row
        if trainer.rows:
            trainer.save()
            add_note(error, follower)
        raise
    finally:
        follower.close()
        trainer.lock = None
    return Run(out)


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


class _Trainer:
    """A module, its optimizer, and where training is."""

    def __init__(self, recipe: _native.Recipe, place: torch.device, compile: bool, out: Path) -> None:
        self.recipe, self.place, self.out = recipe, place, out
        self.config: Dict[str, Any] = json.loads(recipe.config)
        if self.config["bad-steps"]["policy"] == "skip":
            raise SettingError("on_bad_step = 'skip' is not allowed in PyTorch: choose 'stop'")
        self.corpus = Corpus._of(recipe.corpus)
        context = self.config["batch"]["context"]
        self.module: LanguageModel = build(
            config_from_dict(self.config["model"]), self.corpus.vocabulary, context
        )
        self.module.load_state_dict({name: torch.tensor(array) for name, array in recipe.start()})
        self.module.to(place)
        # The module itself keeps the names of its parameters.
        self.forward = torch.compile(self.module) if compile else self.module
        optimizer = self.config["optimizer"]
        self.optimizer = torch.optim.AdamW(
            self.module.parameter_groups(
                optimizer["weight-decay"], optimizer["decay"], optimizer.get("multipliers", {})
            ),
            lr=optimizer["learning-rate"],
            betas=(optimizer["beta1"], optimizer["beta2"]),
            eps=optimizer["epsilon"],
        )
        self.rows: List[Row] = []
        self.best, self.since_best = math.inf, 0
        self.saved, self.seconds = 0, 0.0
        self.lock: Optional[_native.Lock] = None

    def tokens(self, batch: Tuple[Any, Any]) -> Tuple[Tensor, Tensor]:
        tokens, targets = (torch.from_numpy(array).to(self.place, torch.long) for array in batch)
        return tokens, targets

    def step(self, step: int) -> Row:
        """One step; validates and saves where the configuration says so."""
        began = time.perf_counter()
        rate = self.recipe.learning_rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["multiplier"]
        self.module.train()
        _, loss = self.forward(*self.tokens(self.recipe.batch(step)))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        clip = self.config["optimizer"]["clip"] or math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.module.parameters(), clip).item()
        bits = loss.item() / math.log(2)
        if not (math.isfinite(bits) and math.isfinite(norm)):
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
            "gradient_norm": norm,
            "learning_rate": rate,
            "seconds": self.seconds,
            "tokens_per_second": tokens / seconds,
        }
        self.rows.append(row)
        every = self.config["validation"]["every"] or self.recipe.steps_per_epoch
        if step % every == 0 or step == self.recipe.steps:
            self.judge(row)
        wanted = self.config["checkpoints"]["every"]
        due = step % wanted == 0 if wanted else "validation_bits_per_byte" in row
        if due or row.get("best"):
            self.save()
        return row

    def judge(self, row: Row) -> None:
        """Validates, and adds what was found to the row."""
        bits = self.validate()
        row["validation_bits_per_byte"], row["best"] = bits, bits < self.best
        self.since_best = 0 if row["best"] else self.since_best + 1
        self.best = min(self.best, bits)

    def patience_is_over(self) -> bool:
        """Whether validation has not improved for as long as the configuration says."""
        patience = self.config["validation"]["patience"]
        return patience > 0 and self.since_best >= patience

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

    def finish(self) -> None:
        """Saves the last step, and reads the test split with the best parameters if that was asked for."""
        self.save()
        if self.config["validation"]["test"]:
            run = Run(self.out)
            run._native.record_test(run.eval("test", corpus=self.corpus)["bits_per_byte"])

    def save(self) -> None:
        """Saves the last step, if it is not saved."""
        step = self.rows[-1]["step"]
        if step == self.saved:
            return
        self.module.save(
            self.out,
            corpus=self.corpus,
            step=step,
            rows=self.rows,
            optimizer=self.optimizer,
            keys={key: value for key, value in self.config.items() if key != "model"},
            locked=self.lock is not None,
        )
        self.saved = step
        if self.lock is None:
            self.lock = Run(self.out)._native.lock()
