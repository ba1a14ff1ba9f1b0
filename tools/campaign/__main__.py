"""Command line of a campaign."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .children import Campaign


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign; the exit status is 1 if it found more differences than are allowed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.campaign", description="Random programs on torch and on pullback, compared line by line."
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0, help="campaigns of different seeds run different programs")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--output", type=Path, help="folder for the scripts and summary.md (a temporary one unless given)"
    )
    parser.add_argument(
        "--programs", type=Path, help="a JSON list of programs, lists of lines, to run in place of random ones"
    )
    parser.add_argument(
        "--strides", choices=("none", "results", "all"), default="results", help="whose layouts are compared"
    )
    parser.add_argument(
        "--allowed", type=float, default=0.0, help="the share of programs that may differ before the exit status is 1"
    )
    options = parser.parse_args(arguments)
    folder = options.output or Path(tempfile.mkdtemp(prefix="campaign_"))
    folder.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(folder, options.seed, options.processes, options.strides, options.programs)
    try:
        campaign.run(60 * options.minutes)
    finally:
        (folder / "summary.md").write_text(campaign.summary())
        print("\n" + campaign.summary() + f"\n{folder}/summary.md")
    return 1 if len(campaign.found) > options.allowed * campaign.counts["programs"] else 0


if __name__ == "__main__":
    sys.exit(main())
