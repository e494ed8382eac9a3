"""SciPy's Cholesky factorisation on one thread.

OpenBLAS starts as many spinning threads as there are cores. Next to bots or a server's loop they wait for each other: a
matrix of 1,000 rows took 1.4 s instead of 0.03 s. SciPy's copy of OpenBLAS reads the number of threads once, when it is
loaded. So this module must be imported first, and child processes must not inherit the variable.
"""

import os

_THREADS = "OPENBLAS_NUM_THREADS"

_before = os.environ.get(_THREADS)
os.environ.setdefault(_THREADS, "1")
try:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.special import expit, ndtr
finally:
    if _before is None:
        del os.environ[_THREADS]

__all__ = ["LinAlgError", "cho_factor", "cho_solve", "connected_components", "coo_array", "expit", "ndtr"]
