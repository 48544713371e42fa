"""Reads what the parity suite writes and compares two machines.

    python tests/parity/golden.py pack RAW GOLDEN       raw words to xz
    python tests/parity/golden.py compare GOLDEN RAW    prints the record: bit-equal cases, ulp table, answered questions

A case is a name, a kind (exact, random, question, refused) and 32-bit words.
"""

from __future__ import annotations

import lzma
import struct
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path

KINDS = ("exact", "random", "question", "refused")


@dataclass(frozen=True)
class Case:
    kind: str
    words: array


def read(path: Path) -> dict[str, Case]:
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    cases, at = {}, 0
    while at < len(data):
        length, kind, count = struct.unpack_from("<III", data, at)
        at += 12
        name = data[at : at + length].decode()
        at += length
        cases[name] = Case(KINDS[kind], array("I", data[at : at + 4 * count]))
        at += 4 * count
    return cases


def different(first: array, second: array) -> int:
    return sum(a != b for a, b in zip(first, second)) + abs(len(first) - len(second))


def ulp(name: str, golden: array, other: array) -> tuple[float, float]:
    """Largest and mean difference of two arrays of f32 in units of the accumulator's last place at 1 (times |value| above)."""
    bits = 10 if "f16_f16" in name else 23
    first, second = array("f", golden.tobytes()), array("f", other.tobytes())
    errors = [abs(a - b) * 2.0**bits / max(1.0, abs(a)) for a, b in zip(first, second)]
    return max(errors), sum(errors) / len(errors)


@dataclass(frozen=True)
class Record:
    equal: list[str]
    unequal: dict[str, int]
    ulps: dict[str, tuple[float, float]]
    questions: dict[str, int]
    missing: list[str]
    refused: list[str]  # by both machines; a case that only one refuses is unequal

    def __str__(self) -> str:
        exact = len(self.equal) + len(self.unequal)
        lines = [f"exact cases: {exact} bit-equal: {len(self.equal)}"]
        lines += [f"  differs in {count} words: {name}" for name, count in self.unequal.items()]
        lines += [f"  {name}: largest {most:.2f}, mean {mean:.3f} ulp" for name, (most, mean) in self.ulps.items()]
        lines += [f"  question, {'as modelled' if not count else f'{count} words differ from the model'}: {n}" for n, count in self.questions.items()]
        lines += [f"  refused by both: {name}" for name in self.refused]
        lines += [f"  not in both: {name}" for name in self.missing]
        return "\n".join(lines)


def compare(golden: dict[str, Case], other: dict[str, Case]) -> Record:
    record = Record([], {}, {}, {}, sorted(golden.keys() ^ other.keys()), [])
    for name in [name for name in golden if name in other]:
        kind, first, second = golden[name].kind, golden[name].words, other[name].words
        if "refused" in (kind, other[name].kind):
            if kind == other[name].kind:
                record.refused.append(name)
            else:
                record.unequal[name] = len(first) + len(second)
        elif kind == "random":
            record.ulps[name] = ulp(name, first, second)
        elif kind == "question":
            record.questions[name] = different(first, second)
        elif first == second:
            record.equal.append(name)
        else:
            record.unequal[name] = different(first, second)
    return record


def main(arguments: list[str]) -> int:
    if len(arguments) == 3 and arguments[0] == "pack":
        cases = read(Path(arguments[1]))
        packed = lzma.compress(Path(arguments[1]).read_bytes(), preset=9)
        Path(arguments[2]).write_bytes(packed)
        print(f"{arguments[2]}: {len(cases)} cases, {len(packed)} bytes")
        return 0
    if len(arguments) == 3 and arguments[0] == "compare":
        record = compare(read(Path(arguments[1])), read(Path(arguments[2])))
        print(record)
        return 1 if record.unequal or record.missing else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
