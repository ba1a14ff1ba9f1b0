"""SciPy and scikit-learn on tensors, through the Array API: the same numbers as on arrays, and gradients where there are any.

SciPy reads `SCIPY_ARRAY_API` when it is imported, so the programs run in processes of their own.
"""

import importlib.util
import os
import subprocess
import sys

import pytest

SCIPY = """
import numpy as np, pullback as torch
from scipy import fft, integrate, signal, special, stats
from scipy.optimize import rosen

a, b = np.linspace(0.3, 2.0, 8), np.cos(np.arange(8.0)) + 1.5
CALLS = {
    "softmax": (special.softmax, a), "logsumexp": (special.logsumexp, a), "gammaln": (special.gammaln, a),
    "entr": (special.entr, a), "zscore": (stats.zscore, a), "skew": (stats.skew, b), "gmean": (stats.gmean, a),
    "entropy": (stats.entropy, a), "rosen": (rosen, a), "trapezoid": (integrate.trapezoid, b),
    "fftconvolve": (lambda x: signal.fftconvolve(x, x), a), "rfft": (lambda x: abs(fft.rfft(x)), a),
}
for name, (function, values) in CALLS.items():
    x = torch.tensor(values, requires_grad=True)
    result = function(x)
    assert isinstance(result, torch.Tensor) and result.requires_grad, name
    np.testing.assert_allclose(result.detach().numpy(), function(values), rtol=1e-10, err_msg=name)
    result.sum().backward()
    step = 1e-6 * np.sin(np.arange(8.0))
    slope = np.sum(function(values + step) - function(values - step)) / 2
    np.testing.assert_allclose((x.grad.numpy() * step).sum(), slope, rtol=1e-4, atol=1e-12, err_msg=name)
"""

SKLEARN = """
import numpy as np, pullback as torch
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler

X = np.sin(np.arange(60.0)).reshape(15, 4)
y = X @ np.arange(4.0) + np.cos(np.arange(15.0))
FITS = {
    "StandardScaler": lambda X, y: StandardScaler().fit_transform(X),
    "MinMaxScaler": lambda X, y: MinMaxScaler().fit_transform(X),
    "PCA": lambda X, y: PCA(2, svd_solver="full").fit_transform(X),
    "Ridge": lambda X, y: Ridge(solver="svd").fit(X, y).predict(X),
}
for name, fit in FITS.items():
    with config_context(array_api_dispatch=True):
        result = fit(torch.tensor(X), torch.tensor(y))
        assert isinstance(result, torch.Tensor), name
    np.testing.assert_allclose(result.numpy(), fit(X, y), rtol=1e-8, atol=1e-10, err_msg=name)
with config_context(array_api_dispatch=True):
    assert np.isclose(r2_score(torch.tensor(y), torch.tensor(y * 1.1)), r2_score(y, y * 1.1))
"""


@pytest.mark.parametrize(("package", "program"), [("scipy", SCIPY), ("sklearn", SKLEARN)])
def test_libraries_run_on_tensors(package, program):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
