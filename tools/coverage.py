"""Write docs/coverage.md: which of torch's public names exist here. Needs torch, which lists its names.

`python -m tools.coverage` writes the page; with `--check` it only says whether the page is up to date.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"

NAMESPACES = (
    "torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.optim",
    "torch.optim.lr_scheduler", "torch.autograd", "torch.autograd.functional", "torch.autograd.forward_ad",
    "torch.autograd.graph",
    "torch.func", "torch.linalg", "torch.fft", "torch.special", "torch.signal.windows", "torch.masked", "torch.distributions",
    "torch.utils.data", "torch.utils.checkpoint", "torch.random", "torch.fx", "torch.testing",
)  # fmt: skip

# Families that are out of scope, by the shape of the name.
OUT_OF_SCOPE = {
    "sparse layouts other than COO and CSR": (
        "sparse", "coalesce", "crow_indices", "col_indices", "ccol_indices", "row_indices", "csr", "csc", "bsr", "bsc",
    ),
    "quantization": (
        "quant", "qint", "quint", "float4", "float8", "bits", "int1", "int2", "int3", "int4", "int5", "int6", "int7",
        "qscheme", "q_scale", "q_zero", "q_per", "fake_", "choose_qparams", "int_repr", "fbgemm",
    ),
    "nested tensors": ("nested", "jagged"),
    "CUDA, other devices and libraries": (
        "cuda", "cudnn", "miopen", "mkldnn", "xpu", "mps", "hpu", "ipu", "xla", "mtia", "vulkan", "ipc_", "pin_memory",
    ),
    "TorchScript, symbolic shapes and compilers": (
        "sym_", "Sym", "jit", "script", "Script", "graph_", "Future", "fork", "wait", "dispatch", "vmap_",
    ),
    "internals": (
        "aten", "native_", "_", "batch_norm_", "import_ir", "parse_", "merge_type", "_ir", "Broadcasting",
        "has_torch_function", "cond", "scan", "Type", "Storage", "Stream", "Event", "Generic",
    ),
}  # fmt: skip


def resolve(root: object, dotted: str) -> object | None:
    found = root
    for part in dotted.split(".")[1:]:
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def public_names(namespace: str, torch: object) -> list[str]:
    module = resolve(torch, namespace) or importlib.import_module(namespace)
    names = getattr(module, "__all__", None) or dir(module)
    return sorted(
        name for name in set(names)
        if not name.startswith("_") and hasattr(module, name) and not inspect.ismodule(getattr(module, name))
    )  # fmt: skip


def excuse(name: str) -> str | None:
    for reason, marks in OUT_OF_SCOPE.items():
        if any(mark in name if mark != "_" else name.startswith("_") for mark in marks):
            return reason
    return None


def is_internal(value: object) -> bool:
    """Classes of the C++ library, typing helpers and documentation strings that lie about in torch's namespaces."""
    home = getattr(value, "__module__", "") or ""
    if type(value).__name__.startswith(("pybind11", "PyCapsule")) or type(type(value)).__name__.startswith("pybind11"):
        return True
    return (
        isinstance(value, (str, dict, bool))
        or inspect.isclass(value)
        and home.startswith(("torch._C", "torch.jit", "typing"))
    )


def page() -> str:
    import torch

    import pullback

    lines = [
        "# Coverage",
        "",
        "Which of torch 2.13's public names exist in Pullback. Written by `python -m tools.coverage`; a test keeps it true.",
        "",
        "| namespace | names in scope | supported | |",
        "|---|---|---|---|",
    ]
    details: list[str] = []
    for namespace in NAMESPACES:
        own = own_namespace(namespace, pullback)
        scope, missing, excused = [], [], []
        for name in public_names(namespace, torch):
            if own is not None and hasattr(own, name):
                scope.append(name)
            elif excuse(name) or is_internal(resolve(torch, f"{namespace}.{name}")):
                excused.append(name)
            else:
                scope.append(name)
                missing.append(name)
        have = len(scope) - len(missing)
        lines.append(f"| `{namespace}` | {len(scope)} | {have} | {have / max(len(scope), 1):.0%} |")
        if missing or excused:
            details += ["", f"## {namespace}", ""]
        if missing:
            details += ["Not supported: " + ", ".join(f"`{name}`" for name in missing) + "."]
        if excused:
            details += ["", "Out of scope: " + ", ".join(f"`{name}`" for name in excused) + "."]
    lines += [
        "",
        "Out of scope: "
        + "; ".join(OUT_OF_SCOPE)
        + ". Using such a name raises an error that says so and names the nearest "
        "supported one.",
    ]
    return "\n".join([*lines, *details]) + "\n"


def own_namespace(namespace: str, pullback: object) -> object | None:
    found = resolve(pullback, namespace)
    if found is None:
        try:
            return importlib.import_module(namespace.replace("torch", "pullback", 1))
        except ImportError:
            return None
    return found


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        current = PAGE.exists() and PAGE.read_text() == text
        print(
            "docs/coverage.md is up to date"
            if current
            else "docs/coverage.md is out of date: run python -m tools.coverage"
        )
        return 0 if current else 1
    PAGE.write_text(text)
    print("\n".join(line for line in text.splitlines() if line.startswith("|")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
