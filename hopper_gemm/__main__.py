"""`python -m hopper_gemm`: see cli.py."""

import sys


def main() -> int:
    """Runs the command line; the exit status."""
    try:
        from .cli import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        print(f"the command line needs {error.name}: pip install typer rich", file=sys.stderr)
        return 1
    return run()


if __name__ == "__main__":
    sys.exit(main())
