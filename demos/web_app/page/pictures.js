// Pictures as bytes to send and a small drawing to show. They are held in memory, as plain bytes.

const LONGEST_SIDE = 800; // pixels; more would not be looked at
const SENT_AS_THEY_ARE = ["image/jpeg", "image/png", "image/webp", "image/bmp"];

function drawn(source, width, height, canvas = document.createElement("canvas")) {
  canvas.width = Math.max(1, Math.round(width));
  canvas.height = Math.max(1, Math.round(height));
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  return canvas;
}

async function encoded(canvas) {
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.92));
  return new Uint8Array(await blob.arrayBuffer());
}

function shrunk(source, width, height, canvas) {
  const scale = Math.min(1, LONGEST_SIDE / Math.max(width, height));
  return drawn(source, width * scale, height * scale, canvas);
}

// A file that this browser can read; its name is in the Error for any other.
export async function fromFile(file, canvas) {
  let picture;
  try {
    picture = await createImageBitmap(file, { colorSpaceConversion: "none" });
  } catch {
    throw new Error(`${file.name || "that"} is no picture that this browser can read`);
  }
  const { width, height } = picture;
  const made = shrunk(picture, width, height, canvas);
  picture.close();
  const isSmall = Math.max(width, height) <= LONGEST_SIDE && SENT_AS_THEY_ARE.includes(file.type);
  const bytes = isSmall ? new Uint8Array(await file.arrayBuffer()) : await encoded(made);
  return { bytes, canvas: made };
}

export async function fromVideo(video) {
  const made = shrunk(video, video.videoWidth, video.videoHeight);
  return { bytes: await encoded(made), canvas: made };
}

// A square from the middle.
export function thumbnail(canvas, side = 112) {
  const scale = side / Math.min(canvas.width, canvas.height);
  const small = document.createElement("canvas");
  small.width = small.height = side;
  const [width, height] = [canvas.width * scale, canvas.height * scale];
  small
    .getContext("2d")
    .drawImage(canvas, (side - width) / 2, (side - height) / 2, width, height);
  return small;
}

export const picturesIn = (files) => [...files].filter((file) => file.type.startsWith("image/"));

// Calls `give` with what is dropped on an element.
export function acceptDrops(element, give) {
  let depth = 0; // children are entered and left too
  const show = (change) => {
    depth = Math.max(0, depth + change);
    element.classList.toggle("over", depth > 0);
  };
  element.addEventListener("dragenter", () => show(1));
  element.addEventListener("dragleave", () => show(-1));
  element.addEventListener("dragover", (event) => event.preventDefault());
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    show(-depth);
    give([...event.dataTransfer.files]);
  });
}
