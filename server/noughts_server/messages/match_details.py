"""How a match went, as a message and as a few lines of text."""

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.statistics.sprt import Sprt, SprtModel
from noughts_server.store.tournaments.tournaments import Tournament

_COUNTS = ("wins", "draws", "losses", "voids")
_VERDICTS = {"H0": ": H0 accepted", "H1": ": H1 accepted", "continue": ": not decided yet", "": ""}


def match_details_message(tournament: Tournament, found: pb.MatchStatistics | None) -> pb.MatchDetails | None:
    """Return how a match with these statistics went; without them only advice, or None.

    Games stored by older servers have no details.
    """
    counts = tournament.match_counts or {}
    advice = counts.get("advice", "")
    if found is None:
        return pb.MatchDetails(advice=advice) if advice else None
    test = found.HasField("sprt")
    endings = [
        pb.MatchEnding(termination=int(termination), **dict(zip(_COUNTS, results, strict=True)))  # type: ignore[arg-type]  # equal values
        for termination, results in counts.get("endings", {}).items()
    ]
    course = [(0, 0.0), *counts.get("course", ())] if test else []
    if test and course[-1][0] < sum(found.pentanomial):
        course.append((sum(found.pentanomial), found.sprt.llr))
    return pb.MatchDetails(
        course=[pb.LlrPoint(pairs=pairs, llr=llr) for pairs, llr in course],
        endings=sorted(endings, key=lambda row: row.voids - row.wins - row.draws - row.losses),
        openings=[
            pb.MatchOpening(moves=moves, wins=results[0], draws=results[1], losses=results[2])
            for moves, results in counts.get("openings", ())
        ],
        openings_total=counts.get("openings_total", 0),
        referees=[pb.RefereeGames(name=name, games=games) for name, games in counts.get("referees", {}).items()],
        summary=_summary(tournament, found, endings),
        advice=advice,
    )


def _summary(tournament: Tournament, found: pb.MatchStatistics, endings: list[pb.MatchEnding]) -> str:
    settings, state = tournament.settings, found.sprt
    wins, draws, losses = (sum(getattr(row, name) for row in endings) for name in _COUNTS[:3])
    repeats = f", and {found.repeats} repeated" if found.repeats else ""
    rows = [
        ("Elo", _value(found, "elo", "error95")),
        ("nElo", _value(found, "normalized_elo", "normalized_error95")),
        ("Games", f"{wins + draws + losses}: {wins} W, {losses} L, {draws} D{repeats}"),
        ("Pairs", str(list(found.pentanomial))),
        ("Game", settings.variant),
        ("Time", ", ".join([str(settings.time), *(f"{label} {time}" for label, time in settings.own_times.items())])),
        ("Book", str(settings.openings)),
    ]
    if state.decision:
        asked = Sprt.parse(settings.sprt)
        bounds = f"({state.lower:.2f}, {state.upper:.2f}) [{asked.elo0:.2f}, {asked.elo1:.2f}]"
        bounds += " normalized" * (asked.model is SprtModel.NORMALIZED)
        rows.insert(2, ("LLR", f"{state.llr:.2f} {bounds}"))
    verdict = _VERDICTS[state.decision].removesuffix(" yet" if tournament.ended else "")
    title = f"{' against '.join(found.labels)}{verdict}"
    return "\n".join([title, *(f"{name:5} | {text}" for name, text in rows)])


def _value(found: pb.MatchStatistics, value: str, error: str) -> str:
    """Return e.g. `+12.34 ± 5.67 (95 %)`."""
    if not found.HasField(value):  # type: ignore[arg-type]  # an optional field
        return "unknown"
    told = f"{getattr(found, value):+.2f}"
    return f"{told} ± {getattr(found, error):.2f} (95 %)" if found.HasField(error) else told  # type: ignore[arg-type]  # the same
