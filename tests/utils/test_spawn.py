"""`multiprocessing.spawn`: processes that run one function, and the failure of one of them."""

import pytest

import pullback
from pullback import multiprocessing


def write_square(index, path):
    (path / str(index)).write_text(str(index**2))


def fail_second(index):
    if index == 1:
        raise ValueError("the second one")


def test_each_process_gets_its_number(tmp_path):
    assert multiprocessing.start_processes(write_square, (tmp_path,), nprocs=3, start_method="fork") is None
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["0", "1", "4"]


def test_a_failure_names_the_process_and_shows_the_error():
    with pytest.raises(
        multiprocessing.ProcessRaisedException, match="Process 1 terminated[^$]*the second one"
    ) as caught:
        multiprocessing.start_processes(fail_second, nprocs=2, start_method="fork")
    assert caught.value.error_index == 1


def test_a_failure_between_two_looks_is_not_missed():
    class Process:
        sentinel, pid = None, 1
        codes = iter([None, None, 1, 1, 1, 1])
        exitcode = property(lambda self: next(self.codes))
        is_alive = terminate = join = lambda self: None

    context = multiprocessing.ProcessContext([Process()], [multiprocessing.SimpleQueue()])
    context.processes[0].sentinel = context._errors[0]._reader
    assert not context.join(timeout=0)
    with pytest.raises(multiprocessing.ProcessExitedException, match="exit code 1"):
        context.join(timeout=0)


def test_spawn_has_one_start_method():
    with pytest.warns(FutureWarning, match="only supports start_method=spawn .got: fork."):
        context = pullback.multiprocessing.spawn(fail_second, nprocs=0, join=False, start_method="fork")
    assert context.join()
