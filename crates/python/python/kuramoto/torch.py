"""Kuramoto Attention and its matched transformer, as plain PyTorch modules in one file.

This file needs PyTorch and nothing else, so a copy of it works where the package `kuramoto` is not installed.
Names of parameters are those of the weight files that the program `kuramoto` writes.

Names here, symbols of the paper, and where the paper defines them. Every row is of Equation (1), `eq:layer`,
unless it says otherwise. B sequences of T tokens, k oscillators per token, h heads of k/h oscillators each.

    here            paper            shape          meaning
    theta           theta_t          B,T,k          phases of the tokens, in radians
    psi             psi(theta_t)     B,T,2k         the lift (cos theta, sin theta); Section 2
    z               e^{i theta_t}    2,B,h,T,k/h    the same as unit phasors, split into heads
    query_gate      g^q_t            B,h,T,k/h      the diagonal metric; Section 2.0.1, Appendix A (`app:metric`)
    key_gate        g^k_t            B,h,T,k/h
    omega           omega_j          k              drift rates; Section 3.5
    tau             tau              scalar         score scale; Proposition 1 (`prop:coordasc`)
    query, key      s_{t,u}          B,h,T,2k/h     their dot product is the score
    (in attend)     A_{t,u}          B,h,T,T        causal softmax of the scores; Proposition 1
    G               G_{t,j}          2,B,h,T,k/h    attention-weighted resultant; Section 2.0.2
    a               a_{t,j}          B,T,k          Kuramoto direction; Lemma 2 (`lem:weld`)
    gates["wv"]     v(theta_t)       B,T,k          signed value gate; Section 3.4 (`sec:valuepath`)
    bound           bound            B,T,k          keeps an increment within a radius; Section 2.0.2
    log_r1, log_r2  (the radii)      scalar         logarithms of the radii of both bounds
    ffn             SwiGLU(theta_t)  B,T,k          second increment; Section 2.0.3
    proto           phi_{v,j}        V,k            prototype phases of the readout; Section 2.0.4
    frame           (none)           B,h,T,k/h,r    low-rank transport; Table 3 (`tab:abl`)

A layer of the Kuramoto model is `KuramotoLayer`. What the paper leaves open, and what was chosen, is in the
book of the project under "What was reconstructed, and why".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EPSILON = 1e-12
TAU = 2 * math.pi

# ---------------------------------------------------------------------------------------------------------
# Pieces
# ---------------------------------------------------------------------------------------------------------


def widen(x: Tensor) -> Tensor:
    """Half precision to float32, for angles of far positions and for small squares; the rest as it is."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """.., T, k -> .., h, T, k/h. A head is a block of neighbouring oscillators."""
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """.., h, T, k/h -> .., T, k"""
    return x.transpose(-3, -2).flatten(-2)


def lift(theta: Tensor) -> Tensor:
    """psi(theta) = (cos theta, sin theta): first all cosines, then all sines."""
    return torch.cat((theta.cos(), theta.sin()), dim=-1)


def wrap(theta: Tensor) -> Tensor:
    """The same angles in (-pi, pi]. The turns are a constant, so the gradient passes unchanged."""
    turns = torch.ceil(theta.detach() / TAU - 0.5)
    return theta - TAU * turns


def turn(z: Tensor, angle: Tensor) -> Tensor:
    """Phasors turned by an angle: z e^{i angle}. The first dimension holds real and imaginary parts."""
    re, im = z
    cos, sin = angle.cos().to(z.dtype), angle.sin().to(z.dtype)
    return torch.stack((re * cos - im * sin, im * cos + re * sin))


def as_vector(z: Tensor) -> Tensor:
    """Phasors as real vectors: the dot product of two is Re(conj(y) z), a sum of cosines of differences."""
    return torch.cat((z[0], z[1]), dim=-1)


def as_phasors(x: Tensor) -> Tensor:
    """The reverse of `as_vector`."""
    return torch.stack(x.chunk(2, dim=-1))


def rotary_rates(base: float, n: int, like: Tensor) -> Tensor:
    """base^(-j/n) for j = 0 .. n - 1, the geometric rotary schedule (Section 3.5)."""
    j = torch.arange(n, device=like.device, dtype=torch.promote_types(like.dtype, torch.float32))
    return base ** (-j / n)


def angles(rates: Tensor, length: int) -> Tensor:
    """rate times position, T x rates, for positions from 0."""
    rates = widen(rates)
    return torch.outer(torch.arange(length, device=rates.device, dtype=rates.dtype), rates)


def bound(x: Tensor, log_radius: Tensor | None) -> Tensor:
    """x (r/n) tanh(n/r) with n the root mean square of x (Section 2.0.2): keeps direction, stays within r."""
    if log_radius is None:
        return x
    r = widen(log_radius).exp()
    n = (widen(x).square().mean(dim=-1, keepdim=True) + EPSILON).sqrt()
    return (widen(x) * (r / n) * torch.tanh(n / r)).to(x.dtype)


def attend(query: Tensor, key: Tensor, value: Tensor, dropout: float) -> Tensor:
    """sum_u A_{t,u} value_u, where A_t is the softmax of query_t . key_u over u <= t."""
    return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True, scale=1.0)


class SwiGLU(nn.Module):
    """W_down(silu(W_gate x) * W_up x) + b"""

    def __init__(self, inputs: int, hidden: int, outputs: int):
        super().__init__()
        self.gate = nn.Linear(inputs, hidden, bias=False)
        self.up = nn.Linear(inputs, hidden, bias=False)
        self.down = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class PhaseSwiGLU(SwiGLU):
    """SwiGLU(psi(theta)): the same increment for phases that differ by full turns."""

    def forward(self, theta: Tensor) -> Tensor:
        return super().forward(lift(theta))


# ---------------------------------------------------------------------------------------------------------
# The Kuramoto layer
# ---------------------------------------------------------------------------------------------------------


class KuramotoLayer(nn.Module):
    """Equation (1): a synchronization step, then a feed-forward step, both bounded.

    A layer owns its radii, and what the configuration does not share with the other layers.
    """

    def __init__(self, config: KuramotoConfig):
        super().__init__()
        self.config = config
        self.gates = gate_maps(config, of_layer=True)
        self.omega = nn.Parameter(torch.empty(config.width)) if config.drift == "learned" else None
        self.ffn = None if config.shared_feed_forward else feed_forward(config)
        self.log_r1 = nn.Parameter(torch.empty(())) if config.value_bound else None
        self.log_r2 = nn.Parameter(torch.empty(())) if config.feed_forward != "none" else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, theta: Tensor, tau: Tensor, omega: Tensor, gates: Mapping[str, nn.Module], ffn: nn.Module | None
    ) -> Tensor:
        if self.config.wrapped_angles:
            theta = wrap(theta)
        theta = theta + self.dropout(bound(self.synchronization(theta, tau, omega, gates), self.log_r1))
        if ffn is not None:
            theta = theta + self.dropout(bound(ffn(theta), self.log_r2))
        return theta

    def synchronization(
        self, theta: Tensor, tau: Tensor, omega: Tensor, gates: Mapping[str, nn.Module]
    ) -> Tensor:
        """v(theta_t) * a_t, the first increment before its bound."""
        config, heads = self.config, self.config.heads
        psi = lift(theta)
        z = split_heads(as_phasors(psi), heads)
        drift = split_heads(angles(omega, theta.shape[-2]), heads)
        drifted = turn(z, drift)

        # s_{t,u}: cos(theta_t - theta_u + omega (t - u)) is the dot product of phasors at theta + omega t.
        query = key = as_vector(drifted)
        if config.metric == "gates":
            query = as_vector(self.rho(gates["wq"](psi)) * drifted)
            key = as_vector(self.rho(gates["wk"](psi)) * drifted)
        frame = None
        if config.has_frame:
            frame = split_heads(gates["wf"](psi), heads).unflatten(-1, (-1, config.transport_rank))
            contracted = as_vector(contract(frame, drifted))
            query = key = torch.cat((query, contracted), dim=-1)
        query = query * (tau / math.sqrt(config.head_width))
        dropout = config.dropout if self.training else 0.0

        if config.value == "projection":
            return merge_heads(attend(query, key, split_heads(gates["wval"](psi), heads), dropout))

        # G_{t,j}: the mean of the phasors, read in the receiver's rotating frame if values drift too.
        value = as_vector(drifted if config.drift_in_values else z)
        if config.metric == "transport":
            value = torch.cat((value, as_vector(contract(frame, z))), dim=-1)
        mean = attend(query, key, value, dropout)
        G = as_phasors(mean[..., : 2 * config.head_width])
        if config.metric == "transport":
            G = G + expand(frame, as_phasors(mean[..., 2 * config.head_width :]))
        if config.drift_in_values:
            G = turn(G, -drift)

        # a_{t,j} = Im(conj(z) G): the part of G that is tangent to the circle at theta (Lemma 2).
        a = merge_heads(z[0] * G[1] - z[1] * G[0])
        return gates["wv"](psi) * a if config.value_gate else a

    def rho(self, x: Tensor) -> Tensor:
        """Makes gates of the outputs of W_q or W_k (Section 2.0.1)."""
        gate = split_heads(x, self.config.heads)
        if self.config.gate_activation == "softplus":
            gate = F.softplus(gate)
        elif self.config.gate_activation == "sigmoid":
            gate = torch.sigmoid(gate)
        if self.config.gate_normalization:
            # Of positive gates this is the mean; the mean of signed gates might vanish.
            gate = gate / (gate.abs().mean(dim=-1, keepdim=True) + EPSILON)
        return gate


def contract(frame: Tensor, z: Tensor) -> Tensor:
    """F^T z of every token and head (Table 3, low-rank value transport)."""
    return torch.einsum("bhtjr,pbhtj->pbhtr", frame, z)


def expand(frame: Tensor, contracted: Tensor) -> Tensor:
    """F times what was contracted, in the frame of the receiver."""
    return torch.einsum("bhtjr,pbhtr->pbhtj", frame, contracted)


def gate_maps(config: KuramotoConfig, of_layer: bool) -> nn.ModuleDict:
    """The linear maps of psi that a layer has for itself, or those that all layers share."""
    k, outputs = config.width, {}
    if of_layer == (config.per_layer_gates or config.per_layer_metric_gates):
        if config.metric == "gates":
            outputs.update(wq=k, wk=k)
        if config.has_frame:
            outputs.update(wf=k * config.transport_rank)
    if of_layer == config.per_layer_gates:
        if config.value == "projection":
            outputs.update(wval=k)
        elif config.value_gate:
            outputs.update(wv=k)
    return nn.ModuleDict({name: nn.Linear(2 * k, n) for name, n in outputs.items()})


def feed_forward(config: KuramotoConfig) -> nn.Module | None:
    """What maps angles to the second increment (Section 2.0.3)."""
    k = config.width
    if config.feed_forward == "swiglu":
        return SwiGLU(k, 2 * k, k)
    if config.feed_forward == "phase-swiglu":
        return PhaseSwiGLU(2 * k, 2 * k, k)
    if config.feed_forward == "linear":
        return nn.Linear(k, k)
    return None


# ---------------------------------------------------------------------------------------------------------
# The transformer's layer
# ---------------------------------------------------------------------------------------------------------


class TransformerLayer(nn.Module):
    """Pre-norm attention with rotary positions, then SwiGLU (Appendix B, `app:experimental`)."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        d = config.width
        self.ln1 = nn.LayerNorm(d)
        self.wq = nn.Linear(d, d)
        self.wk = nn.Linear(d, d)
        self.wv = nn.Linear(d, d)
        self.wo = nn.Linear(d, d, bias=False)
        self.ln2 = nn.LayerNorm(d)
        self.ffn = SwiGLU(d, 4 * d, d)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.ln1(x)))
        return x + self.dropout(self.ffn(self.ln2(x)))

    def attention(self, x: Tensor) -> Tensor:
        heads = self.config.heads
        query, key, value = (split_heads(w(x), heads) for w in (self.wq, self.wk, self.wv))
        query = self.rope(query) / math.sqrt(self.config.head_width)
        dropout = self.config.dropout if self.training else 0.0
        return self.wo(merge_heads(attend(query, self.rope(key), value, dropout)))

    def rope(self, x: Tensor) -> Tensor:
        """Turns coordinate i with i + half; the last of an odd number stays."""
        half = self.config.head_width // 2
        turning, rest = x[..., : 2 * half], x[..., 2 * half :]
        drift = angles(rotary_rates(self.config.rotary_base, half, like=x), x.shape[-2])
        return torch.cat((as_vector(turn(as_phasors(turning), drift)), rest), dim=-1)


# ---------------------------------------------------------------------------------------------------------
# Language models
# ---------------------------------------------------------------------------------------------------------


class LanguageModel(nn.Module):
    """What both models have in common: loss, bytes, runs, generation and groups for an optimizer.

    `vocabulary` are the distinct bytes of the corpus in order, so that token i is byte `vocabulary[i]`; None if
    only tokens are used. `context` is the length that the model was trained at. Neither limits `forward`, which
    is defined for sequences of any length.
    """

    phases: ClassVar[frozenset] = frozenset()

    def __init__(self, config: Any, vocabulary: bytes | None, context: int):
        super().__init__()
        if vocabulary is not None and len(vocabulary) != config.vocab:
            raise ValueError(
                f"vocabulary of {len(vocabulary)} bytes is not allowed: the configuration has vocab = "
                f"{config.vocab}; give the {config.vocab} distinct bytes of the corpus"
            )
        if vocabulary is not None and list(vocabulary) != sorted(set(vocabulary)):
            raise ValueError("the vocabulary must be distinct bytes in order")
        self.config = config
        self.vocabulary = vocabulary
        self.context = context

    def logits(self, tokens: Tensor) -> Tensor:
        raise NotImplementedError

    def start(self, name: str, parameter: Tensor, generator: torch.Generator | None) -> None:
        raise NotImplementedError

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Any:
        """Tokens (B x T) to logits (B x T x V); with targets, also the mean cross-entropy in nats."""
        logits = self.logits(tokens)
        if targets is None:
            return logits
        return logits, F.cross_entropy(widen(logits).flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def reset_parameters(self, seed: int | None = None) -> None:
        """Draws every parameter anew from the distributions that the program starts from."""
        generator = None if seed is None else torch.Generator(self.emb.device).manual_seed(seed)
        for name, parameter in self.named_parameters():
            self.start(name, parameter, generator)

    def parameter_groups(
        self, weight_decay: float, decay: str = "weights", multipliers: Mapping[str, float] = {}
    ) -> list[dict[str, Any]]:
        """Groups for `torch.optim.AdamW`. "weights" are the matrices of linear maps and the transformer's
        embedding; phases, rates, biases, norms and scalars do not decay. "all" is every parameter. The learning
        rate of a parameter is to be multiplied by its group's "multiplier": the product of what `multipliers`
        has for the parts of its name."""
        if decay not in ("weights", "all"):
            raise not_allowed("decay", decay, 'choose "weights" or "all"')
        groups: dict[tuple[bool, float], dict[str, Any]] = {}
        for name, parameter in self.named_parameters():
            decays = decay == "all" or (parameter.ndim == 2 and name not in self.phases)
            multiplier = math.prod(multipliers.get(part, 1.0) for part in name.split("."))
            group = {"params": [], "weight_decay": weight_decay if decays else 0.0, "multiplier": multiplier}
            groups.setdefault((not decays, multiplier), group)["params"].append(parameter)
        return [groups[key] for key in sorted(groups)]

    # Bytes and tokens

    def encode(self, text: bytes) -> Tensor:
        """Bytes to tokens (T), on the model's device."""
        vocabulary = self._known_vocabulary()
        if isinstance(text, str):
            raise TypeError('text is a str and not bytes: encode it first, as in text.encode("utf-8")')
        unknown = text.translate(None, delete=vocabulary)
        if unknown:
            raise ValueError(
                f"byte 0x{unknown[0]:02x} at position {text.index(unknown[:1])} is not in the vocabulary of "
                f"{len(vocabulary)} bytes: leave it out, or train on a corpus that has it"
            )
        table = bytes.maketrans(vocabulary, bytes(range(len(vocabulary))))
        return torch.tensor(list(text.translate(table)), dtype=torch.long, device=self.emb.device)

    def decode(self, tokens: Tensor) -> bytes:
        """Tokens to bytes."""
        vocabulary, tokens = self._known_vocabulary(), torch.as_tensor(tokens).flatten().tolist()
        for position, token in enumerate(tokens):
            if not 0 <= token < len(vocabulary):
                raise ValueError(
                    f"token {token} at position {position} is outside the vocabulary of {len(vocabulary)}: "
                    f"tokens run from 0 to {len(vocabulary) - 1}"
                )
        return bytes(vocabulary[token] for token in tokens)

    def _known_vocabulary(self) -> bytes:
        if self.vocabulary is None:
            raise ValueError(
                "this model has no vocabulary: give it one, as in KuramotoLM(config, vocabulary=bytes), "
                "to turn bytes into tokens"
            )
        return self.vocabulary

    # Generation

    def generate(
        self,
        prompt: bytes,
        n: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        seed: int | None = None,
    ) -> Iterator[bytes]:
        """Yields n bytes that go on from the prompt, one at a time. Temperature 0 takes the likeliest byte.

        Every byte reads the last `context` bytes anew: plain, and slow beside a program that keeps them.
        """
        if not prompt:
            raise ValueError("the prompt is empty: give at least one byte")
        if not 0 <= temperature < math.inf:
            raise not_allowed("temperature", temperature, "it must be finite and at least 0")
        tokens = self.encode(prompt)
        generator = torch.Generator(tokens.device)
        generator.seed() if seed is None else generator.manual_seed(seed)
        return self._generate(tokens, n, temperature, top_k, generator)

    def _generate(
        self, tokens: Tensor, n: int, temperature: float, top_k: int | None, generator: torch.Generator
    ) -> Iterator[bytes]:
        for _ in range(n):
            tokens = tokens[-self.context :]
            logits = self._next_logits(tokens)
            if temperature == 0:
                token = logits.argmax(dim=-1, keepdim=True)
            else:
                if top_k:
                    least = logits.topk(min(top_k, len(logits))).values[-1]
                    logits = logits.masked_fill(logits < least, -math.inf)
                token = torch.multinomial((logits / temperature).softmax(dim=-1), 1, generator=generator)
            tokens = torch.cat((tokens, token))
            yield self.decode(token)

    @torch.no_grad()
    def _next_logits(self, tokens: Tensor) -> Tensor:
        training = self.training
        try:
            return widen(self.eval().logits(tokens[None])[0, -1])
        finally:
            self.train(training)

    # Runs of the program `kuramoto`

    @classmethod
    def from_run(cls, path: Any, which: str = "best") -> Any:
        """A trained model from a run folder, or by the name of a model that comes with the program."""
        trained = package().Run(path).model(which)
        config = config_from_dict(trained.config)
        found = model_class(config)
        if cls not in (found, LanguageModel):
            raise ValueError(
                f"{path} holds a {config.kind}: open it with {found.__name__}.from_run, or with "
                "kuramoto.torch.from_run for either model"
            )
        model = found(config, trained.vocabulary, trained.context)
        model.load_state_dict({name: torch.tensor(array) for name, array in trained.parameters.items()})
        return model.eval()

    def save(
        self,
        path: Any,
        *,
        corpus: Any,
        step: int,
        rows: Any = (),
        optimizer: torch.optim.Optimizer | None = None,
        keys: Mapping[str, Any] | None = None,
        test_bits_per_byte: float | None = None,
        device: str | None = None,
        locked: bool = False,
    ) -> Any:
        """Saves it as a run folder that the program reads, or as a further checkpoint of one.

        `corpus` is the `kuramoto.Corpus` that it was trained on, and `rows` are its metrics step by step. With
        its AdamW optimizer, training can also be resumed by the program. See `kuramoto.save_run`. `locked` says
        that the caller holds the run's lock.
        """
        if self.vocabulary not in (None, corpus.vocabulary):
            raise ValueError(
                "the vocabulary of this model is not that of the corpus: its tokens mean other bytes"
            )
        return package().save_run(
            path,
            self.config.to_dict(),
            {name: as_array(parameter) for name, parameter in self.named_parameters()},
            corpus=corpus,
            step=step,
            context=self.context,
            rows=rows,
            moments=None if optimizer is None else self.moments(optimizer),
            keys=keys,
            test_bits_per_byte=test_bits_per_byte,
            device=device or f"PyTorch {torch.__version__}, {next(self.parameters()).device.type}",
            locked=locked,
        )

    def moments(self, optimizer: torch.optim.Optimizer) -> tuple[dict[str, Any], dict[str, Any]]:
        """The first and second moments of AdamW by name; of a parameter that it has not updated yet, zeros."""

        def of(key: str) -> dict[str, Any]:
            states = ((name, p, optimizer.state.get(p, {})) for name, p in self.named_parameters())
            return {name: as_array(state.get(key, torch.zeros_like(p))) for name, p, state in states}

        return of("exp_avg"), of("exp_avg_sq")


class KuramotoLM(LanguageModel):
    """Phases of the bytes, layers of Equation (1), and a readout by phase alignment."""

    phases = frozenset({"emb", "proto"})

    def __init__(self, config: KuramotoConfig, vocabulary: bytes | None = None, context: int = 256):
        super().__init__(config, vocabulary, context)
        V, k = config.vocab, config.width
        self.emb = nn.Parameter(torch.empty(V, k))
        self.gates = gate_maps(config, of_layer=False)
        self.tau = nn.Parameter(torch.empty(()))
        self.omega = nn.Parameter(torch.empty(k)) if config.drift == "shared" else None
        self.ffn = feed_forward(config) if config.shared_feed_forward else None
        self.layers = nn.ModuleList(KuramotoLayer(config) for _ in range(config.layers))
        if config.readout == "phase":
            self.proto = nn.Parameter(torch.empty(V, k))
            self.logit_scale = nn.Parameter(torch.empty(()))
        else:
            self.head = nn.Linear(2 * k, V)
        self.reset_parameters()

    def logits(self, tokens: Tensor) -> Tensor:
        theta = F.embedding(tokens, self.emb)
        for layer in self.layers:
            gates = {**self.gates, **layer.gates}
            ffn = self.ffn if self.config.shared_feed_forward else layer.ffn
            theta = layer(theta, self.tau, self.drift_rates(layer), gates, ffn)
        if self.config.readout == "linear":
            return self.head(lift(theta))
        # sum_j cos(theta_j - phi_{v,j}) as a dot product (Section 2.0.4)
        return self.logit_scale / math.sqrt(self.config.width) * F.linear(lift(theta), lift(self.proto))

    def drift_rates(self, layer: KuramotoLayer) -> Tensor:
        """omega of a layer, learned or not."""
        if self.config.drift == "learned":
            return layer.omega
        if self.config.drift == "shared":
            return self.omega
        schedule = self.rotary_schedule()
        return schedule if self.config.drift == "fixed" else torch.zeros_like(schedule)

    def rotary_schedule(self) -> Tensor:
        """Where omega starts: the same in every head."""
        config = self.config
        return rotary_rates(config.rotary_base, config.head_width, like=self.emb).repeat(config.heads)

    def start(self, name: str, parameter: Tensor, generator: torch.Generator | None) -> None:
        init, last = self.config.init, name.split(".")[-1]
        constants = {
            "tau": init.self_score / math.sqrt(self.config.head_width),
            "logit_scale": init.logit_scale,
            "log_r1": math.log(init.attention_radius),
            "log_r2": math.log(init.feed_forward_radius),
            "bias": init.value_gate_bias if name.endswith("wv.bias") else 0.0,
        }
        if last in constants:
            parameter.fill_(constants[last])
        elif last == "omega":
            parameter.copy_(self.rotary_schedule())
        elif name == "emb":
            parameter.normal_(0, init.embedding_spread, generator=generator)
        elif name == "proto":
            parameter.normal_(0, init.prototype_spread, generator=generator)
        elif name.endswith("wf.weight"):
            parameter.normal_(0, init.frame_spread, generator=generator)
        else:
            start_linear(parameter, generator)


class TransformerLM(LanguageModel):
    """The transformer of Appendix B, matched to the Kuramoto model in parameters."""

    def __init__(self, config: TransformerConfig, vocabulary: bytes | None = None, context: int = 256):
        super().__init__(config, vocabulary, context)
        self.emb = nn.Parameter(torch.empty(config.vocab, config.width))
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config.layers))
        self.head = nn.Linear(config.width, config.vocab)
        self.reset_parameters()

    def logits(self, tokens: Tensor) -> Tensor:
        x = F.embedding(tokens, self.emb)
        for layer in self.layers:
            x = layer(x)
        return self.head(F.layer_norm(x, (self.config.width,)))

    def start(self, name: str, parameter: Tensor, generator: torch.Generator | None) -> None:
        if name == "emb":
            parameter.normal_(0, self.config.embedding_spread, generator=generator)
        elif parameter.ndim == 2:
            start_linear(parameter, generator)
        else:
            parameter.fill_(1.0 if name.endswith("weight") else 0.0)


def as_array(tensor: Tensor) -> Any:
    """For NumPy, as float32."""
    return tensor.detach().to("cpu", torch.float32).numpy()


def start_linear(weight: Tensor, generator: torch.Generator | None) -> None:
    """Uniform within 1 / sqrt(inputs)."""
    edge = 1 / math.sqrt(weight.shape[1])
    weight.uniform_(-edge, edge, generator=generator)


def model_class(config: KuramotoConfig | TransformerConfig) -> type[LanguageModel]:
    return KuramotoLM if isinstance(config, KuramotoConfig) else TransformerLM


def build(
    config: KuramotoConfig | TransformerConfig, vocabulary: bytes | None = None, context: int = 256
) -> LanguageModel:
    """The model of a configuration."""
    return model_class(config)(config, vocabulary, context)


def from_run(path: Any, which: str = "best") -> LanguageModel:
    """Either model from a run folder, or by the name of a model that comes with the program."""
    return LanguageModel.from_run(path, which)


def package() -> Any:
    """The package `kuramoto`, which reads and writes runs and is needed for nothing else here."""
    try:
        import kuramoto
    except ImportError as error:
        message = "runs are read and written by the package kuramoto: pip install kuramoto-attention"
        raise ImportError(message) from error
    return kuramoto


# ---------------------------------------------------------------------------------------------------------
# Configurations
# ---------------------------------------------------------------------------------------------------------

CHOICES = {
    "metric": ("gates", "none", "transport", "score-transport"),
    "gate_activation": ("softplus", "sigmoid", "linear"),
    "drift": ("learned", "shared", "fixed", "none"),
    "value": ("circular", "projection"),
    "feed_forward": ("swiglu", "phase-swiglu", "linear", "none"),
    "readout": ("phase", "linear"),
}

# Keys beyond the paper's switches are only saved where they are used.
UNSAVED_AT_DEFAULT = {"per_layer_metric_gates", "drift", "drift_in_values", "wrapped_angles"}

# The rows of the paper's Table 3 (`tab:abl`), each one switch away from the reference.
ABLATIONS = {
    "low-rank-transport": ("metric", "transport"),
    "no-feed-forward": ("feed_forward", "none"),
    "value-projection": ("value", "projection"),
    "no-value-gate": ("value_gate", False),
    "no-metric-gates": ("metric", "none"),
    "linear-feed-forward": ("feed_forward", "linear"),
    "per-layer-gates": ("per_layer_gates", True),
    "shared-feed-forward": ("shared_feed_forward", True),
    "no-gate-normalization": ("gate_normalization", False),
    "no-value-bound": ("value_bound", False),
    "linear-readout": ("readout", "linear"),
    "sigmoid-gates": ("gate_activation", "sigmoid"),
    "linear-gates": ("gate_activation", "linear"),
}

# What the paper discusses and has no row for.
VARIANTS = {
    "no-drift": ("drift", "none"),
    "fixed-drift": ("drift", "fixed"),
    "shared-drift": ("drift", "shared"),
    "drift-in-values": ("drift_in_values", True),
    "wrapped-angles": ("wrapped_angles", True),
    "unshared-metric-gates": ("per_layer_metric_gates", True),
    "score-transport": ("metric", "score-transport"),
    "phase-feed-forward": ("feed_forward", "phase-swiglu"),
}


def not_allowed(name: str, value: Any, allowed: str) -> ValueError:
    return ValueError(f"{name} = {value!r} is not allowed: {allowed}")


def conflict(first: str, second: str, why: str) -> ValueError:
    return ValueError(f"{first} and {second} do not go together: {why}")


class Config:
    """What configurations have in common: the form of `config.json`, and checks of single values."""

    kind: ClassVar[str | None] = None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Any:
        """From the keys of `config.json`. Keys that are missing take their defaults; others are refused."""
        known = {f.name.replace("_", "-"): f for f in fields(cls)}
        arguments = {}
        for key, value in values.items():
            if key == "kind" and cls.kind is not None:
                if value != cls.kind:
                    raise not_allowed("kind", value, f"{cls.__name__} takes {cls.kind!r}")
                continue
            if key not in known:
                raise ValueError(f"key {key!r} is not known: {cls.__name__} has {', '.join(known)}")
            nested = is_dataclass(known[key].default_factory)
            arguments[known[key].name] = known[key].default_factory.from_dict(value) if nested else value
        return cls(**arguments)

    def to_dict(self) -> dict[str, Any]:
        """As `config.json` has it."""
        values = {} if self.kind is None else {"kind": self.kind}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in UNSAVED_AT_DEFAULT and value == f.default:
                continue
            values[f.name.replace("_", "-")] = value.to_dict() if isinstance(value, Config) else value
        return values

    def check_values(self) -> None:
        """Every value has the type of its default; a word is one of its choices."""
        for f in fields(self):
            name, value = f.name.replace("_", "-"), getattr(self, f.name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if isinstance(f.default, bool):
                if not isinstance(value, bool):
                    raise not_allowed(name, value, "it must be true or false")
            elif isinstance(f.default, int):
                if not number or not isinstance(value, int):
                    raise not_allowed(name, value, "it must be a whole number")
            elif isinstance(f.default, float):
                if not number or not math.isfinite(value):
                    raise not_allowed(name, value, "it must be a finite number")
            elif isinstance(f.default, str) and value not in CHOICES[f.name]:
                raise not_allowed(name, value, f"choose from {', '.join(CHOICES[f.name])}")

    def check_sizes(self) -> None:
        for name, least, most in (
            ("vocab", 1, 256), ("width", 1, 16_384), ("layers", 1, 256), ("heads", 1, self.width)
        ):  # fmt: skip
            if not least <= getattr(self, name) <= most:
                raise not_allowed(name, getattr(self, name), f"it must be from {least} to {most}")
        if self.width % self.heads:
            raise not_allowed("heads", self.heads, f"it must divide width = {self.width}")
        if not 0 <= self.dropout < 1:
            raise not_allowed("dropout", self.dropout, "it must be at least 0 and less than 1")
        if not self.rotary_base > 0:
            raise not_allowed("rotary-base", self.rotary_base, "it must be positive and finite")

    @property
    def head_width(self) -> int:
        """Oscillators or channels per head."""
        return self.width // self.heads


@dataclass(frozen=True)
class KuramotoInit(Config):
    """Where the parameters of the Kuramoto model start."""

    self_score: float = 2.0  # tau sqrt(k/h): the score of a token with itself
    logit_scale: float = 3.0
    embedding_spread: float = 0.3  # standard deviation of embedding phases, radians
    prototype_spread: float = 0.3  # standard deviation of prototype phases, radians
    value_gate_bias: float = 1.0
    attention_radius: float = 1.0  # radians
    feed_forward_radius: float = 1.0  # radians
    frame_spread: float = 0.02  # standard deviation of low-rank frame entries

    def __post_init__(self) -> None:
        self.check_values()
        for name in ("attention_radius", "feed_forward_radius"):
            if not getattr(self, name) > 0:
                name, value = f"init.{name.replace('_', '-')}", getattr(self, name)
                raise not_allowed(name, value, "it must be positive and finite")


@dataclass(frozen=True)
class KuramotoConfig(Config):
    """The Kuramoto model. Defaults are the paper's reference at one million parameters."""

    kind: ClassVar[str] = "kuramoto"

    vocab: int = 205  # V, distinct bytes of the corpus
    width: int = 176  # k, oscillators per token
    layers: int = 4  # L
    heads: int = 1  # h, dividing k
    dropout: float = 0.1  # of attention weights and of both increments, while training
    metric: str = "gates"  # what weighs phase alignment in the score
    gate_activation: str = "softplus"
    gate_normalization: bool = True
    transport_rank: int = 4  # r of the low-rank frame
    per_layer_gates: bool = False  # every layer has gate maps of its own
    per_layer_metric_gates: bool = False  # only query and key gate maps of its own
    drift: str = "learned"  # how the score knows of positions
    drift_in_values: bool = False  # values are read in the receiver's rotating frame
    wrapped_angles: bool = False  # phases are taken to (-pi, pi] at the start of each layer
    value: str = "circular"  # what attention averages
    value_gate: bool = True
    value_bound: bool = True
    feed_forward: str = "swiglu"
    shared_feed_forward: bool = False  # one block serves all layers
    readout: str = "phase"
    rotary_base: float = 10_000.0
    init: KuramotoInit = field(default_factory=KuramotoInit)

    def __post_init__(self) -> None:
        self.check_values()
        self.check_sizes()
        if self.has_frame and not 1 <= self.transport_rank <= self.head_width:
            allowed = f"it must be from 1 to {self.head_width}"
            raise not_allowed("transport-rank", self.transport_rank, allowed)
        if self.feed_forward == "none" and self.shared_feed_forward:
            why = "there is no feed-forward block to share; set shared-feed-forward = false"
            raise conflict('feed-forward = "none"', "shared-feed-forward = true", why)
        if self.per_layer_metric_gates and self.metric != "gates":
            why = 'there are no query and key gates to give each layer; set metric = "gates"'
            raise conflict("per-layer-metric-gates = true", "a metric without gates", why)
        if self.per_layer_metric_gates and self.per_layer_gates:
            why = "the latter gives each layer all gates; choose one"
            raise conflict("per-layer-metric-gates = true", "per-layer-gates = true", why)
        if self.drift_in_values and self.value != "circular":
            why = 'projected values are no phases; set value = "circular"'
            raise conflict("drift-in-values = true", 'value = "projection"', why)
        if self.drift_in_values and self.metric == "transport":
            why = 'the frame transports values without drift; set metric = "score-transport"'
            raise conflict("drift-in-values = true", 'metric = "transport"', why)
        if self.drift_in_values and self.drift == "none":
            why = "there is no drift for the values to have; choose one"
            raise conflict("drift-in-values = true", 'drift = "none"', why)

    @property
    def has_frame(self) -> bool:
        """Whether a low-rank frame is in the score."""
        return self.metric in ("transport", "score-transport")

    def ablate(self, *names: str) -> KuramotoConfig:
        """Switched by rows of the paper's Table 3, or by variants beyond it."""
        switches: dict[str, tuple[str, Any]] = {}
        for name in names:
            if name not in ABLATIONS and name not in VARIANTS:
                rows, variants = ", ".join(ABLATIONS), ", ".join(VARIANTS)
                allowed = f"choose from {rows}, or beyond the paper's table {variants}"
                raise not_allowed("ablation", name, allowed)
            key, value = {**ABLATIONS, **VARIANTS}[name]
            if key in switches:
                raise conflict(switches[key][0], name, "both change the same part; choose one")
            switches[key] = (name, value)
        switched = replace(self, **{key: value for key, (_, value) in switches.items()})
        # A switch of what another one has removed would change nothing.
        if switched.metric != "gates" and "metric" in switches:
            for key in switches.keys() & {"gate_activation", "gate_normalization"}:
                why = "without query and key gates there is no gate to shape or normalize; choose one"
                raise conflict(switches["metric"][0], switches[key][0], why)
        if "value" in switches and "value_gate" in switches:
            why = "the value projection already replaces the value gate; drop it"
            raise conflict(switches["value"][0], switches["value_gate"][0], why)
        return switched


@dataclass(frozen=True)
class TransformerConfig(Config):
    """The matched transformer. Defaults are the paper's at one million parameters."""

    kind: ClassVar[str] = "transformer"

    vocab: int = 205  # V, distinct bytes of the corpus
    width: int = 120  # d, channels per token
    layers: int = 4  # L
    heads: int = 1  # h, dividing d
    dropout: float = 0.1  # of attention weights and of both increments, while training
    rotary_base: float = 10_000.0
    embedding_spread: float = 1.0  # standard deviation that the embedding starts with

    def __post_init__(self) -> None:
        self.check_values()
        self.check_sizes()


def config_from_dict(values: Mapping[str, Any]) -> KuramotoConfig | TransformerConfig:
    """The configuration of either model, which its key "kind" names."""
    kinds = {config.kind: config for config in (KuramotoConfig, TransformerConfig)}
    if values.get("kind") not in kinds:
        raise not_allowed("kind", values.get("kind"), f"choose from {', '.join(kinds)}")
    return kinds[values["kind"]].from_dict(values)
