#!/usr/bin/env python3
"""One pair on clusters of 1, 2, 4, ... 512 machines with a GPU each, simulated: strong and weak
scaling, from measured parts.

    python bench/scaling.py [--device NAME] [--network SPEED,LATENCY] [--plot FILE] [--json FILE]

What a device takes for a tile is from its profile; it need not be there.  Which tiles there are,
and what edges, the scheduler and the frontier take: `pysw_cl.planning.model.several`.  Exit code 1
where a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cases import Row, pysw_cl, write_report

from pysw_cl.opencl.several import meant

HOW: dict[str, Any] = {"output": "ends", "prune": False, "gap_cost": (3, 2)}
COUNTS = [1 << k for k in range(10)]
#: Chromosome 1 of two species; the sides of a pair whose cells are those of one device.
CHROMOSOME, SIDE = (249_000_000, 228_000_000), 30_000_000
#: Kind, devices -> the least efficiency, and the one that is wished for.
BARS = {
    ("chromosome 1", 16): (0.92, 0.95),
    ("chromosome 1", 64): (0.80, 0.88),
    ("weak", 512): (0.80, 0.90),
}
#: TCUPS of MultiBP on 512 V100, chromosome 1, pruned cells counted (TPDS 2021).
MULTIBP = 82.8
#: Published: devices -> what is said of them (Khajeh-Saeed & Perot 2011, figures 13.8 and 13.9).
PUBLISHED = {
    ("thin", 120): "120 GPUs are 95 times one",
    ("thin, weak", 1): "270 ms",
    ("thin, weak", 120): "350 ms",
}


def pairs() -> Iterator[tuple[str, int, int, int]]:
    """Kind, devices, rows, columns; 120 devices are those that were published."""
    for devices in COUNTS:
        yield "chromosome 1", devices, *CHROMOSOME
    for devices in COUNTS:
        side = round(SIDE * devices**0.5)
        yield "weak", devices, side, side
    for devices in sorted([*COUNTS[:8], 120]):
        yield "thin", devices, 128, 16_000_000
    for devices in sorted([*COUNTS[:8], 120]):
        yield "thin, weak", devices, 128, 2_000_000 * devices


def rows_of(args: argparse.Namespace) -> Iterator[Row]:
    alone = dict[str, float]()
    for kind, devices, m, n in pairs():
        if devices > args.most or not kind.startswith(args.only):
            continue
        name = f"{devices}x{args.device}"
        said = pysw_cl.predict(m, n, device=name, network=args.network, **HOW)
        alone.setdefault(kind, said.seconds)
        least, wished = BARS.get((kind, devices), (0.0, 0.0))
        words = f"{said.efficiency:.1%}" + ", one computes it" * (devices > 1 and not said.shares)
        if least:
            words += f", bar {least:.0%}, wished {wished:.0%}"
            words += " missed" * (said.efficiency < least)
        yield {
            "case": kind,
            "devices": devices,
            "rows": m,
            "columns": n,
            "seconds": said.seconds,
            "efficiency": said.efficiency,
            "tcups": said.gcups / 1e3,
            "times": alone[kind] / said.seconds,
            "limit": said.limit if devices > 1 else "",
            "shares": {part: round(seconds, 4) for part, seconds in said.shares.items()},
            "published": PUBLISHED.get((kind, devices), ""),
            "verified": words,
        }


def draw(path: str, rows: list[Row]) -> None:
    """Efficiency over devices, and what the seconds of the pair of chromosomes go to."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4))
    for kind in ("chromosome 1", "weak"):
        own = [row for row in rows if row["case"] == kind]
        counts = [row["devices"] for row in own]
        left.plot(counts, [row["efficiency"] for row in own], "o-", label=kind)
    for (kind, devices), (least, _) in BARS.items():
        left.plot(devices, least, "k_", markersize=14, label=f"bar: {kind}, {devices}")
    left.set(xscale="log", xlabel="devices", ylabel="efficiency, simulated", ylim=(0, 1.05))
    left.legend(fontsize=8)
    own = [row for row in rows if row["case"] == "chromosome 1" and row["shares"]]
    parts = [*dict.fromkeys(part for row in own for part in row["shares"])]
    below = [0.0] * len(own)
    for part in parts:
        heights = [max(0.0, row["shares"][part]) / sum(row["shares"].values()) for row in own]
        right.bar([str(row["devices"]) for row in own], heights, bottom=below, label=part)
        below = [a + b for a, b in zip(below, heights, strict=True)]
    right.set(xlabel="devices", ylabel="share of the seconds, chromosome 1")
    right.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="NVIDIA H200")
    parser.add_argument("--network", default="10Gbit,20us")
    parser.add_argument("--most", type=int, default=512, help="devices")
    parser.add_argument("--only", default="", help="kinds that begin like this")
    parser.add_argument("--plot", help="draw into a file (needs matplotlib)")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    for row in rows_of(args):
        parts = ", ".join(f"{part} {seconds:.3g}" for part, seconds in row["shares"].items())
        print(
            f"{row['case']:13}{row['devices']:5}{row['rows']:12,} x {row['columns']:11,}"
            f"{row['seconds']:12.4g} s{row['tcups']:9.4g} TCUPS{row['times']:8.1f} times  "
            f"{row['verified']}  {row['limit']} ({parts}) {row['published']}"
        )
        rows.append(row)
        sys.stdout.flush()
    strong = [row for row in rows if row["case"] == "chromosome 1"]
    passed = [row["devices"] for row in strong if row["tcups"] > MULTIBP]
    if strong:
        first = min(passed, default=None)
        print(f"{MULTIBP} TCUPS (MultiBP, 512 V100) are passed from {first} devices on")
    if args.plot:
        draw(args.plot, rows)
    if args.json is not None:
        info = meant(args.device)[0].info
        write_report(args.json, info, rows, network=args.network, simulated=True)
    return int(any("missed" in row["verified"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
