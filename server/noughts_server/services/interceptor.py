"""The interceptor of every call: admits it, reads its request, and maps errors to statuses in one place.

It registers each method as a stream, even if the method is unary for callers. gRPC would read a unary request before
this module could admit the caller.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from traceback import clear_frames
from typing import Any, NoReturn, Protocol, runtime_checkable

import grpc
import structlog
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status

from noughts_referee.stream_closed import StreamClosed
from noughts_server.core.errors import InvalidArgument, LimitReached, MachineExhausted, NoughtsError, UnknownMethod
from noughts_server.core.repeated_errors import RepeatedErrors
from noughts_server.core.statuses import INTERNAL_REASON, to_status
from noughts_server.core.turns import WAITING
from noughts_server.services.access import LARGE_REQUEST, SMALL_REQUEST, Access, Context, Declaration, declaration
from noughts_server.services.admission import Admission
from noughts_server.services.answers import page_rows
from noughts_server.services.bills import Bill
from noughts_server.services.delivery import Delivery
from noughts_server.store.engine.pages import DEFAULT_SIZE, LARGEST_SIZE

logger = structlog.get_logger("noughts.grpc")

REQUEST_SECONDS = 5.0
"""Seconds in which a caller must send its request, or the first message of a stream."""
LARGE_WEIGHT = 32
"""Bytes charged for each byte of a request that can be large: such a request takes longer to read than a frame."""
_LIBRARY_SERVICES = ("/grpc.health.v1.Health/", "/grpc.reflection.")
"""Services of libraries, whose methods have no declaration."""
_LIBRARY_METHOD = Declaration(Access.ANYONE, SMALL_REQUEST, reads=True)
"""The declaration of all methods of libraries."""
_REFUSAL_SECONDS = 0.1
"""Delay before a stream is refused, because grpc.aio hides the reason from a client that is still sending."""
_REFLECTION_SECONDS = 60.0
"""Time limit of a call of the reflection service."""

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS_KEY = "grpc-status-details-bin"


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Admits callers, reads requests, and maps errors: a NoughtsError to its status, others to INTERNAL, with a log."""

    def __init__(self, admission: Admission, delivery: Delivery, errors: Counter[str], refused: Counter[str]) -> None:
        """`errors` counts errors by reason; `refused` counts exceeded limits by name."""
        self._admission = admission
        self._delivery = delivery
        self._errors = errors
        self._refused = refused
        self._repeated = RepeatedErrors()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        handler: Any = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None:
            return grpc.stream_stream_rpc_method_handler(
                self._call_with_statuses(_call_that_raises(_unknown_method(method)), method)
            )
        call = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
        declared = _LIBRARY_METHOD if method.startswith(_LIBRARY_SERVICES) else declaration(call)
        if declared is None:
            undeclared = TypeError(f"{method} does not declare who may call it: @open_to is missing")
            return grpc.stream_stream_rpc_method_handler(
                self._call_with_statuses(_call_that_raises(undeclared), method)
            )
        call_with_statuses = self._call_with_statuses(
            self._call_with_admission(handler, call, declared, method), method
        )
        streams = handler.request_streaming and not method.startswith(_LIBRARY_SERVICES)
        parse = self._charging_parser(handler.request_deserializer, None if streams else declared.most_bytes)
        serialise = handler.response_serializer if handler.response_streaming else None
        return grpc.stream_stream_rpc_method_handler(
            call_with_statuses, request_deserializer=parse, response_serializer=serialise
        )

    def _call_with_admission(
        self, handler: Any, call: Callable[..., Any], declared: Declaration, method: str
    ) -> Callable[..., Any]:
        """Return `call`, the method of `handler`, as a stream that admits its caller and applies the limits."""
        admission = self._admission
        delivery = self._delivery
        serialise = handler.response_serializer

        async def answer(requests: Any, context: Context) -> None:
            try:
                visitor = await admission.admit(declared.access, context, method)
            except NoughtsError:
                if handler.request_streaming:
                    await asyncio.sleep(_REFUSAL_SECONDS)
                raise
            if handler.stream_stream is not None:
                if inspect.isasyncgenfunction(call):
                    with admission.limiter.watching(visitor):
                        await self._answer_reflection(call, requests, context)
                else:
                    await call(requests, context)
                return
            if handler.unary_stream is not None:
                with admission.holding_place(visitor) as place:
                    async with place.waiting():
                        request = await _read_request(context)
                if declared is _LIBRARY_METHOD:  # the stream of a library, which applies no limits itself
                    with admission.limiter.watching(visitor):
                        await call(request, context)
                else:
                    await call(request, context)
                return
            if handler.stream_unary is not None:
                message = serialise(await call(requests, context))
            else:
                if not declared.reads:
                    admission.charge_change(visitor)
                bill = Bill(admission.limiter, visitor)
                with admission.holding_place(visitor) as place:
                    async with place.waiting():
                        request = await _read_request(context)
                        await bill.grant(_requested_rows(request))
                    # While the call waits for its turn to compute, others can use its place.
                    WAITING.set(place.waiting)
                    try:
                        response = await call(request, context)
                    except NoughtsError:
                        bill.settle_refusal()
                        raise
                    message = serialise(response)
                    bill.settle(response, len(message))
            # The caller decides when to read the answer. Until then the answer counts as unread; the request's place is
            # free again.
            delivery.count_answer(context, visitor, len(message))
            await context.write(message)

        return answer

    async def _answer_reflection(self, call: Callable[..., Any], requests: Any, context: Context) -> None:
        """Answer a call of the reflection service, whose method is an async generator, within a time limit."""
        try:
            async with asyncio.timeout(_REFLECTION_SECONDS):
                async for response in call(requests, context):
                    with self._delivery.limit_message(context):
                        await context.write(response)
        except TimeoutError:
            expected = f"its end within {_REFLECTION_SECONDS:.0f} s"
            raise InvalidArgument.of("stream", "one that stays open", expected) from None

    def _charging_parser(self, parse: Callable[[bytes], Any], most: int | None) -> Callable[[bytes], Any]:
        """Wrap `parse`: charge the caller for the bytes, and refuse requests of more than `most` bytes."""
        charge = self._admission.charge
        weight = LARGE_WEIGHT if most == LARGE_REQUEST else 1

        def read(data: bytes) -> Any:
            charge(weight * len(data))
            if most is not None and len(data) > most:
                raise InvalidArgument.of("request", f"{len(data):,} bytes", f"at most {most:,}")
            return parse(data)

        return read

    def _call_with_statuses(self, call: Callable[[Any, Context], Any], method: str) -> Callable[[Any, Context], Any]:
        """Wrap `call`: turn its errors into statuses of gRPC, and limit the time for the rest of the answer."""

        async def call_and_map_errors(requests: Any, context: Context) -> None:
            try:
                await call(requests, context)
                self._delivery.limit_rest(context)
            except grpc.aio.AbortError:
                raise
            except grpc.aio.InternalError:
                raise asyncio.CancelledError from None  # the caller has left, or its connection was reset
            except Exception as error:
                self._delivery.limit_rest(context)
                status = self._status(error, method)
                details = ((_DETAILS_KEY, status.SerializeToString()),)
                try:
                    await context.abort(_CODES[status.code], status.message, trailing_metadata=details)
                except grpc.aio.InternalError:
                    raise asyncio.CancelledError from None

        return call_and_map_errors

    def _status(self, error: BaseException, method: str) -> Status:
        """Return the status of an error, and release the objects that its traceback refers to."""
        # The tasks of a stream raise their errors in groups.
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        try:
            return self._counted_status(error, method)
        finally:
            # Tracebacks of tasks are part of cycles: they would keep the request until the garbage collector runs.
            clear_frames(error.__traceback__)

    def _counted_status(self, error: BaseException, method: str) -> Status:
        """Return the status of an error. Count the error, and log it if it is an error of the server."""
        if isinstance(error, DecodeError):
            error = InvalidArgument.of("request", "bytes that cannot be decoded", "the message of this method")
        if isinstance(error, NotImplementedError) and method.startswith(_LIBRARY_SERVICES):
            error = _unknown_method(method)  # a method that the library declares but does not implement
        if problem := MachineExhausted.of(error):
            facts = {"problem": problem.problem, "got": problem.report, "hint": problem.remedy}
            logger.error("machine_trouble", method=method, **facts)
            error = problem
        if isinstance(error, LimitReached):
            self._refused[error.name] += 1
        if isinstance(error, StreamClosed | NoughtsError):
            self._errors[error.reason] += 1
        else:
            self._errors[INTERNAL_REASON] += 1
            if self._repeated.is_new(error):
                logger.error("unexpected_error", method=method, exc_info=error)
        return error.status if isinstance(error, StreamClosed) else to_status(error)


@runtime_checkable
class _PageRequest(Protocol):
    """A request for a page of a list."""

    page_size: int


def _requested_rows(request: object) -> int:
    """Return the largest number of rows that the answer can have; 0 if the request is not for a page of a list."""
    if not isinstance(request, _PageRequest):
        return 0
    return min(max(0, page_rows(request.page_size or DEFAULT_SIZE)), LARGEST_SIZE)


async def _read_request(context: Context) -> Any:
    """Read the only message of a call whose method takes one request. Raises InvalidArgument."""
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            request: object = await context.read()
    except TimeoutError:
        raise InvalidArgument.of("request", "nothing", f"a message within {REQUEST_SECONDS:.0f} s") from None
    if request is grpc.aio.EOF:
        raise InvalidArgument.of("request", "nothing", "one message")
    return request


def _unknown_method(method: str) -> UnknownMethod:
    return UnknownMethod("method", method, "a method of noughts.v1")


def _call_that_raises(error: Exception) -> Callable[[Any, Context], Any]:
    async def refuse(requests: Any, context: Context) -> NoReturn:
        raise error

    return refuse
