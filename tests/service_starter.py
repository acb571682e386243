"""Starts a server as `handrail serve` does, with limits that the command line does not offer.

``python -m service_starter '{"database": ..., "limits": {...}, "patience": {...}}'``
"""

from __future__ import annotations

import json
import sys

from handrail.service.desk import Desk
from handrail.service.limits import Limits
from handrail.service.logs import log_to
from handrail.service.server import Settings, serve
from handrail.service.store.open import is_postgres, open_store
from handrail.service.store.protocol import Store


def main() -> int:
    given = json.loads(sys.argv[1])

    def opened(source: str) -> Store:
        store = open_store(source, exclusive=True)
        if is_postgres(source):
            from handrail.service.store.address import Address
            from handrail.service.store.postgres import Patience, PostgresStore

            store.close()
            return PostgresStore(Address(source), Patience(**given["patience"]))
        return store

    log_to()
    return serve(
        Settings(
            host="127.0.0.1",
            port=0,
            database=given["database"],
            limits=Limits(**given["limits"]),
        ),
        opened,
        lambda store, limits: Desk(store, limits=limits),
        lambda line: print(line, flush=True),
    )


if __name__ == "__main__":
    sys.exit(main())
