"""`nn.init` against torch: the same numbers from the same seed, the same errors and warnings."""

import pytest
from nn.transcripts import compare

import pullback

torch = pytest.importorskip("torch")

CALLS = [
    "uniform_(t)", "uniform_(t, -2.0, 3.0)", "normal_(t)", "normal_(t, 1.0, 0.1)", "constant_(t, 0.3)", "ones_(t)",
    "zeros_(t)", "eye_(t)", "dirac_(t)", "dirac_(t, 2)", "dirac_(t, 5)", "xavier_uniform_(t)",
    "xavier_uniform_(t, gain=2.0)", "xavier_normal_(t, 0.5)", "kaiming_uniform_(t)", "kaiming_uniform_(t, a=5 ** 0.5)",
    "kaiming_uniform_(t, mode='fan_out', nonlinearity='relu')", "kaiming_normal_(t)",
    "kaiming_normal_(t, 0.1, 'fan_out', 'leaky_relu')", "kaiming_normal_(t, mode='wrong')",
    "kaiming_normal_(t, nonlinearity='wrong')", "orthogonal_(t)", "orthogonal_(t, gain=3.0)", "sparse_(t, 0.3)",
    "sparse_(t, 0.6, std=1.0)", "trunc_normal_(t)", "trunc_normal_(t, 1.0, 2.0, 0.0, 1.5)",
    "trunc_normal_(t, 0.0, 1.0, 2.0, 3.0)", "trunc_normal_(t, -9.0, 1.0, 0.0, 1.0)", "uniform(t)", "normal(t)",
    "constant(t, 1)", "eye(t)", "dirac(t)", "xavier_uniform(t)", "xavier_normal(t)", "kaiming_uniform(t)",
    "kaiming_normal(t)", "orthogonal(t)", "sparse(t, 0.5)",
]  # fmt: skip
SHAPES = ["4, 6", "6, 4", "4, 3, 2", "4, 2, 3, 3", "4, 2, 1, 2, 3", "3", "0, 3"]


@pytest.mark.parametrize("call", CALLS)
def test_same_numbers(call):
    lines = []
    for shape in SHAPES:
        if ("trunc_normal_(t, -9" in call or "eye" in call) and shape == "0, 3":
            continue  # an empty tensor is filled by nothing
        lines.append(f"t = nn.Parameter(torch.zeros({shape})); torch.manual_seed(4)")
        lines.append(f"attempt(lambda: nn.init.{call} is t); say(t, t.requires_grad, torch.rand(1))")
    compare("\n".join(lines), pullback, torch)


def test_generator():
    compare(
        """
g = torch.Generator().manual_seed(3)
say(nn.init.uniform_(torch.empty(4), generator=g), nn.init.trunc_normal_(torch.empty(4), generator=g))
say(nn.init.kaiming_normal_(torch.empty(4, 2), generator=g), nn.init.orthogonal_(torch.empty(3, 3), generator=g))
""",
        pullback,
        torch,
    )


def test_gains():
    compare(
        """
for name in ("linear", "conv1d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu", "swish"):
    attempt(lambda: nn.init.calculate_gain(name))
for slope in (0.2, 1, True, "x"):
    attempt(lambda: nn.init.calculate_gain("leaky_relu", slope))
""",
        pullback,
        torch,
    )
