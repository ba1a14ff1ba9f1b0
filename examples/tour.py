"""A tour in one screen: what a program that says `import torch` can do on Pullback."""

import torch
from torch import nn

print(f"torch {torch.__version__}, from {torch.__file__.split('/')[-2]}")

# The gradient argument weights the outputs: one sweep gives the vector-Jacobian product.
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(x**2).backward(gradient=torch.tensor([1.0, 0.5, 0.25]))
print("weighted gradient ", x.grad)

# Gradients are tensors too, so they can be differentiated again.
t = torch.tensor(0.5, requires_grad=True)
(first,) = torch.autograd.grad(torch.sin(t), t, create_graph=True)
(second,) = torch.autograd.grad(first, t)
print("sin, sin', sin''   ", torch.stack([torch.sin(t), first, second]).detach())

# A small network learns exclusive or.
torch.manual_seed(0)
inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
targets = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(301):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(inputs), targets)
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step:3d}  loss   {loss.item():.4f}")
print("exclusive or       ", torch.sigmoid(model(inputs)).round().flatten().tolist())
