"""Hamiltonian Monte Carlo: draws from the posterior of a logistic regression, guided by gradients.

A leapfrog step is three lines, with `grad_and_value` for the force. The chain's averages are compared with what
Newton's method and the curvature at the best point say (the Laplace approximation).

    python examples/vector_losses/hmc.py [draws]
"""

import math
import sys

import pullback as torch
from pullback.func import grad_and_value, hessian

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

FEATURES, SAMPLES = 4, 200
truth = torch.tensor([1.5, -2.0, 0.5, 0.0])
inputs = torch.randn(SAMPLES, FEATURES)
labels = (torch.rand(SAMPLES) < (inputs @ truth).sigmoid()).double()


def energy(w):
    """Minus the log of the posterior, up to a constant: logistic loss, and a normal prior of width 3."""
    logits = inputs @ w
    return (torch.nn.functional.softplus(logits) - labels * logits).sum() + (w @ w) / 18


force = grad_and_value(energy)


def leapfrog(w, momentum, step, count):
    slope, value = force(w)
    for _ in range(count):
        momentum = momentum - 0.5 * step * slope
        w = w + step * momentum
        slope, value = force(w)
        momentum = momentum - 0.5 * step * slope
    return w, momentum, value


def sample(draws, step=0.08, count=20):
    w, kept, accepted = torch.zeros(FEATURES), [], 0
    value = energy(w)
    for _ in range(draws):
        momentum = torch.randn(FEATURES)
        ahead, turned, ahead_value = leapfrog(w, momentum, step, count)
        before = float(value + momentum @ momentum / 2)
        after = float(ahead_value + turned @ turned / 2)
        if math.log(torch.rand(()).item()) < before - after:
            w, value, accepted = ahead, ahead_value, accepted + 1
        kept.append(w)
    return torch.stack(kept[draws // 4 :]), accepted / draws


def laplace():
    """The best weights by Newton's method, and the spread that the curvature there allows."""
    w = torch.zeros(FEATURES)
    for _ in range(10):
        slope, _ = force(w)
        w = w - torch.linalg.solve(hessian(energy)(w), slope)
    return w, torch.linalg.inv(hessian(energy)(w)).diagonal().sqrt()


def main():
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    chain, rate = sample(draws)
    best, spread = laplace()
    print(f"{draws} draws, {rate:.0%} accepted\n\nweight   truth   mean +- sd (chain)   best +- sd (curvature)")
    for i in range(FEATURES):
        print(
            f"{i:6d}  {truth[i].item():6.2f}   {chain[:, i].mean().item():6.2f} +- {chain[:, i].std().item():.2f}"
            f"       {best[i].item():6.2f} +- {spread[i].item():.2f}"
        )


if __name__ == "__main__":
    main()
