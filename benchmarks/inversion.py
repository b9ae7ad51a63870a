"""An attempt to get pictures back from a prototype, by whoever has the store.

    .venv/bin/python benchmarks/inversion.py

A picture is painted by gradient descent until the encoder says of it what the prototype says, with
a liking for smooth pictures. Grocery, 128 px, prototypes of 1, 5 and 20 photographs. What was
painted is then compared, as a grey thumbnail, with the photographs learned and with others of the
same class: if it told what was learned, one of those would be the most alike. Chance is 50 %.
Writes a sheet to look at: a photograph that was learned, and what was painted from each prototype.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from incremental.data import grocery
from PIL import Image

from prd_edge.encoders.wheel_weights import read_wheel_weights
from prd_edge.images import decode
from prd_edge.learn.encoders import load_module
from prd_edge.preprocess import LOOKS, Preprocessor, build_onnx

PIXELS, THUMBNAIL = 128, 16
COUNTS = (1, 5, 20)
STEPS, RATE, SMOOTHNESS = 400, 0.05, 0.02


def looks_at(picture: torch.Tensor) -> torch.Tensor:
    """(1, 3, S, S) of 0 to 255 to (L, 3, S, S), as the preprocessing makes them."""
    made = []
    for look in LOOKS:
        side = PIXELS * look.eighths // LOOKS[0].eighths
        start = (PIXELS - side) // 2
        part = picture[:, :, start : start + side, start : start + side]
        part = F.interpolate(part, (PIXELS, PIXELS), mode="bicubic", align_corners=False)
        made.append(part.flip(3) if look.is_mirrored else part)
    return torch.cat(made)


def embedding(encoder: torch.nn.Module, pictures: torch.Tensor) -> torch.Tensor:
    """(L, 3, S, S) of 0 to 255 to (D,)."""
    return encoder(pictures.permute(0, 2, 3, 1)).mean(dim=0)


def painted(encoder: torch.nn.Module, prototype: torch.Tensor) -> tuple[np.ndarray, float]:
    """The picture (S, S, 3), and how near its embedding came (cosine)."""
    torch.manual_seed(0)
    canvas = (0.1 * torch.randn(1, 3, PIXELS, PIXELS)).requires_grad_()
    optimiser = torch.optim.Adam([canvas], lr=RATE)
    cosine = torch.zeros(())
    for _ in range(STEPS):
        optimiser.zero_grad()
        shown = torch.sigmoid(canvas)
        cosine = F.cosine_similarity(embedding(encoder, looks_at(255 * shown)), prototype, dim=0)
        rough = shown.diff(dim=2).abs().mean() + shown.diff(dim=3).abs().mean()
        (1 - cosine + SMOOTHNESS * rough).backward()
        optimiser.step()
    shown = (255 * torch.sigmoid(canvas.detach()))[0].permute(1, 2, 0)
    return shown.round().byte().numpy(), float(cosine.detach())


def alikeness(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of two pictures as grey thumbnails."""

    def thumbnail(picture: np.ndarray) -> np.ndarray:
        small = Image.fromarray(picture).convert("L").resize((THUMBNAIL, THUMBNAIL))
        return np.asarray(small, np.float64).ravel()

    return float(np.corrcoef(thumbnail(a), thumbnail(b))[0, 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--sheet", type=Path, default=Path("work/privacy/inversion.png"))
    options = parser.parse_args()
    encoder = load_module("efficientnet_lite0", read_wheel_weights()).requires_grad_(False)
    preprocess = Preprocessor(build_onnx(PIXELS))
    by_class: dict[str, list[np.ndarray]] = {}
    for path, label in grocery()[0]:
        by_class.setdefault(label, []).append(preprocess(decode(path)))  # (L, S, S, 3)
    # Every other photograph is learned: neighbours were taken in one series.
    large = sorted(by_class, key=lambda label: -len(by_class[label]))[: options.classes]
    cosines: dict[int, list[float]] = {count: [] for count in COUNTS}
    places: dict[int, list[float]] = {count: [] for count in COUNTS}
    rows = []
    for label in large:
        learned, strangers = by_class[label][::2], by_class[label][1::2]
        row = [learned[0][0]]
        for count in COUNTS:
            with torch.no_grad():
                of_each = [
                    embedding(encoder, torch.from_numpy(own).permute(0, 3, 1, 2))
                    for own in learned[:count]
                ]
            picture, cosine = painted(encoder, torch.stack(of_each).mean(dim=0))
            best = max(alikeness(picture, own[0]) for own in learned[:count])
            # Against as many strangers, drawn again and again.
            others = np.array([alikeness(picture, own[0]) for own in strangers])
            draws = np.random.default_rng(0).choice(others, (1000, min(count, len(others))))
            cosines[count].append(cosine)
            places[count].append(float((best > draws.max(axis=1)).mean()))
            row.append(picture)
        rows.append(np.concatenate(row, axis=1))
    options.sheet.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.concatenate(rows)).save(options.sheet)
    print("| images behind the prototype | cosine reached | a learned one is more alike |")
    print("|---|---|---|")
    for count in COUNTS:
        print(f"| {count} | {np.mean(cosines[count]):.3f} | {100 * np.mean(places[count]):.0f} % |")
    print(f"\n{len(large)} classes; wrote {options.sheet}")


if __name__ == "__main__":
    main()
