"""`TestCase` and the small helpers of test files: comparison, skipping, temporary files, random matrices.

Conditions about other machines (`IS_WINDOWS`, `TEST_CUDA`, ...) are False, and decorators that skip under them do nothing.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock  # torch's own brings it along, and its test files use it
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np

from ... import autograd
from ...core.basics.dtypes import bfloat16, float16, float32, float64
from ...core.tensor import Tensor
from .. import assert_close, make_tensor
from .parametrization import _TestParametrizer, decorateIf, instantiate_parametrized_tests, parametrize, subtest, swap

__all__ = [
    "TestCase", "_TestParametrizer", "decorateIf", "instantiate_parametrized_tests", "make_tensor", "parametrize",
    "run_tests", "subtest", "swap",
]  # fmt: skip

SEED: int = 1234
GRADCHECK_NONDET_TOL: float = 0.0
TEST_NUMPY: bool = True
IS_LINUX: bool = sys.platform == "linux"
IS_X86: bool = True
IS_FILESYSTEM_UTF8_ENCODING: bool = sys.getfilesystemencoding() == "utf-8"
MACOS_VERSION: float = 0.0
NATIVE_DEVICES: tuple[str, ...] = ("cpu",)
dtype2prec_DONTUSE: dict[Any, float] = {float32: 1e-5, float64: 1e-5, float16: 1e-2, bfloat16: 1e-1}


def _torch() -> Any:
    import pullback

    return pullback


def get_function_arglist(func: Any) -> list[str]:
    """The names of a function's arguments."""
    import inspect

    return inspect.getfullargspec(func).args


def __getattr__(name: str) -> Any:
    """Conditions and decorators about platforms that are not this one."""
    if name == "TEST_SCIPY":
        import importlib.util

        return importlib.util.find_spec("scipy") is not None
    if name in ("torch_to_numpy_dtype_dict", "numpy_to_torch_dtype_dict"):
        return _dtype_table(name.startswith("torch"))
    if name.startswith(("IS_", "TEST_", "NO_", "HAS_", "BUILD_", "RERUN_", "PRINT_")):
        return False
    if re.match(r"(skip|xfail|expectedFailure|slow|serial|mark|unMark|suppress|gcIf|runOn|only|set[A-Z]|wrap)", name):
        return _does_nothing
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}: it is not among the test helpers of this library"
    )


def _dtype_table(from_torch: bool) -> dict[Any, Any]:
    torch = _torch()
    names = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
    pairs = [(getattr(torch, name), getattr(np, name if name != "bool" else "bool_")) for name in names]
    return dict(pairs) if from_torch else {np.dtype(kind).type: dtype for dtype, kind in pairs}


def _does_nothing(*args: Any, **kwargs: Any) -> Any:
    """As a decorator, or as a function that makes one: the test stays as it is."""
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda function: function


def skipIfTorchDynamo(*args: Any, **kwargs: Any) -> Any:
    return _does_nothing(*args, **kwargs)


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the calling program."""
    unittest.main(argv=argv)


def load_tests(loader: Any, tests: Any, pattern: Any) -> Any:
    """Return all tests, where unittest asks for a selection."""
    return tests


# --- comparing ---


class TestCase(unittest.TestCase):
    """A test case whose `assertEqual` knows tensors, nested or not, and tolerances."""

    precision: float = 0.0
    rel_tol: float = 0.0
    maxDiff: int | None = None
    _ignore_not_implemented_error: bool = False

    def setUp(self) -> None:
        """Every test starts from the same random numbers."""
        set_rng_seed(SEED)

    def assertEqual(  # type: ignore[override]
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None,
        equal_nan: bool = True, exact_dtype: bool = True, **ignored: Any,
    ) -> None:  # fmt: skip
        """Equal, with the tolerance that suits the dtype; containers are compared item by item."""
        explain = msg if callable(msg) else None
        try:
            self._compare(x, y, atol, rtol, equal_nan, exact_dtype)
        except AssertionError as error:
            text = explain(str(error)) if explain else f"{error}\n{msg}" if msg else str(error)
            raise self.failureException(text) from None

    def _compare(
        self, x: Any, y: Any, atol: float | None, rtol: float | None, equal_nan: bool, exact_dtype: bool
    ) -> None:
        again = partial(self._compare, atol=atol, rtol=rtol, equal_nan=equal_nan, exact_dtype=exact_dtype)
        x, y = _items(x), _items(y)
        if isinstance(x, (Tensor, np.ndarray, np.generic)) or isinstance(y, (Tensor, np.ndarray, np.generic)):
            self._compare_tensors(x, y, atol, rtol, equal_nan, exact_dtype)
        elif isinstance(x, str) or isinstance(y, str) or x is None or y is None:
            super().assertEqual(x, y)
        elif isinstance(x, Mapping) and isinstance(y, Mapping):
            super().assertEqual(set(x), set(y))
            for key in x:
                again(x[key], y[key])
        elif isinstance(x, Sequence) and isinstance(y, Sequence):
            super().assertEqual(len(x), len(y), f"lengths differ: {x} and {y}")
            for one, other in zip(x, y, strict=True):
                again(one, other)
        elif isinstance(x, (int, float, complex)) and isinstance(y, (int, float, complex)) and type(x) is not bool:
            self._compare_numbers(x, y, atol, rtol, equal_nan)
        else:
            super().assertEqual(x, y)

    def _compare_numbers(self, x: Any, y: Any, atol: Any, rtol: Any, equal_nan: bool) -> None:
        if x == y or equal_nan and x != x and y != y:
            return
        inexact = isinstance(x, (float, complex)) or isinstance(y, (float, complex)) or atol or rtol
        if not inexact and not self.precision:
            raise AssertionError(f"{x} is not {y}")
        atol = max(1e-5, self.precision) if atol is None else atol  # numbers are mostly of single precision
        rtol = max(1.3e-6, self.rel_tol) if rtol is None else rtol
        if not abs(x - y) <= atol + rtol * abs(y):
            raise AssertionError(f"{x} is not {y}: the difference is {abs(x - y)}")

    def _compare_tensors(self, x: Any, y: Any, atol: Any, rtol: Any, equal_nan: bool, exact_dtype: bool) -> None:
        torch = _torch()
        if x is None or y is None:
            raise AssertionError(f"{x} is not {y}")
        loose = not (isinstance(x, Tensor) and isinstance(y, Tensor))
        kind = x.dtype if isinstance(x, Tensor) else y.dtype if isinstance(y, Tensor) else None
        first, second = (v if isinstance(v, Tensor) else torch.as_tensor(v, dtype=kind) for v in (x, y))
        if (
            loose
            and (first.dim() == 0 or second.dim() == 0)
            and first.shape != second.shape
            and first.numel() == second.numel()
        ):
            first, second = first.reshape(()), second.reshape(())
        if atol is None and rtol is None and (self.precision or self.rel_tol):
            rtol, atol = max(self.rel_tol, 1.3e-6), max(self.precision, 1e-5)
        elif (atol is None) != (rtol is None):
            rtol, atol = rtol or 0.0, atol or 0.0
        assert_close(
            first, second, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=exact_dtype and not loose,
            check_layout=False,
        )  # fmt: skip

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **tolerances: Any) -> None:  # type: ignore[override]
        """The opposite of `assertEqual`."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, **tolerances)

    def assertExpectedInline(self, actual: Any, expect: str, skip: int = 0) -> None:
        """A text that has to come out exactly so."""
        import textwrap

        super().assertEqual(str(actual).strip(), textwrap.dedent(expect).strip())

    def assertExpected(self, s: str, subname: str | None = None) -> None:
        """The text of a file next to that of the test: `expect/<class>.<test>[-<subname>].expect`."""
        module = type(self).__module__
        name = self.id().removeprefix(f"{module}.") + (f"-{subname}" if subname else "")
        file = Path(str(sys.modules[module].__file__)).resolve().parent / "expect" / f"{name}.expect"
        if not file.exists():
            raise RuntimeError(f"No expect file exists at {file}. I got this output for {name}:\n\n{s}")
        super().assertEqual(s, file.read_text())

    def assertExpectedRaisesInline(
        self, exc_type: Any, callable: Callable[..., Any], expect: str, *args: Any, **kw: Any
    ) -> None:
        """An error with exactly this text."""
        with self.assertRaises(exc_type) as caught:
            callable(*args, **kw)
        self.assertExpectedInline(str(caught.exception), expect)

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: Any, regex: str = "") -> Iterator[None]:
        """Exactly one warning whose text matches."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        found = [w for w in caught if issubclass(w.category, category) and re.search(regex, str(w.message))]
        if len(found) != 1:
            raise self.failureException(f"expected one warning like {regex!r}, got {[str(w.message) for w in caught]}")

    def assertNotWarn(self, callable: Callable[..., Any], msg: str = "") -> None:
        """No warning at all."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            callable()
        super().assertEqual([str(w.message) for w in caught], [], msg)

    @staticmethod
    def run_process_no_exception(code: str, env: Any = None) -> tuple[bytes, bytes]:
        """Run a program on its own and return its output and its complaints; `torch` is this library there too."""
        start = [sys.executable, "-c", f"import pullback; pullback.install_as_torch()\n{code}"]
        done = subprocess.run(start, capture_output=True, env=env, check=False)
        return done.stdout, done.stderr

    @staticmethod
    def runWithPytorchAPIUsageStderr(code: str) -> str:
        """Run a program on its own and return its complaints."""
        return TestCase.run_process_no_exception(code)[1].decode()

    def check_nondeterministic_alert(self, fn: Callable[[], Any], caller_name: str, should_alert: bool = True) -> None:
        """Where only deterministic algorithms are allowed, `fn` is refused, or warned about, or has one."""
        words = f"{caller_name} does not have a deterministic implementation, but you set"
        for warn_only in (False, True):
            with DeterministicGuard(True, warn_only=warn_only), contextlib.ExitStack() as stack:
                if should_alert and warn_only:
                    stack.enter_context(self.assertWarnsRegex(UserWarning, words))
                elif should_alert:
                    stack.enter_context(self.assertRaisesRegex(RuntimeError, words))
                fn()

    def assertAtenOp(self, *args: Any, **kwargs: Any) -> None:
        self.skipTest("there are no aten operations to record here")

    def compare_with_numpy(
        self, torch_fn: Any, np_fn: Any, tensor_like: Any, device: Any = None, dtype: Any = None, **kw: Any
    ) -> None:
        """The same function in both libraries, of the same data."""
        torch = _torch()
        tensor = tensor_like if isinstance(tensor_like, Tensor) else torch.tensor(tensor_like, dtype=dtype)
        data = tensor.detach().float() if tensor.dtype is torch.bfloat16 else tensor.detach()
        kw.setdefault("exact_dtype", False)
        self.assertEqual(torch_fn(tensor), np_fn(data.numpy()), **kw)

    def assertEqualIgnoreType(self, x: Any, y: Any, *args: Any, **kwargs: Any) -> None:
        """Equal numbers, whatever their dtypes."""
        self.assertEqual(x, y, *args, exact_dtype=False, **kwargs)

    def assertEqualTypeString(self, x: Tensor, y: Tensor) -> None:
        """The same device, dtype and type name."""
        for attribute in ("device", "dtype", "is_sparse"):
            super().assertEqual(getattr(x, attribute), getattr(y, attribute))
        super().assertEqual(x.type(), y.type())


def _items(value: Any) -> Any:
    """Lists of what holds items without being a sequence to Python, and of arrays of anything but numbers."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "OSU" else value
    if isinstance(value, Tensor) or not hasattr(value, "__getitem__"):
        return value
    torch = _torch()
    if torch.is_storage(value):
        return torch.tensor(value.tolist(), dtype=getattr(value, "dtype", torch.uint8))
    kinds = (torch.utils.data.Subset, torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ParameterList)
    return list(value) if isinstance(value, kinds) else value


# --- the state of the world ---


def set_rng_seed(seed: int) -> None:
    """Seed Python's, NumPy's and our generator."""
    _torch().manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Random numbers drawn inside do not count."""
    torch = _torch()
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


@contextlib.contextmanager
def set_default_dtype(dtype: Any) -> Iterator[None]:
    """Another default dtype for a while."""
    torch = _torch()
    saved = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(saved)


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    """No garbage collection inside."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def set_warn_always_context(new_val: bool) -> Iterator[None]:
    """Warnings that come once come every time."""
    torch = _torch()
    saved = torch.is_warn_always_enabled()
    torch.set_warn_always(new_val)
    try:
        yield
    finally:
        torch.set_warn_always(saved)


class DeterministicGuard:
    """Deterministic algorithms on or off for a while."""

    def __init__(self, deterministic: bool, *, warn_only: bool = False, fill_uninitialized_memory: bool = True) -> None:
        self.wanted: tuple[bool, bool] = (deterministic, warn_only)
        self.fill: bool = fill_uninitialized_memory

    def __enter__(self) -> None:
        torch = _torch()
        self.saved = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(self.wanted[0], warn_only=self.wanted[1])
        self.filled = torch.utils.deterministic.fill_uninitialized_memory
        torch.utils.deterministic.fill_uninitialized_memory = self.fill

    def __exit__(self, *exception: Any) -> None:
        _torch().use_deterministic_algorithms(self.saved[0], warn_only=self.saved[1])
        _torch().utils.deterministic.fill_uninitialized_memory = self.filled


def suppress_warnings(function: Any) -> Any:
    """Run a test without warnings."""

    @wraps(function)
    def quietly(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return quietly


def skipIfNoSciPy(function: Any) -> Any:
    return unittest.skipUnless(__getattr__("TEST_SCIPY"), "needs SciPy")(function)


def scoped_load_inline(function: Any) -> Any:
    """Tests that compile C++ have nothing to do here."""
    return unittest.skip("C++ extensions are not supported")(function)


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """The name of a file that is deleted at the end."""
    file: Any = tempfile.NamedTemporaryFile(*args, delete=False, **kwargs)  # type: ignore[call-overload]
    try:
        file.close()
        yield file.name
    finally:
        os.unlink(file.name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:
    """The name of a folder that is deleted at the end."""
    with tempfile.TemporaryDirectory(suffix=suffix) as name:
        yield name


@contextlib.contextmanager
def BytesIOContext(*args: Any, **kwargs: Any) -> Iterator[Any]:
    import io

    with io.BytesIO(*args, **kwargs) as buffer:
        yield buffer


# --- gradients ---


def gradcheck(fn: Any, inputs: Any, **kwargs: Any) -> bool:
    """`autograd.gradcheck` with the defaults of test files."""
    kwargs.setdefault("check_batched_grad", False)
    return autograd.gradcheck(fn, inputs, **kwargs)


def gradgradcheck(fn: Any, inputs: Any, grad_outputs: Any = None, **kwargs: Any) -> bool:
    """`autograd.gradgradcheck` with the defaults of test files."""
    kwargs.setdefault("check_batched_grad", False)
    return autograd.gradgradcheck(fn, inputs, grad_outputs, **kwargs)


def _assertGradAndGradgradChecks(test_case: Any, apply_fn: Any, inputs: Any, **kwargs: Any) -> None:
    test_case.assertTrue(gradcheck(apply_fn, inputs, **kwargs))
    test_case.assertTrue(gradgradcheck(apply_fn, inputs, **kwargs))


def is_iterable_of_tensors(iterable: Any, include_empty: bool = False) -> bool:
    """True if something is a list or tuple of tensors."""
    if isinstance(iterable, Tensor) or not isinstance(iterable, (list, tuple)):
        return False
    return all(isinstance(each, Tensor) for each in iterable) and (include_empty or len(iterable) > 0)


def noncontiguous_like(t: Tensor) -> Tensor:
    """The same numbers in memory with gaps; `t` itself if it has gaps already."""
    if not t.is_contiguous():
        return t
    torch = _torch()
    gap = torch.tensor(float("nan") if t.is_floating_point() or t.is_complex() else 1).to(t.dtype)
    copy = torch.stack([t.detach(), gap.expand(t.shape)], dim=-1)[..., 0]
    return copy.requires_grad_(t.requires_grad)


def bytes_to_scalar(byte_list: list[int], dtype: Any, device: Any = None) -> Any:
    """The number that these bytes are in memory, as a tensor."""
    return _torch().tensor(byte_list, dtype=_torch().uint8).view(dtype).reshape(())


def iter_indices(tensor: Tensor) -> Any:
    """All indices of a tensor."""
    if tensor.dim() == 0:
        return range(0)
    if tensor.dim() == 1:
        return range(tensor.size(0))
    return np.ndindex(*tensor.shape)


# --- random matrices ---


def random_symmetric_matrix(l: int, *batches: int, dtype: Any = None, device: Any = None) -> Tensor:
    matrix = _torch().randn(*batches, l, l, dtype=dtype)
    return (matrix + matrix.mT) / 2


def random_hermitian_matrix(l: int, *batches: int, dtype: Any = None, device: Any = None) -> Tensor:
    matrix = _torch().randn(*batches, l, l, dtype=dtype)
    return (matrix + matrix.mH) / 2


def random_symmetric_psd_matrix(l: int, *batches: int, dtype: Any = None, device: Any = None) -> Tensor:
    matrix = _torch().randn(*batches, l, l, dtype=dtype)
    return matrix @ matrix.mT


def random_hermitian_psd_matrix(matrix_size: int, *batches: int, dtype: Any = None, device: Any = None) -> Tensor:
    matrix = _torch().randn(*batches, matrix_size, matrix_size, dtype=dtype)
    return matrix @ matrix.mH


def random_symmetric_pd_matrix(matrix_size: int, *batches: int, dtype: Any = None, device: Any = None) -> Tensor:
    return (
        random_symmetric_psd_matrix(matrix_size, *batches, dtype=dtype) + _torch().eye(matrix_size, dtype=dtype) * 1e-5
    )


def random_hermitian_pd_matrix(matrix_size: int, *batches: int, dtype: Any = None, device: Any = None) -> Tensor:
    return random_hermitian_psd_matrix(matrix_size, *batches, dtype=dtype) + _torch().eye(matrix_size, dtype=dtype)


def make_fullrank_matrices_with_distinct_singular_values(
    *shape: int, device: Any = None, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """Matrices whose singular values lie apart, so that decompositions have gradients."""
    torch = _torch()
    u, _, vh = torch.linalg.svd(torch.randn(*shape, dtype=dtype), full_matrices=False)
    number = torch.arange(2, min(shape[-2:]) + 2, dtype=u.real.dtype)
    s = 1 + (-1) ** number / number  # 3/2, 2/3, 5/4, ...
    matrix = (u * s.to(dtype)) @ vh
    return matrix.requires_grad_(requires_grad)


def random_well_conditioned_matrix(
    *shape: int, dtype: Any = None, device: Any = None, mean: float = 1.0, sigma: float = 0.001
) -> Tensor:
    """Matrices whose singular values all lie near `mean`."""
    torch = _torch()
    left, _, right = torch.linalg.svd(torch.randn(*shape, dtype=dtype), full_matrices=False)
    values = torch.randn(*shape[:-2], min(shape[-2:]), dtype=left.real.dtype) * sigma + mean
    return (left * values.unsqueeze(-2)) @ right


def random_lowrank_matrix(rank: int, rows: int, columns: int, *batches: int, **kwargs: Any) -> Tensor:
    torch = _torch()
    return torch.randn(*batches, rows, rank, **kwargs) @ torch.randn(*batches, rank, columns, **kwargs)


def random_square_matrix_of_rank(l: int, rank: int, dtype: Any = None, device: Any = None) -> Tensor:
    return random_lowrank_matrix(rank, l, l, dtype=dtype if dtype is not None else _torch().double)
