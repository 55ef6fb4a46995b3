// What the viewer does beyond plain pages: follow a run, take the secret out of the address bar, copy a link.
"use strict";

// The link's secret is in a cookie by now; the address need not show it.
const address = new URL(location.href);
if (address.searchParams.has("token")) {
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}

// The server renders the middle of a live page again whenever something happened, escaped like every page.
const live = document.querySelector("[data-follow]");
if (live) {
  const said = document.getElementById("following");
  const source = new EventSource(live.dataset.follow);
  said.textContent = "This page follows the run.";
  source.addEventListener("progress", (event) => {
    const made = new DOMParser().parseFromString(event.data, "text/html");
    live.replaceChildren(...made.body.childNodes);
    live.dataset.updates = String(Number(live.dataset.updates || 0) + 1);
    said.textContent = "This page follows the run.";
  });
  source.addEventListener("over", (event) => {
    source.close();
    said.textContent = "The run is no longer under way (" + event.data + "). Load the page again for what came of it.";
  });
  source.addEventListener("error", () => {
    said.textContent = "The viewer does not answer; trying again. Was it stopped?";
  });
}

const shared = document.getElementById("shared");
if (shared) {
  shared.addEventListener("focus", () => shared.select());
}
