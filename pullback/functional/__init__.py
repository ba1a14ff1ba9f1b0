"""torch's functions: names, arguments, checks and dtype promotion, on top of the operations in `ops/`.

One module for each family; `registry.py` collects what becomes a name of the package, a method of Tensor or an
in-place method. Importing this package fills the registry.
"""
