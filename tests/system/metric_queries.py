"""Queries of Prometheus, and the metrics of Noughts that they can select."""

import asyncio
from collections.abc import Mapping
from functools import cache

import promql_parser

from tools.generated_pages.figures import families, labels_of, sample_name

_PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
"""Metrics of the client library of Prometheus."""


@cache
def labels_of_samples() -> Mapping[str, set[str]]:
    """Return the labels of each sample by its name."""
    known: dict[str, set[str]] = {name: set() for name in _PROCESS}
    for family in asyncio.run(families()):
        own = set(labels_of(family))
        if family.type == "histogram":
            known[f"{family.name}_bucket"] = {*own, "le"}
        known[sample_name(family)] = own
    return known


def selectors(query: str) -> list[promql_parser.VectorSelector]:
    """Return what a query selects. Raises ValueError."""
    found: list[promql_parser.VectorSelector] = []

    def note(expression: promql_parser.Expr) -> None:
        if isinstance(expression, promql_parser.MatrixSelector):
            found.append(expression.vector_selector)
        elif isinstance(expression, promql_parser.VectorSelector):
            found.append(expression)

    promql_parser.walk(promql_parser.parse(query), note)
    return found
