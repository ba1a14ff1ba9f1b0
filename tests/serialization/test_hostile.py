"""Checkpoints that want to do harm: code, crashes, endless work, or more memory than the file."""

import ast
import io
import os
import pathlib
import pickle
import random
import struct
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from serialization_stubs import Tensor, install, tensor

import pullback.serialization
from pullback.serialization import CheckpointError, load, safetensors, save

try:
    import torch
except ImportError:
    torch = None


@pytest.fixture(autouse=True)
def stub_tensor(monkeypatch):
    install(monkeypatch.setattr)


def archive(pickled, compression=zipfile.ZIP_STORED, **records):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in {"data.pkl": pickled, "version": b"3\n", **records}.items():
            file.writestr(f"archive/{name}", content)
    return buffer.getvalue()


def run(pickled, **records):
    return load(io.BytesIO(archive(pickled, **records)))


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def storage(kind=b"ctorch\nFloatStorage\n", key="0", count=b"K\x04", extra=b""):
    return b"(" + text("storage") + kind + text(key) + text("cpu") + count + extra + b"tQ"


FLOATS = storage()


def rebuild(view, storage=FLOATS, flags=b"\x89ccollections\nOrderedDict\n)R", function=b"_rebuild_tensor_v2"):
    return b"\x80\x02ctorch._utils\n" + function + b"\n(" + storage + view + flags + b"tR."


def laughs(levels, opening, double):
    return b"\x80\x02" + opening + double * levels + b"."


FROM_TYPE = b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\nq\x00("
COMMAND = text("touch owned")
FOUR = rebuild(b"K\x00K\x04\x85K\x01\x85")[2:-1]
FOUR_FLOATS = {"data/0": b"\x00" * 16}
MALICIOUS = {
    "reduce os.system": b"\x80\x02cos\nsystem\n" + COMMAND + b"\x85R.",
    "reduce posix.system": b"\x80\x02cposix\nsystem\n" + COMMAND + b"\x85R.",
    "reduce eval": b"\x80\x02c__builtin__\neval\n" + text("1") + b"\x85R.",
    "reduce exec, python 3 name": b"\x80\x02cbuiltins\nexec\n" + text("1") + b"\x85R.",
    "getattr": b"\x80\x02cbuiltins\ngetattr\n" + text("a") + text("b") + b"\x86R.",
    "import": b"\x80\x02cbuiltins\n__import__\n" + text("os") + b"\x85R.",
    "dotted global": b"\x80\x02ccollections\nOrderedDict.fromkeys\n]\x85R.",
    "dotted into globals": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2.__globals__\n.",
    "submodule path": b"\x80\x02ctorch.serialization.os\nsystem\n" + COMMAND + b"\x85R.",
    "our own module": b"\x80\x02cpullback.serialization.constructors\nadd_safe_globals\n]\x85R.",
    "stack_global": b"\x80\x04\x8c\x02os\x8c\x06system\x93" + COMMAND + b"\x85R.",
    "stack_global with a long name": b"\x80\x04" + text("m" * 100_000) + text("n" * 100_000) + b"\x93.",
    "stack_global of non-text": b"\x80\x04K\x01K\x02\x93.",
    "inst": b"\x80\x02(" + COMMAND + b"ios\nsystem\n.",
    "obj": b"\x80\x02(cos\nsystem\n" + COMMAND + b"o.",
    "newobj": b"\x80\x02csubprocess\nPopen\n" + COMMAND + b"\x85\x81.",
    "newobj_ex": b"\x80\x04csubprocess\nPopen\n" + COMMAND + b"\x85}\x92.",
    "obj on an allowed class": b"\x80\x02(ccollections\nOrderedDict\no.",
    "inst of an allowed class": b"\x80\x02(icollections\nOrderedDict\n.",
    "newobj_ex on an allowed class": b"\x80\x04ccollections\nOrderedDict\n)}\x92.",
    "newobj on a function": b"\x80\x02ctorch._utils\n_rebuild_parameter\n)\x81.",
    "build on a class": b"\x80\x02ccollections\nOrderedDict\n}" + text("x") + b"K\x01sb.",
    "build on a list": b"\x80\x02]}" + text("append") + b"K\x01sb.",
    "build hides a method": b"\x80\x02ccollections\nOrderedDict\n)R}" + text("items") + b"K\x01sb.",
    "build sets a class": b"\x80\x02ccollections\nOrderedDict\n)R}" + text("__class__") + b"K\x01sb.",
    "build with slots": b"\x80\x02ccollections\nOrderedDict\n)R}}\x86b.",
    "ext1": b"\x80\x02\x82\x01.",
    "ext2": b"\x80\x02\x83\x01\x00.",
    "ext4": b"\x80\x02\x84\x01\x00\x00\x00.",
    "persid": b"\x80\x02Pname\n.",
    "persistent id that is no storage": b"\x80\x02" + text("module") + b"\x85Q.",
    "persistent id that is no tuple": b"\x80\x02K\x01Q.",
    "next_buffer": b"\x80\x05\x97.",
    "reduce of data": b"\x80\x02" + text("x") + b")R.",
    "reduce with arguments that are no tuple": b"\x80\x02ccollections\nOrderedDict\n]R.",
    "memo names a global, put replaces data": b"\x80\x02cos\nsystem\nq\x000h\x00" + COMMAND + b"\x85R.",
    "memo that is empty": b"\x80\x02h\x05.",
    "memo stack underflow": b"\x80\x02q\x00.",
    "memoize underflow": b"\x80\x04\x94.",
    "setitem on a class": b"\x80\x02ccollections\nOrderedDict\nK\x01K\x01s.",
    "append to a tuple": b"\x80\x02)K\x01a.",
    "additems to a list": b"\x80\x04](K\x01\x90.",
    "appends without mark": b"\x80\x02]K\x01e.",
    "odd setitems": b"\x80\x02}(K\x01u.",
    "unhashable key": b"\x80\x02}]K\x01s.",
    "unhashable in set": b"\x80\x04\x8f(]\x90.",
    "nothing": b"\x80\x02.",
    "two results": b"\x80\x02K\x01K\x02.",
    "open mark": b"\x80\x02K\x01(K\x02.",
    "no stop": b"\x80\x02K\x01",
    "protocol 0": b"I1\n.",
    "protocol 99": b"\x80\x63N.",
    "protocol 1 string": b"\x80\x02S'x'\n.",
    "huge text": b"\x80\x02X\xff\xff\xff\xffabc.",
    "huge text 8": b"\x80\x04\x8d" + b"\xff" * 8 + b"abc.",
    "huge bytes 8": b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7fabc.",
    "huge bytearray": b"\x80\x05\x96" + b"\x00" * 7 + b"\x10.",
    "huge frame": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "huge long": b"\x80\x02\x8b\xff\xff\xff\x7f.",
    "negative long": b"\x80\x02\x8b\xff\xff\xff\xff.",
    "negative string": b"\x80\x02T\xff\xff\xff\xff.",
    "invalid utf-8": b"\x80\x02X\x01\x00\x00\x00\xff.",
    "global without end": b"\x80\x02c" + b"a" * 5000,
    "bytes of a terabyte": b"\x80\x02cbuiltins\nbytes\n\x8a\x06\x00\x00\x00\x00\x00\x01\x85R.",
    "bytearray of a terabyte": b"\x80\x02cbuiltins\nbytearray\n\x8a\x06\x00\x00\x00\x00\x00\x01\x85R.",
    "encode with another codec": b"\x80\x02c_codecs\nencode\n" + text("aaaa") + text("zip") + b"\x86R.",
    "set of a tuple bomb": b"\x80\x02cbuiltins\nset\n]" + laughs(40, b")", b"q\x00h\x00\x86")[2:-1] + b"a\x85R.",
    "key that takes 2**60 steps": b"\x80\x02}" + laughs(60, b")", b"q\x00h\x00\x86")[2:-1] + b"Ns.",
    "key a million deep": b"\x80\x02}" + b")" + b"\x85" * 1_000_000 + b"Ns.",
    "tuple a million deep": b"\x80\x02)" + b"\x85" * 1_000_000 + b".",
    "list a million deep": b"\x80\x02" + b"]" * 1_000_000 + b"a" * 999_999 + b".",
    "marks a million deep": b"\x80\x02" + b"(" * 1_000_000 + b"t" * 1_000_000 + b".",
    "integer keys with one hash": b"\x80\x02}(" + b"".join(
        b"\x8a\x0c" + (k * (2**61 - 1)).to_bytes(12, "little") + b"N" for k in range(2**20, 2**20 + 20_000)) + b"u.",
    "complex from text": b"\x80\x02cbuiltins\ncomplex\n" + text("1") + b"\x85R.",
    "size of text": b"\x80\x02ctorch\nSize\n" + text("1") + b"\x85R.",
    "counter of text": b"\x80\x02ccollections\nCounter\n" + text("1") + b"\x85R.",
    "slice of lists": b"\x80\x02cbuiltins\nslice\n]]]\x87R.",
    "parameter of a list": b"\x80\x02ctorch._utils\n_rebuild_parameter\n]\x88)\x87R.",
    "rebuild_from_type calls set": FROM_TYPE + b"cbuiltins\nset\nctorch\nTensor\n)}tR.",
    "rebuild_from_type calls itself": FROM_TYPE + b"h\x00ctorch\nTensor\n)}tR.",
    "tensor class": b"\x80\x02ctorch\nTensor\n)R.",
    "view beyond the storage": rebuild(b"K\x00K\x05\x85K\x01\x85"),
    "offset beyond the storage": rebuild(b"K\x05K\x00\x85K\x01\x85"),
    "negative offset": rebuild(b"J\xff\xff\xff\xffK\x01\x85K\x01\x85"),
    "stride beyond the storage": rebuild(b"K\x00K\x02\x85K\x04\x85"),
    "negative stride": rebuild(b"K\x03K\x02\x85J\xff\xff\xff\xff\x85"),
    "negative size": rebuild(b"K\x00J\xff\xff\xff\xff\x85K\x01\x85"),
    "enormous size, stride 0": rebuild(b"K\x00\x8a\x08" + b"\xff" * 7 + b"\x7f\x85K\x00\x85"),
    "size that wraps around": rebuild(b"K\x00" + (b"\x8a\x05\x00\x00\x00\x00\x01" * 2) + b"\x86K\x00K\x00\x86"),
    "enormous and empty": rebuild(b"K\x00\x8a\x08" + b"\xff" * 7 + b"\x7fK\x00\x86K\x01K\x01\x86"),
    "more strides than sizes": rebuild(b"K\x00K\x01\x85K\x01K\x01\x86"),
    "65 dimensions": rebuild(b"K\x00(" + b"K\x01" * 65 + b"t(" + b"K\x01" * 65 + b"t"),
    "float size": rebuild(b"K\x00G?\xf0\x00\x00\x00\x00\x00\x00\x85K\x01\x85"),
    "boolean offset": rebuild(b"\x89K\x01\x85K\x01\x85"),
    "requires_grad is a list": rebuild(b"K\x00K\x01\x85K\x01\x85", flags=b"]N"),
    "integers that require gradients": rebuild(
        b"K\x00K\x01\x85K\x01\x85", storage(b"ctorch\nIntStorage\n"), b"\x88ccollections\nOrderedDict\n)R"),
    "storage is a list": rebuild(b"K\x00K\x01\x85K\x01\x85", b"]"),
    "storage with another length": rebuild(b"K\x00K\x01\x85K\x01\x85", storage(count=b"K\x03")),
    "storage with a negative length": rebuild(b"K\x00K\x01\x85K\x01\x85", storage(count=b"J\xff\xff\xff\xff")),
    "storage that is missing": rebuild(b"K\x00K\x01\x85K\x01\x85", storage(key="1")),
    "storage with a long name": rebuild(b"K\x00K\x01\x85K\x01\x85", storage(key="k" * 100_000)),
    "storage in another folder": rebuild(b"K\x00K\x01\x85K\x01\x85", storage(key="../version")),
    "storage of no class": rebuild(b"K\x00K\x01\x85K\x01\x85", storage(b"N")),
    "storage of a container class": rebuild(b"K\x00K\x01\x85K\x01\x85", storage(b"ccollections\nOrderedDict\n")),
    "storage with too many fields": rebuild(b"K\x00K\x01\x85K\x01\x85", storage(extra=b"N")),
    "dtype that is text": rebuild(
        b"K\x00K\x01\x85K\x01\x85", flags=b"\x89N" + text("float32"), function=b"_rebuild_tensor_v3"),
    "flags that are a tensor": rebuild(b"K\x00K\x01\x85K\x01\x85", flags=b"\x89N" + FOUR),
    "negation of booleans": rebuild(
        b"K\x00K\x01\x85K\x01\x85", storage(b"ctorch\nBoolStorage\n", count=b"K\x10"),
        b"\x89N}" + text("neg") + b"\x88s"),
    "unknown flag": rebuild(b"K\x00K\x01\x85K\x01\x85", flags=b"\x89N}" + text("other") + b"\x88s"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALICIOUS)
def test_malicious_pickles(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = time.process_time()
    with pytest.raises(CheckpointError) as caught:
        run(MALICIOUS[name], **FOUR_FLOATS)
    assert isinstance(caught.value, pickle.UnpicklingError) and isinstance(caught.value, RuntimeError)
    assert len(str(caught.value)) < 2000 and time.process_time() - start < 8
    assert os.listdir(tmp_path) == []


def test_harmless_relatives_of_the_malicious_pickles():
    """The corpus above fails for the reasons it names, not because its parts are malformed."""
    ones = np.ones(4, np.float32).tobytes()
    result = run(rebuild(b"K\x01K\x03\x85K\x01\x85"), **{"data/0": ones})
    assert isinstance(result, Tensor) and result.array.tolist() == [1, 1, 1]
    assert run(rebuild(b"K\x00M\xff\xff\x85K\x00\x85"), **{"data/0": ones}).array.shape == (65535,)
    assert run(laughs(60, b"]", b"q\x000]h\x00ah\x00a"))[0][0] is not None
    assert run(b"\x80\x02}" + laughs(5, b")", b"q\x00h\x00\x86")[2:-1] + b"Ns.")
    assert run(b"\x80\x02ccollections\nOrderedDict\n)R}" + text("_metadata") + b"K\x01sb.")._metadata == 1
    assert run(b"\x80\x04\x8c\x0bcollections\x8c\x0bOrderedDict\x93)R.") == {}
    conjugate = b"K\x00M\xff\xffM\xff\xff\x86K\x00K\x00\x86", FLOATS, b"\x89N}" + text("conj") + b"\x88s"
    assert run(rebuild(*conjugate), **{"data/0": ones}).array.shape == (65535, 65535)
    nested = run(b"\x80\x02" + b"]" * 900 + b"a" * 899 + b".")
    assert len(nested) == 1


def test_globals_that_end_up_as_data_are_inert():
    value = run(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.")
    assert not callable(value) and "_rebuild_tensor_v2" in repr(value)


def test_compressed_archives_are_refused():
    bomb = archive(b"\x80\x02N.", zipfile.ZIP_DEFLATED, **{"data/0": bytes(10_000_000)})
    assert len(bomb) < 20_000
    with pytest.raises(CheckpointError, match="compressed"):
        load(io.BytesIO(bomb))


def test_duplicate_and_overlapping_records_are_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("archive/data.pkl", b"\x80\x02N.")
        file.writestr("archive/data.pkl", b"\x80\x02N.")
    with pytest.raises(CheckpointError, match="two records"):
        load(io.BytesIO(buffer.getvalue()))
    data = bytearray(archive(b"\x80\x02N.", **{"data/0": b"0" * 64, "data/1": b"1" * 64}))
    entries = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02"]
    data[entries[3] + 42 : entries[3] + 46] = data[entries[2] + 42 : entries[2] + 46]
    with pytest.raises(CheckpointError, match="overlaps"):
        load(io.BytesIO(data))


def test_memory_stays_within_the_file():
    size = 4_000_000
    buffer = io.BytesIO()
    save([tensor(np.zeros(size, np.uint8)), "x"], buffer)
    data = buffer.getvalue()
    tracemalloc.start()
    try:
        load(io.BytesIO(data))
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 1.5 * len(data)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        for pickled in (MALICIOUS["huge text 8"], MALICIOUS["huge bytearray"], MALICIOUS["bytes of a terabyte"]):
            with pytest.raises(CheckpointError):
                run(pickled)
        assert tracemalloc.get_traced_memory()[1] - before < 1_000_000
    finally:
        tracemalloc.stop()


def seeds():
    """Small valid files of every kind that is read."""
    value = {"w": tensor(np.arange(6.0, dtype=np.float32)), "n": [1, "a", (2.5, None)], "p": tensor([1.0])}
    value["p"].note = {"attached": [1]}
    buffer = io.BytesIO()
    save(value, buffer)
    yield buffer.getvalue(), load
    records = zipfile.ZipFile(buffer)
    names = ("data.pkl", "data/0", "data/1", "byteorder")
    yield archive(**{"pickled": b"", **{name: records.read(f"archive/{name}") for name in names}}), load
    yield safetensors.save({"w": np.arange(6.0), "b": np.ones((2, 2), np.int8)}), load_safetensors
    if torch is not None:
        for options in ({}, {"_use_new_zipfile_serialization": False}):
            buffer = io.BytesIO()
            value = {"w": torch.arange(6.0), "n": [1, "a"], "s": {1}, "o": torch.nn.Linear(2, 2).state_dict()}
            torch.save(value, buffer, **options)
            yield buffer.getvalue(), load


def load_safetensors(file):
    return safetensors.load(file.read())


def mutate(data, source):
    data = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 4))):
        position = source.randrange(len(data))
        action = source.randrange(6)
        if action == 0:
            data[position] ^= 1 << source.randrange(8)
        elif action == 1:
            data[position] = source.choice((0, 1, 0x7F, 0x80, 0xFF, *b"(.RQbcht\x81\x85\x93"))
        elif action == 2:
            del data[position : position + source.randrange(1, 20)]
        elif action == 3:
            data[position:position] = data[source.randrange(len(data)) :][: source.randrange(1, 20)]
        elif action == 4:
            length = source.choice((2, 4, 8))
            data[position : position + length] = source.choice((b"\xff", b"\x00", b"\x7f")) * length
        else:
            del data[position:]
        if not data:
            break
    return bytes(data)


def mutate_pickle(data, source):
    """Change the pickle only and repair the archive around it, so that the interpreter is what is tested."""
    records = zipfile.ZipFile(io.BytesIO(data))
    prefix = records.namelist()[0].split("/")[0]
    contents = {name[len(prefix) + 1 :]: records.read(name) for name in records.namelist()}
    contents = {name: content for name, content in contents.items() if "pullback" not in name}
    pickled = mutate(contents.pop("data.pkl"), source)
    return archive(pickled, **contents)


def test_fuzz():
    """Mutants load or raise CheckpointError, quickly: nothing else may escape."""
    rounds = int(os.environ.get("PULLBACK_FUZZ_ROUNDS", "500"))
    source = random.Random(20260101)
    outcomes = {"loaded": 0, "refused": 0}
    for data, reader in seeds():
        reader(io.BytesIO(data))
        kinds = [mutate, mutate_pickle] if data.startswith(b"PK") else [mutate]
        for kind in kinds:
            for _ in range(rounds):
                mutant = kind(data, source)
                try:
                    reader(io.BytesIO(mutant))
                    outcomes["loaded"] += 1
                except CheckpointError:
                    outcomes["refused"] += 1
    assert outcomes["refused"] > 3 * outcomes["loaded"] and outcomes["loaded"] > 0


def test_only_the_trusted_path_unpickles():
    """`pickle` readers appear in one module, which is imported for weights_only=False alone."""
    unsafe = {"pickle", "_pickle", "pickletools", "marshal", "shelve", "dill"}
    folder = pathlib.Path(pullback.serialization.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in unsafe:
                # errors, and a list of operations that runs none
                allowed = {"errors.py": "UnpicklingError", "writer.py": "PicklingError", "options.py": "genops"}
                assert [name.name for name in node.names] == [allowed[path.name]]
            if isinstance(node, ast.Import) and unsafe & {name.name for name in node.names}:
                assert path.name == "__init__.py"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__")
    sys.modules.pop("pullback.serialization.general", None)
    run(b"\x80\x02K\x01.")
    assert "pullback.serialization.general" not in sys.modules
