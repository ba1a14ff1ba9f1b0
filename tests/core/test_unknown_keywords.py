"""Backward passes refuse keywords they do not have, say which was meant, and show torch's signatures."""

import inspect

import pytest

import pullback

torch = pytest.importorskip("torch")

CALLS = {
    "x.backward(grad=w)": "gradient", "x.backward(grad_tensors=w)": "gradient", "x.backward(gradients=w)": "gradient",
    "x.backward(grad=None)": "gradient", "x.backward(retain=True)": "retain_graph", "x.backward(creategraph=1)": "create_graph",
    "t.autograd.backward(x, gradient=w)": "grad_tensors", "t.autograd.backward(x, input=w)": "inputs",
    "t.autograd.grad(x, w, gradient=w)": "grad_outputs", "t.autograd.grad(x, w, allow_unsed=True)": "allow_unused",
    "t.autograd.grad(x, w, zzz=True)": None,
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_unknown_keywords_are_refused_with_what_was_meant(call):
    for t in (torch, pullback):
        w = t.ones((), requires_grad=True)
        with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
            eval(call, {"t": t, "x": w * 2, "w": w})
    meant = f"Did you mean {CALLS[call]}=...?"
    assert str(caught.value).endswith(meant) if CALLS[call] else "Did you mean" not in str(caught.value)


def test_signatures_are_those_of_torch():
    for name in ("Tensor.backward", "autograd.backward", "autograd.grad"):
        theirs, ours = (list(inspect.signature(eval(f"t.{name}", {"t": t})).parameters) for t in (torch, pullback))
        assert [each for each in ours if each != "batched"] == theirs


@pytest.mark.parametrize("call", ["t.matmul(x, w)", "t.mm(w, x[None].T)", "t.add(x, w)", "t.addmm(w, w, x[None])"])
def test_errors_name_the_tensors_that_have_names(call):
    x, w = pullback.ones(3), pullback.ones(2, 2)
    w.name = "the weights"
    with pytest.raises(RuntimeError) as caught:
        eval(call, {"t": pullback, "x": x, "w": w})
    (note,) = [note for note in caught.value.__notes__ if "'the weights' of shape [2, 2]" in note]
    assert "input is" in note or "other is" in note
