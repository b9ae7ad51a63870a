"""The exported page in a real browser gives the runtime's answers."""

from __future__ import annotations

import base64
import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from prd_edge import Runtime, StoreConfig
from tests.conftest import COLOURS, needs_web_runtime, picture

SCREENSHOTS = os.environ.get("PRD_EDGE_SCREENSHOTS")  # a folder, to look at them
NAMES = {"blue": "<i>blue", "green": "Grün & gut", "red": "red"}  # must come out as they are


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    needs_web_runtime()
    folder = tmp_path_factory.mktemp("web")
    made = Runtime.open(folder / "store", config=StoreConfig(image_size=64), threads=1)
    pairs = [
        (picture(colour, 100 * row + seed), NAMES[label])
        for row, (label, colour) in enumerate(COLOURS.items())
        for seed in range(8)
    ]
    made.learn_session(pairs, mode="imprint")
    return made


@pytest.fixture(scope="module")
def folder(runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("page") / "page"
    runtime.export(target, format="web")
    return target


@pytest.fixture
def opened(page: Page, folder: Path, serve: Callable[[Path], str]) -> Page:
    page.goto(serve(folder))
    page.wait_for_selector("body[data-ready]")
    return page


def save(name: str, page: Page) -> None:
    if SCREENSHOTS:
        page.screenshot(path=f"{SCREENSHOTS}/{name}.png", full_page=True)


def chosen(page: Page, path: Path, number: int) -> None:
    page.set_input_files("#file", str(path))
    page.wait_for_selector(f'body[data-answered="{number}"]')


def answered(page: Page) -> int:
    return int(page.get_attribute("body", "data-answered") or 0)


def wait_for_more_than(page: Page, count: int) -> None:
    for _ in range(600):  # the page's own rules forbid playwright to wait by evaluating text
        if answered(page) > count:
            return
        page.wait_for_timeout(50)
    pytest.fail(f"no more than {answered(page)} pictures were answered")


def compare(page: Page, runtime: Runtime, source: object) -> float:
    """The largest difference of a confidence; the answers must be the same."""
    expected = runtime.predict(source, top_k=5)
    shown = page.eval_on_selector_all(
        "#bars li", "rows => rows.map(row => [row.dataset.label, Number(row.dataset.confidence)])"
    )
    assert page.inner_text("#answer") == (expected.label or "unknown")
    assert [label for label, _ in shown] == [ranked.label for ranked in expected.top_k]
    return max(
        abs(confidence - ranked.confidence)
        for (_, confidence), ranked in zip(shown, expected.top_k, strict=True)
    )


def kinds(folder: Path) -> Iterator[Path]:
    """A picture each browser and Pillow read alike, in many guises."""
    pixels = picture(COLOURS["green"], 7, (90, 60))
    plain = Image.fromarray(pixels)
    grey = plain.convert("L")
    see_through = plain.convert("RGBA")
    see_through.putalpha(Image.fromarray((np.indices((90, 60))[0] * 2).astype(np.uint8)))
    turned = Image.Exif()
    turned[0x0112] = 6
    for name, image, options in (
        ("plain.png", plain, {}),
        ("photo.jpg", plain, {"quality": 90}),
        ("turned.jpg", plain, {"quality": 90, "exif": turned}),
        ("grey.png", grey, {}),
        ("see-through.png", see_through, {}),
        ("lossless.webp", plain, {"lossless": True}),
        ("large.jpg", plain.resize((2400, 3600)), {}),
        ("strip.png", plain.resize((400, 9)), {}),
    ):
        image.save(folder / name, **options)
        yield folder / name


def test_every_kind_of_picture(opened: Page, runtime: Runtime, tmp_path: Path) -> None:
    for number, path in enumerate(kinds(tmp_path), start=1):
        chosen(opened, path, number)
        # Half-transparent pixels are rounded differently.
        assert compare(opened, runtime, path) < (5e-3 if "see" in path.name else 1e-4), path.name


def test_names_are_text_and_the_page_says_what_it_knows(
    opened: Page, runtime: Runtime, tmp_path: Path
) -> None:
    assert opened.inner_text("#about") == f"It knows 3 classes, as of version {runtime.version}."
    save("empty", opened)
    path = tmp_path / "blue.png"
    Image.fromarray(picture(COLOURS["blue"], 5)).save(path)
    chosen(opened, path, 1)
    assert opened.inner_text("#answer") == "<i>blue"
    assert "ms" in opened.inner_text("#time")


def test_the_unknown_is_shown_as_unknown(opened: Page, runtime: Runtime, tmp_path: Path) -> None:
    path = tmp_path / "noise.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 80, 3), np.uint8)).save(path)
    assert runtime.predict(path).unknown
    chosen(opened, path, 1)
    assert opened.inner_text("#answer") == "unknown"
    assert "nothing it was taught" in opened.inner_text("#why")
    save("unknown", opened)


GIVE = """([kind, data]) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const files = new DataTransfer();
    files.items.add(new File([bytes], "given.png", { type: "image/png" }));
    const detail = kind === "paste" ? { clipboardData: files } : { dataTransfer: files };
    const Event = kind === "paste" ? ClipboardEvent : DragEvent;
    document.dispatchEvent(new Event(kind, { bubbles: true, cancelable: true, ...detail }));
}"""


@pytest.mark.parametrize("kind", ["drop", "paste"])
def test_pictures_dropped_and_pasted(opened: Page, runtime: Runtime, kind: str) -> None:
    pixels = picture(COLOURS["red"], 3)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG")
    opened.evaluate(GIVE, [kind, base64.b64encode(data.getvalue()).decode()])
    opened.wait_for_selector('body[data-answered="1"]')
    assert compare(opened, runtime, pixels) < 1e-4


def test_what_is_no_picture_is_said(opened: Page, tmp_path: Path) -> None:
    (tmp_path / "letter.jpg").write_text("dear")
    opened.set_input_files("#file", str(tmp_path / "letter.jpg"))
    opened.wait_for_selector("#problem:not([hidden])")
    assert opened.inner_text("#problem") == "letter.jpg is no picture that this browser can read"
    good = tmp_path / "good.png"
    Image.fromarray(picture(COLOURS["red"], 3)).save(good)
    chosen(opened, good, 2)
    assert opened.is_hidden("#problem")


def test_the_camera_is_answered_until_it_is_stopped(opened: Page, tmp_path: Path) -> None:
    opened.click("#start")
    wait_for_more_than(opened, 1)
    assert opened.is_visible("#camera")
    opened.click("#stop")
    assert opened.is_hidden("#camera")
    asked = answered(opened)
    path = tmp_path / "after.png"
    Image.fromarray(picture(COLOURS["red"], 3)).save(path)
    opened.set_input_files("#file", str(path))
    wait_for_more_than(opened, asked)
    assert opened.inner_text("#answer") == "red"


@pytest.mark.parametrize("width", [390, 1100])
def test_nothing_is_wider_than_the_screen(opened: Page, tmp_path: Path, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    path = tmp_path / "wide.png"
    Image.fromarray(picture(COLOURS["green"], 3, (300, 2000))).save(path)
    chosen(opened, path, 1)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    save(f"wide-{width}", opened)


@pytest.mark.data
def test_real_photographs(
    page: Page, serve: Callable[[Path], str], data_sets: Path, tmp_path: Path
) -> None:
    needs_web_runtime()
    runtime = Runtime.open(tmp_path / "store", threads=2)
    taught = ("Banana", "Kiwi", "Garlic", "Cucumber", "Arla-Standard-Milk")
    pairs = [
        (path, label)
        for label in taught
        for path in sorted((data_sets / "grocery/train" / label).glob("*.jpg"))[:12]
    ]
    runtime.learn_session(pairs, mode="imprint")
    runtime.export(tmp_path / "page", format="web")
    page.goto(serve(tmp_path / "page"))
    page.wait_for_selector("body[data-ready]")
    asked = [
        path
        for label in (*taught, "Mango")
        for path in sorted((data_sets / "grocery/test" / label).glob("*.jpg"))[:4]
    ]
    for number, path in enumerate(asked, start=1):
        chosen(page, path, number)
        assert compare(page, runtime, path) < 1e-4, path.name
        if number == 1:
            save("photograph", page)


def test_the_picture_given_last_is_the_one_shown(opened: Page, tmp_path: Path) -> None:
    large, small = tmp_path / "large.png", tmp_path / "small.png"
    Image.fromarray(picture(COLOURS["green"], 3, (3000, 3000))).save(large)
    Image.fromarray(picture(COLOURS["red"], 3)).save(small)
    opened.set_input_files("#file", str(large))
    opened.set_input_files("#file", str(small))
    opened.wait_for_selector('body[data-answered="2"]')
    opened.wait_for_timeout(1000)  # the first has had its time as well
    assert opened.inner_text("#answer") == "red"
    assert opened.get_attribute("#picture", "width") == "48"


def test_the_answer_to_the_picture_before_is_taken_away(opened: Page, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    Image.fromarray(picture(COLOURS["red"], 3)).save(good)
    bad.write_text("dear")
    chosen(opened, good, 1)
    assert opened.is_visible("#result")
    opened.set_input_files("#file", str(bad))
    opened.wait_for_selector("#problem:not([hidden])")
    assert opened.is_hidden("#result")


def test_no_camera_is_left_running(opened: Page) -> None:
    opened.evaluate("""() => {
        const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        window.tracks = [];
        navigator.mediaDevices.getUserMedia = async (wanted) => {
            const stream = await open(wanted);
            window.tracks.push(...stream.getTracks());
            return stream;
        };
        const start = document.getElementById("start");
        start.click();
        start.click();
    }""")
    wait_for_more_than(opened, 0)
    opened.click("#stop")
    assert opened.evaluate("window.tracks.map((track) => track.readyState)") == ["ended"]


def test_without_a_server_it_says_what_it_needs(browser: Browser, folder: Path) -> None:
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri())
    assert "It needs a web server" in page.inner_text("#about")
    page.close()


def test_a_model_that_is_missing_is_said(
    page: Page, folder: Path, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "model.onnx").unlink()
    page.goto(serve(copy))
    page.wait_for_selector("#problem:not([hidden])")
    assert "model.onnx gave 404" in page.inner_text("#problem")
