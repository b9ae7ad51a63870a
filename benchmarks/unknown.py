"""Does it know what it does not know? Half of the grocery classes are never taught.

    .venv/bin/python benchmarks/unknown.py [--mode imprint|prd] [--seeds 0 1 2]

The other half is learned in five sessions. Then every test photograph of all 81 classes is asked
about: how well likeness tells the known from the unknown (AUROC: the chance that a known one is
more like its answer), what the fitted radii do with both, and whether confidence is calibrated on
the known ones (expected calibration error, 15 bins). The data set is found in PRD_EDGE_DATA.
"""

from __future__ import annotations

import argparse
import random
import tempfile

import numpy as np
from accuracy import grocery, without_duplicates

from prd_edge import Runtime
from prd_edge.calibration import calibration_error

SESSIONS = 5


def auroc(known: np.ndarray, unknown: np.ndarray) -> float:
    """By ranks; ties count half."""
    values = np.concatenate([known, unknown])
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    of_known = ranks[: len(known)].sum() - len(known) * (len(known) + 1) / 2
    return float(of_known / (len(known) * len(unknown)))


def measure(mode: str, seed: int) -> dict[str, float]:
    train, test, _ = grocery()
    train = without_duplicates(train)
    labels = sorted({label for _, label in train})
    random.Random(seed).shuffle(labels)
    taught = labels[: len(labels) // 2]
    with tempfile.TemporaryDirectory() as scratch:
        runtime = Runtime.open(scratch + "/store")
        for session in range(SESSIONS):
            own = set(taught[session::SESSIONS])
            runtime.learn_session([pair for pair in train if pair[1] in own], mode=mode, seed=0)
        answers = list(runtime.predict_many(path for path, _ in test))
    is_known = np.array([label in taught for _, label in test])
    right = np.array(
        [a.top_k[0].label == label for a, (_, label) in zip(answers, test, strict=True)]
    )
    likeness = np.array([answer.likeness for answer in answers])
    called_unknown = np.array([answer.unknown for answer in answers])
    confidence = np.array([answer.confidence for answer in answers], np.float32)
    return {
        "accuracy among the known": right[is_known].mean(),
        "AUROC": auroc(likeness[is_known], likeness[~is_known]),
        "right answers withheld": called_unknown[is_known & right].mean(),
        "wrong answers withheld": called_unknown[is_known & ~right].mean(),
        "unknown called unknown": called_unknown[~is_known].mean(),
        "calibration error": calibration_error(confidence[is_known], right[is_known]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=["imprint", "prd"], default="imprint")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    runs = [measure(options.mode, seed) for seed in options.seeds]
    print(
        f"| grocery, half of the classes taught, {options.mode} | "
        + " | ".join(map(str, options.seeds)),
        "| mean |",
    )
    print("|---|" + "---|" * (len(runs) + 1))
    for name in runs[0]:
        values = [run[name] for run in runs]
        print(f"| {name} | " + " | ".join(f"{v:.3f}" for v in values), f"| {np.mean(values):.3f} |")


if __name__ == "__main__":
    main()
