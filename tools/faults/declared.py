"""All faults, by the part of Noughts that they are in."""

from collections.abc import Mapping

from tools.faults.calls import CLI, COMPETITION, SERVICES
from tools.faults.fault import Fault
from tools.faults.play import REFEREE, RUNTIME
from tools.faults.sites import CLUSTER, HOSTING, WEB
from tools.faults.storage import RECORDS, STORE

FAULTS: Mapping[str, tuple[Fault, ...]] = {
    "referee": REFEREE,
    "store": STORE,
    "competition": COMPETITION,
    "services": SERVICES,
    "web": WEB,
    "cli": CLI,
    "cluster": CLUSTER,
    "hosting": HOSTING,
    "records": RECORDS,
    "runtime": RUNTIME,
}
