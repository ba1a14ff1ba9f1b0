"""Runs one small program on torch and on Pullback and compares what it says.

A program is source text. It sees `torch`, `nn`, `np`, `say(...)`, which notes a value, and `attempt(f)`, which notes
the type and message of the exception that `f()` raises, and the warnings it gives. The notes must be equal.
"""

import re
import textwrap
import warnings

import numpy as np


class Transcript:
    def __init__(self, lib):
        self.lib = lib
        self.notes = []

    def say(self, *values):
        self.notes.append(tuple(self.plain(value) for value in values))

    def attempt(self, function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = function()
            except Exception as error:
                names = [kind.__name__ for kind in type(error).__mro__]
                builtin = next(name for name in names if name in dir(__builtins__) or name in __builtins__)
                self.notes.append(("raises", builtin, self.text(str(error))))
                result = None
            else:
                self.notes.append(("fine", self.plain(result)))
        for warning in caught:
            self.notes.append(("warns", warning.category.__name__, self.text(str(warning.message))))
        return result

    def plain(self, value):
        """Something comparable: arrays for tensors, text for modules, and so on inside containers."""
        if isinstance(value, self.lib.Tensor):
            return ("tensor", str(value.dtype).split(".")[-1], value.detach().numpy().copy())
        if isinstance(value, dict):
            return {key: self.plain(entry) for key, entry in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(entry) for entry in value]
        if isinstance(value, (int, float, bool, str, type(None))):
            return self.text(value) if isinstance(value, str) else value
        return self.text(repr(value))

    @staticmethod
    def text(text):
        text = text.replace("pullback", "torch")
        text = re.sub(r"0x[0-9a-f]+", "0x", text)
        return re.sub(r"[.]? (See:?|Refer to|and see)\s*https?://\S+.*", ".", text)


def same(ours, theirs):
    if isinstance(theirs, np.ndarray):
        if not isinstance(ours, np.ndarray) or ours.shape != theirs.shape:
            return False
        # Sums of large terms may come out small, with the rounding of the large ones, which differs between processors.
        largest = np.abs(theirs[np.isfinite(theirs)]).max(initial=0) if theirs.dtype.kind in "fc" else 0
        return np.allclose(ours, theirs, rtol=1e-5, atol=max(5e-6, 1e-6 * largest), equal_nan=True)
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, (list, tuple)):
        return type(ours) is type(theirs) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, float):
        return ours == theirs or abs(ours - theirs) < 1e-6
    return type(ours) is type(theirs) and ours == theirs


def run(program, lib):
    transcript = Transcript(lib)
    lib.manual_seed(0)
    scope = {"torch": lib, "nn": lib.nn, "np": np, "say": transcript.say, "attempt": transcript.attempt}
    exec(compile(textwrap.dedent(program), "<program>", "exec"), scope)
    assert transcript.notes, "a program that says nothing tests nothing"
    return transcript.notes


def compare(program, ours, theirs):
    our_notes, their_notes = run(program, ours), run(program, theirs)
    for index, (got, want) in enumerate(zip(our_notes, their_notes)):
        assert same(got, want), f"note {index}\nours:   {got}\ntorch:  {want}"
    assert len(our_notes) == len(their_notes), (our_notes[len(their_notes) :], their_notes[len(our_notes) :])
