"""How the campaign draws its cases: sizes at the edges of everything, letters that make ties, and
every option, each with the features that it is counted under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from campaign_run import REFERENCE_CELLS, Case

from pysw_cl.engines.registry import plan_on
from pysw_cl.errors import PlanError
from pysw_cl.opencl.device import Runtime
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.planning.plan import Plan
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences.coded import STAND_INS

Letters = np.ndarray[Any, np.dtype[np.uint8]]

DNA, AMBIGUOUS, RESIDUES = "ACGT", "ACGTNRYKM", "ARNDCQEGHILKMFPSTWYV"
#: Scores of lanes of 11 bits that one process has.
SMALL_SCORES = 3
#: Strips that a thin tile has at most: they are done one after the other.
MOST_STRIPS = 1000

#: Parameters that are lowered together, so that small pairs meet what only large ones do.
LOWERED: dict[str, list[dict[str, Any]]] = {
    "grid": [
        {"traceback.pieces": most, "traceback.least_side": side}
        for most, side in ((3, 8), (16, 30), (5, 100), (16, 300))
    ],
    "band": [{"band.least_rows": rows} for rows in (16, 64, 300)],
    "tall tiles": [{"sweep.longest_side": side} for side in (100, 512)],
    "ahead": [
        {
            "traceback.least_side": 300,
            "speculation.side": side,
            "speculation.least_sides": 2,
            "speculation.pruned_side": 0,
            "speculation.slack": 20,
            "speculation.piece": piece,
            "speculation.first_cells": cells,
            "speculation.begun": 8,
            "speculation.margin": margin,
        }
        for side, margin, piece, cells in ((64, 2.0, 2, 4), (128, 0.4, 32, 12), (64, 0.5, 1, 2))
    ],
    "pace": [
        {
            "saving.least_seconds": 0,
            "saving.least_times": 0,
            "saving.least_times_beside": 0,
            "saving.fill_times": 0,
            "traceback.pieces": 5,
            "traceback.least_side": 20,
        }
    ],
    "sections": [
        {
            "sections.least_cells": 1,
            "sections.least_columns": columns,
            "sections.least_aspect": aspect,
            "sections.rounds": rounds,
            "sections.first_overlap": overlap,
            "sections.most_overlap": 1000,
            "sections.most_share": share,
            "sections.most_refused": refused,
            "sections.most_cost": 1000,
            "sections.most_cost_beside_pruning": 1000,
            "boxes.least_aspect": thin,
            "boxes.alone": 20 * thin,
        }
        for columns, aspect, rounds, overlap, share, refused, thin in (
            (1, 0, 1, 1, 0, 1, 1),
            (20, 0, 3, 16, 0, 1, 4),
            (100, 0, 1, 64, 1, 0.25, 16),
            (300, 0, 2, 256, 1000, 1, 1),
            (30, 2, 0, 16, 0, 0.25, 16),
            (30, 0, 0, 4, 0, 1, 2),
        )
    ],
    "boxes": [
        {"boxes.sides": 1, "boxes.more": 0, "boxes.alone": 0},
        {"boxes.sides": 1, "boxes.more": 8, "pairs.alone_cells": 500, "traceback.least_side": 16},
        {"boxes.alone": 16, "boxes.more": 16, "pairs.cpu_moves": 1, "pairs.gpu_moves": 1},
    ],
    "batch": [
        {"pairs.alone_cells": 3000, "pairs.cpu_mates": 9, "pairs.gpu_mates": 9},
        {"pairs.counted_cells": 0},
        {"pairs.cpu_pairs": 20, "pairs.gpu_pairs": 20},
    ],
    "pairs as tiles": [
        {
            "pairs.alone_cells": 0,
            "pairs.cpu_mates": 1 << 20,
            "pairs.gpu_mates": 1 << 20,
            "pairs.gpu_lane_cells": 1,
            **more,
        }
        for more in ({}, {"pairs.gpu_moves": 1, "pairs.moves_share": 0.0, "pairs.tile_longest": 99})
    ],
}


class Draw:
    """Draws cases for one device."""

    def __init__(self, runtime: Runtime, seed: Sequence[int]) -> None:
        self.runtime, self.rng = runtime, np.random.default_rng(seed)
        self.plans = plans_of(runtime)
        #: Kernels of 11 bits are built for their scores.
        self.small_scores = [self.small() for _ in range(SMALL_SCORES)]

    def case(self) -> Case:
        """The next case."""
        name = self.pick(list(self.plans))
        if name == "mixed":
            return self.mixed()
        wishes = dict(self.pick(self.plans[name]))
        entry = self.pick(["align"] * 11 + ["many"] * 3 + ["top"] * 2 + ["saved"] * 3 + ["ends"])
        kind, options, letters = self.scoring(entry != "saved")
        case = Case(entry, [], options, wishes, features=[f"entry {entry}", f"plan {name}", kind])
        case = self.modes(case)
        plan = plan_on(self.runtime, wishes)
        if entry == "many":
            return self.many(case, plan, letters)
        return self.one(case, plan, letters)

    def mixed(self) -> Case:
        """A local case that lanes of 11 bits can compute, unless its tiles are apart."""
        wishes, entry = dict(self.pick(self.plans["mixed"])), self.pick(["align"] * 4 + ["saved"])
        options = {**self.pick(self.small_scores), "mode": "local"}
        options["output"] = self.pick(["path", "path", "ends", "score"])
        features = [f"entry {entry}", "plan mixed", "scoring small", "mode local"]
        features.append(f"output {options['output']}")
        if self.often(0.5):
            options["prune"] = False
            features.append("no pruning")
        if entry == "align" and options["output"] == "path" and self.often(0.2):
            options["second_best"] = True
            features.append("second best")
        case = Case(entry, [], options, wishes, features=features)
        size = self.long_rows() if self.often(0.75) else None
        letters = DNA[: self.pick([2, 4, 4])]
        return self.one(case, plan_on(self.runtime, wishes), letters, size)

    def one(
        self, case: Case, plan: Plan, letters: str, size: tuple[int, int, str] | None = None
    ) -> Case:
        """A case of one pair."""
        entry = case.entry
        m, n, shape = size or self.shape(plan, {"top": 60_000}.get(entry, 3_000_000))
        content, a, b = self.letters(m, n, letters)
        case = self.cuts(replace(case, pairs=[[a, b]]), m, n)
        for more in (f"shape {shape}", f"letters {content}", *self.named_sizes(m, n, plan)):
            case.features.append(more)
        if entry == "top":
            self.best_ones(case)
        self.ranges(case, m, n)
        if entry == "ends":
            return self.best_cells(case)
        self.strands(case)
        return self.stopped(case) if entry == "saved" else case

    # --- small choices ---------------------------------------------------------------------------

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def often(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def between(self, least: int, most: int) -> int:
        """Any whole number in [least, most], small ones as likely as large ones."""
        low, high = np.log(least), np.log(max(least, most) + 1)
        return min(int(np.exp(self.rng.uniform(low, high))), max(least, most))

    # --- sizes -----------------------------------------------------------------------------------

    def shape(self, plan: Plan, most: int) -> tuple[int, int, str]:
        """Rows, columns and what is special about them; ``most``: cells."""
        kind = self.pick(
            "tiny edges edges edges square square thin-target thin-target thin-query any".split()
        )
        most = self.pick([20_000, 20_000, REFERENCE_CELLS, most])
        if kind == "tiny":
            return int(self.rng.integers(1, 6)), int(self.rng.integers(1, 6)), kind
        if kind == "edges":
            m, n = self.edge(plan, True), self.edge(plan, False)
        elif kind == "square":
            m = self.between(100, 1500)
            n = max(1, m + int(self.rng.integers(-20, 21)))
        elif kind == "any":
            m = self.between(1, min(most, MOST_STRIPS * plan.T * plan.alpha, 60_000))
            n = self.between(1, min(max(1, most // m), 60_000))
        else:
            most = max(most, 200_000)
            thin = int(self.rng.integers(1, plan.T + 2))
            strip = plan.T * plan.alpha
            long = self.between(strip, min(40_000, MOST_STRIPS * strip, most // thin))
            m, n = (long, thin) if kind == "thin-target" else (thin, long)
        if m * n > most:
            m, n = (max(1, most // n), n) if self.often(0.5) else (m, max(1, most // m))
        return m, n, kind

    def long_rows(self) -> tuple[int, int, str]:
        """Sizes with several turns of 11 bits a strip; see `shape`."""
        n = self.between(200, 6000)
        m = self.between(20, min(2500, self.pick([REFERENCE_CELLS, 3_000_000]) // n))
        return m, n, "long rows"

    def edge(self, plan: Plan, rows: bool) -> int:
        """A number at or beside one at which something begins or ends."""
        T, alpha, chunk = plan.T, plan.alpha, plan.chunk
        near = [1, 2, T // 2, T, 2 * T, T + chunk, chunk, 2 * chunk, 3 * chunk]
        near += [2 * plan.B * T] if 2 * plan.B * T < 6000 else []
        if rows:
            strip = T * self.pick([alpha, alpha, 2, 4, 8])
            near += [alpha, strip, strip, 2 * strip, int(self.rng.integers(1, 9)) * strip]
        return max(1, int(self.pick(near)) + self.pick([-1, 0, 0, 1]))

    def named_sizes(self, m: int, n: int, plan: Plan) -> list[str]:
        """The features of a size."""
        strip = plan.T * plan.alpha
        named = {
            "size m = 1": m == 1,
            "size n = 1": n == 1,
            "size n < T": n < plan.T,
            "size m < T": m < plan.T,
            "size n < T, many strips": n < plan.T and m > 4 * strip,
            "size n near T": abs(n - plan.T) <= 1,
            "size n near 2BT": abs(n - 2 * plan.B * plan.T) <= 1,
            "size n near a block": min(n % plan.chunk, -n % plan.chunk) <= 1,
            "size m near a strip": min(m % strip, -m % strip) <= 1,
            "size above 400,000 cells": m * n > REFERENCE_CELLS,
        }
        return [name for name, holds in named.items() if holds]

    # --- letters ---------------------------------------------------------------------------------

    def letters(self, m: int, n: int, alphabet: str) -> tuple[str, str, str]:
        """What they are, and the letters of the query and the target."""
        size = len(alphabet)
        content = self.pick(
            "random few repeat runs related related identical gap pieces rotated never".split()
        )
        few = self.rng.integers(0, min(size, 2), m)
        a = self.rng.integers(0, size, m)
        if content == "few":
            a, b = few, self.rng.integers(0, min(size, 2), n)
        elif content == "repeat":
            unit = self.rng.integers(0, size, int(self.rng.integers(1, 8)))
            a, b = np.resize(unit, m), np.resize(unit[::-1] if self.often(0.2) else unit, n)
        elif content == "runs":
            a = np.repeat(a, self.rng.integers(1, 12, m))[:m]
            b = self.changed(np.resize(a, n), size)
        elif content == "random":
            b = self.rng.integers(0, size, n)
        elif content == "identical":
            b = np.resize(a, n)
        elif content == "never":
            a, b = np.zeros(m, int), np.full(n, size - 1)
        elif content == "rotated":
            b = self.changed(np.roll(np.resize(a, n), n // 3), size)
        elif content == "gap":
            cut = int(self.rng.integers(0, m))
            b = np.resize(np.concatenate([a[:cut], a[cut + m // 3 :], a[:1]]), n)
        elif content == "pieces":
            b = self.pieces(a, n)
        else:
            b = self.changed(np.resize(a, n), size)
        table = np.frombuffer(alphabet.encode(), np.uint8)
        texts = [table[codes].tobytes().decode() for codes in (a, b)]
        if self.often(0.1):
            side = int(self.rng.integers(2))
            texts[side] = texts[side].lower()
        return content, texts[0], texts[1]

    def changed(self, codes: Letters, size: int) -> Letters:
        """A relative: some letters are others, some are missing, as many are new at the end."""
        share = self.pick([0.005, 0.05, 0.2])
        other = self.rng.random(len(codes)) < share
        codes = np.where(other, self.rng.integers(0, size, len(codes)), codes)
        kept = codes[self.rng.random(len(codes)) > share / 2]
        return np.resize(kept if len(kept) else codes, len(codes))

    def pieces(self, a: Letters, n: int) -> Letters:
        """Short pieces of the query, far apart there: gaps that cross many strips, many of them as
        good in another place."""
        parts: list[Letters] = []
        starts = np.sort(self.rng.integers(0, len(a), max(1, n // 4)))
        while sum(map(len, parts)) < n:
            start = int(starts[len(parts) % len(starts)])
            parts.append(a[start : start + int(self.rng.integers(1, 9))])
        return np.concatenate(parts)[:n]

    # --- scorings, modes, options ----------------------------------------------------------------

    def scoring(self, positions: bool) -> tuple[str, dict[str, Any], str]:
        """Its feature, the options that say it, and its letters; of ``positions``, too?"""
        opening, extension = int(self.rng.integers(0, 20)), int(self.rng.integers(0, 6))
        gap: Any = extension if self.often(0.2) else [opening, extension]
        kind = self.pick(
            "simple simple simple simple odd matrix wide named large ambiguous half".split()
            + ["positions"] * positions
        )
        match, mismatch = int(self.rng.integers(1, 8)), -int(self.rng.integers(0, 8))
        letters, sub_score = DNA[: self.pick([2, 3, 4, 4, 4])], [match, mismatch]
        if kind == "odd":  # nothing gains, or everything does
            sub_score = [
                match := int(self.rng.integers(-2, 4)),
                int(self.rng.integers(-3, match + 1)),
            ]
        elif kind in ("matrix", "wide"):
            letters = RESIDUES[: self.pick([3, 4, 5, 8, 20])]
            if kind == "wide":
                letters = STAND_INS[: self.pick([25, 32, 33, 40, 64])]
            matrix = self.rng.integers(-6, 5, (len(letters), len(letters)))
            np.fill_diagonal(matrix, self.rng.integers(1, 9, len(letters)))
            sub_score = {"matrix": matrix.tolist(), "letters": letters}
        elif kind == "positions":
            letters = RESIDUES[: self.pick([2, 4, 20])]
            rows = self.rng.integers(-6, 7, (self.pick([1, 3, 40, 400]), len(letters)))
            sub_score = {"positions": rows.tolist(), "letters": letters}
        elif kind == "named":
            letters, sub_score = RESIDUES, self.pick(["BLOSUM62", "PAM250", "BLOSUM50"])
        elif kind == "large":  # more than 16 bits hold
            sub_score = [match * 1000, mismatch * 1000]
            gap = [opening * 1000, extension * 1000]
        elif kind == "ambiguous":
            letters = AMBIGUOUS
        elif kind == "half":
            letters, sub_score, gap = RESIDUES, "BLOSUM62", [9.5, 0.5]
        options: dict[str, Any] = {"sub_score": sub_score, "gap_cost": gap}
        if kind == "odd":
            options["allow_odd_scoring"] = True
        if kind in ("named", "half"):  # letters that the matrix lacks, and any other
            letters += "UOJ" * int(self.often(0.5))
            if self.often(0.3):
                options["unknown"], letters = "X", letters + "1?"
        if kind == "ambiguous":
            options |= {"wildcard": "N"} if self.often(0.5) else {}
            options |= {"iupac": "match"} if self.often(0.5) else {}
            kind += ", sets" * ("iupac" in options)
        return f"scoring {kind}", options, letters

    def small(self) -> dict[str, Any]:
        """Scores of 11 bits, some so high that short pairs need more."""
        while True:
            match, mismatch = self.between(1, 127), -self.between(1, 128) + 1
            gap = [self.between(1, 100) - 1, self.between(1, 40)]
            scoring = make_scoring((match, mismatch), gap)
            if scoring.bounds.mixed:
                return {"sub_score": [match, mismatch], "gap_cost": gap}

    def modes(self, case: Case) -> Case:
        """Mode, free ends, output, what may be skipped."""
        if case.entry in ("top", "ends"):
            return case
        options, features = dict(case.options), list(case.features)
        options["mode"] = mode = self.pick(["local", "global", "global"])
        features.append(f"mode {mode}")
        if mode == "global" and self.often(0.5):
            free = [self.often(0.5) for _ in range(self.pick([2, 4]))]
            options["free_ends"] = True if self.often(0.15) else free
            features.append("free ends")
        outputs = ["path", "path", "path", "ends", "score"]
        options["output"] = self.pick([*outputs, "matches"] if case.entry == "many" else outputs)
        features.append(f"output {options['output']}")
        ended = mode == "local" or any(_four(options.get("free_ends", False))[1::2])
        found = case.entry in ("align", "many") and options["output"] == "path"
        if found and ended and self.often(0.2):
            options["second_best"] = True
            features.append("second best")
        if case.entry != "many":
            if self.often(0.3):
                options["prune"] = False
                features.append("no pruning")
            if mode == "global" and self.often(0.5):
                options["max_cost"] = self.pick([None, 0, 20, 1000])
                features.append("max_cost none" if options["max_cost"] is None else "max_cost")
        return replace(case, options=options, features=features)

    def many(self, case: Case, plan: Plan, letters: str) -> Case:
        """Pairs of sizes that differ, some of them much larger."""
        pairs, longest = [], self.pick([12, 60, 200])
        for _ in range(self.between(1, 120)):
            m, n = (int(v) for v in self.rng.integers(1, longest + 1, 2))
            if self.often(0.02):
                m *= 8
            pairs.append(list(self.letters(m, n, letters)[1:]))
        case = replace(case, pairs=pairs)
        if LANE_SETS[self.runtime.info.lanes].narrow and self.often(0.3):
            case = replace(self.lowered(case, "pairs as tiles"), traits={"speculative": True})
        elif self.often(0.4):
            case = self.lowered(case, "batch")
        self.strands(case)
        return case

    def cuts(self, case: Case, m: int, n: int) -> Case:
        """Small tiles, lowered limits."""
        plan = dict(case.plan)
        if self.often(0.35):
            plan["tile_cells"] = self.pick([max(64, m * n // 10), 1 << 14, 1 << 17])
            case.features.append("small tiles")
        if self.often(0.35):
            plan["traceback_tile_cells"] = self.pick([256, 4096, 1 << 16])
            case.features.append("small tiles with moves")
        case = replace(case, plan=plan)
        if self.often(0.3):
            few = max(m, n) < 4000  # of the smallest tiles
            case = self.lowered(case, self.pick(["grid", "band", *(["tall tiles"] * few)]))
        if self.often(0.4 if max(m, n) > 4 * min(m, n) else 0.2):
            case = self.lowered(case, "sections")
        lanes = self.runtime.info.lanes
        if LANE_SETS[lanes].narrow and m > 200 and n > 200 and self.often(0.4):
            case = replace(self.lowered(case, "ahead"), traits={"speculative": True})
        return case

    def lowered(self, case: Case, name: str) -> Case:
        """With these limits lowered, too."""
        case.features.append(f"limits {name}")
        return replace(case, tuning={**case.tuning, **self.pick(LOWERED[name])})

    def ranges(self, case: Case, m: int, n: int) -> None:
        """Parts of both sequences."""
        if self.often(0.15) and case.positions is None:
            for name, length in (("query_range", m), ("target_range", n)):
                start = int(self.rng.integers(0, length))
                case.options[name] = [start, int(self.rng.integers(start + 1, length + 1))]
            case.features.append("ranges")

    def strands(self, case: Case) -> None:
        """The reverse complement of the query, or both."""
        nucleotides = isinstance(case.options["sub_score"], list)
        if nucleotides and self.often(0.25):
            case.options["strand"] = self.pick(["minus", "both", "both"])
            case.features.append(f"strand {case.options['strand']}")

    def best_ones(self, case: Case) -> None:
        """How many alignments that share no pair."""
        case.options["k"] = int(self.rng.integers(1, 6))
        if self.often(0.3):
            case.options["min_score"] = int(self.rng.integers(1, 20))
        if self.often(0.2):
            case.options["output"] = self.pick(["ends", "score"])

    def best_cells(self, case: Case) -> Case:
        """How many cells, and how far apart."""
        case.options["k"] = self.pick([1, 3, 20, 200, 2000])
        if self.often(0.5):
            case.options["min_separation"] = self.pick([1, 2, 10, 100])
        if self.often(0.3):
            case.options["min_score"] = int(self.rng.integers(1, 20))
        for name, value in (("ends", "matches"), ("apart_in", "both")):
            if self.often(0.3):
                case.options[name] = value
        return self.lowered(case, "boxes") if self.often(0.6) else case

    def stopped(self, case: Case) -> Case:
        """Saved runs: limits that make many rows, and where each is ended."""
        case = self.lowered(case, "pace")
        chained = self.often(0.3) and bool(LANE_SETS[self.runtime.info.lanes].narrow)
        if chained:
            tuning = {**case.tuning, "pipeline.least_cells": 0}
            case = replace(case, tuning=tuning, traits={"speculative": True})
            case.features.append("limits chain")
        case.options["disk_size"] = 60_000 + 40 * len(case.pairs[0][1]) * self.pick([1, 4, 20])
        stops = []
        for _ in range(int(self.rng.integers(0, 4))):
            plan = self.pick(self.plans[self.pick(list(self.plans))])
            stops.append([int(self.rng.integers(1, 12)), plan])
        case.features.append("resumed" if stops else "saved at once")
        return replace(case, stops=stops)


def _four(value: bool | list[bool]) -> list[bool]:
    """The four free ends."""
    given = value if isinstance(value, list) else [value] * 4
    return given if len(given) == 4 else [given[0]] * 2 + [given[1]] * 2


def plans_of(runtime: Runtime) -> dict[str, list[dict[str, Any]]]:
    """Plans by kind.  Few values of what kernels are built for, since each takes seconds."""
    lanes, chunks = runtime.info.lanes, (1, 5, 7, 20, 64, 1024)
    groups = (1, 2, 3, 7)
    plans: dict[str, list[dict[str, Any]]] = {"default": [{}, {}, {"B": 2}]}
    if lanes == "vector":
        for name in ("vector", "vector32"):
            for form in ("ticketed", "two-phase"):
                small = {"lanes": name, "T": 4, "alpha": 2, "form": form}
                plans[f"{name} {form}"] = [
                    {**small, "B": B, "chunk": chunk} for B in groups for chunk in chunks
                ]
        plans["wider"] = [{"T": 16, "alpha": 3, "chunk": 40, "B": B} for B in groups]
    for form in ("ticketed", "two-phase"):
        plans[f"packed {form}"] = [
            {"lanes": "packed", "alpha": alpha, "form": form, "B": B, "chunk": chunk}
            for alpha in (1, 4, 25)
            for B in (1, 5, 528, 1584)
            for chunk in (17, 64, 128)
        ]
    whole = {"sections.least_cells": 1 << 60}  # sections have no 11 bits
    plans["mixed"] = [
        {"lanes": "mixed", "alpha": alpha, "B": B, "chunk": chunk, **whole}
        for alpha, B, chunk in ((4, 5, 64), (4, 528, 64), (25, 1584, 128))
    ]
    plans["warp32"] = [
        {"lanes": "warp32", "alpha": alpha, "form": form, "chunk": chunk}
        for alpha in (4, 9)
        for form in ("ticketed", "two-phase")
        for chunk in (32, 300)
    ]
    plans["scalar32"] = [
        {"lanes": "scalar32", "T": T, "alpha": alpha, "form": form, "B": 3}
        for T, alpha in ((4, 2), (16, 2), (32, 3))
        for form in ("ticketed", "two-phase")
    ]
    wide = {"vector": ["vector32"], "packed": ["warp32"]}.get(lanes, [])
    plans["rowscan"] = [{"engine": "rowscan"}, {"engine": "rowscan", "B": 3}]
    plans["rowscan short"] = [
        {"engine": "rowscan", "lanes": name, "alpha": alpha, "B": B, "chunk": chunk}
        for name in (*wide, "scalar32")
        for alpha in (1, 3)
        for B in (2, 7, 40)
        for chunk in (1, 5)
    ]
    launches = {"engine": "rowscan", "form": "three-launch"}
    plans["rowscan three launches"] = [
        {**launches, **shape} for shape in ({}, {"T": 4, "alpha": 2}, {"T": 16, "alpha": 1})
    ]
    return {name: good for name, some in plans.items() if (good := _possible(runtime, some))}


def _possible(runtime: Runtime, plans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that the device can run."""

    def runs(plan: dict[str, Any]) -> bool:
        try:
            plan_on(runtime, plan)
        except PlanError:
            return False
        return True

    return [plan for plan in plans if runs(plan)]
