"""`kuramoto.torch` against the float64 fixtures, and against naive loops where there is no fixture.

The module is loaded from its file, as in an export folder: it must need nothing of the package around it.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

CRATES = Path(__file__).resolve().parents[2]
FIXTURES = CRATES / "model/tests/fixtures"
TRAINED = CRATES / "models/trained"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.safetensors"))

torch.set_num_threads(1)


def load_module():
    path = Path(__file__).resolve().parents[1] / "python/kuramoto/torch.py"
    spec = importlib.util.spec_from_file_location("kuramoto_torch", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


kt = load_module()
SWITCHES = [*kt.ABLATIONS, *kt.VARIANTS]
COMBINATIONS = [
    ["shared-drift", "drift-in-values", "wrapped-angles", "unshared-metric-gates"],
    ["fixed-drift", "drift-in-values", "score-transport"],
    ["no-drift", "low-rank-transport", "wrapped-angles"],
    ["low-rank-transport", "value-projection", "per-layer-gates"],
    ["no-metric-gates", "no-value-gate", "shared-feed-forward", "linear-readout"],
    ["unshared-metric-gates", "no-value-gate", "sigmoid-gates", "no-feed-forward", "no-value-bound"],
    ["phase-feed-forward", "shared-feed-forward", "wrapped-angles", "linear-readout"],
    ["phase-feed-forward", "low-rank-transport", "no-value-gate"],
]


# Fixtures


def fixture_config(name):
    """The configuration of a fixture, which has names of its own."""
    document = json.loads((FIXTURES / f"{name}.json").read_text())
    config = document["config"]
    sizes = {"vocab": config["V"], "layers": config["L"], "heads": config["h"]}
    sizes["rotary_base"] = config["rope_base"]
    if document["kind"] == "transformer":
        return kt.TransformerConfig(width=config["d"], dropout=0.0, **sizes)
    rank = config["transport_rank"] or 0
    return kt.KuramotoConfig(
        width=config["k"],
        dropout=0.0,
        metric="transport" if rank else "gates" if config["qk_gates"] else "none",
        gate_activation=config["gate_act"],
        gate_normalization=config["gate_norm"],
        transport_rank=rank or 4,
        per_layer_gates=config["per_layer_gates"],
        value={"circular": "circular", "dense": "projection"}[config["value"]],
        value_gate=config["value_gate"],
        value_bound=config["value_bound"],
        feed_forward=config["ffn"],
        shared_feed_forward=config["shared_ffn"],
        readout=config["readout"],
        **sizes,
    )


def fixture(name, dtype=torch.float64):
    """A fixture's model with its parameters, and all its tensors."""
    tensors = load_file(FIXTURES / f"{name}.safetensors")
    model = kt.build(fixture_config(name)).to(dtype)
    model.load_state_dict(part(tensors, "param."))
    return model, tensors


def part(tensors, prefix):
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def error(got, expected):
    """The largest difference, relative where the expected value is more than 1."""
    got, expected = torch.as_tensor(got).double(), torch.as_tensor(expected).double()
    assert got.shape == expected.shape
    return ((got - expected).abs() / expected.abs().clamp(min=1)).max().item()


def norm_error(got, expected):
    """The norm of the difference of two dictionaries of tensors, relative to the norm of the expected one."""
    difference = sum((got[name].double() - expected[name]).square().sum() for name in expected)
    return (difference / sum(tensor.square().sum() for tensor in expected.values())).sqrt().item()


def gradients(model):
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def test_every_fixture_is_here():
    assert len(NAMES) == 21


@pytest.mark.parametrize("name", NAMES)
def test_float64_matches_to_1e_9(name):
    model, tensors = fixture(name)
    states = [torch.nn.functional.embedding(tensors["tokens"], model.emb)]
    for layer in model.layers:
        layer.register_forward_hook(lambda module, inputs, output: states.append(output))
    logits, loss = model(tensors["tokens"], tensors["targets"])
    loss.backward()
    state = "hidden" if isinstance(model, kt.TransformerLM) else "theta"
    assert error(torch.stack(states), tensors[state]) <= 1e-9
    assert error(logits, tensors["logits"]) <= 1e-9
    assert error(loss.reshape(1), tensors["loss"]) <= 1e-9
    for parameter, gradient in part(tensors, "grad.").items():
        assert error(gradients(model)[parameter], gradient) <= 1e-9, parameter


@pytest.mark.parametrize("name", NAMES)
def test_eight_steps_of_adamw_match_to_1e_9(name):
    model, tensors = fixture(name)
    optimizer = torch.optim.AdamW(model.parameter_groups(0.01, decay="all"), lr=1e-2)
    losses, norms = [], []
    for _ in range(8):
        optimizer.zero_grad()
        loss = model(tensors["tokens"], tensors["targets"])[1]
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        losses.append(loss.detach())
        optimizer.step()
    assert error(torch.stack(losses), tensors["losses8"]) <= 1e-9
    assert error(torch.stack(norms), tensors["norms8"]) <= 1e-9
    for parameter, after in part(tensors, "after8.").items():
        assert error(model.state_dict()[parameter], after) <= 1e-9, parameter


@pytest.mark.parametrize("name", NAMES)
def test_float32_is_within_rounding(name):
    model, tensors = fixture(name, torch.float32)
    logits, loss = model(tensors["tokens"], tensors["targets"])
    loss.backward()
    assert logits.dtype == loss.dtype == torch.float32
    assert norm_error({"logits": logits}, {"logits": tensors["logits"]}) <= 2e-6
    assert norm_error(gradients(model), part(tensors, "grad.")) <= 5e-6


# Naive loops


def naive(config, p, tokens):
    """Logits of one sequence, from the equations with loops over both positions and complex phasors."""
    kh, k, T = config.width // config.heads, config.width, len(tokens)
    theta = [p["emb"][token] for token in tokens]

    def linear(name, x):
        y = p[f"{name}.weight"] @ x
        return y + p[f"{name}.bias"] if f"{name}.bias" in p else y

    def lifted(x):
        return torch.cat((torch.cos(x), torch.sin(x)))

    def gate(x):
        if config.gate_activation != "linear":
            x = (
                torch.log(1 + torch.exp(x))
                if config.gate_activation == "softplus"
                else 1 / (1 + torch.exp(-x))
            )
        for head in range(config.heads if config.gate_normalization else 0):
            block = slice(head * kh, (head + 1) * kh)
            x = torch.cat((x[: block.start], x[block] / x[block].abs().mean(), x[block.stop :]))
        return x

    def bounded(x, name):
        if name not in p:
            return x
        # The first token attends to itself alone and is not moved: without the small number n would be 0.
        r, n = torch.exp(p[name]), torch.sqrt((x * x).sum() / k + 1e-12)
        return x / n * r * torch.tanh(n / r)

    schedule = torch.tensor([config.rotary_base ** (-(j % kh) / kh) for j in range(k)], dtype=torch.float64)
    for index in range(config.layers):
        own = f"layers.{index}."

        def of_layer(name, own=own):
            return own + name if any(key.startswith(own + name) for key in p) else name

        omega = {"none": 0 * schedule, "fixed": schedule}.get(config.drift)
        omega = p[of_layer("omega")] if omega is None else omega
        if config.wrapped_angles:
            theta = [torch.atan2(torch.sin(x), torch.cos(x)) for x in theta]
        psi = [lifted(x) for x in theta]
        ones = torch.ones(k, dtype=torch.float64)
        gq = [gate(linear(of_layer("gates.wq"), x)) if config.metric == "gates" else ones for x in psi]
        gk = [gate(linear(of_layer("gates.wk"), x)) if config.metric == "gates" else ones for x in psi]
        frames = None
        if "transport" in config.metric:
            frames = [linear(of_layer("gates.wf"), x).reshape(k, -1).to(torch.complex128) for x in psi]
        updates = []
        for t in range(T):
            update = []
            for head in range(config.heads):
                block = slice(head * kh, (head + 1) * kh)

                def phasor(angle, block=block):
                    return torch.exp(1j * angle[block])

                scores = []
                for u in range(t + 1):
                    cosines = torch.cos(theta[t] - theta[u] + omega * (t - u))[block]
                    score = (gq[t][block] * gk[u][block] * cosines).sum()
                    if frames is not None:
                        y = frames[t][block].T @ phasor(theta[t] + omega * t)
                        z = frames[u][block].T @ phasor(theta[u] + omega * u)
                        score = score + (y.conj() @ z).real
                    scores.append(p["tau"] / math.sqrt(kh) * score)
                A = torch.softmax(torch.stack(scores), dim=0)
                if config.value == "projection":
                    values = [linear(of_layer("gates.wval"), psi[u])[block] for u in range(t + 1)]
                    update.append(sum(A[u] * values[u] for u in range(t + 1)))
                    continue
                drift = omega if config.drift_in_values else 0 * omega
                G = sum(A[u] * phasor(theta[u] - drift * (t - u)) for u in range(t + 1))
                if config.metric == "transport":
                    mean = sum(A[u] * (frames[u][block].T @ phasor(theta[u])) for u in range(t + 1))
                    G = G + frames[t][block] @ mean
                update.append((phasor(theta[t]).conj() * G).imag)
            update = torch.cat(update)
            if config.value == "circular" and config.value_gate:
                update = update * linear(of_layer("gates.wv"), psi[t])
            updates.append(update)
        theta = [x + bounded(update, f"{own}log_r1") for x, update in zip(theta, updates)]
        ffn = of_layer("ffn")
        for t, x in enumerate(theta):
            if "swiglu" in config.feed_forward:
                features = lifted(x) if config.feed_forward == "phase-swiglu" else x
                gated = linear(f"{ffn}.gate", features)
                hidden = gated * torch.sigmoid(gated) * linear(f"{ffn}.up", features)
                theta[t] = x + bounded(linear(f"{ffn}.down", hidden), f"{own}log_r2")
            elif config.feed_forward == "linear":
                theta[t] = x + bounded(linear(ffn, x), f"{own}log_r2")
    if config.readout == "linear":
        return torch.stack([linear("head", lifted(x)) for x in theta])
    return torch.stack(
        [p["logit_scale"] / math.sqrt(k) * torch.cos(x - p["proto"]).sum(dim=1) for x in theta]
    )


def small(names, heads, **changes):
    sizes = {
        "vocab": 7,
        "width": 8,
        "layers": 2,
        "heads": heads,
        "dropout": 0.0,
        "transport_rank": 2,
        **changes,
    }
    return kt.KuramotoConfig(**sizes).ablate(*names)


def generic(config, seed=0):
    """A model with weights far from any start, and angles beyond a turn so that wrapping does something."""
    model = kt.build(config).double()
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        parameter.data.uniform_(-0.5, 0.5, generator=generator).mul_(12 if name == "emb" else 1)
    return model


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("names", [[], *([name] for name in SWITCHES), *COMBINATIONS], ids=" ".join)
def test_naive_loops_agree(names, heads):
    model = generic(small(names, heads))
    tokens, targets = torch.randint(0, 7, (2, 2, 6), generator=torch.Generator().manual_seed(1))
    logits, loss = model(tokens, targets)
    loss.backward()
    p = {name: tensor.detach().clone().requires_grad_() for name, tensor in model.named_parameters()}
    expected = torch.stack([naive(model.config, p, row.tolist()) for row in tokens])
    torch.nn.functional.cross_entropy(expected.flatten(0, 1), targets.flatten()).backward()
    assert error(logits.detach(), expected.detach()) <= 1e-9
    for name, gradient in gradients(model).items():
        assert p[name].grad is not None, f"{name} is used by the module alone"
        assert error(gradient, p[name].grad) <= 1e-9, name


# Names and counts


@pytest.mark.parametrize("name", NAMES)
def test_names_and_shapes_are_those_of_the_fixtures(name):
    model, tensors = fixture(name)
    parameters = part(tensors, "param.")
    assert {n: t.shape for n, t in model.state_dict().items()} == {n: t.shape for n, t in parameters.items()}


@pytest.mark.parametrize("name", sorted(path.name for path in TRAINED.iterdir()))
def test_names_shapes_and_keys_are_those_of_trained_models(name):
    (checkpoint,) = (TRAINED / name / "checkpoints").iterdir()
    document = json.loads((checkpoint / "config.json").read_text())
    config = kt.config_from_dict(document)
    assert list(config.to_dict().items()) == list(document.items())
    model, tensors = kt.build(config), load_file(checkpoint / "model.safetensors")
    assert {n: t.shape for n, t in model.state_dict().items()} == {n: t.shape for n, t in tensors.items()}
    model.load_state_dict(tensors)


def test_names_of_the_variants():
    def names(*ablations):
        return set(kt.build(small(ablations, 1)).state_dict())

    reference = names()
    assert names("no-drift") == names("fixed-drift") == reference - {"layers.0.omega", "layers.1.omega"}
    assert names("shared-drift") == names("no-drift") | {"omega"}
    assert names("drift-in-values") == names("wrapped-angles") == reference
    frame = {"gates.wf.weight", "gates.wf.bias"}
    metric = {f"gates.{w}.{what}" for w in ("wq", "wk") for what in ("weight", "bias")}
    assert names("score-transport") == names("low-rank-transport") == reference - metric | frame
    of_layers = {f"layers.{i}.{name}" for i in range(2) for name in metric}
    assert names("unshared-metric-gates") == reference - metric | of_layers
    assert names("phase-feed-forward") == reference


def test_no_table_is_part_of_the_state():
    for names in [[], ["fixed-drift"]]:
        model = kt.build(small(names, 2))
        assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}


def test_published_counts():
    def count(config):
        return sum(parameter.numel() for parameter in kt.build(config).parameters())

    assert count(kt.KuramotoConfig()) == 1_003_386
    assert count(kt.KuramotoConfig(width=400)) == 4_968_410
    assert count(kt.KuramotoConfig(vocab=201)) == 1_001_978
    assert count(kt.KuramotoConfig(width=148, layers=6, heads=4)) == 982_882
    assert count(kt.TransformerConfig()) == 974_845
    assert count(kt.TransformerConfig(width=276)) == 4_997_461
    assert count(kt.TransformerConfig(width=100, layers=6)) == 1_006_005


# Configurations


def test_ablations_are_those_of_the_program():
    source = (CRATES / "model/src/ablation.rs").read_text()
    assert re.findall(r'row\("([a-z-]+)"', source) == SWITCHES


@pytest.mark.parametrize("names", [[], *([name] for name in SWITCHES), *COMBINATIONS], ids=" ".join)
def test_configurations_round_trip(names):
    config = small(names, 2)
    assert kt.config_from_dict(json.loads(json.dumps(config.to_dict()))) == config
    switched = {kt.VARIANTS[name][0].replace("_", "-") for name in names if name in kt.VARIANTS}
    switched -= {"metric", "feed-forward"}
    beyond = {"per-layer-metric-gates", "drift", "drift-in-values", "wrapped-angles"}
    assert switched == beyond & set(config.to_dict()), "keys beyond the paper are saved where they are used"


def test_missing_keys_take_defaults():
    assert kt.config_from_dict({"kind": "kuramoto"}) == kt.KuramotoConfig()
    assert kt.config_from_dict({"kind": "transformer", "heads": 4}) == kt.TransformerConfig(heads=4)
    init = {"kind": "kuramoto", "init": {"self-score": 1.0}}
    assert kt.config_from_dict(init).init == kt.KuramotoInit(self_score=1.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "kuramoto", "colour": 1}, "key 'colour' is not known: KuramotoConfig has vocab, width"),
        (
            {"kind": "kuramoto", "init": {"spread": 1}},
            "key 'spread' is not known: KuramotoInit has self-score",
        ),
        ({"kind": "lstm"}, "kind = 'lstm' is not allowed: choose from kuramoto, transformer"),
        ({"kind": "kuramoto", "heads": 3}, "heads = 3 is not allowed: it must divide width = 176"),
        ({"kind": "kuramoto", "vocab": 257}, "vocab = 257 is not allowed: it must be from 1 to 256"),
        ({"kind": "kuramoto", "width": 8.0}, "width = 8.0 is not allowed: it must be a whole number"),
        ({"kind": "kuramoto", "dropout": 1.0}, "dropout = 1.0 is not allowed: it must be at least 0"),
        ({"kind": "kuramoto", "metric": "round"}, "metric = 'round' is not allowed: choose from gates, none"),
        ({"kind": "kuramoto", "value-gate": 1}, "value-gate = 1 is not allowed: it must be true or false"),
        (
            {"kind": "kuramoto", "init": {"attention-radius": 0.0}},
            "init.attention-radius = 0.0 is not allowed",
        ),
        (
            {"kind": "kuramoto", "feed-forward": "none", "shared-feed-forward": True},
            'feed-forward = "none" and shared-feed-forward = true do not go together',
        ),
        ({"kind": "kuramoto", "metric": "transport", "transport-rank": 177}, "it must be from 1 to 176"),
        ({"kind": "transformer", "rotary-base": 0}, "rotary-base = 0 is not allowed: it must be positive"),
    ],
)
def test_wrong_configurations_are_refused(values, message):
    with pytest.raises(ValueError) as refused:
        kt.config_from_dict(values)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["no-attention"], "ablation = 'no-attention' is not allowed: choose from low-rank-transport"),
        (["no-drift", "no-drift"], "no-drift and no-drift do not go together"),
        (["no-drift", "fixed-drift"], "no-drift and fixed-drift do not go together"),
        (["sigmoid-gates", "no-metric-gates"], "there is no gate to shape or normalize"),
        (["no-gate-normalization", "score-transport"], "there is no gate to shape or normalize"),
        (["no-value-gate", "value-projection"], "already replaces the value gate"),
        (["per-layer-gates", "unshared-metric-gates"], "do not go together"),
        (["low-rank-transport", "unshared-metric-gates"], "there are no query and key gates"),
        (["drift-in-values", "no-drift"], "there is no drift for the values to have"),
        (["drift-in-values", "value-projection"], "projected values are no phases"),
        (["drift-in-values", "low-rank-transport"], "the frame transports values without drift"),
        (["no-feed-forward", "shared-feed-forward"], "there is no feed-forward block to share"),
        (["linear-feed-forward", "phase-feed-forward"], "both change the same part; choose one"),
    ],
)
def test_contradictions_are_refused(names, message):
    with pytest.raises(ValueError) as refused:
        kt.KuramotoConfig().ablate(*names)
    assert message in str(refused.value)


# Behaviour


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("names", [[], *([name] for name in SWITCHES), ["transformer"]], ids=" ".join)
def test_nothing_looks_ahead(names, heads):
    transformer = kt.TransformerConfig(vocab=7, width=8, layers=2, heads=heads, dropout=0.0)
    model = generic(transformer if names == ["transformer"] else small(names, heads))
    tokens = torch.randint(0, 7, (1, 9), generator=torch.Generator().manual_seed(2))
    changed = tokens.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 7
    before, after = model(tokens), model(changed)
    assert torch.equal(before[:, :5], after[:, :5])
    assert not torch.equal(before[:, 5:], after[:, 5:])


BOTH = [
    kt.KuramotoConfig(vocab=7, width=8, layers=2, heads=2),
    kt.TransformerConfig(vocab=7, width=8, layers=2, heads=2),
]


@pytest.mark.parametrize("config", BOTH)
def test_dropout_acts_in_training_alone(config):
    model = generic(dataclasses.replace(config, dropout=0.5))
    still = generic(dataclasses.replace(config, dropout=0.0))
    tokens = torch.arange(6)[None]
    assert not torch.equal(model(tokens), model(tokens))
    assert torch.equal(model.eval()(tokens), still(tokens))


@pytest.mark.parametrize("config", BOTH)
def test_attention_and_both_increments_are_dropped(config):
    model = generic(dataclasses.replace(config, dropout=0.5))
    dropped = []
    for layer in model.layers:
        layer.dropout.register_forward_hook(lambda module, inputs, output: dropped.append(module))
    tokens = torch.arange(6)[None]
    model(tokens)
    assert dropped == [layer.dropout for layer in model.layers for increment in range(2)]
    # With the increments left alone, what differs are the attention weights.
    for layer in model.layers:
        layer.dropout.p = 0.0
    assert not torch.equal(model(tokens), model(tokens))


@pytest.mark.parametrize("config", BOTH)
def test_any_device_precision_and_length(config):
    tokens = torch.randint(0, 7, (2, 300))
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        logits, loss = kt.build(config, context=16).to(dtype)(tokens, tokens)
        loss.backward()
        assert logits.dtype == dtype and logits.isfinite().all() and loss.isfinite()
    with torch.device("meta"):
        assert kt.build(config)(torch.zeros(2, 5, dtype=torch.long)).shape == (2, 5, 7)


def test_starts_have_the_distributions_of_the_program():
    config = kt.KuramotoConfig(heads=4).ablate("low-rank-transport")
    model = kt.KuramotoLM(config)
    p = dict(model.named_parameters())
    assert p["emb"].std().item() == pytest.approx(0.3, rel=0.05)
    assert p["proto"].std().item() == pytest.approx(0.3, rel=0.05)
    assert p["gates.wf.weight"].std().item() == pytest.approx(0.02, rel=0.05)
    assert p["tau"].item() == pytest.approx(2 / math.sqrt(44)) and p["logit_scale"].item() == 3
    assert (p["gates.wv.bias"] == 1).all() and (p["gates.wf.bias"] == 0).all()
    assert p["layers.0.log_r1"].item() == p["layers.3.log_r2"].item() == 0
    rates = [10_000 ** (-(j % 44) / 44) for j in range(176)]
    assert torch.allclose(p["layers.2.omega"], torch.tensor(rates))
    edge = 1 / math.sqrt(352)
    assert 0.95 * edge < p["gates.wv.weight"].max() <= edge and p["gates.wv.weight"].min() >= -edge
    t = dict(kt.TransformerLM(kt.TransformerConfig()).named_parameters())
    assert t["emb"].std().item() == pytest.approx(1, rel=0.05)
    assert (t["layers.0.ln1.weight"] == 1).all() and (t["layers.0.wq.bias"] == 0).all()


def test_seeds_decide_the_start():
    first, second = kt.KuramotoLM(small([], 1)), kt.KuramotoLM(small([], 1))
    assert not torch.equal(first.emb, second.emb)
    first.reset_parameters(seed=3)
    second.reset_parameters(seed=3)
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, second.state_dict()[name])


def test_what_decays():
    def decayed(model):
        names = {parameter: name for name, parameter in model.named_parameters()}
        weights, plain = model.parameter_groups(0.1)
        assert weights["weight_decay"] == 0.1 and plain["weight_decay"] == 0.0
        assert len(weights["params"]) + len(plain["params"]) == len(names)
        return {names[parameter] for parameter in weights["params"]}

    kuramoto = kt.KuramotoLM(small(["linear-readout"], 1))
    assert {"gates.wq.weight", "layers.0.ffn.down.weight", "head.weight"} <= decayed(kuramoto)
    assert all(name.endswith(".weight") for name in decayed(kuramoto))
    assert "proto" not in decayed(kt.KuramotoLM(small([], 1)))
    transformer = decayed(kt.TransformerLM(kt.TransformerConfig(vocab=7, width=8)))
    assert "emb" in transformer and "layers.0.ln1.weight" not in transformer
    (everything,) = kuramoto.parameter_groups(0.1, decay="all")
    assert len(everything["params"]) == len(list(kuramoto.parameters()))
    with pytest.raises(ValueError, match="decay = 'none' is not allowed"):
        kuramoto.parameter_groups(0.1, decay="none")


def test_multipliers_of_learning_rates():
    model = kt.KuramotoLM(small([], 1))
    names = {parameter: name for name, parameter in model.named_parameters()}
    groups = model.parameter_groups(0.1, multipliers={"gates": 2.0, "wq": 0.5, "omega": 0.0})
    found = {names[parameter]: group["multiplier"] for group in groups for parameter in group["params"]}
    assert sorted(found) == sorted(names.values())
    assert {name for name, by in found.items() if by == 2} == {
        f"gates.{gate}.{what}" for gate in ("wk", "wv") for what in ("weight", "bias")
    }
    assert {name for name, by in found.items() if by == 0} == {"layers.0.omega", "layers.1.omega"}
    assert found["gates.wq.weight"] == found["tau"] == 1


# Bytes


def test_bytes_and_tokens():
    model = kt.KuramotoLM(small([], 1), vocabulary=b"\n abcxy")
    assert model.encode(b"cab").tolist() == [4, 2, 3]
    assert model.decode(model.encode(b"a cab\n")) == b"a cab\n"
    assert model.encode(b"").shape == (0,)
    with pytest.raises(ValueError, match="byte 0x7a at position 2 is not in the vocabulary of 7 bytes"):
        model.encode(b"abz")
    with pytest.raises(TypeError, match="text is a str and not bytes"):
        model.encode("ab")
    with pytest.raises(ValueError, match="token 7 at position 1 is outside the vocabulary of 7"):
        model.decode([0, 7])
    with pytest.raises(ValueError, match="this model has no vocabulary"):
        kt.KuramotoLM(small([], 1)).encode(b"a")
    with pytest.raises(ValueError, match="vocabulary of 2 bytes is not allowed"):
        kt.KuramotoLM(small([], 1), vocabulary=b"ab")


def test_generation():
    model = kt.KuramotoLM(small([], 1), vocabulary=b"\n abcxy", context=4)
    model.load_state_dict(generic(model.config).state_dict())
    text = b"cab"
    for byte in model.generate(b"cab", 9, temperature=0):
        likeliest = model(model.encode(text[-4:])[None])[0, -1].argmax()
        assert byte == model.decode(likeliest)
        text += byte
    assert len(text) == 12 and model.training
    draws = [b"".join(model.generate(b"cab", 20, seed=seed)) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    greedy = b"".join(model.generate(b"cab", 20, temperature=0))
    assert b"".join(model.generate(b"cab", 20, top_k=1)) == greedy
    for wrong, message in [
        ({"prompt": b""}, "the prompt is empty"),
        ({"temperature": -1}, "temperature = -1"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.generate(**{"prompt": b"a", "n": 1, **wrong})


# Runs: the package is replaced by what the module uses of it
