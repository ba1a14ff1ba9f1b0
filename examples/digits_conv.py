"""Recognise handwritten digits (8 x 8 pixels) with a small convolutional network."""

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 5


def load_data():
    """The digits of scikit-learn; ten kinds of noisy blobs where it is not installed."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        generator = torch.Generator().manual_seed(0)
        shapes = torch.rand(10, 1, 8, 8, generator=generator) > 0.6
        labels = torch.arange(1500) % 10
        noise = 0.3 * torch.randn(1500, 1, 8, 8, generator=generator)
        return shapes[labels].float() + noise, labels
    digits = load_digits()
    return torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(digits.target)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def evaluate(model, loader):
    model.eval()
    loss, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for images, labels in loader:
            output = model(images)
            loss += F.nll_loss(output, labels, reduction="sum").item()
            correct += (output.argmax(dim=1) == labels).sum().item()
            count += len(labels)
    return loss / count, correct / count


torch.manual_seed(0)
dataset = TensorDataset(*load_data())
train_set, test_set = random_split(dataset, [len(dataset) - 300, 300])
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=300)

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.8)
print("parameters:", sum(p.numel() for p in model.parameters()))

for epoch in range(epochs):
    model.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
    scheduler.step()
    test_loss, accuracy = evaluate(model, test_loader)
    print(f"epoch {epoch + 1}  train loss {loss.item():.3f}  test loss {test_loss:.3f}  accuracy {accuracy:.1%}")
