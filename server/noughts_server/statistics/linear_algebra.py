"""SciPy's Cholesky factorisation on one thread, during which other threads of Python run.

OpenBLAS starts as many spinning threads as there are cores. Next to bots or a server's loop they wait for each other: a
matrix of 1,000 rows took 1.4 s instead of 0.03 s. SciPy's copy of OpenBLAS reads the number of threads once, when it is
loaded. So this module must be imported first, and child processes must not inherit the variable.

SciPy's functions keep the interpreter until they return, 0.1 s for 1,500 rows and longer on a busy machine. Meanwhile a
server would send no heartbeat. So this module calls the same routines of LAPACK through ctypes.
"""

import ctypes
import os
from typing import Any

import numpy as np
import numpy.typing as npt

_THREADS = "OPENBLAS_NUM_THREADS"

_before = os.environ.get(_THREADS)
os.environ.setdefault(_THREADS, "1")
try:
    from scipy.linalg import LinAlgError, cython_lapack
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.special import expit, ndtr, stdtrit
finally:
    if _before is None:
        del os.environ[_THREADS]

__all__ = ["Cholesky", "LinAlgError", "connected_components", "coo_array", "expit", "ndtr", "stdtrit"]

_Floats = npt.NDArray[np.float64]
_INTEGER = ctypes.POINTER(ctypes.c_int)


def _routine(name: str, *arguments: Any) -> Any:
    """Return a routine of LAPACK whose arguments have these types. A call of it releases the interpreter."""
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    routines: dict[str, Any] = dict(cython_lapack.__pyx_capi__)
    capsule = routines[name]
    return ctypes.CFUNCTYPE(None, *arguments)(address_of(capsule, name_of(capsule)))


_ARRAY, _TEXT = ctypes.c_void_p, ctypes.c_char_p
# The arguments: uplo, n, matrix, its leading dimension, info.
_POTRF = _routine("dpotrf", _TEXT, _INTEGER, _ARRAY, _INTEGER, _INTEGER)
# uplo, n, columns of the right side, matrix, its leading dimension, right side, its leading dimension, info.
_POTRS = _routine("dpotrs", _TEXT, _INTEGER, _INTEGER, _ARRAY, _INTEGER, _ARRAY, _INTEGER, _INTEGER)
_UPPER = b"U"


class Cholesky:
    """The factor of a symmetric matrix that is positive definite."""

    def __init__(self, matrix: _Floats) -> None:
        """Raise LinAlgError if the matrix is not positive definite, or not finite."""
        if not np.isfinite(matrix).all():
            raise LinAlgError("the matrix is not finite")
        self._factor = np.array(matrix, dtype=np.float64, order="F")
        self._rows = ctypes.c_int(len(matrix))
        info = ctypes.c_int()
        _POTRF(_UPPER, self._rows, self._factor.ctypes.data, self._rows, info)
        if info.value:
            raise LinAlgError("the matrix is not positive definite")

    def solve(self, right: _Floats) -> _Floats:
        """Return x of matrix @ x = right, which is a vector or a matrix."""
        # The routine replaces the right side by the solution.
        solution = np.array(right, dtype=np.float64, order="F")
        columns = ctypes.c_int(1 if solution.ndim == 1 else solution.shape[1])
        info = ctypes.c_int()
        factor = self._factor.ctypes.data
        rows = self._rows
        _POTRS(_UPPER, rows, columns, factor, rows, solution.ctypes.data, rows, info)
        return solution
