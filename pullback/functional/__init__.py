"""torch's functions: names, arguments, checks and dtype promotion, on top of the operations in `ops/`.

One module for each family; `registry.py` collects what becomes a name of the package, a method of Tensor or an
in-place method. The families imported here are in every program; the others are loaded when one of their names is
first used (`late.py`, `names.py`).
"""

from . import (
    arithmetic,
    comparison,
    copying,
    division,
    elementary,
    indexing,
    joining,
    matmul,
    reductions,
    shape,
    shape_in_place,
    splitting,
    tensor_facts,
    writing,
)
