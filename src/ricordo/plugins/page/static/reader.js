// Reading a text: a short look at what a link leads to, and keys for the next and the previous passage.
(function () {
  "use strict";
  var WAIT = 250;
  var timer = 0;
  var request = null;
  var box = null;
  var shownFor = null;

  function place(link) {
    var at = link.getBoundingClientRect();
    var width = Math.min(420, window.innerWidth - 24);
    box.style.width = width + "px";
    box.style.left = Math.max(12, Math.min(at.left, window.innerWidth - width - 12)) + "px";
    var below = window.innerHeight - at.bottom > 260 || at.top < 260;
    box.style.top = below ? at.bottom + 6 + "px" : "auto";
    box.style.bottom = below ? "auto" : window.innerHeight - at.top + 6 + "px";
  }

  function hide() {
    clearTimeout(timer);
    if (request) request.abort();
    request = null;
    shownFor = null;
    if (box) box.remove();
    box = null;
  }

  function show(link) {
    hide();
    shownFor = link;
    timer = setTimeout(function () {
      request = new AbortController();
      var address = "/peek?small=true&ref=" + encodeURIComponent(link.dataset.peek);
      fetch(address, { headers: { "HX-Request": "true" }, signal: request.signal })
        .then(function (answer) {
          return answer.ok && answer.headers.get("X-Ricordo-Part") === "peek" ? answer.text() : "";
        })
        .then(function (html) {
          if (!html || shownFor !== link) return;
          box = document.createElement("div");
          box.className = "hover-peek";
          box.setAttribute("role", "tooltip");
          box.innerHTML = html;
          (document.getElementById("main") || document.body).appendChild(box); // what a page says stands in its landmarks
          place(link);
        })
        .catch(function () {
          // The link still leads there.
        });
    }, WAIT);
  }

  function linkOf(event) {
    return event.target.closest ? event.target.closest("a[data-peek]") : null;
  }

  // The outline of a long text shows where one is.
  function showPlace() {
    var current = document.querySelector(".outline [aria-current]");
    var outline = document.querySelector(".outline");
    if (current && outline) outline.scrollTop = current.offsetTop - outline.clientHeight / 2;
  }
  showPlace();
  document.body.addEventListener("ricordo:shown", function () {
    hide();
    showPlace();
  });

  ["mouseover", "focusin"].forEach(function (name) {
    document.addEventListener(name, function (event) {
      var link = linkOf(event);
      if (link && link !== shownFor) show(link);
      else if (!link && shownFor && !(box && box.contains(event.target))) hide();
    });
  });
  document.addEventListener("scroll", function () { if (box) hide(); }, { passive: true });

  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") hide();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    var steps = { n: "after", p: "before" };
    var step = steps[event.key] && document.querySelector("[data-step=" + steps[event.key] + "]");
    if (step) location.replace(step.href);
  });

  // Steps from passage to passage are one visit, so that Back leads to the hits.
  document.addEventListener("click", function (event) {
    var step = event.target.closest && event.target.closest("[data-step]");
    if (!step || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    location.replace(step.href);
  });
})();
