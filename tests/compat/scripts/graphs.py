"""Networks on graphs by sparse and dense products, index_add, scatter_reduce, gates with ties, walks."""

import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

warnings.simplefilter("ignore")
torch.manual_seed(72)
N, Fin, C = 30, 12, 3
labels = torch.randint(0, C, (N,))
same = labels[:, None] == labels[None]
adj = (torch.rand(N, N) < torch.where(same, 0.35, 0.03)).float()
adj = ((adj + adj.t()) > 0).float().fill_diagonal_(0.0)
feats = F.one_hot(labels, C).float() @ torch.randn(C, Fin) + torch.randn(N, Fin)


def normalize(links):
    scale = links.sum(1).rsqrt()
    return torch.diag(scale) @ links @ torch.diag(scale)


A = normalize(adj + torch.eye(N))
ei = adj.nonzero(as_tuple=False).t().contiguous()
src, dst = ei
print(ei.shape, ei[:, :5], A.sum())


class GraphLayer(nn.Module):
    def __init__(self, i, o, bias=True):
        super().__init__()
        self.weight = Parameter(torch.empty(i, o))
        self.bias = Parameter(torch.zeros(o)) if bias else None
        nn.init.uniform_(self.weight, -1 / math.sqrt(o), 1 / math.sqrt(o))

    def forward(self, x, adj):
        out = torch.spmm(adj, x @ self.weight)
        return out if self.bias is None else out + self.bias

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, bias={self.bias is not None}"


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GraphLayer(Fin, 8), GraphLayer(8, C, bias=False)

    def forward(self, x, a):
        return F.log_softmax(self.gc2(F.dropout(F.relu(self.gc1(x, a)), 0.5, training=self.training), a), dim=1)


def scatter_softmax(e, idx, n):
    mx = torch.full((n, e.shape[1]), float("-inf")).scatter_reduce(
        0, idx[:, None].expand_as(e), e, "amax", include_self=True
    )
    ex = (e - mx[idx]).exp()
    den = torch.zeros(n, e.shape[1]).index_add_(0, idx, ex)
    return ex / (den[idx] + 1e-16)


class GAT(nn.Module):
    def __init__(self, i, o, h):
        super().__init__()
        self.W = nn.Linear(i, o * h, bias=False)
        self.a = nn.Parameter(torch.empty(2, h, o))
        nn.init.xavier_uniform_(self.a, gain=1.414)
        self.h, self.o = h, o
        self.lr = nn.LeakyReLU(0.2)

    def forward(self, x):
        z = self.W(x).view(-1, self.h, self.o)
        e = self.lr((z[src] * self.a[0]).sum(-1) + (z[dst] * self.a[1]).sum(-1))
        al = scatter_softmax(e, dst, N)
        out = torch.zeros(N, self.h, self.o).index_add(0, dst, z[src] * al.unsqueeze(-1))
        return F.elu(out.flatten(1))


class SAGE(nn.Module):
    def __init__(self, i, o, agg):
        super().__init__()
        self.l, self.r, self.agg = nn.Linear(i, o), nn.Linear(i, o, bias=False), agg

    def forward(self, x):
        m = torch.zeros(N, x.shape[1]).scatter_reduce(
            0, dst.unsqueeze(-1).expand(-1, x.shape[1]), x[src], reduce=self.agg, include_self=False
        )
        return F.normalize(self.l(m) + self.r(x), p=2.0, dim=-1)


class GIN(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.eps = nn.Parameter(torch.Tensor([0]))
        self.mlp = nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU(), nn.Linear(o, o))

    def forward(self, x):
        return self.mlp((1 + self.eps) * x + torch.zeros_like(x).index_add_(0, dst, x[src]))


models = {
    "gcn": GCN(),
    "gat": nn.Sequential(GAT(Fin, 4, 2), GAT(8, C, 1)),
    "sage_mean": nn.Sequential(SAGE(Fin, 8, "mean"), nn.ReLU(), SAGE(8, C, "amax")),
    "sage_prod": SAGE(Fin, C, "sum"),
    "gin": nn.Sequential(GIN(Fin, 8), nn.Linear(8, C)),
}
tr = torch.zeros(N, dtype=torch.bool)
tr[torch.randperm(N)[:15]] = True
sp = A.to_sparse()
print(sp.is_sparse, sp._nnz(), sp.coalesce().indices()[:, :4], sp.shape)
for k, m in models.items():
    opt = torch.optim.Adam(m.parameters(), lr=0.02, weight_decay=5e-4)
    for _ep in range(15):
        m.train()
        opt.zero_grad()
        out = m(feats, A) if k == "gcn" else m(feats)
        l = F.nll_loss(out[tr], labels[tr]) if k == "gcn" else F.cross_entropy(out[tr], labels[tr])
        l.backward()
        opt.step()
    m.eval()
    out = m(feats, sp) if k == "gcn" else m(feats)
    p = out.max(1)[1].type_as(labels)
    print(k, f"{l.item():.5f}", f"{p[~tr].eq(labels[~tr]).double().sum().item() / (~tr).sum().item():.4f}", out[0])
print(models["gcn"], models["sage_mean"])
# graph pooling over a batch vector, message passing with unique/bincount/segment ops
batch = torch.arange(N) // 10
deg = torch.bincount(dst, minlength=N)
print(
    deg,
    torch.unique(batch, return_counts=True),
    torch.segment_reduce(feats, "mean", lengths=torch.tensor([10, 10, 10]))[:, :3],
)
h = torch.zeros(3, Fin).index_reduce_(0, batch, feats, "mean", include_self=False)
print(h[:, :3], torch.zeros(3, Fin).index_reduce(0, batch, feats, "amin", include_self=False)[:, 0])
L = torch.diag(deg.float()) - adj
ev, U = torch.linalg.eigh(L)
print(ev[:4], (U[:, 1].abs()).sum())
w = feats[src].sub(feats[dst]).norm(dim=1)
print(torch.stack([src, dst])[:, w.topk(3).indices], torch.cumsum(deg, 0)[-1])
perm = torch.argsort(dst, stable=True)
ptr = torch.cat([torch.zeros(1, dtype=torch.long), deg.cumsum(0)])
csr = torch.sparse_csr_tensor(ptr, src[perm], torch.ones(len(src)), (N, N))
print((csr @ feats - adj.t() @ feats).abs().max().item() < 1e-4, csr.crow_indices()[:4])
walk = [0]
g = torch.Generator().manual_seed(3)
for _ in range(8):
    nb = adj[walk[-1]].nonzero().flatten()
    walk.append(nb[torch.randint(len(nb), (1,), generator=g)].item())
print(
    walk,
    torch.combinations(torch.arange(4), 2).T,
    torch.cartesian_prod(torch.arange(2), torch.arange(3)).shape,
    torch.tril_indices(3, 3, -1),
)
neg = torch.randint(0, N, (2, 10))
z = models["gat"](feats)
print((z[neg[0]] * z[neg[1]]).sum(-1).sigmoid().round(decimals=3))
