"""000, second part: `NextStep`, the Delphi `Rayting` that calls it, and the second half of `SelectCell`."""

from collections.abc import Callable

from .boards import Evaluation, check_question
from .pascal import fin, select_cell, to_position

Ending = Callable[[list[int]], int]
Memory = dict[tuple[tuple[int, ...], int, int], int]


def fin_of_the_article(pos: list[int]) -> int:
    return fin(pos)[0]


def next_step(pos: list[int], i: int, fig: int, wlo: int, glub: int, memory: Memory | None, ending: Ending) -> int:
    """The rating of the move of `fig` to cell i. Without a memory this is the plain recursion of the article.

    The memory changes no answer. What follows the first three statements reads the position, `fig` and `wlo` and
    writes nothing but its result; of `wlo` it uses only `wlo < glub`, here and (one more each) in the calls below,
    so that `glub - wlo` says all. A memory must not be shared between different `ending`s.
    """
    pos = pos.copy()  # a value parameter in Pascal: the caller's board stays as it is
    pos[i] = fig
    wlo += 1
    fig = 4 if fig == 1 else 1
    if memory is None:
        return _after_the_move(pos, fig, wlo, glub, memory, ending)
    key = (tuple(pos), fig, glub - wlo)
    if key not in memory:
        memory[key] = _after_the_move(pos, fig, wlo, glub, memory, ending)
    return memory[key]


def _after_the_move(pos: list[int], fig: int, wlo: int, glub: int, memory: Memory | None, ending: Ending) -> int:
    """The rest of `NextStep`, from `Result:=Fin(pos) shl 3` on.

    Lines of both marks make Fin 5 and this 40, above the 32 of a win: nothing in the article forbids it, and the
    search counts it down like a win. A minimum of such values stays at the 32 it starts with.
    """
    result = ending(pos) << 3
    if result != 0:
        return result
    if wlo < glub:
        ra = [0] * 10
        for j in range(1, 10):
            if pos[j] == 0:
                ra[j] = next_step(pos, j, fig, wlo, glub, memory, ending)
                if ra[j] < 16:
                    ra[j] += 1
                elif ra[j] > 24:
                    ra[j] -= 1
        if fig == 1:
            result = 32
            for j in range(1, 10):
                if pos[j] == 0 and result > ra[j]:
                    result = ra[j]
        else:
            result = 8
            for j in range(1, 10):
                if pos[j] == 0 and result < ra[j]:
                    result = ra[j]
    else:
        result = 16
    return result


_MEMORY_OF_THE_ARTICLE: Memory = {}


def rayting(
    kl: list[int],
    glub: int,
    memory: Memory | None = _MEMORY_OF_THE_ARTICLE,
    ending: Ending = fin_of_the_article,
) -> list[int]:
    ray = [0] * 10
    for i in range(1, 10):
        if kl[i] == 0:
            ray[i] = next_step(kl, i, 4, 0, glub, memory, ending)
        else:
            ray[i] = 0
    return ray


def consider(board: str, me: str, depth: int = 9) -> Evaluation:
    check_question(board, me)
    if not 1 <= depth <= 9:
        raise ValueError(f"no such depth: {depth}")
    kl = to_position(board, me)
    ray = rayting(kl, depth)
    candidates, weights = select_cell(ray, 1)
    return Evaluation(candidates, weights, {i - 1: ray[i] for i in range(1, 10) if kl[i] == 0})
