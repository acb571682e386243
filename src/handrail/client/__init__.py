"""The client of the decision service: decide, reward, and the baseline whenever there is no answer.

Importing it loads neither the policies nor their compiler: a page that only asks pays for neither.
"""

from __future__ import annotations

from handrail.client import _needs as _needs  # first: names the install command
from handrail.client.aio import AsyncClient
from handrail.client.choice import Ask, Choice
from handrail.client.counts import Counts
from handrail.client.errors import NoAnswer, ServiceError
from handrail.client.handles import AsyncPolicyClient, PolicyClient
from handrail.client.reading import LogLine
from handrail.client.sync import Client

__all__ = [
    "Ask",
    "AsyncClient",
    "AsyncPolicyClient",
    "Choice",
    "Client",
    "Counts",
    "LogLine",
    "NoAnswer",
    "PolicyClient",
    "ServiceError",
]
