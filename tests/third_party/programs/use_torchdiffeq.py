"""torchdiffeq: every solver against the exact solution, gradients through them, the adjoint method, events."""

import torch
import torchdiffeq

torch.set_default_dtype(torch.float64)
MATRIX = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = torch.nn.Parameter(MATRIX.clone())

    def forward(self, t, y):
        return y @ self.matrix


times = torch.linspace(0.0, 2.0, 5)
start = torch.tensor([[2.0, 0.0]])
exact = torch.stack([start @ torch.linalg.matrix_exp(MATRIX * t.item()) for t in times])
fixed = ("euler", "midpoint", "heun2", "heun3", "rk4", "explicit_adams", "implicit_adams")
for method in ("dopri5", "dopri8", "bosh3", "fehlberg2", "adaptive_heun", *fixed):
    field = Linear()
    options = {"options": {"step_size": 0.05}} if method in fixed else {}
    solution = torchdiffeq.odeint(field, start, times, method=method, **options)
    solution.sum().backward()
    error = (solution - exact).abs().max().item()
    print(method, error < (0.5 if "euler" in method else 1e-2), f"{field.matrix.grad.sum().item():.5f}")

field = Linear()
torchdiffeq.odeint_adjoint(field, start, times).sum().backward()
print(f"adjoint {field.matrix.grad.sum().item():.5f}")
with torch.no_grad():
    scipy_solution = torchdiffeq.odeint(field, start, times, method="scipy_solver", options={"solver": "RK45"})
print(f"scipy {(scipy_solution - exact).abs().max().item() < 1e-5}")
moment, state = torchdiffeq.odeint_event(
    lambda t, y: torch.ones_like(y), torch.tensor([0.0]), torch.tensor(0.0), event_fn=lambda t, y: y - 1.5
)
print(f"event {moment.item():.5f} {state[-1].item():.5f}")
point = start.clone().requires_grad_(True)
moments = torch.linspace(0.0, 1.0, 3).requires_grad_(True)
print(torch.autograd.gradcheck(lambda y, t: torchdiffeq.odeint(Linear(), y, t, method="rk4"), (point, moments)))

# What the adjoint method keeps hangs on the node; a solver tells of its steps; complex states.
solution = torchdiffeq.odeint_adjoint(Linear(), start, times, adjoint_options={"norm": "seminorm"})
norm, seen = solution.grad_fn.adjoint_options["norm"], []
solution.grad_fn.adjoint_options["norm"] = lambda state: seen.append(len(state)) or norm(state)
solution.sum().backward()
print(set(seen))


class Counting(Linear):
    steps = 0

    def callback_step(self, t0, y0, dt):
        self.steps += 1


counting = Counting()
torchdiffeq.odeint(counting, start, times)
print(counting.steps)
state = torch.tensor([1.0, 0j], requires_grad=True)
torchdiffeq.odeint(lambda t, z: 1j * z.flip(0), state, times).abs().sum().backward()
print(" ".join(f"{value:.5f}" for value in torch.view_as_real(state.grad).reshape(-1).tolist()))
