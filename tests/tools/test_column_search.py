"""The committed module of the compiled search comes from its source."""

import pytest

from tools.build_column_search import MODULE, build


@pytest.mark.processes
@pytest.mark.at_length
def test_zig_builds_the_committed_module_from_its_source() -> None:
    assert build() == MODULE.read_bytes()
