"""The web app in a real browser: show, learn, try, change, undo."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import onnx
import pytest
from app_server import AppServer
from playwright.sync_api import Locator, Page, expect

from prd_edge import Progress, Runtime
from prd_edge.demo_data import write_demo_data

SCREENSHOTS = os.environ.get("PRD_EDGE_SCREENSHOTS")  # a folder, to look at them


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures") / "demo"
    write_demo_data(folder, train_per_class=6, test_per_class=1)
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AppServer]:
    running = AppServer(Runtime.open(tmp_path / "store"), port=0)
    Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.close()


@pytest.fixture
def opened(page: Page, server: AppServer) -> Page:
    page.goto(server.address)
    page.wait_for_selector("body[data-ready]")
    return page


def save(name: str, page: Page) -> None:
    if SCREENSHOTS:
        page.screenshot(path=f"{SCREENSHOTS}/web-app-{name}.png", full_page=True)


def card(page: Page, number: int) -> Locator:
    return page.locator(".card").nth(number)


def show(page: Page, pictures: Path, *names: str) -> None:
    for number, name in enumerate(names):
        if page.locator(".card").count() <= number:
            page.click("#add")
        files = sorted((pictures / "session-1" / name).iterdir())
        card(page, number).locator(".name").fill(name)
        card(page, number).locator("input[type=file]").set_input_files(files)
        expect(card(page, number).locator(".shot")).to_have_count(len(files))


def learn(page: Page) -> None:
    page.click("#begin")
    expect(page.locator("#outcome")).to_be_visible()
    expect(page.locator("#begin")).to_have_text("Learn")


def look(page: Page, picture: Path) -> str:
    page.set_input_files("#file", picture)
    expect(page.locator("#result")).to_be_visible()
    return page.inner_text("#answer")


def known(page: Page) -> list[str]:
    return page.locator("#known .label").all_inner_texts()


def test_show_learn_try_and_undo(opened: Page, pictures: Path, server: AppServer) -> None:
    save("empty", opened)
    show(opened, pictures, "mug", "gear", "key")
    save("shown", opened)
    expect(opened.locator("#begin")).to_have_text("Learn 3 classes")
    learn(opened)
    assert "Learned gear, key, mug." in opened.inner_text("#outcome")
    assert opened.locator(".shot").count() == 0, "the pictures are gone"
    assert known(opened) == ["gear", "key", "mug"]

    picture = pictures / "test" / "mug" / "mug-000.jpg"
    assert look(opened, picture) == (server.rt.predict(picture).label or "unknown")
    save("learned", opened)
    opened.emulate_media(color_scheme="dark")
    save("dark", opened)
    opened.emulate_media(color_scheme="light")

    opened.click("#undo")
    expect(opened.locator("#nothing")).to_be_visible()
    assert server.rt.classes() == {}
    assert opened.locator("#try").get_attribute("inert") is not None


def test_the_camera_teaches_while_a_button_is_held_and_is_answered_live(
    opened: Page, pictures: Path
) -> None:
    show(opened, pictures, "mug")
    card(opened, 1).locator(".name").fill("what the camera sees")
    card(opened, 1).locator(".camera").click()
    record = card(opened, 1).locator(".record")
    expect(record).to_be_focused()
    opened.keyboard.down("Space")
    expect(card(opened, 1).locator(".shot").nth(7)).to_be_visible()
    save("recording", opened)
    opened.keyboard.up("Space")
    expect(record).to_have_text("Hold to record")
    count = card(opened, 1).locator(".shot").count()
    opened.wait_for_timeout(500)
    assert card(opened, 1).locator(".shot").count() == count, "it stops when the key is let go"
    record.hover()
    opened.mouse.down()
    expect(card(opened, 1).locator(".shot").nth(count + 1)).to_be_visible()
    opened.mouse.up()

    opened.check("#quick")
    learn(opened)
    assert known(opened) == ["mug", "what the camera sees"]
    opened.click("#watch")
    expect(opened.locator("#answer")).to_have_text("what the camera sees")
    expect(opened.locator("#speed")).to_contain_text("answers a second")
    save("live", opened)
    opened.click("#watch")
    expect(opened.locator("#live")).to_be_hidden()
    expect(opened.locator("#result")).to_be_hidden()


def test_classes_are_renamed_removed_and_exported(opened: Page, pictures: Path) -> None:
    show(opened, pictures, "mug", "gear")
    learn(opened)
    opened.click("#known [aria-label='Rename mug']")
    opened.fill("#new-name", "<i>cup")
    save("rename", opened)
    opened.keyboard.press("Enter")
    expect(opened.locator("#known .label").first).to_have_text("<i>cup")
    opened.click("#known [aria-label='Rename gear']")
    opened.fill("#new-name", "a/b")
    opened.keyboard.press("Enter")
    expect(opened.locator("#problem")).to_contain_text("forbidden character")
    save("problem", opened)
    opened.click("#problem button")
    opened.click("#known [aria-label='Remove gear']")
    opened.click("#remove button.close")
    assert known(opened) == ["<i>cup", "gear"]
    opened.click("#known [aria-label='Remove gear']")
    opened.click("#remove button.main")
    expect(opened.locator("#known li")).to_have_count(1)
    opened.click("#undo")
    expect(opened.locator("#known li")).to_have_count(2)

    with opened.expect_download() as download:
        opened.click("#export")
    assert download.value.suggested_filename == "model.onnx"
    model = onnx.load(download.value.path())
    assert "<i>cup" in str(model.metadata_props)


def test_a_lesson_is_watched_and_cancelled(
    opened: Page, pictures: Path, server: AppServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_still(monkeypatch)
    show(opened, pictures, "mug", "gear")
    opened.click("#begin")
    expect(opened.locator("#stage")).to_have_text("Reading the pictures")
    expect(opened.locator("#count")).to_have_text("2 of 12")
    save("learning", opened)
    opened.click("#cancel")
    expect(opened.locator("#outcome")).to_have_text("Cancelled. What it knows is as it was.")
    assert opened.locator(".shot").count() == 12, "the pictures are still there"
    assert known(opened) == []
    assert not server.rt.store.exists()


def stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands still after two pictures, until it is cancelled."""
    from lessons import Lessons

    on_progress = Lessons._on_progress

    def slow(self: Lessons, now: Progress) -> None:
        on_progress(self, now)
        if now.done == 2:
            self._cancel.wait(120)

    monkeypatch.setattr(Lessons, "_on_progress", slow)


def test_what_is_no_picture_is_said_and_costs_nothing(opened: Page, tmp_path: Path) -> None:
    letter = tmp_path / "letter.jpg"
    letter.write_text("dear")
    card(opened, 0).locator("input[type=file]").set_input_files(letter)
    problem = opened.locator("#problem p")
    expect(problem).to_have_text("letter.jpg is no picture that this browser can read")
    assert opened.locator(".shot").count() == 0
    assert opened.is_disabled("#begin")


def test_pictures_are_dropped_in_and_discarded_by_keyboard(opened: Page) -> None:
    opened.evaluate("""async () => {
        const canvas = document.createElement("canvas");
        const files = new DataTransfer();
        for (const name of ["a", "b"]) {
            canvas.width = name === "a" ? 40 : 1600;
            const blob = await new Promise((resolve) => canvas.toBlob(resolve));
            files.items.add(new File([blob], `${name}.png`, { type: "image/png" }));
        }
        const drop = new DragEvent("drop", { bubbles: true, dataTransfer: files });
        document.querySelector(".card").dispatchEvent(drop);
    }""")
    expect(card(opened, 0).locator(".shot")).to_have_count(2)
    assert opened.inner_text("#needs") == "Give every class with pictures a name."
    card(opened, 0).locator(".shot").first.focus()
    opened.keyboard.press("Enter")
    expect(card(opened, 0).locator(".shot")).to_have_count(1)
    expect(card(opened, 0).locator(".shot")).to_be_focused()
    opened.keyboard.press("Enter")
    expect(card(opened, 0).locator(".name")).to_be_focused()


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_nothing_is_wider_than_the_screen(opened: Page, pictures: Path, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    show(opened, pictures, "mug", "gear")
    card(opened, 0).locator(".name").fill("a-name-without-a-place-to-break-" * 4)
    learn(opened)
    opened.click("#promise summary")
    look(opened, pictures / "test" / "screw" / "screw-000.jpg")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    save(f"wide-{width}", opened)
