// The one camera. Whoever opens it takes it from whoever had it.

let stream = null;
let closed = () => {};

export async function openCamera(video, onClosed) {
  closeCamera();
  let opened;
  try {
    opened = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
  } catch {
    throw new Error("there is no camera, or this page may not use it");
  }
  closeCamera(); // another may have opened it while the browser asked
  stream = opened;
  closed = onClosed;
  video.srcObject = stream;
  await video.play();
}

export function closeCamera() {
  if (!stream) return;
  for (const track of stream.getTracks()) track.stop();
  stream = null;
  closed();
}
