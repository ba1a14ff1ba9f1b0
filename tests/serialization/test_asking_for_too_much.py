"""Small files that ask for much, and files that look alike and must load: real tensors, all that a pickle can repeat."""

import gc
import io
import struct
import weakref
import zipfile

import numpy as np
import pytest

import pullback
from pullback.serialization import CheckpointError

COUNT, TIMES = 2_000, 6_000


def archive(pickled, **records):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in {"data.pkl": b"\x80\x02" + pickled + b".", "version": b"3\n", **records}.items():
            file.writestr(f"archive/{name}", content)
    buffer.seek(0)
    return buffer


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def calls(function, arguments, target=b"", call=b"R"):
    """A pickle that makes the same call any number of times: function and arguments are written once."""
    start = b"c" + function + b"\nq\x010" + arguments + b"q\x020]("
    return lambda times: start + (b"h\x01" + target + b"h\x02" + call) * times + b"e"


NUMBERS = b"](" + b"".join(b"J" + struct.pack("<i", n) for n in range(COUNT)) + b"e"
PAIRS = b"](" + b"".join(b"J" + struct.pack("<i", n) + b"N\x86" for n in range(COUNT)) + b"e"
TABLE = b"}(" + b"".join(text(str(n)) + b"N" for n in range(COUNT)) + b"u"
BYTES = b"B" + struct.pack("<I", COUNT) + b"a" * COUNT
SPARSE = b"ctorch.serialization\n_get_layout\n" + text("torch.sparse_coo") + b"\x85R"


def tensor(kind, key, count, size, stride):
    storage = b"(" + text("storage") + b"ctorch\n" + kind + b"\n" + text(key) + text("cpu") + number(count) + b"tQ"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + size + stride + b"\x89NtR"


PLACES = tensor(b"LongStorage", "0", COUNT, b"K\x01" + number(COUNT) + b"\x86", number(COUNT) + b"K\x01\x86")
VALUES = tensor(b"FloatStorage", "1", COUNT, number(COUNT) + b"\x85", b"K\x01\x85")
MATRIX = SPARSE + b"(" + PLACES + VALUES + number(COUNT) + b"\x85\x89t\x86"
REPEATED = {
    "text as bytes": calls(b"_codecs\nencode", text("a" * COUNT) + b"\x85"),
    "bytes": calls(b"builtins\nbytes", b"](" + b"K\x01" * COUNT + b"e\x85"),
    "bytearray": calls(b"builtins\nbytearray", BYTES + b"\x85"),
    "set": calls(b"builtins\nset", NUMBERS + b"\x85"),
    "frozenset": calls(b"builtins\nfrozenset", NUMBERS + b"\x85"),
    "sizes": calls(b"torch\nSize", NUMBERS + b"\x85"),
    "pairs": calls(b"collections\nOrderedDict", PAIRS + b"\x85"),
    "counts": calls(b"collections\nCounter", TABLE.replace(b"N", b"K\x01") + b"\x85"),
    "attributes": calls(b"collections\nOrderedDict", TABLE, target=b")R", call=b"b"),
    "attributes of tensors": calls(
        b"torch._tensor\n_rebuild_from_type_v2",
        b"(ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n(" + VALUES[34:-1] + TABLE + b"t",
    ),
    "sparse": calls(b"torch._utils\n_rebuild_sparse_tensor", MATRIX),
    "long keys": lambda times: b"}q\x03(" + b"K\x01" * 900 + b"tq\x040" + b"h\x04Ns" * times,
}  # fmt: skip
AT_ONCE = {
    "sparse, with places that are one number shown often": b"ctorch._utils\n_rebuild_sparse_tensor\n" + SPARSE + b"("
    + tensor(b"LongStorage", "0", COUNT, b"K\x01" + number(2**40) + b"\x86", b"K\x00K\x00\x86")
    + tensor(b"FloatStorage", "1", COUNT, number(2**40) + b"\x85", b"K\x00\x85") + b"K\x05\x85\x89t\x86R",
    "parameter of integers": b"ctorch._utils\n_rebuild_parameter\n(" + PLACES + b"\x88NtR",
    "rows of a sparse matrix that hold more than there is": b"ctorch._utils\n_rebuild_sparse_tensor\n"
    + SPARSE.replace(struct.pack("<I", 16) + b"torch.sparse_coo", struct.pack("<I", 16) + b"torch.sparse_csr") + b"("
    + tensor(b"LongStorage", "2", 2, b"K\x02\x85", b"K\x01\x85") + tensor(b"LongStorage", "0", COUNT, b"K\x01\x85", b"K\x01\x85")
    + tensor(b"FloatStorage", "1", COUNT, b"K\x01\x85", b"K\x01\x85") + b"K\x01K\x01\x86t\x86R",
}  # fmt: skip
RECORDS = {"data/0": bytes(8 * COUNT), "data/1": bytes(4 * COUNT), "data/2": struct.pack("<2q", 0, 10**11)}


@pytest.mark.parametrize("name", REPEATED)
def test_a_file_cannot_ask_for_much_more_than_its_size(name):
    assert pullback.load(archive(REPEATED[name](2), **RECORDS))
    with pytest.raises(CheckpointError, match="size accounts for"):
        pullback.load(archive(REPEATED[name](TIMES), **RECORDS))


@pytest.mark.parametrize("name", AT_ONCE)
def test_a_tensor_cannot_claim_what_is_not_there(name):
    with pytest.raises(CheckpointError, match="size accounts for|not hold together|cannot be one"):
        pullback.load(archive(AT_ONCE[name], **RECORDS))


def collisions(count):
    """Pairs of integers that have one hash."""
    first, second, fifth, mask = 11400714785074694791, 14029467366897019727, 2870177450012600261, (1 << 64) - 1
    back = pow(second, -1, 1 << 64)
    turned = 12345 * pow(first, -1, 1 << 64) & mask
    target = ((turned >> 31) | (turned << 33)) & mask
    number = 1
    while count:
        number += 1
        lane = (fifth + number * second) & mask
        lane = (((lane << 31) | (lane >> 33)) & mask) * first & mask
        other = (target - lane) * back & mask
        other -= (other >> 63) << 64
        if abs(other) < (1 << 61) - 1 and other != -1:
            count -= 1
            yield number, other


def test_keys_of_one_hash():
    keys = list(collisions(2000))
    if len({hash(key) for key in keys}) > 1:
        pytest.skip("another Python, with other hashes")
    written = [number(a) + number(b) + b"\x86" for a, b in keys]
    for pickled in (
        b"}(" + b"".join(key + b"N" for key in written) + b"u",
        b"}" + b"".join(key + b"Ns" for key in written),
        b"cbuiltins\nset\n](" + b"".join(written) + b"e\x85R",
    ):
        with pytest.raises(CheckpointError, match="of one hash"):
            pullback.load(archive(pickled))


def highly_shared():
    base, key = pullback.arange(100.0), (1, (2, 3))
    sparse = pullback.sparse_coo_tensor(pullback.arange(50)[None], pullback.ones(50), (50,))
    return [
        [base[i:] for i in range(99)] * 50,
        [pullback.zeros(1).expand(10_000_000, 7) for _ in range(300)],
        [pullback.zeros(0) for _ in range(1000)],
        [{key: i, (-1, i): (-2, i)} for i in range(5000)],
        {(a, b, c): 0 for a in range(-2, 3) for b in range(-2, 3) for c in range(-2, 3)},
        [sparse] * 1000,
        [sparse.detach() for _ in range(100)],
        [b"x" * n for n in range(300)],
        [b"y" * 100_000] * 3000,
        [pullback.Size(range(60)) for _ in range(300)],
        [set(range(n)) for n in range(200)],
        [pullback.nn.Parameter(base) for _ in range(500)],
        pullback.ones(1, 1, 1, 1, 1, 1, 1, 1, 1),
    ]


@pytest.mark.parametrize("index", range(13))
@pytest.mark.parametrize("zipped", [True, False])
def test_what_is_large_but_honest_loads(index, zipped):
    value, file = highly_shared()[index], io.BytesIO()
    pullback.save(value, file, _use_new_zipfile_serialization=zipped)
    back = pullback.load(io.BytesIO(file.getvalue()))
    assert type(back) is type(value) and len(back) == len(value)
    if not isinstance(value, list):
        assert str(back) == str(value)


def models():
    net = pullback.nn.Sequential(pullback.nn.Linear(3, 2), pullback.nn.BatchNorm1d(2))
    optimizer = pullback.optim.Adam(net.parameters())
    net(pullback.randn(4, 3)).sum().backward()
    optimizer.step()
    return net, optimizer


def formats():
    """How to write a value and read it: what the program then holds must die with its last name."""
    for zipped in (True, False):
        for options in ({}, {"weights_only": False}, {"map_location": "cpu"}, {"map_location": lambda s, place: s}):
            yield {"_use_new_zipfile_serialization": zipped}, options
    yield {}, {"mmap": True}
    yield {"pickle_module": __import__("pickle")}, {"weights_only": False}


@pytest.mark.parametrize(("written", "read"), list(formats()))
def test_nothing_waits_for_the_garbage_collector(written, read, tmp_path):
    net, optimizer = models()
    base = pullback.arange(6.0)
    values = {
        "tensors": [base, base[2:], base.view(2, 3).t(), pullback.nn.Parameter(pullback.ones(2))],
        "state": {"net": net.state_dict(), "optimizer": optimizer.state_dict()},
        "sparse": pullback.eye(3).to_sparse(),
    }
    if read.get("weights_only", True) is False:
        values |= {"module": net, "optimizer": optimizer}
    gc.collect()
    gc.disable()
    try:
        for name, value in values.items():
            path = tmp_path / f"{name}.pt"
            pullback.save(value, path, **written)
            known = {id(thing) for thing in gc.get_objects() if issubclass(type(thing), pullback.Tensor)}
            back = pullback.load(path, **read)
            new = [
                weakref.ref(t) for t in gc.get_objects() if issubclass(type(t), pullback.Tensor) and id(t) not in known
            ]
            new += [weakref.ref(t._array) for t in [r() for r in new] if isinstance(t._array, np.ndarray)]
            del back
            assert len(new) > 1 and not [ref() for ref in new if ref() is not None], name
    finally:
        gc.enable()


def test_saved_tensors_and_safetensors_are_let_go(tmp_path):
    from pullback.serialization import safetensors

    gc.disable()
    try:
        tensor = pullback.arange(6.0)
        module = pullback.nn.Linear(2, 2)
        for options in ({}, {"_use_new_zipfile_serialization": False}, {"pickle_module": __import__("pickle")}):
            pullback.save([tensor, module.state_dict(), module], tmp_path / "x.pt", **options)
        safetensors.save_file({"t": tensor}, tmp_path / "x.safetensors")
        back = safetensors.load_file(tmp_path / "x.safetensors")["t"]
        refs = [weakref.ref(thing) for thing in (tensor, tensor._array, module, module.weight, back, back._array)]
        del tensor, module, back
        assert [ref() for ref in refs] == [None] * len(refs)
    finally:
        gc.enable()
