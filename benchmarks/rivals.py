"""prd-edge against what one would pick instead, learning in sessions on the same encoder.

    .venv/bin/python benchmarks/rivals.py [--streams grocery …] [--methods …] [--seeds 0 1 2]
    .venv/bin/python benchmarks/rivals.py --ablation

Every method learns the same pictures in the same sessions from the same EfficientNet-Lite0 and, if
it trains, the same stages of it: rivals on 2400 pictures in the first session, each counted as
often as it is seen, and on 900 in later ones, since more makes them forget more; joint training on
12,000. Frozen rivals get the encoder's output as it is usually computed; those that train see
random views and are asked with both of prd-edge's looks. The features of frozen stages are computed
once and kept in --work, finished runs too, so that a killed command goes on where it stopped. Last
accuracy is on all test pictures; the curve, the average and the forgetting on about four hundred of
them after each session. Writes tables.md, one plot a stream, and the runs as JSON. The data sets
are found in PRD_EDGE_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from incremental.data import prepare
from incremental.jobs import RivalJob
from incremental.loop import finish_all
from incremental.methods import ABLATION, METHODS, RIVALS
from incremental.streams import STREAMS
from incremental.tables import accuracy_table, confidence_table, plot, table

ABLATED = ("grocery", "cifar-40")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", nargs="+", choices=STREAMS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD")
    parser.add_argument("--ablation", action="store_true", help="what each part adds")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="runs side by side")
    parser.add_argument("--tables", action="store_true", help="of finished runs; run nothing")
    parser.add_argument("--work", type=Path, default=Path("work/rivals"))
    options = parser.parse_args()
    streams = options.streams or (ABLATED if options.ablation else STREAMS)
    methods = options.methods or (ABLATION.values() if options.ablation else RIVALS)
    if not options.tables:
        for data in dict.fromkeys(STREAMS[stream].data for stream in streams):
            prepare(data, options.work)
        failed = finish_all(
            [
                RivalJob(stream, method, seed, options.work)
                for seed in options.seeds
                for stream in streams
                for method in methods
            ],
            options.workers,
        )
        if failed:
            sys.exit(f"{failed} runs failed; the same command tries them again")
    if options.ablation:
        rows = {title: method for title, method in ABLATION.items() if method in methods}
        text = accuracy_table(streams, rows, options.seeds, options.work)
    else:
        text = "\n\n".join(table(s, methods, options.seeds, options.work) for s in streams)
        text += "\n\n### Confidence\n\n"
        text += confidence_table(streams, methods, options.seeds, options.work)
        for stream in streams:
            plot(stream, methods, options.seeds, options.work)
    options.work.mkdir(parents=True, exist_ok=True)
    (options.work / ("ablation.md" if options.ablation else "tables.md")).write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
