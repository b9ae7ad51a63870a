// Step 3: what does it say to this picture, or to the camera?
import { closeCamera, openCamera } from "./camera.js";
import { acceptDrops, fromFile, fromVideo, picturesIn } from "./pictures.js";
import { careful, complain } from "./problem.js";
import { predict } from "./server.js";

const at = (id) => document.getElementById(id);
let latest = 0; // number of the picture that was given last
let isWatching = false;

function bar({ label, confidence }) {
  const row = document.createElement("li");
  row.dataset.label = label;
  row.dataset.confidence = confidence;
  const percent = `${(100 * confidence).toFixed(1)} %`;
  for (const [name, text] of [["label", label], ["percent number", percent], ["bar", ""]]) {
    const part = document.createElement("div");
    part.className = name;
    part.textContent = text;
    row.append(part);
  }
  const filled = document.createElement("div");
  filled.style.width = `${100 * confidence}%`;
  row.lastChild.append(filled);
  return row;
}

function show(number, said, speed) {
  at("result").hidden = false;
  at("result").classList.toggle("unknown", said.unknown);
  at("answer").textContent = said.unknown ? "unknown" : said.label;
  at("why").hidden = !said.unknown;
  at("speed").textContent = speed;
  at("bars").replaceChildren(...said.top_k.map(bar));
  at("try").dataset.answered = number;
}

const look = careful(async (file) => {
  closeCamera();
  const number = ++latest;
  at("result").hidden = true; // it is of the picture before
  const { bytes, canvas } = await fromFile(file);
  if (number !== latest) return;
  const shown = at("picture");
  [shown.width, shown.height] = [canvas.width, canvas.height];
  shown.getContext("2d").drawImage(canvas, 0, 0);
  shown.hidden = false;
  at("hint").hidden = true;
  const said = await predict(bytes);
  if (number === latest) show(number, said, `answered in ${said.ms.toFixed(0)} ms`);
});

function showCamera(isOpen) {
  isWatching = isOpen;
  latest += 1; // an answer that is on its way comes too late
  at("live").hidden = !isOpen;
  at("watch").textContent = isOpen ? "Stop the camera" : "Camera";
  at("watch").setAttribute("aria-pressed", isOpen);
  at("result").hidden = true;
  at("picture").hidden = true;
  at("hint").hidden = isOpen;
}

const watch = careful(async () => {
  if (isWatching) return closeCamera();
  await openCamera(at("live"), () => showCamera(false));
  showCamera(true);
  const started = performance.now();
  try {
    for (let frames = 1; isWatching; frames++) {
      const number = ++latest;
      const said = await predict((await fromVideo(at("live"))).bytes);
      const speed = (1000 * frames) / (performance.now() - started);
      if (number === latest) show(number, said, `${speed.toFixed(1)} answers a second`);
    }
  } catch (error) {
    closeCamera();
    throw error;
  }
});

// What is on the stand was answered by another version, or nothing is known any more.
export function setReady(isReady) {
  at("try").inert = !isReady;
  at("hint").textContent = isReady
    ? "Drop a picture here, or paste one"
    : "When it has learned something, you can try it here";
  if (isWatching && isReady) return; // the next frame is answered by the new version
  closeCamera();
  showCamera(false);
}

function lookAtFirst(files) {
  const [file] = picturesIn(files);
  if (file) look(file);
  else if (files.length) complain("that is no picture");
}

at("watch").onclick = watch;
at("file").onchange = ({ target }) => {
  lookAtFirst(target.files);
  target.value = ""; // the same may be chosen again
};
acceptDrops(at("stand"), lookAtFirst);
document.onpaste = ({ clipboardData }) => {
  if (!at("try").inert) lookAtFirst(clipboardData.files);
};
