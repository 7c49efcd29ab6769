// Decide by keyboard: a accepts, s sends back, u takes back, y confirms that a rejected report is
// accepted, j and k go on and back. The reviewer's name is remembered in this tab.
(() => {
  "use strict";

  const form = document.getElementById("decide");
  const { reviewer, comment, confirmed } = form.elements;
  const keyed = "histoeval-reviewer";
  reviewer.value = reviewer.value || sessionStorage.getItem(keyed) || "";
  form.addEventListener("submit", () => sessionStorage.setItem(keyed, reviewer.value));

  const follow = (id) => {
    const link = document.getElementById(id);
    if (link) link.click();
  };
  const press = (decision) => {
    const button = form.querySelector(`[value=${decision}]`);
    if (button) button.click();
  };
  form.addEventListener("click", (event) => {
    if (!confirmed || event.target.name !== "decision") return;
    comment.required = confirmed.required = event.target.value === "accept";
  });
  const acts = {
    a: () => press("accept"),
    s: () => press("send_back"),
    u: () => press("reopen"),
    y: () => confirmed && confirmed.click(),
    j: () => follow("after"),
    k: () => follow("before"),
  };

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });
})();
