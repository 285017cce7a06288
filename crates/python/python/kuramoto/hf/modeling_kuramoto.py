"""A Kuramoto model, or its matched transformer, for Hugging Face Transformers.

The models themselves are in `kuramoto_torch.py`, with the equations of the paper.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from .configuration_kuramoto import KuramotoConfig
from .kuramoto_torch import build, config_from_dict


class KuramotoForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = KuramotoConfig
    # Weights may be named as the program `kuramoto` names them, or with this prefix as they are saved here.
    base_model_prefix = "lm"
    _no_split_modules: ClassVar[list[str]] = ["KuramotoLayer", "TransformerLayer"]
    _supports_sdpa = True

    def __init__(self, config: KuramotoConfig):
        super().__init__(config)
        vocabulary = bytes(config.vocabulary) or None
        self.lm = build(config_from_dict(config.model), vocabulary, config.context)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Sequences may be longer than the context: both models are defined for any length, and nothing is cut
        off. Beyond the length that they were trained at, their predictions get worse."""
        if attention_mask is not None and not attention_mask.all():
            raise ValueError(
                "attention_mask has zeros, and this model takes no padding: give sequences of one length, "
                "or one sequence at a time"
            )
        logits = self.lm(input_ids)
        loss = None
        if labels is not None:
            # Shifts the labels by one and leaves out those of -100.
            loss = self.loss_function(logits, labels, vocab_size=self.config.vocab_size, **kwargs)
        output = CausalLMOutput(loss=loss, logits=logits)
        return_dict = self.config.return_dict if return_dict is None else return_dict
        return output if return_dict else output.to_tuple()

    def prepare_inputs_for_generation(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        # Every token reads the whole sequence anew.
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        # A start depends on the name of a parameter, and what was loaded stays as it is.
        names = {parameter: name for name, parameter in self.lm.named_parameters()}
        for parameter in module.parameters(recurse=False):
            if not getattr(parameter, "_is_hf_initialized", False):
                self.lm.start(names[parameter], parameter, generator=None)
