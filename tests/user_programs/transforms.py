# pyright: strict
"""Functions of functions, custom functions, and what Pullback adds to torch."""

from typing import Any

import pullback as torch
from pullback.autograd import Function
from pullback.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap


def f(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * x).sum()


point = torch.linspace(0, 1, 5)
slope: torch.Tensor = grad(f)(point)
value, pull = vjp(f, point)
(row,) = pull(torch.tensor(1.0))
primal, tangent = jvp(f, (point,), (torch.ones(5),))
print(slope, value, row, primal, tangent, jacrev(f)(point), hessian(f)(point), vmap(grad(f))(torch.ones(3, 5)))
layer = torch.nn.Linear(5, 1)
print(functional_call(layer, {name: p.detach() for name, p in layer.named_parameters()}, (point,)))
print(torch.autograd.functional.jacobian(f, point))


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: float) -> torch.Tensor:
        y = x.exp() * scale
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, None]:
        (y,) = ctx.saved_tensors
        return g.mul(y), None

    @staticmethod
    def jvp(ctx: Any, t: torch.Tensor, scale: None) -> torch.Tensor:
        return t


x = torch.ones(2, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(Exp.apply, (x, 2.0))
losses = x * x
explanation = losses.explain(gradient=[1.0, 0.5])
print(explanation, explanation.contributions("x"), explanation.to_svg()[:4], torch.memory(losses))
losses.backward(gradient=[1.0, 0.5], retain_graph=True)
print(torch.jacobian(losses, [x]), torch.per_sample_gradients(losses, [x]))
torch.multi.backward(losses, aggregator=torch.multi.UPGrad())
with torch.safe_gradients(), torch.autograd.graph.save_on_cpu(), torch.inference_mode(), torch.autocast("cpu"):
    pass
print(torch.sparse_hessian(f, torch.ones(3)).to_dense(), torch.taylor(f, point, point, 3))


@torch.no_grad()
def steepness(x: torch.Tensor) -> float:
    return float(f(x))


@torch.inference_mode()
def height(x: torch.Tensor) -> float:
    return float(f(x))


total: float = steepness(point) + height(point)
