"""The random number generator: torch's Mersenne Twister, its seeding, its state bytes and its raw draws.

NumPy's legacy ``RandomState`` is the same engine with the same seeding, so the 32-bit stream is torch's. On top of
it torch keeps one cached double normal (the second half of a Box-Muller pair), which is part of the state.
Lives here: ``Generator``, ``default_generator`` and draws of bits and of float64 uniforms.
Does not live here: distributions (streams.py) and float32 Box-Muller arithmetic (normals.py).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ..thresholds import CUT_OUT_SAMPLE, OWN_CALL_WORDS, WINDOW_WORDS

if TYPE_CHECKING:
    from numpy.random import MT19937, RandomState

DEFAULT_SEED: int = 67280421310721
STATE_SIZE: int = 5056
_WORDS = 624
_MOST_AHEAD = 16  # blocks
_LOW_53_BITS, _HALF, _TO_UNIT = np.array(2**53 - 1, np.uint64), np.array(32, np.uint64), np.array(2.0**-53)
_MOST_KNOWN = 32
_DEVICE_TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
    "mtia, privateuseone"
)
Transform = Callable[[np.ndarray], np.ndarray]
"""Makes values of draws, which it may overwrite: words (uint32) or pairs of words (uint64)."""
# A state: seed, words left, whether it was seeded, position; the words, 8 bytes each; normal_x, normal_y (the cached
# normal), normal_rho, whether it is valid; 12 unused bytes.
_STATE_HEAD, _STATE_WORDS, _STATE_TAIL = Struct("<QiiQ"), slice(24, 5016), Struct("<dddi12x")


class Generator:
    """A stream of random bits that programs can seed, save and restore.

    The engine is made on the first draw, so that creating or seeding a generator costs nothing until it is used.
    Samplers hold ``lock`` while they draw: two threads never interleave inside one sample.
    """

    def __init__(self, device: object = "cpu") -> None:
        self.device: object = _checked_device(device)
        self.lock: Any = threading.RLock()
        self.cached_normal: float | None = None
        self._seed: int | None = DEFAULT_SEED
        self._engines: tuple[MT19937, RandomState] | None = None
        self.words: Any = np.empty(0, np.uint32)
        self._next: int = 0
        self._ahead: int = 1  # blocks to draw when words are missing: the first is often the last before another seed
        self._known: dict[Any, np.ndarray] = {}  # values of all the words, for ``few``
        self._asked: set[Any] = set()

    # ------------------------------------------------------------------ seeding

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from ``seed`` (negative seeds count from 2**64) and return the generator."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(
                f"manual_seed expected a long, but got {type(seed).__name__}. Pass a Python integer, "
                f"for example manual_seed(int(seed))."
            )
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(
                f"Overflow when unpacking long long: the seed {seed} does not fit in 64 bits. "
                f"Seeds lie in [-2**63, 2**64 - 1]; use for example seed % 2**64."
            )
        with self.lock:
            self._seed = seed % 2**64
            self.cached_normal = None
            self._keep(self.words[:0], 0)
            self._ahead = 1
            if self._engines is not None:
                self._engines[1].seed(self._seed & 0xFFFFFFFF)
        return self

    def seed(self) -> int:
        """Restart the stream from a seed the operating system provides, and return that seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed the stream was last started from, as an unsigned 64-bit number."""
        with self.lock:
            if self._seed is None:
                self._seed = int.from_bytes(os.urandom(8), "little")
            return self._seed

    # ------------------------------------------------------------------ state

    def state_bytes(self) -> np.ndarray:
        """The whole state as 5056 bytes in torch's layout."""
        state: Any = np.empty(STATE_SIZE, np.uint8)
        with self.lock:
            words, position = self._block()
            seed = self.initial_seed()
            # torch writes position 0 for a stream nobody has drawn from; its first word is then the seed itself.
            untouched = position == _WORDS and int(words[0]) == seed & 0xFFFFFFFF
            left = 1 if untouched else _WORDS + 1 - position
            _STATE_HEAD.pack_into(state, 0, seed, left, 1, 0 if untouched else position)
            state[_STATE_WORDS].view("<u8")[...] = words
            normal = self.cached_normal
            _STATE_TAIL.pack_into(state, _STATE_WORDS.stop, 0.0, normal or 0.0, 0.0, normal is not None)
        return state

    def _block(self) -> tuple[np.ndarray, int]:
        """The block of state words that the stream stands in, and the position there."""
        waiting = self.words.size - self._next
        unread = waiting // _WORDS  # whole blocks
        position = _WORDS - waiting % _WORDS
        if not self.words.size:
            state: Any = self._started()[0].state["state"]
            return state["key"], position
        end = self.words.size - unread * _WORDS
        return _untempered(self.words[end - _WORDS : end]), position

    def load_state_bytes(self, state: np.ndarray) -> None:
        """Continue from bytes that ``state_bytes`` or torch wrote."""
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            found = state.dtype if isinstance(state, np.ndarray) else type(state).__name__
            raise TypeError(
                f"RNG state must be a torch.ByteTensor, but got {found}. Pass what get_state() returned, unchanged."
            )
        if state.size != STATE_SIZE:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_SIZE} but found the input RNG state size to be "
                f"{state.size}. Pass what get_state() returned, unchanged."
            )
        content = state.tobytes()
        seed, left, seeded, position = _STATE_HEAD.unpack_from(content)
        if seeded != 1 or not 0 < left <= _WORDS or position > _WORDS:
            raise RuntimeError(
                "Invalid mt19937 state: the bytes have the right size but no generator wrote them. "
                "Pass what get_state() returned, unchanged."
            )
        with self.lock:
            self._seed = seed
            # With one draw left torch renews its words first, wherever the position stands.
            position = _WORDS if left == 1 else position
            key = np.frombuffer(content[_STATE_WORDS], "<u8").astype(np.uint32)
            self._started()[0].state = {"bit_generator": "MT19937", "state": {"key": key, "pos": _WORDS}}
            self._keep(_tempered(key), position)
            _, normal, _, valid = _STATE_TAIL.unpack_from(content, _STATE_WORDS.stop)
            self.cached_normal = normal if valid else None

    def clone_state(self) -> Generator:
        """An independent generator that will produce the same numbers."""
        return _restored(type(self), self.device, self.state_bytes())

    def __reduce__(self) -> tuple[Callable[..., Generator], tuple[object, ...]]:
        """Copies and pickles carry the state, as torch's do."""
        return _restored, (type(self), self.device, self.state_bytes())

    # ------------------------------------------------------------------ draws

    # Whoever draws holds ``lock``. The engine is always left at the end of a block of 624 words; what has not been
    # handed out waits at the end of ``words``, which hold all of the block that the stream stands in: a few words then
    # cost a slice, and the state is known from that block. Nothing waits, and nothing is held, right after seeding.

    def take(self, count: int) -> int:
        """Draw a few words: they are ``words[start : start + count]`` for the start that is returned."""
        start = self._next
        if start + count > self.words.size:
            missing = start + count - self.words.size
            whole = max(-(-missing // _WORDS), self._ahead) * _WORDS
            self._ahead = min(4 * self._ahead, _MOST_AHEAD)
            waiting = self.words.size - start
            held = min(start, _WORDS - waiting % _WORDS)  # of the block that the stream stands in, or at the end of
            self._keep(np.concatenate((self.words[start - held :], self._many32(whole))), held)
            start = held
        self._next = start + count
        return start

    def bits32(self, count: int) -> np.ndarray:
        """``count`` words of the stream, uint32."""
        waiting = self.words.size - self._next
        if count <= max(waiting, OWN_CALL_WORDS):
            start = self.take(count)
            return self.words[start : start + count].copy()
        missing = count - waiting
        whole = -(-missing // _WORDS) * _WORDS
        drawn = self._many32(whole)
        bits = np.concatenate((self.words[self._next :], drawn[:missing])) if waiting else drawn[:missing]
        self._keep(drawn[whole - _WORDS :].copy(), _WORDS - (whole - missing))
        return bits

    def bits64(self, count: int) -> np.ndarray:
        """``count`` pairs of words, uint64; the first word of a pair is the high half."""
        waiting = self.words.size - self._next
        if 2 * count <= max(waiting, OWN_CALL_WORDS) or waiting % 2:
            return _halves_swapped(self.bits32(2 * count).view(np.uint64))
        head = self.bits64(waiting // 2)
        missing = count - head.size
        whole = -(-missing // (_WORDS // 2)) * (_WORDS // 2)
        drawn = self._many64(whole)
        last = _halves_swapped(drawn[whole - _WORDS // 2 :].copy()).view(np.uint32)
        self._keep(last, _WORDS - 2 * (whole - missing))
        return np.concatenate((head, drawn[:missing])) if waiting else drawn[:missing]

    def doubles(self, count: int) -> np.ndarray:
        """``count`` float64 uniforms in [0, 1) of 53 bits; each takes two words."""
        return uniform_doubles(self.bits64(count))

    def _many64(self, count: int) -> np.ndarray:
        return self._started()[1].randint(0, 2**64, size=count, dtype=np.uint64)

    def _many32(self, count: int) -> np.ndarray:
        """Words from the engine, an even number of them: as pairs they come faster, the first in the high half."""
        if count <= OWN_CALL_WORDS:
            return self._started()[0].random_raw(count).astype(np.uint32)
        return _halves_swapped(self._many64(count // 2)).view(np.uint32)

    def _keep(self, words: np.ndarray, position: int) -> None:
        """Let ``words`` wait, from a position on."""
        self.words, self._next = words, position
        self._known.clear()

    def few(self, count: int, transform: Transform, wide: bool = False, each: int = 1) -> np.ndarray:
        """``count`` values, to be read only, that ``transform`` makes of ``each`` draws: words, or pairs if ``wide``.

        A dozen NumPy calls take hardly longer for all the words that wait than for a few of them. So whoever asks a
        second time has the values of all these words computed, and they are kept until the words are used up: from
        then on a sample costs little more than a slice.
        """
        width = 2 * each if wide else each
        start = self.take(width * count)
        phase = start % width
        values = self._known.get((transform, phase))
        if values is None:
            if transform not in self._asked:
                if len(self._asked) >= _MOST_KNOWN:
                    self._asked.clear()
                self._asked.add(transform)
                return transform(_draws(self.words[start : start + width * count], wide))
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            end = self.words.size - (self.words.size - phase) % width
            values = self._known[transform, phase] = transform(_draws(self.words[phase:end], wide))
        first = start // width
        return values[first : first + count]

    def doubles_ahead(self, count: int) -> np.ndarray:
        """The next doubles, of which ``put_back`` returns those at the end that are not used."""
        if count <= CUT_OUT_SAMPLE:
            return self.few(count, uniform_doubles, True)
        start = self.take(2 * count)
        return uniform_doubles(_draws(self.words[start : self._next], True))

    def put_back(self, count: int) -> None:
        """Return the last doubles of those read ahead; at least one of them must have been used."""
        self._next -= 2 * count

    def _started(self) -> tuple[MT19937, RandomState]:
        """The bit generator, which has the state, and the RandomState on top of it, which draws many words faster."""
        if self._engines is None:
            from numpy.random import MT19937, RandomState

            bits = MT19937(0)
            self._engines = bits, RandomState(bits)
            self._engines[1].seed(self.initial_seed() & 0xFFFFFFFF)
        return self._engines


class Window:
    """Uniforms that a sampler looks at before it knows how many it will use; ``finish`` puts the others back.

    It is as long as the whole sample is expected to need, up to a limit.
    """

    def __init__(self, generator: Generator, expected: int) -> None:
        self.generator: Generator = generator
        self._length: int = min(expected, WINDOW_WORDS)
        self.uniforms: np.ndarray = np.empty(0)
        self.position: int = 0

    @property
    def left(self) -> int:
        """How many have not been used."""
        return self.uniforms.size - self.position

    def renew(self, least: int) -> None:
        """Look at uniforms from where the stream stands on: at least so many."""
        self.finish()
        self.uniforms, self.position = self.generator.doubles_ahead(max(self._length, least)), 0

    def listed(self, count: int, least: int) -> list[float]:
        """The next uniforms as a list: at least so many."""
        if self.left < least:
            self.renew(least)
        return self.uniforms[self.position : self.position + max(least, count)].tolist()

    def finish(self) -> None:
        """Put back what was not used; something must have been, if anything was looked at."""
        self.generator.put_back(self.left)
        self.position = self.uniforms.size


def _halves_swapped(pairs: np.ndarray) -> np.ndarray:
    """Of two words the first is the high half of a number; in little-endian memory the low half comes first."""
    if sys.byteorder == "big":
        return pairs
    low = pairs >> _HALF
    np.left_shift(pairs, _HALF, out=pairs)
    return np.bitwise_or(pairs, low, out=pairs)


def uniform_doubles(bits: np.ndarray) -> np.ndarray:
    """Float64 uniforms in [0, 1) of pairs of words, which are overwritten."""
    np.bitwise_and(bits, _LOW_53_BITS, out=bits)
    uniforms = bits.view(np.int64).astype(np.float64)
    return np.multiply(uniforms, _TO_UNIT, out=uniforms)


def _draws(words: np.ndarray, wide: bool) -> np.ndarray:
    """A copy of words, as pairs if ``wide``."""
    words = words.copy()
    return _halves_swapped(words.view(np.uint64)) if wide else words


def _tempered(key: np.ndarray) -> np.ndarray:
    """The words that the Mersenne Twister draws from a block of its state."""
    y = key ^ (key >> 11)
    y = y ^ ((y << 7) & 0x9D2C5680)
    y = y ^ ((y << 15) & 0xEFC60000)
    return y ^ (y >> 18)


def _untempered(words: np.ndarray) -> np.ndarray:
    """The block of the state that these words were drawn from: ``_tempered`` undone."""
    y = words ^ (words >> 18)
    y = y ^ ((y << 15) & 0xEFC60000)
    z = y
    for _ in range(4):
        z = y ^ ((z << 7) & 0x9D2C5680)
    return z ^ ((z ^ (z >> 11)) >> 11)


def _restored(kind: type[Generator], device: object, state: np.ndarray) -> Generator:
    generator = kind(device)
    generator.load_state_bytes(state)
    return generator


def _checked_device(device: object) -> str:
    kind = str(device).partition(":")[0]
    if kind == "cpu":
        return "cpu"
    if kind not in _DEVICE_TYPES.split(", "):
        raise RuntimeError(
            f"Expected one of {_DEVICE_TYPES} device type at start of device string: {kind}. "
            f"Random generators live on the CPU: Generator(device='cpu')."
        )
    raise RuntimeError(
        f"Cannot get {kind.upper()} generator: random streams are drawn on the CPU here. "
        f"Use Generator(device='cpu') and move the samples to the device."
    )


default_generator: Generator = Generator()
default_generator._seed = None  # decided by the operating system at the first draw, unless manual_seed comes first
