"""`torch.utils.collect_env`: what a bug report should contain (the same facts as `pullback info`)."""

from __future__ import annotations


def get_pretty_env_info() -> str:
    """Versions and settings as text."""
    from ..shell.cli.info import _as_text, gather

    return _as_text(gather())


def main() -> None:
    """Print them."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
