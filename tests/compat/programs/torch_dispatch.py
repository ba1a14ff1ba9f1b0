"""Subclasses of Tensor with a `__torch_dispatch__`: prints the same under torch and under Pullback."""

import copy
import io
import pickle

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

seen = []


class Wrapper(torch.Tensor):
    """Holds another tensor, and runs everything on that."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, requires_grad=requires_grad
        )
        made.elem = elem
        return made

    def __repr__(self):
        return f"Wrapper({[round(value, 3) for value in self.elem.flatten().tolist()]})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if str(func) not in ("aten.detach.default", "aten.ones_like.default", "aten.expand.default"):
            seen.append(str(func).removeprefix("aten."))

        def inside(value):
            return value.elem if isinstance(value, Wrapper) else value

        def around(value):
            return Wrapper(value) if isinstance(value, torch.Tensor) else value

        return tree_map(around, func(*tree_map(inside, args), **tree_map(inside, kwargs or {})))


def show(program):
    seen.clear()
    try:
        result = program()
    except Exception as error:
        result = f"{type(error).__name__}: {str(error)[:30]}"
    print(result, sorted(map(str, seen)))


def matrix(requires_grad=False):
    return Wrapper(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), requires_grad)


x = matrix(requires_grad=True)

print("operations")
for program in (
    lambda: x * x,
    lambda: x + 1,
    lambda: torch.ones(2, 2) * x,
    lambda: x @ x,
    lambda: x.exp().sum(),
    lambda: x[0],
    lambda: x.t(),
    lambda: x.view(4),
    lambda: torch.cat([x, x], 1),
    lambda: x.split(1),
    lambda: x.unbind(),
    lambda: x.mean(0),
    lambda: torch.softmax(x, -1),
    lambda: torch.nn.functional.linear(x, torch.ones(3, 2), torch.ones(3)),
    lambda: x.to(torch.float64),
    lambda: x.clone(),
    lambda: x == x,
    lambda: x > 1,
    lambda: torch.where(x > 2, x, x * 2),
    lambda: torch.zeros_like(x),
    lambda: x.new_zeros(2),
    lambda: x.argmax(),
    lambda: x.sum().item(),
    lambda: bool(x.sum() > 3),
    lambda: matrix().add_(1),
    lambda: matrix().mul_(matrix()),
    lambda: torch.abs(matrix(), out=matrix()),
    lambda: x.tolist(),
):
    show(program)

print("form")
strided = Wrapper(torch.ones(4, 6).t())
print(
    x.shape, x.dtype, x.ndim, x.stride(), strided.stride(), strided.is_contiguous(), len(x), x.requires_grad, x.is_leaf
)
print(torch.Tensor._make_wrapper_subclass(Wrapper, (10**12,)).shape)
show(lambda: torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,)))

print("derivatives")


def backward():
    (x * x).tanh().sum().backward(torch.tensor(1.0))
    return x.grad


show(backward)
show(lambda: torch.autograd.grad((x * x * x).sum(), x))


def second():
    (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)


print(second())


def accumulated():
    leaf = matrix(requires_grad=True)
    for _ in range(2):
        (leaf * leaf).backward(matrix())
    return leaf.grad


show(accumulated)

print("classes")


class Refusing(Wrapper):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Wrong(Wrapper):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return "nothing"


class Inner(Wrapper):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append("inner")
        return Inner(func(*[each.elem if isinstance(each, Inner) else each for each in args], **(kwargs or {})))


class Counting(torch.Tensor):
    """Has elements of its own."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append(("counting", str(func), [kind.__name__ for kind in types]))
        return super().__torch_dispatch__(func, types, args, kwargs)


class Asking(torch.Tensor):
    """Keeps the `__torch_function__` of Tensor as well."""

    @staticmethod
    def __new__(cls, elem):
        made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype)
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append(str(func))
        args = tree_map(lambda value: value.elem if isinstance(value, Asking) else value, args)
        return tree_map(lambda value: Asking(value) if isinstance(value, torch.Tensor) else value, func(*args))


asking = Asking(torch.arange(4.0))
for program in (
    lambda: asking[1],
    lambda: asking == asking,
    lambda: asking.view(2, 2).T.neg(),
    lambda: 2**asking,
    lambda: asking.abs(),
):
    show(lambda program=program: program().elem.tolist())
show(lambda: torch.add(Refusing(torch.ones(2)), 1))
show(lambda: Wrong(torch.ones(2)).neg())
show(lambda: Wrong(torch.ones(2)).detach())
show(lambda: Wrapper(Inner(torch.ones(2))).neg().elem.elem)
show(lambda: torch.ones(2).as_subclass(Counting).neg().tolist())


class Silenced(torch.Tensor):
    """Runs everything on the elements it has, and something recorded besides."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with torch.overrides.enable_reentrant_dispatch():
            seen.append((str(func), torch.ones(1, requires_grad=True).exp().grad_fn.name()))
        with no_dispatch():
            return func(*args, **(kwargs or {}))


silenced = torch.ones(2).as_subclass(Silenced)
for program in (
    lambda: silenced.neg(),
    lambda: silenced.abs(),
    lambda: silenced == 1,
    lambda: silenced.sum().item(),
):
    show(lambda program=program: torch.Tensor.tolist(torch.as_tensor(program()).as_subclass(torch.Tensor)))


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen.append(f"mode {func}")
        return func(*args, **(kwargs or {}))


def with_mode():
    with Mode():
        return x.neg()


show(with_mode)
with torch.no_grad():
    show(lambda: (x * x).requires_grad)

print("parameters, copies, files")


class Length(torch.Tensor):
    pass


for made in (matrix(), torch.ones(3).as_subclass(Length)):
    parameter = torch.nn.Parameter(made)
    module = torch.nn.Module()
    module.weight = parameter
    print(type(parameter).__name__, isinstance(parameter, torch.nn.Parameter), isinstance(made, torch.nn.Parameter))
    print(parameter.requires_grad, parameter.is_leaf, [name for name, _ in module.named_parameters()])
    print(isinstance(parameter * 2, torch.nn.Parameter), type(parameter * 2).__name__)
    file = io.BytesIO()
    torch.save(parameter, file)
    file.seek(0)
    with torch.serialization.safe_globals([Wrapper, Length]):
        loaded = torch.load(file)
    for copied in (copy.deepcopy(parameter) if type(made) is Wrapper else loaded, loaded):
        print(type(copied).__name__, isinstance(copied, torch.nn.Parameter), copied.requires_grad, copied.sum().item())
print(pickle.loads(pickle.dumps(matrix())))


class Silent(Wrapper):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return args[0].elem


show(lambda: torch.nn.Parameter(Silent(torch.ones(2))))


def trained():
    weight = torch.nn.Parameter(matrix())
    optimizer = torch.optim.SGD([weight], lr=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        (weight * weight).backward(torch.ones(2, 2))
        optimizer.step()
    return weight.elem.tolist()


print(trained())
