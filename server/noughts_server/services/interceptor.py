"""What ends a call with an error becomes its status here and nowhere else."""

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import grpc
import structlog
from google.rpc.status_pb2 import Status

from noughts_referee.frame_wire import StreamClosed
from noughts_server.errors import NoughtsError, UnknownMethod
from noughts_server.statuses import INTERNAL_REASON, to_status

logger = structlog.get_logger("noughts.grpc")

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS_KEY = "grpc-status-details-bin"

_KINDS: dict[str, Callable[..., Any]] = {
    "unary_unary": grpc.unary_unary_rpc_method_handler,
    "unary_stream": grpc.unary_stream_rpc_method_handler,
    "stream_stream": grpc.stream_stream_rpc_method_handler,
}

Context = grpc.aio.ServicerContext[Any, Any]


class ErrorInterceptor(grpc.aio.ServerInterceptor):
    """Ends a call that raised one of our errors with its status and details, any other as INTERNAL, logged."""

    def __init__(self, errors: Counter[str] | None = None) -> None:
        """`errors` counts the errors by their reason."""
        self._errors: Counter[str] = Counter() if errors is None else errors

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        handler: Any = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None:
            # As a stream, so that it is refused before anything is read, whatever the caller takes it for.
            return grpc.stream_stream_rpc_method_handler(_guarded(_unknown(method), method, self._errors))
        for kind, make in _KINDS.items():
            call = getattr(handler, kind)
            # Ours are coroutines; reflection's is a generator, and puts its errors in its answers.
            if call is not None and not inspect.isasyncgenfunction(call):
                return make(
                    _guarded(call, method, self._errors),
                    request_deserializer=handler.request_deserializer,
                    response_serializer=handler.response_serializer,
                )
        return handler


def _unknown(method: str) -> Callable[[Any, Context], Any]:
    async def refuse(request: Any, context: Context) -> NoReturn:
        raise UnknownMethod(method)

    return refuse


def _guarded(call: Callable[[Any, Context], Any], method: str, errors: Counter[str]) -> Callable[[Any, Context], Any]:
    async def guarded(request: Any, context: Context) -> Any:
        try:
            return await call(request, context)
        except NoughtsError as error:
            errors[error.reason] += 1
            await _abort(context, to_status(error))
        except StreamClosed as closed:
            errors[closed.reason] += 1
            await _abort(context, closed.status)
        except grpc.aio.AbortError:
            raise
        except Exception as error:
            errors[INTERNAL_REASON] += 1
            logger.exception("unexpected error", method=method)
            await _abort(context, to_status(error))

    return guarded


async def _abort(context: Context, status: Status) -> NoReturn:
    details = ((_DETAILS_KEY, status.SerializeToString()),)
    await context.abort(_CODES[status.code], status.message, trailing_metadata=details)
