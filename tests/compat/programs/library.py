"""Operators by their core names and operators of one's own: prints the same under torch and under Pullback."""

import torch

a, b = torch.arange(4.0).reshape(2, 2), torch.eye(2)
aten = torch.ops.aten
print(aten.add(a, b).tolist(), aten.add.Tensor(a, b, alpha=2).tolist(), aten.mm.default(a, b).tolist())
print(
    aten.view.default(a, [4]).tolist(), aten.linalg_vector_norm(a), aten.special_erf(b)[0], aten.sum.dim_IntList(a, [0])
)
print(aten.relu_(a - 1).tolist(), aten.clone(self=a).shape, aten.slice(a, 1, 0, 1).tolist())
print(aten.index(a, [None, torch.tensor([1])]).tolist(), aten.mm, aten.mm.default, aten.mm.default.name())
print(aten.add.Tensor is aten.add.Tensor, hasattr(torch.ops.some_extension, "nms"), torch.ops.loaded_libraries)
for attempt in (lambda: torch.ops.some_extension.nms, lambda: aten.nonsense):
    try:
        attempt()
    except AttributeError as error:
        print(str(error).split(".")[0])


@torch.library.custom_op("pullback_tests::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy() * factor)


@scale.register_fake
def _(x, factor=2.0):
    return torch.empty_like(x)


x = torch.ones(3, requires_grad=True)
try:
    scale(x).sum().backward()
except RuntimeError as error:
    print(str(error).split(" was registered")[0])


def keep(ctx, inputs, output):
    ctx.factor = inputs[1]


scale.register_autograd(lambda ctx, g: (g * ctx.factor, None), setup_context=keep)
y = scale(x, 3.0)
y.sum().backward()
print(y, y.requires_grad, x.grad.tolist(), scale, scale(torch.ones(1)).requires_grad)
print(torch.ops.pullback_tests.scale(x).tolist(), torch.ops.pullback_tests.scale.default(x, factor=4.0).tolist())

library = torch.library.Library("pullback_tests_library", "DEF")
library.define("square(Tensor x) -> Tensor")
library.impl("square", lambda x: x * x, "CompositeImplicitAutograd")
x.grad = None
torch.ops.pullback_tests_library.square(x * 3).sum().backward()
print(x.grad)
torch.library.define("pullback_tests_library::negate", "(Tensor x) -> Tensor")


@torch.library.impl("pullback_tests_library::negate", "cpu")
def negate(x):
    return -x


print(torch.ops.pullback_tests_library.negate(torch.ones(2)))
library.define("twice(Tensor x) -> Tensor")


@torch.library.impl(library, "twice", "CPU")
def twice(x):
    return 2 * x


@torch.library.define(library, "thrice(Tensor x) -> Tensor")
def thrice(x):
    return 3 * x


ours = torch.ops.pullback_tests_library
print(ours.twice(torch.ones(2)), ours.thrice(torch.ones(2)), twice(torch.ones(1)), thrice(torch.ones(1)))
for mistake in (
    lambda: torch.library.Library("prim", "DEF"),
    lambda: torch.library.Library("pullback_tests_other", "OTHER"),
    lambda: library.impl("twice", "CPU", "CPU"),
):
    try:
        mistake()
    except (TypeError, ValueError) as error:
        print(type(error).__name__, str(error)[:30])


@torch.library.custom_op("pullback_tests::split", mutates_args=())
def split(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[:1].clone(), x[1:].clone()


split.register_autograd(lambda ctx, g, h: torch.cat([g * 2, h * 3]))
x.grad = None
first, second = split(x)
(first.sum() + second.sum()).backward()
print(x.grad, [part.requires_grad for part in (first, second)])
