"""What `torch.nn.init` hands over to modes and subclasses: prints the same under torch and under Pullback."""

import torch
from torch import nn
from torch.nn import init
from torch.overrides import TorchFunctionMode


class Show(TorchFunctionMode):
    """Prints the initializers, with the arguments they are handed over with."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init":
            numbers = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in kwargs.items()}
            print(func.__name__, len(args), {key: value for key, value in numbers.items() if key != "tensor"})
        return func(*args, **kwargs)


class Skip(TorchFunctionMode):
    """Leaves them out: parameters stay as they are, and no random number is drawn."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__module__", "") == "torch.nn.init":
            return kwargs["tensor"] if "tensor" in (kwargs or {}) else args[0]
        return func(*args, **(kwargs or {}))


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__module__", "") == "torch.nn.init":
            print("a subclass is asked about", func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


w, square = torch.empty(3, 3), torch.empty(2, 2).as_subclass(Named)
with Show():
    for name in (
        "uniform_ normal_ ones_ zeros_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ trunc_normal_ "
        "eye_ orthogonal_"
    ).split():
        print("-", name)
        getattr(init, name)(w)
    init.constant_(w, 3.0)
    init.uniform_(w, a=1, b=2)
    init.kaiming_uniform_(w, 1, nonlinearity="relu")
    init.normal_(mean=2.0, tensor=w)
    init.sparse_(w, 0.5)
    init.dirac_(torch.empty(2, 2, 2))
    for kind, sizes in (
        (nn.Linear, (2, 3)), (nn.LayerNorm, (2,)), (nn.Embedding, (2, 2)), (nn.LSTM, (2, 2)), (nn.BatchNorm1d, (2,)),
        (nn.Conv2d, (2, 2, 1)), (nn.MultiheadAttention, (2, 1)), (nn.Bilinear, (2, 2, 2)), (nn.GRUCell, (2, 2)),
        (nn.TransformerEncoderLayer, (2, 1)), (nn.PReLU, ()), (nn.GroupNorm, (1, 2)), (nn.LazyLinear, (2,)),
    ):  # fmt: skip
        print("-", kind.__name__)
        kind(*sizes)
for function in (init.uniform_, init.kaiming_uniform_, init.xavier_normal_):
    function(square)
init.constant_(square, 1)

torch.manual_seed(0)
with Skip():
    nn.Linear(2, 2)
print(torch.rand(1))
with torch.device("meta"):
    nn.Linear(2, 2)
print(torch.rand(1))
print(init.uniform_.__module__, nn.utils.clip_grad_norm_.__module__)
