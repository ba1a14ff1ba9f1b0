"""What `tools.follow` says of a torch that has something new, other words, or other random bits."""

import pytest

torch = pytest.importorskip("torch")

from tools import follow  # noqa: E402


def test_new_names_are_seen(monkeypatch):
    before = set(follow.missing_names())
    monkeypatch.setattr(torch.linalg, "new_decomposition", lambda A: A, raising=False)
    assert set(follow.missing_names()) - before == {"torch.linalg.new_decomposition"}


def test_new_arguments_and_defaults_are_seen(monkeypatch):
    before = set(follow.other_signatures())

    monkeypatch.setattr(torch.nn.functional, "silu", lambda input, inplace=True, steps=3: input)
    (new,) = set(follow.other_signatures()) - before
    assert new == "torch.nn.functional.silu: steps, inplace=True (here False)"


def test_other_words_are_seen_and_advice_after_the_same_words_is_not(monkeypatch):
    before = set(follow.other_texts())
    right = torch.mm

    def mm(a, b):
        try:
            return right(a, b)
        except RuntimeError as error:
            raise RuntimeError(f"mm: {error}") from None

    monkeypatch.setattr(torch, "mm", mm)
    (new,) = set(follow.other_texts()) - before
    assert new.startswith("T.mm(T.ones(2, 3), T.ones(2, 3))\n    torch:    RuntimeError: mm: mat1 and mat2")
    assert not any("empty parameter list" in one for one in before)  # ours goes on with what to do


def test_bits_are_the_same_and_others_are_seen(monkeypatch):
    assert list(follow.other_bits()) == []
    right = torch.randperm
    monkeypatch.setattr(torch, "randperm", lambda n: right(n).flip(0))
    (new,) = follow.other_bits()
    assert new.startswith("T.randperm(30)")


def test_mistakes_are_mistakes_and_answers_are_known_by_and_large():
    assert sum(follow.answer(line, torch).startswith("no error") for line in follow.MISTAKES) < 6
    assert len(list(follow.other_texts())) < 8
