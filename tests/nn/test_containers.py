"""Containers against torch: list and dictionary operations, their errors, and how they print."""

import pytest
from nn.transcripts import compare

import pullback

torch = pytest.importorskip("torch")

PROGRAMS = {
    "sequential items": """
from collections import OrderedDict
s = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
say(len(s), s[0], s[-1], s[1:], s[::2], [type(m).__name__ for m in s])
for index in (3, -4, "a", 1.0): attempt(lambda: s[index])
s[1] = nn.Tanh(); say(s); s[-1] = nn.Identity(); say(s)
del s[0]; say(s); del s[0:1]; say(s)
named = nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Tanh())]))
say(named, named.a, named[0], named[:1], list(named.state_dict()))
del named[0]; say(named)
say([name for name in dir(s) if name.isdigit()])
""",
    "sequential changes": """
s = nn.Sequential(nn.ReLU())
say(s.append(nn.Tanh()) is s, s.extend([nn.Sigmoid(), nn.GELU()]), s.insert(1, nn.Identity()), s.insert(-1, nn.SiLU()))
say(s.pop(0), s, s.pop(-1), s)
attempt(lambda: s.insert(40, nn.ReLU())); attempt(lambda: s.insert(0, 3)); attempt(lambda: s.append(3))
attempt(lambda: s.pop(40))
""",
    "sequential arithmetic": """
a = nn.Sequential(nn.ReLU(), nn.Tanh()); b = nn.Sequential(nn.GELU())
say(a + b, a * 2, 2 * b); b += a; say(b); b *= 2; say(b)
for f in (lambda: a + [nn.ReLU()], lambda: a * 0, lambda: a * 1.5, lambda: a.__iadd__(3), lambda: a.__imul__("x")):
    attempt(f)
attempt(lambda: nn.Sequential(3)); attempt(lambda: nn.Sequential([nn.ReLU()]))
say(nn.Sequential()(5), nn.Sequential(nn.Flatten(0))(torch.ones(2, 2)))
""",
    "module list": """
l = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])
say(l, len(l), l[0], l[-1], l[1:], nn.ModuleList(), nn.ModuleList([nn.Sequential(nn.ReLU()),
        nn.Sequential(nn.ReLU())]))
say(l.append(nn.Tanh()) is l, l.extend([nn.GELU()]) is l, l + [nn.ReLU()]); l += [nn.SiLU()]; say(l)
l.insert(1, nn.Identity()); say(l); say(l.pop(1), l.pop(-1), l); del l[0]; say(l); del l[:2]; say(l); l[0] = nn.Mish()
say(l)
attempt(lambda: l[9]); attempt(lambda: l.extend(3)); attempt(lambda: nn.ModuleList([3])); attempt(lambda: l.append(3))
say(list(nn.ModuleList([nn.Linear(1, 1)]).state_dict()))
""",
    "module dict": """
d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
say(d, len(d), "a" in d, list(d), list(d.keys()), [type(m).__name__ for m in d.values()], [k for k, _ in d.items()])
d["c"] = nn.Tanh(); d.update([("e", nn.GELU()), ["f", nn.SiLU()]]); d.update(nn.ModuleDict({"a": nn.Mish()})); say(d)
say(d.pop("a"), d); del d["b"]; say(d); d.clear(); say(d, len(d))
attempt(lambda: d["none"]); attempt(lambda: d.update(3)); attempt(lambda: d.update([3]))
attempt(lambda: d.update([(1, 2, 3)]))
attempt(lambda: d.update({"x": 3})); attempt(lambda: d.pop("none")); attempt(lambda: nn.ModuleDict({"a.b": nn.ReLU()}))
attempt(lambda: nn.ModuleDict({"keys": nn.ReLU()}))
""",
    "parameter list": """
p = nn.ParameterList([torch.zeros(2), nn.Parameter(torch.ones(1, 3)), 5, "s"])
say(p, len(p), p[0], p[-1], type(p[0]).__name__, len(p[1:]), list(p.state_dict()))
p.append(torch.ones(1)); p += [torch.zeros(1)]; p[0] = torch.full((2,), 7.0)
say(p, p[0], [n for n, _ in p.named_parameters()])
attempt(lambda: p[9]); attempt(lambda: p.extend(torch.ones(2))); attempt(lambda: p.extend(3)); attempt(lambda: p())
""",
    "parameter dict": """
from collections import OrderedDict
p = nn.ParameterDict({"b": torch.zeros(2), "a": nn.Parameter(torch.ones(1, 3)), "n": 5})
say(p, len(p), list(p), list(reversed(p)), "a" in p, p["a"], list(p.state_dict()), list(p.keys()))
p["z"] = torch.ones(1); p.update(OrderedDict([("y", torch.ones(2)), ("x", torch.ones(3))])); say(p)
say(p.get("a"), p.get("none", 4), p.setdefault("a", 3), p.setdefault("q", torch.ones(1)), p.pop("b"), list(p))
say(p.popitem()[0], list(p), list(p.copy()), list(p.fromkeys(["k"], torch.ones(1))))
q = nn.ParameterDict({"a": torch.zeros(1), "new": torch.zeros(1)})
say(list(p | q), list(q | p), (p | q)["a"]); p |= q; say(list(p)); del p["a"]; say(list(p)); p.clear(); say(list(p))
attempt(lambda: p["none"]); attempt(lambda: p.update(3)); attempt(lambda: p.update([(1,)])); attempt(lambda: p(1))
attempt(lambda: [v for v in p.values()]); attempt(lambda: dict(p.items()))
attempt(lambda: p.update([("keys", torch.ones(1))]))
""",
    "container": "attempt(lambda: nn.Container(a=nn.ReLU()))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    compare(PROGRAMS[name], pullback, torch)
