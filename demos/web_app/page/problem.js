// The one place where problems are shown.

const box = document.getElementById("problem");

export function complain(problem) {
  box.querySelector("p").textContent = problem;
  box.hidden = !problem;
}

// A function that shows its errors instead of throwing them.
export const careful = (work) => async (...given) => {
  try {
    complain("");
    return await work(...given);
  } catch (error) {
    complain(error.message);
  }
};

box.querySelector("button").onclick = () => complain("");
