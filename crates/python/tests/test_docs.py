"""Examples of docstrings do what they say."""

import doctest
import importlib

import pytest

MODULES = ["", ".interventions", ".lab", ".model", ".run", ".settings", ".torch", ".torch_training"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"kuramoto{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
