// Shows the reports of one verdict, or all of them. A link to a report that is not shown brings all
// of them back.
(() => {
  "use strict";

  const bar = document.getElementById("verdicts");
  if (!bar) return;
  const buttons = [...bar.querySelectorAll("button")];
  const reports = [...document.querySelectorAll("[data-verdict]")];
  const said = document.getElementById("shown");

  function show(verdict) {
    let count = 0;
    for (const report of reports) {
      report.hidden = verdict !== "all" && report.dataset.verdict !== verdict;
      count += report.hidden ? 0 : 1;
    }
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.value === verdict));
    }
    said.textContent = `${count} of ${reports.length} reports shown`;
  }

  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const hidden = target && target.closest("[data-verdict][hidden]");
    if (!hidden) return;
    show("all");
    target.scrollIntoView();
  }

  for (const button of buttons) button.addEventListener("click", () => show(button.value));
  window.addEventListener("hashchange", follow);
  bar.hidden = false;
  show("all");
})();
