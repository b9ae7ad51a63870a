"""Write the golden store of the schema of today, and what it answers.

    .venv/bin/python -m tests.golden.make

To be run once for every schema that is released, and its folder never to be changed again: it is
what a device in the field has on its disk.
"""

from __future__ import annotations

import json
from pathlib import Path

from prd_edge import Runtime
from prd_edge.manifest import SCHEMA
from tests import tiny_store
from tests.tiny_store import COLOURS, picture

GOLDEN = Path(__file__).parent
ASKED = {
    **{label: picture(colour, 5000) for label, colour in COLOURS.items()},
    "grey": picture((120, 120, 120), 5001),
    "orange": picture((230, 120, 20), 5002),
}


def answers(runtime: Runtime) -> dict[str, object]:
    found = {name: runtime.predict(image, top_k=9) for name, image in ASKED.items()}
    return {
        name: {
            "label": answer.label,
            "unknown": answer.unknown,
            "confidences": {own.label: own.confidence for own in answer.top_k},
        }
        for name, answer in found.items()
    }


def main() -> None:
    target = GOLDEN / f"schema-{SCHEMA}"
    if target.exists():
        raise SystemExit(f"{target} is there already; a golden store is never changed")
    runtime = tiny_store.teach(target / "store")
    runtime.feedback(picture(COLOURS["red"], 4000), not_label="red")
    runtime.rename("green", "grün")
    runtime.rollback()
    (target / "answers-4.json").write_text(json.dumps(answers(runtime), indent=1) + "\n")
    runtime.rollback("5")
    (target / "answers-5.json").write_text(json.dumps(answers(runtime), indent=1) + "\n")


if __name__ == "__main__":
    main()
