"""Ready-made changes of a forward pass, the same as those of ``kuramoto lesion`` and of the explorer.

Each is a plain dictionary, which ``json`` can save and ``kuramoto lesion --interventions`` reads. Points are
``layer.L.phase`` (phases entering layer L; with L the number of layers, the last), ``layer.L.phase.mid`` (after
its synchronization step) and ``layer.L.attention`` (its coupling).
"""

from __future__ import annotations

import operator
from typing import Any, Dict, Optional, Sequence, Union

import numpy as np

from .errors import SettingError

Intervention = Dict[str, Any]


def _of(
    at: str, action: Dict[str, Any], oscillators: Optional[Sequence[int]], tokens: Optional[Sequence[int]]
) -> Intervention:
    change: Intervention = {"at": at, "action": action}
    if oscillators is not None:
        change["oscillators"] = [operator.index(j) for j in oscillators]
        if not change["oscillators"]:
            raise SettingError("oscillators is empty: name some, or leave it out for all")
    if tokens is not None:
        change["tokens"] = [operator.index(t) for t in tokens]
        if not change["tokens"]:
            raise SettingError("tokens is empty: name some, or leave it out for all")
    return change


def clamp(
    at: str,
    phases: Union[float, Sequence[float]],
    *,
    oscillators: Optional[Sequence[int]] = None,
    tokens: Optional[Sequence[int]] = None,
) -> Intervention:
    """Sets phases: one for all chosen oscillators, or one for each.

    >>> clamp("layer.1.phase", 0.0, oscillators=[3])
    {'at': 'layer.1.phase', 'action': {'clamp': [0.0]}, 'oscillators': [3]}
    """
    return _of(at, {"clamp": np.atleast_1d(phases).astype(float).tolist()}, oscillators, tokens)


def rotate(
    at: str,
    angle: float,
    *,
    oscillators: Optional[Sequence[int]] = None,
    tokens: Optional[Sequence[int]] = None,
) -> Intervention:
    """Turns phases by an angle in radians."""
    return _of(at, {"rotate": float(angle)}, oscillators, tokens)


def fade(
    at: str,
    share: float,
    *,
    oscillators: Optional[Sequence[int]] = None,
    tokens: Optional[Sequence[int]] = None,
) -> Intervention:
    """Takes back a share of the step that led to a point: 1 takes it back whole."""
    return _of(at, {"fade": float(share)}, oscillators, tokens)


def flatten(
    at: str,
    share: float,
    *,
    oscillators: Optional[Sequence[int]] = None,
    tokens: Optional[Sequence[int]] = None,
) -> Intervention:
    """Replaces a share of the coupling by 1/(t + 1): 1 couples uniformly."""
    return _of(at, {"flatten": float(share)}, oscillators, tokens)
