"""Key-value stores. In torch they connect processes; here one process shares each by its name."""

from __future__ import annotations

from typing import Any


class Store:
    """Keys and values: values are kept as bytes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._values: dict[str, bytes] = {}

    def set(self, key: str, value: str | bytes) -> None:
        """Keep a value."""
        self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key: str) -> bytes:
        """The value of a key; KeyError if nobody has set it, since nobody else can."""
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a number."""
        total = int(self._values.get(key, b"0")) + amount
        self._values[key] = str(total).encode()
        return total

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Replace a value if it is the expected one."""
        if self._values.get(key, expected_value.encode()) == expected_value.encode():
            self.set(key, desired_value)
        return self._values[key]

    def check(self, keys: list[str]) -> bool:
        return all(key in self._values for key in keys)

    def wait(self, keys: list[str], timeout: Any = None) -> None:
        """KeyError for a key that nobody has set."""
        for key in keys:
            self.get(key)

    def num_keys(self) -> int:
        return len(self._values)

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        return self._values.pop(key, None) is not None

    def set_timeout(self, timeout: Any) -> None:
        """Accepted: nothing waits."""


class HashStore(Store):
    """A store of its own."""


_shared: dict[tuple[Any, ...], dict[str, bytes]] = {}


class TCPStore(Store):
    """The store of a host and port, within this process."""

    host: str
    port: int

    def __init__(
        self, host_name: str, port: int = 0, world_size: int | None = None, is_master: bool = False, **_: Any
    ) -> None:
        self.host, self.port = host_name, port
        if is_master:
            _shared[host_name, port] = {}
        self._values = _shared.setdefault((host_name, port), {})


class FileStore(Store):
    """The store of a path, within this process."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path: str = file_name
        self._values = _shared.setdefault((file_name,), {})
