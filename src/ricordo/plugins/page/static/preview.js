// The pane beside the hits: it shows the hit that has the focus. Back from an item leads to the hit it was opened from.
(function () {
  "use strict";
  var pane = document.getElementById("pane");
  var results = document.getElementById("results");
  if (!pane || !results) return;
  var hint = pane.innerHTML;
  var request = null;
  var wanted = "";

  function isWide() {
    return pane.offsetParent !== null;
  }

  function clear() {
    if (request) request.abort();
    request = null;
    wanted = "";
    pane.innerHTML = hint;
    pane.removeAttribute("aria-busy");
    mark(null);
  }

  function mark(card) {
    var before = results.querySelector(".hit.is-shown");
    if (before && before !== card) before.classList.remove("is-shown");
    if (card) card.classList.add("is-shown");
  }

  // Only the latest answer counts, and only if it is a preview: not a whole page, not the page to sign in.
  function show(link) {
    var address = link.dataset.look;
    if (!address || !isWide()) return;
    mark(link.closest(".hit"));
    if (address === wanted) return;
    wanted = address;
    if (request) request.abort();
    var own = (request = new AbortController());
    pane.setAttribute("aria-busy", "true");
    fetch(address, { headers: { "HX-Request": "true" }, signal: own.signal })
      .then(function (answer) {
        return answer.ok && answer.headers.get("X-Ricordo-Part") === "peek" ? answer.text() : null;
      })
      .then(function (html) {
        if (own !== request) return;
        pane.removeAttribute("aria-busy");
        if (html === null) {
          pane.textContent = "This hit cannot be shown here. Open it to see why.";
          return;
        }
        pane.innerHTML = html;
        pane.scrollTop = 0;
        var at = pane.querySelector("#passage");
        if (at) pane.scrollTop = Math.max(0, at.getBoundingClientRect().top - pane.getBoundingClientRect().top - 120);
      })
      .catch(function (problem) {
        if (own === request && problem.name !== "AbortError") clear();
      });
  }

  function hits() {
    return Array.prototype.slice.call(results.querySelectorAll(".hit"));
  }

  function remember(link) {
    var card = link.closest(".hit");
    var state = Object.assign({}, history.state, { hit: card.dataset.ref, hits: hits().length });
    history.replaceState(state, "", location.href);
  }

  function find(ref) {
    return hits().find(function (one) { return one.dataset.ref === ref; });
  }

  function comeBack(state) {
    var card = find(state.hit);
    if (card) {
      card.querySelector(".open").focus({ preventScroll: true });
      card.scrollIntoView({ block: "center" });
      return;
    }
    var more = results.querySelector(".more a");
    if (!more || hits().length >= state.hits) return;
    document.body.addEventListener("htmx:afterSettle", function () { comeBack(state); }, { once: true });
    more.click();
  }

  results.addEventListener("focusin", function (event) {
    if (event.target.matches(".hit .open")) show(event.target);
  });
  results.addEventListener("click", function (event) {
    var link = event.target.closest(".hit a[href^='/item']");
    if (link) remember(link);
    else if (!event.target.closest("a, button, summary, input, label") && event.target.closest(".hit") && isWide()) {
      event.target.closest(".hit").querySelector(".open").focus({ preventScroll: true });
    }
  });
  document.addEventListener("keydown", function (event) {
    var isHit = event.target.matches && event.target.matches(".hit .open");
    if (event.key !== " " || !isHit || !isWide() || !wanted) return;
    event.preventDefault();
    pane.scrollBy(0, (event.shiftKey ? -1 : 1) * pane.clientHeight * 0.8);
  });
  document.body.addEventListener("htmx:afterSwap", function (event) {
    if (event.detail.target === results) clear();
  });
  window.addEventListener("load", function () {
    var state = history.state;
    if (state && state.hit) comeBack(state);
  });
})();
