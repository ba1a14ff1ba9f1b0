"""Tensor text against torch's, character for character: random arrays, special values, suffixes, options."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from pullback.core.basics import printing

torch = pytest.importorskip("torch")

FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
COMPLEXES = ("complex128", "complex64")
DTYPES = FLOATS + INTEGERS + COMPLEXES + ("bool",)
SPECIALS = (0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, -1.0, 1000.0, 1e-4, 1e8, 1e-310, 99999.99996, 9.99996)
OPTIONS = (
    {},
    {"precision": 0},
    {"precision": 2, "linewidth": 60},
    {"precision": 9, "threshold": 50},
    {"threshold": 0, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 2, "linewidth": 40},
    {"threshold": 3, "edgeitems": 0},
    {"edgeitems": 0},
    {"linewidth": 1},
    {"sci_mode": True},
    {"sci_mode": False},
    {"sci_mode": True, "precision": 1, "threshold": 10},
    {"sci_mode": False, "precision": 7, "linewidth": 120},
    {"profile": "short"},
    {"profile": "full", "precision": 3},
    {"profile": "Short"},
    {"profile": "default"},
    {"profile": "unknown", "edgeitems": 4, "threshold": 20},
)
SHAPES = (
    (), (1,), (2,), (3,), (7,), (19,), (40,), (1001,), (1, 1), (2, 3), (5, 4), (3, 30), (12, 12), (40, 40), (2, 600),
    (600, 2), (2, 3, 4), (1, 9, 1), (12, 11, 10), (2, 1, 3, 2), (7, 7, 7, 7), (1, 1, 1, 1, 1), (2, 2, 2, 2, 2),
    (0,), (0, 3), (3, 0), (2, 0, 4), (0, 0),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _default_options():
    yield
    for module in (printing, torch._tensor_str):
        module.set_printoptions(profile="default")


def random_reals(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Floats of one of the characters that drive the choice of notation."""
    values = rng.standard_normal(shape)
    match rng.integers(9):
        case 0:
            values = values * 10.0 ** rng.integers(-12, 13)
        case 1:
            values = values * 10.0 ** rng.uniform(-6, 6, shape)
        case 2:
            values = np.rint(values * 10.0 ** rng.integers(0, 10))
        case 3:
            values = np.abs(values)
        case 4:
            values = values * 10.0 ** rng.uniform(-320, 300, shape)
        case 5:
            values = rng.choice(SPECIALS, shape)
        case 6:  # the largest is about a thousand times the smallest, or the smallest about 1e-4
            values = rng.choice([1.0, 1000.0, 999.9999, 1000.001], shape) * rng.choice([0.1, 1.0, 1e-4, 1e5, 0.3])
        case 7:
            values = rng.choice([0.0, 9.99995, 99.99995, 0.99995, -0.00004, 9.99994999], shape) * rng.choice([1, 10])
        case 8:
            values = np.rint(values)
    if rng.random() < 0.3:
        values = np.where(rng.random(shape) < 0.2, rng.choice(SPECIALS, shape), values)
    return np.asarray(values)


def random_tensor(rng: np.random.Generator, shape: tuple[int, ...], name: str) -> torch.Tensor:
    if name == "bool":
        return torch.from_numpy(np.asarray(rng.random(shape) < rng.choice([0.0, 0.5, 1.0])))
    if name in INTEGERS:
        limits = np.iinfo(name)
        low, high = [(limits.min, limits.max), (max(limits.min, -9), 9), (0, 120)][rng.integers(3)]
        return torch.from_numpy(np.asarray(rng.integers(low, high, shape, dtype=name, endpoint=True)))
    if name in COMPLEXES:
        real, imaginary = random_reals(rng, shape), random_reals(rng, shape)
        return torch.complex(torch.from_numpy(real), torch.from_numpy(imaginary)).to(getattr(torch, name))
    return torch.from_numpy(random_reals(rng, shape)).to(getattr(torch, name))


def as_array(tensor: torch.Tensor) -> np.ndarray:
    """The array a NumPy-based tensor would hold; the narrow types that NumPy lacks as float32."""
    tensor = tensor.detach()
    name = dtype_name(tensor)
    return (tensor.float() if name in FLOATS[3:] else tensor).numpy()


def dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def assert_same(tensor: torch.Tensor, **details: object) -> None:
    text = printing.tensor_text(as_array(tensor), dtype_name(tensor), **details)
    assert text == repr(tensor), f"\n{text}\n!=\n{tensor!r}\n{printing.get_printoptions()}"


def set_both(changes: dict) -> None:
    printing.set_printoptions(**changes)
    torch.set_printoptions(**changes)


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_sweep(changes: dict) -> None:
    rng = np.random.default_rng(len(str(changes)))
    set_both(changes)
    unabridged = printing.options.threshold > 1000
    for name in DTYPES:
        for shape in SHAPES:
            if unabridged and math.prod(shape) > 1000:
                continue
            for _ in range(1 if math.prod(shape) > 40 else 3):
                tensor = random_tensor(rng, shape, name)
                if tensor.ndim > 1 and rng.random() < 0.3:
                    tensor = tensor.transpose(0, -1)
                assert_same(tensor)


def test_random_options() -> None:
    rng = np.random.default_rng(7)
    for _ in range(2000):
        set_both(
            {
                "precision": int(rng.integers(0, 8)),
                "threshold": int(rng.integers(0, 60)),
                "edgeitems": int(rng.integers(0, 6)),
                "linewidth": int(rng.integers(5, 130)),
                "sci_mode": [None, None, True, False][rng.integers(4)],
            }
        )
        shape = tuple(rng.integers(1, 9, rng.integers(0, 4)).tolist())
        assert_same(random_tensor(rng, shape, DTYPES[rng.integers(len(DTYPES))]))


@pytest.mark.parametrize("ratio", (999.9999, 1000.0, 1000.0001, 1001.0))
@pytest.mark.parametrize("start", (1e-4, 0.99e-4, 1.01e-4, 0.1, 0.3, 1.0, 7.0, 1e5, 1.00001e5))
@pytest.mark.parametrize("name", ("float64", "float32", "float16", "bfloat16"))
def test_notation_is_chosen_at_the_same_border(name: str, start: float, ratio: float) -> None:
    assert_same(torch.tensor([start, start * ratio, -start], dtype=torch.float64).to(getattr(torch, name)))


@pytest.mark.parametrize("default", ("float64", "float32", "float16", "bfloat16"))
@pytest.mark.parametrize("name", DTYPES)
def test_default_dtype_decides_which_dtype_is_named(name: str, default: str) -> None:
    torch.set_default_dtype(getattr(torch, default))
    try:
        for shape in ((), (3,), (0,), (0, 2)):
            assert_same(torch.zeros(shape, dtype=getattr(torch, name)), default_dtype_name=default)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("linewidth", (20, 50, 79, 80, 81))
@pytest.mark.parametrize("name", ("float64", "float32", "complex64", "complex128", "bfloat16"))
def test_gradient_suffixes_and_where_they_break(name: str, linewidth: int) -> None:
    set_both({"linewidth": linewidth})
    rng = np.random.default_rng(linewidth)
    for shape in [(), (0,), (0, 2), (2, 3), (4, 6), (1001,), (20, 100), (2, 2, 2), *((n,) for n in range(1, 24))]:
        leaf = random_tensor(rng, shape, name).requires_grad_()
        assert_same(leaf, requires_grad=True)
        for result in (leaf * 2, leaf.clone(), leaf.reshape(-1)):
            assert_same(result, requires_grad=True, grad_fn_name=result.grad_fn.name())


def test_tangent_suffix() -> None:
    rng = np.random.default_rng(3)
    with torch.autograd.forward_ad.dual_level():
        for shape in ((), (2,), (12,), (30,), (3, 3)):
            primal = random_tensor(rng, shape, "float32")
            dual = torch.autograd.forward_ad.make_dual(primal, torch.ones(shape))
            tangent = torch.autograd.forward_ad.unpack_dual(dual).tangent
            assert printing.tensor_text(primal.numpy(), "float32", tangent=f"{tangent}") == repr(dual)


@pytest.mark.parametrize("name", ("float32", "int64", "complex64", "bfloat16", "bool"))
@pytest.mark.parametrize("edgeitems", (0, 3))
def test_meta_tensors_show_their_shape(name: str, edgeitems: int) -> None:
    set_both({"edgeitems": edgeitems})
    for shape in ((), (3,), (2, 3), (0,), (1000, 1000, 1000)):
        tensor = torch.empty(shape, dtype=getattr(torch, name), device="meta")
        array = np.broadcast_to(np.zeros((), np.float32), shape)
        assert printing.tensor_text(array, name, device="meta") == repr(tensor)


def test_other_devices_and_subclasses() -> None:
    array = np.arange(3.0, dtype=np.float64)
    text = printing.tensor_text(array, "float64", device="cuda:0", requires_grad=True)
    assert text == "tensor([0., 1., 2.], device='cuda:0', dtype=torch.float64, requires_grad=True)"

    class Distance(torch.Tensor):
        pass

    for shape in ((3,), (30,), (3, 30), (0, 2), ()):
        tensor = torch.linspace(-1, 1, math.prod(shape)).reshape(shape).as_subclass(Distance)
        array = tensor.as_subclass(torch.Tensor).numpy()
        assert printing.tensor_text(array, "float32", prefix="Distance(") == repr(tensor)


def test_types_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rng = np.random.default_rng(5)
    for name in ("bfloat16", "float8_e5m2", "float8_e4m3fn"):
        for shape in ((), (5,), (3, 4), (1200,)):
            tensor = random_tensor(rng, shape, name)
            array = tensor.float().numpy().astype(getattr(ml_dtypes, name))
            assert printing.tensor_text(array, name) == repr(tensor)


def test_options_follow_torch() -> None:
    for changes in (*OPTIONS, {"precision": -1}, {}, {"sci_mode": True}, {"precision": 3}, {"threshold": math.inf}):
        set_both(changes)
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
    set_both({"profile": "default", "sci_mode": True})
    for changes in OPTIONS:
        with printing.printoptions(**changes) as ours, torch._tensor_str.printoptions(**changes) as theirs:
            assert ours is theirs is None
            assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
    with pytest.raises(ZeroDivisionError), printing.printoptions(precision=1):
        raise ZeroDivisionError
    assert printing.get_printoptions()["precision"] == 4


def test_an_invalid_precision_fails_when_printed() -> None:
    set_both({"precision": -1})
    for show in (repr, lambda tensor: printing.tensor_text(tensor.numpy(), "float32")):
        with pytest.raises(ValueError, match="Format specifier missing precision"):
            show(torch.tensor([0.5]))


def test_a_large_array_is_not_scanned() -> None:
    array = np.broadcast_to(np.float32(0.5), (10**6, 10**6))
    start = time.process_time()
    assert "..." in printing.tensor_text(array, "float32")
    assert time.process_time() - start < 1.0
