"""What the transforms refuse: the same programs are refused by torch, with the same exception and the same words."""

import pytest

import pullback

torch = pytest.importorskip("torch")


def ones(M, *shape, **options):
    return M.ones(*shape, **options)


def of_rule(rule):
    """A custom function with this rule for batches, mapped."""

    def program(M):
        def forward(x):
            return x * 2

        body = {"forward": forward, "setup_context": lambda ctx, inputs, output: None, "vmap": rule}
        cls = type("Doubled", (M.autograd.Function,), {name: staticmethod(value) for name, value in body.items()})
        return M.func.vmap(cls.apply)(ones(M, 2, 3))

    return program


def returned_and_saved(save):
    """A custom function that returns its input, and saves it."""

    def program(M):
        body = {
            "forward": lambda x: x,
            "setup_context": lambda ctx, inputs, output: getattr(ctx, save)(inputs[0]),
            "backward": lambda ctx, gradient: gradient,
        }
        cls = type("Same", (M.autograd.Function,), {name: staticmethod(value) for name, value in body.items()})
        return cls.apply(ones(M, 2, requires_grad=True).clone())

    return program


# program, the words that a caller may look for
def weighted(M, *weights):
    x = ones(M, 2).requires_grad_()
    return M.autograd.grad((x * 2, x * 3), x, weights, is_grads_batched=True)


REFUSED = {
    "grad: a number beside the value": (
        lambda M: M.func.grad(lambda x: (x.sum(), 1), has_aux=True)(ones(M, 2)), "Expected tensors, got unsupported type"),
    "grad: a string among tensors": (
        lambda M: M.func.grad(lambda x: (x.sum(), [x, "a"]), has_aux=True)(ones(M, 2)), "Expected tensors, got"),
    "grad: None beside the value": (
        lambda M: M.func.grad(lambda x: (x.sum(), None), has_aux=True)(ones(M, 2)), "unsupported type <class 'NoneType'>"),
    "vjp: a number beside the value": (
        lambda M: M.func.vjp(lambda x: (x, 1.0), ones(M, 2), has_aux=True), "Expected tensors, got unsupported type"),
    "jvp: a number beside the value": (
        lambda M: M.func.jvp(lambda x: (x, 1.0), (ones(M, 2),), (ones(M, 2),), has_aux=True), "Expected tensors, got"),
    "jacrev: a number beside the value": (
        lambda M: M.func.jacrev(lambda x: (x, 1), has_aux=True)(ones(M, 2)), "Expected tensors, got unsupported type"),
    "jacfwd: a number beside the value": (
        lambda M: M.func.jacfwd(lambda x: (x, 1), has_aux=True)(ones(M, 2)), "Expected tensors, got unsupported type"),
    "vjp of nothing": (
        lambda M: M.func.vjp(lambda x: None, ones(M, 2)), "vjp(f, *primals): Expected f to be a function that has non-empty"),
    "jvp of nothing": (
        lambda M: M.func.jvp(lambda x: (), (ones(M, 2),), (ones(M, 2),)),
        "jvp(f, primals, tangents): Expected f to be a function that has non-empty output"),
    "jacrev of nothing": (
        lambda M: M.func.jacrev(lambda x: {})(ones(M, 2)), "vjp(f, *primals): Expected f to be a function that has non-empty"),
    "jacfwd of nothing": (
        lambda M: M.func.jacfwd(lambda x: None)(ones(M, 2)), "Expected f to be a function that has non-empty output"),
    "jacrev of a number": (
        lambda M: M.func.jacrev(lambda x: 1)(ones(M, 2)), "expected f(*primals) to return only tensors, got unsupported"),
    "jacfwd of a number among tensors": (
        lambda M: M.func.jacfwd(lambda x: [x, 2])(ones(M, 2)), "expected f(*primals) to return only tensors, got unsupp"),
    "jvp at a number": (
        lambda M: M.func.jvp(M.sin, (1.0,), (1.0,)), "Expected primals to only contain Tensors"),
    "jvp along a number": (
        lambda M: M.func.jvp(M.sin, (ones(M, 2),), (1.0,)), "Expected tangents to only contain Tensors"),
    "jvp at nothing": (
        lambda M: M.func.jvp(M.sin, (), ()), "Expected primals to contain at least one Tensor"),
    "jacrev at complex numbers": (
        lambda M: M.func.jacrev(M.conj)(ones(M, 2, dtype=M.complex64)), "jacrev: Expected all inputs to be real but received"),
    "jacfwd at complex numbers": (
        lambda M: M.func.jacfwd(M.conj)(ones(M, 2, dtype=M.complex64)), "jacfwd: Expected all inputs to be real but received"),
    "jacrev to complex numbers": (
        lambda M: M.func.jacrev(lambda x: x * 1j)(ones(M, 2)), "jacrev: Expected all outputs to be real but received complex"),
    "jacfwd to complex numbers": (
        lambda M: M.func.jacfwd(lambda x: x * 1j)(ones(M, 2)), "jacfwd: Expected all outputs to be real but received complex"),
    "jacfwd with random numbers": (
        lambda M: M.func.jacfwd(lambda x: x * M.rand(2))(ones(M, 2)), "called random operation while in randomness error mode"),
    "a rule for batches that returns one thing": (
        of_rule(lambda info, in_dims, x: x * 2), "to have two returns"),
    "a rule for batches with too many dims": (
        of_rule(lambda info, in_dims, x: (x * 2, (0,))), "returned an incompatible (output, out_dims) tuple"),
    "an input that is returned and saved": (
        returned_and_saved("save_for_backward"), "An input that has been returned as-is as output is being saved"),
    "an input that is returned and saved for jvp": (
        returned_and_saved("save_for_forward"), "An input that has been returned as-is as output is being saved"),
    "out_dims: a string": (
        lambda M: M.func.vmap(lambda x: x, out_dims="a")(ones(M, 2)), "`out_dims` must be an int, None or a python"),
    "vjp: no cotangent of a vector": (
        lambda M: M.func.vjp(lambda x: x, ones(M, 2))[1](None), "grad can be implicitly created only for scalar outputs"),
    "vjp: a cotangent that is no tensor": (
        lambda M: M.func.vjp(lambda x: x, ones(M, 2))[1](3), "gradients can be either Tensors or None, but got int"),
    "jvp: integers": (
        lambda M: M.func.jvp(lambda x: x * 2.0, (M.arange(2),), (ones(M, 2),)),
        "Expected primal to be floating point or complex"),
    "jvp: a tangent of integers": (
        lambda M: M.func.jvp(M.sin, (ones(M, 2),), (M.arange(2),)), "Expected tangent to be floating point or complex"),
    "jvp: strict": (
        lambda M: M.func.jvp(lambda x: M.ones(2), (ones(M, 2),), (ones(M, 2),), strict=True),
        "jvp(f, primals, tangents, strict=True): The output of f is independent"),
    "jacfwd: integers": (
        lambda M: M.func.jacfwd(lambda x: x * 2.0)(M.arange(2)), "Expected primal to be floating point or complex"),
    "forward_ad: no level to leave": (
        lambda M: M.autograd.forward_ad.exit_dual_level(), "Dual level must be a positive number"),
    "forward_ad: another level to leave": (
        lambda M: M.autograd.forward_ad.exit_dual_level(level=3), "was not the last one that was created"),
    "batched weights of several sizes": (
        lambda M: weighted(M, ones(M, 1, 2), ones(M, 4, 2)), "the same size in the mapped dimension, got sizes [1, 4]"),
    "vmap: numpy()": (
        lambda M: M.vmap(lambda x: M.tensor(x.numpy()))(ones(M, 2, 2)), "Cannot access data pointer of Tensor that doesn't have"),
    "an ensemble that wants gradients here and there": (
        lambda M: M.func.stack_module_state([M.nn.Linear(1, 1), M.nn.Linear(1, 1).requires_grad_(False)]),
        "Expected weight from each model to have the same .requires_grad"),
    "argnums: a float": (
        lambda M: M.func.grad(M.sum, argnums=(0.0,))(ones(M, 2)), "argnum must be int, got"),
    "argnums: a list": (
        lambda M: M.func.grad(M.sum, argnums=[0])(ones(M, 2)), "argnums must be int or Tuple[int, ...], got"),
    "argnums: a tuple in a tuple": (
        lambda M: M.func.jacrev(M.sum, argnums=((0,),))(ones(M, 2)), "argnum must be int, got"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    program, words = REFUSED[name]
    with pytest.raises(Exception) as theirs:
        program(torch)
    with pytest.raises(type(theirs.value)) as ours:
        program(pullback)
    assert words in str(theirs.value)
    assert words in str(ours.value)
