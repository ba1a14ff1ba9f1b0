"""opt_einsum_fx: traces a program, and orders its products anew for the sizes of an example."""

import torch
from opt_einsum_fx import optimize_einsums_full


def program(a, b, vec):
    left = torch.einsum("zij,zjk,zk->zi", a, b, vec)
    return torch.tanh(left) + torch.einsum("zij,zj->zi", a, vec.new_ones(7, 5))


torch.manual_seed(0)
inputs = [torch.randn(7, 4, 5), torch.randn(7, 5, 3), torch.randn(7, 3)]
ordered = optimize_einsums_full(model=torch.fx.symbolic_trace(program), example_inputs=inputs)
print(ordered.code)
for each in inputs:
    each.requires_grad_()
result = ordered(*inputs)
result.square().sum().backward()
print(f"{result.sum().item():.4f}", [f"{each.grad.abs().sum().item():.3f}" for each in inputs])
print(bool(torch.allclose(result, program(*inputs), atol=1e-5)))
