"""`prd-edge`: finds the command, and turns every error into one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from prd_edge.cli.interruption import catch_interruptions, exit_code_of_interruption
from prd_edge.cli.options import say
from prd_edge.errors import PrdEdgeError
from prd_edge.version import __version__

# command -> (module, one line of help). The help stands here so that `--help` loads no command.
COMMANDS = {
    "init": ("init", "Make a store with an encoder and no classes yet."),
    "learn-session": ("learn", "Learn a folder of images, one sub-folder a class."),
    "predict": ("predict", "Say what is on pictures."),
    "evaluate": ("evaluate", "Measure accuracy on a labelled folder."),
    "export": ("export", "Write the model as one file that gives the same answers."),
    "feedback": ("feedback", "Say of one picture what it is, or what it is not."),
    "classes": ("classes", "List, rename or remove classes."),
    "forget": ("forget", "Take a class out of every kept version, for good."),
    "info": ("info", "Show what the store knows and how large it is."),
    "history": ("history", "Show the kept versions and what each session did."),
    "rollback": ("versions", "Make an older version live again."),
    "diff": ("history", "Show what changed between two versions."),
    "verify": ("versions", "Check every byte of the store."),
    "gc": ("versions", "Remove old versions."),
    "doctor": ("doctor", "Check this installation and this device."),
    "benchmark": ("benchmark", "Measure how fast this device is."),
    "demo-data": ("demo_data", "Write a small image set to try things with."),
}


_STANDARD_ERROR = 2
_OUT_OF_MEMORY = "out of memory; close other programs or use smaller images"
_OF_MEMORY = ("can't allocate memory", "can't start new thread", "bad_alloc")  # torch, Python, C++


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"prd_edge.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="prd-edge")
def prd_edge() -> None:
    """Learn new visual classes on this device, session after session, without keeping one image.

    \b
    prd-edge learn-session ./new_data     one sub-folder of images a class
    prd-edge predict image.jpg
    """


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Results go to standard output, everything else to standard error."""
    warnings.filterwarnings("ignore", module="PIL")  # unreadable images are named by ourselves
    _fill_closed_streams()
    _settle_streams()
    catch_interruptions()
    exit_code = _run(arguments)
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Everything is written: tearing the interpreter down would only cost the user 20 ms.
    os._exit(exit_code)


def _fill_closed_streams() -> None:
    """With a standard stream closed, the next file opened would take its place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _settle_streams() -> None:
    """Names in any encoding can be read and shown, and decoders cannot print by themselves."""
    for stream, errors in (
        (sys.stdin, "surrogateescape"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)
    if isinstance(sys.stderr, TextIOWrapper) and not os.environ.get("PRD_EDGE_DEBUG"):
        # libtiff writes to descriptor 2 behind Python's back: it gets one that leads nowhere.
        ours = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = ours


def _run(arguments: list[str] | None) -> int:
    try:
        result: Any = prd_edge.main(arguments, prog_name="prd-edge", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except PrdEdgeError as error:
        return _fail(str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "prd-edge"
        message = " ".join(error.format_message().split()).rstrip(".")
        return _fail(f"{message}; see '{command} --help'", error.exit_code)
    except (KeyboardInterrupt, click.Abort):  # click turns the first into the second
        return _interrupted(exit_code_of_interruption() or 128 + signal.SIGINT)
    except (SystemExit, BrokenPipeError) as error:  # click turns the second into the first
        if isinstance(error, SystemExit) and "_PRD_EDGE_COMPLETE" in os.environ:
            return int(error.code or 0)
        with suppress(OSError):  # the reader of our output has gone, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except MemoryError:
        return _fail(_OUT_OF_MEMORY, 1)
    except Exception as error:
        if code := exit_code_of_interruption():  # in an import, it comes out as another error
            return _interrupted(code)
        if isinstance(error, RuntimeError) and any(own in str(error) for own in _OF_MEMORY):
            return _fail(_OUT_OF_MEMORY, 1)
        if os.environ.get("PRD_EDGE_DEBUG"):
            raise
        kind = type(error).__name__
        return _fail(f"unexpected {kind}: {error} (set PRD_EDGE_DEBUG=1 to see where)", 1)


def _interrupted(exit_code: int) -> int:
    return _fail(
        "interrupted; the change was made whole or not at all ('prd-edge history' shows which); "
        "if not, the same command makes it",
        exit_code,
    )


def _fail(message: str, exit_code: int) -> int:
    say(f"prd-edge: {message}")
    return exit_code
