"""torch's functions: names, arguments, checks and dtype promotion, on top of the operations in `ops/`.

One module for each family; `registry.py` collects what becomes a name of the package, a method of Tensor or an
in-place method. Importing this package fills the registry.
"""

from . import arithmetic  # noqa: F401
from . import comparison  # noqa: F401
from . import contraction  # noqa: F401
from . import copying  # noqa: F401
from . import division  # noqa: F401
from . import elementary  # noqa: F401
from . import indexing  # noqa: F401
from . import linear_algebra  # noqa: F401
from . import matmul  # noqa: F401
from . import reductions  # noqa: F401
from . import shape  # noqa: F401
from . import pairwise  # noqa: F401
from . import statistics  # noqa: F401
from . import cumulative  # noqa: F401
from . import searching  # noqa: F401
from . import special_functions  # noqa: F401
from . import windows  # noqa: F401
from . import joining  # noqa: F401
from . import rearranging  # noqa: F401
from . import scatter  # noqa: F401
from . import selection  # noqa: F401
from . import spectral  # noqa: F401
from . import subviews  # noqa: F401
from . import random_sampling  # noqa: F401
from . import random_gamma  # noqa: F401
from . import grids  # noqa: F401
