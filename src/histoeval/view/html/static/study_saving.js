/* Saves ratings so that none is lost or doubled. What is not confirmed yet lies in the browser's own
   storage; it is sent again, under the same request id, until the server says that it is on its disk. */
"use strict";
(() => {
  const PAUSES = [300, 600, 1200, 2500, 5000];

  /* The browser's own storage, where it may be used; else what is not confirmed lives with the page. */
  const shelf = (() => {
    const memory = new Map();
    let is_open = true;
    try { localStorage.getItem(""); } catch { is_open = false; }
    return {
      keys: () => (is_open ? Object.keys(localStorage) : [...memory.keys()]),
      get: (key) => (is_open && localStorage.getItem(key)) || memory.get(key) || null,
      set(key, text) {
        memory.set(key, text);
        try { if (is_open) localStorage.setItem(key, text); } catch { /* full: the page still has it */ }
      },
      remove(key) {
        memory.delete(key);
        if (is_open) localStorage.removeItem(key);
      },
    };
  })();

  const pause = (time) => new Promise((done) => setTimeout(done, time));

  function newRequest() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /* One try: the server's answer, or nothing where there was none. */
  async function post(address, body) {
    const csrf = document.querySelector("meta[name=csrf]").content;
    try {
      const answer = await fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
        body: JSON.stringify(body),
      });
      const is_ours = (answer.headers.get("Content-Type") || "").includes("json");
      return { status: answer.status, ...(is_ours ? await answer.json() : {}) };
    } catch {
      return null;
    }
  }

  /* Sends until there is an answer that stays the same if it is asked for again. */
  async function sendUntilAnswered(address, body, say) {
    for (let tries = 0; ; tries += 1) {
      const answer = await post(address, body);
      if (answer && answer.status < 500) return answer;
      const why = answer && answer.message ? answer.message : "the server does not answer";
      say(`Not saved yet: ${why}. Trying again…`, true);
      await pause(PAUSES[Math.min(tries, PAUSES.length - 1)]);
    }
  }

  const keyOf = (study, address) => `histoeval-study:${study}:${address}`;

  function unconfirmed(study) {
    const start = keyOf(study, "");
    return shelf.keys()
      .filter((key) => key.startsWith(start))
      .map((key) => key.slice(start.length));
  }

  /* The ratings of one pair: `change` is a new draft, `save` a rating to count. */
  class Saving {
    constructor(study, address, seen, say) {
      this.study = study;
      this.address = address;
      this.seen = seen ? [seen] : [];
      this.say = say;
      this.unseen = [];
      this.waiting = null;
      this.running = null;
      this.timer = 0;
    }

    static kept(study, address) {
      const text = shelf.get(keyOf(study, address));
      return text ? JSON.parse(text) : null;
    }

    change(rating) {
      this.keep({ request: newRequest(), is_draft: true, rating });
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.send(), 400);
    }

    /* What another tab has saved meanwhile is replaced only here: the rater was told of it before. */
    save(rating) {
      this.seen.push(...this.unseen.splice(0));
      this.keep({ request: newRequest(), is_draft: false, rating });
      return this.send();
    }

    /* Resume what an earlier page could not get confirmed: its request id, and what it had seen. */
    resume(kept) {
      this.seen = [...kept.seen];
      this.keep(kept);
      return this.send();
    }

    keep(body) {
      this.waiting = { ...body, seen: this.seen.slice(-500) };
      shelf.set(keyOf(this.study, this.address), JSON.stringify(this.waiting));
    }

    /* Sends what waits, one after the other; the answer is that to the last one. */
    send() {
      clearTimeout(this.timer);
      this.timer = 0;
      this.running = this.running || this.work().finally(() => { this.running = null; });
      return this.running;
    }

    async work() {
      let answer = null;
      while (this.waiting) {
        const body = this.waiting;
        this.waiting = null;
        this.seen.push(body.request);
        answer = await sendUntilAnswered(this.address, body, this.say);
        answer.is_draft = body.is_draft;
        if (answer.status === 409) this.unseen.push(answer.latest);
        const is_closed = answer.status === 401 || answer.status === 403;
        if (!this.waiting && !is_closed) shelf.remove(keyOf(this.study, this.address));
        if (answer.status !== 200) break;
      }
      return answer;
    }

    /* When nothing is left to send: the last answer, or nothing where there was nothing to send. */
    async settled() {
      return this.waiting || this.running ? this.send() : null;
    }
  }

  /* Send what earlier pages could not get confirmed; what is refused stays for the page of its pair. */
  async function flush(study, own) {
    let saved = 0;
    for (const address of unconfirmed(study).filter((each) => each !== own)) {
      const kept = Saving.kept(study, address);
      const answer = await new Saving(study, address, "", () => {}).resume(kept);
      if (answer.status === 200) saved += 1;
      else shelf.set(keyOf(study, address), JSON.stringify(kept));
    }
    return saved;
  }

  window.StudySaving = { Saving, flush };
})();
