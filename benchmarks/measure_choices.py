"""Measures which kernel is the fastest for well-known products: the table that ships with the library.

    python benchmarks/measure_choices.py [--again] [--only REGEX] [--part 0/1] [--seconds 1.5] [--pairs] [--total 280] [--json FILE]
    python benchmarks/measure_choices.py --among TABLE... [--only REGEX] [--total 280] [--json FILE]

Layers of the models of `bench --model` for some numbers of tokens, and the suites of shapes. Every problem goes through the
tuner's search (hopper_gemm/search.py), whose rounds are sustained. Problems that the file has already are left as they are,
but for `--again`. `--only` takes a regular expression that a case must match ("4096x2112x7168 bf16 t"). `--pairs` goes on
with the best few, each alone with torch, and then the other walks of the best, for ten seconds more: at the power limit a
kernel's rank depends on how hot the others run. `--among` searches nothing: where tables differ, what they say, what the file
says and the model's own choice run beside torch, three times as long, and the best stays. `--part i/n` takes every n-th
problem from the i-th on, for several GPUs at once.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from hopper_gemm.bench import measure
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.operands import Operands
from hopper_gemm.bench.suites import Case, load_model_layers, load_suite
from hopper_gemm.device import card_of
from hopper_gemm.plan import Request, make_plan
from hopper_gemm.problem import DTYPES, Problem
from hopper_gemm.registry import Kernel, all_kernels, by_name
from hopper_gemm.search import name_of, other_walks, search
from hopper_gemm.selector import Prediction, load_model, predict
from hopper_gemm.tuned import MEASURED, Choice, key_of, options_of
from hopper_gemm.tuner import Rotation, Stopwatch

MODELS = ("llama-3-8b", "llama-3-70b", "deepseek-v3")
TOKENS = (16, 128, 512, 2048, 4096, 8192, 1, 64, 256, 1024, 32)
SUITES = ("peers", "layouts", "types")
PAIRED, PAIR_ROUNDS = 8, 12
AMONG_ROUNDS = 36
BETTER = 1.002  # what another has to gain, for the noise
LARGEST_OUTPUT = 1 << 28  # elements: the heads of models at thousands of tokens are left to the model


def cases() -> list[Case]:
    """Every problem once, the suites first."""
    found = [case for suite in SUITES for case in load_suite(suite)]
    found += [case for tokens in TOKENS for model in MODELS for case in load_model_layers(model, (tokens,))]
    return [c for c in dict.fromkeys(found) if c.m * c.n <= LARGEST_OUTPUT]


def built() -> list[Kernel]:
    """The kernels that may be chosen."""
    return [kernel for kernel in all_kernels() if kernel.compiled and kernel.automatic]


def measured(case: Case, seconds: float) -> Choice:
    """What the tuner's search finds for a problem."""
    one = Operands(case, seed=0, count=1)
    problem = case.problem()
    sets = Rotation(one.a[0], one.b[0], DTYPES[problem.output])
    watch = Stopwatch(sets, lambda text: print(f"  {text}", flush=True))
    return search(problem, Request(), built(), card_of(0), watch, seconds=seconds, can_run=sets.can_run)


def paired(case: Case, choice: Choice) -> Choice:
    """The best kernels of a search, each in rounds with torch alone, by the model's walks and the search's: the one that gains
    most on it. Its other walks follow, all with torch in the same rounds: they run about as hot. The time of the model's choice
    is scaled by what each gains."""
    sets, problem = Operands(case, seed=0), case.problem()
    if any(problem.packs):
        return choice
    names = list(dict.fromkeys([choice.kernel, choice.model_kernel, *choice.measured]))[:PAIRED]
    by_model = {name: predicted(problem, name) for name in names}
    own, searched = by_model[choice.model_kernel], walking(by_model[choice.kernel], choice.walk)
    tried = {name_of(p): p for p in (searched, *by_model.values())}
    found: dict[str, Beside] = {}
    for name, prediction in tried.items():
        found |= beside_torch(sets, {name: prediction})
    if name_of(own) not in found:
        return choice
    first = max(found, key=lambda name: found[name].gain)
    of_model = by_model[tried[first].kernel.name]
    walks = {first: tried[first], name_of(of_model): of_model, **dict(other_walks(of_model, card_of(0)))}
    of_walks = beside_torch(sets, walks)
    last = best_of(of_walks, first)
    if last == name_of(searched):
        return choice
    us, gain = of_walks[last].us, of_walks[last].gain / of_walks[first].gain * found[first].gain / found[name_of(own)].gain
    kernel, walk = walks[last].kernel.name, options_of(walks[last].walk)
    return dataclasses.replace(choice, kernel=kernel, walk=walk, us=round(us, 3), model_us=round(us * gain, 3))


def predicted(problem: Problem, name: str) -> Prediction:
    """A kernel with the model's walk."""
    kernel = by_name()[name]
    return predict(problem.for_output(kernel.output), kernel, card_of(0), load_model())


def walking(prediction: Prediction, options: Mapping[str, Any]) -> Prediction:
    """The same with the walk of a table."""
    return dataclasses.replace(prediction, walk=dataclasses.replace(prediction.walk, **options))


class Beside(NamedTuple):
    """Microseconds, and torch's time in the same rounds over that."""

    us: float
    gain: float


def beside_torch(sets: Operands, candidates: Mapping[str, Prediction], rounds: int = PAIR_ROUNDS) -> dict[str, Beside]:
    """All candidates in the same rounds as torch; one that fails or is wrong is left out. The order of rounds is another every
    time: an order favours some places by a percent or two (docs/notes/limits.md)."""
    calls = {name: sets.kernel_call(p.kernel, p.walk) for name, p in candidates.items()}
    graphs = measure.capture({"torch": sets.torch_call, **calls}, sets.count, lambda who, e: print(f"  {who}: {e}"))
    graphs = {name: graph for name, graph in graphs.items() if name not in calls or sets.agrees(calls[name])}
    times = measure.time_interleaved(graphs, rounds, order=random.Random())
    found = {name: Beside(times[name].us, times[name].ratio_to(times["torch"])) for name in times if name != "torch"}
    for name in candidates:
        print(f"  {name}: {'{:.2f} us, {:.4f} of torch'.format(*found[name]) if name in found else 'fails or is wrong'}")
    return found


def best_of(times: Mapping[str, Beside], first: str) -> str:
    """The name that gains most on torch; `first` unless another is better than by the noise."""
    best = max(times, key=lambda name: times[name].gain)
    return first if first in times and times[best].gain < BETTER * times[first].gain else best


def among(case: Case, entries: Sequence[Mapping[str, Any]]) -> Choice | None:
    """The best of what tables say of a problem and of the model's own choice, None if these agree or cannot be compared. The
    first entry stays unless another is better than by the noise."""
    problem = case.problem()
    own = make_plan(problem, Request(tuned=False, shipped=False), built(), card_of(0)).chosen
    candidates = {name_of(p): p for p in (*(walking(predicted(problem, e["kernel"]), e["walk"]) for e in entries), own)}
    if any(problem.packs) or len(candidates) == 1:
        return None
    times = beside_torch(Operands(case, seed=0), candidates, AMONG_ROUNDS)
    if name_of(own) not in times:
        return None
    best = best_of(times, next(iter(candidates)))
    us, gain = times[best]
    return Choice(
        kernel=candidates[best].kernel.name,
        walk=options_of(candidates[best].walk),
        us=round(us, 3),
        model_kernel=own.kernel.name,
        model_us=round(us * gain / times[name_of(own)].gain, 3),
        measured={},
        date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    )


def kept(choice: Choice, commit: str) -> dict[str, Any]:
    """What of a choice goes into the table."""
    fields = dataclasses.asdict(choice)
    names = ("kernel", "walk", "us", "model_kernel", "model_us", "date")
    return {name: fields[name] for name in names} | {"commit": commit[:12]}


def text_of(table: dict[str, Any]) -> str:
    """A line for each problem."""
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(table["choices"].items()))
    head = {name: value for name, value in table.items() if name != "choices"}
    return json.dumps(head, indent=1)[:-2] + ',\n "choices": {\n' + lines + "\n }\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="measure what the file has already, too")
    parser.add_argument("--only", default="", help="a regular expression for MxNxK dtype layout")
    parser.add_argument("--part", default="0/1", help="i/n")
    parser.add_argument("--seconds", type=float, default=1.5, help="of the search, for each problem")
    parser.add_argument("--pairs", action="store_true", help="the best few once more, each alone with torch")
    parser.add_argument("--among", nargs="+", type=Path, default=[], metavar="TABLE", help="only decide between tables")
    parser.add_argument("--total", type=float, default=280, help="begin no problem after this many seconds")
    parser.add_argument("--json", type=Path, default=MEASURED)
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    about, card, begin = environment("sustained"), card_of(0), time.monotonic()
    table = json.loads(options.json.read_text()) if options.json.exists() else {"choices": {}}
    table = {
        "gpu": card.name, "sm_count": card.sm_count, "command": "python benchmarks/measure_choices.py", "choices": table["choices"],
    }  # fmt: skip
    wanted = [c for c in cases() if re.search(options.only, str(c))]
    others = [json.loads(path.read_text()) for path in options.among]
    todo = [c for c in wanted if options.again or others or key_of(c.problem(), "auto") not in table["choices"]][part::parts]
    for i, case in enumerate(todo):
        if time.monotonic() - begin > options.total:
            print(f"time is up: {len(todo) - i} of {len(todo)} problems are left out")
            break
        started = time.monotonic()
        key = key_of(case.problem(), "auto")
        choice = None
        try:
            if options.among:
                choice = among(case, [t["choices"][key] for t in (table, *others) if key in t["choices"]])
            else:
                choice = measured(case, options.seconds)
            if choice and options.pairs:
                choice = paired(case, choice)
        except Exception as error:  # one problem that fails must not take the rest along, nor its pairs what the search found
            print(f"{case}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        torch.cuda.empty_cache()
        if not choice:
            continue
        table["choices"][key] = kept(choice, str(about["commit"]))
        gain = choice.model_us / choice.us
        print(
            f"{case}: {choice.us:.2f} us, {gain:.3f} x the model's, {choice.kernel}, {time.monotonic() - started:.1f} s",
            flush=True,
        )
        options.json.write_text(text_of(table))
    options.json.write_text(text_of(table))


if __name__ == "__main__":
    main()
