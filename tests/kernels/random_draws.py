"""What the tests of random numbers share: the two generators at one place, and arrays compared bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from pullback.kernels.random.engine import Generator

torch = pytest.importorskip("torch")

DTYPES: dict[str, np.dtype] = {
    name: np.dtype(name)
    for name in "float16 float32 float64 bool uint8 int8 int16 int32 int64 uint16 uint32 uint64".split()
}
try:
    import ml_dtypes

    DTYPES["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    pass


GENERATOR = Generator()


def start(seed: int) -> Generator:
    """Ours and torch's global generator at the beginning of one stream."""
    torch.default_generator.manual_seed(seed)
    return GENERATOR.manual_seed(seed)


def assert_same(theirs: torch.Tensor, ours: np.ndarray, generator: Generator | None = None) -> None:
    assert tuple(theirs.shape) == ours.shape
    theirs = theirs.detach().contiguous()
    assert str(theirs.dtype) == f"torch.{ours.dtype.name}"
    assert ours.flags.c_contiguous
    their_bytes = theirs.reshape(-1).view(torch.uint8).numpy()
    our_bytes = ours.reshape(-1).view(np.uint8)
    width = ours.dtype.itemsize
    different = np.flatnonzero((their_bytes != our_bytes).reshape(-1, width).any(axis=1))
    assert different.size == 0, f"{different.size} of {ours.size} values differ, first at {different[0]}"
    if generator is not None:
        assert np.array_equal(torch.get_rng_state().numpy(), generator.state_bytes()), "the streams are out of step"
