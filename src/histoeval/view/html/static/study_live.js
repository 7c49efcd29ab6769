/* The coordinator's page looks for new ratings now and then, while it is looked at. */
"use strict";
(() => {
  const EVERY = 15000;

  async function refresh() {
    if (document.hidden || document.getElementById("live").contains(document.activeElement)) return;
    try {
      const answer = await fetch(location.pathname);
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.getElementById("live").replaceWith(fresh.getElementById("live"));
    } catch {
      /* the server is away: what is shown stays, and the next look may find it back */
    }
  }

  setInterval(refresh, EVERY);
})();
