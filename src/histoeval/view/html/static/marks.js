// What belongs together lights up together: inside an element with data-marks, all elements that
// share a key of data-mark. Pointing and focus light up for as long as they last, a click until
// the next one or Escape.
(() => {
  "use strict";

  const keysOf = (element) => (element.dataset.mark || "").split(" ").filter(Boolean);

  function light(container, keys) {
    for (const each of container.querySelectorAll("[data-mark]")) {
      each.classList.toggle("lit", keysOf(each).some((key) => keys.includes(key)));
    }
  }

  function pinned(container) {
    return (container.dataset.pinned || "").split(" ").filter(Boolean);
  }

  function found(event) {
    const marked = event.target.closest ? event.target.closest("[data-mark]") : null;
    const container = marked && marked.closest("[data-marks]");
    return container ? { marked, container } : null;
  }

  function show(event) {
    const here = found(event);
    if (here) light(here.container, keysOf(here.marked));
  }

  function rest(event) {
    const here = found(event);
    if (here) light(here.container, pinned(here.container));
  }

  function choose(event) {
    const here = found(event);
    if (!here) return;
    const { marked, container } = here;
    const keys = keysOf(marked);
    const again = container.dataset.pinned === keys.join(" ");
    container.dataset.pinned = again ? "" : keys.join(" ");
    light(container, again ? [] : keys);
    if (again || marked.closest(".text")) return;
    const mark = [...container.querySelectorAll(".text mark.lit")][0];
    if (mark) mark.scrollIntoView({ block: "nearest" });
  }

  function forget(event) {
    if (event.key !== "Escape") return;
    for (const container of document.querySelectorAll("[data-marks]")) {
      container.dataset.pinned = "";
      light(container, []);
    }
  }

  document.addEventListener("mouseover", show);
  document.addEventListener("mouseout", rest);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", rest);
  document.addEventListener("click", choose);
  document.addEventListener("keydown", forget);
})();
