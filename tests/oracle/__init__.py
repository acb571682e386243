"""A plain transcription of the conservative bandit equations, to compare the library with.

Everything is recomputed from the list of past rounds at every decision. Nothing here is shared
with the library, nothing is incremental, nothing is fast.
"""

from oracle.answer import Answer
from oracle.guard import GuardAnswer, GuardOracle
from oracle.oracle import Oracle

__all__ = ["Answer", "GuardAnswer", "GuardOracle", "Oracle"]
