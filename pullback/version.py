"""Version numbers: Pullback's own, and the torch release whose behaviour it follows.

`cuda`, `hip`, `xpu`, `debug` and `git_version` are here because programs ask `torch.version` for them; Pullback is
pure Python, so there is no accelerator toolkit to name and no build to identify.
"""

from __future__ import annotations

__version__ = "0.1.0"
torch_version: str = "2.13.0"

cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug: bool = False
git_version: str = "unknown"
