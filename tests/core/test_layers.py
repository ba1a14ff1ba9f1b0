"""Imports point downwards: what a module imports, when it is loaded or in a function, lies in its own layer or below.

Where a layer calls what is loaded later, or never, it does so through `pullback/core/seams.py` (docs/architecture.md).
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "pullback"

# From the ground up. A name is a module or a package of `pullback`; the longest one that fits counts.
LAYERS = (
    "core.basics core.seams torch_version utils._pytree utils._pytree_paths utils.hooks version",
    "kernels",
    "ops",
    "autograd core transforms",
    "fft functional linalg masked multiprocessing.sharing quasirandom random return_types shell.interop special storage",
    "amp array_api autograd.functional autograd.functional_checks autograd.gradcheck autograd.gradcheck_passes "
    "autograd.profiler distributed distributions explaining func functional.meta fx implicit library multi multiprocessing nn "
    "optim optimize overrides profiler serialization shell signal sparse testing utils",
)
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}

# The exceptions, all of them.
UPWARDS = {
    ("core.basics.on_demand", "shell.torch_names.lookup"): "errors about names that are missing say what is near",
    ("ops", "core.op"): "the words operations are written in",
    ("ops", "core.kernel"): "the same",
    ("ops", "core.unbroadcast"): "the transposes of broadcasting",
    ("ops", "core.mostly_zeros"): "gradients of tables and of classes picked: the few values that are not zero",
    ("ops.scatter_reduce", "core.tensor"): "products ask whether their zeros have a history",
    ("functional.explanations", "explaining"): "`loss.explain()` is a method of tensors",
    ("functional.layers", "nn.functional"): "`torch.layer_norm` and others are those of layers",
    ("functional.recurrence", "nn.functional"): "`torch.lstm` drops what `nn.functional.dropout` drops",
    ("functional.sparse_forms", "sparse"): "`x.to_sparse()` is a method of tensors",
    ("functional.tensor_facts", "shell.dispatch_subclasses"): "subclasses are made by methods of tensors",
    (
        "functional.methods",
        "shell.dispatch_subclasses",
    ): "tensors without elements are copied and pickled by their classes",
    ("shell.interop", "array_api"): "`x.__array_namespace__()` is a method of tensors",
    ("shell.interop.numpy_arrays", "nn.functional"): "`np.pad` and `np.convolve` are what layers compute",
    ("storage", "serialization"): "a storage that torch has pickled is a file in memory",
}


def modules() -> Iterator[tuple[str, Path]]:
    """Dotted names below `pullback`, as they are imported, and files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


NAMES = {name for name, _ in modules()}


def imported(name: str, path: Path) -> Iterator[str]:
    """What of `pullback` a file imports, while it is loaded or when one of its functions is called."""
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (home for home, _ in homes(name, path, node) if home is not None)


def homes(name: str, path: Path, node: ast.Import | ast.ImportFrom) -> list[tuple[str | None, bool]]:
    """The module behind each name of an import, None for other packages', and whether the name is that module."""
    if isinstance(node, ast.Import):
        return [
            (alias.name.removeprefix("pullback."), True) if alias.name.startswith("pullback.") else (None, False)
            for alias in node.names
        ]
    base = node.module or ""
    if node.level:
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
    elif base.partition(".")[0] != "pullback":
        return [(None, False) for _ in node.names]
    else:
        base = base.removeprefix("pullback").lstrip(".")
    full = [f"{base}.{alias.name}".lstrip(".") for alias in node.names]
    return [(each, True) if each in NAMES else (base, False) for each in full]


@functools.cache
def imports() -> set[tuple[str, str]]:
    """(who, whom), each by its name below `pullback`."""
    return {
        (name, other)
        for name, path in modules()
        if name not in ("", "__main__")
        for other in imported(name, path)
        if other
    }


def within(name: str, place: str) -> bool:
    return f"{name}.".startswith(f"{place}.")


def test_every_room_has_a_layer():
    assert [name for name in sorted(NAMES - {"", "__main__"}) if placed(name) is None] == []
    assert set(RANKS) <= NAMES


def placed(name: str) -> int | None:
    """The layer of a module: that of itself or of the innermost package that has one."""
    while name and name not in RANKS:
        name = name.rpartition(".")[0]
    return RANKS.get(name)


def rank(name: str) -> int:
    """The same; stand-ins go by names of their own."""
    found = placed(name)
    return RANKS["shell"] if found is None else found


def test_imports_point_downwards():
    found = sorted(edge for edge in imports() if rank(edge[1]) > rank(edge[0]))
    excused = {
        edge: [place for place in UPWARDS if within(edge[0], place[0]) and within(edge[1], place[1])] for edge in found
    }
    assert [edge for edge, places in excused.items() if not places] == []
    assert len(UPWARDS) <= 20
    assert set(UPWARDS) == {place for places in excused.values() for place in places}, "an exception that is not needed"


STAND_INS = "shell.stand_ins"


def test_stand_ins_are_imported_by_their_own_names():
    """`shell/stand_ins/cuda` is `pullback.cuda`; under a second name it would be a second module."""
    assert [edge for edge in imports() if within(edge[1], STAND_INS) and not within(edge[0], STAND_INS)] == []


def test_no_source_asks_a_dtype_for_what_it_has_not():
    found = re.compile(
        r"(?<!jax)\.numpy\b(?![(\w])|(?<!np\.)\b\w*dtype\(\w*\)\.(kind|name|category)\b|result_type\(.*\)\.(kind|name)\b"
    )
    for path in PACKAGE.rglob("*.py"):
        text = "\n".join(line for line in path.read_text().splitlines() if "np.result_type" not in line)
        match = found.search(text)
        assert match is None, f"{path.name}: {match and match[0]} of a dtype is _numpy, _name, kind_of(x)"


# Classes that several modules make: what each of them adds is a table of its own.
SHARED_CLASSES = {
    ("array_api._operators", "array_api._array"): "operators are the namespace's functions, which make arrays",
    ("functional.methods", "core.tensor"): "functions announced in `functional/` become methods of Tensor",
}
SWITCHES = {("shell.stand_ins._C", "utils.deterministic"): "sets the property of a module that programs set"}


def completed(name: str, path: Path) -> Iterator[tuple[str, bool]]:
    """Modules of which a file sets attributes, and whether of the module itself (else of what it imports from there)."""
    tree, known = ast.parse(path.read_text()), {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias, home in zip(node.names, homes(name, path, node), strict=True):
                known[alias.asname or alias.name.split(".")[0]] = home
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda))]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            owners = [each.value for each in targets if isinstance(each, ast.Attribute)]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
            owners = node.args[:1]
        else:
            continue
        for owner in owners:
            home, is_module = known.get(getattr(owner, "id", ""), (None, False))
            if home and (is_module or isinstance(node, ast.Call) or id(node) not in inside):
                yield home, is_module


def test_no_module_completes_another():
    """A module is whole when it is loaded; where it calls what is loaded later it goes through `core/seams.py`."""
    found = {
        (name, home) for name, path in modules() if name not in ("", "__main__") for home, _ in completed(name, path)
    }
    allowed = set(SHARED_CLASSES) | set(SWITCHES)
    assert found - allowed == set()
    assert allowed - found == set(), "an exception that is not needed"


def test_completing_is_seen(tmp_path):
    """Assignments to modules anywhere, and to their classes at the top of a file."""
    file = tmp_path / "general.py"
    file.write_text("""
from . import tape, views as seen
from .node import Node
from numpy import ndarray
tape.apply_special = 1
Node.show = 2
ndarray.x = 3
def f(node):
    seen.look = 4
    Node.cache = 5
    node.x = 6
    setattr(Node, "y", 7)
""")
    assert sorted(completed("core.general", file)) == [
        ("core.node", False), ("core.node", False), ("core.tape", True), ("core.views", True),
    ]  # fmt: skip
