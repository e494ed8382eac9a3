"""FeedService: streams games and tournaments to watchers."""

import grpc

from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.feed.feed import Feed
from noughts_server.services.access import VISITOR, Access, Context, open_to
from noughts_server.services.bills import Bill
from noughts_server.services.delivery import Delivery
from noughts_server.services.limiter import Limiter

_SERVICE = pb.DESCRIPTOR.services_by_name["FeedService"].full_name


class FeedServicer:
    """Streams the feed to anyone."""

    def __init__(self, feed: Feed, limiter: Limiter, delivery: Delivery) -> None:
        self._feed = feed
        self._delivery = delivery
        self._limiter = limiter

    @open_to(Access.ANYONE)
    async def Watch(self, request: pb.WatchRequest, context: Context) -> None:
        visitor = VISITOR.get()
        bill = Bill(self._limiter, visitor)
        with self._limiter.watching(visitor):
            # Wait until the visitor's limit of answer bytes permits a stream.
            await bill.grant(1)
            async with self._feed.watching(
                request.name, request.from_sequence, request.epoch, boards=request.boards
            ) as watcher:
                # Charge the snapshot or the missed messages with which the stream begins. Later messages cost little,
                # because they are the same for all watchers.
                bill.settle_bytes(watcher.buffered_bytes)
                async for message in watcher.messages():
                    with self._delivery.limit_message(context):
                        await context.write(message)


def add_feed_service(servicer: FeedServicer, server: grpc.aio.Server) -> None:
    """Register the service, whose responses are bytes: the feed serialises a message once for all its watchers."""
    watch: grpc.RpcMethodHandler[pb.WatchRequest, bytes] = grpc.unary_stream_rpc_method_handler(
        servicer.Watch, request_deserializer=pb.WatchRequest.FromString, response_serializer=None
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Watch": watch}),))
