# pyright: strict
"""Tensors: what operations give back, whether asked as functions or as methods."""

from typing import Any

import numpy as np

import pullback as torch
import pullback.nn.functional as F

x = torch.tensor([[2.0, 3.0], [4.0, 1.0]], requires_grad=True)
loss = x * x
loss.backward(gradient=torch.tensor([[1.0, 0.5], [0.0, 0.0]]))
assert x.grad is not None
print(x.grad.tolist(), x.grad[0, 0].item(), x.shape[0] + 1, len(x), x.dtype == torch.float32)
rows, columns = x.shape
first, second = x.detach()
mask = (x > 2) & (x < 4) | ~(x == 1)
chosen: torch.Tensor = x[mask]
changed = 2 * x + 1 - x / 3**x
changed[0, 1:] = 5.0
number: float = float(changed.detach().sum())
print(f"{changed[0, 0]:.3f}", number, chosen, rows * columns, first, second)

largest: torch.Tensor = x.max()
values, indices = x.max(dim=1)
pair = torch.max(x, changed)
in_order = x.sort(descending=True)
top = torch.topk(x, 1)
same = x == changed
print(largest, values, indices, pair, in_order.values, top.indices, same.sum().item(), x.median(), x.median(0).values)
print(x.is_floating_point() and x.dim() == 2, x.element_size() * x.numel(), x.size(0), x.size(), x.stride())
where = torch.where(x > 2)[0]
either = torch.where(x > 2, x, torch.zeros_like(x))
coordinates = torch.nonzero(x > 2)
along, across = torch.nonzero(x > 2, as_tuple=True)
distinct = torch.unique(x)
distinct, places = torch.unique(x, return_inverse=True)
print(where, either, coordinates, along, across, distinct, places)

out = torch.empty(2, 2)
with torch.no_grad():
    torch.matmul(x, x.T, out=out)
    torch.add(x, 1, alpha=2, out=out)
array = out.numpy()
print(array.mean(), np.asarray(out).sum(), torch.from_numpy(array), torch.as_tensor([1, 2], dtype=torch.float64))
u, s, vh = torch.linalg.svd(torch.eye(3))
joined = torch.cat([torch.stack((u, vh)), torch.randn(1, 3, 3)], dim=0).permute(1, 2, 0).reshape(3, -1)
mean, spread = joined.mean(dim=(0, 1)), joined.std(dim=0, unbiased=False)
print(s, mean, spread, torch.einsum("ij,kj->ik", joined, joined), torch.fft.rfft(joined).abs())
print(F.one_hot(torch.tensor([0, 1]), num_classes=3), F.pad(x, (1, 1)), joined.chunk(2)[0], joined.split(1)[0])
generator: torch.Generator = torch.default_generator
kind: torch.dtype = torch.float64
copy = torch.Tensor([1.0, 2.0])
moved = copy.to("cpu").to(kind).double().type(torch.float32).clamp_(0.0, 1.0)
print(torch.randint(0, 5, (3,), generator=generator), moved, torch.finfo(kind).eps, torch.cuda.is_available())
handle = x.register_hook(lambda g: g * 2)
handle.remove()


class Length(torch.Tensor):
    """A tensor with a unit, which operations pass on."""

    def __repr__(self) -> str:
        return f"{self.tolist()} m"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs)


length = torch.tensor([1.0, 2.0]).as_subclass(Length)
print(length * 2, isinstance(length.exp(), Length))
