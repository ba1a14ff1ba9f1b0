"""Graphs that programs write by hand: with proxies made before anything has been traced, and modules of their own graph."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pullback

torch = pytest.importorskip("torch")

CALLS = (
    """
t.broadcast_tensors(p, p)|t.atleast_1d(p)|t.meshgrid(p, p, indexing="ij")|t.einsum("i,i->", p, p)|t.cat([p, p])|t.stack((p, p))
t.where(p, p, p)|t.block_diag(p, p)|t.cartesian_prod(p, p)|t.tensordot(p, p)|t.cdist(p, p)|t.norm(p)|t.split(p, 2)|t.chunk(p, 2)
t.unique(p)|t.stft(p, 4)|t.hstack([p])|t.vstack([p])|t.sum(p)|t.max(p, 0)|t.sort(p)|t.topk(p, 2)|t.gather(p, 0, p)
t.reshape(p, (2, 3))|t.permute(p, (1, 0))|t.transpose(p, 0, 1)|t.flip(p, (0,))|t.roll(p, 1)|t.rot90(p)|t.movedim(p, 0, 1)
t.searchsorted(p, p)|t.bucketize(p, p)|t.histc(p)|t.bernoulli(p)|t.multinomial(p, 1)|t.randn_like(p)|t.zeros_like(p)
t.full_like(p, 1)|t.matmul(p, p)|t.bmm(p, p)|t.addmm(p, p, p)|t.add(p, p)|t.add(1, p)|t.mul(2.0, p)|t.pow(2, p)|t.clamp(p, 0)
t.nn.functional.linear(p, p)|t.nn.functional.conv2d(p, p)|t.nn.functional.relu(p)|t.nn.functional.softmax(p, 0)
t.nn.functional.cross_entropy(p, p)|t.nn.functional.layer_norm(p, (3,))|t.nn.functional.max_pool2d(p, 2)
t.nn.functional.interpolate(p, 2)|t.nn.functional.pad(p, (1, 1))|t.nn.functional.embedding(p, p)|t.nn.functional.one_hot(p)
t.nn.functional.scaled_dot_product_attention(p, p, p)|t.nn.functional.normalize(p)|t.nn.functional.mse_loss(p, p)
t.linalg.inv(p)|t.linalg.norm(p)|t.linalg.svd(p)|t.linalg.solve(p, p)|t.special.erf(p)|t.fft.rfft(p)
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

# Each call is the first that sees a proxy: in a process of its own. Printed are those that no node was written for.
FIRST = f"""
import os
import pullback as t
graph = t.fx.Graph()
p = t.fx.Proxy(graph.placeholder("x"), t.fx.proxy.GraphAppendingTracer(graph))
for call in {CALLS}:
    child = os.fork()
    if not child:
        try:
            os._exit(type(eval(call)) is not t.fx.Proxy)
        except BaseException:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        print(call)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process for each call is made by os.fork")
def test_the_first_function_that_sees_a_proxy_is_recorded():
    graph = torch.fx.Graph()
    proxy = torch.fx.Proxy(graph.placeholder("x"), torch.fx.proxy.GraphAppendingTracer(graph))
    for call in CALLS:
        assert type(eval(call, {"t": torch, "p": proxy})) is torch.fx.Proxy, call
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


def programs(lib):
    nn, fx = lib.nn, lib.fx

    class Filled(fx.GraphModule):
        """Its own root, of an empty graph that it fills."""

        def __init__(self):
            super().__init__(self, fx.Graph())
            self.layer = nn.Linear(2, 3)
            self.graph.output(self.graph.call_module("layer", (self.graph.placeholder("x"),)))
            self.recompile()

    class Begun(fx.GraphModule):
        """Begins as a module, then is its own root: everything begins anew, and is missed."""

        def __init__(self):
            nn.Module.__init__(self)
            self.layer = nn.Linear(2, 3)
            graph = fx.Graph()
            graph.output(graph.call_module("layer", (graph.placeholder("x"),)))
            super().__init__(self, graph)

    filled = Filled()
    traced = fx.symbolic_trace(nn.Linear(2, 2).eval())
    traced.meta["note"] = 1
    again = fx.GraphModule(traced, traced.graph)
    yield filled(lib.ones(1, 2)).shape, filled.meta, [name for name, _ in filled.named_parameters()], filled.training
    yield again.meta, again.training
    try:
        yield Begun()(lib.ones(1, 2)).shape
    except AttributeError as error:
        yield str(error)


def test_modules_of_their_own_graph():
    assert [str(one) for one in programs(pullback)] == [str(one) for one in programs(torch)]
