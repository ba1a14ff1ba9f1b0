"""`__torch_function__`: plain tensors pay nothing for it. What it does is compared in `programs/torch_function.py`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def output(code):
    text = "\n".join(line[8:] for line in code.splitlines())
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_mechanism_is_not_loaded_by_programs_that_do_not_need_it():
    code = """
        import sys, pullback as torch
        class Weight(torch.nn.Parameter): pass
        w = Weight(torch.ones(3))
        (torch.nn.Linear(3, 1)(w) * torch.tanh(w)).sum().backward()
        try: torch.add(w, object())
        except TypeError: pass
        redirected = "_call" in (torch.cat.__kwdefaults__ or ())
        print(type(w + 1).__name__, redirected, "pullback.overrides" in sys.modules)
    """
    assert output(code).split() == ["Tensor", "False", "False"]


def test_operators_and_attributes_of_plain_tensors_stay_as_they_are():
    code = """
        import inspect, pullback as torch
        before = {name: vars(torch.Tensor)[name] for name in ("__mul__", "__add__", "__getitem__", "shape", "grad")}
        kept, signature = torch.tanh, str(inspect.signature(torch.cat))
        class Length(torch.Tensor): pass
        assert all(vars(torch.Tensor)[name] is value for name, value in before.items())
        assert kept is torch.tanh and kept.__name__ == "tanh" and str(inspect.signature(torch.cat)) == signature
        length = torch.ones(2).as_subclass(Length)
        assert type(kept(length)) is Length and type(kept(torch.ones(2))) is torch.Tensor
        assert type(torch.sum(length, axis=0)) is Length
        import pullback.overrides as overrides
        assert overrides.resolve_name(torch.tanh) == "torch.tanh"
        assert overrides.resolve_name(torch.nn.functional.relu) == "torch.nn.functional.relu"
        assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
        assert torch.add in overrides.get_overridable_functions()[torch]
        assert torch.nn.functional.relu in overrides.get_overridable_functions()[torch.nn.functional]
        assert not overrides.is_tensor_method_or_property(torch.nn.functional.relu)
    """
    output(code)


def test_frames_of_redirected_functions_can_be_looked_at():
    """A debugger or a test runner reads the variables of every frame of a traceback; that crashed the interpreter once."""
    program = """
import pullback as torch

class Mine(torch.Tensor):
    pass

try:
    torch.ones(3).as_subclass(Mine).coalesce()
except RuntimeError as error:
    traceback = error.__traceback__
    while traceback:
        list(traceback.tb_frame.f_locals)
        traceback = traceback.tb_next
    print("looked")
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == "looked\n", result.stderr


def test_stand_ins_have_the_parameters_of_what_they_stand_for():
    code = """
        import inspect, pullback as torch
        from pullback.overrides import get_overridable_functions, get_testing_overrides
        table = get_testing_overrides()
        listed = {f for functions in get_overridable_functions().values() for f in functions}
        assert listed == set(table) and all(stand_in(1, dim=2) == -1 for stand_in in table.values())
        for function in (torch.add, torch.nn.functional.linear, torch.linalg.norm):
            assert inspect.signature(table[function]) == inspect.signature(function)
    """
    output(code)


def test_modes_can_be_listed():
    code = """
        from pullback import overrides
        assert overrides._get_current_function_mode() is None
        with overrides.BaseTorchFunctionMode() as outer, overrides.BaseTorchFunctionMode() as inner:
            assert overrides._get_current_function_mode() is inner
            assert overrides._get_current_function_mode_stack() == [outer, inner]
    """
    output(code)


def test_arguments_that_hold_themselves_are_looked_at_once():
    """In a process of its own: once a class wants to be asked, every function looks at its arguments."""
    code = """
import pullback as torch
class Asked:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked"
loop = [1]
loop.append((loop,))
assert torch.stack([Asked()]) == "asked"
try:
    torch.stack(loop)
except TypeError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.startswith("expected Tensor as element 0"), result.stderr


def test_methods_are_told_from_functions():
    code = """
        import pullback as torch
        before = torch.Tensor.unbind, torch.unbind, torch.Tensor.sum
        seen = []
        class Batch(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                seen.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})
        x = torch.ones(2, 3).as_subclass(Batch)
        x.unbind(), torch.unbind(x), x.sum()
        print(*[each is kept for each, kept in zip(seen, before)], torch.Tensor.unbind is torch.unbind)
    """
    assert output(code).split() == ["True", "True", "True", "False"]


def test_gradients_for_a_subclass_are_of_the_subclass():
    code = """
        import pullback as torch
        class Label(torch.Tensor): pass
        w = torch.ones(3, requires_grad=True)
        kept = Label(w * 2)  # the same memory and history
        (kept * 3).sum().backward()
        x = Label(torch.ones(2)).requires_grad_()
        y = x * x
        (g,) = torch.autograd.grad(y, x, torch.ones(2), create_graph=True)
        print(w.grad.tolist() == [6.0] * 3, type(g).__name__, g.requires_grad, g.tolist())
    """
    assert output(code).split(maxsplit=3) == ["True", "Label", "True", "[2.0, 2.0]\n"]


def test_a_foreign_object_is_asked_by_the_first_function_that_is_called():
    code = """
        import pullback as torch
        class Points:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__
        print(torch.repeat_interleave(Points(), 2, dim=0), torch.reshape(Points(), (2,)))
    """
    assert output(code).split() == ["repeat_interleave", "reshape"]


def test_modes_can_be_asked_for():
    code = """
        import pullback as torch
        from pullback._C import _is_torch_function_mode_enabled as asked
        before = asked()
        with torch.overrides.TorchFunctionMode():
            inside = asked()
        print(before, inside, asked())
    """
    assert output(code).split() == ["False", "True", "False"]


def test_what_an_attribute_is_set_to_has_no_say():
    """Only the tensor itself is asked, as in torch: a sparse gradient stays sparse."""
    code = """
        import pullback as torch
        class Points:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__
        torch.repeat_interleave(Points(), 2, dim=0)  # from now on everything asks
        table = torch.ones(3, 2, requires_grad=True)
        table.grad = torch.sparse_coo_tensor(torch.tensor([[1]]), torch.ones(1, 2), (3, 2))
        print(table.grad.is_sparse)
    """
    assert output(code) == "True\n"


def test_operators_and_attributes_stay_the_objects_that_a_program_has_kept():
    """Also once plain tensors ask, because there is a mode or an object of another library; and what is traced is put back."""
    code = """
        import pullback as torch
        from pullback.overrides import TorchFunctionMode
        names = [name for name in vars(torch.Tensor) if name not in ("__iter__", "__dict__")]
        kept = {name: getattr(torch.Tensor, name) for name in names}
        getter, seen = torch.Tensor.shape.__get__, []
        class Mode(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func)
                return func(*args, **(kwargs or {}))
        x = torch.ones(2)
        with Mode():
            x + 1, x[0], x.shape, x ** 2, 1 / x, x == x, x.data
        wanted = ["add", "__getitem__", "__pow__", "__rdiv__", "__eq__"]
        assert all(kept[name] in seen for name in wanted) and getter in seen and kept["data"].__get__ in seen
        assert all(getattr(torch.Tensor, name) == kept[name] for name in names)
        x - 1, x.dtype
        with Mode(), Mode():
            x - 1
        print(seen.count(torch.Tensor.sub))
        import pullback.fx
        pullback.fx.symbolic_trace(lambda x: x - x.sum()[None])
        print((x - 1).tolist(), x.shape, x[0].item())
    """
    assert output(code).splitlines() == ["2", "[0.0, 0.0] torch.Size([2]) 1.0"]
