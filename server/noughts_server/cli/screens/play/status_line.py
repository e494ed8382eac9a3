"""The status of a match in words: whose turn it is, how a game ended, the score."""

from noughts_referee.rules import FORFEITS, Result, Termination
from noughts_server.cli.screens.play.match import Match, Participant
from noughts_server.cli.screens.shown_game import YOU


def status(match: Match) -> str:
    """Return the player to move, or how the game ended."""
    if match.ended is not None:
        return _ending(match)
    player, mark = match.players[match.turn], match.marks[match.turn]
    if not player.person:
        return f"{player.name} ({mark}) is thinking."
    return f"Your turn ({mark})." if player.name == YOU else f"{player.name} ({mark}) to move."


def _ending(match: Match) -> str:
    assert match.ended is not None
    result, termination = match.ended.outcome
    winner = match.ended.winner
    if result is Result.VOID:
        return "The game was cancelled and does not count."
    if winner is None:
        full = termination is Termination.BOARD_FULL
        return "Nobody wins: the board is full." if full else f"Nobody wins ({termination.words})."
    winning_player, losing_player = match.players[winner], match.players[1 - winner]
    if termination is Termination.LINE:
        return f"{_with_verb(winning_player, 'win')}: the line is complete."
    return f"{_with_verb(winning_player, 'win')}: {_reason(losing_player, termination)}."


def _reason(loser: Participant, termination: Termination) -> str:
    """Return why the loser lost, e.g. `you were too slow`."""
    if termination not in FORFEITS:
        return termination.words
    if loser.name == YOU:
        return f"you {termination.deed.replace('was ', 'were ')}"
    return f"{loser.name} {termination.deed}"


def _with_verb(player: Participant, verb: str) -> str:
    return f"{player.name} {verb}" if player.name == YOU else f"{player.name} {verb}s"


def score_rows(match: Match) -> tuple[tuple[str, int], tuple[str, int], tuple[str, int]]:
    """Return the score so far as rows: the first player's wins, draws, the second's wins."""
    score = match.score
    first_name, second_name = (player.name if player.name != YOU else "you" for player in match.players)
    return (first_name, score.wins), ("draws", score.draws), (second_name, score.losses)


def score_line(match: Match) -> str:
    """Return the score so far, e.g. `you 2, draws 1, pascal 0`."""
    return ", ".join(f"{name} {count}" for name, count in score_rows(match))
