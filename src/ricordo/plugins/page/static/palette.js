// The command palette, by Ctrl-K: pages, things to do, settings, tags and items by a few letters.
(function () {
  "use strict";
  var dialog = document.getElementById("palette");
  if (!dialog) return;
  var field = document.getElementById("palette-words");
  var list = document.getElementById("palette-list");
  var serial = 0, timer = 0, at = 0, waiting = false;

  function rows() { return Array.prototype.slice.call(list.querySelectorAll(".choice")); }

  function mark(next) {
    var all = rows();
    at = Math.max(0, Math.min(all.length - 1, next));
    all.forEach(function (one, place) { one.setAttribute("aria-selected", String(place === at)); });
    if (all[at]) {
      field.setAttribute("aria-activedescendant", all[at].id);
      all[at].scrollIntoView({ block: "nearest" });
    }
  }

  function run(row) {
    if (!row) return;
    dialog.close();
    if (row.dataset.href) location.href = row.dataset.href;
    else if (row.dataset.press) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: row.dataset.press, bubbles: true }));
  }

  function ask() {
    var asked = ++serial;
    var item = document.querySelector("[data-item]");
    var query = "q=" + encodeURIComponent(field.value) + (item ? "&ref=" + encodeURIComponent(item.dataset.item) : "");
    if (waiting !== "run") waiting = true;
    fetch("/palette?" + query, { headers: { "HX-Request": "true" } })
      .then(function (answer) { return answer.text(); })
      .then(function (html) {
        if (asked !== serial) return;
        list.innerHTML = html; // the server's own template, in which every text is escaped
        mark(0);
        var isWanted = waiting === "run";
        waiting = false;
        if (isWanted) run(rows()[0]);
      })
      .catch(function () {
        waiting = false;
        list.textContent = "The server does not answer.";
      });
  }

  function open() {
    if (dialog.open) return dialog.close();
    field.value = "";
    dialog.showModal();
    field.focus();
    ask();
  }

  document.addEventListener("keydown", function (event) {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  document.addEventListener("click", function (event) {
    if (event.target.closest && event.target.closest("[data-palette]")) open();
    if (event.target === dialog) dialog.close();
  });
  field.addEventListener("input", function () {
    clearTimeout(timer);
    serial++;
    waiting = true; // Enter before the answer runs the first choice of the answer
    timer = setTimeout(ask, 90);
  });
  field.addEventListener("keydown", function (event) {
    if (event.key === "ArrowDown") mark(at + 1);
    else if (event.key === "ArrowUp") mark(at - 1);
    else if (event.key === "Enter") {
      if (waiting) waiting = "run";
      else run(rows()[at]);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("click", function (event) {
    var row = event.target.closest(".choice");
    if (row) run(row);
  });
})();
