"""Fenced code blocks of the documentation, the shell they run in, and what can be said about a command without running it.

After the language of a block stands how it is tested:

    python          runs, block after block of a page in one namespace     python gpu    only where there is a Hopper GPU
    sh              runs                                                   console       runs, and prints what stands there
    cpp run         is compiled and run                                    text          is no code
    LANGUAGE skip: REASON      is not run; python is compiled, the names in shell commands are looked up
    console recorded: WHERE    shows what a run on a GPU printed

`...` in a console block stands for any text, alone on a line for any lines. A console block without it is kept up to date by
tools/render_docs.py. tests/test_docs_code.py does the testing.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = {
    "python": '"{python}"',
    "hopper-gemm": """"{python}" -c "import sys; sys.argv[0] = 'hopper-gemm'; from hopper_gemm.__main__ import main; sys.exit(main())\"""",
}
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Programs of the system that a reader has.
KNOWN = {"git", "cd", "cmake", "g++", "pip", "export", "ls", "cp", "head", "tail", "grep"}


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    how: str  # of the list above
    reason: str
    code: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page, of some languages if any are named."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        language, _, rest = match.group(1).strip().partition(" ")
        how, _, reason = rest.partition(":")
        if not languages or language in languages:
            line = text.count("\n", 0, match.start(2)) + 1
            found.append(Block(page, line, language, how.strip(), reason.strip(), match.group(2)))
    return found


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def commands(code: str) -> list[list[str]]:
    """Words of every command of a shell block, without environment settings, comments and what they are piped into."""
    found = []
    for line in code.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\|\||;|\|", re.sub(r"(^|\s)#.*", "", line)):
            words = shlex.split(part)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0], re.DOTALL):
                words.pop(0)
            if words:
                found.append(words)
    return found


def unknown_in(words: list[str]) -> str:
    """What a command names that does not exist, "" if nothing: make targets, files, subcommands, options."""
    program, rest = words[0], words[1:]
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = [w for w in rest if "=" not in w and not w.startswith("-")]
        return next((f"make target {t}" for t in targets if not re.search(rf"^{re.escape(t)}:", makefile, re.MULTILINE)), "")
    if program == "hopper-gemm":
        return unknown_to_cli(rest)
    if program.startswith("python") or program.endswith("/python"):
        if rest[:2] == ["-m", "hopper_gemm"]:
            return unknown_to_cli(rest[2:])
        if rest[:1] in (["-m"], ["-c"]):
            return ""
        return "" if not rest or (ROOT / rest[0]).exists() else f"file {rest[0]}"
    if "/" in program:
        made = program.startswith(("build/", "./build/"))
        return "" if made or (ROOT / program).exists() else f"file {program}"
    return "" if program in KNOWN else f"program {program}"


def unknown_to_cli(words: list[str]) -> str:
    import typer

    from hopper_gemm import cli

    group = typer.main.get_command(cli.app)
    if not words or words[0].startswith("-"):
        return ""
    command = group.commands.get(words[0])  # type: ignore[attr-defined]
    if command is None:
        return f"command {words[0]}"
    options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
    return next((f"option {w} of {words[0]}" for w in words[1:] if w.startswith("--") and w.split("=")[0] not in options), "")


BUILT_FOR = re.compile(r"(built for|(?:GPU )?emulator) {2,}")  # a column of `hopper-gemm list`, of any width
CHOSEN = re.compile(r"\b[a-z]+\d+_[a-z]+\d+_\w+|\d[\d.,]*|along_[mn]|bound by [\w ]+")


def masked(text: str) -> str:
    """Without numbers, names of kernels and what the selector's model says: those follow every change of kernels and model;
    and whether kernels are built for a GPU too."""
    return CHOSEN.sub("#", BUILT_FOR.sub(r"\1  ", text).replace("GPU emulator", "emulator"))


def agrees(expected: str, got: str) -> bool:
    """Whether output is what a console block shows, but for what `masked` hides; blanks at the ends of lines do not count."""
    expected, got = masked(expected), masked(got)
    pattern = []
    for line in expected.strip("\n").splitlines():
        if line.strip() == "...":
            pattern.append(r"(?:[^\n]*\n)*?")
        else:
            pattern.append(".*".join(map(re.escape, line.rstrip().split("..."))) + r"[ ]*\n")
    text = "".join(line.rstrip() + "\n" for line in got.strip("\n").splitlines())
    return re.fullmatch("".join(pattern), text) is not None


def shell(command: str, folder: Path | str) -> subprocess.CompletedProcess[str]:
    """Runs a command as a reader would who has installed the package: `python` and `hopper-gemm` are on PATH."""
    with tempfile.TemporaryDirectory() as programs:
        for name, what in PROGRAMS.items():
            path = Path(programs) / name
            path.write_text(f'#!/bin/sh\nexec {what.format(python=sys.executable)} "$@"\n')
            path.chmod(0o755)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "110"}
        return subprocess.run(["bash", "-euo", "pipefail", "-c", command], capture_output=True, text=True, env=environment, cwd=folder)


def output_of(command: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        done = shell(command, folder)
    return done.stdout + done.stderr


def with_sessions_run(text: str, keep_similar: bool = False) -> str:
    """The page with the output of its console blocks written anew, but for those that are recorded or hold `...`.

    With `keep_similar` also but for those that differ only in what the selector's model decides (see `masked`).
    """

    def write(match: re.Match[str]) -> str:
        if match.group(1).strip() != "console" or "..." in match.group(2):
            return match.group()
        runs = [(command, output_of(command)) for command, _ in sessions(match.group(2))]
        if keep_similar and all(agrees(shown, got) for (_, shown), (_, got) in zip(sessions(match.group(2)), runs)):
            return match.group()
        blocks = ("\n".join([f"$ {command}", *(line.rstrip() for line in output.strip("\n").splitlines())]) for command, output in runs)
        return "```console\n" + "\n".join(blocks) + "\n```"

    return FENCE.sub(write, text)


def sessions(code: str) -> list[tuple[str, str]]:
    """(command, output below it) of a console block."""
    parts = re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1]) for part in parts]
