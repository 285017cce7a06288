"""Settings of a run as keyword arguments: the names of the command's flags, or keys of ``config.toml``."""

from __future__ import annotations

import difflib
import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _native
from .errors import SettingError

Setting = Tuple[str, str, str]
"""Where it comes from, the dotted key, and its value as TOML."""


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if hasattr(value, "item"):
        return _toml(value.item())
    return json.dumps(str(value), ensure_ascii=False)


def _flat(prefix: str, tree: Mapping[str, Any]) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for key, value in tree.items():
        dotted = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping):
            found.update(_flat(dotted, value))
        else:
            found[dotted] = value
    return found


def resolve(settings: Mapping[str, Any], keys: Optional[Mapping[str, Any]] = None) -> List[Setting]:
    """Keyword arguments, then keys of ``config.toml`` (dotted, or nested as it is), as settings in order.

    >>> resolve({"learning_rate": 0.01}, {"optimizer.beta2": 0.99})
    [('learning_rate', 'optimizer.learning-rate', '0.01'), ('optimizer.beta2', 'optimizer.beta2', '0.99')]
    """
    names = dict(_native.setting_names())
    found: List[Setting] = []
    given = [name for name, value in settings.items() if value is not None]
    for exclusive in (("steps", "tokens", "epochs"), ("width", "budget")):
        both = [name for name in given if name in exclusive]
        if len(both) > 1:
            raise SettingError(f"{both[0]} and {both[1]} do not go together: choose one")
    for name, value in settings.items():
        if value is None:
            continue
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}, and keys={{...}}"
            raise SettingError(f"there is no setting {name}; {hint}")
        if name == "budget":
            # A width, as a saved configuration has one, would leave it without effect.
            found += [(name, "model.width", "0"), (name, "budget", str(_native.parse_budget(str(value))))]
            continue
        found.append((name, names[name], _toml(value)))
    found.extend((key, key, _toml(value)) for key, value in _flat("", keys or {}).items())
    return found
