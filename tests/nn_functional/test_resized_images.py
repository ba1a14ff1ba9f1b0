"""Images of bytes are resized to the same bytes as torch's: fixed-point weights, and rounding after each axis."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

SHAPES = [(1, 3, 8, 9), (2, 5, 16, 7), (1, 1, 40, 31)]
WAYS = [
    {"size": (5, 13)},
    {"size": (20, 20)},
    {"size": (8, 13)},
    {"size": (5, 13), "align_corners": True},
    {"size": (4, 4), "antialias": True},
    {"size": (20, 20), "antialias": True},
    {"scale_factor": 0.7},
    {"scale_factor": (1.7, 0.6), "recompute_scale_factor": True},
]


NEAREST_WAYS = [way for way in WAYS if not {"align_corners", "antialias"} & way.keys()]  # no arguments of these modes
ROWS = [(mode, way) for mode in ("bilinear", "bicubic") for way in WAYS]
ROWS += [(mode, way) for mode in ("nearest", "nearest-exact") for way in NEAREST_WAYS]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("mode", "way"), ROWS, ids=str)
def test_bytes(shape, mode, way):
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    expected, found = (
        t.nn.functional.interpolate(t.tensor(image), mode=mode, **way).numpy() for t in (torch, pullback)
    )
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, expected)
