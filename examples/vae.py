"""A variational autoencoder of small pictures: bars and dots at random places."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200


def pictures(count):
    """Pictures of 8 x 8 pixels with one bright row or column."""
    images = torch.zeros(count, 8, 8)
    places = torch.randint(8, (count,))
    upright = torch.rand(count) < 0.5
    for image, place, is_column in zip(images, places, upright):
        if is_column:
            image[:, place] = 1.0
        else:
            image[place] = 1.0
    return images.view(count, 64)


class VAE(nn.Module):
    def __init__(self, hidden=64, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, x):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(z), mean, log_variance


def loss_of(logits, x, mean, log_variance):
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return reconstruction / len(x), divergence / len(x)


torch.manual_seed(0)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for step in range(steps):
    x = pictures(32)
    logits, mean, log_variance = model(x)
    reconstruction, divergence = loss_of(logits, x, mean, log_variance)
    loss = reconstruction + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(1, steps // 5) == 0:
        print(f"step {step:4d}  reconstruction {reconstruction.item():.3f}  divergence {divergence.item():.4f}")

with torch.no_grad():
    sample = torch.sigmoid(model.decoder(torch.randn(3, 4)))
print("brightness of three new pictures:", " ".join(f"{value:.3f}" for value in sample.mean(dim=1).tolist()))
