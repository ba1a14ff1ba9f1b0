"""Writes the programs that are not one graph: transforms of functions, passes that repeat, modules with optimizers."""

from __future__ import annotations

import random
from collections.abc import Callable

from . import expressions as tables
from .graphs import put, run_random_graph
from .running import Difference, Pair


def transform(draw: random.Random) -> list[str]:
    """A smooth function, and transforms of it."""
    shape = draw.choice([(3,), (2, 3), (3, 3), (2, 2, 3), (1, 2), ()])
    layout = draw.choice(["rows", "rows", "columns", "gaps"])
    dtype = draw.choice(["float64", "float64", "float64", "float32"])
    body = draw.choice(tables.SMOOTH)
    if draw.random() < 0.5:
        body = put(draw.choice(tables.SMOOTH), a=f"({body})")
    lines = [
        f"x1 = leaf({draw.randrange(10**6)}, {shape}, {dtype!r}, layout={layout!r}, requires_grad={draw.random() < 0.4})"
    ]
    lines.append(f"F = lambda a: {body}")
    for i in range(draw.randint(1, 3)):
        call = put(draw.choice(tables.TRANSFORMS), x="x1")
        if draw.random() < 0.3:  # what a transform gives can be differentiated again
            call = f"T.func.grad(lambda a: {call.replace('(x1', '(a')}.sum())(x1)" if call.endswith("(x1)") else call
        lines.append(f"y{i + 1} = {call}")
    if "requires_grad=True" in lines[0] and "linearize" not in lines[2]:  # torch's keeps no history of the place
        lines.append("g1 = T.autograd.grad(y1.sum(), x1, allow_unused=True) if y1.requires_grad else None")
    return lines


STEPS = tables.table("""
h.sin()*w1  h+w1.tanh()  h*w1  T.tanh(h)  h.clone().mul_(2)  h@h.mT@h*0.1  T.where(h > 0, h, w1)  h.softmax(-1)  h.cumsum(0)  h[..., :2].repeat(1, 2)[..., :3]
h.transpose(0, 1).contiguous().transpose(0, 1)  h-h.mean(-1, keepdim=True)  h/(1+w1.abs())  T.nn.functional.gelu(h)  h.detach()*w1+h
T.nn.functional.layer_norm(h, (3,))  h.exp().clamp(max=3)  Sine.apply(h)  T.cat([h[:1], h[1:]*2])  h.sum(0)+h  h.relu()+0.1*w1  h*2-1  (h*h+1).log()
""")

VARIANTS = tables.table("""
w1.data.mul_(1.5)  w1 = leaf(5, (3,), layout='gaps', requires_grad=True)  x1 = leaf(6, (5, 3), requires_grad=True)  w1.grad = None
w1 = leaf(7, (3, 3), requires_grad=True)  x1 = leaf(8, (3, 3), requires_grad=False)  w1.register_hook(lambda g: g*3)  x1 = leaf(9, (3, 3), 'float32')
x1 = leaf(10, (3, 3), layout='columns', requires_grad=True)  w1.grad = T.ones_like(w1)  w1 = x1  x1 = leaf(11, (0, 3), requires_grad=True)
w1 = leaf(12, (3,), requires_grad=True)*1.5  w1 = leaf(13, (), requires_grad=True)  x1 = leaf(14, (3, 3), kind='ties', requires_grad=True)
w1 = T.nn.Parameter(leaf(15, (3,)))  w1.requires_grad_(False)  w1.register_post_accumulate_grad_hook(double_gradient)
""")


def repeated(draw: random.Random) -> list[str]:
    """One body so often that its pass is written out, then with variants that the written pass must notice."""
    steps = [put(draw.choice(STEPS), h="h", w1="w1") for _ in range(draw.randint(1, 5))]
    body = "".join(f"    h = {step}\n" for step in steps)
    if draw.random() < 0.2:
        body = "    for _ in range(8):\n" + body.replace("    h", "        h") + "        h = h.tanh()\n"
    end = draw.choice(["h.sum()", "h.mean()", "(h*h).sum()", "h.norm()", "h.logsumexp(-1).sum()"])
    if draw.random() < 0.5:
        calls = ["f(x1, w1).backward()"]
    else:
        calls = ["g1 = T.autograd.grad(f(x1, w1), [x1, w1], allow_unused=True)"]
    lines = [
        f"x1 = leaf({draw.randrange(10**6)}, (3, 3), requires_grad=True)",
        f"w1 = leaf({draw.randrange(10**6)}, (3,), requires_grad=True)",
        f"def f(h, w1):\n{body}    return {end}",
        f"for _ in range({80 if 'range' in body else 300}):\n    {calls[0].replace('g1 = ', '')}",
        "x1.grad = w1.grad = None",
        *calls,
    ]
    for _ in range(draw.randint(1, 4)):
        lines += [draw.choice(VARIANTS), *calls]
        if draw.random() < 0.3:
            lines.append("g2 = T.autograd.grad(f(x1, w1), [w1], create_graph=True, allow_unused=True)")
    return lines


LAYERS = tables.table("""
Linear(6, 6)  Linear(6, 6, bias=False)  ReLU()  Tanh()  GELU()  Dropout(0.3)  LayerNorm(6)  BatchNorm1d(6)  SiLU()  Softplus()  PReLU()  ELU()
RMSNorm(6)  Hardswish()  LeakyReLU(0.1)  Sequential(T.nn.Linear(6, 3), T.nn.ReLU(), T.nn.Linear(3, 6))  Identity()  LogSoftmax(-1)
Flatten()  Sigmoid()  utils.parametrizations.weight_norm(T.nn.Linear(6, 6))  Softmax(-1)  AlphaDropout(0.2)  CELU()
""")

IMAGE_LAYERS = tables.table("""
Conv2d(2, 2, 3, padding=1)  Conv2d(2, 2, 1)  BatchNorm2d(2)  GroupNorm(1, 2)  MaxPool2d(3, 1, 1)  AvgPool2d(3, 1, 1)  ReLU()  Dropout2d(0.3)
InstanceNorm2d(2)  ConvTranspose2d(2, 2, 3, padding=1)  Conv2d(2, 2, 3, padding=1, groups=2)  AdaptiveAvgPool2d(4)  Upsample(scale_factor=1)
Conv2d(2, 2, 3, padding=2, dilation=2)  PReLU(2)  GELU()  ChannelShuffle(2)  ReflectionPad2d(0)
""")

OPTIMIZERS = tables.table("""
SGD(p, lr=0.1)  SGD(p, lr=0.1, momentum=0.9)  SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)  Adam(p, lr=0.01)  AdamW(p, lr=0.01)
Adam(p, lr=0.01, amsgrad=True)  RMSprop(p, lr=0.01)  RMSprop(p, lr=0.01, centered=True, momentum=0.5)  Adagrad(p, lr=0.1)  Adadelta(p)
Adamax(p, lr=0.01)  NAdam(p, lr=0.01)  RAdam(p, lr=0.01)  ASGD(p, lr=0.01)  Rprop(p, lr=0.01)  Adam(p, lr=0.01, weight_decay=0.1, maximize=True)
""")

LOSSES = tables.table("""
(out**2).mean()  T.nn.functional.cross_entropy(out.flatten(1), T.tensor([0, 1, 1, 0]))  T.nn.functional.smooth_l1_loss(out, T.zeros_like(out))
T.nn.functional.mse_loss(out, T.ones_like(out))  out.logsumexp(-1).sum()  T.nn.functional.huber_loss(out, T.ones_like(out))  out.abs().sum()
""")


def training(draw: random.Random) -> list[str]:
    """A network of random layers, and some steps of an optimizer."""
    images = draw.random() < 0.35
    pool = IMAGE_LAYERS if images else LAYERS
    layers = [pool[0], *draw.choices(pool, k=draw.randint(1, 5))]
    model = ", ".join(f"T.nn.{layer}" for layer in layers)
    shape = (4, 2, 4, 4) if images else (4, 6)
    # What `weight_norm` begins with was rounded to float32.
    precision = "" if "weight_norm" in model else draw.choice([".double()", ".double()", ""])
    dtype = "float64" if precision else "float32"
    forward = draw.choice(["m1(x1)", "m1(x1)", "T.utils.checkpoint.checkpoint(m1, x1, use_reentrant=False)"])
    layout = draw.choice(["rows", "rows", "columns", "swapped"])
    step = [
        f"for _ in range({draw.randint(1, 4)}):", "    o1.zero_grad()", f"    out = {forward}", f"    s1 = {draw.choice(LOSSES)}",
        "    s1.backward()",
    ]  # fmt: skip
    if draw.random() < 0.3:
        step.append("    n1 = T.nn.utils.clip_grad_norm_(m1.parameters(), 0.5)")
    lines = [
        f"m1 = T.nn.Sequential({model}){precision}",
        f"x1 = leaf({draw.randrange(10**6)}, {shape}, {dtype!r}, layout={layout!r}, requires_grad={draw.random() < 0.3})",
        "o1 = T.optim." + draw.choice(OPTIMIZERS).replace("(p", "(m1.parameters()"),
        "\n".join([*step, "    o1.step()"]),
        "m1.eval()",
        "y1 = m1(x1)",
    ]
    if draw.random() < 0.3:
        lines += [
            "d1 = m1.state_dict()",
            f"T.nn.init.{draw.choice(['normal_', 'uniform_', 'zeros_'])}(m1[0].weight)",
            "y2 = m1(x1)",
        ]
    return lines


KINDS: dict[Callable[[random.Random], list[str]], int] = {transform: 20, repeated: 4, training: 10}
GRAPHS = 66


def run_random_program(seed: int, pair: Pair) -> Difference | None:
    """Run the program of this seed, of whichever kind, until it differs."""
    draw = random.Random(f"{seed} kind")
    kind = draw.choices([None, *KINDS], [GRAPHS, *KINDS.values()])[0]
    if kind is None:
        return run_random_graph(seed, pair)
    return pair.replay(kind(draw))
