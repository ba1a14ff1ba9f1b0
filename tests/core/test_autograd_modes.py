"""Grad, inference and anomaly modes at their edges; version counters; profiler events; nodes as objects."""

import json
import warnings

import pytest

import pullback as torch
from pullback.autograd import Function, detect_anomaly
from pullback.autograd.graph import Node, get_gradient_edge
from pullback.autograd.profiler import profile, record_function
from pullback.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg


def leaf(*shape):
    return torch.rand(*(shape or (3,)), requires_grad=True)


def test_views_made_in_inference_mode():
    a = leaf(2, 3).clone()
    with torch.inference_mode():
        view, other = a.view(-1), a.view(-1)
        assert view.requires_grad and view.is_leaf and not view.is_inference()
    assert (view * view).requires_grad
    with pytest.raises(RuntimeError, match="created in inference mode and is being modified inplace"):
        view.add_(1)
    a.add_(1)
    with pytest.raises(RuntimeError, match="its base or another view"):
        _ = other.grad_fn


def test_inference_tensors_stay_out_of_graphs():
    with torch.inference_mode():
        constant = torch.ones(2, requires_grad=True)
    assert constant.view(2).is_inference()
    s = leaf(2)
    (constant + s).sum().backward()
    assert constant.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        constant * s
    with torch.inference_mode():
        plain = torch.ones(2)
    with pytest.raises(RuntimeError, match="outside InferenceMode"):
        torch.mul(s.detach(), s.detach(), out=plain)


def test_a_view_of_a_view_from_no_grad():
    x = torch.zeros(2)
    with torch.no_grad():
        y = x.view(2)
    y.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a view which was created in no_grad mode"):
        y.view(2).div_(2)


def test_decorating_a_class_warns():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Made:
            def __init__(self):
                self.recording = torch.is_grad_enabled()

    assert Made().recording is False


def test_versions_can_be_kept_and_set():
    x = leaf().clone()
    y = x * x
    with torch.autograd._unsafe_preserve_version_counter(x):
        x.mul_(2)
    assert x._version == 0
    y.sum().backward()
    torch._C._autograd._unsafe_set_version_counter((x,), (5,))
    assert x._version == 5
    with pytest.raises(RuntimeError, match="Cannot set"):
        torch._C._autograd._unsafe_set_version_counter((x,), (-1,))


def test_resizing_to_the_same_size_is_no_write():
    x = torch.rand(3)
    x.resize_(3)
    assert x._version == 0
    x.resize_(2)
    assert x._version == 1


def test_setting_other_memory_starts_a_new_leaf():
    x = leaf()
    edge, y = get_gradient_edge(x), x * 2
    with torch.no_grad():
        x.set_(torch.ones(3))
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        torch.autograd.grad(y.sum(), x)
    assert torch.autograd.grad(y.sum(), edge)[0].tolist() == [2.0] * 3


@pytest.mark.parametrize("replay, name", [(False, "AsStridedBackward0"), (True, "ViewBackward0")])
def test_views_can_be_replayed_step_by_step(replay, name):
    x = leaf(2, 2)
    with torch.autograd._force_original_view_tracking(replay):
        out = x.clone().view(-1)
        out.add_(1)
        assert type(out.grad_fn).__name__ == name
    out.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


class Poisoned(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return Marked.apply(grad)


class Marked(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad * float("nan")


def test_anomaly_reports_lead_back_to_the_pass_that_recorded_a_node():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="Function 'MarkedBackward' returned nan values in its 0th output"):
            with detect_anomaly():
                x = leaf()
                weight = torch.ones(3, requires_grad=True)
                (gradient,) = torch.autograd.grad(Poisoned.apply(x), x, weight, create_graph=True)
                gradient.sum().backward()
    texts = [str(entry.message) for entry in caught]
    assert "Anomaly Detection has been enabled" in texts[0]
    assert "Marked.apply" in texts[1] and "Poisoned.apply" in texts[2] and len(texts) == 3


def test_anomaly_reports_survive_warnings_as_errors(capsys):
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with detect_anomaly():
                warnings.simplefilter("error")
                y = leaf() + 1
                z = y**2
                y += 1
                z.sum().backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err


def test_nodes_are_nodes():
    x = leaf()
    y = x.exp()
    assert isinstance(y.grad_fn, Node) and isinstance(y.grad_fn.next_functions[0][0], Node)
    assert issubclass(torch._C._functions.AccumulateGrad, Node) and issubclass(type(y.grad_fn), Node)
    assert not isinstance(None, Node) and not isinstance(Node, Node)
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        y.grad_fn(x, x)


def test_materialized_zeros_need_a_tensor():
    x, y = leaf(), leaf()
    edge = get_gradient_edge(y)
    with pytest.raises(RuntimeError, match="given input is a GradientEdge"):
        torch.autograd.grad(x.sum(), (x, edge), allow_unused=True, materialize_grads=True)


def test_zero_to_a_negative_power():
    exponent = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    (torch.zeros(3) ** exponent).sum().backward()
    assert exponent.grad.tolist() == [float("-inf"), 0.0, 0.0]


def test_profiler_events_nest_and_cover_the_backward_pass(tmp_path):
    x = leaf(2, 2)
    with profile(record_shapes=True) as recorded:
        with record_function("step"):
            (x @ x).sum().backward()
    events = recorded.function_events
    names = [event.name for event in events]
    assert names[0] == "step" and "aten::mm" in names and "MmBackward0" in names
    product = events[names.index("aten::mm")]
    assert product.cpu_parent is events[0] and product.input_shapes == [[2, 2], [2, 2]]
    assert "step" in str(recorded) and recorded.self_cpu_time_total > 0
    recorded.export_chrome_trace(str(tmp_path / "trace.json"))
    assert len(json.loads((tmp_path / "trace.json").read_text())["traceEvents"]) == len(events)


def test_events_add_up():
    total = FunctionEventAvg()
    for number, (start, end) in enumerate([(10, 15), (20, 30)]):
        total.add(FunctionEvent(id=number, name="foo", thread=0, start_us=start, end_us=end))
    assert (total.key, total.count, total.cpu_time_total, total.cpu_time) == ("foo", 2, 15, 7.5)
    spans = [(0, 2), (1, 2), (1, 3)]
    events = EventList(FunctionEvent(id=n, name="", thread=0, start_us=a, end_us=b) for n, (a, b) in enumerate(spans))
    events._populate_cpu_children()
    assert [[child.id for child in event.cpu_children] for event in events] == [[], [], [1]]


def test_tangents_end_with_their_level():
    from pullback.autograd import forward_ad

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(2), torch.rand(2)) * 2
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(dual).tangent is None
        fresh = forward_ad.make_dual(torch.rand(2), torch.ones(2))
        assert forward_ad.unpack_dual(fresh * dual).tangent.tolist() == dual.tolist()


def test_the_profiler_counts_the_memory_of_results_forward_and_backward():
    x = torch.ones(1000, requires_grad=True)
    with profile(profile_memory=True) as run:
        x.exp().view(10, 100).sum().backward()
    sums = {item.key: item for item in run.key_averages()}
    assert sums["aten::exp"].self_cpu_memory_usage == 4000
    assert sums["aten::view"].self_cpu_memory_usage == 0
    assert sums["ExpBackward0"].self_cpu_memory_usage == 4000
    assert "Self CPU Mem" in run.key_averages().table()


def test_switches_of_ones_own_decorate():
    from pullback.core.grad_mode import _DecoratorContextManager, _NoParamDecoratorContextManager

    assert issubclass(torch.no_grad, _NoParamDecoratorContextManager)
    assert issubclass(torch.set_grad_enabled, _DecoratorContextManager)
    depth = []

    class deeper(_DecoratorContextManager):
        def __init__(self, by):
            self.by = by

        def clone(self):
            return type(self)(self.by)

        def __enter__(self):
            depth.append(self.by)

        def __exit__(self, *error):
            depth.pop()

    @deeper(3)
    def look():
        return list(depth)

    @deeper(2)
    def steps():
        yield list(depth)
        yield list(depth)

    assert look() == [3]
    assert [(step, list(depth)) for step in steps()] == [([2], [])] * 2


def test_nodes_know_what_comes_in():
    x = leaf(2, 3)
    (one,) = (x * x).grad_fn._input_metadata
    assert (one.shape, one.dtype, one.device.type) == ([2, 3], torch.float32, "cpu")
    several = torch.var_mean(x, dim=0)[0].grad_fn._input_metadata
    assert isinstance(several, tuple) and [part.shape for part in several] == [[3], [3]]
