"""The stubs of all services of a server."""

import grpc
import grpc.aio

from noughts_proto.v1.bots_pb2_grpc import BotServiceStub
from noughts_proto.v1.challenges_pb2_grpc import ChallengeServiceStub
from noughts_proto.v1.feed_pb2_grpc import FeedServiceStub
from noughts_proto.v1.games_pb2_grpc import GameServiceStub
from noughts_proto.v1.leaderboards_pb2_grpc import LeaderboardServiceStub
from noughts_proto.v1.registration_pb2_grpc import RegistrationServiceStub
from noughts_proto.v1.status_pb2_grpc import StatusServiceStub
from noughts_proto.v1.tests_pb2_grpc import TestServiceStub
from noughts_proto.v1.tokens_pb2_grpc import TokenServiceStub
from noughts_proto.v1.tournaments_pb2_grpc import TournamentServiceStub
from noughts_proto.v1.tunings_pb2_grpc import TuningServiceStub
from noughts_proto.v1.webhooks_pb2_grpc import WebhookServiceStub


class Stubs:
    """Stubs whose calls block."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.bots = BotServiceStub(channel)
        self.challenges = ChallengeServiceStub(channel)
        self.feed = FeedServiceStub(channel)
        self.games = GameServiceStub(channel)
        self.leaderboards = LeaderboardServiceStub(channel)
        self.registration = RegistrationServiceStub(channel)
        self.status = StatusServiceStub(channel)
        self.tests = TestServiceStub(channel)
        self.tokens = TokenServiceStub(channel)
        self.tournaments = TournamentServiceStub(channel)
        self.tunings = TuningServiceStub(channel)
        self.webhooks = WebhookServiceStub(channel)


class AsyncStubs:
    """Stubs whose calls are awaited. Streams of the feed use a channel of their own."""

    def __init__(self, channel: grpc.aio.Channel, feed_channel: grpc.aio.Channel) -> None:
        self.bots = BotServiceStub(channel)
        self.challenges = ChallengeServiceStub(channel)
        self.feed = FeedServiceStub(feed_channel)
        self.games = GameServiceStub(channel)
        self.leaderboards = LeaderboardServiceStub(channel)
        self.registration = RegistrationServiceStub(channel)
        self.status = StatusServiceStub(channel)
        self.tests = TestServiceStub(channel)
        self.tokens = TokenServiceStub(channel)
        self.tournaments = TournamentServiceStub(channel)
        self.tunings = TuningServiceStub(channel)
