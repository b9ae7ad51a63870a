"""Everything that can go wrong for a person, and the exit code each kind has.

A message says what was wrong, with the value, and what to do next. The command line prints it
as one line; an app catches `PrdEdgeError`.
"""

from __future__ import annotations


class PrdEdgeError(Exception):
    """Root of all errors raised on purpose."""

    exit_code = 1


class InvalidInputError(PrdEdgeError):
    """An argument, option, class name or configuration that cannot be used."""

    exit_code = 2


class MissingDependencyError(PrdEdgeError):
    """A package that this command needs is not installed."""

    exit_code = 2


class NoUsableDataError(PrdEdgeError):
    """The session has no images to learn from, or a class has none."""

    exit_code = 3


class ImageError(NoUsableDataError):
    """One image that cannot be read. A session skips it and names it."""


class StoreError(PrdEdgeError):
    """The store cannot be read or written."""

    exit_code = 4


class StoreCorruptError(StoreError):
    """A file of the store is missing, or is not what was written."""


class StoreChangedError(StoreError):
    """Another process rewrote or removed a version while it was being read."""


class StoreLockedError(StoreError):
    """Another process is writing to the store."""


class GuardRefusedError(PrdEdgeError):
    """What was made does not answer as it should; it was not kept."""

    exit_code = 5


class Cancelled(PrdEdgeError):  # noqa: N818  (an event, not a fault)
    """The caller asked to stop; the store is as it was."""

    exit_code = 130
