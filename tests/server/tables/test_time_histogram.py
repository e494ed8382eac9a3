"""Quantiles of thinking times, in microseconds."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from noughts_server.tables.time_histogram import TimeHistogram, bucket
from tests.support.settings import examples

times = st.lists(st.integers(0, 10**11), min_size=1, max_size=60)


@given(times, st.sampled_from([0.05, 0.5, 0.95, 1.0]))
@examples(300)
def test_a_quantile_is_right_to_a_fifth_of_a_percent(values: list[int], share: float) -> None:
    histogram = TimeHistogram()
    histogram.add(values)
    exact = sorted(values)[math.ceil(share * len(values)) - 1]
    quantile = histogram.quantile(share)
    assert quantile is not None
    assert exact * 0.998 <= quantile <= exact
    assert histogram.largest == max(values)
    assert histogram.count == len(values)


@given(st.integers(0, 10**12))
@examples(300)
def test_bucket_of_a_time_is_its_lowest_time_and_exact_below_1024(time: int) -> None:
    assert bucket(bucket(time)) == bucket(time) <= time
    assert time >= 1024 or bucket(time) == time


def test_empty_histogram_has_no_quantile() -> None:
    assert TimeHistogram().quantile(0.5) is None
