"""Boxes, anchors and matching; rotations, alignment and bundle adjustment; points and heat maps."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def box_area(b):
    return (b[:, 2] - b[:, 0]).clamp(min=0) * (b[:, 3] - b[:, 1]).clamp(min=0)


def box_iou(a, b):
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    i = wh[..., 0] * wh[..., 1]
    u = box_area(a)[:, None] + box_area(b) - i
    return i / u, u


def giou(a, b):
    iou, u = box_iou(a, b)
    lt = torch.min(a[:, None, :2], b[:, :2])
    rb = torch.max(a[:, None, 2:], b[:, 2:])
    ar = (rb - lt).clamp(min=0).prod(2)
    return iou - (ar - u) / ar


def cxcywh(b):
    cx, cy, w, h = b.unbind(-1)
    return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], dim=-1)


def nms(b, s, t):
    keep = []
    o = s.argsort(descending=True)
    while o.numel() > 0:
        i = o[0]
        keep.append(i.item())
        if o.numel() == 1:
            break
        o = o[1:][box_iou(b[i][None], b[o[1:]])[0][0] <= t]
    return torch.tensor(keep)


b = cxcywh(torch.rand(10, 4) * torch.tensor([10.0, 10, 4, 4]) + torch.tensor([0, 0, 1.0, 1.0]))
s = torch.rand(10)
print(nms(b, s, 0.3), box_iou(b[:3], b[3:6])[0], giou(b[:2], b[2:4]))


def anchors(S, scales, ratios):
    y, x = torch.meshgrid(torch.arange(S) + 0.5, torch.arange(S) + 0.5, indexing="ij")
    wh = torch.tensor([[sc * math.sqrt(r), sc / math.sqrt(r)] for sc in scales for r in ratios])
    c = torch.stack([x, y], -1).view(-1, 1, 2).expand(-1, len(wh), 2)
    return cxcywh(torch.cat([c, wh.expand(S * S, -1, 2)], -1).reshape(-1, 4))


A = anchors(4, (1.0, 2.0), (0.5, 1.0, 2.0))
gt = torch.tensor([[0.5, 0.5, 2.2, 2.4], [1.8, 1.5, 3.9, 3.6]])
iou = box_iou(A, gt)[0]
mx, mi = iou.max(1)
pos = mx > 0.4
bp = iou.argmax(0)
pos[bp] = True
mi[bp] = torch.arange(2)
print(A.shape, pos.sum(), mi[pos], mx.topk(3).values)


def encode(a, g):
    aw, ah = a[:, 2] - a[:, 0], a[:, 3] - a[:, 1]
    gw, gh = g[:, 2] - g[:, 0], g[:, 3] - g[:, 1]
    return torch.stack(
        [
            ((g[:, 0] + g[:, 2]) - (a[:, 0] + a[:, 2])) / 2 / aw,
            ((g[:, 1] + g[:, 3]) - (a[:, 1] + a[:, 3])) / 2 / ah,
            (gw / aw).log(),
            (gh / ah).log(),
        ],
        1,
    )


head = nn.Conv2d(8, 6 * 5, 3, padding=1)
feat = torch.randn(1, 8, 4, 4)
o = torch.optim.SGD(head.parameters(), 0.05)
for _ in range(5):
    p = head(feat).permute(0, 2, 3, 1).reshape(-1, 5)
    cls = F.binary_cross_entropy_with_logits(p[:, 0], pos.float(), reduction="none")
    pt = torch.exp(-cls)
    fl = ((1 - pt) ** 2 * cls).sum() / pos.sum()
    neg = cls[~pos].topk(min(3 * int(pos.sum()), int((~pos).sum())))[0].mean()
    reg = F.smooth_l1_loss(p[pos, 1:], encode(A[pos], gt[mi[pos]]), beta=1 / 9)
    l = fl + reg + 0 * neg
    o.zero_grad()
    l.backward()
    o.step()
    print(f"{fl.item():.5f} {reg.item():.5f} {neg.item():.5f}")
# Hungarian-free matching by auction / greedy and sinkhorn; DETR-like set loss
C = torch.cdist(torch.rand(4, 2), torch.rand(4, 2))
P = (-C / 0.05).exp()
for _ in range(50):
    P = P / P.sum(1, keepdim=True)
    P = P / P.sum(0, keepdim=True)
print(P.argmax(1), (P * C).sum(), P.sum(0))
M = C.clone()
pairs = []
for _ in range(4):
    k = M.argmin()
    i, j = divmod(k.item(), 4)
    pairs.append((i, j))
    M[i] = M[:, j] = float("inf")
print(pairs)


# SE(3): exponential map, ICP, bundle adjustment by Levenberg-Marquardt with jacfwd
def hat(w):
    O = torch.zeros_like(w[..., 0])
    return torch.stack([O, -w[..., 2], w[..., 1], w[..., 2], O, -w[..., 0], -w[..., 1], w[..., 0], O], -1).reshape(
        *w.shape[:-1], 3, 3
    )


def so3(w):
    th = w.norm(dim=-1, keepdim=True).clamp_min(1e-8)[..., None]
    K = hat(w) / th
    return torch.eye(3, dtype=w.dtype) + torch.sin(th) * K + (1 - torch.cos(th)) * K @ K


torch.set_default_dtype(torch.float64)
w = torch.tensor([0.2, -0.3, 0.5])
R = so3(w)
print(R, torch.det(R), torch.allclose(R, torch.matrix_exp(hat(w))), torch.acos((R.trace() - 1) / 2) - w.norm())
X = torch.randn(30, 3)
Y = X @ R.T + torch.tensor([1.0, 2.0, 3.0])
mx, my = X.mean(0), Y.mean(0)
U, S, Vh = torch.linalg.svd((X - mx).T @ (Y - my))
Rk = Vh.T @ torch.diag(torch.tensor([1.0, 1.0, torch.sign(torch.det(Vh.T @ U.T)).item()])) @ U.T
print((Rk - R).abs().max() < 1e-9, my - Rk @ mx)
pts = torch.randn(12, 3) + torch.tensor([0.0, 0, 6])
obs = (lambda q: q[:, :2] / q[:, 2:])(pts @ so3(torch.tensor([0.1, 0.05, -0.1])).T + torch.tensor([0.2, -0.1, 0.3]))
res = lambda p: ((lambda q: q[:, :2] / q[:, 2:])(pts @ so3(p[:3]).T + p[3:]) - obs).flatten()
p, lam = torch.full((6,), 1e-3), 1e-2
for _it in range(8):
    J, r = torch.func.jacfwd(res)(p), res(p)
    d = torch.linalg.solve(J.T @ J + lam * torch.eye(6), -J.T @ r)
    new = p + d
    if res(new).square().sum() < r.square().sum():
        p, lam = new, lam / 5
    else:
        lam *= 3
print("LM", p, res(p).norm() < 1e-8)
q = torch.tensor([0.9, 0.1, -0.3, 0.2])
q = q / q.norm()
a, v = q[0], q[1:]
rot = lambda x: (
    x
    + 2 * a * torch.linalg.cross(v.expand_as(x), x)
    + 2 * torch.linalg.cross(v.expand_as(x), torch.linalg.cross(v.expand_as(x), x))
)
print(rot(X[:2]), torch.linalg.vector_norm(rot(X), dim=1).sub(X.norm(dim=1)).abs().max() < 1e-12)
r6 = torch.randn(2, 6)
b1 = F.normalize(r6[:, :3], dim=-1)
b2 = F.normalize(r6[:, 3:] - (b1 * r6[:, 3:]).sum(-1, True) * b1, dim=-1)
print(torch.stack((b1, b2, torch.linalg.cross(b1, b2)), -2).det())
hm = torch.randn(2, 3, 8, 8, dtype=torch.double, requires_grad=True)
pr = hm.flatten(2).softmax(-1).view_as(hm)
ax = torch.linspace(-1, 1, 8)
kx, ky = (pr.sum(2) * ax).sum(-1), (pr.sum(3) * ax).sum(-1)
(kx.sum() + ky.sum()).backward()
print(kx, hm.grad.abs().sum())
f1, f2 = torch.randn(1, 4, 6, 6), torch.randn(1, 4, 6, 6)
corr = torch.stack([(f1 * torch.roll(f2, (dy, dx), (2, 3))).mean(1) for dy in (-1, 0, 1) for dx in (-1, 0, 1)], 1)
print(corr.shape, corr[0, :, 0, 0])
pc = torch.randn(2, 20, 3)
fps = torch.zeros(2, 5, dtype=torch.long)
dist = torch.full((2, 20), 1e10)
far = torch.zeros(2, dtype=torch.long)
for i in range(5):
    fps[:, i] = far
    c = pc[torch.arange(2), far][:, None]
    dist = torch.minimum(dist, ((pc - c) ** 2).sum(-1))
    far = dist.max(-1)[1]
knn = torch.cdist(pc, pc).topk(4, largest=False).indices
grp = torch.gather(pc.unsqueeze(1).expand(-1, 20, -1, -1), 2, knn.unsqueeze(-1).expand(-1, -1, -1, 3))
print(fps, grp.shape, (grp - pc.unsqueeze(2)).norm(dim=-1).max(-1)[0].mean())
cd = torch.cdist(pc[:1], pc[1:])
print(cd.min(1)[0].mean() + cd.min(2)[0].mean())
