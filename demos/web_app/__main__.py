"""Teach a model in the browser, on this machine alone.

    python demos/web_app                        # then open the address it prints

Make classes, add pictures from files or the camera, press Learn, and try it. The page and its
server need no network, and are reachable from this machine only. Pictures stay in the page until
Learn is pressed; then they are in the server's memory while it learns. It writes none to disk.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from threading import Thread

from app_server import AppServer

from prd_edge import PrdEdgeError, Runtime


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python demos/web_app",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", type=Path, default=Path("prd_store"), help="(prd_store)")
    parser.add_argument("--port", type=int, default=8765, help="0 takes any that is free (8765)")
    options = parser.parse_args(arguments)
    try:
        server = AppServer(Runtime.open(options.store), options.port)
    except PrdEdgeError as error:
        print(f"web_app: {error}", file=sys.stderr)
        return error.exit_code
    except (OSError, OverflowError) as error:
        print(f"web_app: port {options.port} cannot be used: {error}; name another with --port",
              file=sys.stderr)  # fmt: skip
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):  # shutdown waits, and may not do so here
        signal.signal(number, lambda *_: Thread(target=server.shutdown).start())
    print(f"Open {server.address} in a browser on this machine. Ctrl-C ends it.", flush=True)
    server.serve_forever()
    server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
