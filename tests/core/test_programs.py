"""Small programs run on torch and on Pullback: what they print, warn and raise must be the same.

Each program leaves its answer in `out`. Errors are compared by type and by the beginning of torch's text.
"""

import re
import warnings

import pytest

import pullback

torch = pytest.importorskip("torch")

LEAF = "leaf = lambda *s, **k: torch.ones(*s, requires_grad=True, **k)\n"

PROGRAMS = {
    # --- accumulation ---
    "accumulates in place": "x = leaf(3); (x*2).sum().backward(); g = x.grad; (x*2).sum().backward(); out = (x.grad is g, g)",
    "preset grad": "x = leaf(2); x.grad = torch.ones(2); x.sum().backward(); out = x.grad",
    "retain twice": "x = leaf(2); y = (x*x).sum(); y.backward(retain_graph=True); y.backward(); out = x.grad",
    "second time": "x = leaf(2); y = (x*x).sum(); y.backward(); y.backward()",
    "nothing saved": "x = leaf(3); y = (x+1).sum(); y.backward(); y.backward(); out = x.grad",
    "several roots": "x = leaf(2); torch.autograd.backward([x.sum(), x*2], [None, torch.ones(2)]); out = x.grad",
    "root twice": "x = leaf(2); s = (x*2).sum(); torch.autograd.backward([s, s]); out = x.grad",
    "inputs": "a, b = leaf(1), leaf(1); (a*b).sum().backward(inputs=[a]); out = (a.grad, b.grad)",
    "inputs non-leaf": "a = leaf(1); h = a*2; (h*3).sum().backward(inputs=[h]); out = (h.grad, a.grad, h.retains_grad)",
    "grad of intermediate": "a = leaf(2); h = a*2; out = torch.autograd.grad((h*h).sum(), [h, a])",
    "grad dict": "a, b = leaf(1), leaf(1); out = torch.autograd.grad((a*b).sum(), {'p': a, 'q': b})",
    "same input twice": "a = leaf(2); out = torch.autograd.grad((a*a).sum(), [a, a])",
    "allow unused": "a, b = leaf(2), leaf(2); out = torch.autograd.grad(a.sum(), [a, b], allow_unused=True)",
    "materialize": "a, b = leaf(2), leaf(2); out = torch.autograd.grad(a.sum(), [a, b], materialize_grads=True)",
    "unused": "a, b = leaf(2), leaf(2); torch.autograd.grad(a.sum(), [a, b])",
    "grad outputs missing": "x = leaf(3); torch.autograd.grad([x.sum(), x*2], x)",
    "grad of leaf itself": "x = leaf(2); out = torch.autograd.grad(x, x, torch.ones(2))",
    "third derivative": "x = torch.tensor(2., requires_grad=True); g = x**5\nfor _ in range(3): g, = torch.autograd.grad(g, x, create_graph=True)\nout = g",
    "grad wrt weights": "x = torch.tensor([1., 2., 3.], requires_grad=True); v = torch.tensor([1., 10., 100.], requires_grad=True)\ng, = torch.autograd.grad(x**3, x, v, create_graph=True); g.sum().backward(); out = (x.grad, v.grad)",
    "create_graph under no_grad": "x = leaf(2)\ny = (x**3).sum()\nwith torch.no_grad(): g, = torch.autograd.grad(y, x, create_graph=True)\nout = g.requires_grad",
    "dtype of leaf": "a = leaf(2); b = leaf(2, dtype=torch.float64); (a*b).sum().backward(); out = (a.grad.dtype, b.grad.dtype)",
    "grad_dtype": "x = leaf(2); x.grad_dtype = torch.float64; (x*2).sum().backward(); out = x.grad.dtype",
    "layout": "p = torch.ones(2, 3).t().requires_grad_(); (p*2).sum().backward(); out = (p.stride(), p.grad.stride())",
    "zero times": "a, b = leaf(2), leaf(2); (a+0*b).sum().backward(); out = b.grad",
    "detach cuts": "a = leaf(2); (a.detach()*a).sum().backward(); out = a.grad",
    "broadcast": "a, b = leaf(3, 1), leaf(1, 4); (a*b).sum().backward(); out = (a.grad, b.grad)",
    "toggled off": "a = leaf(2); y = (a*2).sum(); a.requires_grad_(False); y.backward(); out = a.grad",
    # --- attributes ---
    "leaves": "x = leaf(1); out = [t.is_leaf for t in (torch.ones(1), torch.ones(1)*2, x, x*1, x.to(torch.float32), x.double())]",
    "grad warns": "x = leaf(1)*2; out = x.grad",
    "float warns": "out = float(leaf(()))",
    "requires_grad int": "torch.ones(2, dtype=torch.int64).requires_grad_()",
    "requires_grad non-leaf": "y = leaf(1)*2; y.requires_grad = False",
    "grad wrong shape": "x = leaf(3); x.grad = torch.ones(2)",
    "grad wrong dtype": "x = leaf(3); x.grad = torch.ones(3, dtype=torch.float64)",
    "numpy refuses": "leaf(3).numpy()",
    "versions": "x = torch.ones(3); v = [x._version]; x.add_(1); v.append(x._version); x[:1].mul_(2); v.append(x._version); d = x.detach(); d.add_(1); v += [x._version, d._version, x.data._version]; out = v",
    "deepcopy": "import copy\nx = leaf(2); x.sum().backward(); y = copy.deepcopy(x); out = (y, y.grad, y is x)",
    "deepcopy non-leaf": "import copy\ncopy.deepcopy(leaf(1)*2)",
    "pickle": "import pickle\nout = pickle.loads(pickle.dumps(leaf(1)*2)) if torch.__name__ == 'torch' else leaf(1)+1-1+1-1\nout = (out.detach()*2-0 if torch.__name__ != 'torch' else out.detach())*0",
    "names": "x = leaf(2, 2); out = [f.grad_fn.name() for f in (x+1, x-1, 1-x, x*2, x/2, 2/x, x**2, 2**x, x@x, x.sum(), x.sum(0), x.mean(), x[0], x[:, 0], x.T, x.view(4), x.T.reshape(4), x.clone(), -x, x.abs(), x.expand(3, 2, 2), x.unsqueeze(0), x.double(), x.exp(), x.sigmoid(), x[:1], x.permute(1, 0))]",
    "next functions": "x = leaf(2); f = (x*2).grad_fn; out = (len(f.next_functions), f.next_functions[1], f.next_functions[0][0].name(), f.next_functions[0][0].variable is x)",
    "edges": "x = leaf(2, 2); i = torch.tensor([0, 1]); m = x > 0; w = torch.zeros(2, 2); w.copy_(x); out = [[f.grad_fn.name(), *((n and n.name(), k) for n, k in f.grad_fn.next_functions)] for f in (x*x, x**2, 1-x, 1/x, x*2, x[m], x[i], x.gather(0, i[None]), x.scatter(0, i[None], x), x.index_select(0, i), x.index_add(0, i, x), x.index_fill(0, i, 2.), x.masked_fill(m, 1.), x.masked_select(m), x.where(m, x), x.where(m, 1.), x // x, w)]",
    "edges and node hooks": "log = []; x = leaf(2)*1; i = torch.tensor([1, 0])\nfor y in (x*x, x.index_select(0, i), x.masked_fill(x > 2, 0.), torch.where(x > 0, x, 1.)):\n    y.grad_fn.register_hook(lambda given, got: log.append((given, got))); y.sum().backward(retain_graph=True); log.append(y.grad_fn(torch.ones(2)))\nout = log",
    "node hook of where": "x = leaf(2); y = torch.where(x > 0, x, x*2); y.grad_fn.register_hook(lambda given, got: (given[0]*3, given[1]+1)); y.sum().backward(); out = x.grad",
    "node hook that returns a list": "y = leaf(2).sin(); y.grad_fn.register_hook(lambda given, got: [given[0]]); y.sum().backward()",
    "zeros like a list": "out = []\nfor f in (torch.zeros_like, torch.ones_like):\n    try: f([1.])\n    except TypeError as error: out.append(str(error)[:50])",
    "whole slices": "x = leaf(3, 4); out = [y.grad_fn.name() for y in (x[:], x[::1], x[0:5:1], x[:, :], x[0:3:1,], x[-3:,], x[...])]",
    "reprs": "x = leaf(2); out = [repr(t) for t in (x, x*2, (x*2).sum(), x.double(), torch.ones(0), torch.tensor(1), torch.tensor([True]))]",
    # --- hooks ---
    "tensor hook": "x = leaf(2); y = x*2; y.register_hook(lambda g: g*3); y.sum().backward(); out = x.grad",
    "hook sees total": "x = leaf(2); h = x*2; log = []; h.register_hook(lambda g: log.append(g.tolist())); (h*2+h).sum().backward(); out = log",
    "retain after hooks": "a = leaf(2); h = a*2; h.retain_grad(); h.register_hook(lambda g: g*10); h.sum().backward(); out = (h.grad, a.grad)",
    "leaf hooks": "a = leaf(2); log = []; a.register_hook(lambda g: log.append('hook')); a.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.tolist())); a.sum().backward(); out = log",
    "hook on captured": "a = leaf(2); a.register_hook(lambda g: g*2); out = torch.autograd.grad((a*3).sum(), a)",
    "post acc not in grad": "log = []; a = leaf(2); a.register_post_accumulate_grad_hook(lambda p: log.append(1)); torch.autograd.grad(a.sum(), a); out = log",
    "post acc frees": "a = leaf(2); a.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', None)); (a*2).sum().backward(); out = a.grad",
    "order": "log = []; a = leaf(2); h = a.exp(); h.grad_fn.register_prehook(lambda g: log.append('pre')); h.register_hook(lambda g: log.append('tensor')); h.grad_fn.register_hook(lambda a, b: log.append('post')); h.sum().backward(); out = log",
    "after in-place": "log = []; a = leaf(2); h = a*1; h.register_hook(lambda g: log.append(('old', g.tolist()))); h.mul_(5); h.register_hook(lambda g: log.append(('new', g.tolist()))); h.sum().backward(); out = log",
    "multi all": "log = []; a, b = leaf(2), leaf(2); torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: log.append([None if g is None else g.tolist() for g in gs])); (a*2+b*3).sum().backward(); (a*2).sum().backward(); out = log",
    "multi any": "log = []; a, b = leaf(2), leaf(2); torch.autograd.graph.register_multi_grad_hook((a, b), lambda g: log.append(g.tolist()), mode='any'); (a*2+b*3).sum().backward(); out = log",
    "hook wrong shape": "y = leaf(3)*2; y.register_hook(lambda g: torch.ones(2)); y.sum().backward()",
    "hook removed": "x = leaf(2); h = x.register_hook(lambda g: g*10); h.remove(); x.sum().backward(); out = x.grad",
    "node posthook": "x = leaf(2); y = x*3; y.grad_fn.register_hook(lambda gi, go: (gi[0]*2, None)); y.sum().backward(); out = x.grad",
    "saved hooks": "log = []\nwith torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append(tuple(t.shape)), t.detach())[1], lambda t: (log.append('unpack'), t)[1]):\n    a = leaf(2); y = (a*a).exp()\ny.sum().backward(); out = (log, a.grad)",
    "save_on_cpu": "a = leaf(2)\nwith torch.autograd.graph.save_on_cpu(): y = (a*a).sum()\ny.backward(); out = a.grad",
    "allow mutation": "with torch.autograd.graph.allow_mutation_on_saved_tensors():\n    a = leaf(2); b = a.clone(); o = (b**2).sum(); b.sin_(); o.backward()\nout = a.grad",
    "edge": "x = leaf(2); h = x*2; e = torch.autograd.graph.get_gradient_edge(h); out = (e.node.name(), e.output_nr, torch.autograd.grad((h*3).sum(), e))",
    # --- in place ---
    "leaf in place": "leaf(3).add_(1)",
    "view of leaf in place": "x = leaf(3); x[0] = 1",
    "version mismatch": "x = leaf(3); y = x*2; z = y*y; y.add_(1); z.sum().backward()",
    "saved output": "x = leaf(3); y = x.exp(); y.add_(1); y.sum().backward()",
    "not saved is fine": "x = leaf(2)*1; y = x*2; x.add_(1); y.sum().backward(); out = y",
    "mul_ keeps old self": "x = leaf(2); w = leaf(2); y = x*2; y.mul_(w); y.sum().backward(); out = (x.grad, w.grad)",
    "names of copies": "x = leaf(3, 3); out = [f.grad_fn.name() for f in (x.diag(), x.diag(1), x[0].roll(1), torch.linalg.solve(x + torch.eye(3), x[0]), torch.fft.fft(x), torch.fft.fft(x + 0j), torch.nn.functional.embedding_bag(torch.tensor([[0, 2], [1, 1]]), x), torch.nn.functional.embedding_bag(torch.tensor([[0, 2]]), x, mode='sum'))]",
    "a count of a graph": "x = leaf(2, 2); out = (int(x.sum()), '%d' % x.sum())",
    "base of written view": "a = leaf(4); b = a*1; c = b[:2]; c.mul_(3); b.sum().backward(); out = (a.grad, b.grad_fn.name(), c.grad_fn.name())",
    "view of written base": "a = leaf(4); b = a*1; c = b[:2]; b.mul_(3); c.sum().backward(); out = (a.grad, c.grad_fn.name())",
    "setitem of leaf": "base = torch.zeros(3); w = leaf(()); base[1] = w*2; (base*base).sum().backward(); out = (base, w.grad)",
    "views start requiring": "base = torch.zeros(3); v = base[:2]; base[0] = leaf(()); out = (v.requires_grad, base.requires_grad)",
    "int += float": "x = torch.ones(3, dtype=torch.int64); x += 0.5",
    "broadcast in place": "torch.ones(3).add_(torch.ones(2, 3))",
    "expanded": "torch.ones(1).expand(3).add_(1)",
    "out= refuses": "torch.add(leaf(3), leaf(3), out=torch.empty(3))",
    "no_grad in place": "x = leaf(3)\nwith torch.no_grad(): x.add_(1)\nout = (x, x._version)",
    # --- modes ---
    "decorators": "@torch.no_grad()\ndef f(x): return x*2\n@torch.no_grad\ndef g(x): return x*2\n@torch.enable_grad()\ndef h(x): return x*2\nx = leaf(1)\nwith torch.no_grad(): r = h(x).requires_grad\nout = (f(x).requires_grad, g(x).requires_grad, r)",
    "generator": "@torch.no_grad()\ndef gen():\n    yield torch.is_grad_enabled()\n    yield torch.is_grad_enabled()\nout = []\nfor v in gen(): out.append((v, torch.is_grad_enabled()))",
    "set_grad_enabled": "x = leaf(1); torch.set_grad_enabled(False); r = (x*2).requires_grad; torch.set_grad_enabled(True)\nwith torch.set_grad_enabled(False): q = (x*2).requires_grad\nout = (r, q, (x*2).requires_grad)",
    "inference": "with torch.inference_mode(): t = torch.ones(2)\nout = (t.is_inference(), (t+1).requires_grad)",
    "inference saved": "with torch.inference_mode(): a = torch.ones(3)\n(leaf(3)*a).sum().backward()",
    "inference in place": "with torch.inference_mode(): a = torch.ones(3)\na.add_(1)",
    "inference version": "with torch.inference_mode(): a = torch.ones(3)\na._version",
    # --- promotion and numbers ---
    "promotion": "i, h, f, d = torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.float16), torch.ones(2), torch.ones((), dtype=torch.float64); out = [t.dtype for t in (i*1.5, i/2, i//2, h*d, f*d, i*d, i+True, f*2, i*1j, f+1j)]",
    "complex numbers are weak": "out = [(torch.ones(2, dtype=d) * 1j).dtype for d in (torch.bool, torch.uint16, torch.int64, torch.float64)] + [(torch.ones(2, dtype=torch.uint32) + torch.tensor(1j)).dtype]",
    "real complex numbers": "m = torch.tensor([True, False]); out = [torch.zeros(2).fill_(3+0j), torch.zeros(2, dtype=torch.uint8).masked_fill_(m, 3+0j), torch.zeros(2, dtype=torch.bool).fill_(0.5j)]",
    "complex number into floats": "torch.zeros(2).fill_(3+1j)",
    "complex number for a mask": "torch.zeros(2).masked_fill_(torch.tensor([True, False]), 3+1j)",
    "shifted numbers": "x = torch.tensor(2, dtype=torch.uint8); out = [3 << x, 300 >> x, x << 3, True << x]",
    "powers of booleans": "b = torch.tensor([True, False]); out = [b ** True, b ** False, b ** 2, b ** 2., torch.tensor(False).pow_(False)]",
    "negative powers of booleans": "torch.tensor([True, False]) ** -1",
    "booleans as powers": "out = []\nfor base in (True, torch.tensor(True)):\n    try: base ** torch.tensor([True, False])\n    except NotImplementedError as error: out.append(str(error)[:30])",
    "tensor dtypes": "out = [torch.tensor(v).dtype for v in (1, 1., True, 1j, [1, 2.], [True, 2], [], [[1, 2], [3, 4]])]",
    "arange": "out = [torch.arange(3), torch.arange(3.), torch.arange(1, 2, .3), torch.arange(5, 0, -2)]",
    "bool of many": "bool(torch.ones(2))",
    "item of many": "torch.ones(2).item()",
    "ragged": "torch.tensor([[1., 2.], [3.]])",
    "slices": "x = torch.arange(24).view(2, 3, 4); out = [x[1], x[:, 1], x[..., -1], x[0, 1:, ::2], x[None, 0, :, None].shape, x[x > 20], x[[0, 1], [1, 2]], x[:, torch.tensor([0, 2])], x[torch.tensor([True, False])]]",
    "writes": "x = torch.zeros(3, 4); x[1] = 1; x[:, 2] = torch.arange(3.); x[x == 1] = 7; x[[0, 2], [0, 3]] = torch.tensor([8., 9.]); x[0, :2] += 5; out = x",
    "one value for a mask": "x = torch.zeros(4); v = torch.full((1, 1), 2.5, dtype=torch.float64, requires_grad=True); x[[False, True, False, True]] = v; x.sum().backward(); out = (x, v.grad)",
    "masks and another dtype": "x = torch.zeros(2, 2); x[True, torch.tensor([[True, False], [False, True]])] = torch.tensor(1, dtype=torch.int64)",
    "complex": "z = torch.tensor(1+2j, requires_grad=True); (z*z).backward(torch.tensor(1+0j)); out = z.grad",
    "complex abs": "z = torch.tensor(1+2j, requires_grad=True); (z.abs()**2).backward(); out = z.grad",
    "real through complex": "x = torch.tensor(2., requires_grad=True); (x*1j).abs().backward(); out = x.grad",
}  # fmt: skip


def run(program: str, module) -> tuple:
    namespace: dict = {"torch": module}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(LEAF + program, namespace)
            result = ("ok", tidy(namespace.get("out")))
        except Exception as error:  # the error is the result
            result = (type(error).__name__, str(error)[:50])
    return result, [re.sub(r"[( ].*", "", str(w.message)) for w in caught if issubclass(w.category, UserWarning)]


def tidy(value) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_torch_does(name):
    assert run(PROGRAMS[name], pullback) == run(PROGRAMS[name], torch)
