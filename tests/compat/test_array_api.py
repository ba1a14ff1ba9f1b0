"""The Array API namespace: the standard's names, dtypes and defaults, and the gradient kept by its functions."""

import numpy as np
import pytest

import pullback
from pullback import array_api as xp

NAMES = """abs acos
acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and
bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_to
can_cast ceil clip complex128 complex64 concat conj copysign cos cosh count_nonzero cumulative_prod
cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye finfo flip float32 float64 floor
floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8
isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not
logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan
negative newaxis nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal
remainder repeat reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze
stack std subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8
unique_all unique_counts unique_inverse unique_values unstack var vecdot where zeros zeros_like
__array_namespace_info__""".split()
LINALG = """cholesky
cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift".split()

A = np.array([[2.0, 1.0], [0.5, 3.0]])
KEPT = {
    "sum": xp.sum,
    "concat": lambda a: xp.concat([a, a]),
    "permute_dims": lambda a: xp.permute_dims(a, (1, 0)),
    "vecdot": lambda a: xp.vecdot(a, a),
    "vecdot axis": lambda a: xp.vecdot(a, a, axis=0),
    "pow": lambda a: xp.pow(a, 2.0),
    "cumulative_sum": lambda a: xp.cumulative_sum(a, axis=0, include_initial=True),
    "clip": lambda a: xp.clip(a, min=1.0),
    "take": lambda a: xp.take(a, xp.asarray([0]), axis=1),
    "where": lambda a: xp.where(a > 2, a, xp.zeros_like(a)),
    "std": lambda a: xp.std(a, correction=1),
    "astype": lambda a: xp.astype(a, xp.float32),
    "max": lambda a: xp.max(a, axis=0),
    "det": lambda a: xp.linalg.det(a),
    "solve": lambda a: xp.linalg.solve(a, xp.ones((2, 1))),
    "fft": lambda a: xp.abs(xp.fft.fft(a)),
    "vector_norm": lambda a: xp.linalg.vector_norm(a),
    "svdvals": lambda a: xp.linalg.svdvals(a),
    "sort": xp.sort,
    "unstack": lambda a: xp.unstack(a)[1],
    "tile": lambda a: xp.tile(a, (2, 1)),
    "mean": lambda a: xp.mean(a, axis=(0, 1)),
    "broadcast_to": lambda a: xp.broadcast_to(a, (3, 2, 2)),
    "meshgrid": lambda a: xp.meshgrid(a[0], a[1])[0],
}


def test_every_name_of_the_standard_is_there():
    assert [name for name in NAMES if not hasattr(xp, name)] == []
    assert [name for name in LINALG if not hasattr(xp.linalg, name)] == []
    assert [name for name in FFT if not hasattr(xp.fft, name)] == []
    assert pullback.ones(2).__array_namespace__(api_version="2024.12") is xp


@pytest.mark.parametrize("name", KEPT)
def test_values_are_numpys_and_the_gradient_is_kept(name):
    tracked, untracked = xp.asarray(A), xp.asarray(A)
    tracked.requires_grad_()
    result, plain = KEPT[name](tracked), KEPT[name](untracked)
    assert result.requires_grad and not plain.requires_grad
    np.testing.assert_allclose(result.detach().numpy(), plain.numpy(), rtol=1e-6)
    result.sum().backward()
    assert np.isfinite(tracked.grad.numpy()).all()


@pytest.mark.parametrize(
    "kind", ["bool", "integral", "unsigned integer", "real floating", "complex floating", "numeric"]
)
def test_dtypes_of_a_kind(kind):
    found = xp.__array_namespace_info__().dtypes(kind=kind)
    assert found and all(xp.isdtype(each, kind) for each in found.values())
    assert all(xp.zeros(1, dtype=each).dtype is each for each in found.values())


def test_defaults_and_promotion():
    assert (
        xp.asarray(1.0).dtype is xp.float64
        and xp.asarray([1]).dtype is xp.int64
        and xp.asarray(1j).dtype is xp.complex128
    )
    assert (
        xp.sum(xp.ones(3, dtype=xp.uint8)).dtype is xp.uint64
        and xp.sum(xp.ones(3, dtype=xp.float32)).dtype is xp.float32
    )
    assert xp.result_type(xp.int8, xp.uint8) is xp.int16 and xp.result_type(xp.float32, xp.ones(1)) is xp.float64
    assert xp.finfo(xp.complex64).dtype is xp.float32 and xp.iinfo(xp.int16).max == 32767
    values, counts = xp.unique_counts(xp.asarray([3, 1, 3]))
    assert values.tolist() == [1, 3] and counts.tolist() == [1, 2]
