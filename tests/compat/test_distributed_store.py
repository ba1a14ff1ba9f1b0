"""Key-value stores: within a process, and between processes through the socket of a `TCPStore`."""

import multiprocessing
import pickle
from datetime import timedelta

import pytest

from pullback.distributed import DistStoreError, FileStore, HashStore, TCPStore

SOON = timedelta(seconds=0.05)


def stores(tmp_path):
    return HashStore(), FileStore(str(tmp_path / "store")), TCPStore("127.0.0.1", 0, 1, is_master=True)


def test_one_process(tmp_path):
    for store in stores(tmp_path):
        store.set("a", "1")
        store.append("a", b"\xff")
        assert (store.get("a"), store.add("n", 2), store.add("n", 3), store.num_keys()) == (b"1\xff", 2, 5, 2)
        assert (store.compare_set("n", "5", "7"), store.compare_set("n", "5", "8")) == (b"7", b"7")
        assert (store.check(["a"]), store.check(["a", "b"]), store.delete_key("a"), store.delete_key("a")) == (
            True, False, True, False,
        )  # fmt: skip
        store.set_timeout(SOON)
        for attempt in (lambda: store.get("never"), lambda: store.wait(["never"], SOON)):
            with pytest.raises(DistStoreError, match="Wait timeout"):
                attempt()
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(store)


def tell(port, rank, answers):
    store = TCPStore("127.0.0.1", port, world_size=3, is_master=False)
    store.set(f"rank {rank}", bytes([rank, 255]))
    heard = [store.get(f"rank {other}") for other in range(3)]
    store.set_timeout(SOON)
    try:
        store.get("never")
    except DistStoreError:
        heard.append("timeout")
    answers.put((rank, heard, store.add("count", 1), store.check(["rank 0"]), store.delete_key("never")))


def test_several_processes():
    master = TCPStore("127.0.0.1", 0, world_size=3, is_master=True)
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    workers = [context.Process(target=tell, args=(master.port, rank, answers)) for rank in (1, 2)]
    for worker in workers:
        worker.start()
    master.set("rank 0", b"\x00\xff")
    found = sorted(answers.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    values = [bytes([rank, 255]) for rank in range(3)]
    assert [answer[:2] for answer in found] == [(1, [*values, "timeout"]), (2, [*values, "timeout"])]
    assert sorted(answer[2] for answer in found) == [1, 2] and master.get("count") == b"2"
    assert all(answer[3:] == (True, False) for answer in found)
