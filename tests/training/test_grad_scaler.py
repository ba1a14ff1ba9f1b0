"""GradScaler on the CPU: the same calls in both libraries leave the same factors, parameters and complaints."""

from __future__ import annotations

import pickle
import warnings

import pytest

import pullback

torch = pytest.importorskip("torch")

# Each row is a program: statements and expressions on p (a parameter), o (SGD), s (a scaler with factor 8).
PROGRAMS = """
s.update()
s.step(o)
s.unscale_(o)
s.scale(p.sum()); s.update()
s.scale(p.sum()); s.step(o)
s.scale(p.sum()); s.step(o, closure=lambda: 1)
s.scale((p * 2).sum()).backward(); s.unscale_(o); p.grad; s.step(o); s.update(); s.get_scale()
s.scale(p.sum()).backward(); s.unscale_(o); s.unscale_(o)
s.scale(p.sum()).backward(); s.step(o); s.step(o)
s.scale(p.sum()).backward(); s.step(o); s.unscale_(o)
s.scale((p * float('inf')).sum()).backward(); s.step(o); s.update(); s.state_dict(); p
s.scale((p * float('nan')).sum()).backward(); s.step(o); s.update(); s.get_scale()
s.scale(p.sum()).backward(); s.step(o); s.update(); s.scale(p.sum()).backward(); s.step(o); s.update(); s.state_dict()
s.scale([p.sum(), p.max()])
s.scale(3)
s.scale(p.sum()); s.update(4.0); s.get_scale()
s.scale(p.sum()); s.update(torch.tensor(16.0)); s.get_scale(); s._get_growth_tracker()
s.scale(p.sum()); s.update(torch.ones(2))
s.set_growth_factor(3.0); s.set_backoff_factor(0.25); s.set_growth_interval(5); s.state_dict()
s.load_state_dict({})
s.load_state_dict({'scale': 2.0, 'growth_factor': 3.0, 'backoff_factor': 0.1, 'growth_interval': 7, '_growth_tracker': 3})
pickle.loads(pickle.dumps(s)).state_dict()
torch.amp.GradScaler('cpu', growth_factor=1.0)
torch.amp.GradScaler('cpu', backoff_factor=1.0)
torch.autocast('foo')
torch.autocast(3)
torch.autocast('cpu', dtype=torch.float64)._enabled
torch.get_autocast_dtype('cpu'), torch.is_autocast_enabled('cpu'), torch.is_autocast_enabled()
""".strip().splitlines()


def shown(value: object) -> str:
    """A value without the names of the libraries."""
    return repr(value.tolist() if hasattr(value, "tolist") else value).replace("requires_grad=True", "")


def transcript(library: object, program: str, enabled: bool) -> list[str]:
    p = library.nn.Parameter(library.ones(3))
    scaler = library.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, enabled=enabled)
    names = {"torch": library, "pickle": pickle, "p": p, "o": library.optim.SGD([p], lr=0.1), "s": scaler}
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in program.split("; "):
            try:
                lines.append(shown(eval(part, names)).split(", grad_fn")[0])
            except Exception as error:
                lines.append(f"{type(error).__name__}: {str(error).split('. ')[0].rstrip('.')}")
                break
    return [*lines, shown(p)]


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: str, enabled: bool) -> None:
    assert transcript(pullback, program, enabled) == transcript(torch, program, enabled)


def test_what_unscaling_found() -> None:
    for library in (torch, pullback):
        p = library.nn.Parameter(library.ones(2))
        optimizer, scaler = library.optim.SGD([p]), library.amp.GradScaler("cpu")
        scaler.scale((p * float("inf")).sum()).backward()
        scaler.unscale_(optimizer)
        assert [value.item() for value in scaler._found_inf_per_device(optimizer).values()] == [1.0]


@pytest.mark.parametrize("fused", [False, True])
def test_training_with_adam(fused: bool) -> None:
    found = []
    for library in (torch, pullback):
        library.manual_seed(0)
        net = library.nn.Linear(4, 2)
        optimizer = library.optim.Adam(net.parameters(), lr=0.1, fused=fused)
        scaler = library.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
        x = library.arange(12.0).reshape(3, 4) / 12
        for step in range(5):
            optimizer.zero_grad()
            with library.autocast("cpu"):
                loss = library.nn.functional.l1_loss(net(x), library.ones(3, 2))
            scaler.scale(loss * float("inf") if step == 2 else loss).backward()
            scaler.step(optimizer)
            scaler.update()
        found.append((scaler.get_scale(), net.weight.tolist()))
    assert found[0][0] == found[1][0]
    assert found[1][1] == [pytest.approx(row, abs=2e-2) for row in found[0][1]]
