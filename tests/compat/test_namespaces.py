"""The namespaces ordinary programs touch besides tensors and layers answer as torch's CPU build does."""

import contextlib
import pickle
import types
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def outcome(function, module):
    """What a program sees: a value, or the type and first sentence of an error."""
    try:
        return function(module)
    except Exception as error:
        return type(error).__name__, str(error).split(".")[0].split(" (Triggered")[0]


QUESTIONS = {
    "cuda available": lambda t: t.cuda.is_available(),
    "cuda count": lambda t: t.cuda.device_count(),
    "cuda memory": lambda t: (t.cuda.memory_allocated(), t.cuda.max_memory_allocated()),
    "cuda seeds": lambda t: (t.cuda.manual_seed(1), t.cuda.manual_seed_all(1), t.cuda.empty_cache()),
    "cuda device": lambda t: t.cuda.current_device(),
    "cuda name": lambda t: t.cuda.get_device_name(0),
    "cuda tensor": lambda t: t.ones(2).cuda(),
    "cuda type": lambda t: t.cuda.FloatTensor(2),
    "accelerator": lambda t: (t.accelerator.is_available(), t.accelerator.current_accelerator()),
    "mps": lambda t: (t.backends.mps.is_available(), t.backends.mps.is_built()),
    "cudnn": lambda t: (t.backends.cudnn.is_available(), t.backends.cudnn.benchmark, t.backends.cudnn.deterministic),
    "float tensor": lambda t: t.FloatTensor([1, 2]).tolist(),
    "long tensor": lambda t: (
        t.LongTensor([1, 2]).tolist(),
        tuple(t.LongTensor(2, 3).shape),
        t.LongTensor([1.5]).tolist(),
    ),
    "bool tensor": lambda t: t.BoolTensor([True, False]).tolist(),
    "type of tensor": lambda t: (isinstance(t.ones(2), t.FloatTensor), isinstance(t.ones(2), t.LongTensor)),
    "wrong data": lambda t: t.FloatTensor(2.5),
    "to a legacy type": lambda t: t.ones(2).type(t.LongTensor).tolist(),
    "typename": lambda t: (t.typename(t.ones(1)), t.typename(t.nn.Linear(1, 1))),
    "layout": lambda t: (str(t.ones(1).layout), str(t.contiguous_format), str(t.channels_last)),
    "default device": lambda t: str(t.get_default_device()),
    "storage": lambda t: (
        t.ones(2, 3)[1].untyped_storage().nbytes(),
        len(t.ones(3).storage()),
        t.ones(2).storage().tolist(),
    ),
    "same storage": lambda t: (lambda x: x[1:].untyped_storage().data_ptr() == x.untyped_storage().data_ptr())(
        t.ones(3)
    ),
    "frombuffer": lambda t: t.frombuffer(bytearray(b"abcdefgh"), dtype=t.int16).tolist(),
    "frombuffer of nothing": lambda t: t.frombuffer(bytearray(b""), dtype=t.int16),
    "compile": lambda t: t.compiler.is_compiling(),
    "jit": lambda t: (t.jit.is_scripting(), t.jit.is_tracing(), t.jit.annotate(int, 3)),
    "distributed": lambda t: t.distributed.is_initialized(),
    "rank without a group": lambda t: t.distributed.get_rank(),
    "constants": lambda t: (t.pi, t.e, t.inf, t.newaxis),
    "functions in place": lambda t: (t.relu_(t.tensor([-1.0, 1.0])).tolist(), t.exp_(t.zeros(1)).tolist()),
    "functions of layers": lambda t: t.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2)).tolist(),
    "dropout": lambda t: t.dropout(t.ones(3), 0.5, False).tolist(),
    "questions": lambda t: (
        t.is_floating_point(t.ones(1)),
        t.is_complex(t.ones(1)),
        t.numel(t.ones(2, 3)),
        t.is_nonzero(t.ones(1)),
    ),
    "old forms": lambda t: (
        t.ones(2).add_(0.5, t.ones(2)).tolist(),
        t.ones(2).addcmul_(0.5, t.ones(2), t.ones(2)).tolist(),
    ),
    "out of lu": lambda t: [
        part.tolist()
        for out in [(t.empty(0), t.empty(0, dtype=t.int32))]
        for part in (*t.lu(t.tensor([[2.0, 1.0], [1.0, 3.0]]), out=out), *out)
    ],
    "steps to record": lambda t: [
        [t.profiler.schedule(wait=2, warmup=1, active=2, repeat=1, **more)(step).name for step in range(8)]
        for more in ({}, {"skip_first": 1}, {"skip_first": 1, "skip_first_wait": 1})
    ],
    "alpha tensor": lambda t: t.ones(2).add(t.ones(2), alpha=t.tensor(2.0)).tolist(),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_torchs(name):
    assert outcome(QUESTIONS[name], pullback) == outcome(QUESTIONS[name], torch)


def test_what_is_a_class_in_torch_is_one_here():
    def kind(value):
        return "module" if isinstance(value, types.ModuleType) else "class" if isinstance(value, type) else "other"

    names = [name for name in dir(torch) if hasattr(pullback, name) and name not in ("sym_float", "sym_int")]
    kinds = {name: (kind(getattr(pullback, name)), kind(getattr(torch, name))) for name in names}
    assert len(names) > 800 and {name: pair for name, pair in kinds.items() if len(set(pair)) > 1} == {}


def test_tensors_of_files(tmp_path):
    def story(t, path):
        told = [outcome(lambda _: t.from_file(path, size=4), t)]
        shared = t.from_file(path, True, 4)
        shared.fill_(3)
        own = t.from_file(path, False, 2, dtype=t.float32)
        own.fill_(5)
        told += [
            np.fromfile(path, "float32").tolist(),
            own.tolist(),
            outcome(lambda _: t.from_file(path, False, 20), t),
        ]
        told += [t.from_file(path, True, 6).tolist(), t.from_file(path, shared=True, size=3, dtype=t.int64)[2].item()]
        return [str(each).replace(path, "path") for each in [*told, t.from_file(path).tolist()]]

    assert story(pullback, str(tmp_path / "ours")) == story(torch, str(tmp_path / "theirs"))


PAIRS = {
    "close": lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0 + 1e-7])),
    "far": lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 3.0])),
    "integers": lambda t: (t.tensor([1, 2]), t.tensor([1, 3])),
    "bools": lambda t: (t.tensor([True, False]), t.tensor([True, True])),
    "dtype": lambda t: (t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)),
    "shape": lambda t: (t.tensor([1.0]), t.tensor([1.0, 2.0])),
    "0-d": lambda t: (t.tensor(1.0), t.tensor(2.0)),
    "floats": lambda t: (1.0, 2.0),
    "numbers of two kinds": lambda t: (1, 1.0),
    "list": lambda t: ([1.0, 2.0], [1.0, 3.0]),
    "lengths": lambda t: ([t.tensor(1.0)], [t.tensor(1.0), t.tensor(2.0)]),
    "dict": lambda t: ({"a": t.tensor(1.0)}, {"a": t.tensor(2.0)}),
    "keys": lambda t: ({"a": t.tensor(1.0)}, {"b": t.tensor(1.0)}),
    "nan": lambda t: (t.tensor([float("nan")]), t.tensor([float("nan")])),
    "arrays": lambda t: (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    "matrix": lambda t: (t.tensor([[1.0, 2], [3, 4]]), t.tensor([[1.0, 2], [3.5, 8]])),
    "complex": lambda t: (t.tensor([1 + 2j]), t.tensor([1 + 3j])),
    "tensor and list": lambda t: (t.tensor([1.0]), [1.0]),
    "empty": lambda t: (t.tensor([]), t.tensor([])),
    "none": lambda t: (None, None),
}


def complaint(module, compare, pair):
    try:
        getattr(module.testing, compare)(*pair(module))
    except Exception as error:
        return type(error).__name__, str(error).replace("pullback.core.tensor.Tensor", "torch.Tensor")
    return None


@pytest.mark.parametrize("name", PAIRS)
def test_assert_close_says_what_torch_says(name):
    assert complaint(pullback, "assert_close", PAIRS[name]) == complaint(torch, "assert_close", PAIRS[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32"])
@pytest.mark.parametrize("difference", [0, 5e-9, 5e-6, 5e-5, 5e-3])
def test_assert_allclose_is_as_generous_as_torchs(dtype, difference):
    def pair(t):
        return t.tensor([1.0, 2.0]).to(getattr(t, dtype)), t.tensor([1.0, 2.0 + difference], dtype=t.float32)

    assert complaint(pullback, "assert_allclose", pair) == complaint(torch, "assert_allclose", pair)


def test_autocast_runs_products_in_bfloat16():
    def dtypes(module):
        module.manual_seed(0)
        layer, x = module.nn.Linear(4, 4), module.randn(2, 4)
        with module.autocast("cpu", dtype=module.bfloat16):
            y = layer(x)
            z = x @ x.T + 1.0
            mixed = y @ x.T
            loss = module.nn.functional.mse_loss(y, x)
            inside = module.is_autocast_cpu_enabled()
            with module.autocast("cpu", enabled=False):
                off = layer(x)
        loss.backward()
        values = [str(v.dtype) for v in (y, z, mixed, loss, off, layer.weight.grad)]
        return values, inside, module.is_autocast_cpu_enabled(), round(loss.item(), 2)

    assert dtypes(pullback) == dtypes(torch)


def test_grad_scaler_skips_steps_that_overflow():
    def story(module):
        p = module.nn.Parameter(module.tensor([1.0]))
        optimizer = module.optim.SGD([p], lr=0.1)
        scaler = module.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
        told = []
        for factor in (1.0, float("inf"), 2.0, 3.0, 4.0):
            optimizer.zero_grad()
            scaler.scale((p * factor).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            told.append((round(p.item(), 5), scaler.get_scale()))
        with contextlib.suppress(RuntimeError):
            scaler.unscale_(optimizer)
            scaler.unscale_(optimizer)
            told.append("no error")
        return told, {key: float(value) for key, value in scaler.state_dict().items()}

    assert story(pullback) == story(torch)


def test_what_cannot_be_done_says_so():
    for function in (pullback.jit.save, pullback.jit.load, pullback.onnx.export, pullback.hub.load):
        with pytest.raises((RuntimeError, NotImplementedError), match="Pullback"):
            function(None, None)
    with pytest.raises(RuntimeError, match="one process"):
        pullback.distributed.init_process_group("gloo", world_size=2, rank=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function = lambda x: x
        assert pullback.jit.script(function) is function and pullback.compile(function) is function
    assert len(caught) <= 1


def test_one_process_is_a_group():
    group = pullback.distributed
    group.init_process_group("gloo", world_size=1, rank=0)
    try:
        x = pullback.ones(2)
        group.all_reduce(x)
        assert (group.get_rank(), group.get_world_size(), x.tolist()) == (0, 1, [1.0, 1.0])
    finally:
        group.destroy_process_group()


def test_profiler_counts_operations():
    x = pullback.randn(4, 4, requires_grad=True)
    with pullback.profiler.profile() as profiler, pullback.profiler.record_function("block"):
        (x @ x).sum()
    keys = {item.key: item.count for item in profiler.key_averages()}
    assert keys["aten::mm"] == 1 and keys["block"] == 1
    assert "aten::mm" in profiler.key_averages().table(sort_by="cpu_time_total")


def test_layouts_and_formats_pickle_by_name():
    assert pickle.loads(pickle.dumps(pullback.channels_last)) is pullback.channels_last


def test_subclasses_of_parameters_may_take_arguments_of_their_own():
    class Named(pullback.nn.Parameter):
        def __new__(cls, data, requires_grad=True, label=""):
            made = pullback.Tensor._make_subclass(cls, data, requires_grad)
            made.label = label
            return made

    module = pullback.nn.Module()
    module.p = Named(pullback.ones(2), label="first")
    (module.p * 3).sum().backward()
    (kept,) = module.parameters()
    assert (type(kept), kept.label, kept.grad.tolist()) == (Named, "first", [3.0, 3.0])


def test_futures_arrive():
    futures = [pullback.futures.Future() for _ in range(2)]
    doubled = futures[0].then(lambda done: 2 * done.wait())
    together = pullback.futures.collect_all(futures)
    futures[0].set_result(1)
    assert doubled.wait() == 2 and not together.done()
    futures[1].set_exception(ValueError("no"))
    assert together.done() and pullback.futures.wait_all(futures[:1]) == [1]
    with pytest.raises(ValueError, match="no"):
        futures[1].wait()


def test_a_group_of_one_trains_in_parallel():
    with pytest.raises(ValueError, match="not been initialized"):
        pullback.nn.parallel.DistributedDataParallel(pullback.nn.Linear(2, 1))
    pullback.distributed.init_process_group("gloo", world_size=1, rank=0)
    try:
        model = pullback.nn.parallel.DistributedDataParallel(pullback.nn.Linear(2, 1))
        with model.no_sync():
            model(pullback.ones(1, 2)).sum().backward()
        assert list(model.state_dict()) == ["module.weight", "module.bias"]
        assert model.module.weight.grad.tolist() == [[1.0, 1.0]]
    finally:
        pullback.distributed.destroy_process_group()


FOREACH = {
    "_foreach_add_": lambda t, x: t._foreach_add_(x, x, alpha=2),
    "_foreach_mul_": lambda t, x: t._foreach_mul_(x, 0.5),
    "_foreach_lerp_": lambda t, x: t._foreach_lerp_(x, [t.zeros(2), t.ones(3)], 0.25),
    "_foreach_addcdiv_": lambda t, x: t._foreach_addcdiv_(x, x, x, [1.0, 2.0]),
    "_foreach_sqrt": lambda t, x: t._foreach_sqrt(x),
    "_foreach_norm": lambda t, x: t._foreach_norm(x),
    "_foreach_sub": lambda t, x: t._foreach_sub(x, [1.0, 2.0]),
    "_foreach_zero_": lambda t, x: t._foreach_zero_(x),
    "_foreach_pow": lambda t, x: t._foreach_pow(2.0, x),
    "_foreach_powsum": lambda t, x: t._foreach_powsum(x, 3),
    "_foreach_maximum, number": lambda t, x: t._foreach_maximum(x, 2.5),
    "_foreach_maximum, numbers": lambda t, x: t._foreach_maximum(x, [1.5, 4.5]),
    "_foreach_minimum": lambda t, x: t._foreach_minimum(x, [t.full((2,), 1.5), t.full((3,), 4.5)]),
    "_foreach_minimum_": lambda t, x: t._foreach_minimum_(x, [1.5, 4.5]),
    "_foreach_addcmul": lambda t, x: t._foreach_addcmul(x, x, x, t.tensor([0.5, 2.0])),
}
FOREACH_REFUSED = {
    "tensors": lambda t, x: t._foreach_add(x, x[:1]),
    "numbers": lambda t, x: t._foreach_mul_(x, [1.0]),
    "nothing": lambda t, x: t._foreach_sub(x, []),
    "no tensors": lambda t, x: t._foreach_exp([]),
    "packed numbers": lambda t, x: t._foreach_addcmul(x, x, x, t.tensor([1.0])),
    "a packed number": lambda t, x: t._foreach_addcdiv_(x, x, x, t.tensor(1.0)),
}


@pytest.mark.parametrize("name", FOREACH)
def test_functions_of_lists(name):
    def seen(t):
        x = [t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0, 5.0])]
        result = FOREACH[name](t, x)
        return [v.tolist() for v in x], None if result is None else [v.tolist() for v in result], type(result)

    ours, theirs = seen(pullback), seen(torch)
    for a, b in zip([*ours[0], *(ours[1] or [])], [*theirs[0], *(theirs[1] or [])], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert ours[2] is theirs[2] or theirs[2] is type(None)


@pytest.mark.parametrize("name", FOREACH_REFUSED)
def test_lists_that_do_not_fit_together(name):
    words = []
    for t in (torch, pullback):
        with pytest.raises(RuntimeError) as refusal:
            FOREACH_REFUSED[name](t, [t.ones(2), t.ones(3)])
        words.append(str(refusal.value))
    assert words[0] == words[1]


def test_ties_in_a_list_share_the_gradient():
    for t in (torch, pullback):
        for bound in (t.ones(2), 1.0):
            x = t.ones(2, requires_grad=True)
            (result,) = t._foreach_maximum([x], [bound])
            result.sum().backward()
            assert x.grad.tolist() == [0.5, 0.5]


def test_legacy_types_keep_every_digit_of_numbers():
    for name, data in (
        ("DoubleTensor", [0.1, 1e308]), ("DoubleTensor", [[0.1], [1 / 3]]),
        ("LongTensor", [2**40 + 1]), ("IntTensor", [3.7]), ("FloatTensor", [0.1]), ("BoolTensor", [0, 2]),
    ):  # fmt: skip
        ours, theirs = (getattr(library, name)(data) for library in (pullback, torch))
        assert ours.tolist() == theirs.tolist() and str(ours.dtype) == str(theirs.dtype)


def test_names_that_programs_import_in_passing():
    from pullback.serialization import SourceChangeWarning

    assert issubclass(SourceChangeWarning, Warning)
    assert pullback.nn.functional.grad is pullback.nn.grad


def test_dtypes_have_short_names():
    for name in dir(torch):
        theirs, ours = getattr(torch, name), getattr(pullback, name, None)
        if isinstance(theirs, torch.dtype) and ours is not None:
            assert ours.abbr == theirs.abbr


def test_addresses_for_reading_only():
    x = pullback.ones(2)
    assert x.const_data_ptr() == x.data_ptr() != 0 and pullback.ones(0).const_data_ptr() == 0
