// What the store knows, and how to change that.
import { careful } from "./problem.js";
import * as server from "./server.js";

const at = (id) => document.getElementById(id);
let onChange = () => {};

// Asks in a dialog; resolves to whether the answer was yes.
function asked(dialog, title) {
  dialog.querySelector("h3").textContent = title;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
  });
}

async function rename(old) {
  at("new-name").value = old;
  const answer = asked(at("rename"), `Rename ${old}`);
  at("new-name").select();
  const name = (await answer) ? at("new-name").value.trim() : old;
  if (name !== old) await onChange(await server.change("rename", { old, new: name }));
}

async function remove(name) {
  if (await asked(at("remove"), `Remove ${name}?`)) {
    await onChange(await server.change("remove", { name }));
  }
}

async function download() {
  at("export").disabled = true;
  at("export").textContent = "Making the file…";
  try {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await server.model());
    link.download = "model.onnx";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } finally {
    at("export").disabled = false;
    at("export").textContent = "Download as ONNX";
  }
}

function row({ name, pictures }) {
  const item = document.createElement("li");
  item.dataset.name = name;
  const label = document.createElement("span");
  label.className = "label";
  label.textContent = name;
  const count = document.createElement("span");
  count.className = "quiet number";
  count.textContent = pictures;
  count.title = `learned from ${pictures} pictures`;
  item.append(label, count);
  for (const [text, work] of [["Rename", rename], ["Remove", remove]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = text;
    button.setAttribute("aria-label", `${text} ${name}`);
    button.onclick = careful(() => work(name));
    item.append(button);
  }
  return item;
}

function undoing({ action, taught }) {
  return taught.length ? `learning ${taught.join(", ")}` : `“${action}”`;
}

export function showKnown({ classes, undo }) {
  at("known").replaceChildren(...classes.map(row));
  at("nothing").hidden = classes.length > 0;
  at("export").hidden = !classes.length;
  at("undo").hidden = !undo;
  at("undoes").textContent = undo ? `Undo takes back ${undoing(undo)}.` : "";
}

export function prepareKnown(call) {
  onChange = call;
  at("undo").onclick = careful(async () => onChange(await server.change("undo")));
  at("export").onclick = careful(download);
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.querySelector(".close").onclick = () => dialog.close("");
    dialog.querySelector("form").onsubmit = (event) => {
      event.preventDefault(); // the rules of the page forbid to send any form
      dialog.close("yes");
    };
  }
}
