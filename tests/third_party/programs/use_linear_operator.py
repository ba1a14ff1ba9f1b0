"""linear_operator: objects that are no tensors take torch's functions over through `__torch_function__`."""

import torch
from linear_operator.operators import DenseLinearOperator, DiagLinearOperator, KroneckerProductLinearOperator

torch.manual_seed(0)
root = torch.randn(3, 3)
matrix = (root @ root.T + torch.eye(3)).requires_grad_(True)
dense, diagonal, vector = (
    DenseLinearOperator(matrix),
    DiagLinearOperator(torch.tensor([1.0, 2.0, 3.0])),
    torch.ones(3, 2),
)


def show(*values):
    print(
        *(f"{type(value).__name__} {[round(number, 3) for number in value.reshape(-1).tolist()]}" for value in values)
    )


show(torch.matmul(diagonal, vector), diagonal @ vector, vector.T @ diagonal)
total = torch.add(dense, diagonal)
print(
    type(total).__name__,
    total.shape,
    torch.diagonal(total).tolist() == (matrix.diagonal() + torch.arange(1.0, 4)).tolist(),
)
show(torch.linalg.solve(dense, vector), torch.linalg.cholesky(dense).to_dense(), torch.logdet(dense))
show(KroneckerProductLinearOperator(diagonal, diagonal).to_dense().sum(), torch.exp(diagonal).to_dense())
torch.logdet(dense).backward()
show(matrix.grad)
try:
    torch.fft.fft(dense)
except NotImplementedError as error:
    print("fft is not for linear operators:", "fft" in str(error))
