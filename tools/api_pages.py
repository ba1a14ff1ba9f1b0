"""Write the pages of the API reference, `docs/api/*.md`, from what the package announces.

Functions come from the registry, family by family; namespaces from their `__all__`. The pages hold directives only:
texts and signatures are read from the code by Sphinx's autodoc. `docs/conf.py` calls `write` before each build, so the
pages, which git ignores, cannot go stale. `python -m tools.api_pages` writes them by hand.
"""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "api"

# Titles of the pages of torch-level functions. A family that is not named here gets the name of its module.
FAMILIES = {
    "Creating tensors": ("creation", "ranges", "from_memory", "grids", "strided_memory", "windows"),
    "Arithmetic": ("arithmetic", "division", "pairwise", "ternary"),
    "Elementary functions": ("elementary", "special_functions", "complex_views"),
    "Comparison and logic": ("comparison",),
    "Reductions and statistics": ("reductions", "statistics", "cumulative", "segments"),
    "Products and contractions": ("matmul", "contraction", "linear_algebra"),
    "Shapes and views": ("shape", "subviews", "splitting", "joining", "rearranging"),
    "Indexing and scatter": ("selection", "scatter"),
    "Sorting and searching": ("searching",),
    "Random numbers": ("random_sampling", "random_choices", "random"),
    "Copies and facts about tensors": ("copying", "tensor_facts"),
    "Spectra": ("spectral",),
    "Layers": (
        "layers", "recurrence", "activation", "convolution", "distance", "normalization", "pooling", "vision", "quantization",
        "functional", "_common",
    ),
    "Settings": ("runtime",),
}  # fmt: skip
# Names of the package that no family announces, and the page that each is on.
OVERALL = {
    "Creating tensors": ("from_numpy", "from_dlpack", "to_dlpack", "sparse_coo_tensor", "sparse_csr_tensor",
        "sparse_csc_tensor", "sparse_bsr_tensor", "sparse_bsc_tensor", "sparse_compressed_tensor"),
    "Products and contractions": ("spmm", "smm", "dsmm", "saddmm"),
    "Derivatives beyond torch": (
        "explain", "memory", "jacobian", "backward_batched", "per_sample_gradients", "per_sample_norms", "sparse_jacobian",
        "sparse_hessian", "taylor", "safe_gradients",
    ),
    "Types of elements, shapes, devices": (
        "Size", "dtype", "finfo", "iinfo", "device", "layout", "memory_format", "UntypedStorage", "TypedStorage", "typename",
        "is_storage", "get_device_module",
    ),
    "Recording and randomness": (
        "no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "is_grad_enabled", "is_inference_mode_enabled",
        "is_anomaly_enabled", "is_anomaly_check_nan_enabled", "autocast", "Generator",
    ),
    "Programs and files": (
        "save", "load", "install_as_torch", "uninstall_as_torch", "compile", "cond", "while_loop", "vmap",
    ),
    "Settings": (
        "set_default_dtype", "get_default_dtype", "set_default_device", "get_default_device", "set_default_tensor_type",
        "set_printoptions", "promote_types", "can_cast",
    ),
}  # fmt: skip

# Namespaces, each a page, and what to say there first.
NAMESPACES = {
    "autograd": "Backward passes, modes, custom functions and checks of derivatives.",
    "autograd.function": "What custom functions are made with.",
    "autograd.functional": "Jacobians, Hessians and products with them, of functions.",
    "autograd.graph": "The graph as an object: hooks, edges and what it keeps.",
    "autograd.forward_ad": "Forward mode with dual tensors.",
    "func": "Transforms of functions: derivatives and batches.",
    "fx": "Programs as graphs that can be looked at, changed, and written back as Python.",
    "fx.passes.shape_prop": "Shapes and dtypes of the values in a graph.",
    "multi": "Several losses at once: their Jacobian, and one gradient made of it.",
    "multi.scalarization": "Several losses at once: one loss made of their values.",
    "implicit": "Differentiating through solutions of equations.",
    "optimize": "SciPy's minimizers, with exact gradients.",
    "explaining": "What a backward pass would do, step by step.",
    "nn": "Modules: layers, losses, containers.",
    "nn.functional": "Layers and losses as functions.",
    "nn.init": "Initial values of parameters.",
    "nn.attention": "Which implementation of attention runs; here there is one.",
    "nn.attention.bias": "Causal masks that are not written out.",
    "nn.attention.flex_attention": "Attention whose scores and masks are functions.",
    "nn.grad": "Gradients of convolutions, as functions.",
    "nn.parallel": "Names of parallel training, on one device.",
    "nn.utils": "Clipping, conversion of parameters, fusion and other help for modules.",
    "nn.utils.rnn": "Sequences of different lengths, padded and packed.",
    "nn.utils.parametrize": "Parameters computed from others.",
    "nn.utils.parametrizations": "Ready-made parametrizations: orthogonal, of bounded norm, direction and length.",
    "nn.utils.prune": "Parameters with masks.",
    "optim": "Optimizers.",
    "optim.lr_scheduler": "Learning rates over time.",
    "optim.swa_utils": "Averages of a model's weights over time.",
    "amp": "Mixed precision: automatic casts, and losses scaled against underflow.",
    "linalg": "Linear algebra.",
    "fft": "Fourier transforms.",
    "special": "Special functions.",
    "masked": "Reductions over the elements a mask selects.",
    "sparse": "Functions of sparse tensors.",
    "signal.windows": "Windows for spectra.",
    "distributions": "Probability distributions, their transforms and divergences.",
    "distributions.constraints": "What values parameters and samples may have.",
    "array_api": "The Array API standard 2024.12, on tensors.",
    "distributed": "A world of one process, and stores that connect several.",
    "quasirandom": "Sobol points.",
    "utils.data": "Datasets, samplers and loaders.",
    "utils.checkpoint": "Computing again instead of keeping.",
    "utils.flop_counter": "Counting operations on numbers, by module and operator.",
    "utils.benchmark": "Timing statements.",
    "utils.tensorboard": "Logs for TensorBoard.",
    "utils.module_tracker": "Which module is running.",
    "utils.weak": "References that do not keep tensors alive.",
    "profiler": "What a program spends its time on.",
    "random": "Generators and their states.",
    "serialization": "Checkpoints: saving, and loading without running code.",
    "serialization.safetensors": "Files of named tensors in the safetensors format.",
    "library": "Operators of your own.",
    "overrides": "Objects that take operations over, and modes that see them all.",
    "testing": "Comparing tensors, and making them, in tests.",
}

# Classes that are bases of the user's own, or that are used by calling their methods: these are shown with members.
WITH_MEMBERS = frozenset(
    {
        "Module", "Optimizer", "LRScheduler", "Function", "Distribution", "Transform", "DataLoader", "Generator",
        "Explanation", "Aggregator", "AveragedModel", "Scalarizer", "GradScaler", "FlopCounterMode", "Timer", "Measurement",
        "BasePruningMethod", "Library",
    }
)  # fmt: skip


def functions_by_page() -> dict[str, list[str]]:
    """Names of torch-level functions, under the title of their page."""
    from pullback.functional import late, registry

    for module in late.late_modules():
        registry.load(module)
    titles = {module: title for title, modules in FAMILIES.items() for module in modules}
    pages: dict[str, list[str]] = defaultdict(list)
    for name in {*registry.FUNCTIONS, *registry.FUNCTIONS.homes}:
        function = registry.FUNCTIONS[name]
        if name.startswith("_") or not callable(function) or inspect.isclass(function):
            continue
        home = inspect.unwrap(function).__module__
        if not home.startswith("pullback."):
            continue  # somebody's own, announced in this process
        module = home.rpartition(".")[2]
        pages[titles.get(module, module.replace("_", " ").capitalize())].append(name)
    for title, names in OVERALL.items():
        pages[title] += names
    order = [*FAMILIES, *OVERALL]
    return {
        title: sorted(pages[title])
        for title in sorted(pages, key=lambda title: (order.index(title) if title in order else len(order), title))
    }


def directives(entries: Iterable[tuple[str, str, tuple[str, ...]]]) -> str:
    """A block of autodoc directives: (directive, dotted name, options)."""
    lines = ["```{eval-rst}"]
    for directive, name, options in entries:
        lines += [f".. {directive}:: {name}", *(f"   :{option}:" for option in options), ""]
    return "\n".join([*lines, "```"])


def entry(module: str, name: str, value: Any) -> tuple[str, str, tuple[str, ...]] | None:
    """How one public name of a module is documented; None for what is no class and no function."""
    dotted = f"{module}.{name}"
    if name == "Tensor":  # has a page of its own
        return None
    if inspect.ismodule(value):  # autograd.gradcheck is a module that can be called as the function in it
        dotted, value = f"{dotted}.{name}", getattr(value, name, None)
    if inspect.isclass(value):
        # Sphinx knows a class by its home, under which a namespace describes it already.
        again = module == "pullback" and any(
            getattr(importlib.import_module(f"pullback.{namespace}"), name, None) is value
            for namespace in ("autograd", "amp")
        )
        return "autoclass", dotted, (*["members"] * (name in WITH_MEMBERS), *["no-index"] * again)
    return ("autofunction", dotted, ()) if callable(value) else None


def namespace_page(module: str, introduction: str) -> str:
    """The page of a namespace, from its `__all__`."""
    found = importlib.import_module(f"pullback.{module}")
    names = sorted(name for name in found.__all__ if not name.startswith("_"))
    for name in names:
        getattr(found, name)  # the first look may load a module that then stands under its name, as it will for Sphinx
    entries = [entry(f"pullback.{module}", name, getattr(found, name)) for name in names]
    return f"# {module}\n\n{introduction}\n\n{directives(each for each in entries if each is not None)}\n"


def tensor_page() -> str:
    """Every public method and property of Tensor."""
    import pullback
    from pullback.functional import registry

    own, announced, in_place = [], [], []
    for name, value in sorted(vars(pullback.Tensor).items()):
        is_property = inspect.isdatadescriptor(value)
        if name.startswith("_") or not (is_property or callable(value)) or not value.__doc__:
            continue
        item = ("autoproperty" if is_property else "automethod", f"pullback.Tensor.{name}", ())
        if name in registry.IN_PLACE or (name.endswith("_") and callable(value)):
            in_place.append(item)
        else:
            (announced if name in registry.METHODS else own).append(item)
    parts = [
        "# Tensor\n\nWhat every program holds in its hands.",
        "```{eval-rst}\n.. autoclass:: pullback.Tensor\n```",
        f"## Of its own\n\n{directives(own)}",
        f"## Functions as methods\n\n`x.name(...)` is `torch.name(x, ...)`.\n\n{directives(announced)}",
        f"## In place\n\n{directives(in_place)}",
    ]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """File names and texts of all pages."""
    import pullback

    texts: dict[str, str] = {}
    top: list[str] = []
    for title, names in functions_by_page().items():
        stem = "torch_" + title.lower().replace(",", "").replace(" ", "_")
        top.append(stem)
        entries = [entry("pullback", name, getattr(pullback, name)) for name in names]
        texts[stem] = f"# {title}\n\n{directives(each for each in entries if each is not None)}\n"
    texts["tensor"] = tensor_page()
    for module, introduction in NAMESPACES.items():
        texts[module.replace(".", "_")] = namespace_page(module, introduction)
    rest = ["tensor", *(module.replace(".", "_") for module in NAMESPACES)]
    trees = [
        f"```{{toctree}}\n:caption: {caption}\n:maxdepth: 1\n\n" + "\n".join(stems) + "\n```"
        for caption, stems in (("Functions", top), ("Tensor and namespaces", rest))
    ]
    texts["index"] = (
        "# API reference\n\nEverything here is reached as `torch.name` after `import pullback as torch`, with torch's "
        "meaning. The texts come from the code.\n\n" + "\n\n".join(trees) + "\n"
    )
    return texts


def write(folder: Path = FOLDER) -> None:
    """Write the pages, leave those alone that are the same, and remove those that are no longer made."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = pages()
    for stale in folder.glob("*.md"):
        if stale.stem not in texts:
            stale.unlink()
    for stem, text in texts.items():
        path = folder / f"{stem}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    write()
