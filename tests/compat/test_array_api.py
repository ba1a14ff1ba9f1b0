"""The Array API namespace against the text of the standard: names and signatures, dtypes, special cases, indexing.

Values are NumPy's on the same arrays; what the standard asks for beyond NumPy is written out in tables. Gradients of the
namespace's functions are in `test_array_api_gradients.py`.
"""

import copy
import inspect
import itertools
import math
import operator
import pickle

import numpy as np
import pytest

import pullback
from pullback import array_api as xp

SIGNATURES = {
    "(x, /)": """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf
        isnan log log10 log1p log2 logical_not matrix_transpose negative nonzero positive real reciprocal round sign signbit
        sin sinh sqrt square tan tanh trunc unique_all unique_counts unique_inverse unique_values linalg.det linalg.eig
        linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.matrix_transpose linalg.slogdet linalg.svdvals""",
    "(x1, x2, /)": """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide
        equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor matmul
        maximum minimum multiply nextafter not_equal pow remainder subtract linalg.matmul linalg.outer linalg.solve""",
    "(x, /, *, axis=None, keepdims=False)": "all any argmax argmin count_nonzero max mean min",
    "(x, /, *, axis=None, dtype=None, keepdims=False)": "prod sum",
    "(x, /, *, axis=None, correction=0.0, keepdims=False)": "std var",
    "(x, /, *, axis=None, dtype=None, include_initial=False)": "cumulative_prod cumulative_sum",
    "(x, /, *, axis=-1, n=1, prepend=None, append=None)": "diff",
    "(x, /, *, axis=-1, descending=False, stable=True)": "argsort sort",
    "(x, /, min=None, max=None)": "clip",
    "(x, dtype, /, *, copy=True, device=None)": "astype",
    "(from_, to, /)": "can_cast",
    "(type, /)": "finfo iinfo",
    "(dtype, kind)": "isdtype",
    "(*arrays_and_dtypes)": "result_type",
    "(start, /, stop=None, step=1, *, dtype=None, device=None)": "arange",
    "(obj, /, *, dtype=None, device=None, copy=None)": "asarray",
    "(shape, *, dtype=None, device=None)": "empty ones zeros",
    "(x, /, *, dtype=None, device=None)": "empty_like ones_like zeros_like",
    "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)": "eye",
    "(x, /, *, device=None, copy=None)": "from_dlpack",
    "(shape, fill_value, *, dtype=None, device=None)": "full",
    "(x, /, fill_value, *, dtype=None, device=None)": "full_like",
    "(start, stop, /, num, *, dtype=None, device=None, endpoint=True)": "linspace",
    "(*arrays, indexing='xy')": "meshgrid",
    "(x, /, *, k=0)": "tril triu",
    "(*arrays)": "broadcast_arrays",
    "(*shapes)": "broadcast_shapes",
    "(x, /, shape)": "broadcast_to",
    "(arrays, /, *, axis=0)": "concat stack",
    "(x, /, axis=0)": "expand_dims",
    "(x, /, *, axis=None)": "flip",
    "(x, source, destination, /)": "moveaxis",
    "(x, /, axes)": "permute_dims",
    "(x, repeats, /, *, axis=None)": "repeat",
    "(x, /, shape, *, copy=None)": "reshape",
    "(x, /, shift, *, axis=None)": "roll",
    "(x, /, axis)": "squeeze",
    "(x, repetitions, /)": "tile",
    "(x, /, *, axis=0)": "unstack",
    "(x1, x2, /, *, side='left', sorter=None)": "searchsorted",
    "(condition, x1, x2, /)": "where",
    "(x1, x2, /, *, invert=False)": "isin",
    "(x, indices, /, *, axis=None)": "take",
    "(x, indices, /, *, axis=-1)": "take_along_axis",
    "(x1, x2, /, *, axes=2)": "tensordot linalg.tensordot",
    "(x1, x2, /, *, axis=-1)": "vecdot linalg.vecdot linalg.cross",
    "(x, /, *, upper=False)": "linalg.cholesky",
    "(x, /, *, offset=0)": "linalg.diagonal",
    "(x, /, *, keepdims=False, ord='fro')": "linalg.matrix_norm",
    "(x, n, /)": "linalg.matrix_power",
    "(x, /, *, rtol=None)": "linalg.matrix_rank linalg.pinv",
    "(x, /, *, mode='reduced')": "linalg.qr",
    "(x, /, *, full_matrices=True)": "linalg.svd",
    "(x, /, *, offset=0, dtype=None)": "linalg.trace",
    "(x, /, *, axis=None, keepdims=False, ord=2)": "linalg.vector_norm",
    "(x, /, *, n=None, axis=-1, norm='backward')": "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft",
    "(x, /, *, s=None, axes=None, norm='backward')": "fft.fftn fft.ifftn fft.rfftn fft.irfftn",
    "(n, /, *, d=1.0, dtype=None, device=None)": "fft.fftfreq fft.rfftfreq",
    "(x, /, *, axes=None)": "fft.fftshift fft.ifftshift",
    "()": "__array_namespace_info__",
}
CONSTANTS = "e inf nan newaxis pi bool complex64 complex128 linalg fft".split()
METHODS = """abs add and array_namespace bool complex dlpack dlpack_device eq float floordiv ge getitem gt index int invert
    le lshift lt matmul mod mul ne neg or pos pow rshift setitem sub truediv xor radd rsub rmul rtruediv rfloordiv rmod rpow
    rmatmul rand ror rxor rlshift rrshift iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift
    irshift""".split()

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
NUMERIC = SIGNED + UNSIGNED + FLOATS + COMPLEX
ALL = ["bool", *NUMERIC]
KINDS = {
    "bool": ["bool"], "signed integer": SIGNED, "unsigned integer": UNSIGNED, "integral": SIGNED + UNSIGNED,
    "real floating": FLOATS, "complex floating": COMPLEX, "numeric": NUMERIC,
}  # fmt: skip
OPERATORS = {
    "add": NUMERIC, "sub": NUMERIC, "mul": NUMERIC, "truediv": FLOATS + COMPLEX, "floordiv": SIGNED + UNSIGNED + FLOATS,
    "mod": SIGNED + UNSIGNED + FLOATS, "pow": NUMERIC, "and": ["bool"] + SIGNED + UNSIGNED,
    "or": ["bool"] + SIGNED + UNSIGNED, "xor": ["bool"] + SIGNED + UNSIGNED, "lshift": SIGNED + UNSIGNED,
    "rshift": SIGNED + UNSIGNED, "lt": SIGNED + UNSIGNED + FLOATS, "eq": ALL, "ne": ALL,
}  # fmt: skip


def named(name):
    space, _, rest = name.rpartition(".")
    return getattr(getattr(xp, space) if space else xp, rest)


def dtype(name):
    return getattr(xp, name)


def promoted(a, b):
    """The standard's promotion by name; None for the pairs it leaves open."""
    if a == b:
        return a
    kinds = {np.dtype(a).kind, np.dtype(b).kind}
    result = np.promote_types(a, b)
    if kinds <= {"i", "u"}:
        return result.name if result.kind in "iu" else None
    return result.name if kinds <= {"f", "c"} else None


def same(found, wanted, dtype_name=None):
    assert isinstance(found, xp.Array)
    np.testing.assert_array_equal(np.asarray(found), wanted)
    assert tuple(found.shape) == np.shape(wanted)
    if dtype_name:
        assert found.dtype is dtype(dtype_name)


# --- names ---


@pytest.mark.parametrize("text", SIGNATURES)
def test_signatures(text):
    for name in SIGNATURES[text].split():
        found = inspect.signature(named(name))
        bare = found.replace(
            parameters=[p.replace(annotation=p.empty) for p in found.parameters.values()],
            return_annotation=found.empty,
        )
        assert str(bare) == text, name


def test_names_of_the_namespace_and_of_arrays():
    listed = {name for names in SIGNATURES.values() for name in names.split()}
    assert {name for name in listed if "." not in name} | set(CONSTANTS) <= {*xp.__all__}
    assert {f"linalg.{name}" for name in xp.linalg.__all__} | {f"fft.{name}" for name in xp.fft.__all__} <= listed
    x = xp.ones((2, 3))
    assert [name for name in METHODS if not hasattr(x, f"__{name}__")] == []
    assert (x.ndim, x.shape, x.size, x.dtype, x.T.shape, x.mT.shape) == (2, (2, 3), 6, xp.float64, (3, 2), (3, 2))
    assert x.to_device(x.device) is x and x.__array_namespace__(api_version="2024.12") is xp
    assert pullback.ones(2).__array_namespace__() is xp is pullback.array_api
    with pytest.raises(ValueError):
        x.__array_namespace__(api_version="1999.01")


def test_information():
    info = xp.__array_namespace_info__()
    assert set(info.capabilities()) == {"boolean indexing", "data-dependent shapes", "max dimensions"}
    assert info.default_dtypes()["indexing"] is xp.argmax(xp.ones(2)).dtype and info.devices() == [
        info.default_device()
    ]
    for kind, names in KINDS.items():
        assert set(info.dtypes(kind=kind)) == set(names)
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", *FLOATS} and set(info.dtypes()) == set(ALL)


# --- dtypes ---


def test_promotion():
    for a, b in itertools.product(ALL, ALL):
        wanted = promoted(a, b)
        if wanted:
            assert xp.result_type(dtype(a), xp.ones((), dtype=dtype(b))) is dtype(wanted)
            assert xp.can_cast(dtype(a), dtype(b)) == (wanted == b)
        for kind, names in KINDS.items():
            assert xp.isdtype(dtype(a), kind) is (a in names)
            assert xp.isdtype(dtype(a), (kind, dtype(a)))
    assert xp.result_type(xp.float32, 1, 2.0) is xp.float32 and xp.result_type(xp.float32, 1j) is xp.complex64


def test_limits():
    for name in FLOATS + COMPLEX:
        found, wanted = xp.finfo(dtype(name)), np.finfo(name)
        for field in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(found, field)) is float and getattr(found, field) == float(getattr(wanted, field))
        assert found.bits == wanted.bits and found.dtype is dtype(wanted.dtype.name)
    for name in SIGNED + UNSIGNED:
        found, wanted = xp.iinfo(xp.ones(1, dtype=dtype(name))), np.iinfo(name)
        assert (found.bits, found.max, found.min, found.dtype) == (wanted.bits, wanted.max, wanted.min, dtype(name))


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_all_dtypes(name):
    function, in_place = getattr(operator, f"__{name}__"), getattr(operator, f"__i{name}__", None)
    for a, b in itertools.product(OPERATORS[name], OPERATORS[name]):
        wanted = promoted(a, b)
        if wanted is None:
            continue
        x, y = np.array([3, 1, 2]).astype(a), np.array(2).astype(b)  # 0-d arrays are as strong as others
        result = function(x.astype(wanted), y.astype(wanted))
        same(function(xp.asarray(x), xp.asarray(y)), result, result.dtype.name)
        same(function(xp.asarray(y), xp.asarray(x)), function(y.astype(wanted), x.astype(wanted)), result.dtype.name)
        if in_place and wanted == a:
            written = before = xp.asarray(x, copy=True)
            written = in_place(written, xp.asarray(y))
            same(written, result, a)
            assert written is before
    for a in OPERATORS[name]:
        x, number = np.array([3, 1, 2]).astype(a), np.array(2).astype(a).item()
        result = function(x, x.dtype.type(number))
        same(function(xp.asarray(x), number), result, result.dtype.name)
        same(function(number, xp.asarray(x)), function(x.dtype.type(number), x), result.dtype.name)


def test_results_keep_the_dtype_the_standard_says():
    small = xp.asarray([1, 2], dtype=xp.int8)
    assert xp.sum(small).dtype is xp.int64 and xp.prod(xp.asarray([1], dtype=xp.uint16)).dtype is xp.uint64
    assert xp.cumulative_sum(small, include_initial=True).tolist() == [0, 1, 3]
    assert xp.mean(xp.ones(2, dtype=xp.float32)).dtype is xp.float32
    assert xp.clip(small, -1000, xp.asarray(1)).dtype is xp.int8 and xp.clip(small, -1000, 1).tolist() == [1, 1]
    assert xp.floor(small).dtype is xp.int8 and xp.abs(xp.ones(1, dtype=xp.complex64)).dtype is xp.float32
    assert xp.where(small > 1, xp.ones((), dtype=xp.float64), xp.ones(2, dtype=xp.float32)).dtype is xp.float64
    assert xp.full(2, True).dtype is xp.bool and xp.full(2, 1).dtype is xp.int64 and xp.full(2, 1.0).dtype is xp.float64
    assert xp.fft.fftfreq(3, dtype=xp.float32).dtype is xp.float32 and xp.asarray([1j]).dtype is xp.complex128
    with pytest.raises(TypeError):
        xp.astype(xp.ones(1, dtype=xp.complex64), xp.float32)


# --- special cases ---

INF, NAN = math.inf, math.nan
SPECIAL = [
    ("floor_divide", (INF, 2.0), INF), ("floor_divide", (INF, -2.0), -INF), ("floor_divide", (-INF, 2.0), -INF),
    ("floor_divide", (1.5, -INF), -0.0), ("floor_divide", (-1.5, INF), -0.0), ("floor_divide", (INF, INF), NAN),
    ("floor_divide", (7.0, -2.0), -4.0),
    ("remainder", (1.5, -INF), -INF), ("remainder", (-1.5, INF), INF), ("remainder", (-0.0, 2.0), 0.0),
    ("remainder", (0.0, -2.0), -0.0), ("remainder", (INF, 2.0), NAN),
    ("pow", (-INF, 0.5), INF), ("pow", (-0.0, 0.5), 0.0), ("pow", (-0.0, 3.0), -0.0), ("pow", (-0.0, -3.0), -INF),
    ("pow", (-INF, 3.0), -INF), ("pow", (-INF, -2.0), 0.0), ("pow", (NAN, 0.0), 1.0), ("pow", (1.0, NAN), 1.0),
    ("pow", (-2.0, 0.5), NAN), ("pow", (-0.0, INF), 0.0),
    ("atan2", (0.0, -0.0), math.pi), ("atan2", (-0.0, 0.0), -0.0), ("atan2", (INF, -INF), 3 * math.pi / 4),
    ("hypot", (INF, NAN), INF), ("logaddexp", (INF, 1.0), INF), ("maximum", (NAN, 1.0), NAN),
    ("minimum", (1.0, NAN), NAN), ("copysign", (3.0, -0.0), -3.0), ("nextafter", (0.0, -0.0), -0.0),
    ("divide", (1.0, -0.0), -INF), ("add", (-0.0, -0.0), -0.0), ("multiply", (INF, 0.0), NAN),
    ("ceil", (-0.0,), -0.0), ("round", (2.5,), 2.0), ("round", (-0.5,), -0.0), ("trunc", (-INF,), -INF),
    ("sign", (NAN,), NAN), ("sqrt", (-0.0,), -0.0), ("log1p", (-1.0,), -INF), ("expm1", (-INF,), -1.0),
    ("acosh", (0.5,), NAN), ("atanh", (-1.0,), -INF), ("tanh", (-INF,), -1.0), ("reciprocal", (-0.0,), -INF),
    ("sum", ([],), 0.0), ("prod", ([],), 1.0), ("mean", ([],), NAN), ("var", ([],), NAN), ("max", ([1.0, NAN],), NAN),
]  # fmt: skip
COMPLEX_SPECIAL = [
    ("expm1", complex(INF, 0.0), complex(INF, 0.0)), ("expm1", complex(-INF, INF), complex(-1.0, 0.0)),
    ("expm1", complex(0.0, 0.0), complex(0.0, 0.0)), ("expm1", complex(NAN, 0.0), complex(NAN, 0.0)),
    ("tanh", complex(INF, 2.0), complex(1.0, 0.0)), ("tanh", complex(INF, -2.0), complex(1.0, -0.0)),
    ("sign", complex(-0.0, -0.0), complex(0.0, 0.0)), ("exp", complex(INF, 0.0), complex(INF, 0.0)),
    ("sqrt", complex(INF, 1.0), complex(INF, 0.0)), ("acos", complex(-INF, INF), complex(3 * math.pi / 4, -INF)),
]  # fmt: skip


def equal_with_sign(found, wanted):
    if math.isnan(wanted):
        return math.isnan(found)
    return math.isclose(found, wanted, rel_tol=1e-6) and math.copysign(1, found) == math.copysign(1, wanted)


@pytest.mark.parametrize("kind", FLOATS)
def test_special_cases(kind):
    for name, arguments, wanted in SPECIAL:
        arrays = [xp.asarray(value, dtype=dtype(kind)) for value in arguments]
        assert equal_with_sign(float(getattr(xp, name)(*arrays)), wanted), (name, arguments)
        if not isinstance(arguments[0], list):  # long arrays take other loops
            many = getattr(xp, name)(*(xp.full(9, value, dtype=dtype(kind)) for value in arguments))
            assert equal_with_sign(float(many[4]), wanted), (name, arguments)


@pytest.mark.parametrize("kind", COMPLEX)
def test_complex_special_cases(kind):
    for name, value, wanted in COMPLEX_SPECIAL:
        found = complex(getattr(xp, name)(xp.asarray(value, dtype=dtype(kind))))
        assert equal_with_sign(found.real, wanted.real) and equal_with_sign(found.imag, wanted.imag), (
            name,
            value,
            found,
        )


# --- arrays ---

GRID = np.arange(24).reshape(2, 3, 4)
KEYS = [
    0, -1, (1, 2, 3), slice(None, None, -1), (slice(None), slice(2, 0, -1)), ..., (..., 1), (0, None, ..., -2), None,
    (np.array([1, 0]), 2), (np.array([[0], [1]]), np.array([0, 2])), GRID > 5, (1, GRID[0] % 2 == 0),
    (slice(None), np.array([2, 0])),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(KEYS)))
@pytest.mark.parametrize("width", ["int64", "uint8"])
def test_indexing(number, width):
    def translated(part):
        if not isinstance(part, np.ndarray):
            return part
        return xp.asarray(part if part.dtype == bool else part.astype(width))

    key = KEYS[number]
    ours = tuple(map(translated, key)) if isinstance(key, tuple) else translated(key)
    x = xp.asarray(GRID, copy=True)
    same(x[ours], GRID[key])
    if key is not None:
        written, expected = xp.asarray(GRID, copy=True), GRID.copy()
        written[ours] = xp.asarray(-1, dtype=xp.int8)
        expected[key] = -1
        same(written, expected)
        written[ours] = x[ours]
        same(written, GRID)


def test_python_numbers():
    assert [kind(xp.asarray(3)) for kind in (bool, int, float, complex)] == [True, 3, 3.0, 3 + 0j]
    assert operator.index(xp.asarray(3, dtype=xp.uint64)) == 3 and f"{xp.asarray(1.5):.2f}" == "1.50"
    with pytest.raises(TypeError):
        operator.index(xp.asarray(3.0))
    assert (xp.asarray(1) == None) is False and hash(xp.ones(1)) is not None  # noqa: E711


def test_sorting_descending_is_stable():
    x = xp.asarray([2, 1, 2, 1])
    assert xp.argsort(x, descending=True).tolist() == [0, 2, 1, 3] and xp.argsort(x).tolist() == [1, 3, 0, 2]
    assert xp.sort(x, descending=True).tolist() == [2, 2, 1, 1]


def test_named_results():
    x = xp.asarray([3.0, 1.0, 3.0])
    values, indices, inverse, counts = xp.unique_all(x)
    assert (values.tolist(), indices.tolist(), inverse.tolist(), counts.tolist()) == ([1, 3], [1, 0], [1, 0, 1], [1, 2])
    assert xp.unique_values(xp.asarray([3, -2, 7, -2, 1])).tolist() == [-2, 1, 3, 7]  # NumPy's have no order
    fields = {
        "values indices inverse_indices counts": xp.unique_all(x), "values counts": xp.unique_counts(x),
        "values inverse_indices": xp.unique_inverse(x), "Q R": xp.linalg.qr(xp.eye(2)), "U S Vh": xp.linalg.svd(xp.eye(2)),
        "sign logabsdet": xp.linalg.slogdet(xp.eye(2)), "eigenvalues eigenvectors": xp.linalg.eigh(xp.eye(2)),
    }  # fmt: skip
    for names, result in fields.items():
        assert result._fields == tuple(names.split())


def test_refusals():
    for call in (
        lambda: xp.squeeze(xp.ones((2, 1)), 0),
        lambda: xp.expand_dims(xp.ones(2), axis=3),
        lambda: xp.take(xp.ones((2, 2)), xp.asarray([0])),
        lambda: xp.asarray([1.0], copy=False),
        lambda: xp.reshape(xp.permute_dims(xp.ones((2, 3)), (1, 0)), (6,), copy=False),
        lambda: xp.nonzero(xp.asarray(1)),
        lambda: xp.zeros(2, device=3),
    ):
        with pytest.raises((ValueError, IndexError)):
            call()


def test_views_and_copies():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    shape = xp.reshape(x, (4,))
    shape[0] = 9.0  # a view, and the tape knows it
    assert float(x[0, 0]) == 9.0 and shape._base is x
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x and xp.astype(x, xp.float64, copy=False) is x
    exported = xp.from_dlpack(np.arange(3.0), copy=True)
    assert exported.tolist() == [0, 1, 2] and x.__dlpack_device__() == (1, 0)
    tensor = pullback.ones(2)
    array = xp.asarray(tensor)
    array += 1
    assert type(tensor) is pullback.Tensor and type(array) is xp.Array and tensor.tolist() == [2.0, 2.0]
    assert type(xp.positive(tensor)) is xp.Array and type(tensor) is pullback.Tensor
    assert type(tensor + array) is xp.Array and type(pullback.relu(array)) is pullback.Tensor
    assert type(copy.deepcopy(array)) is xp.Array and pickle.loads(pickle.dumps(array)).tolist() == [2.0, 2.0]


def test_size_is_a_number_and_a_method():
    for x in (pullback.ones(2, 3), xp.ones((2, 3))):
        assert x.size == 6 and isinstance(x.size, int) and x.size() == pullback.Size([2, 3]) == x.shape
        assert (x.size(0), x.size(-1), x.size(dim=1), pullback.Tensor.size(x, 0)) == (2, 3, 3, 2)
        assert copy.deepcopy(x.size)(0) == 2 and type(x.size()) is pullback.Size
        with pytest.raises(IndexError, match="Dimension out of range"):
            x.size(2)
    assert pullback.tensor(1.0).size == 1 and pullback.empty(0, 3).size == 0
