"""Plans of experiments (``kuramoto lab``) and what they came to, as data frames."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List

from . import _native
from .run import PathLike

if TYPE_CHECKING:
    import pandas as pd


def _table(plan: PathLike, name: str) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(io.StringIO(dict(_native.tables(Path(plan)))[name]))


def results(plan: PathLike) -> "pd.DataFrame":
    """The finished runs of a plan, a row each: arm, seed, validation, test, speed.

    A plan whose run folders were not kept is read from its report.
    """
    return _table(plan, "runs")


def cells(plan: PathLike) -> "pd.DataFrame":
    """Arms over their seeds, next to the paper's numbers."""
    return _table(plan, "cells")


def claims(plan: PathLike) -> "pd.DataFrame":
    """What the plan says of each claim of the paper, with its test."""
    return _table(plan, "claims")


def curves(plan: PathLike) -> "pd.DataFrame":
    """Validations on the way, by bytes, operations and seconds."""
    return _table(plan, "curves")


def planned(plan: PathLike) -> List[Dict[str, Any]]:
    """Every run of a plan: arm, seed, configuration, and its folder below the plan's."""
    return json.loads(_native.planned(Path(plan)))
