"""The table of measured choices that ships with the library: what is in it, and when it is asked."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from pathlib import Path

import pytest

from hopper_gemm import manifest, tuned
from hopper_gemm.bench.suites import Case
from hopper_gemm.cost import Card
from hopper_gemm.explanation import explain_problem
from hopper_gemm.plan import Plan, Request, make_plan
from hopper_gemm.problem import Problem
from hopper_gemm.registry import all_kernels
from hopper_gemm.tuned import MEASURED, Choice, key_of, options_of, shipped_choices, table_of

CARD = Card()
PROBLEM = Problem(2048, 4096, 1024, "bf16", "bf16", ("k",), ("k",))


@pytest.fixture(autouse=True)
def no_table_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPPER_GEMM_CACHE", str(tmp_path))
    monkeypatch.setattr(tuned, "_tables", {})


def plan_of(problem: Problem = PROBLEM, request: Request = Request(), card: Card = CARD) -> Plan:  # noqa: B008
    return make_plan(problem, request, all_kernels(), card)


def choice_of(prediction, **changes) -> Choice:
    fields = {
        "kernel": prediction.kernel.name, "walk": options_of(prediction.walk), "us": 10.0, "model_kernel": "x", "model_us": 12.5,
        "measured": {}, "date": "2026-12-01",
    }  # fmt: skip
    return Choice(**{**fields, **changes})


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch):
    """The sixth kernel by the model, as if the shipped table had it for PROBLEM."""
    other = plan_of(request=Request(shipped=False)).alternatives[5]
    choices = {key_of(PROBLEM, "auto"): choice_of(other, shipped=True)}
    monkeypatch.setattr(tuned, "_shipped", lambda: (CARD.name, CARD.sm_count, choices))
    return other


def test_the_shipped_table_chooses_and_explain_says_so(shipped):
    assert plan_of().kernel == shipped.kernel
    text = str(explain_problem(PROBLEM, Request(), CARD))
    assert "in the shipped table, 2026-12-01: 10.00 us measured" in text and "12.50 us for the model's choice then, x" in text and "deterministic" not in text
    assert plan_of(request=Request(tuned=False)).kernel == shipped.kernel, "it is the same for everybody"
    assert plan_of(card=Card(f"{CARD.name} (assumed)")).kernel == shipped.kernel


def test_a_product_with_copies_takes_the_choice_of_the_one_without(shipped):
    ways = ("k", "mn")  # what is packed may lie either way, as it lies now first
    for packs, a, b in (((True, True), ways, ways), ((True, False), ways, ("k",)), ((False, True), ("k",), ways)):
        packed = dataclasses.replace(PROBLEM, packs=packs, a_majors=a, b_majors=b, copies_out=True, workspace_bytes=1 << 20)
        assert packed.in_place == PROBLEM and plan_of(packed).kernel == shipped.kernel and plan_of(packed).tuned
    columns = dataclasses.replace(PROBLEM, packs=(True, False), a_majors=ways[::-1], workspace_bytes=1 << 20)
    assert plan_of(columns).tuned is None, "a copy of columns is one of columns"


def test_explain_of_a_product_with_copies_says_what_was_measured(shipped):
    packed = dataclasses.replace(PROBLEM, packs=(True, False), a_majors=("k", "mn"), workspace_bytes=1 << 22)
    text = str(explain_problem(packed, Request(), CARD))
    assert "12.50 us for the model's choice then, x, without the copies" in text and "us more" in text
    assert "candidates (predicted, measured without the copies):" in text
    own = str(explain_problem(packed, Request(shipped=False), CARD))
    assert "us of those predicted" in own and "candidates (predicted, not measured):" in own and "without" not in own
    assert "without" not in str(explain_problem(PROBLEM, Request(), CARD))


def test_what_the_shipped_table_does_not_decide(shipped):
    own = plan_of(request=Request(shipped=False))
    assert own.tuned is None and own.kernel != shipped.kernel
    for request in (
        Request(config=own.kernel.name),
        Request(own.kernel.schedule),
        Request(batch_invariant=True),
        Request(static_b=True),
    ):
        assert plan_of(request=request).tuned is None, request
    for card in (Card("NVIDIA H100 80GB HBM3"), Card(f"{CARD.name} NVL"), Card(CARD.name, 114)):
        assert plan_of(card=card).tuned is None
    assert plan_of(dataclasses.replace(PROBLEM, m=2040)).tuned is None


def test_the_users_own_measurement_comes_first(shipped):
    mine = plan_of(request=Request(shipped=False)).alternatives[3]
    table_of(CARD).record({key_of(PROBLEM, "auto"): choice_of(mine)})
    assert plan_of().kernel == mine.kernel and not plan_of().tuned.shipped
    assert plan_of(request=Request(tuned=False)).kernel == shipped.kernel


def program():
    spec = importlib.util.spec_from_file_location(
        "measure_choices", Path(__file__).parents[1] / "benchmarks" / "measure_choices.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_line_of_the_table_is_of_a_known_problem_and_applies():
    table = json.loads(MEASURED.read_text())
    known = {key_of(case.problem(), "auto"): case.problem() for case in program().cases()}
    assert set(table["choices"]) <= set(known) and len(shipped_choices(CARD)) == len(table["choices"]) > 100
    assert program().text_of(table) == MEASURED.read_text()
    built = {manifest.name(row) for row in manifest.DEFAULT}
    assert {choice.kernel for choice in shipped_choices(CARD).values()} <= built
    for key, choice in shipped_choices(CARD).items():
        plan = plan_of(known[key])
        assert plan.tuned == choice and plan.kernel.name == choice.kernel, key
        assert options_of(plan.chosen.walk) == choice.walk


def test_a_problem_is_measured_and_kept(monkeypatch, tmp_path):
    from hopper_gemm.bench import measure

    measuring, case = program(), program().cases()[0]
    best = plan_of(case.problem(), Request(shipped=False)).alternatives[2].kernel.name

    class Sets:
        def __init__(self, *arguments):
            self.can_run = lambda prediction: ""

    class Watch:
        def __init__(self, *arguments):
            pass

        def __call__(self, predictions, rounds, fraction):
            return {name: measure.Timing((5.0 if p.kernel.name == best else 9.0,) * rounds) for name, p in predictions.items()}

    class One:
        a = b = (None,)

        def __init__(self, *arguments, **options):
            pass

    monkeypatch.setattr(measuring, "Rotation", Sets)
    monkeypatch.setattr(measuring, "Stopwatch", Watch)
    monkeypatch.setattr(measuring, "Operands", One)
    monkeypatch.setattr(measuring, "card_of", lambda index: CARD)
    monkeypatch.setattr(measuring, "all_kernels", lambda: [dataclasses.replace(k, compiled=True) for k in all_kernels()])
    choice = measuring.measured(case, 0.1)
    assert choice.kernel == best and choice.us == 5.0
    key = key_of(case.problem(), "auto")
    table = {"gpu": CARD.name, "sm_count": 132, "choices": {key: measuring.kept(choice, "0123456789abcdef")}}
    file = tmp_path / "measured.json"
    file.write_text(measuring.text_of(table))
    monkeypatch.setattr(tuned, "MEASURED", file)
    tuned._shipped.cache_clear()
    assert plan_of(case.problem()).kernel.name == best
    tuned._shipped.cache_clear()


def test_pairs_with_torch_decide_between_the_best(monkeypatch):
    from hopper_gemm.bench import measure

    measuring, case = program(), Case(4096, 4096, 4096)
    plan = plan_of(case.problem(), Request(shipped=False))
    model, found, wrong, best = (p.kernel.name for p in (plan.chosen, *plan.alternatives[:3]))
    gains = {model: 1.0, found: 1.02, wrong: 2.0, best: 1.05}
    walks, orders = {}, []

    class Sets:
        count, torch_call = 1, staticmethod(lambda i: None)

        def __init__(self, *arguments, **options):
            pass

        def kernel_call(self, kernel, walk):
            return kernel.name, walk.raster, walk.group

        def agrees(self, call):
            return call[0] != wrong

    def timed(candidates, rounds, *, order):
        orders.append(order.random())
        calls = {name: call for name, call in candidates.items() if name != "torch"}
        assert len(candidates) == len(calls) + 1
        assert rounds == measuring.AMONG_ROUNDS or len({call[0] for call in calls.values()}) <= 1, "no two kernels beside torch"
        times = {name: 10.0 / gains[call[0]] / walks.get(call[1:], 1.0) for name, call in calls.items()}
        return {name: measure.Timing((us,) * rounds) for name, us in {"torch": 10.0, **times}.items()}

    monkeypatch.setattr(measuring, "Operands", Sets)
    monkeypatch.setattr(measuring, "card_of", lambda index: CARD)
    monkeypatch.setattr(measuring.measure, "capture", lambda calls, sets, failed: calls)
    monkeypatch.setattr(measuring.measure, "time_interleaved", timed)
    monkeypatch.setattr(measuring, "all_kernels", lambda: [dataclasses.replace(k, compiled=True) for k in all_kernels()])
    choice = choice_of(plan.alternatives[0], model_kernel=model, measured={wrong: 8.0, best: 9.0})
    chosen = measuring.paired(case, choice)
    assert (chosen.kernel, chosen.us) == (best, round(10 / 1.05, 3)) and chosen.walk == options_of(plan.alternatives[2].walk)
    assert chosen.model_us / chosen.us == pytest.approx(1.05, abs=1e-3)
    walks.update({("along_n", 2): 1.03, ("along_m", 1): 1.01})
    another = measuring.paired(case, choice)
    assert another.kernel == best and another.walk == {**chosen.walk, "raster": "along_n", "group": 2}
    assert another.us == pytest.approx(10 / 1.05 / 1.03, abs=1e-3)
    assert another.model_us == pytest.approx(10, abs=1e-2), "it gains nothing on torch"
    walks.clear()
    gains[found] = 1.06
    assert measuring.paired(case, choice) is choice, "the search was right"
    assert measuring.paired(Case(100, 100, 101), choice) is choice, "what is packed has no pairs"

    def entry(prediction, **walk):
        return {"kernel": prediction.kernel.name, "walk": options_of(prediction.walk) | walk}

    walks[("along_n", 1)] = 1.02
    tables = [entry(plan.alternatives[1]), entry(plan.alternatives[2], raster="along_n", group=1), entry(plan.alternatives[0])]
    gains[found] = 1.06
    decided = measuring.among(case, tables)
    assert (decided.kernel, decided.walk["group"], decided.model_kernel) == (best, 1, model), "1.05 x 1.02"
    assert decided.us == pytest.approx(10 / 1.05 / 1.02, abs=1e-3) and decided.model_us == pytest.approx(10, abs=1e-2)
    gains[best] = 1.0605 / 1.02
    first = measuring.among(case, [entry(plan.alternatives[0]), *tables])
    assert first.kernel == found, "not for 0.05%"
    assert measuring.among(case, [entry(plan.chosen)]) is None, "nothing to decide"
    assert measuring.among(Case(100, 100, 101), tables) is None
    assert len(set(orders)) == len(orders) > 10, "an order of rounds favours places: not the same one twice"


def test_a_comparison_that_fails_leaves_what_was_found(monkeypatch, tmp_path):
    measuring, file = program(), tmp_path / "table.json"
    one, other = (c for c in program().cases()[:2])
    plans = {case: plan_of(case.problem(), Request(shipped=False)) for case in (one, other)}

    def refuse(*arguments):
        raise RuntimeError("out of memory")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["measure_choices.py", "--json", str(file), "--only", f"^({one}|{other})$", *arguments])
        measuring.main()
        return {case: json.loads(file.read_text())["choices"].get(key_of(case.problem(), "auto")) for case in plans}

    monkeypatch.setattr(measuring, "environment", lambda mode: {"commit": "0" * 40})
    monkeypatch.setattr(measuring, "card_of", lambda index: CARD)
    monkeypatch.setattr(measuring, "measured", lambda case, seconds: choice_of(plans[case].chosen) if case == one else refuse())
    monkeypatch.setattr(measuring, "paired", refuse)
    found = run("--pairs")
    assert found[one]["kernel"] == plans[one].kernel.name and found[other] is None

    nominated = tmp_path / "nominated.json"
    entries = {key_of(case.problem(), "auto"): measuring.kept(choice_of(plans[case].alternatives[0]), "1") for case in plans}
    nominated.write_text(json.dumps({"choices": entries}))
    seen = []
    monkeypatch.setattr(measuring, "among", lambda case, tables: seen.append([t["kernel"] for t in tables]) if case == one else refuse())
    assert run("--among", str(nominated)) == found, "nothing was decided"
    assert seen == [[plans[one].kernel.name, plans[one].alternatives[0].kernel.name]], "the file's own first"
