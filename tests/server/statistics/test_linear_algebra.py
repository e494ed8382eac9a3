"""The Cholesky factorisation equals SciPy's, and other threads can run during it."""

import threading
import time

import numpy as np
import pytest

from noughts_server.statistics.linear_algebra import Cholesky, LinAlgError


def definite_matrix(rows: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    random_matrix = np.random.default_rng(rows).normal(size=(rows, rows))
    return random_matrix @ random_matrix.T + np.eye(rows)


@pytest.mark.parametrize("rows", [1, 2, 7, 200])
def test_factorisation_equals_that_of_scipy(rows: int) -> None:
    from scipy.linalg import cho_factor, cho_solve

    matrix = definite_matrix(rows)
    for right in (matrix[0], np.eye(rows), matrix.T, matrix[:, : rows // 2 + 1]):
        assert np.array_equal(Cholesky(matrix).solve(right), cho_solve(cho_factor(matrix), right))


@pytest.mark.parametrize("wrong", [[[0.0]], [[1.0, 2.0], [2.0, 1.0]], [[np.nan]], [[np.inf]]])
def test_matrix_that_is_not_definite_is_refused(wrong: list[list[float]]) -> None:
    with pytest.raises(LinAlgError):
        Cholesky(np.array(wrong))


def test_other_threads_run_during_a_factorisation() -> None:
    matrix = definite_matrix(1_000)
    assert min(_longest_hold(matrix) for _ in range(5)) < 0.5


def _longest_hold(matrix: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> float:
    """Return the longest time for which the work kept this thread from running, as a share of the work's time."""
    ready, leave = threading.Event(), threading.Event()
    done: list[float] = []

    def work() -> None:
        ready.set()
        began = time.thread_time()
        Cholesky(matrix).solve(np.eye(len(matrix)))
        done.append(time.thread_time() - began)
        leave.wait()

    worker = threading.Thread(target=work)
    worker.start()
    ready.wait()
    assert worker.ident is not None
    clock = time.pthread_getcpuclockid(worker.ident)
    longest, before = 0.0, time.clock_gettime(clock)
    while not done:
        time.sleep(0.001)
        now = time.clock_gettime(clock)
        longest, before = max(longest, now - before), now
    leave.set()
    worker.join()
    return longest / done[0]
