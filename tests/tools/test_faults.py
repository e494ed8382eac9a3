"""The faults of `tools.faults` can be put into the code as it is."""

import ast
from collections import Counter

import pytest

from tests.support.root import ROOT
from tools.faults.declared import FAULTS
from tools.faults.fault import Fault

_ALL = [fault for faults in FAULTS.values() for fault in faults]


@pytest.mark.parametrize("fault", _ALL, ids=lambda fault: fault.name)
def test_fault_can_be_put_into_the_code(fault: Fault) -> None:
    assert not fault.problem(ROOT)
    before = (ROOT / fault.file).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(fault.changed(before))) != ast.dump(ast.parse(before))


def test_at_least_sixty_faults_are_spread_over_all_parts() -> None:
    assert len(_ALL) == len({fault.name for fault in _ALL}) >= 60
    assert min(map(len, FAULTS.values())) >= 5
    assert Counter(fault.file for fault in _ALL).most_common(1)[0][1] <= 3
