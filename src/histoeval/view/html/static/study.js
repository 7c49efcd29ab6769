/* The pages of a rater: answers by key, drafts as they are made, and the way from pair to pair. */
"use strict";
(() => {
  const { Saving, flush } = window.StudySaving;
  const byId = (id) => document.getElementById(id);

  const overview = byId("overview");
  if (overview) {
    flush(overview.dataset.study, "").then((saved) => { if (saved) location.reload(); });
    const start = byId("start");
    if (start) start.focus();
    return;
  }

  const form = byId("rating");
  const { study, home } = form.dataset;
  const number = Number(form.dataset.number), pairs = Number(form.dataset.pairs);
  const questions = [...form.querySelectorAll(".question")];
  const saving = new Saving(study, location.pathname, form.dataset.seen, say);
  const marks = new window.StudyMarks(form, changed);
  let current = 0, settling = 0, is_saving = false;

  function say(text, is_problem) {
    const line = byId("state");
    line.textContent = text;
    line.classList.toggle("problem", !!is_problem);
  }

  function complain(text) {
    byId("problem").textContent = text || "";
    byId("problem").hidden = !text;
  }

  const chosen = (question) => question.querySelector("input:checked");

  function rating() {
    const criteria = {};
    for (const question of questions.filter((each) => "criterion" in each.dataset)) {
      if (chosen(question)) criteria[question.dataset.name] = Number(chosen(question).value);
    }
    const score = chosen(questions[0]);
    return {
      score: score ? Number(score.value) : null,
      criteria,
      errors: marks.errors,
      comment: byId("comment").value,
    };
  }

  function fill(kept) {
    for (const question of questions) {
      const name = question.dataset.name;
      const value = "criterion" in question.dataset ? kept.criteria[name] : kept.score;
      question.querySelectorAll("input").forEach((each) => { each.checked = Number(each.value) === value; });
    }
    byId("comment").value = kept.comment;
    marks.set(kept.errors);
  }

  function explain() {
    questions.forEach((question, at) => {
      const choice = chosen(question);
      question.querySelector(".meaning").textContent = choice ? choice.title : "";
      question.classList.toggle("current", at === current);
      question.classList.toggle("answered", !!choice);
    });
  }

  function changed() {
    explain();
    complain("");
    say("Saving…");
    saving.change(rating());
    clearTimeout(settling);
    settling = setTimeout(async () => {
      const reply = await saving.settled();
      if (reply && reply.status === 200 && reply.is_draft) say("Kept as a draft, not saved yet.");
      else if (reply) leave(reply);
    }, 350);
  }

  function point(at) {
    current = Math.max(0, Math.min(at, questions.length - 1));
    const target = chosen(questions[current]) || questions[current].querySelector("input");
    target.focus({ preventScroll: true });
    questions[current].scrollIntoView({ block: "nearest" });
    explain();
  }

  function choose(question, value) {
    const choice = [...question.querySelectorAll("input")].find((each) => Number(each.value) === value);
    if (!choice) return false;
    choice.checked = true;
    changed();
    return true;
  }

  function answer(digit) {
    if (!choose(questions[current], digit)) {
      const steps = [...questions[current].querySelectorAll("input")].map((each) => Number(each.value));
      complain(`${digit} is not on this scale: press ${Math.min(...steps)} to ${Math.max(...steps)}.`);
    } else if (current + 1 < questions.length) {
      point(current + 1);
    } else {
      byId("save").focus();
    }
  }

  function half() {
    const choice = chosen(questions[0]);
    if (!choice) return;
    const score = Number(choice.value);
    choose(questions[0], Number.isInteger(score) ? score + 0.5 : score - 0.5);
  }

  async function save() {
    const open = questions.findIndex((question) => !chosen(question));
    if (open >= 0) {
      point(open);
      complain(`${questions[open].querySelector("legend").textContent.trim()} is not answered yet.`);
      return;
    }
    if (is_saving) return;
    is_saving = true;
    complain("");
    say("Saving…");
    await leave(await saving.save(rating()));
  }

  async function leave(reply) {
    if (reply.status === 200 && !reply.is_draft) {
      location.assign(reply.next);
      return;
    }
    is_saving = false;
    if (reply.status === 200) return;
    say("Not saved.", true);
    const closed = "This link is no longer valid. Open the link that you were sent; what you wrote is kept here.";
    complain(reply.status === 401 || reply.status === 403 ? closed : reply.message || "That could not be saved.");
  }

  async function go(address) {
    await saving.settled();
    location.assign(address);
  }

  const goTo = (pair) => { if (pair >= 1 && pair <= pairs) go(`${home}pairs/${pair}`); };

  const KEYS = {
    ".": half, ",": half,
    n: () => goTo(number + 1), p: () => goTo(number - 1), l: () => go(home),
    r: () => marks.enter("reference"), c: () => marks.enter("candidate"),
    m: () => marks.ask(), w: () => byId("comment").focus(),
    "?": () => byId("help").showModal(),
    Backspace: () => point(current - 1),
    Escape: () => marks.drop(),
  };

  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.isComposing) return;
    const inside = event.target.closest ? event.target : document.body;
    if (inside.closest("textarea, select")) {
      if (event.key === "Escape") inside.blur();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") {
      if (inside.closest("button, a, summary")) return;
      event.preventDefault();
      save();
    } else if (/^[0-9]$/.test(event.key)) {
      event.preventDefault();
      answer(Number(event.key));
    } else {
      const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!act) return;
      event.preventDefault();
      act();
    }
  });

  form.addEventListener("submit", (event) => { event.preventDefault(); save(); });
  form.addEventListener("input", changed);
  form.addEventListener("focusin", (event) => {
    const at = questions.indexOf(event.target.closest(".question"));
    if (at >= 0) { current = at; explain(); }
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  byId("previous").addEventListener("click", () => goTo(number - 1));
  byId("next").addEventListener("click", () => goTo(number + 1));
  byId("open-help").addEventListener("click", () => byId("help").showModal());

  marks.set(JSON.parse(form.dataset.marks));
  const open = questions.findIndex((question) => !chosen(question));
  const kept = Saving.kept(study, location.pathname);
  if (kept) {
    fill(kept.rating);
    say("Sending what was not saved yet…", true);
    saving.resume(kept).then((reply) => { say(""); leave(reply); });
  }
  flush(study, location.pathname);
  point(open < 0 ? 0 : open);
})();
