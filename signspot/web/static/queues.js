// All queues; a new one of an annotation run.
import { ask, problem } from "./bench.js";

const form = document.getElementById("new");
if (form) form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { share, ...values } = Object.fromEntries(new FormData(form));
  try {
    const made = await ask("POST", "/api/queues", { ...values, share: Number(share) / 100 });
    location.href = "/verify/" + made.id;
  } catch (error) { problem(error); }
});
