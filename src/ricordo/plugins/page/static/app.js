// What the page does by itself: keys, the menu, light and dark, dropped files, live progress. Everything else is HTML.
(function () {
  "use strict";
  var root = document.documentElement;
  var current = -1;

  function all(selector, within) {
    return Array.prototype.slice.call((within || document).querySelectorAll(selector));
  }

  function isTyping(target) {
    return /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
  }

  function isDark() {
    if (root.dataset.theme) return root.dataset.theme === "dark";
    return window.matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function switchTheme() {
    var next = isDark() ? "light" : "dark";
    root.dataset.theme = next;
    try {
      localStorage.setItem("ricordo-theme", next);
    } catch (problem) {
      // It lasts as long as the page, then.
    }
  }

  function choices() {
    return all(".hit .open, .folder .open, .ranked .open, .question .open, .events .open, .home .open");
  }

  function choose(step) {
    var found = choices();
    if (!found.length) return;
    current = Math.max(0, Math.min(found.length - 1, current + step));
    found[current].focus();
    found[current].scrollIntoView({ block: "center", behavior: "auto" });
  }

  function openKeys() {
    var dialog = document.getElementById("keys");
    if (dialog && !dialog.open) dialog.showModal();
  }

  var goes = false;

  function place(key) {
    return /^[a-z]$/.test(key) && document.querySelector("[data-go='" + key + "']");
  }

  // What hangs open over the page, a menu or a few buttons, is closed by Escape and by a click elsewhere.
  function closeOpen(except) {
    all("details.drop[open]").forEach(function (one) { if (one !== except) one.open = false; });
    var button = document.querySelector(".menu-button[aria-expanded='true']");
    if (button && !except) button.click();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    var box = document.getElementById("q");
    if (isTyping(event.target)) {
      if (event.key === "Escape") {
        event.preventDefault(); // browsers would empty the search box
        event.target.blur();
      }
      if (event.key === "ArrowDown" && event.target === box && choices().length) {
        event.preventDefault();
        current = -1;
        choose(1);
      }
      return;
    }
    if (goes && place(event.key)) {
      goes = false;
      event.stopImmediatePropagation(); // the letter means nothing else now
      location.href = place(event.key).href;
      return;
    }
    goes = event.key === "g";
    if (event.key === "Escape") closeOpen();
    if (event.key === "/" ) {
      event.preventDefault();
      if (box) {
        box.focus();
        box.select();
      } else {
        location.href = "/";
      }
    } else if (event.key === "j") {
      choose(1);
    } else if (event.key === "k") {
      choose(-1);
    } else if (event.key === "?") {
      openKeys();
    } else if (event.key === "w" && current >= 0) {
      var card = choices()[current].closest("li");
      var why = card && card.querySelector("details.why");
      if (why) why.open = !why.open;
    } else if (event.key === "e") {
      var item = document.querySelector("[data-edit]");
      if (item) location.href = item.dataset.edit;
    }
  }

  function onFocus(event) {
    var at = choices().indexOf(event.target);
    if (at >= 0) current = at;
  }

  // A task tells how far it is until it is over; then its card is drawn again with its result.
  function follow(card) {
    if (card.dataset.followed || /^(done|failed)$/.test(card.dataset.state)) return;
    card.dataset.followed = "yes";
    var source = new EventSource("/api/v1/tasks/" + card.dataset.task + "/events");
    source.addEventListener("progress", function (event) {
      var progress = JSON.parse(event.data).progress;
      var bar = card.querySelector("progress");
      var words = card.querySelector(".task-words");
      if (!progress || !bar) return;
      if (progress.total) {
        bar.max = progress.total;
        bar.value = progress.done;
      }
      words.textContent = progress.phase + " " + progress.done + (progress.total ? " of " + progress.total : "") + (progress.label ? ", " + progress.label : "");
    });
    function over() {
      source.close();
      window.htmx.ajax("GET", "/task?id=" + card.dataset.task, { target: "#" + card.id, swap: "outerHTML" });
    }
    source.addEventListener("done", over);
    source.addEventListener("failed", over);
  }

  function followAll() {
    all("[data-task]").forEach(follow);
    if (document.querySelector("#tasks [data-task]")) all("#tasks .nothing").forEach(function (one) { one.remove(); });
  }

  function setUpDropping() {
    var zone = document.getElementById("drop");
    if (!zone) return;
    var input = zone.querySelector("input[type=file]");
    ["dragover", "dragenter"].forEach(function (name) {
      zone.addEventListener(name, function (event) {
        event.preventDefault();
        zone.classList.add("over");
      });
    });
    zone.addEventListener("dragleave", function () { zone.classList.remove("over"); });
    zone.addEventListener("drop", function (event) {
      event.preventDefault();
      zone.classList.remove("over");
      input.files = event.dataTransfer.files;
      if (input.files.length) zone.requestSubmit();
    });
  }

  function setUpMenu() {
    var button = document.querySelector(".menu-button");
    var menu = document.getElementById("menu");
    if (!button || !menu) return;
    document.body.classList.add("has-menu");
    button.addEventListener("click", function () {
      var open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      menu.classList.toggle("open", open);
    });
  }

  document.addEventListener("keydown", onKey);
  document.addEventListener("focusin", onFocus);
  document.addEventListener("click", function (event) {
    closeOpen((event.target.closest && event.target.closest("details.drop, .top")) || document.body);
    var opener = event.target.closest && event.target.closest("[data-opens]");
    if (opener) openKeys();
    if (event.target.closest && event.target.closest(".theme-button")) switchTheme();
  });
  document.addEventListener("input", function (event) {
    var label = event.target.type === "range" && event.target.closest("label");
    if (label) {
      var shown = label.querySelector("output");
      if (shown) shown.textContent = Number(event.target.value).toFixed(2);
    }
  });
  document.addEventListener("change", function (event) {
    if ("submits" in event.target.dataset) event.target.form.requestSubmit();
  });
  document.body.addEventListener("ricordo:shown", function () { current = -1; });
  document.body.addEventListener("htmx:afterSwap", function () {
    current = choices().indexOf(document.activeElement); // parts that come later, such as facets, leave it as it is
    followAll();
  });
  document.body.addEventListener("htmx:sendError", function () {
    var note = document.querySelector(".offline-note") || document.createElement("p");
    note.className = "offline-note banner bad";
    note.setAttribute("role", "alert");
    note.textContent = "The server does not answer. It may have been stopped.";
    document.body.appendChild(note);
  });
  document.body.addEventListener("htmx:afterOnLoad", function () {
    all(".offline-note").forEach(function (one) { one.remove(); });
  });
  // Who is signed out meanwhile sees how to sign in again.
  document.body.addEventListener("htmx:beforeSwap", function (event) {
    if (event.detail.xhr.status === 401) location.reload();
  });
  setUpMenu();
  setUpDropping();
  followAll();
})();
