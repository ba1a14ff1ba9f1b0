"""The local rule of each operation in mathematical notation: what an input gets when the output's cotangent is g.

A rule names what the operation saved: its inputs (`a`, `b`, `x`), `out`, or a parameter. An operation that is not in
the table is described by its kind and by what its rule asks for.
"""

from __future__ import annotations

from typing import Any

from ..autograd.op import _rule_names
from ..ops.pointwise import multiply_itself

# Operations of one input `x`.
UNARY: dict[str, str] = {
    "Abs": "g · sign(x)", "Acos": "−g / √(1 − x²)", "Acosh": "g / √(x² − 1)", "Alias": "g",
    "Amax": "g at the maximum, shared by ties",
    "Amin": "g at the minimum, shared by ties", "Angle": "g · ∂arg(x)", "AsStrided": "g put back at its strides",
    "Asin": "g / √(1 − x²)", "Asinh": "g / √(x² + 1)", "Atan": "g / (1 + x²)", "Atanh": "g / (1 − x²)", "Ceil": "0",
    "Celu": "g where x > 0, else g · exp(x/α)", "Clamp": "g where low ≤ x ≤ high, else 0",
    "ClampMax": "g where x ≤ max, else 0",
    "ClampMin": "g where x ≥ min, else 0", "Clone": "g", "Conj": "conj(g)", "ConjPhysical": "conj(g)",
    "ConstantPadNd": "g without the padding", "CopyBackwards": "g", "Cos": "−g · sin(x)", "Cosh": "g · sinh(x)",
    "Cumprod": "reverse cumulative sum of g · out, divided by x", "Cumsum": "reverse cumulative sum of g",
    "DiagEmbed": "diagonal of g", "Diagonal": "g on the diagonal, 0 elsewhere", "Digamma": "g · ψ′(x)",
    "Elu": "g where x > 0, else g · α·exp(x)", "Erf": "g · 2/√π · exp(−x²)", "Erfc": "−g · 2/√π · exp(−x²)",
    "Erfinv": "g · √π/2 · exp(out²)", "Exp": "g · out", "Exp2": "g · out · ln 2",
    "Expand": "sum of g over the expanded axes",
    "Expm1": "g · (out + 1)", "FftC2C": "inverse transform of g", "FftC2R": "transform of g",
    "FftR2C": "inverse transform of g",
    "Flip": "g flipped back", "Floor": "0", "Frac": "g", "Gather": "g added at the gathered positions",
    "Gelu": "g · (Φ(x) + x·φ(x))", "Glu": "g · σ(b) and g · a·σ(b)·(1 − σ(b)) for the halves a, b",
    "Hardshrink": "g where |x| > λ, else 0", "Hardsigmoid": "g/6 where −3 < x < 3, else 0",
    "Hardswish": "g · (2x + 3)/6 in −3 … 3",
    "Hardtanh": "g where low < x < high, else 0", "Index": "g added at the chosen positions, 0 elsewhere",
    "IndexSelect": "g added at the chosen positions, 0 elsewhere", "Kthvalue": "g at the chosen position, 0 elsewhere",
    "LeakyRelu": "g where x > 0, else g · slope", "Lgamma": "g · ψ(x)", "LinalgCholeskyEx": "L⁻ᴴ φ(Lᴴ g) L⁻¹",
    "LinalgDet": "g · out · x⁻ᴴ",
    "LinalgInvEx": "−x⁻ᴴ g x⁻ᴴ", "LinalgVectorNorm": "g · x · |x|^(p−2) / out^(p−1)", "Log": "g / x",
    "Log10": "g / (x · ln 10)",
    "Log1P": "g / (1 + x)", "Log2": "g / (x · ln 2)", "LogSigmoid": "g · (1 − σ(x))",
    "LogSoftmax": "g − exp(out) · Σg", "Logcumsumexp": "reverse cumulative sum of g · exp(−out), times exp(x)",
    "Logit": "g / (x · (1 − x))", "Logsumexp": "g · exp(x − out)",
    "MaskedSelect": "g at the chosen positions, 0 elsewhere",
    "Max": "g at the maximum", "MaxPool2DWithIndices": "g at each window's maximum",
    "Mean": "g / n, spread over the averaged elements",
    "Median": "g at the median", "Min": "g at the minimum", "Mish": "g · mish′(x)", "Neg": "−g",
    "Permute": "g with axes put back",
    "Pow": "g · n · xⁿ⁻¹", "Prod": "g · out / x", "Reciprocal": "−g · out²", "Relu": "g where out > 0, else 0",
    "Repeat": "sum of g over the copies", "Roll": "g rolled back", "Round": "0", "Rsqrt": "−g · out³ / 2",
    "Select": "g at the chosen place, 0 elsewhere", "Sgn": "0 (of real x)", "Sigmoid": "g · out · (1 − out)",
    "Sign": "0",
    "Silu": "g · σ(x) · (1 + x · (1 − σ(x)))", "Sin": "g · cos(x)", "Sinc": "g · sinc′(x)", "Sinh": "g · cosh(x)",
    "Slice": "g in the slice, 0 elsewhere", "Softmax": "out · (g − Σ(g · out))", "Softplus": "g · σ(β·x)",
    "Softshrink": "g where |x| > λ, else 0", "Sort": "g in the original order", "Split": "the parts of g, joined",
    "SplitWithSizes": "the parts of g, joined", "Sqrt": "g / (2 · out)", "Squeeze": "g, reshaped",
    "Std": "g · (x − mean) / ((n − 1) · out)",
    "Sum": "g, spread over the summed elements", "T": "gᵀ", "Tan": "g · (1 + out²)", "Tanh": "g · (1 − out²)",
    "Threshold": "g where x > limit, else 0", "ToCopy": "g, in the input's type",
    "Topk": "g at the chosen positions, 0 elsewhere",
    "Trace": "g on the diagonal, 0 elsewhere", "Transpose": "gᵀ", "Tril": "lower triangle of g",
    "Triu": "upper triangle of g",
    "Trunc": "0", "Unbind": "the parts of g, stacked", "Unfold": "g added where windows overlap",
    "UnsafeView": "g, reshaped",
    "Unsqueeze": "g, reshaped", "Var": "g · 2 (x − mean) / (n − 1)", "View": "g, reshaped", "Zero": "0", "Fill": "0",
    "AvgPool2D": "g / window, spread over each window", "AdaptiveAvgPool2D": "g / window, spread over each window",
    "MaskedFill": "g where not masked, else 0", "Upsample": "g, gathered by the same weights",
}  # fmt: skip

# Operations of several inputs: a rule for each.
SEVERAL: dict[str, dict[str, str]] = {
    "Add": {"a": "g", "b": "g", "input 1": "g"},
    "Addcdiv": {"x": "g", "a": "value · g / b", "b": "−value · g · a / b²"},
    "Addcmul": {"x": "g", "a": "value · g · b", "b": "value · g · a"},
    "Addmm": {
        "x": "g @ weight", "weight": "gᵀ @ x", "bias": "sum of g over the batch", "a": "g @ bᵀ", "b": "aᵀ @ g",
    },
    "Atan2": {"a": "g · b / (a² + b²)", "b": "−g · a / (a² + b²)"},
    "BinaryCrossEntropy": {"x": "g · (x − target) / (x · (1 − x)) / n", "target": "g · (log(1 − x) − log x) / n"},
    "BinaryCrossEntropyWithLogits": {"x": "g · (σ(x) − target) / n", "target": "−g · x / n"},
    "Bmm": {"a": "g @ bᵀ", "b": "aᵀ @ g"},
    "Cat": {"*": "its part of g"},
    "Cdist": {"a": "Σ g · (a − b) / out", "b": "−Σ g · (a − b) / out"},
    "Convolution": {
        "x": "g convolved with the flipped weight", "weight": "x correlated with g",
        "bias": "sum of g over all but the channels",
        "g": "g convolved with the weight",
    },
    "CopySlices": {"base": "g outside the written part, 0 inside", "value": "g inside the written part"},
    "CopyBackwards": {"source": "g", "x": "g"},
    "Copysign": {"a": "±g", "b": "0"},
    "Div": {"a": "g / b", "b": "−g · a / b²"},
    "Dot": {"a": "g · b", "b": "g · a"},
    "Embedding": {"weight": "g added at the rows that were looked up"},
    "Fmax": {"a": "g where a ≥ b", "b": "g where b > a"}, "Fmin": {"a": "g where a ≤ b", "b": "g where b < a"},
    "Fmod": {"a": "g", "b": "−g · trunc(a / b)"},
    "HuberLoss": {"x": "g · clamp(x − y, −δ, δ)", "y": "−g · clamp(x − y, −δ, δ)"},
    "Hypot": {"a": "g · a / out", "b": "g · b / out"},
    "IndexAdd": {"x": "g", "source": "α · g at the index"},
    "IndexPut": {"x": "g, 0 where written", "value": "g where written"},
    "Lerp": {"a": "g · (1 − weight)", "b": "g · weight", "weight": "g · (b − a)"},
    "LinalgCross": {"a": "b × g", "b": "g × a"},
    "LinalgSolveEx": {"a": "−(a⁻ᴴ g) outᴴ", "b": "a⁻ᴴ g"},
    "LinalgSolveTriangular": {"a": "−(a⁻ᴴ g) outᴴ", "b": "a⁻ᴴ g"},
    "Logaddexp": {"a": "g · exp(a − out)", "b": "g · exp(b − out)"},
    "MaskedFill": {"x": "g where not masked, else 0", "value": "sum of g where masked"},
    "Maximum": {"a": "g where a > b, half at ties", "b": "g where b > a, half at ties"},
    "Minimum": {"a": "g where a < b, half at ties", "b": "g where b < a, half at ties"},
    "Mm": {
        "a": "g @ bᵀ", "b": "aᵀ @ g", "x": "g @ weight", "weight": "gᵀ @ x",
        "first": "g @ second", "second": "gᵀ @ first", "left": "right @ gᵀ", "right": "left @ g",
    },
    "MseLoss": {"x": "g · 2 (x − y) / n", "y": "−g · 2 (x − y) / n"},
    "Mul": {"a": "g · b", "b": "g · a", "x": "2 · g · x"},
    "Mv": {"a": "g ⊗ b", "b": "aᵀ @ g"},
    "NativeBatchNorm": {
        "x": "weight/σ · (g − mean(g) − x̂ · mean(g·x̂))", "weight": "Σ g · x̂", "bias": "Σ g",
    },
    "NativeLayerNorm": {
        "x": "1/σ · (h − mean(h) − x̂ · mean(h·x̂)), h = g · weight", "weight": "Σ g · x̂", "bias": "Σ g",
    },
    "NllLoss": {"x": "−g / n at each target"},
    "NllLoss2D": {"x": "−g / n at each target"},
    "Pow": {"a": "g · b · aᵇ⁻¹", "b": "g · out · log a", "x": "g · n · xⁿ⁻¹"},
    "PreluKernel": {"x": "g where x > 0, else g · weight", "weight": "g · min(x, 0)"},
    "Remainder": {"a": "g", "b": "−g · floor(a / b)"},
    "Rsub": {"a": "−g", "b": "g"},
    "ScaledDotProductFlashAttentionForCpu": {
        "query": "dS @ key · scale", "key": "dSᵀ @ query · scale", "value": "Pᵀ @ g", "mask": "dS",
    },
    "ScatterAdd": {"x": "g", "src": "g at the index"},
    "Scatter": {"x": "g, 0 where written", "src": "g at the index"},
    "SelectScatter": {"x": "g, 0 where written", "source": "g where written"},
    "SliceScatter": {"x": "g, 0 where written", "source": "g where written"},
    "SmoothL1Loss": {"x": "g · clamp((x − y)/β, −1, 1) / n", "y": "−g · clamp((x − y)/β, −1, 1) / n"},
    "Stack": {"*": "its slice of g"},
    "Sub": {"a": "g", "b": "−g"},
    "UnsafeView": {"a": "g @ bᵀ", "b": "aᵀ @ g", "x": "g, reshaped"},
    "Vdot": {"a": "conj(g) · b", "b": "g · a"},
    "Where": {"a": "g where the condition holds, else 0", "b": "g where it does not, else 0"},
    "Xlogy": {"x": "g · log y", "y": "g · x / y"},
}  # fmt: skip

_BROADCASTING = frozenset(
    {"Add", "Sub", "Rsub", "Mul", "Div", "Pow", "Maximum", "Minimum", "Fmax", "Fmin", "Where", "Atan2", "Hypot", "Lerp",
     "Addcmul", "Addcdiv", "Xlogy", "Logaddexp", "Remainder", "Fmod", "MaskedFill", "PreluKernel"}
)  # fmt: skip


def base_name(node: Any) -> str:
    """`Mul` of MulBackward0."""
    name = node.name().rpartition("::")[2]
    return name if name.startswith("CopyB") else name.partition("Backward")[0]


def rule_text(node: Any, position: int, name: str, input_shape: tuple[Any, ...]) -> str:
    """What the input at a position gets, as a formula."""
    base = base_name(node)
    text = _from_tables(node, base, name)
    if text is None:
        return _described(node, position)
    if base in _BROADCASTING and tuple(input_shape) != tuple(node.shape):
        text += ", summed over broadcast axes"
    return text


def is_square(node: Any) -> bool:
    """Whether a product is recorded as that of a tensor with itself."""
    return node.op is multiply_itself


def _from_tables(node: Any, base: str, name: str) -> str | None:
    if node.op is None:
        return None
    if is_square(node):
        return "2 · g · a"
    several = SEVERAL.get(base)
    if several is not None:
        found = several.get(name, several.get("*"))
        if found is not None:
            return _with_parameters(node, base, name, found)
    if len(node.op.inputs) <= 1 or name == node.op.inputs[0]:
        found = UNARY.get(base)
        return None if found is None else _with_parameters(node, base, name, found)
    return None


_SUPERSCRIPT = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·")


def _with_parameters(node: Any, base: str, name: str, text: str) -> str:
    """Numbers in place of letters where they say more: n of a power, alpha of an addition."""
    params = node.params or {}
    if base in ("NllLoss", "NllLoss2D") and node.plan.joint is not None:  # softmax and loss in one
        text = "g · (softmax(x) − target) / n"
    if params.get("reduction", "mean") != "mean":
        text = text.replace(" / n", "")
    if base == "Pow" and name == "x":
        exponent = params.get("exponent", 2 if len(node.plan.saves) == 1 and "exponent" not in params else None)
        if isinstance(exponent, (int, float)):
            lower = exponent - 1
            power = "" if lower == 1 else f"{lower:g}".translate(_SUPERSCRIPT)
            return f"{exponent:g} · g · x{power}"
    if base in ("Add", "Sub") and name == "b" and params.get("alpha", 1) != 1:
        sign = "−" if base == "Sub" else ""
        return f"{sign}{params['alpha']} · g"
    if base == "Softplus" and params.get("beta", 1) == 1:
        return "g · σ(x)"
    if base == "LeakyRelu" and "slope" in params:
        return f"g where x > 0, else {params['slope']:g} · g"
    return text


def _described(node: Any, position: int) -> str:
    """What can be said of a rule that is not in the tables."""
    if node.op is None:
        return f"backward of {node.name().removesuffix('Backward')}, a custom function"
    rule = node.plan.joint.rule if node.plan.joint is not None else None
    for call in node.plan.calls:
        if call.position == position:
            rule = call.rule
    wants = [
        name
        for name in (_rule_names(rule) if rule is not None else ())
        if name not in ("needs",) and not name.endswith("_shape")
    ]
    how = "transpose of the operation, applied to g" if node.op.kind in ("linear", "real_linear") else "linear in g"
    if node.op.kind in ("elementwise", "elementwise_pull"):
        how = "g times the derivative"
    return f"{how}; uses {', '.join(wants)}" if wants else how
