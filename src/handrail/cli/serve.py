"""`handrail serve`: the decision service."""

from __future__ import annotations

import argparse
from typing import Any

from handrail.cli.database import add_database, database_of, default_database
from handrail.errors import InputError
from handrail.extras import need_extra

__all__ = ["register", "run"]

_NEEDED = ("uvicorn", "httptools", "msgspec", "prometheus_client")


def register(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "serve",
        help="run the decision service",
        description=(
            "Serve decisions over HTTP. Policies and all that happens to them are kept in a "
            "database: a file, or PostgreSQL. The log goes to stderr as lines of JSON."
        ),
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port", type=int, default=8642, help="port to listen on, 0 for a free one (%(default)s)"
    )
    add_database(parser)
    parser.add_argument(
        "--no-auth", action="store_true", help="ask for no keys; only on this machine's own address"
    )
    parser.add_argument("--log-requests", action="store_true", help="log every request")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    for module in _NEEDED:
        need_extra(module, "service")
    from handrail.service.desk import Desk
    from handrail.service.logs import log_to
    from handrail.service.server import Settings, serve
    from handrail.service.store.open import open_store

    if not 0 <= arguments.port <= 65535:
        raise InputError("port", f"{arguments.port} is no port", "choose one from 0 to 65535")
    database = database_of(arguments)
    if database == str(default_database()):
        default_database().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _say(f"database {database}")
    log_to()
    settings = Settings(
        host=arguments.host,
        port=arguments.port,
        database=database,
        auth=not arguments.no_auth,
        log_requests=arguments.log_requests,
    )
    return serve(
        settings,
        lambda source: open_store(source, exclusive=True),
        lambda store, limits: Desk(store, limits=limits),
        _say,
    )


def _say(line: str) -> None:
    # Flushed, since whoever started the server waits for this line.
    print(line, flush=True)
