"""DLPack with torch and NumPy: shared memory in both directions, of every dtype that both sides have, and what is refused."""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()


class Wrapper:
    """Something that speaks DLPack and has a length, but whose elements are not to be asked for one by one."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, *args, **options):
        return self.tensor.__dlpack__(*args, **options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __len__(self):
        return 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ways", [(pullback, torch), (torch, pullback), (pullback, pullback)], ids=["out", "in", "own"])
@pytest.mark.parametrize("capsule", [False, True], ids=["object", "capsule"])
def test_memory_is_shared(dtype, ways, capsule):
    giver, taker = ways
    source = giver.zeros(2, 3, dtype=getattr(giver, dtype))[:, ::2]
    taken = taker.from_dlpack(giver.utils.dlpack.to_dlpack(source) if capsule else source)
    assert str(taken.dtype) == str(source.dtype) and taken.shape == (2, 2) and taken is not source
    taken[1, 1] = 1
    assert source[1, 1] == 1 and source.sum() == 1


def test_tensors_are_made_of_what_speaks_dlpack():
    for library in (torch, pullback):
        wrapped = Wrapper(library.ones(3))
        assert library.tensor(wrapped).tolist() == library.as_tensor(wrapped).tolist() == [1, 1, 1]
        assert library.tensor(wrapped).data_ptr() != wrapped.tensor.data_ptr() == library.as_tensor(wrapped).data_ptr()


REFUSED = {
    "gradients": lambda t: t.from_dlpack(t.ones(2, requires_grad=True)),
    "stream": lambda t: t.ones(2).__dlpack__(stream=object()),
    "sparse": lambda t: t.eye(2).to_sparse().__dlpack__(),
    "no capsule": lambda t: t.from_dlpack(3),
    "steps between elements": lambda t: t.from_numpy(np.lib.stride_tricks.as_strided(np.arange(4.0), (2,), (3,))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_in_torch(name):
    messages = []
    for library in (torch, pullback):
        with pytest.raises((BufferError, TypeError, RuntimeError, ValueError)) as caught:
            REFUSED[name](library)
        messages.append((caught.type, str(caught.value)[:40].lower()))
    assert messages[0][0] is messages[1][0] and messages[0][1][:20] == messages[1][1][:20]
