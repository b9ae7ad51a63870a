// What the page asks the server for. A problem becomes an Error with words for people.

async function answerOf(request) {
  let answer;
  try {
    answer = await request;
  } catch {
    throw new Error("the program behind this page does not answer; is it still running?");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.problem ?? `the program behind this page answered ${answer.status}`);
}

const post = (name, body) => answerOf(fetch(`/api/${name}`, { method: "POST", body }));

export const state = async () => (await answerOf(fetch("/api/state"))).json();
export const predict = async (bytes) => (await post("predict", bytes)).json();
export const change = async (name, words = {}) => (await post(name, JSON.stringify(words))).json();
export const model = async () => (await post("export", "{}")).blob();

// One line of JSON, then all pictures; see upload.py.
export async function learn(lesson, quick) {
  const classes = lesson.map(({ name, shots }) => ({
    name,
    sizes: shots.map(({ bytes }) => bytes.length),
  }));
  const line = new TextEncoder().encode(`${JSON.stringify({ quick, classes })}\n`);
  const parts = [line, ...lesson.flatMap(({ shots }) => shots.map(({ bytes }) => bytes))];
  const body = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let start = 0;
  for (const part of parts) {
    body.set(part, start);
    start += part.length;
  }
  await post("learn", body);
}
