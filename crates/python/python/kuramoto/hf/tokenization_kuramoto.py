"""The byte tokenizer of a Kuramoto model, for Hugging Face Transformers.

A token is one byte of the vocabulary, which are the distinct bytes of the corpus. Text is encoded as UTF-8.
There are no special tokens.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from transformers import PreTrainedTokenizer


class KuramotoTokenizer(PreTrainedTokenizer):
    vocab_files_names: ClassVar[dict[str, str]] = {"vocabulary_file": "vocabulary.json"}
    model_input_names: ClassVar[list[str]] = ["input_ids", "attention_mask"]

    def __init__(self, vocabulary_file: str, **kwargs: Any):
        # Transformers has tokens as text: here the character whose number is the byte.
        self.tokens = [chr(byte) for byte in json.loads(Path(vocabulary_file).read_text(encoding="utf-8"))]
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        # Spaces before punctuation are bytes like others.
        kwargs.setdefault("clean_up_tokenization_spaces", False)
        super().__init__(**kwargs)

    @property
    def vocab_size(self) -> int:
        return len(self.tokens)

    def get_vocab(self) -> dict[str, int]:
        return {**self.ids, **self.added_tokens_encoder}

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        tokens = [chr(byte) for byte in text.encode("utf-8")]
        for position, token in enumerate(tokens):
            if token not in self.ids:
                raise ValueError(
                    f"byte 0x{ord(token):02x} at position {position} is not in the vocabulary of "
                    f"{len(self.tokens)} bytes: leave it out, or use a model whose corpus has it"
                )
        return tokens

    def _convert_token_to_id(self, token: str) -> int:
        return self.ids[token]

    def _convert_id_to_token(self, index: int) -> str:
        return self.tokens[index]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        return bytes(ord(token) for token in tokens).decode("utf-8", errors="replace")

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str]:
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        path = Path(save_directory) / f"{prefix}{self.vocab_files_names['vocabulary_file']}"
        path.write_text(json.dumps([ord(token) for token in self.tokens]), encoding="utf-8")
        return (str(path),)
