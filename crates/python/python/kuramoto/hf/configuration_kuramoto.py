"""Configuration of a Kuramoto model, or of its matched transformer, for Hugging Face Transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import PretrainedConfig


class KuramotoConfig(PretrainedConfig):
    """`model` is the configuration as the program `kuramoto` saves it, its key "kind" names which of the two
    models it is. `vocabulary` are the bytes that the tokens stand for, and `context` is the length that the
    model was trained at."""

    model_type = "kuramoto-attention"

    def __init__(
        self,
        model: Mapping[str, Any] | None = None,
        vocabulary: Sequence[int] = (),
        context: int = 256,
        **kwargs: Any,
    ):
        self.model = dict(model or {"kind": "kuramoto"})
        self.vocabulary = list(vocabulary)
        self.context = context
        # The readout has weights of its own in both models.
        kwargs.setdefault("tie_word_embeddings", False)
        super().__init__(**kwargs)

    @property
    def vocab_size(self) -> int:
        return self.model.get("vocab", len(self.vocabulary))
