"""Training, and the run folders it leaves."""

from __future__ import annotations

import json
import math
import operator
import os
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np

from . import _native
from .errors import KuramotoError, SettingError
from .model import Model, _several
from .progress import Follower, Row
from .settings import resolve

if TYPE_CHECKING:
    import pandas as pd

ROW = (
    "step", "epoch", "tokens", "train_bits_per_byte", "gradient_norm", "learning_rate", "bad",
    "validation_bits_per_byte", "floor_bits_per_byte", "best", "seconds", "tokens_per_second", "utilisation",
)  # fmt: skip
"""Fields of a row."""

PathLike = Union[str, "os.PathLike[str]"]


class Corpus:
    """The bytes a model is trained on: ``tales`` (generated), ``enwik8``, ``codeparrot``, or a file or folder.

    >>> import kuramoto
    >>> tales = kuramoto.Corpus("tales", bytes=100_000)
    >>> len(tales), len(tales.bytes("train"))
    (100000, 90000)
    """

    def __init__(
        self, name: PathLike, *, path: PathLike = "", bytes: int = 0, cache: Optional[PathLike] = None
    ) -> None:
        self._native = _native.Corpus(os.fspath(name), os.fspath(path), bytes, _path(cache))

    @classmethod
    def _of(cls, native: _native.Corpus) -> "Corpus":
        corpus = cls.__new__(cls)
        corpus._native = native
        return corpus

    @property
    def name(self) -> str:
        """``tales``, ``enwik8``, ``codeparrot``, or the name of a file or folder."""
        return self._native.name

    @property
    def sha256(self) -> str:
        """Of all its bytes."""
        return self._native.sha256

    @property
    def vocabulary(self) -> bytes:
        """Its distinct bytes, in order: token i is ``vocabulary[i]``."""
        return self._native.vocabulary

    def __len__(self) -> int:
        return len(self._native)

    def bytes(self, split: str = "train") -> bytes:
        """The bytes of a split: the first 90% are ``train``, then 5% ``validation`` and 5% ``test``."""
        return self._native.bytes(split)

    def tokens(self, split: str = "train") -> np.ndarray[Any, Any]:
        """The tokens of a split, uint8."""
        return self._native.tokens(split)

    def __repr__(self) -> str:
        return f"<corpus {self.name}: {len(self):,} bytes, {len(self.vocabulary)} of them distinct>"


class Run:
    """A run folder, or a shipped model by its name.

    >>> import kuramoto
    >>> run = kuramoto.Run("tales-kuramoto")
    >>> run.config["optimizer"]["learning-rate"]
    0.016
    >>> round(run.summary["validation_bits_per_byte"], 2)
    0.53
    """

    def __init__(self, path: PathLike) -> None:
        self._native = _native.Run(Path(path))

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(self._native.folder)

    @property
    def config(self) -> Dict[str, Any]:
        """The complete configuration, as ``config.toml`` has it."""
        return json.loads(self._native.config)

    @property
    def summary(self) -> Optional[Dict[str, Any]]:
        """What it came to; None before it has ended once."""
        found = self._native.summary
        return None if found is None else json.loads(found)

    @property
    def status(self) -> str:
        """``training``, ``finished``, ``stopped early``, ``interrupted``, ..."""
        return json.loads(self._native.listed)["status"]

    @property
    def vocabulary(self) -> bytes:
        """The bytes its model knows."""
        return bytes(json.loads(self._native.corpus)["vocabulary"])

    @property
    def rows(self) -> "pd.DataFrame":
        """Its steps so far, by step. What was not measured at a step is NaN.

        >>> import kuramoto
        >>> kuramoto.Run("tales-kuramoto").rows["validation_bits_per_byte"].iloc[-1].round(2).item()
        0.53
        """
        import pandas as pd

        return pd.DataFrame(self._native.rows()).set_index("step")

    @property
    def checkpoints(self) -> List[int]:
        """Steps whose parameters are there."""
        return self._native.checkpoints()[0]

    @property
    def best_step(self) -> Optional[int]:
        """The checkpoint that validated best."""
        return self._native.checkpoints()[1]

    @property
    def last_step(self) -> Optional[int]:
        """The newest checkpoint."""
        return self._native.checkpoints()[2]

    def model(self, which: Union[str, int] = "best", dtype: str = "float32") -> Model:
        """The model of a checkpoint: ``best``, ``last`` or a step.

        >>> import kuramoto
        >>> kuramoto.Run("tales-kuramoto").model("best").config["layers"]
        3
        """
        return Model._of(self._native.model(_which(which), np.dtype(dtype).name))

    def corpus(self, *, data_path: Optional[PathLike] = None, cache: Optional[PathLike] = None) -> Corpus:
        """What it was trained on, from where it was or from ``data_path``."""
        path = None if data_path is None else os.fspath(data_path)
        return Corpus._of(self._native.open_corpus(path, _path(cache)))

    def eval(
        self,
        split: str = "validation",
        which: Union[str, int] = "best",
        *,
        corpus: Optional[Corpus] = None,
        threads: Optional[int] = None,
    ) -> Dict[str, Any]:
        """Exact bits per byte of a whole split, and the step of the checkpoint."""
        text = self.corpus() if corpus is None else _corpus(corpus)
        return json.loads(self._native.evaluate(_which(which), text._native, split, threads))

    def export(self, folder: PathLike, to: str = "hf", which: Union[str, int] = "best") -> Path:
        """Writes its model as a new folder: ``hf`` for Hugging Face Transformers, ``model`` for a run folder
        without what only training needs.

        >>> import kuramoto, tempfile
        >>> folder = kuramoto.Run("tales-kuramoto").export(tempfile.mkdtemp() + "/tales")
        >>> sorted(path.name for path in folder.glob("*.json"))[0]
        'config.json'
        """
        self._native.export(to, Path(folder), _which(which))
        return Path(folder)

    def resume(
        self,
        *,
        keys: Optional[Mapping[str, Any]] = None,
        data_path: Optional[PathLike] = None,
        cache: Optional[PathLike] = None,
        threads: Optional[int] = None,
        on_row: Optional[Callable[[Row], Any]] = None,
        progress: Optional[bool] = None,
        **settings: Any,
    ) -> "Run":
        """Goes on with its training, bit for bit. Its length and what is kept may change, nothing else."""
        path = None if data_path is None else os.fspath(data_path)
        chosen = resolve(settings, keys)
        follower = Follower(on_row, progress)
        _follow(
            follower,
            lambda: _native.resume(self.folder, chosen, path, _path(cache), threads, follower),
        )
        return self

    def __reduce__(self) -> Any:
        return Run, (self.folder,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.folder.resolve() == other.folder.resolve()

    def __hash__(self) -> int:
        return hash(self.folder.resolve())

    def __repr__(self) -> str:
        listed = json.loads(self._native.listed)
        bits = listed["validation_bits_per_byte"]
        shown = "" if bits is None else f", {bits:.4f} bits per byte on validation"
        return (
            f"<run {self.folder}: {listed['model']}, {listed['parameters']:,} parameters, {listed['corpus']}, "
            f"{listed['steps']:,} steps, {listed['status']}{shown}>"
        )


def train(
    preset: str = "quick",
    data: Optional[PathLike] = None,
    *,
    model: Optional[str] = None,
    ablations: Sequence[str] = (),
    keys: Optional[Mapping[str, Any]] = None,
    out: Optional[PathLike] = None,
    cache: Optional[PathLike] = None,
    download: bool = False,
    threads: Optional[int] = None,
    on_row: Optional[Callable[[Row], Any]] = None,
    progress: Optional[bool] = None,
    **settings: Any,
) -> Run:
    """Trains a model, as ``kuramoto train`` does, to the same bits.

    ``settings`` are named as the command's flags: ``steps``, ``tokens`` or ``epochs``; ``budget``, ``layers``,
    ``heads``, ``width``, ``dropout``, ``seed``; ``batch``, ``context``; ``learning_rate``, ``warmup``,
    ``schedule``, ``weight_decay``, ``clip``; ``validate_every``, ``validation_windows``, ``patience``, ``test``;
    ``checkpoint_every``, ``keep``, ``on_bad_step``; ``protocol``, ``data_path``. Any other key of
    ``config.toml`` goes into ``keys``, as in ``keys={"optimizer.beta2": 0.99}``.

    ``on_row`` is called with the row of every step, a dictionary. If it raises, and on Ctrl-C, training stops
    after the step, saves everything and raises; :meth:`Run.resume` goes on from there.

    >>> import kuramoto, tempfile
    >>> run = kuramoto.train(steps=3, width=8, batch=4, context=32, keys={"data.bytes": 60_000},
    ...     validation_windows=10, out=tempfile.mkdtemp() + "/run")
    >>> run.status, len(run.rows)
    ('finished', 3)
    """
    named = dict(preset=preset, data=None if data is None else os.fspath(data), model=model, **settings)
    chosen = resolve(named, keys)
    follower = Follower(on_row, progress)
    summary = _follow(
        follower,
        lambda: _native.train(
            chosen, _several(ablations), _path(out), _path(cache), download, threads, follower
        ),
    )
    return Run(summary["run"])


def save_run(
    path: PathLike,
    config: Mapping[str, Any],
    parameters: Mapping[str, Any],
    *,
    corpus: Corpus,
    step: int,
    context: int = 256,
    rows: Iterable[Mapping[str, Any]] = (),
    moments: Optional[Tuple[Mapping[str, Any], Mapping[str, Any]]] = None,
    keys: Optional[Mapping[str, Any]] = None,
    test_bits_per_byte: Optional[float] = None,
    device: str = "another program",
    locked: bool = False,
) -> Run:
    """Saves a model that another program trained as a run, or as a further checkpoint of one it saved before.

    Everything that reads runs reads it: :class:`Run`, ``kuramoto explore``, ``diagnose``, ``eval``. With
    AdamW's ``moments``, the first and the second by name, its training can also be resumed.

    ``config`` and ``parameters`` are those of the model, named as in :attr:`Model.config` and
    :attr:`Model.parameters`. A row needs ``step``, and may have ``train_bits_per_byte``,
    ``validation_bits_per_byte``, ``learning_rate``, ``gradient_norm`` and ``seconds``. ``keys`` are any others of
    ``config.toml``, such as ``{"batch.sequences": 64, "length.steps": 5000}``. ``locked`` says that the caller
    holds the run's lock already.
    """
    known = {"model": dict(config), "batch": {"context": context}, "length": {"steps": step}}
    # What the corpus has in it is known by now; where it is, only by its name or path.
    known["data"] = json.loads(_corpus(corpus)._native.source)
    chosen = resolve({}, known) + resolve({}, keys)
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    unknown = {name for row in plain for name in row if name not in ROW and not name.startswith("parameters")}
    if unknown:
        raise SettingError(f"rows have no field {sorted(unknown)[0]}: there are {', '.join(ROW)}")
    _native.save_run(
        Path(path),
        chosen,
        corpus._native,
        list(parameters.items()),
        None if moments is None else (list(moments[0].items()), list(moments[1].items())),
        step,
        json.dumps([{k: v for k, v in row.items() if v is not None} for row in plain]),
        test_bits_per_byte,
        device,
        locked,
    )
    return Run(path)


def runs(folder: PathLike = "runs", depth: int = 3) -> "pd.DataFrame":
    """Every run at or below a folder, a row each."""
    import pandas as pd

    return pd.DataFrame(json.loads(_native.list_runs(Path(folder), depth)))


def models() -> "pd.DataFrame":
    """The models that come with this package, by name.

    >>> import kuramoto
    >>> list(kuramoto.models().index)
    ['enwik8-kuramoto-1m', 'enwik8-transformer-1m', 'tales-kuramoto']
    """
    import pandas as pd

    first = ["model", "corpus", "parameters", "tokens", "validation_bits_per_byte", "test_bits_per_byte"]
    table = pd.DataFrame(json.loads(_native.models())).drop(columns="run").set_index("name")
    return table[first + [name for name in table.columns if name not in first]]


def load(run: PathLike, which: Union[str, int] = "best", dtype: str = "float32") -> Model:
    """The model of a run folder or a shipped model, in one call.

    >>> import kuramoto
    >>> kuramoto.load("tales-kuramoto")
    <kuramoto model: 178,508 parameters, 3 layers, width 84, 1 head, vocabulary of 50 bytes, float32>
    """
    return Run(run).model(which, dtype)


def match(
    budget: Union[int, str],
    *,
    layers: int = 4,
    heads: int = 1,
    vocab: int = 205,
    ablations: Sequence[str] = (),
) -> "pd.DataFrame":
    """Widths at which both models have about ``budget`` parameters.

    >>> import kuramoto
    >>> kuramoto.match("1M")["width"].to_dict()
    {'kuramoto': 176, 'transformer': 120}
    """
    import pandas as pd

    rows = _native.match_widths(str(budget), layers, heads, vocab, _several(ablations))
    return pd.DataFrame(rows, columns=["model", "width", "parameters"]).set_index("model")


def ablations() -> "pd.DataFrame":
    """Every switch away from the reference model: its title, and whether the paper's table has it.

    >>> import kuramoto
    >>> kuramoto.ablations()["title"]["no-value-gate"]
    'remove value gate'
    """
    import pandas as pd

    return pd.DataFrame(_native.ablations(), columns=["name", "title", "in_paper"]).set_index("name")


def _follow(follower: Follower, work: Callable[[], str]) -> Dict[str, Any]:
    try:
        return json.loads(work())
    except KuramotoError:
        raise
    except BaseException as error:  # Ctrl-C, or an exception of on_row
        add_note(error, follower)
        raise
    finally:
        follower.close()


def add_note(error: BaseException, follower: Follower) -> None:
    """Says how to go on with a run that was stopped and saved."""
    if follower.folder is not None and hasattr(error, "add_note"):
        error.add_note(
            f"training stopped after step {follower.step}; everything is saved: go on with "
            f"kuramoto.Run({follower.folder!r}).resume()"
        )


def _corpus(corpus: Any) -> Corpus:
    if isinstance(corpus, Corpus):
        return corpus
    raise TypeError(f"corpus is of type {type(corpus).__name__}: give a kuramoto.Corpus")


def _plain(value: Any) -> Any:
    """For JSON, which has no NaN and knows no NumPy."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _path(path: Optional[PathLike]) -> Optional[Path]:
    return None if path is None else Path(path)


def _which(which: Union[str, int]) -> str:
    return which if isinstance(which, str) else f"step-{operator.index(which)}"
