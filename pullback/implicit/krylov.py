"""Linear systems given only by products with the matrix: conjugate gradients, GMRES, or forming the matrix after all.

Plain NumPy on flat arrays; differentiation is in `linear.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Product = Callable[[np.ndarray], np.ndarray]


def solve(
    product: Product, b: np.ndarray, method: str, tol: float | None, max_iters: int | None, start: np.ndarray | None
) -> np.ndarray:
    """The x with product(x) == b, to a residual of `tol` times the length of b."""
    if method == "dense":
        return np.linalg.solve(np.stack([product(column) for column in np.eye(len(b), dtype=b.dtype)], 1), b)
    limit = (float(np.finfo(b.dtype).eps) ** 0.75 if tol is None else tol) * float(np.linalg.norm(b))
    if not limit:
        return np.zeros_like(b)
    x = np.zeros_like(b) if start is None else start.astype(b.dtype)
    method_function = conjugate_gradients if method == "cg" else gmres
    x, missed = method_function(product, b, x, limit, max_iters or 10 * len(b) + 100)
    if not missed <= 100 * limit:
        raise RuntimeError(
            f"linear_solve() did not converge: the residual is {missed:.3g}, wanted {limit:.3g} (method={method!r})"
        )
    return x


def conjugate_gradients(
    product: Product, b: np.ndarray, x: np.ndarray, limit: float, max_iters: int
) -> tuple[np.ndarray, float]:
    """(x, length of the residual) for a symmetric positive definite matrix."""
    residual = b - product(x)
    direction = residual
    square = float(np.vdot(residual, residual).real)
    for _ in range(max_iters):
        if square**0.5 <= limit:
            break
        image = product(direction)
        curvature = float(np.vdot(direction, image).real)
        if curvature <= 0:  # not positive definite
            break
        x = x + square / curvature * direction
        residual = residual - square / curvature * image
        before, square = square, float(np.vdot(residual, residual).real)
        direction = residual + square / before * direction
    return x, float(np.linalg.norm(b - product(x)))


def gmres(
    product: Product, b: np.ndarray, x: np.ndarray, limit: float, max_iters: int, memory: int = 60
) -> tuple[np.ndarray, float]:
    """(x, length of the residual) for any invertible matrix; started again after `memory` products."""
    done = 0
    residual = b - product(x)
    length = float(np.linalg.norm(residual))
    while length > limit and done < max_iters:
        width = min(memory, len(b))
        basis = [residual / length]
        mixed = np.zeros((width + 1, width), b.dtype)
        target = np.zeros(width + 1, b.dtype)
        target[0] = length
        used = 0
        for column in range(width):
            image = product(basis[column])
            for _ in range(2):  # twice is enough: the second pass takes away what rounding left
                for row, vector in enumerate(basis):
                    overlap = np.vdot(vector, image)
                    mixed[row, column] += overlap
                    image = image - overlap * vector
            size = float(np.linalg.norm(image))
            mixed[column + 1, column] = size
            used = column + 1
            done += 1
            weights = np.linalg.lstsq(mixed[: used + 1, :used], target[: used + 1], rcond=None)[0]
            missed = float(np.linalg.norm(mixed[: used + 1, :used] @ weights - target[: used + 1]))
            if missed <= limit or size <= 1e-14 * length:
                break
            basis.append(image / size)
        x = x + np.stack(basis[:used], 1) @ weights
        residual = b - product(x)
        before, length = length, float(np.linalg.norm(residual))
        if length >= before * (1 - 1e-12):  # no progress
            break
    return x, length
