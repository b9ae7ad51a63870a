const SHOWN = 5; // classes
const MOST_PIXELS = 16_000_000; // some browsers have no larger canvas

const at = (id) => document.getElementById(id);
const context = at("picture").getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
const worker = new Worker("worker.js", { type: "module" });
const waiting = new Map(); // number of a picture to what is to be done with its answer
let about = { classes: [], version: "" };
let stream = null; // of the camera, while it runs
let latest = 0; // number of the picture that was given last

worker.onmessage = ({ data }) => {
  if (data.ready) ready();
  else if (data.number === undefined) complain(data.problem);
  else {
    waiting.get(data.number)(data);
    waiting.delete(data.number);
  }
};
worker.onerror = () => complain("this browser cannot run the model; try a newer one");

async function ready() {
  const answer = await fetch("model.json");
  if (!answer.ok) return complain(`model.json cannot be loaded (${answer.status})`);
  about = await answer.json();
  const count = about.classes.length === 1 ? "one class" : `${about.classes.length} classes`;
  at("about").textContent = `It knows ${count}, as of version ${about.version}.`;
  document.body.dataset.ready = "true";
}

function complain(problem) {
  at("problem").textContent = problem;
  at("problem").hidden = !problem;
}

function ask(number, source, width, height) {
  const scale = Math.min(1, Math.sqrt(MOST_PIXELS / (width * height)));
  const canvas = at("picture");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  const { data: pixels } = context.getImageData(0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => {
    waiting.set(number, resolve);
    const message = { number, pixels, width: canvas.width, height: canvas.height };
    worker.postMessage(message, [pixels.buffer]);
  });
}

function show({ number, confidence, unknown, ms, problem }) {
  if (number !== latest) return; // another picture has been given since
  complain(problem ?? "");
  at("result").hidden = Boolean(problem);
  if (problem) return;
  const ranked = [...confidence.keys()].sort((a, b) => confidence[b] - confidence[a]);
  at("result").classList.toggle("unknown", unknown);
  at("answer").classList.toggle("unknown", unknown);
  at("answer").textContent = unknown ? "unknown" : about.classes[ranked[0]];
  at("why").hidden = !unknown;
  at("time").textContent = `answered in ${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const bars = ranked.slice(0, SHOWN).map((c) => bar(about.classes[c], confidence[c]));
  at("bars").replaceChildren(...bars);
  document.body.dataset.answered = number;
}

function bar(label, confidence) {
  const row = document.createElement("li");
  row.dataset.label = label;
  row.dataset.confidence = confidence;
  const percent = `${(100 * confidence).toFixed(1)} %`;
  for (const [name, text] of [["label", label], ["percent", percent], ["bar", ""]]) {
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

async function look(file) {
  stopCamera();
  const number = ++latest;
  at("result").hidden = true; // it is of the picture before
  let picture;
  try {
    // The orientation is applied, colours are left as they stand in the file.
    picture = await createImageBitmap(file, { colorSpaceConversion: "none" });
  } catch {
    const problem = `${file.name || "that"} is no picture that this browser can read`;
    return show({ number, problem });
  }
  if (number === latest) {
    at("picture").hidden = false;
    at("hint").hidden = true;
    ask(number, picture, picture.width, picture.height).then(show);
  }
  picture.close();
}

async function startCamera() {
  at("start").disabled = true; // while the browser asks for permission
  const camera = at("camera");
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    camera.srcObject = stream;
    await camera.play();
  } catch {
    stopCamera();
    complain("there is no camera, or it may not be used; it needs https or localhost");
    return;
  } finally {
    at("start").disabled = false;
  }
  for (const id of ["camera", "stop"]) at(id).hidden = false;
  for (const id of ["start", "picture", "hint"]) at(id).hidden = true;
  while (stream) {
    const answer = await ask(++latest, camera, camera.videoWidth, camera.videoHeight);
    if (stream) show(answer);
  }
}

function stopCamera() {
  if (!stream) return;
  for (const track of stream.getTracks()) track.stop();
  stream = null;
  for (const id of ["camera", "stop"]) at(id).hidden = true;
  for (const id of ["start", "picture"]) at(id).hidden = false;
}

const pictureIn = (files) => [...files].find((file) => file.type.startsWith("image/"));

at("file").onchange = ({ target }) => {
  if (target.files.length) look(target.files[0]);
  target.value = ""; // the same file may be chosen again
};
at("start").onclick = startCamera;
at("stop").onclick = stopCamera;
document.onpaste = ({ clipboardData }) => {
  const file = pictureIn(clipboardData.files);
  if (file) look(file);
};
document.ondragover = (event) => {
  event.preventDefault();
  at("drop").classList.add("over");
};
document.ondragleave = () => at("drop").classList.remove("over");
document.ondrop = (event) => {
  event.preventDefault();
  at("drop").classList.remove("over");
  const file = pictureIn(event.dataTransfer.files);
  if (file) look(file);
  else complain("that is no picture");
};
