// Opens a hit without loading a whole page anew: the item takes the place of the hits, and Back puts them back as they were.
// Of a long text, the part around the passage is shown first.
// Whatever else an answer is (a session, the page to sign in, an error) is opened as a page of its own, as every link is.
(function () {
  "use strict";
  var main = document.getElementById("main");
  var kept = null; // the hits, while an item is shown in their place
  var shown = here();
  var request = null;

  function here() {
    return location.pathname + location.search;
  }

  function busy(is) {
    var sign = document.getElementById("busy");
    if (sign) sign.classList.toggle("htmx-request", is);
  }

  // The other scripts look at what is there now.
  function tell() {
    document.body.dispatchEvent(new CustomEvent("ricordo:shown"));
  }

  // Whoever opens a hit at once has settled on the question, too.
  function settle() {
    var waiting = document.querySelector("[hx-get='/settled']");
    if (!waiting) return;
    var question = new URLSearchParams(JSON.parse(waiting.getAttribute("hx-vals")));
    waiting.remove();
    fetch("/settled?" + question, { headers: { "HX-Request": "true" } }).catch(function () { /* the server is away */ });
  }

  function keep(link) {
    settle();
    var current = document.querySelector("#menu [aria-current]");
    kept = { address: here(), title: document.title, top: window.scrollY, link: link, current: current, nodes: Array.from(main.childNodes) };
    if (current) current.removeAttribute("aria-current");
    // The library for parts of pages would ask the server for the hits again.
    var state = Object.assign({}, history.state);
    delete state.htmx;
    state.opened = true;
    history.replaceState(state, "", location.href);
  }

  function show(page, address) {
    history.pushState({ item: true }, "", address);
    shown = here();
    document.title = page.title;
    main.replaceChildren.apply(main, Array.from(page.getElementById("main").childNodes));
    window.htmx.process(main);
    main.focus({ preventScroll: true });
    tell();
    var target = location.hash && document.getElementById(location.hash.slice(1));
    if (target) target.scrollIntoView({ block: "center" });
    else window.scrollTo(0, 0);
  }

  function pageIn(html) {
    return new DOMParser().parseFromString(html, "text/html"); // the server's own template; nothing in it is run
  }

  function ask(address, part) {
    request = new AbortController();
    return fetch(address, { headers: { "X-Ricordo-Part": part }, signal: request.signal })
      .then(function (answer) { return answer.ok && !answer.redirected ? answer.text() : ""; });
  }

  function top(element) {
    return element ? element.getBoundingClientRect().top : 0;
  }

  // All of a long text takes the place of its part, under the eyes of whoever reads the passage already.
  function takeIn(page) {
    var whole = page.querySelector("#main > article.item > .view");
    var part = main.querySelector("article.item > .view");
    if (!whole || !part || !part.querySelector("[data-rest]")) return;
    var focused = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
    var before = top(document.getElementById("passage"));
    part.replaceWith(whole);
    tell();
    if (focused) Array.from(whole.querySelectorAll("a")).some(function (one) {
      if (one.getAttribute("href") !== focused) return false;
      one.focus({ preventScroll: true });
      return true;
    });
    window.scrollBy({ top: top(document.getElementById("passage")) - before, behavior: "instant" });
  }

  // Laying out a long text takes several times as long as its passage does, so it waits until that is painted.
  function complete(address) {
    var part = main.querySelector("[data-rest]");
    if (!part) return;
    requestAnimationFrame(function () {
      setTimeout(function () {
        if (!part.isConnected) return;
        ask(address, "rest").then(function (html) { takeIn(pageIn(html)); }).catch(function () {
          // The link to all of the text remains.
        });
      });
    });
  }

  function open(link) {
    var address = link.href;
    if (request) request.abort();
    busy(true);
    var asked = ask(address, "near");
    var own = request;
    asked
      .then(function (html) {
        if (own !== request) return;
        busy(false);
        var page = pageIn(html);
        if (!page.querySelector("#main > article.item")) {
          location.href = address;
          return;
        }
        keep(link);
        show(page, address);
        complete(address);
      })
      .catch(function (problem) {
        if (own !== request || problem.name === "AbortError") return;
        busy(false);
        location.href = address;
      });
  }

  function putBack() {
    main.replaceChildren.apply(main, kept.nodes);
    document.title = kept.title;
    if (kept.current) kept.current.setAttribute("aria-current", "page");
    shown = kept.address;
    var was = kept;
    kept = null;
    tell();
    var card = was.link.closest(".hit");
    (card ? card.querySelector(".open") : was.link).focus({ preventScroll: true });
    window.scrollTo(0, was.top);
  }

  document.addEventListener("click", function (event) {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    var link = event.target.closest && event.target.closest(".hit a[href^='/item']:not([href*='view=']), .pane .peek h2 a[href^='/item']");
    if (!link) return;
    event.preventDefault();
    open(link);
  });

  // Between hits and item the browser changes the address alone; also after the item was loaded as a page of its own.
  function follow() {
    var state = history.state || {};
    if (!(state.item || state.opened) || here() === shown) return;
    if (request) request.abort();
    if (kept && here() === kept.address) putBack();
    else location.reload();
  }
  window.addEventListener("popstate", follow);
  window.addEventListener("pageshow", function (event) { if (event.persisted) follow(); });
})();
