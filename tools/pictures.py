"""Draw the pictures of the documentation with `pullback.explain`: `python -m tools.pictures` writes docs/pictures/.

A test fails while the files there differ from what this writes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pullback as torch
from pullback.explaining import Explanation

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def scalar() -> Explanation:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    loss = y * 3
    return loss.explain()


def weighted() -> Explanation:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    loss = x * x
    return loss.explain(torch.tensor([1.0, 0.5]))


def shared() -> Explanation:
    w = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    loss = torch.stack([w.sum(), w.prod(), (w * w).sum()])
    return loss.explain(torch.tensor([1.0, 0.0, 0.5], dtype=torch.float64))


def trouble() -> Explanation:
    scale = torch.tensor([0.0, 4.0], requires_grad=True)
    shift = torch.tensor([-3.0, -5.0], requires_grad=True)
    root = scale.sqrt()
    active = shift.relu()
    loss = (root + active).sum()
    return loss.explain()


PICTURES: dict[str, Callable[[], Explanation]] = {
    "scalar.svg": scalar,
    "weighted.svg": weighted,
    "shared.svg": shared,
    "trouble.svg": trouble,
}


def draw(folder: Path) -> list[Path]:
    """Write all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, make in PICTURES.items():
        path = folder / name
        path.write_text(make().to_svg() + "\n", encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    for path in draw(FOLDER):
        print(path)
