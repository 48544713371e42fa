"""The `config=` argument: a kernel's name, a glob over names, or a `Config` of the numbers that matter.

A config no kernel of the build has is told apart: impossible on the hardware (the library's own text, with the bytes)
or possible and not built (the nearest built kernels).
"""

from __future__ import annotations

import ast
import dataclasses
import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _extension, manifest
from .errors import ArgumentError, ConfigError, did_you_mean, nearest, sentence
from .registry import Kernel
from .schedule import Schedule

_TYPES = "bf16|f16|tf32|e4m3|e5m2|s8|u8"
_NAME = re.compile(
    rf"(?P<a_type>{_TYPES})_(?P<b_type>{_TYPES})_(?P<accumulator>f32|f16|s32)_(?P<layout>[tn]{{2}})"
    r"_(?P<tile_m>\d+)x(?P<tile_n>\d+)x(?P<tile_k>\d+)_c(?P<cluster_m>\d+)x(?P<cluster_n>\d+)_s(?P<stages>\d+)"
    rf"_(?P<schedule>{'|'.join(s.value for s in Schedule)})_(?P<store>direct|tma)"
    r"(?:_w(?P<consumers>\d+))?(?:_sw(?P<a_swizzle>\d+)x(?P<b_swizzle>\d+))?(?:_p(?P<promote_k>\d+))?(?:_mma(?P<mmas_in_flight>\d+))?"
    r"(?:_k(?P<cluster_k>\d+))?(?P<column>_column)?(?P<unfused>_unfused)?"
)


@dataclass(frozen=True)
class Config:
    """A filter over kernels: every field given must match, the others are free.

    Args:
        tile: (M, N) or (M, N, K) of an output tile and K step.
        cluster: CTAs of a cluster along (M, N).
        stages: depth of the shared-memory ring.
        store: "tma" or "direct".
        consumers: warpgroups that issue wgmma.
        accumulate: "fp32" (also if not given) or "fp16".
    """

    tile: tuple[int, ...] | None = None
    cluster: tuple[int, int] | None = None
    stages: int | None = None
    store: str | None = None
    consumers: int | None = None
    accumulate: str | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Config:
        """Says what was meant, where dataclasses would say only that a keyword is unexpected."""
        names = [f.name for f in dataclasses.fields(cls)]
        for name in kwargs:
            if name not in names:
                raise ArgumentError(
                    sentence(f"Config has no field {name!r}", expected=f"of {', '.join(names)}", fix=did_you_mean(name, names))
                )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, lengths in (("tile", (2, 3)), ("cluster", (2,))):
            value = getattr(self, name)
            if value is None:
                continue
            given = tuple(value) if isinstance(value, (tuple, list)) else ()
            if len(given) not in lengths or not all(isinstance(v, int) for v in given):
                raise ArgumentError(
                    sentence(f"Config.{name} is not a tuple of {lengths[-1]} integers", got=repr(value))
                )
            object.__setattr__(self, name, given)
        for name in ("stages", "consumers"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ArgumentError(sentence(f"Config.{name} is not a positive integer", got=repr(value)))
        if self.store not in (None, "tma", "direct"):
            raise ConfigError(sentence("unknown store", got=repr(self.store), expected="'tma' or 'direct'"))
        if self.accumulate not in (None, "fp32", "fp16"):
            raise ConfigError(sentence("unknown accumulate", got=repr(self.accumulate), expected="'fp32' or 'fp16'"))

    def matches(self, kernel: Kernel) -> bool:
        return (
            (self.tile is None or kernel.tile[: len(self.tile)] == self.tile)
            and self.cluster in (None, kernel.cluster)
            and self.stages in (None, kernel.stages)
            and self.store in (None, kernel.store)
            and self.consumers in (None, kernel.consumers)
            and (kernel.accumulator == "f16") == (self.accumulate == "fp16")
        )

    def __str__(self) -> str:
        given = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return "Config(" + ", ".join(f"{name}={value!r}" for name, value in given if value is not None) + ")"

    @classmethod
    def parse(cls, text: str) -> Config:
        """The config of a text that `str` made: how an operator's schema carries it."""
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        return cls(**{str(k.arg): ast.literal_eval(k.value) for k in call.keywords})


def matching(config: str | Config, built: Sequence[Kernel], schedule: Schedule | None, input: str) -> list[Kernel]:
    """Built kernels a config stands for, of every layout.

    Args:
        schedule: the schedule named beside it, or None.
        input: types of the operands (`Problem.input`), to complete a Config when none is built.

    Raises:
        ArgumentError: not a string or Config.
        ConfigError: nothing built matches: impossible, not built, or not a name at all.
    """
    if isinstance(config, Config):
        found = [k for k in built if config.matches(k)]
    elif isinstance(config, str):
        found = [k for k in built if fnmatch.fnmatchcase(k.name, config)]
    else:
        raise ArgumentError(
            sentence(
                "config is neither a kernel's name, nor a glob, nor a hopper_gemm.Config",
                got=f"{config!r} of type {type(config).__name__}",
            )
        )
    if found:
        return found
    raise ConfigError(_why_none(config, built, schedule, input))


def _why_none(config: str | Config, built: Sequence[Kernel], schedule: Schedule | None, input: str) -> str:
    if isinstance(config, str):
        parsed = _NAME.fullmatch(config)
        if parsed is None:
            kind = "a glob that matches" if set(config) & set("*?[") else "a kernel's name, a glob or a Config"
            return sentence(
                f"config {config!r} names no kernel of this build",
                expected=f"{kind}, as listed by hopper_gemm.kernels() or: python -m hopper_gemm list",
                fix=_near_text(_nearest_by_name(config, built)),
            )
        wanted = [fields_of_name(parsed)]
    else:
        wanted = _completions(config, schedule, input)
    rules = [_extension.load().config_error(fields) for fields in wanted]
    if all(rules):
        return f"config {config} is impossible: {rules[0]}"
    wanted_fields = wanted[rules.index("")]
    near = sorted(built, key=lambda k: (distance(k, wanted_fields), k.id))[:3]
    return sentence(f"config {config} is possible but not in this build", fix=_near_text([k.name for k in near]))


def _near_text(names: Sequence[str]) -> str:
    return f"the nearest built: {', '.join(names)}" if names else "this build holds no kernels"


def _nearest_by_name(config: str, built: Sequence[Kernel]) -> list[str]:
    return nearest(config, [k.name for k in built]) or [k.name for k in built[:3]]


def fields_of_name(parsed: re.Match[str]) -> dict[str, Any]:
    """The fields of manifest.Row a kernel name stands for."""
    texts = parsed.groupdict()
    groups: dict[str, Any] = {k: int(v) if v is not None and v.isdigit() else v for k, v in texts.items()}
    return _row_fields(
        groups["schedule"],
        (groups["tile_m"], groups["tile_n"], groups["tile_k"]),
        groups["stages"],
        cluster=(groups["cluster_m"], groups["cluster_n"]),
        store=groups["store"],
        consumers=groups["consumers"],
        swizzles=(groups["a_swizzle"], groups["b_swizzle"]) if groups["a_swizzle"] is not None else None,
        mmas_in_flight=groups["mmas_in_flight"],
        promote_k=groups["promote_k"] or 0,
        cluster_k=groups["cluster_k"] or 1,
        output="column_major" if groups["column"] else "row_major",
        fused_epilogue=not groups["unfused"],
        inputs=(manifest.pair_name(groups["a_type"], groups["b_type"]),),
        accumulator=groups["accumulator"],
        layouts=(groups["layout"],),
    )


def _row_fields(schedule: str, tile: tuple[int, int, int | None], stages: int, **rest: Any) -> dict[str, Any]:
    try:
        (row,) = manifest.kernel(schedule, tile[0], tile[1], stages, tile_k=tile[2], **rest)
    except StopIteration:  # no swizzle fits such a tile: let the library say which rule that breaks
        (row,) = manifest.kernel(schedule, tile[0], tile[1], stages, tile_k=tile[2], **{**rest, "swizzles": (16, 16)})
    fields: dict[str, Any] = manifest.as_dict(row)
    return fields


def parse_name(name: str) -> dict[str, Any] | None:
    """Fields of a kernel name, None if it is not one."""
    parsed = _NAME.fullmatch(name)
    return fields_of_name(parsed) if parsed else None


def _completions(config: Config, schedule: Schedule | None, input: str) -> list[dict[str, Any]]:
    """Whole configs a filter allows, one per schedule: what it leaves open comes from the usual choices."""
    tile = config.tile or (128, 128)
    large = tile[0] * tile[1] > 128 * 192
    usual = [Schedule.COOPERATIVE, Schedule.PINGPONG] if large else [Schedule.PINGPONG, Schedule.COOPERATIVE]
    schedules = [schedule] if schedule else usual + [Schedule.WARP_SPECIALIZED, Schedule.TMA, Schedule.MULTISTAGE]
    return [
        _row_fields(
            chosen.value,
            (tile[0], tile[1], tile[2] if len(tile) == 3 else None),
            config.stages or 3,
            cluster=config.cluster or (1, 1),
            store=config.store,
            consumers=config.consumers,
            inputs=("f16" if config.accumulate == "fp16" else input,),
            accumulator="f16" if config.accumulate == "fp16" else None,
            layouts=("tn",),
        )
        for chosen in schedules
    ]


def distance(kernel: Kernel, wanted: dict[str, Any]) -> float:
    """How far a built kernel is from wanted fields: schedule, type, layout first, then tile, cluster, stages."""
    letters = ("t" if wanted["a_major"] == "k" else "n") + ("n" if wanted["b_major"] == "k" else "t")
    apart: float = 8.0 * (kernel.schedule.value != wanted["schedule"])
    types = tuple(wanted[f] for f in ("a_type", "b_type", "accumulator"))
    apart += 16.0 * ((kernel.a_type, kernel.b_type, kernel.accumulator) != types)
    apart += 2.0 * (kernel.promote_k != wanted["promote_k"])
    apart += 8.0 * (kernel.layout != letters) + 8.0 * (kernel.output != wanted["output"])
    for have, want in zip(kernel.tile, (wanted["tile_m"], wanted["tile_n"], wanted["tile_k"])):
        apart += 2.0 * abs(have - want) / max(have, want)
    for have, want in zip(kernel.cluster, (wanted["cluster_m"], wanted["cluster_n"])):
        apart += 0.5 * (have != want)
    apart += 0.1 * abs(kernel.stages - wanted["stages"]) + 0.5 * (kernel.store != wanted["store"])
    return apart
