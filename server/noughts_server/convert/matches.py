"""Protocol messages of the statistics and details of matches, and their summary as text."""

from collections.abc import Mapping, Sequence
from typing import Any

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.statistics.candidates import CandidateState
from noughts_server.statistics.match_games import MatchStatistics
from noughts_server.statistics.sprt import Sprt, SprtModel, SprtState
from noughts_server.store.pairing.matches import read_candidates, read_statistics
from noughts_server.store.tournaments.tournaments import Tournament

_VERDICTS = {"H0": ": H0 accepted", "H1": ": H1 accepted", "continue": ": not decided yet", "": ""}


def match_statistics_message(tournament: Tournament, labels: Sequence[str]) -> pb.MatchStatistics | None:
    """Return the statistics of a match of these entries; None for other formats, or with fewer than two entries."""
    settings = tournament.settings
    if settings.schedule.base is None or settings.schedule.pairs_ahead or len(labels) < 2:
        return None
    return _statistics_message(read_statistics(tournament.match_counts, settings.sprt), labels=labels)


def candidates_messages(tournament: Tournament, labels: Sequence[str]) -> list[pb.MatchStatistics]:
    """Return the statistics of each candidate; the first entry is the base. Other formats have no candidates."""
    settings = tournament.settings
    if settings.schedule.base is None or not settings.schedule.pairs_ahead or len(labels) < 2:
        return []
    base, *candidates = labels
    messages = []
    results = read_candidates(tournament.match_counts, settings.sprt, len(candidates))
    for label, (statistics, state) in zip(candidates, results, strict=True):
        if tournament.ended and state in (CandidateState.PLAYS, CandidateState.WAITS):
            state = CandidateState.STOPPED
        messages.append(_statistics_message(statistics, labels=[label, base], state=state))
    return messages


def proven_by_test(tournament: Tournament, labels: Sequence[str]) -> list[str]:
    """Return the labels of the bots that a test proved to be stronger: the new bot, or the accepted candidates.

    A test with `elo0` below 0 proves only that a bot is not weaker by that much.
    """
    if Sprt.parse(tournament.settings.sprt).elo0 < 0:
        return []
    match = match_statistics_message(tournament, labels)
    if match is not None:
        return [labels[0]] if match.sprt.decision == "H1" else []
    candidates = candidates_messages(tournament, labels)
    return [each.labels[0] for each in candidates if each.state == CandidateState.ACCEPTED]


def _statistics_message(statistics: MatchStatistics, *, labels: Sequence[str], state: str = "") -> pb.MatchStatistics:
    estimate = statistics.estimate
    return pb.MatchStatistics(
        labels=labels,
        pentanomial=statistics.pentanomial,
        single=statistics.single,
        repeats=statistics.repeats,
        games=statistics.games,
        score=estimate.score,
        elo=estimate.value,
        error95=estimate.error95,
        los=estimate.los,
        normalized_elo=estimate.normalized,
        normalized_error95=estimate.normalized_error95,
        sprt=None if statistics.sprt is None else _sprt_message(statistics.sprt),
        state=state,
    )


def _sprt_message(state: SprtState) -> pb.SprtState:
    return pb.SprtState(llr=state.llr, lower=state.lower, upper=state.upper, decision=state.decision)


def match_details_message(tournament: Tournament, statistics: pb.MatchStatistics | None) -> pb.MatchDetails | None:
    """Return the details of a match with these statistics; without statistics only its advice, or None.

    Games stored by older servers have no details.
    """
    counts = tournament.match_counts or {}
    advice = counts.get("advice", "")
    if statistics is None:
        return pb.MatchDetails(advice=advice) if advice else None
    endings = [_ending_message(int(termination), results) for termination, results in counts.get("endings", {}).items()]
    return pb.MatchDetails(
        course=_course_messages(counts, statistics),
        endings=sorted(endings, key=lambda row: row.voids - row.wins - row.draws - row.losses),
        openings=[
            pb.MatchOpening(moves=moves, wins=wins, draws=draws, losses=losses)
            for moves, (wins, draws, losses, _) in counts.get("openings", ())
        ],
        openings_total=counts.get("openings_total", 0),
        referees=[pb.RefereeGames(name=name, games=games) for name, games in counts.get("referees", {}).items()],
        summary=_summary(tournament, statistics, endings),
        advice=advice,
    )


def _ending_message(termination: int, results: Sequence[int]) -> pb.MatchEnding:
    wins, draws, losses, voids = results
    return pb.MatchEnding(
        termination=termination,  # type: ignore[arg-type]  # equal values
        wins=wins,
        draws=draws,
        losses=losses,
        voids=voids,
    )


def _course_messages(counts: Mapping[str, Any], statistics: pb.MatchStatistics) -> list[pb.LlrPoint]:
    """Return points of the log-likelihood ratio (LLR) by number of pairs, in order; none without a test."""
    if not statistics.HasField("sprt"):
        return []
    course = [(0, 0.0), *counts.get("course", ())]
    pairs_counted = sum(statistics.pentanomial)
    last_pairs, _ = course[-1]
    if last_pairs < pairs_counted:
        course.append((pairs_counted, statistics.sprt.llr))
    return [pb.LlrPoint(pairs=pairs, llr=llr) for pairs, llr in course]


def _summary(tournament: Tournament, statistics: pb.MatchStatistics, endings: Sequence[pb.MatchEnding]) -> str:
    settings, test = tournament.settings, statistics.sprt
    wins = sum(row.wins for row in endings)
    draws = sum(row.draws for row in endings)
    losses = sum(row.losses for row in endings)
    repeats = f", and {statistics.repeats} repeated" if statistics.repeats else ""
    own_times = [f"{label} {time}" for label, time in settings.own_times.items()]
    rows = [
        ("Elo", _elo_text(statistics)),
        ("nElo", _normalized_elo_text(statistics)),
        ("Games", f"{wins + draws + losses}: {wins} W, {losses} L, {draws} D{repeats}"),
        ("Pairs", str(list(statistics.pentanomial))),
        ("Game", settings.variant),
        ("Time", ", ".join([str(settings.time), *own_times])),
        ("Book", str(settings.openings)),
    ]
    if test.decision:
        sprt = Sprt.parse(settings.sprt)
        bounds = f"({test.lower:.2f}, {test.upper:.2f}) [{sprt.elo0:.2f}, {sprt.elo1:.2f}]"
        if sprt.model is SprtModel.NORMALIZED:
            bounds += " normalized"
        rows.insert(2, ("LLR", f"{test.llr:.2f} {bounds}"))
    verdict = _VERDICTS[test.decision].removesuffix(" yet" if tournament.ended else "")
    title = f"{' against '.join(statistics.labels)}{verdict}"
    return "\n".join([title, *(f"{name:5} | {text}" for name, text in rows)])


def _elo_text(statistics: pb.MatchStatistics) -> str:
    if not statistics.HasField("elo"):
        return "unknown"
    return _value_text(statistics.elo, statistics.error95 if statistics.HasField("error95") else None)


def _normalized_elo_text(statistics: pb.MatchStatistics) -> str:
    if not statistics.HasField("normalized_elo"):
        return "unknown"
    error95 = statistics.normalized_error95 if statistics.HasField("normalized_error95") else None
    return _value_text(statistics.normalized_elo, error95)


def _value_text(value: float, error95: float | None) -> str:
    """Return e.g. `+12.34 ± 5.67 (95 %)`."""
    return f"{value:+.2f}" if error95 is None else f"{value:+.2f} ± {error95:.2f} (95 %)"
