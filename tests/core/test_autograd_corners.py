"""Corners of recording: views that outlive a mode, inference tensors, inputs given back, operations without a gradient."""

from __future__ import annotations

import pytest

import pullback as torch


def test_a_view_older_than_its_bases_wish_for_a_gradient_cannot_be_written():
    base = torch.zeros(2, 3)
    view = base[:]
    view.add_(1)
    base.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view.add_(1)
    with torch.no_grad():
        view.add_(1)
    assert float(base.detach().sum()) == 12.0


@pytest.mark.parametrize("written", ["view", "view of the view", "view whose base was detached"])
def test_views_that_require_grad_themselves_are_not_written(written):
    """Their base wants no gradient, and writing would move the leaf's gradient to it."""
    base = torch.ones(3)
    view = base[:].requires_grad_()
    of_view = view[:]
    base = torch.ones(3, requires_grad=True).clone()
    of_detached = base[:]
    base.detach_()
    target = {"view": view, "view of the view": of_view, "view whose base was detached": of_detached}[written]
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        target.mul_(2)
    with torch.no_grad():
        view.mul_(2)
    (view * view).sum().backward()
    assert view.grad.tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("make", [lambda x: x.view(-1), lambda x: x[0], lambda x: x.mT])
def test_a_view_of_an_inference_tensor_is_an_inference_tensor_without_history(make):
    with torch.inference_mode():
        tensor = torch.ones(1, 2, 3, requires_grad=True)
        inside = make(tensor)
    outside = make(tensor)
    for view in (inside, outside):
        assert view.is_inference() and not view._is_view() and view.is_leaf and not view.requires_grad
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            view.add_(1)
        with torch.inference_mode():
            view.add_(1)
    assert float(tensor[0, 0, 0]) == 3.0


@pytest.mark.parametrize("replayed", [False, True])
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_writing_a_view_made_without_recording_says_where_it_was_made(mode, replayed):
    with torch.autograd._force_original_view_tracking(replayed):
        base = torch.ones(2, 3, requires_grad=True).clone()
        with getattr(torch, mode)():
            view = base.view(-1)
        view * view  # gives the view a history
        with pytest.raises(RuntimeError, match="A view was created in .* mode and is being modified inplace"):
            view.add_(2)
        later = view[:2]
        with pytest.raises(RuntimeError, match="Output 0 of .* is a view of a view which was created in"):
            later.add_(2)


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def test_an_input_given_back_without_recording_has_no_history():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        y = Same.apply(x)
    assert y is not x and y.grad_fn is None and not y.requires_grad and x.requires_grad


def test_a_subclass_given_back_stays_one():
    class Wrapped(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    assert type(Same.apply(torch.ones(3).as_subclass(Wrapped))) is Wrapped


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: torch.unique(x), "_unique2"),
        (lambda x: torch.unique(x, return_inverse=True, return_counts=True), "_unique2"),
        (lambda x: torch.unique(x.reshape(2, 2), dim=0), "unique_dim"),
        (lambda x: torch.unique_consecutive(x, return_counts=True), "unique_consecutive"),
    ],
)
def test_distinct_elements_are_recorded_and_their_gradient_is_refused(function, name):
    x = torch.tensor([1.0, 1.0, 2.0, 0.0], requires_grad=True)
    found = function(x)
    first, others = (found, ()) if isinstance(found, torch.Tensor) else (found[0], found[1:])
    assert first.requires_grad and not any(other.requires_grad for other in others)
    with pytest.raises(NotImplementedError, match=f"the derivative for '{name}' is not implemented"):
        first.sum().backward()


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
def test_a_checkpointed_function_runs_again_under_the_same_autocast(enabled, reentrant):
    seen = []

    def function(x):
        product = x @ x
        seen.append(product.dtype)
        return product @ product

    x = torch.eye(3).requires_grad_()
    early = torch.utils.checkpoint.set_checkpoint_early_stop(False)
    with early, torch.autocast("cpu", enabled=enabled, dtype=torch.bfloat16):
        loss = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=reentrant).sum()
    loss.backward()
    assert seen == [torch.bfloat16 if enabled else torch.float32] * 2


def test_a_checkpointed_function_runs_again_once_in_each_pass():
    runs = []

    def function(x):
        runs.append(None)
        for _ in range(4):
            x = (x * x).sin()
        return x

    x = torch.ones(3, requires_grad=True)
    loss = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False).sum()
    torch.autograd.grad(loss, x, retain_graph=True)
    assert len(runs) == 2
    loss.backward()
    assert len(runs) == 3


def test_lobpcg_has_the_gradient_of_the_whole_matrix():
    generator = torch.Generator().manual_seed(0)
    half = torch.rand(5, 5, dtype=torch.float64, generator=generator)
    matrix = (half @ half.mT).requires_grad_()
    assert torch.autograd.gradcheck(lambda A: torch.lobpcg(A, k=2)[0], matrix)


def test_assert_close_compares_the_elements_of_sparse_tensors():
    one, two = torch.eye(3).to_sparse(), (2 * torch.eye(3)).to_sparse()
    torch.testing.assert_close(one, one.clone())
    torch.testing.assert_close(one, one.to_dense(), check_layout=False)
    for other, options in [(two, {}), (two.to_dense(), {"check_layout": False}), (one.to_dense(), {})]:
        with pytest.raises(AssertionError, match="not close|'layout' do not match"):
            torch.testing.assert_close(one, other, **options)


def test_shapes_that_cannot_be():
    x, empty = torch.zeros(15), torch.zeros(0, 4)
    cases = [
        (lambda: x.view(15, -1, -1), "only one dimension can be inferred"),
        (lambda: x.reshape(-1, 15, -1), "only one dimension can be inferred"),
        (lambda: torch.zeros(()).view(torch.uint8), r"self.dim\(\) cannot be 0 to view Float as Byte"),
        (lambda: x.tensor_split(torch.tensor(1.5)), "to have dtype of long, but got Float"),
        (lambda: x.tensor_split(torch.tensor([[1]])), "one-dimensional tensor, but got a tensor with 2 dims"),
        (lambda: torch.zeros(()).resize_([0, 4, 2**61]), "Stride calculation overflowed"),
        (lambda: torch.zeros(()).resize_([2, 4, 2**60]), "Storage size calculation overflowed"),
    ]
    for call, message in cases:
        with pytest.raises(RuntimeError, match=message):
            call()
    assert torch.randn(0, 4).view(torch.uint8).shape == (0, 16)
    assert empty.data_ptr() == x[:0].data_ptr() == 0 != x.data_ptr()


class Cut(torch.autograd.Function):
    """Lets no gradient through."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


def test_where_no_gradient_arrives_hooks_get_none_and_custom_functions_zeros():
    seen = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad.tolist())
            return grad

    x = torch.ones(2, requires_grad=True)
    y = Watched.apply(x)
    z = y * 2
    z.register_hook(seen.append)
    first, second = z.unbind()
    first.register_hook(seen.append)
    (Cut.apply(first) + Cut.apply(second)).backward()
    assert seen == [None, None, [0.0, 0.0]]
    assert x.grad.tolist() == [0.0, 0.0]

    plain = torch.ones(2, requires_grad=True)
    Cut.apply(plain * 2).sum().backward()
    assert plain.grad is None


def test_a_gradient_that_comes_another_way_counts_and_none_cannot_be_replaced():
    x = torch.ones(2, requires_grad=True)
    y = Cut.apply
    middle = x * 1
    middle.register_hook(lambda grad: None)
    (y(middle * 2) + middle).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]

    middle = x * 1
    middle.register_hook(lambda grad: torch.ones(2))
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        y(middle * 2).sum().backward()
    with pytest.raises(RuntimeError, match="handle undefined output grads"), pytest.warns(UserWarning):
        torch.autograd.gradcheck(_refuses_none, x.double().detach().requires_grad_())


def _refuses_none(x):
    def hook(grad):
        if grad is None:
            raise RuntimeError("nothing came")

    result = x.clone()
    result.register_hook(hook)
    return result


class Sparsely(torch.autograd.Function):
    """The identity; its gradient comes as a sparse tensor."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.to_sparse()


@pytest.mark.parametrize("record", [False, True])
def test_gradients_given_as_sparse_tensors_keep_their_values(record):
    weight = torch.tensor([0.0, 2.0, 3.0])
    x = torch.ones(3, requires_grad=True)
    (Sparsely.apply(x) * weight).sum().backward(create_graph=record)
    (x * 1).backward(weight.to_sparse(), create_graph=record)
    y = x * 1
    y.register_hook(lambda grad: grad.to_sparse())
    (y * weight).sum().backward(create_graph=record)
    assert x.grad.tolist() == [0.0, 6.0, 9.0]
