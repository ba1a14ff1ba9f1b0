"""Sobol points are torch's, in any dimension, scrambled, in parts, after jumps."""

import pytest

import pullback

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")

DRAWS = {
    "one": lambda engine: [engine.draw()],
    "some": lambda engine: [engine.draw(7)],
    "in parts": lambda engine: [engine.draw(3), engine.draw(1), engine.draw(4)],
    "after a jump": lambda engine: [engine.fast_forward(5).draw(3)],
    "again": lambda engine: [engine.draw(3), engine.reset().draw(3)],
    "powers of 2": lambda engine: [engine.draw_base2(2), engine.draw_base2(2)],
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 3}], ids=["plain", "scrambled"])
@pytest.mark.parametrize("dimension", [1, 2, 5, 300])
def test_the_points_are_torchs(dimension, options, draw):
    expected = DRAWS[draw](torch.quasirandom.SobolEngine(dimension, **options))
    result = DRAWS[draw](pullback.quasirandom.SobolEngine(dimension, **options))
    assert [part.tolist() for part in result] == [part.tolist() for part in expected]


def test_dtype_and_default_stream():
    engines = []
    for t in (torch, pullback):
        t.manual_seed(5)
        engines.append(t.quasirandom.SobolEngine(3, scramble=True))
    expected, result = (engine.draw(4, dtype=t.float64) for engine, t in zip(engines, (torch, pullback), strict=True))
    assert result.tolist() == expected.tolist()
    assert repr(engines[0]) == repr(engines[1])


def test_mistakes():
    with pytest.raises(ValueError, match="Supported range of dimensionality"):
        pullback.quasirandom.SobolEngine(0)
    engine = pullback.quasirandom.SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="balance properties"):
        engine.draw_base2(2)


@pytest.mark.parametrize("scramble", [False, True])
def test_points_far_along_are_reached_at_once(scramble):
    """Left out one at a time, drawn, or all at once: the same points follow."""
    engines = [pullback.quasirandom.SobolEngine(3, scramble, seed=1) for _ in range(2)]
    engines[0].draw(41)
    engines[1].fast_forward(1).fast_forward(40)
    assert engines[0].draw(5).tolist() == engines[1].draw(5).tolist()
    far = pullback.quasirandom.SobolEngine(3).fast_forward(2**30 - 2)
    theirs = torch.quasirandom.SobolEngine(3).fast_forward(2**20)
    assert far.draw(2).shape == (2, 3)
    assert pullback.quasirandom.SobolEngine(3).fast_forward(2**20).draw(2).tolist() == theirs.draw(2).tolist()
