"""`Elsewhere`: arrays of another library, as strict as CuPy's, for machines without a GPU.

It takes part in NumPy's protocols, mixes with numbers and its own kind only, and is never turned into an array of NumPy's
by accident. What it refuses was found by asking CuPy 14.2 on a GPU: functions, keywords and methods that are not there, and
ufuncs that have no `reduce`, `accumulate` or `at`, or a wrong one (of maxima). It refuses index arrays of NumPy's too, which
CuPy copies in silence.
"""

import numpy as np

MISSING = {  # functions
    "apply_over_axes", "block", "geomspace", "histogram_bin_edges", "insert", "matvec", "nanpercentile", "nanquantile",
    "spacing", "unstack", "vecdot", "vecmat", "linalg.diagonal", "linalg.matrix_norm", "linalg.multi_dot", "linalg.outer",
    "linalg.svdvals", "linalg.tensordot", "linalg.trace", "linalg.vecdot", "linalg.vector_norm", "lexsort", "choose",
}  # fmt: skip
FROM_NUMPY = {"asarray", "array"}  # they copy an array of NumPy's over when they are asked to: with `like=`
MAKERS = FROM_NUMPY | {"zeros", "arange", "tri", "empty"}  # what `like=` works for
REFUSED = {"where", "initial", "mode", "like", "device"}  # keywords, but for those below
NEVER = {"count_nonzero": {"keepdims"}}
TAKEN = {"copyto": {"where"}, "pad": {"mode"}, "qr": {"mode"}, "convolve": {"mode"}}
UFUNC_METHODS = {
    "add": {"reduce", "accumulate", "at", "outer"}, "multiply": {"reduce", "accumulate", "outer"},
    "maximum": {"outer"}, "minimum": {"outer"},
}  # fmt: skip
METHODS_MISSING = {"ctypes", "resize", "setflags", "setfield", "getfield", "to_device", "newbyteorder"}


class Flags:
    def __init__(self, flags):
        self.c_contiguous, self.f_contiguous, self.owndata = flags.c_contiguous, flags.f_contiguous, flags.owndata
        self.forc, self.fnc = flags.forc, flags.fnc


class Elsewhere(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of another library, of which this side only knows the protocols and some methods."""

    def __init__(self, array):
        self.there = array

    def get(self):
        """A copy in NumPy's memory, for those who ask."""
        return self.there.copy()

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __dlpack__(self, **_):
        raise BufferError("nobody in these tests asks for it")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        name = ufunc.__name__
        if name in MISSING or method != "__call__" and method not in UFUNC_METHODS.get(name, ()):
            return NotImplemented
        if method == "at" and not all(isinstance(value, Elsewhere) for value in inputs):
            return NotImplemented
        refuse_keywords(kwargs, REFUSED)
        if out is not None:
            kwargs["out"] = tuple(map(there, out))
        result = getattr(ufunc, method)(
            *map(there, inputs), **{k: v if k == "out" else there(v) for k, v in kwargs.items()}
        )
        return here(result) if out is None else out[0]

    def __array_function__(self, function, types, args, kwargs):
        name = ".".join([*function.__module__.split(".")[1:], function.__name__])
        if name in MISSING:
            return NotImplemented
        refuse_keywords(kwargs, REFUSED.union(NEVER.get(name, ())) - TAKEN.get(function.__name__, set()))
        if name in MAKERS and not any(isinstance(value, Elsewhere) for value in args):  # with `like=`
            found = args if name in FROM_NUMPY else there(args)
            return here(np.array(function(*found, **kwargs)))
        if name.endswith("_like") and kwargs.get("shape") == ():
            raise AssertionError("CuPy takes an empty shape for none at all, and gives the shape of the array")
        if any(isinstance(value, (tuple, list)) for value in args[:1]) and name in ("array", "asarray", "sum"):
            raise TypeError("Implicit conversion to a NumPy array is not allowed.")
        return here(function(*there(args), **there(kwargs)), numbers=name not in ("ndim", "size", "may_share_memory"))

    def __getitem__(self, index):
        return here(self.there[there(index)])

    def __setitem__(self, index, value):
        self.there[there(index)] = there(value)

    def __getattr__(self, name):
        if name.startswith("__") or name in METHODS_MISSING:
            raise AttributeError(name)
        found = getattr(self.there, name)
        if not callable(found):
            return here(found)

        def method(*args, **kwargs):
            refuse_keywords(kwargs, REFUSED)
            return here(found(*there(args), **there(kwargs)))

        return method

    flags = property(lambda self: Flags(self.there.flags))
    real = property(lambda self: here(self.there.real), lambda self, value: setattr(self.there, "real", there(value)))
    imag = property(lambda self: here(self.there.imag), lambda self, value: setattr(self.there, "imag", there(value)))

    def item(self):
        return self.there.item()

    def tolist(self):
        return self.there.tolist()

    def diagonal(self, *args):
        found = self.there.diagonal(*args)
        found.flags.writeable = True
        return Elsewhere(found)

    def __len__(self):
        return len(self.there)

    def __iter__(self):
        return (self[number] for number in range(len(self)))

    def __bool__(self):
        return bool(self.there)

    def __float__(self):
        return float(self.there)

    def __int__(self):
        return int(self.there)

    def __complex__(self):
        return complex(self.there)


def refuse_keywords(given, refused):
    found = refused.intersection(given)
    if found:
        raise TypeError(f"got an unexpected keyword argument {sorted(found)[0]!r}")


def there(value):
    """Arguments as the other library sees them; it has no use for arrays of NumPy."""
    if isinstance(value, Elsewhere):
        return value.there
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, (tuple, list)):
        return type(value)(map(there, value))
    return {key: there(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def here(value, numbers=False):
    """Results as they come back: arrays, numbers among them, are of the other library."""
    if isinstance(value, (np.ndarray, np.generic)) or numbers and type(value) in (int, float, bool):
        return Elsewhere(np.asarray(value))
    if isinstance(value, (tuple, list)):
        found = [here(entry) for entry in value]
        return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)
    return value
