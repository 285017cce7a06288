"""Models: run them on text, look inside, change what happens there."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Mapping as MappingClass
from collections.abc import MutableMapping
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np

from . import _native
from .errors import SettingError
from .interventions import Intervention

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Text = Union[bytes, bytearray, str, "np.ndarray[Any, Any]"]
"""Bytes as they are, a string as UTF-8, or an array of uint8."""

Hook = Callable[[str, int, "np.ndarray[Any, Any]"], Optional["np.ndarray[Any, Any]"]]
"""Called with (point, layer, array); may change the array in place, or return another of its shape."""

Hooks = Union[Hook, Mapping[str, Hook], None]

_POINTS = {
    "kuramoto": [
        "phase",
        "gate",
        "gate.query",
        "gate.key",
        "gate.value",
        "attention",
        "phase.mid",
    ],
    "transformer": ["state", "attention", "state.mid"],
}


class Parameters(MutableMapping):
    """The parameters of a model by name, as arrays. They can be set; what is read is a copy.

    >>> import kuramoto
    >>> model = kuramoto.load("tales-kuramoto")
    >>> model.parameters["layers.0.omega"].shape
    (84,)
    >>> model.parameters["tau"] = 2 * model.parameters["tau"]
    """

    def __init__(self, native: _native.Model) -> None:
        self._native = native
        self._shapes = {name: tuple(shape) for name, shape, _ in native.layout()}

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        found = self._native.parameter(name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(f"there is no parameter {name!r}: choose from {', '.join(self)}")
        return found

    def __setitem__(self, name: str, value: Any) -> None:
        self._native.set_parameters([(name, value)])

    def __delitem__(self, name: str) -> None:
        raise TypeError("a model has all its parameters: set one to zero instead")

    def update(self, *values: Any, **named: Any) -> None:
        """Sets several at once: all of them, or none if one does not fit."""
        self._native.set_parameters(list(dict(*values, **named).items()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def __repr__(self) -> str:
        return "\n".join(f"{name:<28} {shape}" for name, shape in self._shapes.items())


class Model:
    """A Kuramoto model or a transformer, with the vocabulary of its corpus.

    Usually from :func:`kuramoto.load` or :meth:`kuramoto.Run.model`. Made here, it is untrained:

    >>> import kuramoto
    >>> model = kuramoto.Model({"kind": "kuramoto", "vocab": 4, "width": 8, "layers": 2}, vocabulary=b"abcd")
    >>> model.logits(b"abcd").shape
    (4, 4)
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        vocabulary: Optional[bytes] = None,
        context: int = 256,
        seed: int = 0,
        dtype: str = "float32",
    ) -> None:
        text = json.dumps(dict(config))
        known = None if vocabulary is None else list(vocabulary)
        self._native = _native.Model(text, context, known, seed, np.dtype(dtype).name)

    @classmethod
    def _of(cls, native: _native.Model) -> "Model":
        model = cls.__new__(cls)
        model._native = native
        return model

    @property
    def config(self) -> Dict[str, Any]:
        """Its configuration, as ``config.json`` of a checkpoint has it."""
        return json.loads(self._native.config)

    @property
    def kind(self) -> str:
        """``kuramoto`` or ``transformer``."""
        return self.config["kind"]

    @property
    def vocabulary(self) -> bytes:
        """The bytes it knows, in order: token i is ``vocabulary[i]``."""
        return self._native.vocabulary

    @property
    def context(self) -> int:
        """Most bytes it reads at a time."""
        return self._native.context

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision it computes in."""
        return np.dtype(self._native.dtype)

    @property
    def ablations(self) -> List[str]:
        """Rows of the paper's ablation table that it is switched by."""
        return self._native.ablations

    @property
    def parameters(self) -> Parameters:
        """Its parameters by name, which can be set."""
        return Parameters(self._native)

    def astype(self, dtype: Any) -> "Model":
        """A copy that computes in ``float32`` or ``float64``."""
        return Model._of(self._native.astype(np.dtype(dtype).name))

    def copy(self) -> "Model":
        """A copy whose parameters can be changed without changing this one's."""
        return self.astype(self.dtype)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> "Model":
        return self.copy()

    def __reduce__(self) -> Any:
        return _restored, (self.config, self.vocabulary, self.context, self.dtype.name, dict(self.parameters))

    def __repr__(self) -> str:
        config = self.config
        count = sum(int(np.prod(shape)) for _, shape, _ in self._native.layout())
        changed = f", {' + '.join(self.ablations)}" if self.ablations else ""
        return (
            f"<{config['kind']} model{changed}: {count:,} parameters, {config['layers']} layers, "
            f"width {config['width']}, {config['heads']} {'head' if config['heads'] == 1 else 'heads'}, "
            f"vocabulary of {config['vocab']} bytes, {self.dtype.name}>"
        )

    # Running

    def logits(
        self, text: Text, *, hooks: Hooks = None, interventions: Sequence[Intervention] = ()
    ) -> np.ndarray[Any, Any]:
        """Logits (bytes of the text x vocabulary): row t is what follows byte t.

        >>> import kuramoto
        >>> model = kuramoto.load("tales-kuramoto")
        >>> chr(model.vocabulary[model.logits(b"Anna was a merry bak")[-1].argmax()])
        'e'

        ``hooks`` is a function ``hook(point, layer, array)`` that is called at every point of the pass, or a
        mapping from points to functions. It may change the array in place, or return another:

        >>> def silence(point, layer, gate):
        ...     gate[:] = 0
        >>> changed = model.logits(b"Anna was", hooks={"layer.1.gate.value": silence})

        Points are ``phase`` (phases entering a layer; with the layer L, the last), ``gate.query``,
        ``gate.key``, ``gate.value``, ``attention.H`` (the coupling of head H, n x n) and ``phase.mid`` (after
        the synchronization step), in this order; of a transformer ``state``, ``attention.H`` and ``state.mid``.
        ``gate`` and ``attention`` stand for all of theirs, and ``layer.2.gate.key`` for one layer's.

        ``interventions`` are ready-made changes, such as :func:`kuramoto.clamp`; they act before hooks.
        """
        return self._native.logits(text, self._hooks(hooks), _interventions(interventions))

    def bits(
        self, text: Text, *, hooks: Hooks = None, interventions: Sequence[Intervention] = ()
    ) -> np.ndarray[Any, Any]:
        """What each byte of a text costs in bits, given those before it; its first byte is not predicted.

        >>> import kuramoto
        >>> model = kuramoto.load("tales-kuramoto")
        >>> bool(model.bits(b"Anna was a merry baker").mean() < 2)
        True
        """
        return self._native.nats(text, self._hooks(hooks), _interventions(interventions)) / np.log(2)

    def predict(
        self, text: Text, top: int = 5, *, hooks: Hooks = None, interventions: Sequence[Intervention] = ()
    ) -> "pd.DataFrame":
        """The likeliest bytes to follow a text.

        >>> import kuramoto
        >>> kuramoto.load("tales-kuramoto").predict(b"Anna was a merry bak", top=1).index[0]
        b'e'
        """
        import pandas as pd

        logits = self.logits(text, hooks=hooks, interventions=interventions)[-1].astype(np.float64)
        chances = np.exp(logits - logits.max())
        chances /= chances.sum()
        best = np.argsort(-chances, kind="stable")[: max(0, top)]
        index = pd.Index([self.vocabulary[i : i + 1] for i in best], name="byte")
        return pd.DataFrame({"probability": chances[best]}, index=index)

    def generate(
        self,
        prompt: Optional[Text] = None,
        n: int = 256,
        *,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int = 0,
    ) -> Iterator[bytes]:
        """Bytes that go on from a prompt, one after the other.

        Without a prompt it begins as a paragraph of its corpus does. ``temperature=0`` takes the likeliest
        byte always.

        >>> import kuramoto
        >>> model = kuramoto.load("tales-kuramoto")
        >>> len(b"".join(model.generate(b"Anna", n=20)))
        20
        """
        return self._native.generate(prompt, n, temperature, top_p, top_k, seed)

    def gradient(self, text: Text) -> Tuple[float, Dict[str, np.ndarray[Any, Any]]]:
        """Mean loss of a text in nats per byte, and its gradient by parameter.

        >>> import kuramoto
        >>> loss, gradient = kuramoto.load("tales-kuramoto").gradient(b"Anna was")
        >>> gradient["emb"].shape
        (50, 84)
        """
        tokens = np.array([self.encode(text)], dtype=np.uint8)
        if tokens.shape[1] < 2:
            raise SettingError("the text has fewer than two bytes: give one to read and one to predict")
        return self.gradient_of(tokens[:, :-1], tokens[:, 1:])

    def gradient_of(self, tokens: Any, targets: Any) -> Tuple[float, Dict[str, np.ndarray[Any, Any]]]:
        """The same of a batch of tokens (sequences x n, uint8), without dropout."""
        return self._native.gradient(np.ascontiguousarray(tokens), np.ascontiguousarray(targets))

    def encode(self, text: Text) -> np.ndarray[Any, Any]:
        """Text as tokens, which are indices into :attr:`vocabulary`.

        >>> import kuramoto
        >>> kuramoto.load("tales-kuramoto").encode(b"Anna").tolist()
        [6, 37, 37, 24]
        """
        return self._native.encode(text)[0]

    # Looking inside

    def trace(
        self, text: Text, *, hooks: Hooks = None, interventions: Sequence[Intervention] = ()
    ) -> "xr.Dataset":
        """Everything a pass over a text leaves, with named dimensions.

        ====================  ==========================  ============================================
        variable              dimensions                  meaning
        ====================  ==========================  ============================================
        ``phase``             state, token, oscillator    phases entering each layer, and the last
        ``phase_mid``         layer, token, oscillator    phases after the synchronization step
        ``coupling``          layer, head, token, source  A, how much a token couples with each source
        ``query_gate``, ...   layer, token, oscillator    gates, where the model has them
        ``resultant``         layer, token, oscillator    G, the complex mean that a token attends to
        ``local_order``       layer, token                R_t, mean length of G
        ``alignment``         layer, token                cos(theta - arg G), mean over oscillators
        ``global_order``      state                       coherence of all tokens
        ``logits``            token, next                 what follows each byte
        ``bits``              token                       what each byte costs; NaN for the first
        ====================  ==========================  ============================================

        >>> import kuramoto
        >>> inside = kuramoto.load("tales-kuramoto").trace(b"Anna was a merry baker")
        >>> inside.local_order.sel(layer=0).dims
        ('token',)
        >>> inside.coupling.isel(layer=1, head=0, token=-1).sum().round(3).item()
        1.0
        """
        import xarray as xr

        tokens, raw = self._native.encode(text)
        arrays = self._native.trace(text, self._hooks(hooks), _interventions(interventions))
        arrays["resultant"] = arrays.pop("resultant_re") + 1j * arrays.pop("resultant_im")
        by_layer = ("layer", "token", "oscillator")
        dims: Dict[str, Tuple[str, ...]] = {
            "phase": ("state", "token", "oscillator"),
            "coupling": ("layer", "head", "token", "source"),
            "local_order": ("layer", "token"),
            "alignment": ("layer", "token"),
            "global_order": ("state",),
            "logits": ("token", "next"),
        }
        variables = {name: (dims.get(name, by_layer), array) for name, array in arrays.items()}
        logits = arrays["logits"][:-1].astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        chosen = np.take_along_axis(logits, tokens[1:, None].astype(np.intp), axis=1)[:, 0]
        bits = (np.log(np.exp(logits).sum(axis=1)) - chosen) / np.log(2)
        variables["bits"] = (("token",), np.concatenate([[np.nan], bits]))
        config = self.config
        layers, width, n = config["layers"], config["width"], len(raw)
        return xr.Dataset(
            variables,
            coords={
                "layer": np.arange(layers),
                "state": np.arange(layers + 1),
                "token": np.arange(n),
                "source": np.arange(n),
                "oscillator": np.arange(width),
                "head": np.arange(config["heads"]),
                "head_of": ("oscillator", np.arange(width) * config["heads"] // width),
                "next": np.frombuffer(self.vocabulary, dtype=np.uint8),
                "byte": ("token", np.frombuffer(raw, dtype=np.uint8)),
            },
            attrs={"text": raw.decode("utf-8", "replace")},
        )

    def pulls(
        self,
        text: Text,
        layer: int,
        token: int = -1,
        *,
        hooks: Hooks = None,
        interventions: Sequence[Intervention] = (),
    ) -> "xr.Dataset":
        """Who pulls a byte in a layer, by how much in each oscillator.

        ``term`` (source, oscillator) is A sin(theta_source - theta) v. Summed over sources and multiplied by
        ``scale``, the bound, they are the step that the model made:

        >>> import kuramoto
        >>> model = kuramoto.load("tales-kuramoto")
        >>> pulls, inside = model.pulls(b"Anna was", layer=1), model.trace(b"Anna was")
        >>> step = (inside.phase_mid - inside.phase.sel(state=1)).sel(layer=1).isel(token=-1)
        >>> bool(abs(pulls.scale * pulls.term.sum("source") - step).max() < 1e-4)
        True

        ``coupling``, ``size`` (root mean square of a source's part of the step) and ``attraction`` (1 if it
        draws closer in every oscillator, -1 if it drives apart) have one number for each source.
        """
        import xarray as xr

        _, raw = self._native.encode(text)
        layer, token = operator.index(layer), operator.index(token)
        at = token + len(raw) if token < 0 else token
        layers = self.config["layers"]
        if not 0 <= layer < layers:
            raise SettingError(f"layer = {layer} is not allowed: the model has layers 0 to {layers - 1}")
        if not 0 <= at < len(raw):
            raise SettingError(f"token = {token} is not allowed: the text has bytes 0 to {len(raw) - 1}")
        terms, scale, by_size = self._native.pulls(
            text, layer, at, self._hooks(hooks), _interventions(interventions)
        )
        rows = sorted(json.loads(by_size), key=lambda pull: pull["by"])
        of = {
            name: ("source", np.array([row[name] for row in rows]))
            for name in ("coupling", "size", "attraction")
        }
        return xr.Dataset(
            {"term": (("source", "oscillator"), terms), "scale": ((), scale), **of},
            coords={
                "source": np.arange(at + 1),
                "oscillator": np.arange(terms.shape[1]),
                "byte": ("source", np.frombuffer(raw[: at + 1], dtype=np.uint8)),
            },
            attrs={"layer": layer, "token": at},
        )

    def measures(
        self,
        text: Text,
        *,
        against: Sequence[str] = ("untrained", "shuffled", "permuted", "uniform"),
        windows: int = 0,
        seed: int = 0,
        threads: Optional[int] = None,
    ) -> "pd.DataFrame":
        """Order parameters and the other measures of ``kuramoto diagnose``, beside surrogates.

        The text may be of any length; it is read in windows of the context, at most ``windows`` of them. A row
        is a measure in a layer, ``of`` the model or of a surrogate: its mean and standard deviation over
        windows, and the 95% bootstrap interval of the mean.

        >>> import kuramoto
        >>> model = kuramoto.load("tales-kuramoto")
        >>> table = model.measures(b"Anna was a merry baker. " * 50, against=["uniform"])
        >>> sorted(table["of"].unique())
        ['model', 'uniform']
        """
        import pandas as pd

        rows = self._native.measures(text, windows, _several(against), seed, threads)
        columns = ["of", "measure", "layer", "mean", "sd", "low", "high"]
        return pd.DataFrame(json.loads(rows), columns=columns).astype({name: float for name in columns[3:]})

    def lesion(
        self,
        text: Text,
        what: str = "synchronization",
        *,
        layers: Sequence[int] = (),
        head: Optional[int] = None,
        doses: Sequence[float] = (),
        windows: int = 0,
        repeats: int = 3,
        seed: int = 0,
        threads: Optional[int] = None,
    ) -> "pd.DataFrame":
        """How bits per byte rise as part of the model is taken away, as ``kuramoto lesion`` measures it.

        >>> import kuramoto
        >>> model = kuramoto.load("tales-kuramoto")
        >>> table = model.lesion(b"Anna was a merry baker. " * 20, "feed-forward", layers=[1], doses=[0, 1])
        >>> bool(table["rise"].iloc[-1] > 0)
        True
        """
        import pandas as pd

        rows = json.loads(
            self._native.lesion(
                text, what, list(layers), head, [float(x) for x in doses], windows, repeats, seed, threads
            )
        )
        for row in rows:
            interval = row.pop("interval")
            row.update(low=interval["low"], high=interval["high"])
        return pd.DataFrame(rows).astype({"low": float, "high": float})

    def _hooks(self, hooks: Hooks) -> List[Tuple[str, Hook]]:
        if hooks is None:
            return []
        if callable(hooks):
            return [("", hooks)]
        if not isinstance(hooks, MappingClass):
            raise TypeError(
                f"hooks is of type {type(hooks).__name__}: give a function, or a mapping from points to functions"
            )
        config = self.config
        names, layers, heads = _POINTS[config["kind"]], config["layers"], config["heads"]
        for point, hook in hooks.items():
            found = re.fullmatch(r"(?:layer\.(0|[1-9]\d*)(?:\.|$))?(.*)", str(point), re.ASCII)
            layer, rest = found.groups() if found is not None else (None, "")
            head = re.fullmatch(r"attention\.(0|[1-9]\d*)", rest, re.ASCII)
            known = rest in names or head is not None or (rest == "" and layer is not None)
            if not isinstance(point, str) or not known:
                shown = ", ".join([*names, "attention.H", "layer.L"])
                raise SettingError(f"hooks: {point!r} is no point of this model: choose from {shown}")
            # After the last layer there are its phases alone.
            most = layers if rest == names[0] else layers - 1
            if layer is not None and int(layer) > most:
                raise SettingError(f"hooks: {point!r}: the model has layers 0 to {layers - 1}")
            if head is not None and int(head[1]) >= heads:
                raise SettingError(f"hooks: {point!r}: the model has heads 0 to {heads - 1}")
            if not callable(hook):
                raise TypeError(f"the hook of {point!r} is of type {type(hook).__name__}: give a function")
        return list(hooks.items())


def _interventions(interventions: Sequence[Intervention]) -> Optional[str]:
    if isinstance(interventions, MappingClass):
        interventions = [interventions]  # type: ignore[list-item]
    return json.dumps(list(interventions)) if interventions else None


def _several(names: Union[str, Sequence[str]]) -> List[str]:
    """A name alone is a list of one."""
    return [names] if isinstance(names, str) else list(names)


def _restored(
    config: Dict[str, Any], vocabulary: bytes, context: int, dtype: str, parameters: Dict[str, Any]
) -> Model:
    """A model that was pickled."""
    model = Model(config, vocabulary=vocabulary, context=context, dtype=dtype)
    model.parameters.update(parameters)
    return model
