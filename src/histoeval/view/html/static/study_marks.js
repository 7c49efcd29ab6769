/* Errors marked in two reports: words are picked by mouse, touch or keyboard, then named in a window. */
"use strict";
(() => {
  const SIDES = ["reference", "candidate"];
  const IS_WORD = /[\p{L}\p{N}%+<>≤≥±]/u;
  const byId = (id) => document.getElementById(id);

  /* One report: its pieces, and which of them are picked, from one number to another. */
  class Report {
    constructor(element) {
      this.element = element;
      this.pieces = [...element.querySelectorAll("span[data-o]")];
      this.starts = this.pieces.map((piece) => Number(piece.dataset.o));
      this.end = Number(element.dataset.end);
      this.words = this.pieces.flatMap((piece, at) => (IS_WORD.test(piece.textContent) ? [at] : []));
      this.picked = null;
      this.anchor = 0;
    }

    endOf(at) {
      return at + 1 < this.starts.length ? this.starts[at + 1] : this.end;
    }

    pick(from, to) {
      const low = Math.min(from, to), high = Math.max(from, to);
      const inside = this.words.filter((at) => at >= low && at <= high);
      this.picked = inside.length ? [inside[0], inside[inside.length - 1]] : null;
      this.pieces.forEach((piece, at) => {
        piece.classList.toggle("pick", !!this.picked && at >= this.picked[0] && at <= this.picked[1]);
      });
    }

    drop() {
      this.picked = null;
      this.pieces.forEach((piece) => piece.classList.remove("pick"));
    }

    span() {
      if (!this.picked) return null;
      return { start: this.starts[this.picked[0]], end: this.endOf(this.picked[1]) };
    }

    covered(span) {
      return this.pieces.filter((_, at) => this.starts[at] >= span.start && this.starts[at] < span.end);
    }

    textOf(span) {
      return this.covered(span).map((piece) => piece.textContent).join("").trim();
    }

    /* The word that an arrow leads to. */
    neighbour(at, key) {
      const place = this.words.indexOf(at);
      if (key === "ArrowRight") return this.words[Math.min(place + 1, this.words.length - 1)];
      if (key === "ArrowLeft") return this.words[Math.max(place - 1, 0)];
      if (key === "Home") return this.words[0];
      if (key === "End") return this.words[this.words.length - 1];
      const step = key === "ArrowDown" ? 1 : -1;
      const box = this.pieces[at].getBoundingClientRect();
      let best = at, line = null, nearest = Infinity;
      for (let next = place + step; next >= 0 && next < this.words.length; next += step) {
        const other = this.pieces[this.words[next]].getBoundingClientRect();
        if (Math.abs(other.top - box.top) < box.height / 2) continue;
        if (line !== null && Math.abs(other.top - line) > box.height / 2) break;
        line = other.top;
        if (Math.abs(other.left - box.left) < nearest) {
          nearest = Math.abs(other.left - box.left);
          best = this.words[next];
        }
      }
      return best;
    }
  }

  class Marks {
    constructor(form, changed) {
      this.changed = changed;
      this.errors = [];
      this.reports = {};
      for (const side of SIDES) {
        const report = new Report(form.querySelector(`[data-side=${side}]`));
        this.reports[side] = report;
        report.element.addEventListener("keydown", (event) => this.walk(event, report));
      }
      this.window = byId("marking");
      this.kinds = Object.fromEntries([...byId("kind").options].map((each) => [each.value, each]));
      let timer = 0;
      document.addEventListener("selectionchange", () => {
        clearTimeout(timer);
        timer = setTimeout(() => this.pickSelection(), 120);
      });
      byId("mark-picked").addEventListener("click", () => this.ask());
      byId("drop-picked").addEventListener("click", () => this.drop());
      byId("marking-cancel").addEventListener("click", () => this.window.close());
      this.window.addEventListener("keydown", (event) => this.chooseSeverity(event));
      this.window.querySelector("form").addEventListener("submit", (event) => this.mark(event));
    }

    get isPicked() {
      return SIDES.some((side) => this.reports[side].picked);
    }

    walk(event, report) {
      if (event.ctrlKey || event.metaKey || event.altKey || !report.words.length) return;
      if (event.key === "Enter" && this.isPicked) {
        event.preventDefault();
        event.stopPropagation();
        this.ask();
      }
      if (!event.key.startsWith("Arrow") && event.key !== "Home" && event.key !== "End") return;
      event.preventDefault();
      const is_first = !report.picked;
      const tip = is_first ? report.words[0]
        : report.picked[0] === report.anchor ? report.picked[1] : report.picked[0];
      const next = is_first ? tip : report.neighbour(tip, event.key);
      if (!event.shiftKey || is_first) report.anchor = next;
      report.pick(report.anchor, next);
      report.pieces[next].scrollIntoView({ block: "nearest" });
      this.showPicked();
    }

    pickSelection() {
      const chosen = document.getSelection();
      if (!chosen || chosen.isCollapsed || !chosen.rangeCount) return;
      const range = chosen.getRangeAt(0);
      for (const side of SIDES) {
        const report = this.reports[side];
        if (!report.element.contains(range.commonAncestorContainer)) continue;
        const touched = report.pieces.flatMap((piece, at) => {
          if (!range.intersectsNode(piece)) return [];
          const starts_behind = range.startContainer === piece.firstChild
            && range.startOffset >= piece.textContent.length;
          const ends_before = range.endContainer === piece.firstChild && range.endOffset === 0;
          return starts_behind || ends_before ? [] : [at];
        });
        if (!touched.length) continue;
        report.anchor = touched[0];
        report.pick(touched[0], touched[touched.length - 1]);
        this.showPicked();
      }
    }

    enter(side) {
      const report = this.reports[side];
      report.element.focus();
      if (!report.picked && report.words.length) {
        report.anchor = report.words[0];
        report.pick(report.anchor, report.anchor);
      }
      this.showPicked();
    }

    drop() {
      SIDES.forEach((side) => this.reports[side].drop());
      document.getSelection().removeAllRanges();
      this.showPicked();
    }

    quoted(spans) {
      return SIDES.filter((side) => spans[side])
        .map((side) => `${side}: “${this.reports[side].textOf(spans[side])}”`).join("; ");
    }

    picks() {
      return Object.fromEntries(SIDES.map((side) => [side, this.reports[side].span()]));
    }

    showPicked() {
      byId("picked").hidden = !this.isPicked;
      byId("picked-words").textContent = this.isPicked ? `Picked in the ${this.quoted(this.picks())}` : "";
    }

    ask() {
      if (!this.isPicked) return;
      const spans = this.picks();
      byId("kind").value = !spans.candidate ? "omission" : !spans.reference ? "invention" : "contradiction";
      this.window.querySelectorAll("[name=severity]").forEach((each) => { each.checked = false; });
      byId("marking-words").textContent = this.quoted(spans);
      byId("marking-problem").hidden = true;
      this.window.showModal();
      byId("kind").focus();
    }

    chooseSeverity(event) {
      event.stopPropagation(); // what is typed here is not for the page below
      const choice = this.window.querySelector(`[name=severity][value="${CSS.escape(event.key)}"]`);
      if (choice) {
        event.preventDefault();
        choice.checked = true;
        byId("marking-problem").hidden = true;
      } else if (event.key === "Enter" && event.target.tagName !== "BUTTON") {
        event.preventDefault();
        byId("marking-done").click();
      }
    }

    mark(event) {
      const severity = this.window.querySelector("[name=severity]:checked");
      if (!severity) {
        event.preventDefault();
        byId("marking-problem").hidden = false;
        return;
      }
      const error = { kind: byId("kind").value, severity: Number(severity.value), ...this.picks() };
      const words = (each) => JSON.stringify([each.kind, each.reference, each.candidate]);
      this.errors = [...this.errors.filter((each) => words(each) !== words(error)), error];
      this.drop();
      this.show();
      this.changed();
    }

    set(errors) {
      this.errors = errors.map(({ kind, severity, reference, candidate }) => ({
        kind, severity,
        reference: reference && { start: reference.start, end: reference.end },
        candidate: candidate && { start: candidate.start, end: candidate.end },
      }));
      this.show();
    }

    remove(at) {
      this.errors.splice(at, 1);
      this.show();
      this.changed();
      (byId("errors").querySelector("button") || this.reports.candidate.element).focus();
    }

    show() {
      const list = byId("errors");
      list.replaceChildren();
      byId("no-errors").hidden = this.errors.length > 0;
      for (const side of SIDES) {
        for (const piece of this.reports[side].pieces) {
          piece.classList.remove("omitted", "invented", "contradicted", "last");
          delete piece.dataset.mark;
        }
      }
      this.errors.forEach((error, at) => {
        const kind = this.kinds[error.kind];
        for (const side of SIDES.filter((each) => error[each])) {
          const covered = this.reports[side].covered(error[side]);
          covered.forEach((piece) => {
            piece.classList.add(kind.dataset.look);
            piece.dataset.mark = at + 1;
          });
          if (covered.length) covered[covered.length - 1].classList.add("last");
        }
        list.append(this.line(error, kind, at));
      });
    }

    line(error, kind, at) {
      const item = document.createElement("li");
      const severity = this.window.querySelector(`[name=severity][value="${error.severity}"]`);
      const [what, how] = [kind.textContent.split(":")[0], severity.dataset.name];
      const chip = document.createElement("span");
      chip.className = `severity ${how}`;
      chip.textContent = how;
      const words = document.createElement("span");
      words.append(`${what}, `, chip, `; ${this.quoted(error)} `);
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Remove";
      button.setAttribute("aria-label", `Remove error ${at + 1}: ${what}, ${how}`);
      button.addEventListener("click", () => this.remove(at));
      item.append(words, button);
      return item;
    }
  }

  window.StudyMarks = Marks;
})();
