// All queues, with counts that are refreshed; a new queue of an annotation run.
import { ask, refreshParts, submitOnce } from "./workbench.js";

const form = document.getElementById("new");
if (form) submitOnce(form, async ({ share, ...values }) => {
  const queue = await ask("POST", "/api/queues", { ...values, share: Number(share) / 100 });
  location.href = "/verify/" + queue.id;
});
setInterval(refreshParts, 5000);
