"""Structural similarity, super-resolution, style transfer, sampling grids, histograms, edges, pyramids, transforms."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
img = torch.rand(2, 3, 16, 16)


def gauss(n, s):
    x = torch.arange(n).float() - n // 2
    g = torch.exp(-x.pow(2) / (2 * s**2))
    return g / g.sum()


def ssim(a, b, n=7):
    w = (gauss(n, 1.5)[:, None] @ gauss(n, 1.5)[None]).expand(3, 1, n, n).contiguous()
    f = lambda t: F.conv2d(t, w, padding=n // 2, groups=3)
    m1, m2 = f(a), f(b)
    v1, v2, v12 = f(a * a) - m1**2, f(b * b) - m2**2, f(a * b) - m1 * m2
    return (((2 * m1 * m2 + 1e-4) * (2 * v12 + 9e-4)) / ((m1**2 + m2**2 + 1e-4) * (v1 + v2 + 9e-4))).mean()


noisy = (img + 0.1 * torch.randn_like(img)).clamp(0, 1).requires_grad_()
s = ssim(img, noisy)
s.backward()
print(s, -10 * torch.log10(F.mse_loss(img, noisy)), noisy.grad.abs().mean())
tv = lambda x: (x[..., 1:, :] - x[..., :-1, :]).abs().mean() + (x[..., 1:] - x[..., :-1]).abs().mean()
print(tv(img))


class ESPCN(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.c1, self.c2, self.c3 = (
            nn.Conv2d(3, 16, 5, 1, 2),
            nn.Conv2d(16, 8, 3, 1, 1),
            nn.Conv2d(8, 3 * r * r, 3, 1, 1),
        )
        self.ps = nn.PixelShuffle(r)
        nn.init.orthogonal_(self.c1.weight, nn.init.calculate_gain("relu"))
        nn.init.orthogonal_(self.c3.weight)

    def forward(self, x):
        return self.ps(self.c3(torch.relu(self.c2(torch.relu(self.c1(x))))))


lr_ = F.interpolate(img, scale_factor=0.5, mode="bicubic", antialias=True).clamp(0, 1)
net = ESPCN(2)
o = torch.optim.Adam(net.parameters(), 5e-3)
for _ in range(8):
    l = F.l1_loss(net(lr_), img) + 0.05 * (1 - ssim(net(lr_), img))
    o.zero_grad()
    l.backward()
    o.step()
print("sr", f"{l.item():.5f}")
vgg = nn.Sequential(
    nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(6, 8, 3, padding=1), nn.ReLU()
).requires_grad_(False)


def gram(f):
    b, c, h, w = f.size()
    f = f.view(b * c, h * w)
    return torch.mm(f, f.t()).div(b * c * h * w)


class StyleLoss(nn.Module):
    def __init__(self, t):
        super().__init__()
        self.target = gram(t).detach()

    def forward(self, x):
        self.loss = F.mse_loss(gram(x), self.target)
        return x


sty, con = torch.rand(1, 3, 16, 16), img[:1]
m = nn.Sequential()
t = sty
for i, l in enumerate(vgg.children()):
    if isinstance(l, nn.ReLU):
        l = nn.ReLU(inplace=False)
    m.add_module(f"l{i}", l)
    t = m(sty).detach()
    if isinstance(l, nn.Conv2d):
        m.add_module(f"style{i}", StyleLoss(t))
inp = con.clone().requires_grad_(True)
lb = torch.optim.LBFGS([inp], max_iter=6)
run = [0]


def closure():
    with torch.no_grad():
        inp.clamp_(0, 1)
    lb.zero_grad()
    m(inp)
    sl = sum(x.loss for x in m if isinstance(x, StyleLoss)) * 1e6
    sl.backward()
    run[0] += 1
    return sl


for _ in range(2):
    r = lb.step(closure)
    print("style", f"{r.item():.3f}", run[0])
print(m)
ad = lambda c, s: (
    (c - c.mean((2, 3), keepdim=True)) / (c.std((2, 3), keepdim=True) + 1e-5) * s.std((2, 3), keepdim=True)
    + s.mean((2, 3), keepdim=True)
)
print(ad(img, img.flip(0)).mean((2, 3)))
th = (
    torch.tensor([[[math.cos(0.3), -math.sin(0.3), 0.1], [math.sin(0.3), math.cos(0.3), 0.0]]])
    .repeat(2, 1, 1)
    .requires_grad_()
)
g = F.affine_grid(th, [2, 3, 8, 8], align_corners=True)
for mode in ("bilinear", "nearest", "bicubic"):
    for pm in ("zeros", "border", "reflection"):
        for ac in (True, False):
            v = F.grid_sample(img, g, mode=mode, padding_mode=pm, align_corners=ac)
            print(mode, pm, ac, v.sum().item() if False else f"{v.sum().item():.3f}", end=" | ")
F.grid_sample(img, g, align_corners=True).sum().backward()
print()
print(th.grad[0], g[0, 0, :2])
flow = torch.randn(2, 2, 16, 16) * 0.5
base = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="xy"), -1)
warp = F.grid_sample(img, base + flow.permute(0, 2, 3, 1) / 8, align_corners=True)
print(warp.mean((1, 2, 3)))
hsv = lambda x: (x.max(1)[0], (x.max(1)[0] - x.min(1)[0]) / x.max(1)[0].clamp_min(1e-8))
v, s_ = hsv(img)
ycc = torch.einsum(
    "ij,bjhw->bihw", torch.tensor([[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]]), img
)
print(v.mean(), s_.mean(), ycc.mean((0, 2, 3)))
hist = torch.stack([torch.histc(c, 8, 0, 1) for c in img[0]])
cdf = hist.cumsum(1) / hist.sum(1, keepdim=True)
print(hist, cdf[0])
sob = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]])
gx, gy = (F.conv2d(img.mean(1, True), k.view(1, 1, 3, 3), padding=1) for k in (sob, sob.T))
print(torch.hypot(gx, gy).mean(), torch.atan2(gy, gx)[0, 0, 3, :4], (torch.hypot(gx, gy) > 1).sum())
med = F.unfold(F.pad(img[:, :1], (1,) * 4, mode="replicate"), 3).median(1)[0].view(2, 16, 16)
print(med.mean())
bil = F.unfold(img[:, :1], 3, padding=1).view(2, 9, 16, 16)
wt = torch.exp(-((bil - img[:, :1]) ** 2) / 0.02)
print(((wt * bil).sum(1) / wt.sum(1)).mean())
pyr = [img]
for _ in range(3):
    pyr.append(F.avg_pool2d(pyr[-1], 2))
print(
    [tuple(p.shape) for p in pyr],
    [
        F.interpolate(p, size=(16, 16), mode=md, align_corners=False if md != "nearest" and md != "area" else None)
        .mean()
        .item()
        .__round__(4)
        for p, md in zip(pyr[1:], ("bilinear", "nearest", "area"))
    ],
)
print(
    F.interpolate(img, size=(5, 7), mode="nearest-exact")[0, 0, 0],
    torch.rot90(img, 1, (2, 3))[0, 0, 0, :3],
    img.flip(-1)[0, 0, 0, :2],
    F.pad(img, (2, 1, 0, 3), "circular").shape,
    F.pad(img[0, 0], (1, 1), value=9.0)[0, :3],
)
qz = torch.quantize_per_tensor if False else (img * 255).round().to(torch.uint8)
print(
    qz.dtype,
    qz[0, 0, 0, :5],
    (qz.float() / 255 - img).abs().max() < 0.003,
    qz.float().mean(),
    (qz >> 4)[0, 0, 0, :3],
    (qz & 15).max(),
    qz.view(2, -1).unique(dim=1).shape[1] > 0,
)
dct = torch.tensor(
    [
        [math.cos(math.pi * (2 * j + 1) * i / 16) * (math.sqrt(1 / 8) if i == 0 else 0.5) for j in range(8)]
        for i in range(8)
    ]
)
blk = img[:, :1].unfold(2, 8, 8).unfold(3, 8, 8)
co = dct @ blk @ dct.T
print(co.shape, co[0, 0, 0, 0, 0, :3], (dct.T @ co @ dct - blk).abs().max() < 1e-5)
haar = lambda x: ((x[..., ::2] + x[..., 1::2]) / math.sqrt(2), (x[..., ::2] - x[..., 1::2]) / math.sqrt(2))
lo, hi = haar(img)
print(lo.shape, hi.abs().mean(), (lo.pow(2).sum() + hi.pow(2).sum() - img.pow(2).sum()).abs() < 1e-2)
rad = torch.stack([img[:, 0].sum(1), img[:, 0].sum(2)])
print(rad.shape, torch.fft.fftshift(torch.fft.fft2(img[0, 0])).abs().log1p()[8, 6:10])
