"""Protocol messages of tunings, and what they say about new ones."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_server.convert.times import timestamp
from noughts_server.statistics.spsa import Parameter
from noughts_server.store.tunings import StoredIteration, StoredTuning

if TYPE_CHECKING:
    from noughts_server.statistics.optima import TunedParameter


def tuning_message(tuning: StoredTuning) -> pb.Tuning:
    """Return a tuning without its optima and its curve."""
    values = zip(tuning.tuning.parameters, tuning.values, strict=True)
    return pb.Tuning(
        name=tuning.name,
        owner=tuning.owner,
        state=tuning.state.value,  # type: ignore[arg-type]  # equal values
        bot=tuning.bot,
        parameters=[_parameter_message(parameter, last) for parameter, last in values],
        iterations=tuning.tuning.iterations,
        games_per_iteration=2 * tuning.pairs,
        seed=tuning.tuning.seed,
        conditions=tuning.conditions,
        iterations_done=tuning.iterations_done,
        games_done=2 * tuning.pairs * tuning.iterations_done,
        games_lost_by_fault=tuning.lost_by_fault,
        workers=tuning.workers,
        create_time=timestamp(tuning.created_at),
        end_time=timestamp(tuning.ended_at),
    )


def estimated_message(
    tuning: StoredTuning,
    rows: "Sequence[TunedParameter]",
    tuned: str,
    curve: Mapping[int, Sequence[float]],
) -> pb.Tuning:
    """Return a tuning with its optima, the spec of the tuned bot, and the values after some iterations."""
    message = tuning_message(tuning)
    for parameter, row in zip(message.parameters, rows, strict=True):
        parameter.tuned = row.tuned
        if row.optimum is not None:
            parameter.optimum = row.optimum.value
            parameter.low95 = row.optimum.low
            parameter.high95 = row.optimum.high
    message.tuned = tuned
    message.curve.extend(pb.TuningPoint(iteration=iteration, values=values) for iteration, values in curve.items())
    return message


def iteration_message(stored: StoredIteration) -> pb.TuningIteration:
    return pb.TuningIteration(
        iteration=stored.iteration,
        wins=stored.result.wins,
        draws=stored.result.draws,
        losses=stored.result.losses,
        values=stored.values,
    )


def progress_message(tuning: StoredTuning) -> pb.TuningProgress:
    return pb.TuningProgress(
        state=tuning.state.value,  # type: ignore[arg-type]  # equal values
        iterations_done=tuning.iterations_done,
        values=tuning.values,
    )


def parameter_of(message: pb.TuningParameter) -> Parameter:
    """Return the parameter that a message describes, unchecked."""
    return Parameter(
        name=message.name,
        start=message.start,
        low=message.low,
        high=message.high,
        step=message.step,
        rate=message.rate,
        whole=message.whole,
    )


def new_parameter_message(parameter: Parameter) -> pb.TuningParameter:
    """Return the message of a parameter of a new tuning."""
    return pb.TuningParameter(
        name=parameter.name,
        start=parameter.start,
        low=parameter.low,
        high=parameter.high,
        step=parameter.step,
        rate=parameter.rate,
        whole=parameter.whole,
    )


def _parameter_message(parameter: Parameter, last: float) -> pb.TuningParameter:
    message = new_parameter_message(parameter)
    message.last = last
    return message
