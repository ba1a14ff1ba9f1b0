"""The same seed gives the same initial weights, the same random masks and the same training curve as in torch."""

import importlib

import pytest

pytest.importorskip("torch")

STEPS = 100


def mlp(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))

    def loss(step):
        chosen = torch.randperm(64)[:16]
        return nn.functional.cross_entropy(model(x[chosen]), y[chosen])

    return loss, optimizer


def conv_net(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.GELU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    x, y = torch.randn(16, 1, 10, 10), torch.randint(0, 4, (16,))
    return lambda step: nn.functional.cross_entropy(model(x), y), optimizer


def lstm(torch):
    nn = torch.nn
    layer, head = nn.LSTM(5, 12, num_layers=2, batch_first=True, dropout=0.1), nn.Linear(12, 1)
    optimizer = torch.optim.RMSprop([*layer.parameters(), *head.parameters()], lr=1e-3)
    x = torch.randn(8, 6, 5)
    y = x.sum((1, 2), keepdim=False)[:, None] * 0.1
    return lambda step: nn.functional.mse_loss(head(layer(x)[0][:, -1]), y), optimizer


def gpt(torch):
    nn, F = torch.nn, torch.nn.functional
    tokens, places = nn.Embedding(20, 16), nn.Embedding(12, 16)
    block = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=True, activation="gelu")
    norm, head = nn.LayerNorm(16), nn.Linear(16, 20, bias=False)
    modules = nn.ModuleList([tokens, places, block, norm, head])
    optimizer = torch.optim.AdamW(modules.parameters(), lr=3e-3)
    text = torch.randint(0, 20, (6, 13))
    mask = nn.Transformer.generate_square_subsequent_mask(12)

    def loss(step):
        h = tokens(text[:, :-1]) + places(torch.arange(12))
        logits = head(norm(block(h, src_mask=mask, is_causal=True)))
        return F.cross_entropy(logits.reshape(-1, 20), text[:, 1:].reshape(-1))

    return loss, optimizer


def curve(program, library):
    torch = importlib.import_module(library)
    torch.manual_seed(7)
    loss_of, optimizer = program(torch)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("program", [mlp, conv_net, lstm, gpt], ids=lambda program: program.__name__)
def test_the_losses_of_a_hundred_steps(program):
    for name in ("nn", "optim"):
        importlib.import_module(f"pullback.{name}")
    ours, theirs = curve(program, "pullback"), curve(program, "torch")
    assert theirs[-1] < theirs[0], "the program should learn something"
    for step, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert a == pytest.approx(b, rel=2e-5), f"step {step}"
