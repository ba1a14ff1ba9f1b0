"""`torch.__config__`: how this library was built, which is to say NumPy's configuration."""

from __future__ import annotations


def show() -> str:
    """NumPy's build and BLAS as text."""
    import json

    import numpy as np

    return json.dumps(np.show_config("dicts"), indent=2, default=str)


def parallel_info() -> str:
    """How many threads operations are split over."""
    from pullback.functional.runtime import get_num_threads

    return f"Pullback\n\tget_num_threads() : {get_num_threads()}\n"
