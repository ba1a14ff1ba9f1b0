"""Small programs about graphs, each a function of the library that returns what it saw, as text. torch says the same."""

import copy
import io
import operator
import pickle
from contextlib import redirect_stdout
from importlib import import_module

SNIPPETS = []


def snippet(function):
    SNIPPETS.append(function)
    return function


def attempt(action):
    """What an action returns, or the error it raises."""
    try:
        return str(action())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def affine(torch):
    """A small graph, and its nodes: relu(x + w) summed."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    w = graph.get_attr("w")
    total = graph.call_function(operator.add, (x, w))
    relu = graph.call_function(torch.relu, (total,))
    result = graph.call_method("sum", (relu,), {"dim": 0})
    graph.output(result)
    return graph


def mlp(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 4)
            self.act = torch.nn.ReLU()
            self.last = torch.nn.Linear(4, 2)

        def forward(self, x):
            return self.last(self.act(self.first(x)) + 1).tanh()

    torch.manual_seed(0)
    return Net()


@snippet
def nodes(torch):
    graph = affine(torch)
    seen = []
    for n in graph.nodes:
        seen.append(
            (
                n.name,
                n.op,
                n.args,
                n.kwargs,
                list(n.users),
                n.all_input_nodes,
                n.next.name,
                n.prev.name,
                n.format_node(),
            )
        )
    return seen, len(graph.nodes), list(reversed(graph.nodes)), graph.output_node()


@snippet
def names_of_functions(torch):
    def program(a, b):
        return torch.cat([a, b]) + torch.concat([a, b]).clamp(0).abs() + torch.clamp(torch.abs(a).sum(), 0, 1)

    return [getattr(node.target, "__name__", node.target) for node in torch.fx.symbolic_trace(program).graph.nodes][:3]


@snippet
def module_of_a_graph(torch):
    gm = torch.fx.GraphModule({"w": torch.ones(2)}, affine(torch), "Affine")
    return str(gm), gm.code, gm.state_dict(), gm(torch.zeros(3, 2)), gm.graph.owning_module is gm, type(gm).__name__


@snippet
def insertion(torch):
    graph = affine(torch)
    relu = next(iter(graph.find_nodes(op="call_function", target=torch.relu)))
    with graph.inserting_after(relu):
        one = graph.call_function(torch.neg, (relu,))
        two = graph.call_function(torch.exp, (one,))
    with graph.inserting_before(relu):
        zero = graph.call_method("abs", (relu.args[0],))
    relu.replace_all_uses_with(two, lambda user: user is not one)
    relu.args = (zero,)
    with graph.inserting_before():
        graph.placeholder("first")
    return str(graph), attempt(graph.lint)[:100]


@snippet
def erasing(torch):
    graph = affine(torch)
    relu = graph.find_nodes(op="call_function", target=torch.relu)[0]
    refused = attempt(lambda: graph.erase_node(relu))
    changed = relu.replace_all_uses_with(relu.args[0])
    graph.erase_node(relu)
    return refused, changed, str(graph), len(graph.nodes)


@snippet
def dead_code(torch):
    graph = affine(torch)
    with graph.inserting_before(graph.output_node()):
        x = next(iter(graph.nodes))
        dead = graph.call_function(torch.exp, (x,))
        graph.call_function(torch.neg, (dead,))
        graph.call_function(torch.relu_, (x,))
        graph.call_method("add_", (x, 1))
        graph.call_function(torch._assert, (x, "text"))
        graph.call_function(torch.rand, (3,))
    return graph.eliminate_dead_code(), str(graph), graph.eliminate_dead_code()


@snippet
def arguments(torch):
    graph = affine(torch)
    x, w, total, relu, result, _ = graph.nodes
    total.update_arg(1, x)
    total.insert_arg(2, w)
    result.update_kwarg("keepdim", True)
    relu.args = ([x, {"k": w}, slice(total, None)],)
    return (
        str(graph), x.users, w.users, type(relu.args[0]).__name__, type(relu.args[0][1]).__name__,
        attempt(lambda: relu.args[0].append(1)), attempt(lambda: relu.kwargs.update(a=1)),
    )  # fmt: skip


@snippet
def order(torch):
    graph = affine(torch)
    x, w, total, relu, *_ = graph.nodes
    x.prepend(w)
    relu.append(total)
    return str(graph), attempt(graph.lint)[:120], attempt(lambda: x.prepend(torch.fx.Graph().placeholder("y")))


@snippet
def names(torch):
    graph = torch.fx.Graph()

    def named(name):
        return graph.create_node("placeholder", "p", name=name).name

    wanted = [
        "x",
        "x",
        "x_1",
        "x_1",
        "x_7",
        "x_7",
        "x",
        "class",
        "a b",
        "1x",
        "torch",
        "inf",
        "max",
        "Camel",
        "self",
        "print",
    ]
    made = [named(each) for each in wanted]
    made.append(graph.call_module("Block.SubBlock2.HTTPLayer").name)
    made.append(graph.call_method("__add__").name)
    made += [
        graph.call_function(f).name
        for f in (torch.nn.functional.gelu, torch.linalg.norm, len, operator.and_, torch.split)
    ]
    return made


@snippet
def lint(torch):
    graph = affine(torch)
    stranger = torch.fx.Graph().placeholder("y")
    relu = graph.find_nodes(op="call_function", target=torch.relu)[0]
    relu.args = (stranger,)
    foreign = attempt(graph.lint)
    gm = torch.fx.GraphModule({"w": torch.ones(2)}, affine(torch))
    with gm.graph.inserting_before(gm.graph.output_node()):
        gm.graph.create_node("call_module", "missing")
    return foreign, attempt(gm.graph.lint)


@snippet
def wrong_nodes(torch):
    graph = torch.fx.Graph()
    return (
        attempt(lambda: graph.create_node("call", "x")),
        attempt(lambda: graph.call_function("x"))[:60],
        attempt(lambda: torch.fx.GraphModule(3, graph)),
        attempt(lambda: torch.fx.GraphModule({}, affine(torch))),
        attempt(lambda: torch.fx.wrap(3)),
        attempt(lambda: torch.fx.wrap("f")),
        attempt(lambda: torch.fx.symbolic_trace(3)),
    )


@snippet
def copies_of_graphs(torch):
    graph = affine(torch)
    other = torch.fx.Graph()
    x = other.placeholder("start")
    known = {next(iter(graph.nodes)): x}
    result = other.graph_copy(graph, known)
    other.output((result, other.node_copy(result, lambda n: n)))
    return str(other), str(copy.deepcopy(graph)) == str(graph), torch.fx.node.map_arg((x, [x, 3]), lambda n: n.name)


@snippet
def copies_of_modules(torch):
    gm = torch.fx.symbolic_trace(mlp(torch))
    twins = [
        copy.copy(gm),
        copy.deepcopy(gm),
        pickle.loads(pickle.dumps(torch.fx.symbolic_trace(torch.nn.Linear(2, 2)))),
    ]
    x = torch.ones(1, 3)
    twins[1].first.weight.data.zero_()
    return (
        twins[0].code == gm.code, twins[1].code == gm.code, twins[2].code, type(twins[1]).__name__,
        bool((twins[0](x) == gm(x)).all()), bool((twins[1](x) == gm(x)).all()), gm.first.weight.abs().sum() > 0,
        list(twins[1].state_dict()), twins[1].graph is gm.graph, twins[1].first is gm.first, twins[0].first is gm.first,
    )  # fmt: skip


@snippet
def readable(torch):
    graph = torch.fx.Graph()
    graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
    outer = torch.fx.GraphModule({"inner": torch.fx.symbolic_trace(mlp(torch))}, graph)
    stream = io.StringIO()
    with redirect_stdout(stream):
        returned = outer.print_readable()
    return returned, stream.getvalue()


@snippet
def recompiling(torch):
    gm = torch.fx.symbolic_trace(mlp(torch))
    before = gm.code
    for node in gm.graph.nodes:
        if node.op == "call_method":
            node.target = "sigmoid"
    unchanged = gm.code == before
    source = gm.recompile().src
    return unchanged, source == gm.code, gm.code, gm(torch.ones(1, 3))


@snippet
def submodules(torch):
    gm = torch.fx.symbolic_trace(mlp(torch))
    added = (
        gm.add_submodule("extra.deep.layer", torch.nn.Linear(1, 1)),
        gm.add_submodule("first.weight.x", torch.nn.ReLU()),
    )
    listed = [name for name, _ in gm.named_modules()]
    gm.delete_all_unused_submodules()
    return (
        added,
        listed,
        [name for name, _ in gm.named_modules()],
        gm.delete_submodule("act"),
        gm.delete_submodule("nothing"),
    )


@snippet
def in_place_code(torch):
    graph = torch.fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    graph.call_function(operator.imul, (a, b))
    graph.output(graph.call_function(operator.iadd, (a, 1)))
    gm = torch.fx.GraphModule({}, graph)
    return gm.code, gm(2, 3)


@snippet
def trace_errors(torch):
    programs = {
        "if": lambda x: 1 if x else 2,
        "comparison": lambda x: 1 if x.sum() > 0 else 2,
        "for": lambda x: [part for part in x],
        "star": lambda x: torch.cat(*x),
        "len": lambda x: len(x),
        "in": lambda x: 1 in x,
        "range": lambda x: range(x.shape[0]),
        "int": lambda x: int(x),
        "object": lambda x: (x, object()),
        "key": lambda x: {x: 1},
    }
    return {name: attempt(lambda: torch.fx.symbolic_trace(program).code) for name, program in programs.items()}  # noqa: B023


@snippet
def unpacking(torch):
    def program(x):
        a, b = x.split(2)
        (c, d), e = a
        return a + b, c, d, e

    return torch.fx.symbolic_trace(program).code


@snippet
def proxies(torch):
    graph = affine(torch)
    relu = graph.find_nodes(op="call_function", target=torch.relu)[0]
    with graph.inserting_after(relu):
        proxy = torch.fx.Proxy(relu)
        new = torch.nn.functional.softmax(torch.reshape(proxy, (-1,)) * 2 + 1, dim=0).view(proxy.shape)
    relu.replace_all_uses_with(new.node, lambda user: user.name == "sum_1")
    return str(graph), repr(proxy), repr(new)


@snippet
def tracers(torch):
    class Leaves(torch.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return module_qualified_name == "body"

        def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
            node = super().create_node(kind, target, args, kwargs, name, type_expr)
            node.tag = kind.upper()
            return node

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = mlp(torch)
            self.head = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.head(self.body(x))

    tracer = Leaves()
    graph = tracer.trace(Outer())
    lines = [(node.name, node.tag) for node in graph.nodes]
    return (
        str(graph),
        lines,
        tracer.path_of_module(tracer.root.body.first),
        attempt(lambda: tracer.path_of_module(torch.nn.ReLU())),
    )


@snippet
def loops_of_their_own(torch):
    """Packages write `trace` anew, with the parts that torch's is made of."""
    inner = torch.fx._symbolic_trace

    class Own(torch.fx.Tracer):
        def trace(self, root, concrete_args=None):
            self.root, self.graph, self.tensor_attrs, cache = root, torch.fx.Graph(tracer_cls=Own), {}, {}
            self.submodule_paths = {module: name for name, module in root.named_modules()}
            function, args = self.create_args_for_root(type(root).forward, True, concrete_args)

            def look_up(module, name):
                return self.getattr(name, inner._orig_module_getattr(module, name), cache)

            def call(module, *args, **kwargs):
                return self.call_module(module, lambda *a, **k: inner._orig_module_call(module, *a, **k), args, kwargs)

            with inner._Patcher() as patcher:
                patcher.patch_method(torch.nn.Module, "__getattr__", look_up, deduplicate=False)
                patcher.patch_method(torch.nn.Module, "__call__", call, deduplicate=False)
                inner._patch_wrapped_functions(patcher)
                inner._autowrap_check(patcher, globals(), self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(function(*args)),), {})
            return self.graph

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self.scale = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return torch.nn.functional.relu(self.layer(x) * self.scale) + self.scale.sum()

    net = Net()
    return str(Own().trace(net)), net(torch.zeros(1, 2)).shape


@snippet
def module_stacks(torch):
    graph = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()))).graph
    return [
        {k: (path, kind.__name__) for k, (path, kind) in n.meta.get("nn_module_stack", {}).items()} for n in graph.nodes
    ]


@snippet
def known_shapes(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3, 4))

        def forward(self, x):
            w = self.weight
            return x @ w if w.shape[0] == 3 and w.dim() == 2 and w.numel() == 12 else x

    class Older(torch.fx.Tracer):
        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, *rest):
            return super().create_proxy(kind, target, args, kwargs, name, type_expr)

    tracer = torch.fx.Tracer(param_shapes_constant=True)
    older = attempt(lambda: Older(param_shapes_constant=True).trace(Net()))
    return str(tracer.trace(Net())), older, attempt(lambda: torch.fx.symbolic_trace(Net()))


@snippet
def concrete_arguments(torch):
    def program(x, flag=False, missing=None, *, scale=3):
        return x * scale if flag and missing is None else x

    gm = torch.fx.symbolic_trace(program, concrete_args={"flag": True, "missing": None})
    return gm.code, gm(torch.ones(2), True), attempt(lambda: gm(torch.ones(2), False))


@snippet
def nested_arguments(torch):
    def program(table, z):
        return {"sum": table["a"] + table["b"][0] * z, "list": [z]}

    hole = torch.fx.PH
    gm = torch.fx.symbolic_trace(program, concrete_args={"table": {"a": hole, "b": [hole, 3]}})
    again = torch.fx.symbolic_trace(gm)
    example = {"a": torch.ones(2), "b": [torch.ones(2), 3]}, torch.ones(2)
    return gm.code, gm(*example), again.code, again(*example), torch.fx.Interpreter(gm).run(*example)


@snippet
def interpreters(torch):
    class Doubling(torch.fx.Interpreter):
        def call_method(self, target, args, kwargs):
            return super().call_method(target, args, kwargs) * 2

    gm = torch.fx.symbolic_trace(mlp(torch))
    x = torch.ones(1, 3)
    kept = torch.fx.Interpreter(gm, garbage_collect_values=False)
    kept.run(x)
    add = gm.graph.find_nodes(op="call_function", target=operator.add)[0]
    partial = torch.fx.Interpreter(gm).run(x, initial_env={add: torch.zeros(1, 4)})
    return (
        Doubling(gm).run(x), torch.fx.Interpreter(gm).boxed_run([x]), [n.name for n in kept.env], partial,
        attempt(lambda: torch.fx.Interpreter(gm).run()).split("\n")[0],
    )  # fmt: skip


@snippet
def transformers(torch):
    class Swap(torch.fx.Transformer):
        def call_method(self, target, args, kwargs):
            return torch.nn.functional.relu(args[0]) if target == "tanh" else super().call_method(target, args, kwargs)

        def call_function(self, target, args, kwargs):
            return args[0] * 3 if target is operator.add else super().call_function(target, args, kwargs)

    gm = torch.fx.symbolic_trace(mlp(torch))
    swapped = Swap(gm).transform()
    return (
        torch.fx.Transformer(gm).transform().code,
        swapped.code,
        swapped(torch.ones(1, 3)),
        list(swapped.state_dict()),
    )


@snippet
def patterns(torch):
    def program(x, w1, w2):
        a = torch.stack([torch.sigmoid(x), w1]).sum()
        b = torch.stack([torch.sigmoid(w2), w1]).sum()
        return a + b + torch.max(x)

    def pattern(p, q):
        return torch.stack([torch.sigmoid(p), q])

    def replacement(p, q):
        return torch.stack([q, p.tanh()])

    gm = torch.fx.symbolic_trace(program)
    found = torch.fx.replace_pattern(gm, pattern, replacement)
    nothing = torch.fx.replace_pattern(gm, pattern, replacement)
    keys = [sorted((k.name, v.name) for k, v in match.nodes_map.items() if k.op != "output") for match in found]
    return gm.code, [match.anchor.name for match in found], keys, nothing, gm(*[torch.ones(2)] * 3)


@snippet
def patterns_inside(torch):
    def program(x):
        return (torch.relu(x) + 1) + (torch.relu(x + 1) + 1) * 2

    def pattern(x):
        return torch.relu(x) + 1

    gm = torch.fx.symbolic_trace(program)
    found = torch.fx.replace_pattern(gm, pattern, lambda x: x.exp() - 1)

    def used_elsewhere(x):
        y = torch.relu(x)
        return (y + 1) * y

    other = torch.fx.symbolic_trace(used_elsewhere)
    return len(found), gm.code, len(torch.fx.replace_pattern(other, pattern, lambda x: x)), other.code


@snippet
def patterns_with_two_results(torch):
    def program(x, y):
        a, b = torch.exp(x), torch.neg(x)
        c, d = torch.exp(y), torch.neg(y)
        return a + b, c * d

    gm = torch.fx.symbolic_trace(program)
    found = torch.fx.replace_pattern(gm, lambda v: (torch.exp(v), torch.neg(v)), lambda v: (v.sin(), v.cos()))
    return len(found), gm.code


@snippet
def patterns_of_modules(torch):
    class Replacement(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 4)
            self.soft = torch.nn.Softplus()

        def forward(self, x):
            return self.soft(self.first(x))

    class Pattern(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 4)
            self.act = torch.nn.ReLU()

        def forward(self, x):
            return self.act(self.first(x))

    gm = torch.fx.symbolic_trace(mlp(torch))
    weight = gm.first.weight
    found = torch.fx.replace_pattern(gm, Pattern(), Replacement())
    return len(found), gm.code, [name for name, _ in gm.named_modules()], gm.first.weight is weight


@snippet
def shapes(torch):
    gm = torch.fx.symbolic_trace(mlp(torch))
    out = import_module(f"{torch.__name__}.fx.passes.shape_prop").ShapeProp(gm).propagate(torch.ones(5, 3))
    seen = [(n.name, n.meta["type"].__name__, n.meta["tensor_meta"]) for n in gm.graph.nodes]
    return seen, out.shape


@snippet
def own_code_generators(torch):
    class Lists(torch.fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, values){maybe_return_annotation}:\n    {', '.join(free_vars)} = values"

        def process_inputs(self, *inputs):
            return inputs[0]

    gm = torch.fx.symbolic_trace(lambda x, y: x + y)
    gm.graph.set_codegen(Lists())
    gm.recompile()
    return gm.code, gm([torch.ones(1), torch.ones(1)]), torch.fx.Interpreter(gm).run([torch.ones(1), torch.ones(1)])


@snippet
def changed_bodies(torch):
    gm = torch.fx.symbolic_trace(lambda x: x + 1)
    with gm.graph.on_generate_code(lambda before: lambda body: ["number = 3\n", *body]):
        inside = gm.recompile().src
    return inside, gm.recompile().src


@snippet
def tags_of_values(torch):
    collections = import_module(f"{torch.__name__}.fx.immutable_collections")
    immutable_list = collections.immutable_list
    kept = immutable_list([1, 2]), collections.immutable_dict(a=1)
    doubled = torch.utils._pytree.tree_map(lambda v: v * 2, kept)
    return (
        kept,
        doubled,
        type(doubled[0]).__name__,
        hash(kept[0]) == hash(immutable_list([1, 2])),
        pickle.loads(pickle.dumps(kept)) == kept,
    )
