"""Which players a set of games can compare, and whether it determines the first-move advantage.

A likelihood of ratings has a finite maximum only if every player has taken points off every other, possibly through
others: in one strong component of the graph "took points off" (L. R. Ford, "Solution of a ranking problem from binary
comparisons", 1957). Games between components show who is stronger, not by how much.
"""

import numpy as np

from noughts_server.statistics.linear_algebra import connected_components, coo_array
from noughts_server.statistics.rated_games import Booleans, Floats, Integers, RatedGames
from noughts_server.statistics.rating_table import AdvantageBound


def groups_of(games: RatedGames, fixed: Booleans) -> Integers:
    """Return the number of each player's group, from 0. The ratings within a group can be compared.

    All `fixed` players are in one group, because their ratings are given and connect the players around them. A group
    that only won against another one comes before it. Otherwise larger groups come first, then names.
    """
    number = len(games.players)
    if not number:
        return np.zeros(0, dtype=np.int64)
    took, gave, _ = _took_points(games)
    anchors = np.flatnonzero(fixed)
    took = np.concatenate((took, anchors))
    gave = np.concatenate((gave, np.roll(anchors, 1)))
    graph = coo_array((np.ones(len(took)), (took, gave)), shape=(number, number)).tocsr()
    count, labels = connected_components(graph, directed=True, connection="strong")
    groups = labels.astype(np.int64)
    return _in_order(groups, count, groups[took], groups[gave])


def _took_points(games: RatedGames) -> tuple[Integers, Integers, Floats]:
    """Return the players that took points off others, the others, and 1 for a taker that moved first, else -1."""
    first_took = games.wins + games.draws > 0
    second_took = games.losses + games.draws > 0
    took = np.concatenate((games.first[first_took], games.second[second_took]))
    gave = np.concatenate((games.second[first_took], games.first[second_took]))
    return took, gave, np.concatenate((np.ones(first_took.sum()), -np.ones(second_took.sum())))


def _in_order(labels: Integers, count: int, above: Integers, below: Integers) -> Integers:
    """Number the groups again, winners before the groups they beat (Kahn's order, the largest group first)."""
    if count == 1:
        return labels
    # The module takes half a second to load.
    import networkx

    sizes = np.bincount(labels, minlength=count)
    first_player = np.full(count, len(labels), dtype=np.int64)
    np.minimum.at(first_player, labels, np.arange(len(labels)))
    in_different_groups = above != below
    graph: networkx.DiGraph[int] = networkx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(zip(above[in_different_groups].tolist(), below[in_different_groups].tolist(), strict=True))
    order = networkx.lexicographical_topological_sort(graph, lambda group: (-sizes[group], first_player[group]))
    numbers = np.empty(count, dtype=np.int64)
    numbers[list(order)] = np.arange(count)
    ordered: Integers = numbers[labels]
    return ordered


def advantage_bound(games: RatedGames, fixed: Booleans) -> AdvantageBound:
    """Return whether these games, all within groups, bound the advantage; `fixed` players' ratings cannot move.

    Ratings could follow an ever larger advantage a without contradicting a game if differences r(loser) - r(winner)
    exist that are at most a if the winner moved first and at most -a if the loser did. These are difference
    constraints, which a cycle of negative length excludes (Bellman 1958). For a smaller advantage the signs change.
    """
    winner, loser, length = _took_points(games)
    # Fixed players move with the pool or not at all, hence together, so they count as one player.
    place = np.arange(len(games.players))
    if fixed.any():
        place[fixed] = np.flatnonzero(fixed)[0]
    winner, loser = place[winner], place[loser]
    order = np.argsort(loser, kind="stable")
    winner, loser, length = winner[order], loser[order], length[order]
    upwards = not _has_negative_cycle(winner, loser, length, len(place))
    downwards = not _has_negative_cycle(winner, loser, -length, len(place))
    if upwards and downwards:
        return AdvantageBound.CONFOUNDED
    if upwards:
        return AdvantageBound.ABOVE_ALL
    return AdvantageBound.BELOW_ALL if downwards else AdvantageBound.FINITE


def _has_negative_cycle(source: Integers, target: Integers, length: Floats, number: int) -> bool:
    """Return whether edges, sorted by target, have a cycle of negative length, by shortest paths from everywhere."""
    if not len(source):
        return False
    reached, starts = np.unique(target, return_index=True)
    distance = np.zeros(number)
    before = np.full(number, -1, dtype=np.int64)  # -1: no predecessor yet
    for round_ in range(number + 1):
        candidates = distance[source] + length
        best = np.minimum.reduceat(candidates, starts)
        improved = np.zeros(number, dtype=bool)
        improved[reached] = best < distance[reached]
        if not improved.any():
            return False
        is_best = improved[target] & (candidates == np.repeat(best, np.diff(np.append(starts, len(target)))))
        before[target[is_best]] = source[is_best]
        distance[reached] = np.minimum(distance[reached], best)
        # A cycle of predecessors has negative length. It is searched only after 1, 2, 4, 8, ... rounds.
        if round_ & (round_ + 1) == 0 and _has_cycle(before):
            return True
    return True


def _has_cycle(before: Integers) -> bool:
    """Return whether a node precedes itself."""
    nodes = np.flatnonzero(before >= 0)
    if np.any(before[nodes] == nodes):
        return True
    number = len(before)
    graph = coo_array((np.ones(len(nodes)), (before[nodes], nodes)), shape=(number, number)).tocsr()
    count, _ = connected_components(graph, directed=True, connection="strong")
    return bool(count < number)
