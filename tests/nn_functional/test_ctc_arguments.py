"""What `ctc_loss` accepts, and with which exception it refuses, compared with torch."""

import pytest

import pullback

torch = pytest.importorskip("torch")

CLASSES, BATCH, STEPS = 4, 2, 5
# Arguments by name, others are as in `usual`; functions get the package.
CALLS = {
    "tuples": dict(input_lengths=(5, 4), target_lengths=(2, 1)),
    "lists": dict(input_lengths=[5, 4], target_lengths=[2, 1]),
    "tuple and tensor": dict(input_lengths=(5, 5)),
    "tensor and tuple": dict(target_lengths=(2, 2)),
    "numbers": dict(input_lengths=5, target_lengths=2),
    "ranges": dict(input_lengths=range(4, 6), target_lengths=range(1, 3)),
    "nothing": dict(input_lengths=None),
    "fractions": dict(input_lengths=(5.0, 5), target_lengths=(2, 2)),
    "booleans": dict(input_lengths=(True, 5), target_lengths=(2, 2)),
    "beyond 64 bits": dict(input_lengths=(2**70, 5), target_lengths=(2, 2)),
    "too few": dict(input_lengths=(5,), target_lengths=(2, 2)),
    "none at all": dict(input_lengths=(), target_lengths=()),
    "longer than the scores": dict(input_lengths=(6, 5), target_lengths=(2, 2)),
    "far longer": dict(input_lengths=(2**40, 5), target_lengths=(2, 2)),
    "negative": dict(input_lengths=(-1, 5), target_lengths=(2, 2)),
    "longer than the targets": dict(input_lengths=(5, 5), target_lengths=(3, 2)),
    "far longer than the targets": dict(input_lengths=(5, 5), target_lengths=(2**40, 2)),
    "negative targets": dict(input_lengths=(5, 5), target_lengths=(-1, 2)),
    "no targets": dict(input_lengths=(5, 5), target_lengths=(0, 0)),
    "nothing to read": dict(input_lengths=(0, 5), target_lengths=(0, 2)),
    "lengths of dtype float": dict(input_lengths=lambda T: T.tensor([5.0, 5.0])),
    "lengths of dtype bool": dict(target_lengths=lambda T: T.tensor([True, True])),
    "lengths of dtype uint8": dict(target_lengths=lambda T: T.tensor([2, 2], dtype=T.uint8)),
    "lengths with two dims": dict(target_lengths=lambda T: T.tensor([[2, 2]])),
    "all targets in a row": dict(targets=lambda T: T.tensor([1, 2, 2, 3])),
    "one too many in a row": dict(targets=lambda T: T.tensor([1, 2, 2, 3, 1])),
    "a negative one in a row": dict(
        targets=lambda T: T.tensor([1]), input_lengths=(5, 5), target_lengths=(-1, 2)
    ),
    "targets with three dims": dict(targets=lambda T: T.tensor([[[1, 2], [2, 3]]])),
    "a target without dims": dict(targets=lambda T: T.tensor(1)),
    "too many rows of targets": dict(targets=lambda T: T.ones(3, 2, dtype=T.int64)),
    "targets of dtype float": dict(targets=lambda T: T.tensor([[1.0, 2.0], [2.0, 3.0]])),
    "padding outside of the classes": dict(
        targets=lambda T: T.tensor([[1, -100], [99, 99]]), input_lengths=(5, 5), target_lengths=(1, 0)
    ),
    "blank of dtype bool": dict(blank=True),
    "blank of dtype float": dict(blank=1.0),
    "blank outside of the classes": dict(blank=CLASSES),
    "scores of half precision": dict(log_probs=lambda T: T.zeros(STEPS, BATCH, CLASSES, dtype=T.float16)),
    "whole scores": dict(log_probs=lambda T: T.zeros(STEPS, BATCH, CLASSES, dtype=T.int64)),
    "scores with four dims": dict(log_probs=lambda T: T.zeros(1, STEPS, BATCH, CLASSES)),
    "scores with one dim": dict(log_probs=lambda T: T.zeros(CLASSES)),
    "no scores": dict(log_probs=lambda T: T.zeros(0, BATCH, CLASSES)),
    "a number as a switch": dict(zero_infinity=1),
}  # fmt: skip


def usual(T):
    scores = T.arange(STEPS * BATCH * CLASSES, dtype=T.float64).reshape(STEPS, BATCH, CLASSES).sin().log_softmax(2)
    targets = T.tensor([[1, 2], [2, 3]])
    return dict(log_probs=scores, targets=targets, input_lengths=T.tensor([5, 5]), target_lengths=T.tensor([2, 2]))


def answer(T, call):
    given = {name: value(T) if callable(value) else value for name, value in call.items()}
    try:
        return T.nn.functional.ctc_loss(**{**usual(T), **given}, reduction="none").tolist()
    except Exception as error:
        return error


@pytest.mark.parametrize("name", CALLS)
def test_answers_and_exceptions_are_those_of_torch(name):
    theirs, ours = answer(torch, CALLS[name]), answer(pullback, CALLS[name])
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs), (theirs, ours)
        if not any(phrase in str(theirs) for phrase in ("invalid combination", "-dimensional tensor")):
            assert str(ours).startswith(str(theirs).splitlines()[0].rstrip('"')), (theirs, ours)
    else:
        assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("label", [-1, CLASSES])
def test_classes_that_are_not_there_are_refused(label):
    targets = pullback.tensor([[1, label], [2, 3]])  # torch reads memory beside the scores
    with pytest.raises(IndexError, match="log_probs has 4 classes"):
        pullback.nn.functional.ctc_loss(**{**usual(pullback), "targets": targets})


def test_numbers_for_reductions():
    calls = [(number, T) for number in (0, 1, 2, 3, -1) for T in (torch, pullback)]
    results = [T.ctc_loss(*usual(T).values(), 0, number) for number, T in calls]
    for theirs, ours in zip(results[::2], results[1::2], strict=True):
        assert ours.tolist() == pytest.approx(theirs.tolist())
