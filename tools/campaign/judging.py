"""Tells differences from rounding, from ties, and from what is known of torch.

Rounding and ties are not guessed: torch is asked what becomes of its own answer when the numbers that a program begins with
are moved by a rounding. Where torch's answer moves as far as ours lies from it, the two are equally right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import pullback

from .running import FINEST, TOLERANCES, Difference, Pair, array, names_in, namespace, replay, run_line

NUDGES = {FINEST: (4e-16, -7e-16, 3e-15)}
COARSE_NUDGES = {2e-4: (1.5e-7, -2.5e-7, 1e-6), 1e-2: (1e-3, -2e-3, 4e-3), 5e-2: (8e-3, -1.6e-2, 3e-2)}
MOVES_AS_FAR = 0.02
"""The share of a difference that torch's own answer has to move for the difference to be rounding."""


PERVASIVE = ("version", "requires_grad")
"""Kinds of differences that an earlier line than the one where they are seen may have made."""


@dataclass(frozen=True)
class Known:
    """Differences of some kinds (joined by commas) whose line or text matches are expected, for a reason."""

    kinds: str
    pattern: str
    reason: str
    largest: float = float("inf")
    """How far apart values may be, relative to their largest."""

    def covers(self, lines: list[str], difference: Difference) -> bool:
        """Whether this is such a difference; values, and what is seen at the end, may come of any line."""
        whole = (
            difference.line == "at the end"
            or "value" in difference.kind
            or difference.kind in PERVASIVE
            or re.search(r"backward\(|autograd\.grad\(", difference.line) is not None
        )
        about = "\n".join(lines) if whole else difference.line
        alike = difference.kind in self.kinds.split(", ") and difference.size <= self.largest
        return alike and bool(re.search(self.pattern, f"{about} | {difference.text}"))


KNOWN = [
    Known(
        "accepted, exception",
        r"not implemented for|only supports|not supported|does not support|Expected a floating point or complex|must be either float"
        r"|dtype to be floating point|could not infer output dtype|to have the same dtype|not intended to support complex|isn't supported|Autograd not support dtype"
        r"|have the same dtype|Expected \w+ dtype|can't be cast to the desired|no longer supported|Integral inputs|expected scalar type|must have the same dtype|Low precision dtypes",
        "torch has no kernel for this type of elements; pullback computes it, or refuses in other words",
    ),
    Known(
        "accepted, exception",
        r"derivative for .* is not implemented|does not support (double|automatic)|not differentiable twice",
        "torch has no rule for this derivative",
    ),
    Known(
        "accepted, exception, refused",
        r"INTERNAL ASSERT|unexpected error|Could this error message be improved|report a bug|MKL FFT error|setStorage|Found dtype|returned an invalid gradient"
        r"|inconsistent tensor size",
        "torch's own internal error",
    ),
    Known(
        "accepted, exception",
        r"but tensor has no dimensions|cannot be applied to a 0-dim tensor|Dimension out of range|tuple index out of range"
        r"|Index to scalar|zero-dimensional tensor .* cannot be concatenated|for tensor of dimension 0",
        "a tensor without dims, which torch refuses in words about dims, and pullback accepts or refuses in words about the function",
    ),
    Known(
        "accepted, exception",
        r"refer to a single memory location|memory overlap|elements of the input tensor and the written-to tensor"
        r"|more than one element of the written-to tensor",
        "overlapping memory: pullback writes as if operands had been copied first",
    ),
    Known(
        "accepted", r"view size is not compatible", "torch builds the function of views that some layouts do not have"
    ),
    Known("accepted", r"output 0 of MaskedFill", "torch's rule of norms writes to what its own derivative needs"),
    Known("accepted", r"calling random operations inside of vmap", "torch refuses random numbers in a batched pass"),
    Known(
        "requires_grad", r"T\.func\.|T\.vmap", "a constant derivative: torch's zeros remember what they were made of"
    ),
    Known(
        "version",
        r"conj\(|\.mH|\.H\b|imag|fft",
        "torch's conjugates are views, pullback's are copies (docs/differences.md)",
    ),
    Known(
        "gradient finiteness, finiteness",
        r"torch's alone are not finite: (g\d|\w+\.grad|y\d)",
        "derivatives at the edge of a function, where torch's alone are NaN or infinite",
    ),
    Known(
        "gradient value, value",
        r"(norm|cross_entropy|nll_loss|std|var)\w*\((.|\n)*(\.data\.mul_|detach\(\)\.numpy\(\)\[)(.|\n)*create_graph(.|\n)* g\d",
        "writes that nobody counts: a recorded pass computes anew what the forward pass had kept (docs/differences.md)",
    ),
    Known(
        "gradient value, value",
        r"(\.real\b|\.imag\b|float\(\)|half\(\)|double\(\)|dtype=|\.to\()(.|\n)*(\.data\.mul_|detach\(\)\.numpy\(\)\[)(.|\n)*(\.grad| g\d)",
        "writes that nobody counts: an operand that another dtype is mixed with was saved converted (docs/differences.md)",
    ),
    Known(
        "value, finiteness, gradient value",
        r"kind='edges'(.|\n)*mode\(",
        "torch's mode sorts NaN in no order",
    ),
    Known(
        "requires_grad",
        r"requires_grad_\(False\)",
        "a view of what no longer asks for gradients: torch's has a history that leads nowhere",
    ),
    Known(
        "refused",
        r"kron\((.|\n)*modified by an inplace operation",
        "torch does not notice writes to what kron has saved, and gives gradients of other values",
    ),
    Known("accepted", r"T\.func\.linearize", "torch's linearize copies what a function writes to"),
    Known("value", r"expand(.|\n)*median\(", "torch's median along expanded dims reads what was never written"),
    Known(
        "value, gradient value, strides",
        r"as_strided\(.*\(1, 1\)\)|\b(v\d+)\.(t\(\)|mT|T)\.\w+_\(.*\1",
        "overlapping memory: pullback writes as if operands had been copied first, and torch in some order",
    ),
    Known(
        "value",
        r"(conj\(|\.mH)(.|\n)*(_\(|\] = )",
        "writes to conjugates, which are copies (docs/differences.md)",
    ),
    Known(
        "value, gradient value",
        r"T\.func\.jvp(.|\n)*layer_norm|layer_norm(.|\n)*T\.func\.(jvp|jacfwd|grad\(lambda)",
        "torch's derivatives of the derivative of layer norm differ from finite differences",
    ),
    Known(
        "refused",
        r"to have the same dtype, but got|not implemented for '(Bool|Byte|Char|Short|Int|Long|Complex\w+)'|or complex tensor as input\. Got (Bool|Int|Long)|must be a floating point but you specified"
        r"|can't be cast to the desired output type Bool",
        "torch does not look at the type of elements where there are none or one; pullback refuses it for any size",
    ),
    Known(
        "refused",
        r"matrix_exp: Low precision",
        "torch's exponentials of matrices of half precision are infinite from two rows on",
    ),
    Known("gradient type", r"is_grads_batched", "torch keeps a gradient of a batched pass that nobody can read"),
    Known(
        "strides",
        r"(conj\(|\.m?H\b)(.|\n)*torch \([^)]*\b0\b",
        "torch's conjugates of expanded tensors are views, pullback's are copies (docs/differences.md)",
    ),
    Known("dtype", r"complex32", "there is no complex32 (docs/differences.md)"),
    Known(
        "requires_grad", r"of torch\.(u?int\d+|bool)", "torch's tensors of integers can ask for gradients after a write"
    ),
    Known(
        "refused, shape",
        r"scaled_dot_product_attention",
        "attention over no keys: torch does not look at other sizes then",
    ),
    Known(
        "gradient value",
        r"(layer|instance|group|batch|rms)_norm(.|\n)*s3\b",
        "torch's third derivatives of normalizations differ from finite differences",
    ),
    Known(
        "accepted",
        r"output 0 of AsStrided|aten::masked_fill_",
        "torch's rules write to what their own derivatives need",
    ),
    Known("accepted", r"ZeroTensors are immutable", "torch's rule of sgn gives zeros that its own sums refuse"),
    Known(
        "accepted", r"view_as_real doesn't work on unresolved conjugated", "conjugates are copies (docs/differences.md)"
    ),
    Known("exception", r"DefaultCPUAllocator(.|\n)*MemoryError", "neither has so much memory"),
    Known(
        "gradient value",
        r"\.(to\(T\.\w*int\d+\)|int\(\)|long\(\))(.|\n)*ldexp\(|dtype='int\d+'(.|\n)*ldexp\(",
        "torch's derivative of ldexp takes 2 to a whole number as a whole number, which is 0 for negative ones",
    ),
    Known(
        "gradient value",
        r"hardsigmoid\(",
        "torch's sixth in the derivative of hardsigmoid is one of float32",
        largest=1e-5,
    ),
    Known(
        "requires_grad",
        r"\.detach_\(\)",
        "a view of what has been detached: torch's has a history that leads nowhere",
    ),
    Known(
        "dtype, refused",
        r"einsum\((.|\n)*(\.dtype|scalar type)",
        "torch does not look at the type of elements where there are none",
    ),
]

OPEN: list[Known] = [
    Known("strides", r"T\.(kron|einsum)\(", "products built of dims of size 1, whose strides count for torch's order"),
    Known("accepted", r"Can't detach views in-place", "detach_ of results that torch builds as views"),
    Known("accepted", r"a view of a leaf Variable", "writes to conjugates of leaves"),
    Known(
        "gradient value, value",
        r"\b(householder_product|ormqr|qr|eigh|lu|lu_solve|lstsq|det|log_ndtr|polar)\((.|\n)*create_graph",
        "which part of a second derivative passes through an output, which depends on the formula",
    ),
    Known(
        "gradient value, value",
        r"\b(adaptive_(avg|max)_pool1d|avg_pool1d|max_pool1d|instance_norm|tensordot|einsum|inner|multi_dot)\((.|\n)*(_\(|\] [*+-]?= )",
        "writes to results that torch builds as views, after which their hooks and older gradients are others",
    ),
]
"""Differences of pullback's that are known and not mended: counted apart, until a line can go."""


def verdict(lines: list[str], difference: Difference, strides: str) -> str | None:
    """Why a difference is none, or None where it is one."""
    for known in KNOWN:
        if known.covers(lines, difference):
            return known.reason
    for known in OPEN:
        if known.covers(lines, difference):
            return f"to be mended: {known.reason}"
    if difference.kind == "strides" and is_spread(lines, difference):
        return "to be mended: the order of three dims, along some of which the first operand is repeated"
    if difference.kind == "accepted" and "modified by an inplace operation" in difference.text:
        return "pullback saves less than torch, and its gradients are right" if accepted_is_right(lines) else None
    if "value" in difference.kind or "finiteness" in difference.kind or difference.kind == "shape":
        if torch_agrees(lines, difference, strides):
            return (
                "operands that differ by a rounding, or in the sign of a zero: torch makes of ours what pullback does"
            )
        if torch_moves(lines, difference, strides) or torch_moves_there(lines, difference):
            return "rounding, or a tie that rounding decides"
        if re.match(r"g\d|\w+\.grad", difference.text) and picks_of_equals(lines):
            return "which of equal elements is taken (docs/differences.md)"
    return None


def is_spread(lines: list[str], difference: Difference) -> bool:
    """Whether a line makes something of three dims or more of tensors of which some, in order, are repeated along a dim."""
    names = namespace(torch)
    for line in lines:
        run_line(line, names)
    made = names.get(difference.line.partition(" = ")[0])
    given = [names.get(name) for name in names_in(difference.line.partition(" = ")[2])]
    return (
        isinstance(made, torch.Tensor)
        and made.dim() > 2
        and any(isinstance(one, torch.Tensor) and one.is_contiguous() and one.numel() < made.numel() for one in given)
        and any(isinstance(one, torch.Tensor) and not one.is_contiguous() for one in given)
    )


def accepted_is_right(lines: list[str]) -> bool:
    """Whether gradients of a program that torch refuses are those it gives when everything saved is copied."""
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.detach().clone(), lambda saved: saved):
        difference = replay(lines, strides="none")
    return difference is None or any(known.covers(lines, difference) for known in KNOWN)


def torch_agrees(lines: list[str], difference: Difference, strides: str) -> bool:
    """Whether torch, given the operands that pullback had in the line that differs, answers as pullback does."""
    if difference.line not in lines or re.search(r"grad|backward|T\.func\.|vmap", difference.line):
        return False
    pair, at = Pair(strides="none"), lines.index(difference.line)
    for line in lines[:at]:
        pair.run(line)
    for name in names_in(difference.line):
        theirs, ours = pair.torch.get(name), pair.ours.get(name)
        if isinstance(theirs, torch.Tensor) and theirs.layout is torch.strided:
            values = torch.as_tensor(array(ours, pullback)).to(theirs.dtype)
            pair.torch[name] = torch.empty_like(theirs.detach()).copy_(values)
            pair.ours[name] = ours.detach().clone()
    found = pair.run(difference.line)[1]
    return found is None or found.kind in PERVASIVE


def torch_moves_there(lines: list[str], difference: Difference) -> bool:
    """Whether torch's answer to the line that differs moves as far when each number it is given is moved by a rounding."""
    if difference.line not in lines or re.search(rf"grad|backward|T\.func\.|vmap|{PICK}", difference.line):
        return False
    found = []
    for nudge in (0, 1, -2):
        names = namespace(torch)
        for line in lines[: lines.index(difference.line)]:
            run_line(line, names)
        for name in names_in(difference.line):
            value = names.get(name)
            if (
                nudge
                and isinstance(value, torch.Tensor)
                and value.is_floating_point()
                and value.layout is torch.strided
            ):
                waves = torch.cos(torch.arange(value.numel()) * 1.7 + 1).reshape(value.shape)
                scale = 1 + nudge * torch.finfo(value.dtype).eps * waves.double()
                names[name] = (value.detach().double() * scale).to(value.dtype)
        run_line(difference.line, names)
        parts: dict[str, np.ndarray] = {}
        name = difference.line.partition(" = ")[0] if " = " in difference.line else names_in(difference.line)[0]
        collect(parts, "it", names.get(name))
        found.append(parts)
    before, *after = found
    moved = [distance(before[part], one[part]) for one in after for part in before.keys() & one.keys()]
    return max(moved, default=0.0) >= MOVES_AS_FAR * difference.size


PICK = r"(?:kthvalue|median|nanmedian|mode|topk|sort|argsort|msort|quantile|nanquantile|argmax|argmin)\("


def picks_of_equals(lines: list[str]) -> bool:
    """Whether a function that takes some elements was given equal ones, among which torch has no order."""
    names = namespace(torch)
    for line in lines:
        if re.search(PICK, line):
            for name in names_in(line.partition(" = ")[2]):
                value = names.get(name)
                if isinstance(value, torch.Tensor) and value.numel() > len(np.unique(array(value, torch))):
                    return True
        run_line(line, names)
    return False


def torch_moves(lines: list[str], difference: Difference, strides: str) -> bool:
    """Whether torch's values move, when the program's numbers do, about as far as pullback's lie from them."""
    before = everything(lines, 0.0)
    for nudge in nudges(lines):
        after = everything(lines, nudge)
        moved = max((distance(before[name], after[name]) for name in before.keys() & after.keys()), default=0.0)
        if before.keys() != after.keys() or moved >= MOVES_AS_FAR * difference.size and moved > 5 * abs(nudge):
            return True
    return False


def nudges(lines: list[str]) -> tuple[float, ...]:
    """Roundings of the coarsest type of numbers in a program."""
    text = " ".join(lines)
    coarsest = FINEST
    for name, tolerance in TOLERANCES.items():
        if (
            name.removeprefix("torch.") in text
            or "half()" in text
            and tolerance == 1e-2
            or ".float()" in text
            and tolerance == 2e-4
        ):
            coarsest = max(coarsest, tolerance)
    return COARSE_NUDGES.get(coarsest, NUDGES[FINEST])


def everything(lines: list[str], nudge: float) -> dict[str, np.ndarray]:
    """All values and gradients of a program that torch runs alone."""
    names = namespace(torch, nudge)
    for line in lines:
        run_line(line, names)
        made = names.get(line.partition(" = ")[0])
        if isinstance(made, torch.nn.Module):
            with torch.no_grad():
                for parameter in made.parameters():
                    parameter.mul_(1 + nudge * torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape))
    found: dict[str, np.ndarray] = {}
    for name, value in list(names.items()):
        if re.fullmatch(r"[a-z]\d+", name):
            collect(found, name, value)
    return found


def collect(found: dict[str, np.ndarray], name: str, value: Any) -> None:
    """Arrays of a variable, of the gradient it has, or of what it contains."""
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        found[f"{name} {tuple(value.shape)}"] = array(value, torch)
        try:
            gradient = value.grad if value.is_leaf or value.retains_grad else None
        except RuntimeError:
            return
        if gradient is not None and gradient.layout is torch.strided:
            found[f"{name}.grad"] = array(gradient, torch)
    elif isinstance(value, (tuple, list)):
        for i, part in enumerate(value):
            collect(found, f"{name}[{i}]", part)
    elif isinstance(value, torch.nn.Module):
        for key, part in [*value.state_dict().items(), *value.named_parameters()]:
            collect(found, f"{name}.{key}", part)
    elif isinstance(value, float):
        found[name] = np.asarray(value)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """How far apart two arrays are, relative to their largest element; integers and truth values are apart or not."""
    finite = np.isfinite(one) & np.isfinite(other)
    if one.dtype.kind not in "fc":
        return 0.0 if np.array_equal(one, other) else 1.0
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return 1.0
    if not finite.any():
        return 0.0
    scale = max(np.abs(one[finite]).max(), np.abs(other[finite]).max())
    return float(np.abs(one[finite] - other[finite]).max() / scale) if scale > 0 else 0.0
