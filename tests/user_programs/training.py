# pyright: strict
"""Models, data, optimizers and files, as annotated programs use them."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pullback as torch
from pullback import nn
from pullback.optim import Optimizer
from pullback.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split


class Squares(Dataset[tuple[torch.Tensor, int]]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.tensor([float(index)]) ** 2, index % 2


class Net(nn.Module):
    mean: torch.Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(1, width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.recurrent = nn.LSTM(width, width, batch_first=True)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mean", torch.zeros(1))
        self.apply(self.reset)

    @staticmethod
    def reset(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")

    def forward(self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor] | None = None) -> torch.Tensor:
        hidden = torch.relu(self.first(x - self.mean))
        for layer in self.layers:
            hidden = layer(hidden).tanh()
        output, _ = self.recurrent(hidden[:, None], state)
        logits: torch.Tensor = output[:, 0, :2] * self.scale
        return logits


class Plain(Optimizer):
    def __init__(self, params: Any, lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        loss = closure() if closure is not None else None
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.add_(p.grad, alpha=-group["lr"])
        return loss


torch.manual_seed(0)
train, test = random_split(Squares(), [8, 4], generator=torch.Generator().manual_seed(0))
loader = DataLoader(train, batch_size=4, shuffle=True)
model = Net(4).to(torch.device("cpu"))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.99), weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9**epoch)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for _ in range(2):
    for inputs, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(inputs), targets)
        loss.backward()
        total = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        print(loss.item(), total.item())
    scheduler.step()
Plain(model.parameters(), lr=0.5).step()
print(sum(p.numel() for p in model.parameters() if p.requires_grad), scheduler.get_last_lr())
for name, parameter in model.named_parameters():
    print(name, parameter.shape, parameter.grad is None)

lists = DataLoader([1.0, 2.0], batch_size=2)
pieces = DataLoader(ConcatDataset([Subset(TensorDataset(torch.ones(3)), [0]), TensorDataset(torch.zeros(2))]))
print(len(lists), len(pieces), len(test), next(iter(pieces)))

with TemporaryDirectory() as folder:
    path = Path(folder) / "model.pt"
    torch.save({"model": model.state_dict(), "epoch": 2}, path)
    checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    missing = model.load_state_dict(checkpoint["model"], strict=False)
    print(missing.missing_keys, checkpoint["epoch"])
averaged = torch.optim.swa_utils.AveragedModel(model)
saved = torch.utils.checkpoint.checkpoint(nn.Linear(1, 1), torch.ones(2, 1), use_reentrant=False)
