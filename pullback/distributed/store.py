"""Key-value stores: how processes of one program tell each other small things. Values are bytes.

A `TCPStore` for several processes is served by its master over a socket (`_Server`); all other stores belong to one
process. `get` and `wait` wait for keys that somebody else may set.
"""

from __future__ import annotations

import json
import threading
import time
from datetime import timedelta
from functools import partial
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, NoReturn


class DistError(RuntimeError):
    """An error between processes."""


class DistStoreError(DistError):
    """A key did not appear in time, or the process that keeps the store is gone."""


class Store:
    """Keys and values. Threads of a process may share one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._values: dict[str, bytes] = {}
        self._changed: threading.Condition = threading.Condition()
        self.timeout: timedelta = timedelta(minutes=5)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def set(self, key: str, value: str | bytes) -> None:
        """Keep a value."""
        with self._changed:
            self._values[key] = _bytes(value)
            self._changed.notify_all()

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a value."""
        with self._changed:
            self.set(key, self._values.get(key, b"") + _bytes(value))

    def get(self, key: str) -> bytes:
        """Wait until a key is set, and return its value."""
        with self._changed:
            self.wait([key])
            return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a number."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self.set(key, str(total))
            return total

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Replace a value if it is the expected one."""
        with self._changed:
            if self._values.get(key, expected_value.encode()) == expected_value.encode():
                self.set(key, desired_value)
            return self._values[key]

    def check(self, keys: list[str]) -> bool:
        """True if all the keys are set."""
        with self._changed:
            return all(key in self._values for key in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Return when all the keys are set."""
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), seconds):
                missing = [key for key in keys if key not in self._values]
                raise DistStoreError(f"Wait timeout: nobody has set {missing} within {seconds:g} seconds.")

    def num_keys(self) -> int:
        """The number of keys."""
        return len(self._values)

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        with self._changed:
            return self._values.pop(key, None) is not None

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Keep several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def set_timeout(self, timeout: timedelta) -> None:
        """How long `get` and `wait` wait."""
        self.timeout = timeout


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class HashStore(Store):
    """A store of its own."""


_shared: dict[tuple[Any, ...], Store] = {}


class FileStore(Store):
    """The store of a path, within this process."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path: str = file_name
        first = _shared.setdefault((file_name,), self)
        self._values, self._changed = first._values, first._changed


# --- between processes ---

_REQUESTS = frozenset({"set", "append", "get", "add", "compare_set", "check", "wait", "num_keys", "delete_key"})


class _Server:
    """Answers requests for a store. They are JSON, not pickles, so that no request can make this process run code."""

    def __init__(self, store: Store, host: str, port: int) -> None:
        self.store: Store = store
        self.listener: Listener = Listener((host, port), backlog=64)
        self.port: int = self.listener.address[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        try:
            while True:
                name, args, seconds = json.loads(connection.recv_bytes())
                connection.send_bytes(json.dumps(self._result(name, args, seconds)).encode())
        except (EOFError, OSError):
            connection.close()

    def _result(self, name: str, args: list[Any], seconds: float) -> dict[str, Any]:
        try:
            if name == "get":
                self.store.wait(args, timedelta(seconds=seconds))
            elif name == "wait":
                args = [args[0], timedelta(seconds=seconds)]
            elif name in ("set", "append"):
                args = [args[0], args[1].encode("latin-1")]
            result = getattr(self.store, name)(*args) if name in _REQUESTS else None
        except DistStoreError as error:
            return {"error": str(error)}
        return {"bytes": result.decode("latin-1")} if isinstance(result, bytes) else {"value": result}


class TCPStore(Store):
    """The store of a host and port. With several processes, the master serves it and the others connect to it."""

    def __init__(
        self, host_name: str, port: int = 0, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = timedelta(minutes=5), wait_for_workers: bool = True, **_: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.host: str = host_name
        self.port: int = port
        self.timeout = timeout
        self._server: _Server | None = None
        self._connection: Connection | None = None
        self._turn: threading.Lock = threading.Lock()
        if is_master:
            self._server = _Server(self, host_name, port)
            self.port = self._server.port
            _shared[host_name, self.port] = self
        elif (host_name, port) in _shared:  # its master is in this process
            master = _shared[host_name, port]
            self._values, self._changed = master._values, master._changed
        else:
            self._connection = self._connect()
            self.__dict__.update({name: partial(self._ask, name) for name in _REQUESTS})

    def _connect(self) -> Connection:
        """A connection to the master, which may not have started yet."""
        give_up = time.monotonic() + self.timeout.total_seconds()
        while True:
            try:
                return Client((self.host, self.port))
            except OSError:
                if time.monotonic() > give_up:
                    raise DistStoreError(f"No TCPStore is served at {self.host}:{self.port}.") from None
                time.sleep(0.05)

    def _ask(self, name: str, *args: Any, timeout: timedelta | None = None) -> Any:
        """One of the store's methods, done by the master."""
        assert self._connection is not None
        given = list(args)
        if name in ("set", "append"):
            given[1] = _bytes(given[1]).decode("latin-1")
        elif name == "wait" and len(given) == 2:
            timeout = given.pop()
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        with self._turn:
            try:
                self._connection.send_bytes(json.dumps([name, given, seconds]).encode())
                answer = json.loads(self._connection.recv_bytes())
            except (EOFError, OSError):
                raise DistStoreError(f"The TCPStore at {self.host}:{self.port} is gone.") from None
        if "error" in answer:
            raise DistStoreError(answer["error"])
        return answer["bytes"].encode("latin-1") if "bytes" in answer else answer["value"]
