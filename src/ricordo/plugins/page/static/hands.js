// Forms and keys that every page shares: a warning about unsaved edits, fields that find an item, decisions by one key,
// and the page that is shown while the server is away.
(function () {
  "use strict";
  function isTyping(target) {
    return /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
  }

  // Whoever leaves a page with an edit that was not saved is asked first.
  var unsaved = false;
  document.addEventListener("input", function (event) {
    if (event.target.closest && event.target.closest("form.edit, form[data-guards], #write")) unsaved = true;
  });
  document.addEventListener("submit", function () { unsaved = false; });
  document.addEventListener("click", function (event) {
    var away = event.target.closest && event.target.closest("form.edit a.quiet, form[data-guards] a.quiet");
    if (away) unsaved = false; // "Cancel" says it
  });
  window.addEventListener("beforeunload", function (event) {
    if (unsaved) event.preventDefault();
  });

  // A field that holds a ref lists the items that its words find; one of them is chosen by key or hand.
  function pick(field) {
    var list = document.createElement("ul");
    var timer = 0, serial = 0, at = -1;
    list.className = "picks";
    list.id = (field.id || field.name) + "-picks";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Items");
    list.hidden = true;
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-controls", list.id);
    field.setAttribute("aria-expanded", "false");
    field.insertAdjacentElement("afterend", list);

    function open(isOpen) {
      list.hidden = !isOpen;
      field.setAttribute("aria-expanded", String(isOpen));
      at = -1;
    }
    function rows() { return Array.prototype.slice.call(list.querySelectorAll(".choice")); }
    function mark(next) {
      var all = rows();
      if (!all.length) return;
      at = Math.max(0, Math.min(all.length - 1, next));
      all.forEach(function (one, place) { one.setAttribute("aria-selected", String(place === at)); });
      all[at].scrollIntoView({ block: "nearest" });
    }
    function take(row) {
      field.value = row.dataset.value;
      open(false);
      field.focus();
    }
    field.addEventListener("input", function () {
      clearTimeout(timer);
      var asked = ++serial;
      timer = setTimeout(function () {
        if (!field.value.trim()) return open(false);
        fetch("/pick?q=" + encodeURIComponent(field.value), { headers: { "HX-Request": "true" } })
          .then(function (answer) { return answer.text(); })
          .then(function (html) {
            if (asked !== serial) return;
            list.innerHTML = html; // the server's own template, in which every text is escaped
            open(true);
          })
          .catch(function () { open(false); });
      }, 150);
    });
    field.addEventListener("keydown", function (event) {
      if (list.hidden) return;
      if (event.key === "ArrowDown") mark(at + 1);
      else if (event.key === "ArrowUp") mark(at - 1);
      else if (event.key === "Enter" && rows().length) take(rows()[Math.max(0, at)]);
      else if (event.key === "Escape") open(false);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    list.addEventListener("pointerdown", function (event) {
      var row = event.target.closest(".choice");
      event.preventDefault();
      if (row) take(row);
    });
    field.addEventListener("blur", function () { open(false); });
  }

  // Lists in which each entry is decided by one key: the entry with the focus, or the first that is undecided.
  function decisions() {
    return Array.prototype.slice.call(document.querySelectorAll(".decision")).filter(function (one) {
      return one.querySelector("[data-key]");
    });
  }
  function currentDecision() {
    var holder = document.activeElement && document.activeElement.closest(".decision");
    return holder && holder.querySelector("[data-key]") ? holder : decisions()[0];
  }
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "[" || event.key === "]") {
      // In a timeline, brackets go to the day before and after.
      var heads = Array.prototype.slice.call(document.querySelectorAll("[data-day]"));
      var seen = heads.filter(function (one) { return one.getBoundingClientRect().top < 90; }).length - 1;
      var head = heads[Math.max(0, Math.min(heads.length - 1, seen + (event.key === "]" ? 1 : -1)))];
      if (head) head.scrollIntoView({ block: "start" });
      return;
    }
    var all = decisions();
    if (all.length) {
      var now = currentDecision(), place = all.indexOf(now);
      var isOn = document.activeElement && document.activeElement.closest(".decision") === now;
      if (event.key === "j") all[isOn ? Math.min(all.length - 1, place + 1) : 0].focus();
      else if (event.key === "k") all[Math.max(0, place - 1)].focus();
      else {
        var button = now.querySelector("[data-key='" + CSS.escape(event.key) + "']");
        if (button) button.click();
      }
      return;
    }
    // One key at a question in a list writes its answer down.
    var question = document.activeElement && document.activeElement.closest(".question");
    var does = question && question.querySelector("[data-key='" + CSS.escape(event.key) + "']");
    if (does) does.click();
  });
  document.body.addEventListener("htmx:afterSwap", function (event) {
    if (event.target.classList.contains("decision") && decisions().length) decisions()[0].focus();
  });

  // For ten minutes after a change, a bar offers to undo it: on the page that follows, too.
  var CHANGED = "ricordo-changed", SAID = "ricordo-said", TEN_MINUTES = 600000;
  var done = document.getElementById("done");
  function keep(name, value) {
    try {
      if (value === null) sessionStorage.removeItem(name);
      else sessionStorage.setItem(name, value);
    } catch (problem) {
      // Then the bar is not shown on the next page.
    }
  }
  function kept(name) {
    try {
      return sessionStorage.getItem(name);
    } catch (problem) {
      return null;
    }
  }
  var offers = 0;
  function withdrawOffers() {
    // Only the last change is offered to be undone, and none while another one is made.
    offers++;
    document.querySelectorAll("[data-undo]").forEach(function (button) { (button.closest("[data-offer]") || button).remove(); });
  }
  function offerUndo() {
    if (!done) return;
    var offer = ++offers;
    fetch("/undo", { headers: { "HX-Request": "true" } })
      .then(function (answer) { return answer.ok ? answer.text() : ""; })
      .then(function (html) {
        if (offer !== offers) return; // something else was changed since
        withdrawOffers();
        var part = document.createElement("template");
        part.innerHTML = html; // the server's own template, in which every text is escaped
        var button = part.content.querySelector("[data-undo]");
        var banner = done.querySelector(".banner:not(.undone):last-child");
        if (!button) keep(CHANGED, null);
        else if (banner) banner.append(" ", button);
        else done.append(part.content);
      })
      .catch(function () { /* the next page asks again */ });
  }
  function undo(button) {
    button.disabled = true;
    fetch("/undo", { method: "POST", body: new URLSearchParams({ step: button.dataset.undo }), headers: { "HX-Request": "true" } })
      .then(function (answer) { return answer.text(); })
      .then(function (html) {
        done.innerHTML = html; // the server's own template, in which every text is escaped
        if (done.querySelector(".banner.bad")) return;
        keep(SAID, done.textContent.trim());
        location.reload(); // then the change before it is offered
      });
  }
  document.addEventListener("submit", function (event) {
    if (event.target.method === "post") keep(CHANGED, String(Date.now()));
  });
  document.body.addEventListener("htmx:beforeRequest", function (event) {
    if (event.detail.requestConfig.verb === "post") withdrawOffers();
  });
  document.body.addEventListener("ricordo:changed", function () {
    keep(CHANGED, String(Date.now()));
    offerUndo();
  });
  document.body.addEventListener("htmx:afterRequest", function (event) {
    if (event.detail.requestConfig.verb === "post" && event.detail.successful) offerUndo();
  });
  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest("[data-undo]");
    if (button) undo(button);
  });
  document.addEventListener("keydown", function (event) {
    if (event.key !== "u" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    var button = document.querySelector("[data-undo]");
    if (button) undo(button);
  });
  if (done && kept(SAID)) {
    var said = document.createElement("p");
    said.className = "banner good undone";
    said.setAttribute("role", "status");
    said.textContent = kept(SAID);
    done.append(said);
    keep(SAID, null);
  }
  if (Date.now() - Number(kept(CHANGED) || 0) < TEN_MINUTES) offerUndo();

  // A setting that an address names is shown, also where its section is closed.
  function showTarget() {
    var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    var section = target.closest("details");
    if (section) section.open = true;
    target.scrollIntoView({ block: "center" });
    if (target.matches("input, select, textarea")) target.focus();
    else if (target.matches("form")) (target.querySelector("textarea") || target).focus();
  }

  // Parts that take a moment are asked for when the page is there; whoever leaves before needs no answer.
  document.querySelectorAll("[data-loads]").forEach(function (part) {
    fetch(part.dataset.loads, { headers: { "HX-Request": "true" } })
      .then(function (answer) { return answer.ok ? answer.text() : ""; }) // an error is no part of the page
      .then(function (html) { part.innerHTML = html; }) // the server's own template, in which every text is escaped
      .catch(function () { /* the page is left, or the server is away */ });
  });
  document.querySelectorAll("[data-picks]").forEach(pick);
  window.addEventListener("hashchange", showTarget);
  // Browsers go to the target when the page is complete, and take the focus away then.
  window.addEventListener("load", function () { setTimeout(showTarget, 0); });
  if ("serviceWorker" in navigator && window.isSecureContext) {
    navigator.serviceWorker.register("/static/away.js", { scope: "/" }).catch(function () {
      // Without it the browser shows its own page while the server is away.
    });
  }
})();
