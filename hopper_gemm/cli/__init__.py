"""The command line `hopper-gemm`, the same as `python -m hopper_gemm`. Each command is a thin layer over the Python interface.

Exit status: 0 done; 1 nothing found, or something wrong was found; 2 wrong arguments; 3 this machine lacks what the
command needs (a Hopper GPU, ncu, matplotlib); 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .._version import __version__
from ..errors import DeviceError, HopperGemmError
from . import describing, emulating, measuring, tuning

DONE, FOUND, ARGUMENTS, NO_GPU, INTERRUPTED = 0, 1, 2, 3, 130

app = typer.Typer(
    help="Hopper (sm_90a) matrix multiplication: what is built, what would run, how fast it is, and whether it is right.",
    epilog="Exit status: 0 done, 1 nothing found or something wrong found, 2 wrong arguments, 3 the machine lacks what is needed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: dict[str, dict[str, Callable[..., Any]]] = {
    "Look (no GPU needed)": {
        "info": describing.info,
        "list": describing.list_kernels,
        "explain": describing.explain,
        "plot": measuring.plot,
    },
    "Emulate (no GPU needed)": {"demo": emulating.demo, "check": emulating.check, "trace": emulating.trace},
    "Measure (Hopper GPU)": {"bench": measuring.bench, "tune": tuning.tune, "profile": measuring.profile},
}
for panel, commands in COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hopper_gemm {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Hopper (sm_90a) matrix multiplication: what is built, what would run, how fast it is, and whether it is right."""


def run() -> int:
    """Runs the command line; the exit status. Refusals are printed as sentences."""
    called = Path(sys.argv[0]).name
    try:
        status = app(standalone_mode=False, prog_name="hopper-gemm" if called == "hopper-gemm" else "python -m hopper_gemm")
        return status if isinstance(status, int) else DONE  # the code of a typer.Exit
    except HopperGemmError as error:
        print(f"hopper_gemm: {error}", file=sys.stderr)
        return NO_GPU if isinstance(error, DeviceError) else ARGUMENTS
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:  # `hopper-gemm list | head`
        sys.stderr.close()
        return DONE
    except Exception as error:  # click's own usage errors say how they want to be shown
        if not hasattr(error, "show"):
            raise
        error.show()
        return int(getattr(error, "exit_code", ARGUMENTS))
