"""Folders of `kuramoto export --to hf` in Hugging Face Transformers, without a network."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Transformers reads these when it is imported.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="kuramoto-hf-")

import kuramoto
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, pipeline
from transformers.utils import logging

CRATES = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).resolve().parents[1] / "python/kuramoto"
MODELS = ["enwik8-kuramoto-1m", "enwik8-transformer-1m", "tales-kuramoto"]
PROMPTS = {
    "enwik8-kuramoto-1m": "The city of ",
    "enwik8-transformer-1m": "The city of ",
    "tales-kuramoto": "Anna was ",
}
FILES = {
    "README.md",
    "config.json",
    "configuration_kuramoto.py",
    "generation_config.json",
    "kuramoto_torch.py",
    "model.safetensors",
    "modeling_kuramoto.py",
    "tokenization_kuramoto.py",
    "tokenizer_config.json",
    "vocabulary.json",
}

torch.set_num_threads(1)
logging.disable_progress_bar()


def export(model, folder):
    kuramoto.Run(model).export(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {model: export(model, tmp_path_factory.mktemp("hf") / model) for model in MODELS}


@pytest.fixture(scope="module", params=MODELS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def folder(folders, name):
    return folders[name]


@pytest.fixture(scope="module")
def model(folder):
    return AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)


@pytest.fixture(scope="module")
def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=True)


@pytest.fixture(scope="module")
def plain(name):
    """The plain module with the weights of the trained model, which no export has touched."""
    spec = importlib.util.spec_from_file_location("kuramoto_torch", SOURCE / "torch.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    run = CRATES / "models/trained" / name
    (checkpoint,) = (run / "checkpoints").iterdir()
    config = module.config_from_dict(json.loads((checkpoint / "config.json").read_text()))
    vocabulary = bytes(json.loads((run / "corpus.json").read_text())["vocabulary"])
    plain = module.build(config, vocabulary, context=256)
    plain.load_state_dict(load_file(checkpoint / "model.safetensors"))
    return plain.eval()


def encoded(tokenizer, text):
    return tokenizer(text, return_tensors="pt")


# What is in a folder


def test_the_files(folder):
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / "kuramoto_torch.py").read_text() == (SOURCE / "torch.py").read_text()
    for path in (SOURCE / "hf").glob("*.py"):
        assert (folder / path.name).read_text() == path.read_text()


def test_the_model_card(folder, name):
    _, header, card = (folder / "README.md").read_text().split("---\n", 2)
    assert "library_name: transformers" in header and "pipeline_tag: text-generation" in header
    assert name in card


def test_the_weights(folder, plain):
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert set(file.keys()) == {f"lm.{name}" for name in plain.state_dict()}
        for name, tensor in plain.state_dict().items():
            assert torch.equal(file.get_tensor(f"lm.{name}"), tensor)


def test_the_configuration(folder, plain):
    config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    assert config.model_type == "kuramoto-attention"
    assert config.model == plain.config.to_dict()
    assert bytes(config.vocabulary) == plain.vocabulary
    assert config.vocab_size == plain.config.vocab and config.context == 256


# The tokenizer


def test_text_is_encoded_byte_by_byte(tokenizer, plain, name):
    text = PROMPTS[name] + ("Zoë ,\n" if name != "tales-kuramoto" else "a ,\n")
    ids = tokenizer(text)["input_ids"]
    assert ids == plain.encode(text.encode()).tolist(), "nothing is added"
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert len(tokenizer) == len(plain.vocabulary)


def test_unknown_bytes_are_refused(tokenizer, plain):
    with pytest.raises(ValueError) as refused:
        tokenizer("ab\x00c")
    size = len(plain.vocabulary)
    assert f"byte 0x00 at position 2 is not in the vocabulary of {size} bytes" in str(refused.value)


def test_half_a_character_is_replaced(folders):
    tokenizer = AutoTokenizer.from_pretrained(folders["enwik8-kuramoto-1m"], trust_remote_code=True)
    assert tokenizer.decode(tokenizer("aé")["input_ids"][:2]) == "a\ufffd"


# The model


def test_logits_are_those_of_the_plain_module(model, plain):
    generator = torch.Generator().manual_seed(0)
    # 300 tokens are more than the context, and nothing is cut off.
    tokens = torch.randint(0, plain.config.vocab, (2, 300), generator=generator)
    assert model.dtype == torch.float32 and not model.training
    with torch.no_grad():
        assert torch.equal(model(tokens).logits, plain(tokens))
        assert torch.equal(model(tokens, return_dict=False)[0], plain(tokens))


def test_the_loss_is_that_of_shifted_labels(model, plain):
    tokens = torch.randint(0, plain.config.vocab, (2, 33), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        loss = plain(tokens[:, :-1], tokens[:, 1:])[1]
        assert torch.allclose(model(tokens, labels=tokens).loss, loss)
        labels = tokens.clone()
        labels[:, 17:] = -100
        assert torch.allclose(model(tokens, labels=labels).loss, plain(tokens[:, :16], tokens[:, 1:17])[1])


def test_every_parameter_gets_a_gradient(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).train()
    tokens = torch.arange(32)[None]
    model(tokens, labels=tokens).loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_greedy_generation_is_that_of_the_plain_module(model, tokenizer, plain, name):
    prompt = PROMPTS[name]
    tokens = model.generate(**encoded(tokenizer, prompt), do_sample=False, max_new_tokens=60)[0]
    expected = prompt.encode() + b"".join(plain.generate(prompt.encode(), 60, temperature=0))
    assert plain.decode(tokens) == expected


def test_sampling(model, tokenizer, name):
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(model.generate(**encoded(tokenizer, PROMPTS[name]), max_new_tokens=40)[0].tolist())
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == len(PROMPTS[name]) + 40


def test_a_cache_changes_nothing(model, tokenizer, name):
    inputs = encoded(tokenizer, [PROMPTS[name], PROMPTS[name][::-1]])
    texts = [model.generate(**inputs, do_sample=False, max_new_tokens=8, use_cache=use) for use in (0, 1)]
    assert torch.equal(*texts)


def test_padding_is_refused(model):
    tokens = torch.zeros(2, 5, dtype=torch.long)
    mask = torch.ones_like(tokens)
    assert model(tokens, attention_mask=mask).logits.shape[:2] == (2, 5)
    mask[0, 0] = 0
    for call in (model, model.generate):
        with pytest.raises(ValueError, match="attention_mask has zeros, and this model takes no padding"):
            call(tokens, attention_mask=mask)


def test_a_new_model_starts_as_the_plain_module_does(folder, plain):
    config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    model = AutoModelForCausalLM.from_config(config, trust_remote_code=True)
    fresh = type(plain)(plain.config)
    for name, parameter in fresh.named_parameters():
        ours = model.lm.get_parameter(name)
        spread = parameter.std() if parameter.numel() > 1 else torch.tensor(0.0)
        if spread > 0 and not name.endswith("omega"):
            assert abs(ours.std() / spread - 1) < 0.2, name
        else:
            assert torch.equal(ours, parameter), name
    assert model.generate(torch.zeros(1, 3, dtype=torch.long), max_new_tokens=4).shape == (1, 7)


def test_saving_and_loading_again(model, tokenizer, tmp_path, name):
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path, trust_remote_code=True)
    assert list(again.state_dict()) == list(model.state_dict())
    assert all(torch.equal(again.state_dict()[key], tensor) for key, tensor in model.state_dict().items())
    assert again.config.model == model.config.model and again.config.vocabulary == model.config.vocabulary
    ids = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=True)(PROMPTS[name])["input_ids"]
    assert ids == tokenizer(PROMPTS[name])["input_ids"]


# Everything together, as a user would


SCRIPT = """
import sys
sys.modules["kuramoto"] = None  # an export does without the package
import torch
torch.set_num_threads(1)
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, pipeline
from transformers.utils import logging
logging.disable_progress_bar()
for folder, prompt in zip(sys.argv[1::2], sys.argv[2::2]):
    AutoConfig.from_pretrained(folder, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    inputs = tokenizer(prompt, return_tensors="pt")
    greedy = tokenizer.decode(model.generate(**inputs, do_sample=False, max_new_tokens=20)[0])
    model.generate(**inputs)
    pipe = pipeline("text-generation", model=folder, trust_remote_code=True)
    (answer,) = pipe(prompt, do_sample=False, max_new_tokens=20)
    assert answer["generated_text"] == greedy
    print(greedy)
"""


def test_nothing_is_warned_of(folders, tmp_path):
    arguments = [text for name, folder in folders.items() for text in (str(folder), PROMPTS[name])]
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-W", "error", "-c", SCRIPT, *arguments]
    how = {"capture_output": True, "text": True, "env": environment, "cwd": tmp_path}
    done = subprocess.run(command, check=False, **how)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert all(prompt in done.stdout for prompt in PROMPTS.values())


def test_a_pipeline_of_several_texts(model, tokenizer, name):
    pipe = pipeline("text-generation", model=model, tokenizer=tokenizer)
    answers = pipe([PROMPTS[name], "A"], do_sample=False, max_new_tokens=5)
    assert [len(answer[0]["generated_text"]) for answer in answers] == [len(PROMPTS[name]) + 5, 6]
