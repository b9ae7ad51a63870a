"""The page of an evaluation, as a browser shows it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from prd_edge.course import Course
from prd_edge.evaluate import Evaluation, Mistake
from prd_edge.page.page import evaluation_page

from .test_exported_page import save

OVERLAPPING = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
    const texts = [...svg.querySelectorAll("text")].map((text) => {
        const box = text.getBoundingClientRect();
        return { name: text.textContent, box };
    });
    const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1
        || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;  // ascent and descent have room
    return texts.flatMap((one, i) => texts.slice(i + 1)
        .filter((other) => !apart(one.box, other.box)).map((other) => [one.name, other.name]));
})"""
CUT_OFF = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
        const box = text.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1
            || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    }).map((text) => text.textContent);
})"""


def made_up(classes: int, version: str = "000003") -> Evaluation:
    random = np.random.default_rng(classes)
    labels = tuple(f"Class-{i:03d}-" + "with-a-long-name-WW"[: i % 20] for i in range(classes))
    confusion: Counter[tuple[str, str | None]] = Counter()
    for label in (*labels, "<b>stranger</b>"):
        for _ in range(8):
            answer = label if random.random() < 0.8 else str(random.choice(labels))
            known = answer in labels and random.random() < 0.95
            confusion[label, answer if known else None] += 1
    known = 8 * classes
    return Evaluation(
        version=version,
        taught=labels,
        confusion=confusion,
        confidences=random.uniform(0.1, 1, known).astype(np.float32),
        is_right=random.random(known) < 0.8,
        likeness=random.random(known),
        strangers_likeness=random.random(8),
        withheld=3,
        mistakes=(Mistake(0.9, "<script>alert(1)</script>.jpg", labels[0], labels[-1]),),
        milliseconds=12.3,
        images_per_second=45.6,
        skipped=(),
    )


def page_of(classes: int, versions: int = 12) -> str:
    last = made_up(classes)
    step = max(1, classes // versions)
    earlier = [
        replace(last, version=f"{i:06d}", taught=last.taught[: step * i])
        for i in range(1, versions)
    ]
    random = np.random.default_rng(0)
    prototypes = {label: random.normal(size=8) for label in last.taught}
    former = {label: own + 0.1 for label, own in prototypes.items()}
    return evaluation_page(
        replace(last, version=f"{versions:06d}"),
        data="./a & b",
        course=Course((*earlier, replace(last, version=f"{versions:06d}"))),
        prototypes=prototypes,
        former=former,
    )


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("classes", [2, 13, 81])
def test_names_are_readable_and_nothing_is_too_wide(page: Page, classes: int, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.set_content(page_of(classes))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT_OFF) == []
    if width == 1280:  # on a phone plots are smaller, and so is their text
        assert page.evaluate(OVERLAPPING) == []
    save(f"evaluation-{classes}-{width}", page)


def test_names_and_files_are_text(page: Page) -> None:
    page.set_content(page_of(5))
    text = page.inner_text("body")
    assert "<script>alert(1)</script>.jpg" in text
    assert "<b>stranger</b>" in text
    assert "./a & b" in text
    assert page.locator("script").count() == 0


def test_it_needs_nothing_but_itself() -> None:
    text = page_of(5)
    assert "http" not in text
    assert "src=" not in text
    assert "@import" not in text


def test_it_prints_on_paper(page: Page, tmp_path: Path) -> None:
    page.set_content(page_of(13))
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_one_version_has_no_course(page: Page) -> None:
    page.set_content(evaluation_page(made_up(3), data="x"))
    assert "From version to version" not in page.inner_text("body")
    assert page.locator("svg").count() == 2  # the matrix and the curve; no map without prototypes
