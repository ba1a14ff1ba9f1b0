"""What a `__torch_dispatch__` is given: torch's own argument order. Prints the same under torch and under Pullback."""

import torch
import torch.nn.functional as F  # noqa: F401 - in the calls
from torch.utils._python_dispatch import TorchDispatchMode


def shown(value):
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    return "T" if isinstance(value, torch.Tensor) else value


class Show(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("   ", func, shown(args), {key: shown(value) for key, value in (kwargs or {}).items()})
        return func(*args, **(kwargs or {}))


CALLS = """
x.index_select(1, i)
x.sort(dim=1)
x.sort(0, descending=True)
x.topk(2)
x.topk(2, 0, False)
x.flip(0)
x.roll(1, 0)
x.index_add(0, i, x[:2])
x.index_add(0, i, x[:2], alpha=2)
x.index_copy(0, i, x[:2])
x.index_fill(0, i, 1.0)
x.gather(0, idx)
x.scatter(0, idx, y)
x.scatter_add(0, idx, y)
x.unsqueeze(0)
x[None]
F.max_pool2d(im, 2)
F.avg_pool2d(im, 2)
F.layer_norm(x, (4,))
F.group_norm(im, 1)
F.pad(x, (1, 1))
F.elu(x)
F.softplus(x)
F.embedding(i, x)
F.mse_loss(x, y)
F.l1_loss(x, y)
F.smooth_l1_loss(x, y)
F.huber_loss(x, y)
F.binary_cross_entropy(x, y)
F.nll_loss(x, idx[:,0])
F.unfold(im, 2)
F.glu(x)
F.celu(x)
x.cumsum(0)
x.cumprod(0)
x.cummax(0)
x.logcumsumexp(0)
x.triu()
x.tril(1)
x.diagonal()
x.kthvalue(2)
x.median()
x.median(0)
x.mode(0)
x.norm()
x.var(0)
x.repeat(2, 1)
x.expand(2, 3, 4)
x.unfold(0, 2, 1)
x.movedim(0, 1)
x.lerp(y, 0.5)
x.addcmul(x, y, value=2)
x.addcdiv(x, y)
x.trace()
x.unbind(0)
x.chunk(2)
x.split(2)
x.rot90()
x.argmax(1)
x.amax(0)
x.any(0)
x.prod(0)
x.nan_to_num()
x.clamp(0, 1)
x.round(decimals=1)
x.softmax(0)
x.logsumexp(0)
torch.cdist(x, y)
torch.linalg.qr(x)
torch.linalg.vector_norm(x)
torch.linalg.svd(x)
x.take(i)
torch.polygamma(1, x)
x.pow(2)
2 ** x
F.logsigmoid(x)
torch.stack([x, y])
torch.cat([x, y], 1)
x.view(12)
x.select(0, 1)
x.narrow(0, 0, 2)
"""

x, y, i = torch.rand(3, 4), torch.rand(3, 4), torch.tensor([0, 2])
idx, im = torch.zeros(3, 4, dtype=torch.long), torch.rand(1, 2, 4, 4)
for call in CALLS.strip().splitlines():
    print(call)
    prepared = compile(call, call, "eval")
    with Show():
        eval(prepared)
