"""Optimise an image: keep the shapes of one picture and take over the texture of another.

As in style transfer, texture is measured by correlations of convolutional features; the network is random and fixed,
and what is trained is the picture.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def gram(features):
    batch, channels, height, width = features.shape
    flat = features.view(batch, channels, height * width)
    return flat @ flat.transpose(1, 2) / (channels * height * width)


torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
grid = torch.linspace(-1, 1, 32)
rows, columns = torch.meshgrid(grid, grid, indexing="ij")
disc = (rows**2 + columns**2 < 0.5).double()
content = torch.stack([disc, 1 - disc, 0.5 * disc]).unsqueeze(0)
waves = torch.sin(12 * columns) * 0.5 + 0.5
style = torch.stack([waves, waves * 0.3, 1 - waves]).unsqueeze(0)

network = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(12, 24, 3, padding=1))
for parameter in network.parameters():
    parameter.requires_grad_(False)
first = network[:2]

with torch.no_grad():
    content_target = network(content)
    style_targets = gram(first(style)), gram(network(style))

image = content.clone().requires_grad_(True)
optimizer = torch.optim.Adam([image], lr=0.02)
for step in range(steps):
    optimizer.zero_grad()
    content_loss = F.mse_loss(network(image), content_target)
    style_loss = F.mse_loss(gram(first(image)), style_targets[0]) + F.mse_loss(gram(network(image)), style_targets[1])
    smoothness = (image[..., 1:] - image[..., :-1]).abs().mean() + (image[:, :, 1:] - image[:, :, :-1]).abs().mean()
    loss = content_loss + 200 * style_loss + 0.01 * smoothness
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        image.clamp_(0, 1)
    if step % max(1, steps // 5) == 0:
        print(f"step {step:2d}  content {content_loss.item():.3e}  style {style_loss.item():.3e}  sum {loss:.5f}")

print("mean colour:", " ".join(f"{value:.4f}" for value in image.detach().mean(dim=(0, 2, 3)).tolist()))
