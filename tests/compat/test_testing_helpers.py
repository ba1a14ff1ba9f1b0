"""Helpers of torch.testing._internal that test files of other projects import: they do what their names say."""

import subprocess
import sys
import types
import unittest
import warnings

import numpy as np
import pytest

import pullback
from pullback import __future__ as future
from pullback.serialization import options
from pullback.shell.torch_names.lookup import find_torch_name
from pullback.testing._internal import common_cuda, common_device_type, common_dtype, common_utils


def test_groups_of_dtypes_hold_every_dtype_once():
    group = common_dtype.all_types_complex_float8_and(pullback.bool, pullback.bfloat16)
    assert len(group) == len(set(group)) and {pullback.float8_e5m2, pullback.complex64, pullback.bfloat16} <= set(group)


def test_there_is_no_cuda_version():
    assert common_cuda._get_torch_cuda_version() < (11, 0)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128", "bool"])
def test_noncontiguous_like_keeps_the_numbers(dtype):
    x = pullback.ones(2, 3, dtype=getattr(pullback, dtype))
    y = common_utils.noncontiguous_like(x)
    assert not y.is_contiguous() and y.dtype == x.dtype and (y == x).all()
    assert common_utils.noncontiguous_like(y) is y


def test_bytes_to_scalar():
    assert common_utils.bytes_to_scalar([0, 0, 128, 63], pullback.float32).item() == 1.0


def test_a_mark_of_ones_own_gives_one_test_for_each_case():
    class numbers(common_utils._TestParametrizer):
        def _parametrize_test(self, test, generic_cls, device_cls):
            for number in (1, 2):
                yield test, f"number_{number}", {"number": number}, lambda _: []

    seen = []

    class Case(common_utils.TestCase):
        @numbers()
        def test_it(self, number):
            seen.append(number)

    common_utils.instantiate_parametrized_tests(Case)
    for name in ("test_it_number_1", "test_it_number_2"):
        getattr(Case(name), name)()
    assert seen == [1, 2]


def test_set_up_of_a_class_for_a_device_reaches_its_parent():
    class TestGeneric(common_utils.TestCase):
        def setUp(self):
            super(self.__class__, self).setUp()
            self.ready = True

        def tearDown(self):
            super().tearDown()

        def helper(self):
            return self.ready

        @common_device_type.dtypes(pullback.float32)
        def test_it(self, device, dtype):
            assert self.helper() and device == "cpu" and dtype is pullback.float32

    scope = {"TestGeneric": TestGeneric}
    common_device_type.instantiate_device_type_tests(TestGeneric, scope)
    result = unittest.TestResult()
    scope["TestGenericCPU"]("test_it_cpu_float32").run(result)
    assert list(scope) == ["TestGenericCPU"] and result.testsRun == 1 and result.wasSuccessful()


def test_comparing_with_numpy_and_type_strings():
    case = common_utils.TestCase()
    case.compare_with_numpy(lambda t: t + 1, lambda a: a + 1, pullback.ones(3, dtype=pullback.bfloat16))
    case.assertEqualIgnoreType(pullback.ones(2), pullback.ones(2, dtype=pullback.int64))
    case.assertEqualTypeString(pullback.ones(2), pullback.zeros(3))
    with pytest.raises(AssertionError):
        case.assertEqualTypeString(pullback.ones(2), pullback.ones(2, dtype=pullback.int64))


def test_layers_are_run_by_their_test_case():
    from pullback.testing._internal import common_nn

    case, layer = common_nn.NNTestCase(), pullback.nn.Linear(2, 3)
    x = pullback.ones(4, 2, requires_grad=True)
    out = case._forward(layer, x)
    assert case._backward(layer, x, out, pullback.ones(4, 3)).shape == (4, 2)
    parameters, gradients = case._get_parameters(layer)
    assert case._flatten_tensors(gradients).shape == (9,) and len(parameters) == 2
    case._zero_grad_input((x,))
    case._zero_grad_parameters(layer)
    assert x.grad is None and layer.weight.grad is None
    common_nn._test_module_empty_input(case, layer, pullback.zeros(0, 2), check_size=False)
    assert len(list(common_nn._create_basic_net()[2].parameters())) == 2


def test_a_mark_knows_the_class_and_the_device_and_names_are_torchs():
    class tables(common_utils._TestParametrizer):
        def _parametrize_test(self, test, generic_cls, device_cls):
            for entry in ("one", "two"):
                skips = [unittest.skip("two")] if entry == "two" else []
                kwargs = {"entry": (entry, generic_cls.__name__, device_cls.device_type), "dtype": pullback.float64}
                yield test, entry, kwargs, lambda given, skips=skips: skips if given["flag"] else []

    seen = []

    class TestGeneric(common_utils.TestCase):
        @common_utils.parametrize("shape", [(1,), (2,)])
        @common_utils.parametrize("flag", [True, False])
        @tables()
        def test_it(self, device, dtype, entry, flag, shape):
            seen.append((device, dtype, entry, flag, shape))

    scope = {"TestGeneric": TestGeneric}
    common_device_type.instantiate_device_type_tests(TestGeneric, scope)
    case = scope["TestGenericCPU"]
    names = [name for name in dir(case) if name.startswith("test_it_")]
    assert len(names) == 8 and "test_it_shape1_flag_False_two_cpu_float64" in names
    result = unittest.TestResult()
    for name in names:
        case(name).run(result)
    assert result.wasSuccessful() and len(result.skipped) == 2 and len(seen) == 6
    assert seen[0] == ("cpu", pullback.float64, ("one", "TestGeneric", "cpu"), False, (1,))


def test_decorators_of_a_table_are_for_the_tests_they_name():
    from pullback.testing._internal.common_methods_invocations import DecorateInfo

    info = DecorateInfo(
        unittest.skip("no"), "TestIt", "test_it", dtypes=(pullback.float32,), active_if=lambda kwargs: kwargs["flag"]
    )
    asked = {"cls_name": "TestIt", "test_name": "test_it", "device_type": "cpu", "dtype": pullback.float32}
    assert info.is_active(**asked, param_kwargs={"flag": 1}) and len(info.decorators) == 1
    assert not info.is_active(**asked, param_kwargs={"flag": 0})
    for key, other in (("cls_name", "TestOther"), ("test_name", "test_other"), ("dtype", pullback.float64)):
        assert not info.is_active(**{**asked, key: other}, param_kwargs={})


def test_every_row_of_optimizers_can_be_used_and_refuses_what_it_says():
    from pullback.testing._internal import common_optimizers as table

    assert {row.name for row in table.optim_db} >= {"SGD", "Adam", "LBFGS", "SparseAdam"} and len(table.optim_db) == 14
    for row in table.optim_db:
        made = table._get_optim_inputs_including_global_cliquey_kwargs("cpu", pullback.float32, row)
        assert len(made) > len(row.supported_impls)
        for given in made:
            row.optim_cls([pullback.nn.Parameter(pullback.ones(2))], **given.kwargs)
        for wrong in row.optim_error_inputs_func("cpu", pullback.float32):
            given = wrong.optimizer_error_input
            params = [pullback.nn.Parameter(pullback.ones(2))] if given.params is None else given.params
            expected = pytest.warns if wrong.error_type is UserWarning else pytest.raises
            with expected(wrong.error_type, match=wrong.error_regex):
                row.optim_cls(params, **given.kwargs)


def test_tests_are_made_for_each_optimizer():
    from pullback.testing._internal import common_optimizers as table

    seen = []

    class TestAll(common_utils.TestCase):
        @table.optims(table.optim_db, dtypes=[pullback.float64])
        def test_param_groups_lr(self, device, dtype, optim_info):
            seen.append((optim_info.name, dtype))

    scope = {"TestAll": TestAll}
    common_device_type.instantiate_device_type_tests(TestAll, scope)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(scope["TestAllCPU"]).run(result)
    assert result.wasSuccessful() and ("Adam", pullback.float64) in seen and len(result.skipped) == 1


def test_tracked_tensors_are_compared_in_their_order():
    from pullback.testing._internal.common_optimizers import TensorTracker

    tracker, case = TensorTracker({"atol": 0.1, "rtol": 0.0}), common_utils.TestCase()
    tracker.add(pullback.zeros(2))
    tracker.add(pullback.ones(2))
    second = pullback.full((2,), 0.05)
    tracker.pop_check_set(second, case)
    assert (second == 0).all() and not tracker.all_popped()
    with pytest.raises(AssertionError):
        tracker.pop_check_set(second, case)


def test_subsets_layers_and_arrays_of_text_are_compared_item_by_item():
    case, data = common_utils.TestCase(), pullback.utils.data
    one, other = (data.Subset(list(range(9)), places) for places in ([1, 2], [1, 3]))
    case.assertEqual(one, data.Subset(list(range(9)), [1, 2]))
    case.assertNotEqual(one, other)
    case.assertEqual(np.array(["a", "b"]), np.array(["a", "b"]))
    case.assertNotEqual(np.array(["a", "b"]), np.array(["a", "c"]))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_random_matrices_are_what_their_names_say(dtype):
    kind = getattr(pullback, dtype)
    matrices = common_utils.random_well_conditioned_matrix(2, 5, 3, dtype=kind)
    values = pullback.linalg.svdvals(matrices)
    assert matrices.dtype is kind and matrices.shape == (2, 5, 3) and (values - 1).abs().max() < 0.1
    assert pullback.linalg.matrix_rank(common_utils.random_lowrank_matrix(2, 6, 4, 3, dtype=kind)).tolist() == [2] * 3
    assert pullback.linalg.matrix_rank(common_utils.random_square_matrix_of_rank(5, 3, dtype=kind)) == 3


def test_texts_are_expected_from_files(tmp_path, monkeypatch):
    class Texts(common_utils.TestCase):
        def test_it(self):
            self.assertExpected("two\nlines", "first")

    Texts.__module__, Texts.__qualname__ = "texts", "Texts"
    monkeypatch.setitem(sys.modules, "texts", types.SimpleNamespace(__file__=str(tmp_path / "texts.py")))
    with pytest.raises(RuntimeError, match="No expect file exists"):
        Texts("test_it").test_it()
    (tmp_path / "expect").mkdir()
    file = tmp_path / "expect" / "Texts.test_it-first.expect"
    file.write_text("two\nlines")
    Texts("test_it").test_it()
    file.write_text("other lines")
    with pytest.raises(AssertionError):
        Texts("test_it").test_it()


def test_programs_of_their_own_have_the_alias():
    out, err = common_utils.TestCase.run_process_no_exception(
        "import torch; print(torch.__name__, torch.ones(1).item())"
    )
    assert (out.split(), err) == ([b"torch", b"1.0"], b"")
    assert "ValueError" in common_utils.TestCase.runWithPytorchAPIUsageStderr("raise ValueError")


def test_alerts_about_algorithms():
    def alerting():
        words = "sums does not have a deterministic implementation, but you set"
        if pullback.is_deterministic_algorithms_warn_only_enabled():
            warnings.warn(words, UserWarning, stacklevel=2)
        elif pullback.are_deterministic_algorithms_enabled():
            raise RuntimeError(words)

    case = common_utils.TestCase()
    case.check_nondeterministic_alert(alerting, "sums")
    case.check_nondeterministic_alert(lambda: None, "sums", should_alert=False)
    with pytest.raises(AssertionError):
        case.check_nondeterministic_alert(lambda: None, "sums")
    with pytest.raises(RuntimeError):
        case.check_nondeterministic_alert(alerting, "sums", should_alert=False)


NAMES_THAT_TEST_FILES_IMPORT = """
torch._C._ConvBackend torch._nnpack_available torch._utils._rebuild_tensor torch._utils_internal.get_file_path_2
torch.backends.quantized.supported_engines torch.library.fallthrough_kernel
torch.optim.lr_scheduler.EPOCH_DEPRECATION_WARNING torch.serialization.check_module_version_greater_or_equal
torch.testing._internal.autograd_function_db.autograd_function_db torch.testing._internal.common_mkldnn.bf32_on_and_off
torch.testing._internal.common_methods_invocations.OpInfo torch.testing._internal.common_methods_invocations.SampleInput
torch.testing._internal.common_methods_invocations.reference_masked_ops torch.testing._internal.common_nn.new_module_tests
torch.testing._internal.common_subclass.subclass_db torch.testing._internal.common_utils.MACOS_VERSION
torch.testing._internal.common_utils.swap torch.testing._internal.custom_op_db.custom_op_db
torch.testing._internal.generated.annotated_fn_args.annotated_args torch.testing._internal.hypothesis_utils.tensor
torch.testing._internal.logging_tensor.capture_logs torch.testing._internal.two_tensor.TwoTensor
torch.utils._mode_utils.no_dispatch torch._dynamo.config.patch
"""


@pytest.mark.parametrize("name", NAMES_THAT_TEST_FILES_IMPORT.split())
def test_names_that_torchs_test_files_import_are_there(name):
    """A file that cannot import one of them has no tests at all."""
    assert type(find_torch_name(name)).__name__ != "Placeholder"


def test_tests_run_with_and_without_swapping():
    seen = []

    class Tests(unittest.TestCase):
        @common_utils.swap([True, False])
        @common_utils.parametrize("number", [1, 2])
        def test_it(self, number):
            seen.append((number, future.get_swap_module_params_on_conversion()))

    common_utils.instantiate_parametrized_tests(Tests)
    names = [name for name in dir(Tests) if name.startswith("test")]
    assert names == [f"test_it_swap_{value}_number_{number}" for value in (False, True) for number in (1, 2)]
    assert unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(unittest.TestResult()).wasSuccessful()
    assert seen == [(1, False), (2, False), (1, True), (2, True)] and not future.get_swap_module_params_on_conversion()


def test_versions_of_picklers():
    module = types.SimpleNamespace(__name__="dill", __version__="0.3.10")
    assert options.check_module_version_greater_or_equal(module, (0, 3, 1))
    assert not options.check_module_version_greater_or_equal(module, (0, 4))
    module.__version__ = "new"
    with pytest.raises(RuntimeError, match="malformed"):
        options.check_module_version_greater_or_equal(module, (0, 4))


def test_a_wrapper_of_two_tensors_runs_everything_on_both():
    code = """
import pullback; pullback.install_as_torch(); import torch
from torch.testing._internal.two_tensor import TwoTensor
pair = TwoTensor(torch.ones(2), torch.zeros(2))
result = (pair * 2 + 1).sum()
assert (result.a.item(), result.b.item()) == (6.0, 2.0) and result.__tensor_flatten__()[0] == ["a", "b"]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
