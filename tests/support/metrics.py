"""The metrics and the health of a process, as Prometheus and a load balancer read them."""

import asyncio
import urllib.error
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from tests.support.patience import PATIENCE

Samples = dict[tuple[str, tuple[str, ...]], float]


async def scrape(address: str) -> Samples:
    """Return every sample by its name and the values of its labels."""
    _, text = await asyncio.to_thread(_get, f"http://{address}/metrics")
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, tuple(sample.labels.values())): sample.value for sample in samples}


async def health(address: str) -> tuple[int, str]:
    """Return the status and the text of the health."""
    return await asyncio.to_thread(_get, f"http://{address}/health")


def _get(address: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
