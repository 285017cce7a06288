"""Kuramoto Attention: byte-level language models whose attention is a synchronization step.

>>> import kuramoto
>>> model = kuramoto.load("enwik8-kuramoto-1m")
>>> model.predict(b"The capital of France is ", top=3)       # doctest: +SKIP
>>> inside = model.trace(b"The capital of France")           # phases, couplings, gates: an xarray.Dataset
>>> inside.local_order.mean("token").dims
('layer',)

:func:`train` trains, :class:`Run` reads what it left, :func:`load` and :func:`models` give trained models,
:class:`Model` runs them and looks inside. :mod:`kuramoto.torch` has both models in PyTorch,
:mod:`kuramoto.torch_training` trains them on any of its devices, :mod:`kuramoto.lab` has the results of experiments.
"""

from . import errors, lab
from ._native import __version__
from .errors import KuramotoError
from .interventions import clamp, fade, flatten, rotate
from .model import Model
from .run import Corpus, Run, ablations, load, match, models, runs, save_run, train

__all__ = [
    "Corpus",
    "KuramotoError",
    "Model",
    "Run",
    "__version__",
    "ablations",
    "clamp",
    "errors",
    "fade",
    "flatten",
    "lab",
    "load",
    "match",
    "models",
    "rotate",
    "runs",
    "save_run",
    "train",
]


def __getattr__(name: str):  # PyTorch takes a second to import: only when it is asked for.
    if name in ("torch", "torch_training"):
        import importlib

        return importlib.import_module(f"kuramoto.{name}")
    raise AttributeError(f"module 'kuramoto' has no attribute {name!r}")
