"""Text classification with packing, embedding bag, GRU variants, bidirectional stack, weight drop, stateful training."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import (
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
)
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

torch.manual_seed(2)
random.seed(2)
corpus = [
    ("good movie great acting", 1),
    ("terrible plot", 0),
    ("great great fun to watch again", 1),
    ("boring and bad bad bad", 0),
    ("i loved it", 1),
    ("awful", 0),
    ("not good not bad just fine ok", 1),
    ("worst film ever made", 0),
]
vocab = {"<pad>": 0, "<unk>": 1}
for s, _ in corpus:
    for w in s.split():
        vocab.setdefault(w, len(vocab))


class DS(Dataset):
    def __len__(self):
        return len(corpus)

    def __getitem__(self, i):
        return torch.tensor([vocab.get(w, 1) for w in corpus[i][0].split()]), torch.tensor(float(corpus[i][1]))


def collate(b):
    b.sort(key=lambda t: len(t[0]), reverse=True)
    xs, ys = zip(*b)
    return pad_sequence(xs, batch_first=True, padding_value=0), torch.tensor([len(x) for x in xs]), torch.stack(ys)


class BucketSampler(Sampler):
    def __init__(self, ds, n):
        self.ds, self.n = ds, n

    def __iter__(self):
        ix = sorted(range(len(self.ds)), key=lambda i: (len(self.ds[i][0]), random.random()))
        bs = [ix[i : i + self.n] for i in range(0, len(ix), self.n)]
        random.shuffle(bs)
        return iter(bs)

    def __len__(self):
        return (len(self.ds) + self.n - 1) // self.n


class LSTMClf(nn.Module):
    def __init__(self, V, d, h, cell):
        super().__init__()
        self.emb = nn.Embedding(V, d, padding_idx=0)
        self.rnn = getattr(nn, cell)(d, h, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.fc = nn.Linear(2 * h, 1)
        self.cell = cell
        for n, p in self.rnn.named_parameters():
            if "weight_hh" in n:
                for w in p.chunk(p.shape[0] // h, 0):
                    nn.init.orthogonal_(w)
            elif "weight_ih" in n:
                nn.init.xavier_uniform_(p.data)
            elif "bias" in n:
                p.data.fill_(0)
                if cell == "LSTM":
                    p.data[h : 2 * h].fill_(0.5)

    def forward(self, x, lens):
        e = self.emb(x)
        pk = pack_padded_sequence(e, lens.cpu(), batch_first=True, enforce_sorted=True)
        o, hid = self.rnn(pk)
        hn = hid[0] if self.cell == "LSTM" else hid
        out, ol = pad_packed_sequence(o, batch_first=True, padding_value=-1.0, total_length=x.shape[1] + 1)
        self.last = out, ol
        return self.fc(torch.cat((hn[-2], hn[-1]), dim=1)).squeeze(1)


for cell in ("LSTM", "GRU", "RNN"):
    m = LSTMClf(len(vocab), 8, 6, cell)
    crit = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.2))
    opt = torch.optim.Adam(m.parameters(), 1e-2, weight_decay=1e-3)
    dl = DataLoader(DS(), batch_sampler=BucketSampler(DS(), 3), collate_fn=collate)
    for ep in range(3):
        tot = 0
        for x, l, y in dl:
            opt.zero_grad()
            loss = crit(m(x, l), y)
            loss.backward()
            opt.step()
            tot += loss.item()
        print(cell, ep, len(dl), f"{tot / len(dl):.5f}")
    print(m.last[0].shape, m.last[1], m.last[0][-1, -2:, :3])
    print(m.rnn, [n for n, _ in m.rnn.named_parameters()][-3:], m.emb.weight.grad[0].abs().sum())
ps = pack_sequence([torch.tensor([1.0, 2, 3]), torch.tensor([4.0, 5]), torch.tensor([6.0])])
print(ps, ps.batch_sizes, ps.sorted_indices, ps.is_cuda, ps.data.dtype)
us = pack_sequence([torch.tensor([4.0, 5]), torch.tensor([1.0, 2, 3])], enforce_sorted=False)
print(
    us.sorted_indices,
    us.unsorted_indices,
    pad_packed_sequence(us),
    unpack_sequence(us),
    us.to(torch.float64).data.dtype,
)
try:
    pack_padded_sequence(torch.zeros(2, 3), torch.tensor([1, 3]), batch_first=True)
except RuntimeError as e:
    print(str(e)[:120])
try:
    pack_padded_sequence(torch.zeros(2, 3), torch.tensor([0, 3]), batch_first=True, enforce_sorted=False)
except RuntimeError as e:
    print(str(e)[:100])
eb = nn.EmbeddingBag(len(vocab), 4, mode="mean", padding_idx=0)
flat = torch.cat([DS()[i][0] for i in range(3)])
off = torch.tensor([0, 4, 6])
print(
    eb(flat, off),
    eb,
    nn.EmbeddingBag(5, 2, mode="sum")(
        torch.tensor([[0, 1], [2, 2]]), per_sample_weights=torch.tensor([[1.0, 2.0], [0.5, 0.5]])
    ).shape,
)


class WeightDrop(nn.Module):
    def __init__(self, lstm, names, p):
        super().__init__()
        self.m, self.names, self.p = lstm, names, p
        [
            (self.register_parameter(n + "_raw", nn.Parameter(getattr(lstm, n).data)), lstm._parameters.pop(n))
            for n in names
        ]

    def forward(self, *a):
        for n in self.names:
            setattr(self.m, n, F.dropout(getattr(self, n + "_raw"), self.p, self.training))
        return self.m(*a)


cellw = nn.LSTMCell(3, 4)
print(
    cellw,
    [tuple(t.shape) for t in cellw(torch.randn(2, 3), (torch.zeros(2, 4), torch.zeros(2, 4)))],
    nn.GRUCell(3, 4)(torch.randn(3)).shape,
)
rnn = nn.LSTM(3, 4, proj_size=2)
o, (h, c) = rnn(torch.randn(5, 2, 3))
print(o.shape, h.shape, c.shape)
o, h = nn.RNN(3, 4, nonlinearity="relu")(torch.randn(5, 3))
print(o.shape, h.shape)
lm = nn.LSTM(4, 8, batch_first=True)
opt = torch.optim.SGD(lm.parameters(), 0.5)
data = torch.randn(2, 12, 4)
hid = (torch.zeros(1, 2, 8), torch.zeros(1, 2, 8))
for i in range(0, 12, 4):
    hid = tuple(h.detach() for h in hid)
    o, hid = lm(data[:, i : i + 4], hid)
    l = (o[..., :4] - data[:, i : i + 4].roll(-1, 1)).pow(2).mean()
    opt.zero_grad()
    l.backward()
    nn.utils.clip_grad_norm_(lm.parameters(), 0.25)
    opt.step()
    print(f"{l.item():.5f}", hid[0].norm())
w = WeightRS = list(WeightedRandomSampler([0.1, 0.9, 0.4], 6, replacement=True))
print(w, list(SubsetRandomSampler([3, 5, 7])), list(BatchSampler(SequentialSampler(range(7)), 3, False)))
for a in (torch.randn(2, 5), torch.randn(2, 3, 4)):
    try:
        print(nn.LSTM(3, 4)(a)[0].shape)
    except RuntimeError as e:
        print(type(e).__name__, e)
try:
    nn.GRU(3, 4)(torch.randn(5, 2, 3), torch.zeros(2, 2, 4))
except RuntimeError as e:
    print(e)
