"""The search for the fastest kernel of one problem, by a stopwatch that is handed in: on a GPU bench/measure.py's.

All kernels that may run it take part in a short pass, other tile orders and slices of K of the fastest follow, then the best
few and the model's own choice run in interleaved rounds. The short passes take a fifth of the time each.
"""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .errors import UnsupportedProblemError, sentence
from .plan import Request, candidates_for, make_plan
from .problem import Problem
from .registry import Kernel
from .selector import Card, Prediction, load_model, rank
from .tuned import Choice, options_of
from .walk import APART, GROUPS, RASTERS, Walk, slicings

if TYPE_CHECKING:
    from .bench.measure import Timing

FINALISTS = 8
OTHER_WALKS_OF = 4  # kernels of the short pass that are tried with other walks
HOPELESS = 3.0  # times the best prediction: not timed
SAME = 0.995  # of the model's time: a difference within the noise leaves its choice alone
ROUND_S = 0.025
SHORT, LONGEST = 0.08, 0.6  # of a round: the short passes
SHORT_PART = 0.2  # of the time, for each of them
LEAST_ROUNDS, MOST_ROUNDS = 5, 24

Stopwatch = Callable[[Mapping[str, Prediction], int, float], "dict[str, Timing]"]
"""(predictions by name, rounds, fraction of a round) -> times; a candidate that fails is left out."""


def search(
    problem: Problem,
    request: Request,
    built: Sequence[Kernel],
    card: Card,
    stopwatch: Stopwatch,
    *,
    seconds: float,
    can_run: Callable[[Prediction], str] = lambda prediction: "",
    note: Callable[[str], None] = lambda text: None,
) -> Choice:
    """Times the candidates for one problem; nothing is kept.

    Raises:
        UnsupportedProblemError: no kernel runs the problem, or every launch failed.
    """
    begin = time.monotonic()
    own = make_plan(problem, Request(request.schedule, request.config, tuned=False, shipped=False), built, card, can_run).chosen
    pool, _ = candidates_for(problem, request, built)
    ranked = [p for p in rank(problem, pool, card, load_model()) if not can_run(p)]
    first = {name_of(p): p for p in (own, *ranked) if p.us < HOPELESS * own.us}
    note(f"{len(first)} kernels")
    short = stopwatch(first, 2, _fraction(first, seconds))
    kernels = sorted(short, key=lambda n: short[n].us)[:OTHER_WALKS_OF]
    walks = {name: p for kernel in kernels for name, p in other_walks(first[kernel], card)}
    if walks and _left(begin, seconds) > 0.3 * seconds:
        note(f"{len(walks)} other walks of the fastest {len(kernels)}")
        short |= stopwatch(walks, 2, _fraction(walks, seconds))
    everyone = first | walks
    names = sorted(short, key=lambda n: short[n].us)[:FINALISTS]
    finalists = {name: everyone[name] for name in dict.fromkeys([name_of(own), *names]) if name in short}
    if not finalists:
        raise UnsupportedProblemError(sentence(f"no kernel could be timed for {problem.describe()}", fix="see the notes above"))
    rounds = int(_left(begin, seconds) / (ROUND_S * len(finalists)))
    note(f"the best {len(finalists)}, interleaved")
    final = stopwatch(finalists, max(LEAST_ROUNDS, min(MOST_ROUNDS, rounds)), 1.0)
    return _choice(finalists, short, final, name_of(own))


def _fraction(candidates: Mapping[str, Prediction], seconds: float) -> float:
    """How much of a round each candidate gets in each of the two rounds of a short pass, which are to take their part of the
    time: a card at its power limit tells little within milliseconds."""
    return min(LONGEST, max(SHORT, SHORT_PART * seconds / (2 * ROUND_S * len(candidates))))


def _left(begin: float, seconds: float) -> float:
    return seconds - (time.monotonic() - begin)


def _choice(
    finalists: Mapping[str, Prediction], short: Mapping[str, Timing], final: Mapping[str, Timing], own: str
) -> Choice:
    """The fastest of the last pass, or the model's own if nothing beats it by more than the noise, round by round and on the
    whole.
    """
    if not final:
        raise UnsupportedProblemError(sentence("every kernel failed in the last pass", fix="see the notes above"))
    baseline = final.get(own) or next(iter(final.values()))
    best = max(final, key=lambda n: final[n].ratio_to(baseline))
    if own in final and (1 / final[best].ratio_to(baseline) > SAME or final[best].us >= baseline.us):
        best = own
    measured: dict[str, float] = {}
    for name, timing in sorted({**short, **final}.items(), key=lambda item: item[1].us):
        measured.setdefault(name.partition(" ")[0], round(timing.us, 3))
    return Choice(
        kernel=finalists[best].kernel.name,
        walk=options_of(finalists[best].walk),
        us=round(final[best].us, 3),
        model_kernel=own.partition(" ")[0],
        model_us=round(baseline.us, 3),
        measured=measured,
        date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    )


def name_of(prediction: Prediction) -> str:
    return " ".join([prediction.kernel.name, *map(str, options_of(prediction.walk).values())])


def other_walks(prediction: Prediction, card: Card) -> Iterator[tuple[str, Prediction]]:
    """The kernel with every number of slices worth a try, and with every tile order where there are tiles enough for it to
    matter."""
    own = prediction.walk
    whole_tiles = prediction.tiles // own.slices
    walks = [own.in_slices(s) for s in slicings(prediction.problem, prediction.kernel, whole_tiles, card.sm_count)]
    if own.raster == APART:
        walks.append(dataclasses.replace(own, raster="along_m"))
    if prediction.waves > 1:
        orders = [dataclasses.replace(own, raster=raster, group=group) for raster in RASTERS for group in GROUPS]
        walks += [walk for walk in orders if _differs(prediction, walk)]
    for walk in walks:
        if walk != own:
            other = dataclasses.replace(prediction, walk=walk)
            yield name_of(other), other


def _differs(prediction: Prediction, walk: Walk) -> bool:
    """Groups wider than the output are all the same; the narrowest of them stands for them."""
    along_m = walk.raster == "along_m"
    extent, tile = (prediction.problem.m, prediction.kernel.tile[0]) if along_m else (prediction.problem.n, prediction.kernel.tile[1])
    clusters = -(-extent // (tile * prediction.kernel.cluster[0 if along_m else 1]))
    narrower = [g for g in GROUPS if g < walk.group]
    return not narrower or narrower[-1] < clusters
