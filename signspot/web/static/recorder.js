// A recording that the server looks at while it is being made: pictures of the camera go out as they come, unmirrored.
import { ask, RequestError } from "./bench.js";

const APART = 36, QUALITY = 0.88, LARGEST = 640; // milliseconds between pictures, of JPEG, pixels of the longer side

export class LiveRecording {
  // `film`: shows the camera; `seen`: told what the server saw last.
  constructor(film, seen) {
    this.film = film;
    this.seen = seen;
    this.canvas = document.createElement("canvas");
    this.waiting = [];
    this.sending = null;
    this.error = null;
    this.zero = Infinity; // when the recording began; before, pictures are of the countdown
    this.apart = APART;
    this.opened = ask("POST", "/api/recordings").then((made) => { this.id = made.id; });
    this.opened.catch((error) => { this.error = error; });
  }

  // Takes pictures until `stop`; those before `begin` only warm the server up and say whether hands are in view.
  watch() {
    this.running = true;
    this.last = -Infinity;
    const turn = (now) => {
      if (!this.running) return;
      if (now - this.last >= this.apart) { this.last = now; this.take(now); }
      next();
    };
    const next = () => (this.film.requestVideoFrameCallback ? this.film.requestVideoFrameCallback(turn) : setTimeout(() => turn(performance.now()), APART));
    next();
  }

  begin() {
    this.zero = performance.now();
    this.apart = APART;
  }

  take(now) {
    const wide = this.film.videoWidth, high = this.film.videoHeight;
    if (!wide) return;
    const share = Math.min(1, LARGEST / Math.max(wide, high)), canvas = this.canvas;
    if (canvas.width !== Math.round(wide * share)) { canvas.width = Math.round(wide * share); canvas.height = Math.round(high * share); }
    canvas.getContext("2d").drawImage(this.film, 0, 0, canvas.width, canvas.height);
    const since = Number.isFinite(this.zero) ? now - this.zero : now - 2e9;
    const slot = { time: Math.round(since), picture: null };
    this.waiting.push(slot);
    slot.made = new Promise((resolve) => canvas.toBlob((picture) => { slot.picture = picture; resolve(); }, "image/jpeg", QUALITY));
    this.send();
  }

  send() {
    if (!this.sending) this.sending = this.drain().finally(() => { this.sending = null; });
    return this.sending;
  }

  async drain() {
    try { await this.opened; } catch { return; }
    while (this.waiting.length && !this.error) {
      const batch = this.waiting.splice(0, 30), parts = [];
      for (const { made } of batch) await made;
      for (const { time, picture } of batch) {
        if (!picture) continue;
        const head = new DataView(new ArrayBuffer(8));
        head.setInt32(0, time, true);
        head.setUint32(4, picture.size, true);
        parts.push(head.buffer, picture);
      }
      const answer = await fetch(`/api/recordings/${this.id}/pictures`, { method: "PUT", headers: { "X-Signspot": "1" }, body: new Blob(parts) }).catch((error) => error);
      const said = answer.ok ? await answer.json() : await answer.json?.().catch(() => ({}));
      if (answer.ok) { this.looked = said.looked; this.seen(said); }
      else this.error = new RequestError((said && said.error) || String(answer.statusText || answer), answer.status || 0);
    }
  }

  stop() {
    this.running = false;
  }

  // What the server finds; it has looked at most pictures already.
  async search(query) {
    while (this.waiting.length || this.sending) await this.send();
    if (this.error) throw this.error;
    return ask("POST", `/api/recordings/${this.id}/search?${query}`);
  }

  forget() {
    this.stop();
    this.opened.then(() => ask("DELETE", `/api/recordings/${this.id}`)).catch(() => {});
  }
}
