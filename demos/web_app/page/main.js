// Puts the parts together: whenever the store has changed, all of them hear of it.
import { prepareKnown, showKnown } from "./known.js";
import { follow, prepareLearning, refreshButton } from "./learn.js";
import { careful } from "./problem.js";
import * as server from "./server.js";
import { lesson, onChange, setKnown, startAnew } from "./show.js";
import { setReady } from "./try.js";

const at = (id) => document.getElementById(id);

function show(state) {
  const count = state.classes.length;
  const knows = count === 1 ? "It knows one class" : `It knows ${count || "no"} classes`;
  at("about").textContent = state.version
    ? `${knows}, as of version ${state.version} of ${state.store.split("/").pop()}.`
    : "Show it a few things, let it learn, and see what it makes of others.";
  at("about").title = state.store;
  at("quick").closest("label").hidden = !state.trains;
  showKnown(state);
  setKnown(state.classes.map(({ name }) => name));
  setReady(count > 0);
}

const refresh = async () => show(await server.state());

onChange(refreshButton);
prepareLearning(refresh);
prepareKnown(show);
startAnew();
// What is dropped beside a place for it must not replace the page.
for (const kind of ["dragover", "drop"]) {
  document.addEventListener(kind, (event) => event.preventDefault());
}
window.addEventListener("beforeunload", (event) => {
  if (lesson().length) event.preventDefault(); // pictures that were not learned would be gone
});
careful(async () => {
  await refresh();
  document.body.dataset.ready = "true";
  await follow(refresh);
})();
