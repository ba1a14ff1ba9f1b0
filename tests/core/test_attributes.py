"""What programs attach to tensors: `__dict__` shows that alone, subclasses hand it on by it, copies take it along."""

import copy
import pickle

import pytest

import pullback


@pytest.fixture(params=["pullback", "torch"])
def library(request):
    return pytest.importorskip(request.param)


def kinds(library):
    """Plain tensors, parameters, a subclass, and subclasses that have other classes before Tensor."""

    class Note:
        def describe(self):
            return {name: value for name, value in self.__dict__.items()}

    class Image(library.Tensor):
        pass

    class Noted(Note, library.Tensor):
        pass

    class Weight(Note, library.nn.Parameter):
        pass

    x = library.arange(3.0)
    return {
        "tensor": lambda: x.clone(), "parameter": lambda: library.nn.Parameter(x.clone()),
        "subclass": lambda: x.clone().as_subclass(Image), "mixed": lambda: x.clone().as_subclass(Noted),
        "mixed parameter": lambda: Weight(x.clone()),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["tensor", "parameter", "subclass", "mixed", "mixed parameter"])
def test_the_dictionary_of_a_tensor_holds_what_was_attached(library, kind):
    make = kinds(library)[kind]
    first, second = make(), make()
    assert dict(first.__dict__) == {} and dict(vars(first)) == {}
    first.note, first._private = "a", [1]
    assert dict(first.__dict__) == {"note": "a", "_private": [1]}
    second.other = 0
    second.__dict__ = first.__dict__.copy()
    assert second.tolist() == [0.0, 1.0, 2.0] and second.note == "a" and not hasattr(second, "other")
    second.__dict__.update(first.__dict__, note="b")
    second.__dict__["more"] = 2
    del second.__dict__["_private"]
    assert (second.note, second.more, first.note) == ("b", 2, "a")
    assert "more" in second.__dict__ and "_private" not in second.__dict__ and len(second.__dict__) == 2
    deep = copy.deepcopy(first.__dict__)
    assert type(deep) is dict and deep["_private"] is not first._private
    if kind.startswith("mixed"):
        assert first.describe() == dict(first.__dict__)
    first.__dict__ = {}
    assert dict(first.__dict__) == {} and first.sum().item() == 3.0


def test_fields_cannot_be_had_or_lost_by_it():
    x = pullback.ones(2, requires_grad=True)
    (x * x).sum().backward()
    x.register_hook(print)
    assert dict(x.__dict__) == {} and "_array" not in x.__dict__
    with pytest.raises(KeyError):
        x.__dict__["_array"]
    with pytest.raises(KeyError):
        del x.__dict__["_array"]
    x.__dict__ = {"mine": 1}
    assert x.grad.tolist() == [2.0, 2.0] and x.requires_grad and x.mine == 1


def test_copies_and_pickles_take_attributes_along():
    x = pullback.ones(2)
    x.name_of_mine, x._private = "a", [1]
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert dict(twin.__dict__) == {"name_of_mine": "a", "_private": [1]}
    assert copy.deepcopy(x)._private is not x._private
    assert pickle.loads(pickle.dumps(x.__dict__)) == {"name_of_mine": "a", "_private": [1]}


def test_a_subclass_hands_attributes_on(library):
    class Tagged(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs or {})
            if isinstance(result, cls):
                result.__dict__ = args[0].__dict__.copy()
            return result

    x = library.arange(6.0).reshape(2, 3).as_subclass(Tagged)
    x.tag = "t"
    y = (x + 1).max()
    assert y.tag == "t" and y.item() == 6.0 and y.shape == ()
