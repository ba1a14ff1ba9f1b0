"""`torch.backends.cpu`: what the processor can do, as NumPy found out."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The widest vector instructions in use, by torch's names."""
    import numpy as np

    found = np.show_config("dicts").get("SIMD Extensions", {}).get("found", [])
    if any(name.startswith("AVX512") for name in found):
        return "AVX512"
    return "AVX2" if "AVX2" in found else "DEFAULT"
