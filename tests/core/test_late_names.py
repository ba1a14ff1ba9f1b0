"""The tables of names that are written by commands are up to date, and importing stays light."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_table_of_late_names_is_up_to_date():
    code = "from pullback.functional import late; print(late.text(), end='')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    written = (ROOT / "pullback" / "functional" / "names.py").read_text()
    assert done.stdout == written, "run: python -m pullback.functional.late"


def test_import_needs_numpy_alone_and_loads_few_modules():
    code = "import sys, pullback; print(*sorted(m for m in sys.modules if '.' not in m or m.startswith('pullback.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert not loaded & {"scipy", "torch", "ml_dtypes", "opt_einsum", "rich", "tqdm", "matplotlib", "unittest"}
    of_every_program = (
        "", ".indices", ".like", ".memory", ".order", ".places", ".products", ".rectifier", ".threads", ".thresholds",
    )  # fmt: skip
    loaded -= {"pullback.kernels" + name for name in of_every_program}
    assert not {
        m for m in loaded if m.startswith(("pullback.nn", "pullback.optim", "pullback.func.", "pullback.kernels"))
    }


@pytest.mark.parametrize("name", ["std", "gather", "cumsum", "median", "einsum", "randn", "manual_seed", "erf"])
def test_a_late_name_works_as_function_and_is_listed(name):
    code = f"import pullback; assert callable(pullback.{name}); assert {name!r} in dir(pullback)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_late_method_says_what_it_does_before_its_first_use():
    code = (
        "import pullback as t; assert t.Tensor.gather.__doc__ and t.ones(2).cumsum.__doc__ and t.Tensor.explain.__doc__"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_subclass_that_extends_a_late_method_is_asked_once():
    code = """if True:
        import pullback
        class Logged(pullback.Tensor):
            def cumsum(self, dim):
                print("cumsum")
                return super().cumsum(dim)
        assert pullback.ones(3).as_subclass(Logged).cumsum(0).tolist() == [1, 2, 3]
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "cumsum\n"
