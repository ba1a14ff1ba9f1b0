"""The random number generator: torch's Mersenne Twister, its seeding, its state bytes and its raw draws.

NumPy's legacy ``RandomState`` is the same engine with the same seeding, so the 32-bit stream is torch's. On top of
it torch keeps one cached double normal (the second half of a Box-Muller pair), which is part of the state.
Lives here: ``Generator``, ``default_generator`` and draws of bits and of float64 uniforms.
Does not live here: distributions (streams.py) and float32 Box-Muller arithmetic (normals.py).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.random import MT19937, RandomState

DEFAULT_SEED: int = 67280421310721
STATE_SIZE: int = 5056
_WORDS = 624
_BLOCKS_AHEAD = 4
_SMALL = 4 * _WORDS  # up to this many words the bit generator's own call beats RandomState's argument checking
_LOW_32_BITS, _LOW_53_BITS, _HALF = np.uint64(2**32 - 1), np.uint64(2**53 - 1), np.uint64(32)
_LOW_24_BITS, _UNIT = np.array(2**24 - 1, np.uint32), np.array(2.0**-24, np.float32)
FEW: int = 256  # words for a sample that is cut out of what is known about those that wait
_DEVICE_TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
    "mtia, privateuseone"
)
_STATE_LAYOUT = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", (_WORDS,)),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),
        ("normal_rho", "<f8"),
        ("normal_is_valid", "<i4"),
        ("unused", "V12"),
    ]
)


class Generator:
    """A stream of random bits that programs can seed, save and restore.

    The engine is made on the first draw, so that creating or seeding a generator costs nothing until it is used.
    Samplers hold ``lock`` while they draw: two threads never interleave inside one sample.
    """

    def __init__(self, device: object = "cpu") -> None:
        self.device: object = _checked_device(device)
        self.lock: Any = threading.RLock()
        self.cached_normal: float | None = None
        # What is known about ``words``, which are the first entry: samples of a few numbers are cut out of these.
        self.normals: tuple[np.ndarray, ...] = ()  # for ``normals.few_normals``
        self._units: tuple[Any, ...] = (None,)
        self._doubles: tuple[Any, ...] = (None, 0)
        self._seed: int | None = DEFAULT_SEED
        self._engines: tuple[MT19937, RandomState] | None = None
        self.words: Any = np.empty(0, np.uint32)
        self._next: int = 0
        self._ahead: int = 1  # blocks to draw when words are missing: the first is often the last before another seed

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
            self._next, self._ahead = self.words.size, 1
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
        with self.lock:
            words, position = self._block()
            seed = self.initial_seed()
            record = np.zeros((), _STATE_LAYOUT)
            record["seed"] = seed
            record["seeded"] = 1
            record["words"] = words
            # torch writes position 0 for a stream nobody has drawn from; its first word is then the seed itself.
            untouched = position == _WORDS and int(words[0]) == seed & 0xFFFFFFFF
            record["next"] = 0 if untouched else position
            record["left"] = 1 if untouched else _WORDS + 1 - position
            if self.cached_normal is not None:
                record["normal_y"] = self.cached_normal
                record["normal_is_valid"] = 1
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def _block(self) -> tuple[np.ndarray, int]:
        """The block of state words that the stream stands in, and the position there."""
        waiting = self.words.size - self._next
        unread = waiting // _WORDS  # whole blocks
        position = _WORDS - waiting % _WORDS
        if not unread:
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
        record = np.frombuffer(np.ascontiguousarray(state).tobytes(), _STATE_LAYOUT)[0]
        left, position = int(record["left"]), int(record["next"])
        if record["seeded"] != 1 or not 0 < left <= _WORDS or position > _WORDS:
            raise RuntimeError(
                "Invalid mt19937 state: the bytes have the right size but no generator wrote them. "
                "Pass what get_state() returned, unchanged."
            )
        with self.lock:
            self._seed = int(record["seed"])
            # With one draw left torch renews its words first, wherever the position stands.
            position = _WORDS if left == 1 else position
            bits, engine = self._started()
            bits.state = {
                "bit_generator": "MT19937",
                "state": {"key": record["words"].astype(np.uint32), "pos": position},
            }
            self.words, self._next = engine.randint(0, 2**32, size=_WORDS - position, dtype=np.uint32), 0
            self.cached_normal = float(record["normal_y"]) if record["normal_is_valid"] else None

    def clone_state(self) -> Generator:
        """An independent generator that will produce the same numbers."""
        return _restored(type(self), self.device, self.state_bytes())

    def __reduce__(self) -> tuple[Callable[..., Generator], tuple[object, ...]]:
        """Copies and pickles carry the state, as torch's do."""
        return _restored, (type(self), self.device, self.state_bytes())

    # ------------------------------------------------------------------ draws

    # Whoever draws holds ``lock``. The engine is always left at the end of a block of 624 words; what has not been
    # handed out waits at the end of ``words``. A few words then cost a slice. The state is the engine's with another
    # position or, where whole blocks are waiting, that of an earlier block, which is known from its words.

    def take(self, count: int) -> int:
        """Draw a few words: they are ``words[start : start + count]`` for the start that is returned."""
        start = self._next
        if start + count > self.words.size:
            missing = start + count - self.words.size
            whole = max(-(-missing // _WORDS), self._ahead) * _WORDS
            self._ahead = _BLOCKS_AHEAD
            bits, engine = self._started()
            if whole <= _SMALL:
                drawn = bits.random_raw(whole).astype(np.uint32)
            else:
                drawn = engine.randint(0, 2**32, size=whole, dtype=np.uint32)
            self.words = np.concatenate((self.words[start:], drawn))
            start = 0
        self._next = start + count
        return start

    def bits32(self, count: int) -> np.ndarray:
        """``count`` words of the stream, uint32."""
        start = self.take(count)
        words = self.words[start : start + count]
        if count <= 2 * _WORDS or self.words.size - self._next >= _WORDS:
            return words.copy()
        self.words, self._next = self.words[self._next :].copy(), 0
        return words

    def bits64(self, count: int) -> np.ndarray:
        """``count`` pairs of words, uint64; the first word of a pair is the high half."""
        waiting = self.words.size - self._next
        if 2 * count <= max(waiting, _SMALL) or waiting % 2:
            words = self.bits32(2 * count)
            return (words[0::2].astype(np.uint64) << _HALF) | words[1::2]
        head = self.bits64(waiting // 2)
        missing = count - head.size
        whole = -(-missing // (_WORDS // 2)) * (_WORDS // 2)
        drawn = self._started()[1].randint(0, 2**64, size=whole, dtype=np.uint64)
        last = drawn[whole - _WORDS // 2 :]
        self.words = np.stack((last >> _HALF, last & _LOW_32_BITS), axis=-1).astype(np.uint32).reshape(_WORDS)
        self._next = _WORDS - 2 * (whole - missing)
        return np.concatenate((head, drawn[:missing]))

    def doubles(self, count: int) -> np.ndarray:
        """``count`` float64 uniforms in [0, 1) of 53 bits; each takes two words."""
        bits = self.bits64(count)
        np.bitwise_and(bits, _LOW_53_BITS, out=bits)
        uniforms = bits.view(np.int64).astype(np.float64)
        return np.multiply(uniforms, 2.0**-53, out=uniforms)

    # A few numbers cost little more than a slice: those of all the words that wait are made together.

    def few_doubles(self, count: int) -> np.ndarray:
        """The same as ``doubles`` for a few; the result is to be read only."""
        start = self.take(2 * count)
        odd = start & 1
        if self._doubles[0] is not self.words or self._doubles[1] != odd:
            pairs = self.words[odd : odd + (self.words.size - odd) // 2 * 2].astype(np.uint64)
            bits = ((pairs[0::2] << _HALF) | pairs[1::2]) & _LOW_53_BITS
            self._doubles = self.words, odd, bits.view(np.int64) * 2.0**-53
        return self._doubles[2][start >> 1 : (start >> 1) + count]

    def few_units(self, count: int) -> np.ndarray:
        """``count`` float32 uniforms in [0, 1) of 24 bits, one word each; to be read only."""
        start = self.take(count)
        if self._units[0] is not self.words:
            units = (self.words & _LOW_24_BITS).astype(np.float32)
            self._units = self.words, np.multiply(units, _UNIT, out=units)
        return self._units[1][start : start + count]

    @contextmanager
    def one_double_at_a_time(self, expected: int) -> Iterator[Callable[[], float]]:
        """A function that returns the next float64 uniform, for samplers that reject and retry.

        Many are drawn ahead when many are expected; those not used are put back at the end.
        """
        with self.lock:
            if expected < 64:
                yield self._next_double
                return
            reader = _ReadAhead(self, min(expected, 4096))
            try:
                yield reader.next
            finally:
                reader.put_back()

    def _next_double(self) -> float:
        return self.few_doubles(1).item()

    def _position(self) -> tuple[Any, np.ndarray, int]:
        """Where the stream stands, for ``_return_to``."""
        return self._started()[0].state, self.words, self._next

    def _return_to(self, position: tuple[Any, np.ndarray, int]) -> None:
        self._started()[0].state, self.words, self._next = position

    def _started(self) -> tuple[MT19937, RandomState]:
        """The bit generator, which has the state, and the RandomState on top of it, which draws many words faster."""
        if self._engines is None:
            from numpy.random import MT19937, RandomState

            bits = MT19937(0)
            self._engines = bits, RandomState(bits)
            self._engines[1].seed(self.initial_seed() & 0xFFFFFFFF)
        return self._engines


class _ReadAhead:
    """Doubles drawn in chunks; ``put_back`` rewinds the generator to the last one that was taken."""

    def __init__(self, generator: Generator, chunk: int) -> None:
        self._generator: Generator = generator
        self._chunk: int = chunk
        self._waiting: list[float] = []
        self._before: Any = None

    def next(self) -> float:
        if not self._waiting:
            self._before = self._generator._position()
            self._waiting = self._generator.doubles(self._chunk)[::-1].tolist()
        return self._waiting.pop()

    def put_back(self) -> None:
        if self._waiting:
            self._generator._return_to(self._before)
            self._generator.bits64(self._chunk - len(self._waiting))


def _untempered(words: np.ndarray) -> np.ndarray:
    """The state words that the Mersenne Twister made these draws from: its last step, undone."""
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
