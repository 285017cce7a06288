"""What training shows while it goes on."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import warnings
from typing import Any, Callable, Dict, Optional

Row = Dict[str, Any]


def in_notebook() -> bool:
    """True in a kernel of Jupyter."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def in_terminal() -> bool:
    """True if somebody may be looking at standard error, which a program may not have."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


class Follower:
    """Called by the trainer. Shows a bar, and hands rows to ``on_row``."""

    def __init__(self, on_row: Optional[Callable[[Row], Any]], progress: Optional[bool]) -> None:
        self._on_row = on_row
        self._show = (in_notebook() or in_terminal()) if progress is None else progress
        self._bar: Any = None
        self._validated: Optional[float] = None
        self.folder: Optional[str] = None
        self.step = 0

    def plan(self, plan_json: str) -> None:
        plan = json.loads(plan_json)
        self.folder, self.step = plan["run"], plan["done"]
        if self._show:
            # Without its widgets a notebook shows the plain bar, and a warning that nobody needs.
            widgets = in_notebook() and importlib.util.find_spec("ipywidgets") is not None
            module = importlib.import_module("tqdm.notebook" if widgets else "tqdm")
            self._bar = module.tqdm(total=plan["steps"], initial=plan["done"], unit="step")

    def row(self, row_json: str) -> None:
        row = json.loads(row_json)
        self.step = row["step"]
        self._validated = row.get("validation_bits_per_byte", self._validated)
        if self._bar is not None:
            numbers = {"train": row["train_bits_per_byte"], "validation": self._validated}
            self._bar.set_postfix({k: f"{x:.3f}" for k, x in numbers.items() if x is not None}, refresh=False)
            self._bar.update(1)
        if self._on_row is not None:
            self._on_row(row)

    def busy(self, with_what: str) -> None:
        pass

    def warning(self, text: str) -> None:
        warnings.warn(text, stacklevel=4)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
