"""Hooks of every kind: class activation maps, saliency, statistics of layers, an early exit, replaced layers, an attack."""

from collections import OrderedDict, defaultdict
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict(
                c1=nn.Conv2d(3, 6, 3, padding=1),
                r1=nn.ReLU(),
                p1=nn.MaxPool2d(2),
                c2=nn.Conv2d(6, 8, 3, padding=1),
                r2=nn.ReLU(),
            )
        )
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        return self.fc(self.pool(self.features(x)).flatten(1))


net = Net().eval()
x = torch.randn(2, 3, 12, 12)


class GradCAM:
    def __init__(self, m, layer):
        self.m = m
        self.h = [layer.register_forward_hook(self.save_a), layer.register_full_backward_hook(self.save_g)]

    def save_a(self, m, i, o):
        self.a = o.detach()

    def save_g(self, m, gi, go):
        self.g = go[0].detach()

    def __call__(self, x, c=None):
        self.m.zero_grad()
        o = self.m(x)
        c = o.argmax(1) if c is None else c
        o.gather(1, c[:, None]).sum().backward()
        w = self.g.mean((2, 3), keepdim=True)
        cam = F.relu((w * self.a).sum(1, keepdim=True))
        cam = F.interpolate(cam, x.shape[2:], mode="bilinear", align_corners=False)
        cam -= cam.amin((2, 3), keepdim=True)
        return cam / (cam.amax((2, 3), keepdim=True) + 1e-8)

    def __enter__(self):
        return self

    def __exit__(self, *a):
        [h.remove() for h in self.h]


with GradCAM(net, net.features.c2) as cam:
    r = cam(x)
    print(r.shape, r[0, 0, 3, :5], r.mean())


def saliency(x):
    x = x.clone().requires_grad_()
    net(x).max(1)[0].sum().backward()
    return x.grad.abs().max(dim=1)[0]


print(saliency(x)[0, :2, :4])


def integrated(x, n=8):
    b = torch.zeros_like(x)
    xs = torch.stack([b + (x - b) * a for a in torch.linspace(0, 1, n)]).requires_grad_()
    o = torch.stack([net(v)[:, 1] for v in xs])
    (g,) = torch.autograd.grad(o.sum(), xs)
    return (x - b) * (g[:-1] + g[1:]).mul(0.5).mean(0)


print(integrated(x).sum((1, 2, 3)), (net(x) - net(torch.zeros_like(x)))[:, 1])
# guided backprop
hs = [
    m.register_full_backward_hook(lambda m, gi, go: (F.relu(gi[0]),)) for m in net.modules() if isinstance(m, nn.ReLU)
]
xg = x.clone().requires_grad_()
net(xg)[:, 0].sum().backward()
print(xg.grad.abs().mean(), (xg.grad < 0).float().mean())
[h.remove() for h in hs]
# hooks of every kind, their order and their powers
log = []
m = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
m[0].register_forward_pre_hook(lambda m, i: log.append(("pre", tuple(i[0].shape))) or (i[0] * 2,))
m[0].register_forward_hook(lambda m, i, o: log.append(("fwd", o.shape)) or o + 1)
m[0].register_full_backward_pre_hook(lambda m, g: log.append(("bpre", len(g))) or (g[0] * 0.5,))
m[0].register_full_backward_hook(
    lambda m, gi, go: log.append(("bwd", [None if g is None else tuple(g.shape) for g in gi], tuple(go[0].shape)))
)
m[2].register_forward_hook(lambda m, a, kw, o: log.append(("kw", kw)), with_kwargs=True, prepend=True)
m.register_state_dict_post_hook(lambda mod, sd, prefix, meta: log.append(("sd", len(sd))))
m.register_load_state_dict_post_hook(lambda mod, inc: log.append(("load", inc.missing_keys)))
inp = torch.randn(2, 3, requires_grad=True)
m(inp).sum().backward()
m.load_state_dict(m.state_dict())
print(*log, sep="\n")
print(inp.grad)
h = torch.nn.modules.module.register_module_forward_hook(lambda mod, i, o: log.append(type(mod).__name__))
log.clear()
m(torch.randn(1, 3))
h.remove()
print(log)
# tensor hooks
t = torch.randn(3, requires_grad=True)
s = []
h1 = t.register_hook(lambda g: s.append(g.clone()) or g * 2)
u = t * 3
u.retain_grad()
u.register_hook(lambda g: g.clamp(max=0.5))
h2 = t.register_post_accumulate_grad_hook(lambda p: s.append(p.grad.sum()))
u.sum().backward()
print(t.grad, u.grad, s)
h1.remove()
t.grad = None
(t * 3).sum().backward()
print(t.grad)
# activation statistics, dead units, gradient norms per layer
stats = defaultdict(list)


def keep(name, mod, i, o):
    stats[name].append((o.mean().item(), o.std().item(), (o <= 0).float().mean().item()))


hs = [mod.register_forward_hook(partial(keep, n)) for n, mod in net.named_modules() if not list(mod.children())]
for _ in range(2):
    net(torch.randn(4, 3, 12, 12))
for h in hs:
    h.remove()
for n, v in stats.items():
    print(n, [tuple(round(z, 4) for z in r) for r in v])
net.train()
F.cross_entropy(net(x), torch.tensor([1, 2])).backward()
print({n: round(p.grad.norm().item(), 5) for n, p in net.named_parameters()})


# lrp-like by replaced modules and deconv, feature extractor with early exit
class Stop(Exception):
    pass


def grab(m, i, o):
    grab.out = o
    raise Stop


h = net.features.p1.register_forward_hook(grab)
try:
    net(x)
except Stop:
    print(grab.out.shape)
h.remove()
body = nn.Sequential(*list(net.children())[:-1])
print(
    body(x).shape,
    [n for n, _ in net.named_children()],
    net.features[:2],
    len(net.features),
    net.get_submodule("features.c2"),
    net.get_parameter("fc.bias").shape,
)
for n, mod in list(net.named_modules()):
    if isinstance(mod, nn.ReLU):
        parent = net.get_submodule(n.rpartition(".")[0])
        setattr(parent, n.rpartition(".")[2], nn.LeakyReLU(0.1))
print(net)
try:
    net.get_submodule("features.zzz")
except AttributeError as e:
    print(e)


def adv(x, y, eps, steps):
    d = torch.zeros_like(x).uniform_(-eps, eps).requires_grad_()
    for _ in range(steps):
        l = F.cross_entropy(net(x + d), y)
        l.backward()
        d.data = (d + eps / 4 * d.grad.detach().sign()).clamp(-eps, eps)
        d.grad.zero_()
    return (x + d).detach(), l.item()


net.eval()
xa, l = adv(x, torch.tensor([1, 2]), 0.1, 4)
print((xa - x).abs().max(), f"{l:.5f}", net(xa).argmax(1))
