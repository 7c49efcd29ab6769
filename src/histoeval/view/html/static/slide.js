// A slide in deep zoom: the heatmap of a claim over it, and marks where tiles speak for or against.
(function () {
  "use strict";
  const page = document.getElementById("slide");
  if (!page || !page.dataset.width) return;

  const facts = page.dataset;
  const size = { width: Number(facts.width), height: Number(facts.height) };
  const $ = (id) => document.getElementById(id);
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const view = $("view");
  const marks = $("marks");
  const heat = $("heat");
  const scale = $("scale");
  const opacity = $("opacity");

  // OpenSeadragon writes a rule for focus into the page unless it finds one there, and the policy of
  // the page forbids that. This element is no stylesheet, and keeps it from trying.
  const sign = document.createElementNS("urn:histoeval", "style");
  sign.setAttribute("data-openseadragon-mobile-css", "true");
  document.head.append(sign);

  const viewer = window.OpenSeadragon({
    element: $("tiles"),
    drawer: "canvas",
    showNavigationControl: false,
    showNavigator: true,
    navigatorId: "overview",
    gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: true },
    animationTime: calm ? 0 : 0.6,
    maxZoomPixelRatio: 4,
    minZoomImageRatio: 0.8,
    visibilityRatio: 0.4,
    imageLoaderLimit: 4,
    timeout: 120000,
    tileSources: {
      width: size.width,
      height: size.height,
      tileSize: Number(facts.side),
      tileOverlap: 0,
      minLevel: Number(facts.minLevel),
      maxLevel: Number(facts.maxLevel),
      getTileUrl: (level, column, row) => `${facts.address}/tile/${level}/${column}/${row}.jpg`,
    },
  });

  const surface = viewer.canvas;
  surface.setAttribute("role", "img");
  surface.setAttribute("aria-label", `Slide ${facts.name}. Arrow keys move, plus and minus zoom.`);
  viewer.addHandler("canvas-key", (event) => {
    if ("rRfF".includes(event.originalEvent.key)) event.preventDefaultAction = true;
  });
  viewer.addHandler("tile-load-failed", (event) => {
    if (event.message !== "Image load aborted.") tell("Some parts of this slide cannot be read.");
  });
  viewer.addHandler("open-failed", () => tell("This slide cannot be shown."));

  function tell(problem) {
    $("trouble").textContent = problem;
    $("trouble").hidden = false;
  }

  // --- claims and their marks ----------------------------------------------------------------

  function box(text) {
    if (!text) return null;
    const [x, y, width, height] = text.split(",").map(Number);
    return { x, y, width, height };
  }

  const claims = [...document.querySelectorAll("#claims > li")].map((item) => ({
    item,
    number: Number(item.dataset.claim),
    phrase: item.querySelector("h3").textContent.trim().replace(/^\d+\s+/, ""),
    hasHeat: "heat" in item.dataset,
    spot: box(item.dataset.spot),
    against: box(item.dataset.against),
  }));
  const words = { spot: "Best tile for", against: "Best tile against" };
  let chosen = null;

  const pins = [];
  const taken = new Map();
  for (const claim of claims) {
    for (const kind of ["spot", "against"]) {
      if (!claim[kind]) continue;
      const pin = document.createElement("button");
      pin.type = "button";
      pin.className = `pin ${kind}`;
      pin.textContent = String(claim.number);
      pin.setAttribute("aria-label", `${words[kind]} claim ${claim.number}, ${claim.phrase}`);
      pin.addEventListener("click", () => choose(claim, kind, "mark"));
      const key = `${claim[kind].x},${claim[kind].y}`;
      const shift = taken.get(key) || 0;
      taken.set(key, shift + 1);
      pins.push({ pin, claim, kind, shift });
      marks.append(pin);
    }
  }
  const frames = ["against", "spot"].map((kind) => {
    const frame = document.createElement("div");
    frame.className = `frame ${kind}`;
    frame.hidden = true;
    marks.prepend(frame);
    return { frame, kind };
  });

  function choose(claim, kind, by) {
    chosen = claim;
    for (const other of claims) {
      other.item.classList.toggle("chosen", other === claim);
      for (const button of other.item.querySelectorAll("button.go")) {
        button.setAttribute("aria-pressed", String(other === claim && button.dataset.kind === kind));
      }
    }
    for (const each of pins) each.pin.classList.toggle("chosen", each.claim === claim && each.kind === kind);
    claim.item.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
    if (by === "mark") {
      const button = claim.item.querySelector(`button[data-kind="${kind}"]`);
      if (button) button.focus({ preventScroll: true });
    } else if (claim[kind]) {
      go(claim[kind]);
    }
    $("said").textContent = claim[kind]
      ? `${words[kind]} claim ${claim.number}, ${claim.phrase}`
      : `Claim ${claim.number}, ${claim.phrase}, has no place on this slide`;
    showHeat(claim);
    draw();
  }

  function go(place) {
    const around = { x: place.width * 1.2, y: place.height * 1.2 };
    const rectangle = viewer.viewport.imageToViewportRectangle(
      place.x - around.x, place.y - around.y, place.width + 2 * around.x, place.height + 2 * around.y,
    );
    viewer.viewport.fitBounds(rectangle, calm);
  }

  for (const claim of claims) {
    for (const button of claim.item.querySelectorAll("button.go")) {
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => choose(claim, button.dataset.kind, "claim"));
    }
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#claim-"]');
    if (link) chooseByHash(link.getAttribute("href"));
  });
  const list = $("claims");
  if (list) {
    list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || !event.target.matches("button.go")) return;
      const all = [...list.querySelectorAll(`button.go[data-kind="${event.target.dataset.kind}"]`)];
      const next = all[all.indexOf(event.target) + step];
      if (next) next.focus();
      event.preventDefault();
    });
  }

  function chooseByHash(hash) {
    const claim = claims.find((each) => `#${each.item.id}` === hash);
    if (claim) choose(claim, claim.spot ? "spot" : "against", "claim");
  }

  // --- heatmap -------------------------------------------------------------------------------

  const stops = facts.colours.split(";").map((each) => each.split(",").map(Number));
  const palette = Array.from({ length: 256 }, (_, step) => {
    const place = (step / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const mixed = stops[low].map((part, n) => Math.round(part + (stops[low + 1][n] - part) * (place - low)));
    return `rgb(${mixed.join(",")})`;
  });
  const bar = $("colours");
  if (bar) {
    const pen = bar.getContext("2d");
    palette.forEach((colour, step) => {
      pen.fillStyle = colour;
      pen.fillRect(step, 0, 1, 1);
    });
  }

  let patches = null;
  const shares = new Map();
  let shown = null;

  async function fetched(address) {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  }

  async function showHeat(claim) {
    if (!opacity) return;
    if (!claim.hasHeat) {
      shown = null;
      $("heat-of").textContent = `Claim ${claim.number} was not looked for tile by tile, so it has no heatmap.`;
      return;
    }
    try {
      patches = patches || (await fetched(`${facts.address}/patches.json`)).spots;
      if (!shares.has(claim)) shares.set(claim, (await fetched(`${facts.address}/heat/${claim.number}.json`)).shares);
    } catch {
      tell("The heatmap could not be loaded. Is the server still running?");
      return;
    }
    if (chosen !== claim) return;
    shown = shares.get(claim);
    $("heat-of").textContent = `Where the slide looks like claim ${claim.number}: ${claim.phrase}.`;
    heat.dataset.claim = String(claim.number);
    draw();
  }

  if (opacity) {
    const set = () => {
      heat.style.opacity = String(opacity.value / 100);
      $("opacity-said").textContent = `${opacity.value} %`;
    };
    opacity.addEventListener("input", set);
    set();
  }

  // --- drawing -------------------------------------------------------------------------------

  function draw() {
    if (!viewer.viewport || !viewer.world.getItemCount()) return;
    const corner = viewer.viewport.imageToViewerElementCoordinates(new window.OpenSeadragon.Point(0, 0));
    const far = viewer.viewport.imageToViewerElementCoordinates(new window.OpenSeadragon.Point(size.width, 0));
    const zoom = (far.x - corner.x) / size.width;
    drawHeat(corner, zoom);
    for (const { pin, claim, kind, shift } of pins) {
      const place = claim[kind];
      const x = corner.x + (place.x + place.width / 2) * zoom + shift * 28;
      const y = corner.y + (kind === "spot" ? place.y : place.y + place.height) * zoom;
      const inside = x >= 0 && y >= 0 && x <= view.clientWidth && y <= view.clientHeight;
      pin.style.visibility = inside ? "visible" : "hidden";
      pin.style.transform = `translate(${x}px, ${y}px)`;
    }
    for (const { frame, kind } of frames) {
      const place = chosen && chosen[kind];
      frame.hidden = !place;
      if (!place) continue;
      frame.style.transform = `translate(${corner.x + place.x * zoom}px, ${corner.y + place.y * zoom}px)`;
      frame.style.width = `${Math.max(6, place.width * zoom)}px`;
      frame.style.height = `${Math.max(6, place.height * zoom)}px`;
    }
    drawScale(zoom);
  }

  function drawHeat(corner, zoom) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(view.clientWidth * ratio);
    const height = Math.round(view.clientHeight * ratio);
    if (heat.width !== width || heat.height !== height) {
      heat.width = width;
      heat.height = height;
    }
    const pen = heat.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (!shown || !patches) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    patches.forEach(([x, y, w, h], place) => {
      const left = corner.x + x * zoom;
      const top = corner.y + y * zoom;
      const across = Math.max(1.5, w * zoom);
      const down = Math.max(1.5, h * zoom);
      if (left + across < 0 || top + down < 0 || left > view.clientWidth || top > view.clientHeight) return;
      pen.fillStyle = palette[shown[place]];
      pen.fillRect(left, top, across, down);
    });
  }

  function drawScale(zoom) {
    const microns = Number(facts.mpp);
    if (!(microns > 0) || !(zoom > 0)) return;
    const wanted = (120 / zoom) * microns;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const nice = [5, 2, 1].find((each) => each * power <= wanted) * power;
    scale.hidden = false;
    scale.style.width = `${(nice / microns) * zoom}px`;
    scale.firstElementChild.textContent = nice >= 1000 ? `${nice / 1000} mm` : `${nice} µm`;
  }

  for (const name of ["open", "update-viewport", "resize", "animation-finish"]) viewer.addHandler(name, draw);
  viewer.addOnceHandler("open", () => {
    page.dataset.ready = "";
    if (location.hash) chooseByHash(location.hash);
  });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const act = {
        in: () => viewer.viewport.zoomBy(2),
        out: () => viewer.viewport.zoomBy(0.5),
        whole: () => viewer.viewport.goHome(calm),
      }[button.dataset.zoom];
      act();
      viewer.viewport.applyConstraints();
    });
  }
})();
