// The one camera. Whoever opens it takes it from whoever had it.

let stream = null;
let closed = () => {};
let wishes = 0; // how often it was opened or closed: the browser may ask for long

export async function openCamera(video, onClosed) {
  closeCamera();
  const mine = wishes;
  let opened;
  try {
    opened = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
  } catch {
    throw new Error("there is no camera, or this page may not use it");
  }
  if (mine !== wishes) {
    for (const track of opened.getTracks()) track.stop();
    throw new Error("the camera was closed while the browser asked for it");
  }
  stream = opened;
  closed = onClosed;
  video.srcObject = stream;
  await video.play();
}

export function closeCamera() {
  wishes += 1;
  if (!stream) return;
  for (const track of stream.getTracks()) track.stop();
  stream = null;
  closed();
}
