"""What several tests use: shipped models, and a small run that was just trained."""

import kuramoto
import pytest

TEXT = b"Anna was a merry baker who lived in the forest. "


@pytest.fixture(scope="session")
def tales():
    return kuramoto.load("tales-kuramoto")


@pytest.fixture(scope="session")
def transformer():
    return kuramoto.load("enwik8-transformer-1m")


SMALL = dict(
    width=8,
    layers=2,
    batch=4,
    context=32,
    validation_windows=10,
    validate_every=4,
    keys={"data.bytes": 60_000},
)


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Eight steps of a small model."""
    return kuramoto.train(steps=8, out=tmp_path_factory.mktemp("runs") / "run", **SMALL)
