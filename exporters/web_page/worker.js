// Runs the model beside the page, so that the page stays alive meanwhile.
import * as ort from "./runtime/ort.js";

ort.env.wasm.numThreads = 1; // more need headers that not every server sends
ort.env.wasm.wasmPaths = { wasm: new URL("./runtime/ort.wasm", import.meta.url).href };

async function load() {
  const answer = await fetch(new URL("./model.onnx", import.meta.url));
  if (!answer.ok) throw new Error(`model.onnx gave ${answer.status}`);
  return ort.InferenceSession.create(new Uint8Array(await answer.arrayBuffer()));
}

const session = load();
session.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ problem: `the model cannot be loaded: ${error.message}` }),
);

// Without its fourth channel: the page has laid the picture over white.
function opaque(rgba) {
  const rgb = new Uint8Array((rgba.length / 4) * 3);
  for (let from = 0, to = 0; from < rgba.length; from += 4) {
    rgb[to++] = rgba[from];
    rgb[to++] = rgba[from + 1];
    rgb[to++] = rgba[from + 2];
  }
  return rgb;
}

onmessage = async ({ data: { number, pixels, width, height } }) => {
  try {
    const model = await session;
    const image = new ort.Tensor("uint8", opaque(pixels), [1, height, width, 3]);
    const started = performance.now();
    const { confidence, unknown } = await model.run({ image });
    postMessage({
      number,
      confidence: confidence.data,
      unknown: Boolean(unknown.data[0]),
      ms: performance.now() - started,
    });
  } catch (error) {
    postMessage({ number, problem: `this picture cannot be answered: ${error.message}` });
  }
};
