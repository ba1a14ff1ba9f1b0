"""The tables of names that are written by commands are up to date, and importing stays light."""

import ast
import importlib
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


# Modules that import others by name, and are given or make the names themselves. All else is `core/basics/on_demand.py`.
IMPORTERS = {
    "__main__.py": "the command that was named",
    "shell/cli/explain.py": "what the script that is explained has loaded",
    "functional/late.py": "writes the table of names",
    "functional/registry.py": "families of functions, which become methods as well",
    "core/basics/interrupts.py": "a module of C",
    "kernels/rectifier.py": "a module of NumPy's",
    "core/basics/on_demand.py": "the mechanism",
    "return_types.py": "modules that declare what functions return",
    "serialization/bridge.py": "a class that a checkpoint names",
    "serialization/writer.py": "a class that a checkpoint will name",
    "shell/torch_names/alias.py": "torch's names for modules",
    "shell/torch_names/legacy_types.py": "modules of devices",
    "shell/torch_names/lookup.py": "what is near a name that is missing",
    "shell/torch_names/operators.py": "functions under the names of operators",
    "shell/torch_names/placeholders.py": "modules that are imported and not here",
    "utils/_import_utils.py": "packages that may be installed",
}


def test_names_are_loaded_late_in_one_way():
    """Modules have `__getattr__ = names_on_demand(...)`, and nothing else imports modules by name."""
    package = ROOT / "pullback"
    importers, own = set(), []
    for path in package.rglob("*.py"):
        name, tree = str(path.relative_to(package)), ast.parse(path.read_text())
        if "_internal" in path.parts:
            continue
        own += [name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"]
        called = {
            getattr(node.func, "attr", getattr(node.func, "id", ""))
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
        }
        if called & {"import_module", "__import__"}:
            importers.add(name)
    assert own == []
    assert importers - set(IMPORTERS) == set() and set(IMPORTERS) - importers == set()


def test_a_name_that_is_made_is_made_each_time():
    """Found names are kept; what depends on the state of the program is not."""
    import pullback
    from pullback.autograd import forward_ad

    outside = forward_ad._current_level
    with forward_ad.dual_level():
        assert forward_ad._current_level == outside + 1
    assert forward_ad._current_level == outside
    assert "save" in vars(pullback) or pullback.save is vars(pullback)["save"]


@pytest.mark.parametrize("name", ["", ".optim", ".nn.functional", ".serialization", ".sparse", ".storage"])
def test_a_missing_name_is_an_error_that_says_so(name):
    module = importlib.import_module(f"pullback{name}")
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        module.no_such_name  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute '__no_such_name__'"):
        module.__no_such_name__  # noqa: B018
