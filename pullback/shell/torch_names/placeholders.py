"""Parts of torch that Pullback does not have, importable all the same: sharding, quantization, capture, compilers.

Libraries import such names at the head of their files and use them behind a question (`if world_size > 1`,
`isinstance(model, FSDP)`). Under the alias every name in these modules is a class that nothing is an instance of, and
that says what is missing when it is called. To `pullback check` and `importlib.util.find_spec` they stay missing.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

_CAPTURE = "Programs are not captured as graphs here: call the function or module itself; torch.compile returns it."
_ONE_PROCESS = "Programs run in one process here: a group of one (world_size=1) needs none of it."
_PRECISION = "Numbers are not quantized here: float16 and bfloat16 are the small types (.half(), torch.autocast)."
_OPERATORS = "Call the torch function of the same name."

# A torch module, which stands for its submodules too, and what to do without it.
_ADVICE: dict[str, str] = {
    "torch.ao": _PRECISION,
    "torch.quantization": _PRECISION,
    "torch.nn.quantized": _PRECISION,
    "torch.nn.intrinsic": _PRECISION,
    "torch.nn.qat": _PRECISION,
    "torch.nn.functional.scaled_mm": _PRECISION,
    "torch.nn.functional.scaled_grouped_mm": _PRECISION,
    "torch.distributed": _ONE_PROCESS,
    "torch.distributed.device_mesh": _ONE_PROCESS,
    "torch.distributed.fsdp": _ONE_PROCESS,
    "torch.distributed.tensor": _ONE_PROCESS,
    "torch.nn.parallel": _ONE_PROCESS,
    "torch.fx": "Programs are traced by torch.fx.symbolic_trace; of its passes, passes.shape_prop is here.",
    "torch.export": _CAPTURE,
    "torch.jit": _CAPTURE,
    "torch.onnx": _CAPTURE,
    "torch.package": "Save state dicts with torch.save.",
    "torch.compiler": _CAPTURE,
    "torch._dynamo": _CAPTURE,
    "torch._inductor": _CAPTURE,
    "torch._export": _CAPTURE,
    "torch._guards": _CAPTURE,
    "torch._logging": _CAPTURE,
    "torch._higher_order_ops": _CAPTURE,
    "torch._C": "It is part of torch's compiled core.",
    "torch._custom_ops": _OPERATORS,
    "torch._subclasses": "Tensors of shapes without data are torch.empty(..., device='meta').",
    "torch._decomp": _OPERATORS,
    "torch._ops": _OPERATORS,
    "torch._prims": _OPERATORS,
    "torch._prims_common": _OPERATORS,
    "torch._refs": _OPERATORS,
    "functorch.compile": _CAPTURE,
    "torch._functorch": "torch.func has vmap, grad, vjp, jvp, jacrev, jacfwd, hessian and functional_call.",
    "torch.masked": "Its functions take a mask beside the tensor: torch.masked.mean(x, mask=mask).",
    "torch.nested": "Pad sequences of different lengths (torch.nn.utils.rnn.pad_sequence) and mask the rest.",
    "torch.cuda": "Everything runs on the CPU here.",
    "torch.mtia": "Everything runs on the CPU here.",
    "torch.utils.data.datapipes": "Chain datasets: torch.utils.data.IterableDataset, Subset, ConcatDataset, ChainDataset.",
    "torch.utils.mobile_optimizer": _CAPTURE,
    "torch.utils.bundled_inputs": _CAPTURE,
    "torch.utils.tensorboard": "SummaryWriter is in torch.utils.tensorboard itself.",
    "torch.profiler": "torch.profiler.profile times and counts operations.",
    "torch.testing._internal": "assert_close and make_tensor are in torch.testing.",
}
# Types that annotations and isinstance mention; they are in `torch` itself.
_TYPES = frozenset(
    {
        "AliasDb", "CompilationUnit", "DeviceObjType", "DispatchKey", "DispatchKeySet", "Event", "FloatType",
        "FunctionSchema", "Graph", "IntType", "JITException", "PyTorchFileReader", "PyTorchFileWriter", "ScriptClass",
        "StorageBase", "StringType", "TensorType",
        "ScriptFunction", "ScriptMethod", "ScriptModule", "ScriptObject", "Stream", "SymBool", "SymFloat",
        "SymInt", "Tag", "TracingState", "Type", "Value",
    }
)  # fmt: skip
# Functions that say which tracer is at work, or has been.
_NOTHING = frozenset({"torch.fx.experimental.proxy_tensor.get_proxy_mode", "torch._guards.detect_fake_mode",
                      "torch._guards.active_fake_mode",
                      "torch.ao.quantization.pt2e.export_utils.model_is_exported"})  # fmt: skip
# Contexts that change how a program is captured: nothing, where none is.
_CONTEXTS = frozenset({"torch._dynamo.utils.maybe_enable_compiled_autograd"})

# Decorators that files use when they are imported, on functions that are not called.
_DECORATORS = frozenset({"record", "compatibility", "_require_initialized"})


def advice_for(torch_name: str) -> str | None:
    """Return advice for programs that miss a name of one of these modules; None if it is in none of them."""
    if torch_name.removeprefix("torch.") in _TYPES:
        return _CAPTURE
    while torch_name:
        if torch_name in _ADVICE:
            return _ADVICE[torch_name]
        torch_name = torch_name.rpartition(".")[0]
    return None


class Placeholder(type):
    """The class of the names that stand for what is missing: they can be imported, subclassed and compared with."""

    torch_name: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        from .lookup import COVERAGE_PAGE

        name = cls.torch_name
        if name.rpartition(".")[2].startswith("is_"):
            return False  # a question about what is not here
        if name in _NOTHING:
            return None
        if name in _CONTEXTS:
            return nullcontext()
        if args and not kwargs and isinstance(args[-1], FunctionType) and name.rpartition(".")[2] in _DECORATORS:
            return args[-1]
        raise NotImplementedError(
            f"Pullback does not have {name}. {advice_for(name)} {COVERAGE_PAGE} lists what is supported."
        )

    def __getattr__(cls, name: str) -> Placeholder:
        if name.startswith("_") and name not in _DECORATORS:
            raise AttributeError(name)
        return placeholder(f"{cls.torch_name}.{name}")

    def __getitem__(cls, item: Any) -> Placeholder:
        return cls

    __iter__ = None  # without it Python would ask for items 0, 1, 2, ... for ever

    def __repr__(cls) -> str:
        return f"<{cls.torch_name}, which Pullback does not have>"


def placeholder(torch_name: str) -> Placeholder:
    """A stand-in for a name that is missing."""
    module, _, name = torch_name.rpartition(".")
    return Placeholder(name, (), {"torch_name": torch_name, "__module__": module})


def placeholder_for(torch_name: str, imported: bool) -> Any:
    """Return a placeholder for a missing attribute of a module that exists; None if there is none.

    A class may be mentioned without being used, and so may whatever a file imports; asking for a function is using it.
    """
    if torch_name in _ADVICE:
        return importlib.import_module(torch_name)
    name = torch_name.rpartition(".")[2]
    if advice_for(torch_name) is None or not (imported or name[:1].isupper()):
        return None
    return placeholder(torch_name)


def _transform(torch_name: str) -> Any:
    """A transform that a program looks for where torch keeps it; None if it is no such name."""
    if not torch_name.startswith("torch._functorch."):
        return None
    return vars(importlib.import_module("pullback.func")).get(torch_name.rpartition(".")[2])


class PlaceholderLoader:
    """Makes a module whose every public name is a placeholder."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        own = module.__dict__

        def __getattr__(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            full_name = f"{module.__name__}.{name}"
            own[name] = found = sys.modules.get(full_name) or _transform(full_name) or placeholder(full_name)
            return found

        own["__getattr__"] = __getattr__
        own["__path__"] = []
