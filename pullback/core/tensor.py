"""`Tensor`: an array with a place in the graph. The fields, and how they behave as torch's attributes do.

Operations are not here: the functions of `functional/` become methods in `functional/methods.py`, conversion to other libraries
is in `shell/interop/`. The array inside may be a NumPy scalar while nobody looks (0-d arithmetic is several times
faster on scalars); `memory()` turns it into a real 0-d array, and everything that shows or shares memory calls it.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ..transforms.arrays.without_elements import is_form
from . import seams
from .basics.device import cpu, device
from .basics.dtypes import dtype, from_numpy_dtype
from .basics.signatures import without_unknown
from .basics.size import Size
from .basics.storage import Storage, clock, next_order, storage_of

if TYPE_CHECKING:
    from ..utils.hooks import RemovableHandle
    from .node import Node


new_object: Callable[..., Any] = object.__new__
weak_reference: Callable[..., Any] = weakref.ref


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes whose objects take no operation over (`nn.Parameter`)."""
    return func(*args, **(kwargs or {}))


class TensorBase:
    """Gives every tensor a dictionary, for its fields and for what programs attach to it."""


fields: Callable[[Any], dict[str, Any]] = vars(TensorBase)["__dict__"].__get__  # all of it, of one tensor


class Tensor(TensorBase):
    """A multi-dimensional array that can be differentiated through."""

    # Class-level defaults keep the construction of a result down to two or three assignments.
    _array: Any  # numpy.ndarray, a NumPy scalar, or another array type (batched)
    _requires_grad: bool = False
    _node: Any = None  # the Node of the operation that made this tensor; None for leaves
    _output_nr: int = 0
    _grad: Tensor | None = None
    _grad_dtype: Any = False  # False: the tensor's own dtype; None: any
    _storage: Storage | None = None  # version counter, once memory is shared or written
    _view: Any = None  # autograd.views.View of tensors that look at another's memory
    _anchor: Anchor | None = None  # a leaf's stand-in in graphs, once one refers to it
    _owner: Any = None  # of an anchor: a weak reference to its leaf
    _tangent: Any = None  # forward mode: {level: tangent}
    _tangents_moved: int = 0  # how often a write gave the tangents other memory; of a view, how often it has followed
    _inference: bool = False
    _detached: int = 0  # when `detach_` made it one, so that graphs made before can no longer follow it
    _name: str | None = None
    _lender: Any = None  # the array that a program gave its memory with
    _moves: tuple[Any, ...] = ()  # of a base that was reshaped in place: the steps that undo it, for earlier views
    _is_written: Tensor | None = None  # what an in-place operation writes to, where this is what it reads

    is_node: bool = False
    __array_priority__ = 1000

    def __hash__(self) -> int:
        return id(self)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return seams.legacy_tensor(cls, *args, **kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__torch_function__ is not disabled_torch_function:
            seams.notice_subclass(cls)
        if (
            next(vars(base)["__dict__"] for base in cls.__mro__ if "__dict__" in vars(base))
            is not vars(Tensor)["__dict__"]
        ):
            from .attributes import guard

            guard(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a function on objects of a subclass that does not override this method: results are of the subclass."""
        return seams.run_and_convert(cls, func, types, args, kwargs)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        """The attributes that programs have attached to this tensor."""
        from .attributes import Attributes

        return Attributes(fields(self))

    @__dict__.setter
    def __dict__(self, attached: Any) -> None:
        self.__dict__.replace(attached)

    # --- memory ---

    def memory(self) -> Any:
        """The array as real memory that views can look at and operations can write to."""
        array = self._array
        if isinstance(array, np.generic):
            array = self._array = np.array(array)
        return array

    @property
    def shape(self) -> Size:
        """The sizes of the dims."""
        return tuple.__new__(Size, self._array.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return from_numpy_dtype(self._array.dtype)

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return self._array.ndim

    @property
    def device(self) -> device:
        """Where the elements live: always the CPU."""
        return cpu

    @property
    def name(self) -> str | None:
        """A name of your choice that error messages and `explain` use."""
        return self._name

    @name.setter
    def name(self, value: str | None) -> None:
        self._name = value

    # --- place in the graph ---

    @property
    def requires_grad(self) -> bool:
        """True if operations on this tensor are recorded, so that a backward pass reaches it."""
        if self._view is not None:
            seams.refresh_if_usable(self)
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise RuntimeError("requires_grad must be a bool")
        self._set_requires_grad(value, "only Tensors of floating point and complex dtype can require gradients")

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad cannot be deleted. Set it to False.")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for gradients (or stop asking) and return this tensor."""
        self._set_requires_grad(bool(requires_grad), "only Tensors of floating point dtype can require gradients")
        return self

    def _set_requires_grad(self, value: bool, complaint: str) -> None:
        if self._view is not None:
            seams.refresh_if_usable(self)
        if self._node is not None:
            if value:
                return
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if value and self._array.dtype.kind not in "fcV":
            raise RuntimeError(f"{complaint}. This tensor has dtype {self.dtype!r}: convert it first, as in x.float().")
        if value and self._inference:
            from .mode import is_inference_mode_enabled

            if not is_inference_mode_enabled():
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. "
                    "Make a normal tensor of it first: x.clone()."
                )
        self._requires_grad = value
        if self._anchor is not None:
            self._anchor._requires_grad = value

    @property
    def is_leaf(self) -> bool:
        """True if no recorded operation made this tensor: gradients end here, in `.grad`."""
        if self._view is not None:
            seams.refresh_or_raise(self)
        return self._node is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor, None for a leaf."""
        if self._view is not None:
            seams.refresh_or_raise(self)
        node = self._node
        return None if node is None else node.as_torch_shows_it()

    @property
    def _grad_fn(self) -> Node | None:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise RuntimeError("The history of a tensor cannot be deleted. Use detach_().")

    @property
    def _backward_hooks(self) -> dict | None:
        """The hooks on this tensor's gradient, None if there are none."""
        place = self._anchor._hooks if self._anchor is not None else None if self._node is None else self._node.hooks
        return fields(self).get("_idle_hooks") if place is None else place.tensor_hooks.get(self._output_nr)

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: dict | None) -> None:
        if not self.requires_grad:
            fields(self)["_idle_hooks"] = hooks  # no gradient will come for them
            return
        place = leaf_hooks(self) if self._node is None else self._node.ensure_hooks()
        place.tensor_hooks[self._output_nr] = {} if hooks is None else hooks

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("The hooks of a tensor cannot be deleted. Set them to None.")

    @property
    def output_nr(self) -> int:
        """Which of the outputs of `grad_fn` this tensor is."""
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up so far, None before the first."""
        if self._grad is None and self._node is not None and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't "
                "be populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
                "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
                "mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for "
                "more information.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            self._check_grad(value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_grad(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        wanted = self.dtype if self._grad_dtype is False else self._grad_dtype
        if wanted is not None and value.dtype is not wanted:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{value.dtype.short_name}' to a tensor with grad_dtype "
                f"'{wanted.type_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). "
                "You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
                "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems "
                "that assume they match."
            )
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size. "
                f"{seams.describe_tensor(self)}"
            )

    @property
    def grad_dtype(self) -> Any:
        """The dtype that `.grad` of this leaf has; None allows any."""
        if self._node is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.dtype if self._grad_dtype is False else self._grad_dtype

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        if self._node is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if self._grad is not None and value is not None and self._grad.dtype is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{value.type_name}' because there is already a gradient with dtype "
                f"'{self._grad.dtype.short_name}'. Set .grad to None first."
            )
        self._grad_dtype = anchor_of(self)._grad_dtype = value

    @property
    def retains_grad(self) -> bool:
        """True if `retain_grad()` was called on this non-leaf tensor."""
        if self._view is not None:
            seams.refresh_if_usable(self)
        node = self._node
        if node is None or node.hooks is None:
            return False
        reference = node.hooks.retained.get(self._output_nr)
        return reference is not None and reference() is self

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad` when a backward pass computes it."""
        if not self.requires_grad:
            raise RuntimeError(
                "can't retain_grad on Tensor that has requires_grad=False. "
                "Make it part of a graph first: ask for gradients of a leaf it is computed from."
            )
        if self._view is not None:
            seams.refresh_or_raise(self)
        if self._node is not None and not self.retains_grad:
            self._node.ensure_hooks().retained[self._output_nr] = weakref.ref(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` whenever the gradient of this tensor is computed; what it returns replaces the gradient."""
        from ..utils.hooks import HookDict
        from .node import add_hook

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._view is not None:
            seams.refresh_or_raise(self)
        if self._node is None:
            return add_hook(leaf_hooks(self).tensor_hooks.setdefault(0, HookDict()), hook)
        return add_hook(self._node.ensure_hooks().tensor_hooks.setdefault(self._output_nr, HookDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` right after a backward pass has updated `.grad` of this leaf."""
        from .node import add_hook

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._view is not None:
            seams.refresh_or_raise(self)
        if self._node is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return add_hook(leaf_hooks(self).accumulated, hook)

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._storage is None else self._storage.version

    @property
    def _base(self) -> Tensor | None:
        if self._view is None:
            return None
        base = self._view.base
        return base.owner_or_self() if type(base) is Anchor else base

    def _is_view(self) -> bool:
        return self._view is not None

    def is_inference(self) -> bool:
        """Return True if this tensor was made under `inference_mode`."""
        return self._inference

    def detach(self) -> Tensor:
        """The same memory without the history. Writes to it count as writes to this tensor."""
        array = self._array
        result = wrap(array if type(array) is ndarray else _without_history(self.memory()))
        result._storage = storage_of(self)
        if self._inference:
            result._inference = True
        return result

    def detach_(self) -> Tensor:
        """Forget this tensor's history."""
        if self._view is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        if self._node is not None:
            self._detached = clock.last_write = next_order()
        if self._tangent is not None:
            self._tangent = None
        self._node = None
        self._output_nr = 0
        self._requires_grad = False
        if type(self._array) is not ndarray:
            self._array = _without_history(self._array)
        return self

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own (writes to it are not noticed)."""
        if type(self._array) is not ndarray:
            if is_form(self._array):  # a class that answers operations itself answers this one
                return self.detach()
            share_with_graph(self)
        return wrap(_without_history(self.memory()))

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("The data of a tensor cannot be deleted. Delete the tensor, or give it other data.")

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if value.is_sparse != self.is_sparse:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: "
                "one of them is sparse. Convert with to_sparse() or to_dense()."
            )
        if self._requires_grad and value._array.dtype.kind not in "fcV":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._array = value.memory()
        if self._anchor is not None:
            self._anchor._array = self._array
        clock.last_write = next_order()  # what was recorded before has seen something else, maybe of another shape

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None,
        *, batched: bool = False, **unknown: Any,
    ) -> None:  # fmt: skip
        """Add the gradients of this tensor's elements, weighted by `gradient`, to the `.grad` of the leaves.

        A tensor with one element needs no `gradient` (the weight is 1). Any other needs weights of its own shape:
        the result is the vector-Jacobian product of `gradient` with the Jacobian of this tensor.

        The graph is freed afterwards, unless `retain_graph`; `create_graph` records the pass itself, for derivatives
        of derivatives. With `inputs`, only the `.grad` of these tensors is added to.

        With `batched`, `gradient` holds many weightings along a new first axis, and one pass adds a row for each to
        the `.jac` of the leaves, of shape (weightings, *leaf.shape). Without `gradient` the rows are the Jacobian's.
        """
        if unknown:
            seams.refuse_keywords(Tensor.backward, unknown)
        if batched:
            seams.backward_to_jac(self, gradient, inputs, retain_graph=retain_graph, create_graph=create_graph)
            return
        seams.backward_from(self, gradient, retain_graph, create_graph, inputs)

    def _pullback_apply(self, op: Any, inputs: tuple, params: dict) -> Any:
        return seams.apply(op, inputs, params)


without_unknown(Tensor.backward)


def _without_history(array: Any) -> Any:
    """An array that no tape outside a batch follows."""
    if type(array) is ndarray:
        return array
    return seams.without_history(array)


def share_with_graph(tensor: Any) -> None:
    """Give a number that an operation computed memory, which its node, if it saved the number, looks at as well."""
    number = tensor._array
    if not isinstance(number, np.generic):
        return
    array, node = tensor.memory(), tensor._node
    if node is not None and node.plan.keeps_output and type(node.saved) is tuple:
        node.saved = tuple([array if value is number else value for value in node.saved])
        if node.arrays is not None:
            node.arrays = tuple([array if value is number else value for value in node.arrays])


def wrap(array: Any, kind: Any = None) -> Any:
    """A tensor without history around an array (or a NumPy scalar standing for a 0-d array). All results come from here."""
    tensor = new_object(kind or Tensor)
    tensor._array = array
    # The class has the same defaults; set on the instance, operations read them twice as fast.
    tensor._requires_grad = False
    tensor._node = None
    tensor._output_nr = 0
    tensor._view = None
    tensor._storage = None
    tensor._inference = False
    return tensor


class Anchor(Tensor):
    """A leaf as graphs know it: its array and version counter, and a weak reference to the tensor itself.

    Graphs hold the anchor, never the leaf. So a `.grad` that has a history (`create_graph=True`) does not keep its
    own leaf alive, and there are no reference cycles to collect.
    """

    order: int = 0  # as a node has one: a leaf comes before everything
    plan: Any = None  # as a node has one, and a leaf has not
    _hooks: Any = None
    __torch_function__ = disabled_torch_function  # type: ignore[assignment]
    __hash__ = object.__hash__  # anchors are the keys of every backward pass

    def owner(self) -> Tensor | None:
        """The leaf tensor, if anybody still has it."""
        return self._owner()

    def owner_or_self(self) -> Tensor:
        leaf = self._owner()
        return self if leaf is None else leaf


def anchor_of(leaf: Tensor) -> Anchor:
    """The stand-in of a leaf, made the first time a graph needs it."""
    anchor = leaf._anchor
    if anchor is None:
        if type(leaf) is Anchor:
            return leaf
        anchor = new_object(Anchor)
        array = leaf._array
        anchor._array = array if type(array) is ndarray else leaf.memory()
        anchor._requires_grad = leaf._requires_grad
        anchor.order = 0  # the class has it too, but it is asked for all the time and read faster from the instance
        anchor._inference = leaf._inference
        anchor._grad_dtype = False  # who asks for another does it here, too
        anchor._hooks = None
        anchor._storage = leaf._storage  # `storage_of` gives both the same, should there be none yet
        anchor._owner = weak_reference(leaf)
        if leaf._name is not None:
            anchor._name = leaf._name
        leaf._anchor = anchor
    return anchor


def leaf_hooks(leaf: Tensor) -> Any:
    from .engine import Hooks
    from .node import NodeHooks

    anchor = anchor_of(leaf)
    if anchor._hooks is None:
        anchor._hooks = NodeHooks()
    Hooks.of_leaves = True
    return anchor._hooks
