"""Protocol messages of analyses of games."""

from noughts_bots.reference.accuracy import Accuracy
from noughts_proto.v1 import games_pb2 as pb
from noughts_server.tables.game_analysis import GameAnalysis, mark_of


def analysis_message(analysis: GameAnalysis) -> pb.GetAnalysisResponse:
    """Return an analysis as a protocol message."""
    first, second = analysis.accuracies
    return pb.GetAnalysisResponse(
        state=pb.ANALYSIS_STATE_DONE,
        values=[
            pb.PositionValue(ply=ply, value=verdict.result, plies=verdict.plies, exact=verdict.exact)
            for ply, verdict in analysis.verdicts.items()
        ],
        mistakes=[
            pb.Mistake(ply=turn.ply, mark=mark_of(turn), better=turn.before.best, line=turn.line)
            for turn in analysis.turns
        ],
        first=_accuracy_message(first),
        second=_accuracy_message(second),
    )


def _accuracy_message(accuracy: Accuracy) -> pb.SideAccuracy:
    return pb.SideAccuracy(decisions=accuracy.decisions, blunders=accuracy.blunders, accuracy=accuracy.share)
