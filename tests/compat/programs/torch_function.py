"""Objects with a `__torch_function__` and subclasses of Tensor: prints the same under torch and under Pullback."""

import copy

import torch
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function, is_tensor_like

early = torch.mean  # kept before any class exists: it must be the function that is handed over


def name(value):
    return type(value).__name__


# --- foreign objects ---

KNOWN = {early: lambda x: x.value, torch.add: lambda a, b: ("add", name(a), name(b))}


class Scalar:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in KNOWN:
            return NotImplemented
        return KNOWN[func](*args, **(kwargs or {}))


scalar = Scalar(2.0)
places = torch.arange(3)
for use in (lambda: places[scalar], lambda: places[0, scalar], lambda: places[None:scalar]):
    try:
        use()
    except (TypeError, IndexError) as error:
        print(type(error).__name__)
KNOWN[torch.Tensor.__getitem__] = lambda x, index: ("getitem", name(x), name(index))
KNOWN[torch.Tensor.__setitem__] = lambda x, index, value: print("setitem", name(x), name(index), name(value))
print(places[scalar])
places[scalar] = 1
places[0] = scalar
places[0, scalar] = scalar
print(places)
print(torch.mean(scalar), early(scalar))
KNOWN[torch.stack] = lambda tensors, dim=0: ("stack", [name(t) for t in tensors], dim)
KNOWN[torch.tanh] = lambda x: "tanh"
print(torch.add(scalar, torch.ones(2)), torch.add(torch.ones(2), scalar))
print(torch.stack([torch.ones(2), scalar], dim=1), torch.tanh(scalar))
print(is_tensor_like(scalar), is_tensor_like(3.0), has_torch_function((scalar,)), has_torch_function((torch.ones(1),)))
try:
    torch.sum(scalar)
except TypeError as error:
    print("TypeError", "torch.sum" in str(error), "NotImplemented" in str(error))
try:
    torch.mul(torch.ones(2), object())
except TypeError as error:
    print("TypeError", "NotImplemented" in str(error))


def double(x):
    if has_torch_function((x,)):
        return handle_torch_function(double, (x,), x)
    return x * 2


KNOWN[double] = lambda x: "doubled"
print(double(scalar), double(torch.ones(1)))

# --- subclasses ---


class Length(torch.Tensor):
    pass


class Height(Length):
    pass


class Mass(torch.Tensor):
    pass


length = torch.arange(6.0).reshape(2, 3).as_subclass(Length)
height = torch.ones(2, 3).as_subclass(Height)
mass = torch.ones(2, 3).as_subclass(Mass)
plain = torch.ones(2, 3)
count = torch.ones(2, 3, dtype=torch.int32).as_subclass(Length)
results = {
    "operators": (
        length + 1,
        1 + length,
        length - plain,
        plain - length,
        2 - length,
        -length,
        length @ plain.T,
        length**2,
    ),
    "bits": (
        count << 1,
        count >> plain.int(),
        plain.int() >> count,
        7 | count,
        plain.int() ^ count,
        count // 2,
        7 % count,
    ),
    "comparisons": (length > 1, plain < length, length == plain, ~(length > 1), (length > 1) & (plain > 0)),
    "methods": (
        length.sum(),
        length.view(3, 2),
        length.to(torch.float64),
        length.detach(),
        length.clone(),
        plain.add(length),
    ),
    "functions": (torch.exp(length), torch.cat([plain, length]), torch.where(plain > 0, length, plain)),
    "layers": (
        torch.nn.functional.relu(length),
        torch.nn.functional.softmax(length, -1),
        torch.nn.Linear(3, 1)(length),
    ),
    "linalg": (torch.linalg.norm(length), torch.fft.fft(length), torch.special.expit(length)),
    "attributes": (length.T, length.data, length.mT),
    "indexing": (length[0], length[:, 1:], next(iter(length)), length.max(0).values, length.unbind()[0]),
    "in place": (copy.copy(length).add_(1), length.clone().zero_(), torch.add(plain, plain, out=length.clone())),
    "mixed": (length + height, height * length, torch.mul(length, height)),
    "not tensors": (length.shape, length.dtype, length.tolist(), length.size(0), length.numel(), length.dim()),
    "plain": (length.grad, torch.nn.Parameter(torch.ones(1)) * 2, torch.tensor([1.0]) + plain.sum()),
}
for kind, values in results.items():
    print(kind, [name(value) for value in values])
print(length, height.sum(), float(length.sum()))
for attempt in (lambda: length + mass, lambda: torch.add(length, mass)):
    try:
        attempt()
    except TypeError as error:
        print("TypeError", "Length" in str(error) and "Mass" in str(error))

weight = torch.ones(2, 3).as_subclass(Length).requires_grad_()
(weight * length).sum().backward()
print(weight.grad, name(weight.grad), weight.is_leaf, name(weight * 2), (weight * 2).requires_grad)


class Tagged(torch.Tensor):
    """Keeps a tag through every operation and counts the calls."""

    calls = []

    @staticmethod
    def __new__(cls, data, tag=None):
        return super().__new__(cls, data)

    def __init__(self, data, tag=None):
        self.tag = tag

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func.__name__, [kind.__name__ for kind in types]))
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, Tagged):
            result.tag = next((value.tag for value in args if isinstance(value, Tagged)), None)
        return result


tagged = Tagged([1.0, 2.0], tag="blue")
Tagged.calls.clear()
print((tagged * 2).tag, torch.exp(tagged).tag, tagged.sum().tag, (torch.ones(2) / tagged).tag, tagged[0].tag)
print(tagged.shape, tagged.requires_grad, len(tagged), tagged.mean().item())
print(Tagged.calls)


class Loud(torch.Tensor):
    def __add__(self, other):
        return "loud", super().__add__(other)


print((torch.ones(2).as_subclass(Loud) + 1)[0], name((torch.ones(2).as_subclass(Loud) + 1)[1]))


class Quiet(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


print(name(torch.ones(2).as_subclass(Quiet) + 1))
with torch._C.DisableTorchFunctionSubclass():
    print(name(length + 1), has_torch_function((length,)))
print(name(length + 1))

# --- modes ---


class Record(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Nines(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 0 + 9 if func is torch.add else result


with Record() as outer, Nines(), Record() as inner:
    x = torch.zeros(2)
    y = torch.add(x, 1)
    z = torch.nn.functional.relu(x * 2).sum()
print(y, z, inner.seen, outer.seen)
print(torch.add(torch.zeros(2), 1), inner.seen == ["zeros", "add", "mul", "relu", "sum"])

# --- passes ---


class Reporting(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in (torch.autograd.backward, torch.autograd.grad):
            print("asked about", func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


x = torch.ones(2, requires_grad=True)
y = (x * 2).as_subclass(Reporting)
weights = torch.ones(2)
torch.autograd.backward(y, weights, retain_graph=True)
print(name(torch.autograd.grad(y, x, weights)[0]))
print(name(torch.autograd.grad(x * 2, x, weights.as_subclass(Reporting))[0]))  # weights have no say
leaf = torch.ones(2).as_subclass(Reporting).requires_grad_()
print(name(torch.autograd.grad(outputs=(leaf * 2).sum(), inputs=leaf)[0]))


# --- names under which operators and sizes arrive ---


class Naming(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("   ", func.__name__, len(args), kwargs or {})
        return super().__torch_function__(func, types, args, kwargs or {})


named = torch.eye(2).as_subclass(Naming)
for text in (
    "named.size() named.size(0) named.size(dim=1) named.shape named.dim() 1/named named/2 2-named 2**named 5//named 5%named "
    "named.__rdiv__(1) named@named named.numel() named.size() named.mT named.stride() -named named.reciprocal()"
).split():
    print(text)
    eval(text)
