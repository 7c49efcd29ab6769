// Decide by keyboard: a accepts, s sends back, j and k go on and back. The reviewer's name is
// remembered in this tab.
(() => {
  "use strict";

  const form = document.getElementById("decide");
  const name = form.elements.reviewer;
  const keyed = "histoeval-reviewer";
  name.value = name.value || sessionStorage.getItem(keyed) || "";
  form.addEventListener("submit", () => sessionStorage.setItem(keyed, name.value));

  const follow = (id) => {
    const link = document.getElementById(id);
    if (link) link.click();
  };
  const decide = (decision) => form.requestSubmit(form.querySelector(`[value=${decision}]`));
  const acts = {
    a: () => decide("accept"),
    s: () => decide("send_back"),
    j: () => follow("after"),
    k: () => follow("before"),
  };

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });
})();
