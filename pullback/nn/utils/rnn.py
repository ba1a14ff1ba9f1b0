"""Sequences of different lengths: padded to one tensor, or packed so that no step is spent on padding.

A `PackedSequence` stores the steps one after the other, each with the sequences (longest first) that reach it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pullback

from ...core.tensor import Tensor

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]  # fmt: skip


class PackedSequence_(NamedTuple):
    """The fields of `PackedSequence`."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """Sequences packed step by step; made by `pack_padded_sequence` and `pack_sequence`."""

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data on another device or of another dtype."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if one is None else one.to(data.device) for one in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data in main memory."""
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data on a GPU."""
        return self.to(*args, **kwargs) if args or "device" in kwargs else self.to(device="cuda", **kwargs)

    def double(self) -> PackedSequence:
        """The data as float64."""
        return self.to(dtype=pullback.double)

    def float(self) -> PackedSequence:
        """The data as float32."""
        return self.to(dtype=pullback.float)

    def half(self) -> PackedSequence:
        """The data as float16."""
        return self.to(dtype=pullback.half)

    def long(self) -> PackedSequence:
        """The data as int64."""
        return self.to(dtype=pullback.long)

    def int(self) -> PackedSequence:
        """The data as int32."""
        return self.to(dtype=pullback.int)

    def short(self) -> PackedSequence:
        """The data as int16."""
        return self.to(dtype=pullback.short)

    def char(self) -> PackedSequence:
        """The data as int8."""
        return self.to(dtype=pullback.int8)

    def byte(self) -> PackedSequence:
        """The data as uint8."""
        return self.to(dtype=pullback.uint8)

    def pin_memory(self) -> PackedSequence:
        """The same, with data in pinned memory where there is such a thing."""
        return type(self)(self.data.pin_memory(), self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def is_pinned(self) -> bool:
        """True if the data lies in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """True if the data lies on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one."""
    return None if permutation is None else pullback.argsort(permutation)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that were padded to `(time, batch, ...)`, or `(batch, time, ...)` with `batch_first`.

    `lengths` is a tensor or a list of integers.
    """
    if not isinstance(lengths, pullback.Tensor):
        lengths = pullback.as_tensor(lengths, dtype=pullback.int64)
    lengths = lengths.to(dtype=pullback.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = pullback.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    counts = lengths.tolist()
    _check_lengths(input, counts)
    batch_sizes = []
    active = len(counts)
    for step in range(counts[0]):
        while counts[active - 1] <= step:
            active -= 1
        batch_sizes.append(active)
    data = pullback.cat([input[step, :size] for step, size in enumerate(batch_sizes)], dim=0)
    return PackedSequence(data, pullback.tensor(batch_sizes, dtype=pullback.int64), sorted_indices, None)


def _check_lengths(time_first: Tensor, counts: list[int]) -> None:
    if not time_first.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if len(counts) != time_first.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={time_first.shape[1]})"
        )
    if any(after > before for before, after in zip(counts, counts[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
            "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
            "requirement if you do not need ONNX exportability."
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if counts[0] > time_first.shape[0]:
        raise RuntimeError(
            f"Expected the longest sequence ({counts[0]} steps) to fit the padded input, "
            f"which has {time_first.shape[0]} steps"
        )


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded tensor and the lengths that were packed."""
    sizes = sequence.batch_sizes.tolist()
    if not sizes:
        raise RuntimeError("batch_sizes can not be empty: nothing was packed")
    length = len(sizes)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but "
                f"got total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    data = sequence.data
    largest = sizes[0]
    rows = []
    for step in data.split(sizes, dim=0):
        missing = largest - step.shape[0]
        rows.append(
            step
            if missing == 0
            else pullback.cat([step, data.new_full((missing, *data.shape[1:]), padding_value)], dim=0)
        )
    rows += [data.new_full((largest, *data.shape[1:]), padding_value)] * (length - len(sizes))
    padded = pullback.stack(rows, dim=1 if batch_first else 0)
    lengths = pullback.tensor([sum(size > place for size in sizes) for place in range(largest)], dtype=pullback.int64)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack tensors of different lengths, filled up with `padding_value`.

    `sequences` are tensors of shape (length, ...), of any lengths; the answer has shape (longest, count, ...), or
    (count, longest, ...) with `batch_first`. `padding_side` is "right" or "left".
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(sequence.shape[0] for sequence in sequences)
    rows = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        if missing:
            filling = sequences[0].new_full((missing, *sequence.shape[1:]), padding_value)
            sequence = pullback.cat([filling, sequence] if padding_side == "left" else [sequence, filling], dim=0)
        rows.append(sequence)
    return pullback.stack(rows, dim=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The tensors of different lengths that were padded."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    if len(lengths) != padded_sequences.shape[0]:
        raise ValueError(f"got {len(lengths)} lengths for {padded_sequences.shape[0]} sequences")
    return [sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors of different lengths."""
    lengths = pullback.as_tensor([sequence.shape[0] for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors of different lengths that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
