"""Tasks of threads that are taken as threads are free."""

import threading
import time

import pytest

from partita.training.threads import as_free, in_threads


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_results_come_in_the_order_of_tasks(n_threads):
    def task(number):
        time.sleep(0.002 * (7 - number))
        return number

    tasks = [lambda number=number: task(number) for number in range(7)]
    assert as_free(tasks, n_threads=n_threads) == list(range(7))
    assert as_free([], n_threads=n_threads) == []


def test_who_is_free_takes_the_next_task():
    is_done = threading.Event()
    # The first one waits for the last, so that no other thread may have been dealt that.
    tasks = [lambda: is_done.wait(10), *[lambda: None] * 8, is_done.set]
    assert as_free(tasks, n_threads=2)[0]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_of_a_task_comes_out(n_threads, place):
    def fails():
        raise ZeroDivisionError

    tasks = [lambda: time.sleep(0.002)] * 4
    tasks[place] = fails
    with pytest.raises(ZeroDivisionError):
        as_free(tasks, n_threads=n_threads)


def test_a_kept_thread_does_its_tasks_itself():
    def names():
        return set(as_free([lambda: threading.current_thread().name] * 5, n_threads=2))

    assert all(
        len(each) == 1 for each in in_threads(lambda _: names(), range(4), n_threads=2)[1::2]
    )
