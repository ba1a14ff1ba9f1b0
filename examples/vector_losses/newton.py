"""Second derivatives at work: Newton's method on Rosenbrock's valley, dense, sparse and without any matrix.

Gradient descent crawls along the valley; Newton's method jumps. With n unknowns the Hessian has n * n entries, but
only three diagonals of them are not zero: `sparse_hessian` finds that out and needs three sweeps at any n. The third
way asks only for products, which `optimize.minimize` hands to SciPy.

    python examples/vector_losses/newton.py [unknowns]
"""

import sys
import time

import numpy as np

import pullback as torch
from pullback.func import grad, hessian

torch.set_default_dtype(torch.float64)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def damped(direction_at, x, steps=200):
    """Steps along -direction, halved until they help; stops when the gradient is gone."""
    for number in range(steps):
        slope = grad(rosenbrock)(x)
        if slope.norm() < 1e-8:
            return x, number
        direction, scale, here = direction_at(x, slope), 1.0, rosenbrock(x)
        while rosenbrock(x - scale * direction) > here - 1e-4 * scale * (slope @ direction) and scale > 1e-10:
            scale /= 2
        x = x - scale * direction
    return x, steps


def dense(x, slope):
    return torch.linalg.solve(hessian(rosenbrock)(x), slope)


def sparse(x, slope):
    global pattern
    matrix = torch.sparse_hessian(rosenbrock, x, pattern=pattern)
    pattern = matrix.pattern  # the same at every point: found once
    try:
        from scipy.sparse.linalg import spsolve
    except ModuleNotFoundError:
        return torch.linalg.solve(matrix.to_dense(), slope)
    return torch.tensor(spsolve(matrix.to_scipy().tocsc(), slope.numpy()))


def plain(x, slope):
    return slope


def report(name, start, solve):
    begin = time.perf_counter()
    x, steps = solve(start)
    print(f"{name:28} f = {rosenbrock(x).item():9.2e}   {steps:4d} steps   {time.perf_counter() - begin:6.2f} s")


def main():
    global pattern
    count, pattern = int(sys.argv[1]) if len(sys.argv) > 1 else 100, None
    start = torch.tensor(0.9 + 0.05 * np.sin(np.arange(count)))
    report("gradient descent", start, lambda x: damped(plain, x))
    report("Newton, dense Hessian", start, lambda x: damped(dense, x))
    report("Newton, sparse Hessian", start, lambda x: damped(sparse, x))
    print(f"{'':28} {pattern}")
    try:
        import scipy  # noqa: F401
    except ModuleNotFoundError:
        return

    def by_products(x):
        found = torch.optimize.minimize(rosenbrock, x, method="trust-ncg", tol=1e-8)
        return found.x, found.nit

    report("SciPy, Hessian products", start, by_products)


if __name__ == "__main__":
    main()
