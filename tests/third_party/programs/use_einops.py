"""einops: rearranging, reducing, repeating, einsum, packing, and its layers in a model."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
images = torch.randn(4, 3, 8, 8, requires_grad=True)
patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
pooled = reduce(images, "b c (h 2) (w 2) -> b c h w", "max")
mean = reduce(images, "b c h w -> c", "mean")
tiled = repeat(mean, "c -> c n", n=3)
scores = einsum(patches, patches, "b i d, b j d -> b i j")
packed, shapes = pack([patches, mean.expand(4, 1, 3).repeat(1, 1, 16)], "b * d")
first, second = unpack(packed, shapes, "b * d")
for value in (patches, pooled, mean, tiled, scores, packed, first, second):
    print(tuple(value.shape), f"{value.sum().item():.4f}")

model = nn.Sequential(
    nn.Conv2d(3, 6, 3), nn.ReLU(), Reduce("b c (h 2) (w 2) -> b c h w", "max"),
    Rearrange("b c h w -> b (c h w)"), nn.Linear(54, 2),
)  # fmt: skip
loss = model(images).pow(2).mean() + scores.mean() + pooled.sum()
loss.backward()
print(model)
print(f"{loss.item():.5f} {images.grad.norm().item():.4f} {model[0].weight.grad.norm().item():.5f}")
