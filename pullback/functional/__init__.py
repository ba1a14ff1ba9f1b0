"""torch's functions: names, arguments, checks and dtype promotion, on top of the operations in `ops/`.

One module for each family; `registry.py` collects what becomes a name of the package, a method of Tensor or an
in-place method. Importing this package fills the registry.
"""

from . import arithmetic  # noqa: F401
from . import comparison  # noqa: F401
from . import copying  # noqa: F401
from . import division  # noqa: F401
from . import elementary  # noqa: F401
from . import indexing  # noqa: F401
from . import matmul  # noqa: F401
from . import reductions  # noqa: F401
from . import shape  # noqa: F401
