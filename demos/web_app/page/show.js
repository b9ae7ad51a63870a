// Step 1: the classes and their pictures, before they are learned.
import { closeCamera, openCamera } from "./camera.js";
import { acceptDrops, fromFile, fromVideo, picturesIn, thumbnail } from "./pictures.js";
import { careful, complain } from "./problem.js";

const PAUSE = 120; // milliseconds between two frames that are recorded
const at = (id) => document.getElementById(id);
const cards = new Set();
let known = [];
let changed = () => {};
let reading = 0; // files that are not pictures of a card yet

export const isReading = () => reading > 0;

export const onChange = (call) => {
  changed = call;
};

export const lesson = () =>
  [...cards]
    .map(({ name, shots }) => ({ name: name.value.trim(), shots }))
    .filter(({ shots }) => shots.length);

export function setKnown(names) {
  known = names;
  at("names").replaceChildren(...names.map((name) => new Option(name, name)));
  for (const card of cards) card.refresh();
}

export function startAnew() {
  closeCamera();
  for (const { element } of cards) element.remove();
  cards.clear();
  addCard();
  addCard();
}

class Card {
  constructor() {
    this.element = at("card").content.firstElementChild.cloneNode(true);
    const part = (selector) => this.element.querySelector(selector);
    this.name = part(".name");
    this.video = part("video");
    this.shots = [];
    this.recording = false;
    this.part = part;

    this.name.oninput = () => this.refresh();
    part(".discard").onclick = () => this.discard();
    part("input[type=file]").onchange = ({ target }) => {
      this.add([...target.files]);
      target.value = ""; // the same may be chosen again
    };
    acceptDrops(this.element, (files) => this.add(files));
    part(".camera").onclick = careful(() => this.toggleCamera());
    this.prepareRecording(part(".record"));
  }

  async add(files) {
    complain("");
    if (files.length && !picturesIn(files).length) return complain("that is no picture");
    const bad = [];
    for (const file of picturesIn(files)) {
      reading += 1;
      try {
        this.keep(await fromFile(file));
      } catch (error) {
        bad.push(error.message);
      }
      reading -= 1;
    }
    changed();
    if (bad.length) complain(bad[0] + (bad.length > 1 ? `, and ${bad.length - 1} more` : ""));
  }

  keep({ bytes, canvas }) {
    const shot = { bytes };
    const button = document.createElement("button");
    button.type = "button";
    button.className = "shot";
    button.append(thumbnail(canvas));
    button.setAttribute("aria-label", "Discard this picture");
    button.onclick = () => {
      this.shots.splice(this.shots.indexOf(shot), 1);
      const next = button.nextElementSibling ?? button.previousElementSibling ?? this.name;
      button.remove();
      next.focus();
      this.refresh();
    };
    this.shots.push(shot);
    this.part(".shots").append(button);
    this.part(".shots").scrollTop = this.part(".shots").scrollHeight;
    this.refresh();
  }

  async toggleCamera() {
    if (!this.part(".booth").hidden) return closeCamera();
    const show = (isOpen) => {
      this.recording = false;
      this.part(".booth").hidden = !isOpen;
      this.part(".camera").textContent = isOpen ? "Close the camera" : "Camera";
      this.part(".camera").setAttribute("aria-pressed", isOpen);
    };
    this.asking = true;
    try {
      await openCamera(this.video, () => show(false));
    } finally {
      this.asking = false;
    }
    show(true);
    this.part(".record").focus();
  }

  prepareRecording(button) {
    const isKey = ({ key }) => key === " " || key === "Enter";
    const stop = () => {
      this.recording = false;
    };
    button.onpointerdown = ({ pointerId }) => {
      button.setPointerCapture(pointerId); // held is held, wherever the pointer goes
      this.record(button);
    };
    button.onlostpointercapture = button.onblur = stop;
    button.oncontextmenu = (event) => event.preventDefault(); // of a long touch
    button.onkeydown = (event) => {
      if (!isKey(event)) return;
      event.preventDefault();
      if (!event.repeat) this.record(button);
    };
    button.onkeyup = (event) => isKey(event) && stop();
  }

  async record(button) {
    if (this.recording) return;
    this.recording = true;
    button.classList.add("on");
    while (this.recording) {
      this.keep(await fromVideo(this.video));
      button.textContent = `Recording: ${this.shots.length}`;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
    button.classList.remove("on");
    button.textContent = "Hold to record";
  }

  discard() {
    if (!this.part(".booth").hidden || this.asking) closeCamera();
    cards.delete(this);
    this.element.remove();
    if (!cards.size) addCard();
    at("add").focus();
    changed();
  }

  refresh() {
    const many = this.shots.length;
    this.part(".many").textContent = many ? `${many} picture${many > 1 ? "s" : ""}` : "";
    this.part(".empty").hidden = many > 0;
    this.part(".again").hidden = !known.includes(this.name.value.trim());
    changed();
  }
}

export function addCard() {
  const card = new Card();
  cards.add(card);
  at("cards").append(card.element);
  card.refresh();
  return card;
}

at("add").onclick = () => addCard().name.focus();
