import torch

# Input Tensor that needs gradient
x = torch.tensor([2.0, 3.0], requires_grad=True)

# Operation resulting in a tensor output
y = x * x

# Loss is calculated as the output itself
loss = y

# Attempt to calculate gradients without a specified gradient tensor
try:
    loss.backward()
except RuntimeError as e:
    print(f"RuntimeError: {e}")

# Note that x.grad is not updated because backward() fails
if x.grad is None:
    print(f"Gradient of x without explicit gradient: x.grad is None.")
