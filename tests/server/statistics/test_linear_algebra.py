"""The Cholesky factorisation: it equals SciPy's, and other threads run meanwhile."""

import threading
import time

import numpy as np
import pytest

from noughts_server.statistics.linear_algebra import Cholesky, LinAlgError


def definite(rows: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    drawn = np.random.default_rng(rows).normal(size=(rows, rows))
    return drawn @ drawn.T + np.eye(rows)


@pytest.mark.parametrize("rows", [1, 2, 7, 200])
def test_factorisation_equals_that_of_scipy(rows: int) -> None:
    from scipy.linalg import cho_factor, cho_solve

    matrix = definite(rows)
    for right in (matrix[0], np.eye(rows), matrix.T, matrix[:, : rows // 2 + 1]):
        assert np.array_equal(Cholesky(matrix).solve(right), cho_solve(cho_factor(matrix), right))


@pytest.mark.parametrize("wrong", [[[0.0]], [[1.0, 2.0], [2.0, 1.0]], [[np.nan]], [[np.inf]]])
def test_matrix_that_is_not_definite_is_refused(wrong: list[list[float]]) -> None:
    with pytest.raises(LinAlgError):
        Cholesky(np.array(wrong))


def test_other_threads_run_during_a_factorisation() -> None:
    matrix = definite(1_000)
    assert min(_held(matrix) for _ in range(5)) < 0.5


def _held(matrix: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> float:
    """Return the largest share of the work's processor time between two looks of this thread, which looks always."""
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
