// Step 2: learning, watched and cancelled.
import { closeCamera } from "./camera.js";
import { careful } from "./problem.js";
import * as server from "./server.js";
import { isReading, lesson, startAnew } from "./show.js";

const PAUSE = 300; // milliseconds between two questions how far it is
const MOST_BYTES = 250_000_000;
const FEW = 5; // pictures of a class
const STAGES = {
  preparing: "Preparing",
  estimate: "Preparing",
  "reading images": "Reading the pictures",
  training: "Training",
  finishing: "Checking and keeping it",
};
const at = (id) => document.getElementById(id);
const pictures = (count) => (count === 1 ? "1 picture" : `${count} pictures`);
const percent = (share) => `${Math.round(100 * share)} %`;
let isLearning = false;

export function refreshButton() {
  const classes = lesson();
  const names = [...new Set(classes.map(({ name }) => name))];
  const count = classes.reduce((sum, { shots }) => sum + shots.length, 0);
  const few = classes.filter(({ shots }) => shots.length < FEW).map(({ name }) => name);
  let said = `${pictures(count)} to learn from.`;
  if (!classes.length) said = "Show it pictures of a class first; ten or more are good.";
  else if (names.includes("")) said = "Give every class with pictures a name.";
  else if (few.length) said += ` Of ${few.join(", ")} there are few; more would help.`;
  if (isReading()) said = "Reading pictures …";
  at("needs").textContent = said;
  at("begin").disabled = isLearning || isReading() || !classes.length || names.includes("");
  at("begin").textContent = names.length > 1 ? `Learn ${names.length} classes` : "Learn";
}

// Follows the lesson that is going on, if any, to its end.
export async function follow(onEnd) {
  let told = (await server.state()).lesson;
  while (["learning", "cancelling"].includes(told.state)) {
    setLearning(true);
    showProgress(told);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    told = (await server.state()).lesson;
  }
  if (!isLearning) return;
  try {
    await onEnd(); // whoever reads the outcome sees what is known by now
  } finally {
    setLearning(false);
    showOutcome(told);
    if (told.state === "learned") startAnew(); // the pictures go; what was learned stays
  }
}

function setLearning(is) {
  isLearning = is;
  at("going").hidden = !is;
  for (const id of ["show", "knows"]) at(id).inert = is;
  if (is) at("outcome").hidden = true;
  refreshButton();
}

function showProgress({ state, stage, done, total, seconds }) {
  at("stage").textContent = state === "cancelling" ? "Cancelling" : (STAGES[stage] ?? stage);
  at("count").textContent = total ? `${done} of ${total}` : "";
  if (!total && seconds) at("count").textContent = `about ${Math.ceil(seconds)} s in all`;
  at("cancel").disabled = state === "cancelling";
  if (total) {
    at("bar").max = total;
    at("bar").value = done;
  } else at("bar").removeAttribute("value");
}

function showOutcome({ state, report, problem }) {
  const lines = state === "learned" ? toldOf(report) : [];
  if (state === "cancelled") lines.push("Cancelled. What it knows is as it was.");
  if (state === "failed") lines.push(`It was not learned: ${problem}.`);
  const [first, ...others] = lines.map((line) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = line;
    return paragraph;
  });
  for (const other of others) other.className = "quiet";
  at("outcome").replaceChildren(first, ...others);
  at("outcome").className = state;
  at("outcome").hidden = false;
}

function toldOf(report) {
  const names = [...report.added, ...report.updated].join(", ");
  const how = report.mode === "prd" ? "trained" : "without training";
  const lines = [
    `Learned ${names}.`,
    `${pictures(report.pictures)} in ${report.seconds.toFixed(1)} s, ${how}. They are gone now.`,
  ];
  if (report.held_out) {
    lines.push(`Of ${pictures(report.held_out)} held back to check it, it got ${percent(report.right)} right.`);
  }
  if (report.duplicates) lines.push(`${pictures(report.duplicates)} came twice and counted once.`);
  if (report.skipped_count) {
    lines.push(`${pictures(report.skipped_count)} could not be used. ${report.skipped.join("; ")}.`);
  }
  return [...lines, ...report.warnings.map((text) => `${text[0].toUpperCase()}${text.slice(1)}.`)];
}

export function prepareLearning(onEnd) {
  at("begin").onclick = careful(async () => {
    const classes = lesson();
    const bytes = classes.flatMap(({ shots }) => shots).reduce((sum, { bytes: own }) => sum + own.length, 0);
    if (bytes > MOST_BYTES) throw new Error("these are too many pictures at once; learn some first");
    closeCamera();
    setLearning(true);
    showProgress({ stage: "preparing" });
    at("cancel").focus();
    try {
      await server.learn(classes, at("quick").checked);
      await follow(onEnd);
    } finally {
      if (isLearning) setLearning(false);
    }
  });
  at("cancel").onclick = careful(() => server.change("cancel"));
}
