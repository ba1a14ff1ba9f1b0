"""`torch.fx`: programs as graphs that can be looked at, changed, and written back as Python.

`symbolic_trace` runs a module or function on proxies and keeps what it does: a `GraphModule`, which can be called,
differentiated, trained and saved like any other module. Not here: `torch.fx.experimental`, and passes other than
`passes.shape_prop`.
"""

from . import passes as passes
from . import subgraph_rewriter as subgraph_rewriter
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer",
    "Transformer", "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip
