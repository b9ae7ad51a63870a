"""The command line. Commands are loaded when they are asked for: `--help` must be quick."""

from __future__ import annotations

from prd_edge.cli.main import main

__all__ = ["main"]
