// What every page does by itself: parts that forms and links ask for, keys, undo, light and dark, dropped files, progress.
// All of it works without, too: forms and links then lead to pages.
(() => {
  "use strict";
  var root = document.documentElement, body = document.body, done = document.getElementById("done");

  function find(selector) { return document.querySelector(selector); }
  function all(selector, within) { return Array.from((within || document).querySelectorAll(selector)); }
  function isTyping(target) { return /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !/^(checkbox|radio|range)$/.test(target.type); }
  function quiet() { /* what failed was said, or the page is left */ }
  function tell(name) { body.dispatchEvent(new CustomEvent("ricordo:" + name)); }

  // Asks for a part of a page. Who is signed out meanwhile sees how to sign in again; a server that is away is named.
  function ask(address, options) {
    options = Object.assign({}, options);
    options.headers = Object.assign({ "X-Ricordo-Part": "yes" }, options.headers);
    return fetch(address, options).then(answer => {
      if (answer.status === 401) location.reload();
      all(".offline").forEach(one => { one.remove(); });
      return answer.text();
    }, problem => {
      if (problem.name !== "AbortError" && !find(".offline")) {
        var note = document.createElement("p");
        note.className = "offline banner bad";
        note.setAttribute("role", "alert");
        note.textContent = "The server does not answer. It may have been stopped.";
        body.append(note);
      }
      throw problem;
    });
  }

  // Puts the server's own templates, in which every text is escaped, into the page. Of a whole page, the same part is taken.
  function put(html, target, how) {
    var parsed = new DOMParser().parseFromString(html, "text/html");
    var same = target.id && parsed.getElementById(target.id);
    var nodes = same && how === "replace" ? [same] : Array.from((same || parsed.body).childNodes);
    if (how === "replace") target.replaceWith.apply(target, nodes);
    else if (how === "first") target.prepend.apply(target, nodes);
    else target.replaceChildren.apply(target, nodes);
    prepare();
    tell("shown");
  }
  function targetOf(from) {
    var into = from.dataset.into || "";
    if (into.startsWith("closest ")) return from.closest(into.slice(8));
    if (into.startsWith("find ")) return from.querySelector(into.slice(5));
    return into ? find(into) : from;
  }
  function load(part) {
    var address = part.dataset.loads;
    delete part.dataset.loads;
    setTimeout(() => {
      if (!part.isConnected) return;
      ask(address).then(html => {
        var target = part.isConnected && targetOf(part);
        if (target && !("settles" in part.dataset)) put(html, target, part.dataset.how);
      }).catch(quiet);
    }, Number(part.dataset.after || 0));
  }

  // A form with data-live answers while one types; the latest answer counts.
  var serials = new WeakMap(), timers = new WeakMap();
  function live(form) {
    clearTimeout(timers.get(form));
    var serial = (serials.get(form) || 0) + 1;
    serials.set(form, serial);
    timers.set(form, setTimeout(() => {
      var words = new URLSearchParams(new FormData(form)), target = targetOf(form), page = form.dataset.page;
      var address = target ? form.dataset.live : page;
      var asked = "post" in form.dataset ? ask(address, { method: "POST", body: words }) : ask(address + "?" + words);
      asked.then(html => {
        if (serials.get(form) !== serial) return;
        if (target) put(html, target);
        else arrive(html, form);
        if (page === "/") document.title = (words.get("q") || "Search") + " · Ricordo";
        if (page) history.replaceState(null, "", page + "?" + words);
      }).catch(quiet);
    }, Number(form.dataset.delay)));
  }
  // The first letters at home lead to the list of hits; what is typed meanwhile stays in the box.
  function arrive(html, form) {
    var typed = form.elements.q.value;
    put(html, document.getElementById("main"));
    var box = document.getElementById("q");
    box.value = typed;
    box.focus();
    box.setSelectionRange(typed.length, typed.length);
  }
  document.addEventListener("input", event => {
    var form = event.target.form;
    if (form && "live" in form.dataset && event.target.tagName !== "SELECT") live(form);
    var label = event.target.type === "range" && event.target.closest("label");
    if (label && label.querySelector("output")) label.querySelector("output").textContent = Number(event.target.value).toFixed(2);
    if (form && "guards" in form.dataset) unsaved = true;
  });
  document.addEventListener("change", event => {
    if ("submits" in event.target.dataset) event.target.form.requestSubmit();
    else if (event.target.form && "saves" in event.target.form.dataset) event.target.form.requestSubmit();
  });

  document.addEventListener("submit", event => {
    var form = event.target, button = event.submitter, isPost = form.method === "post";
    unsaved = false;
    if (isPost) withdraw();
    if (!("into" in form.dataset) || "live" in form.dataset) {
      if (isPost) keep(CHANGED, button && button.dataset.said || " ");
      return;
    }
    event.preventDefault();
    var given = new FormData(form, button);
    ask(form.action, { method: "POST", body: form.enctype.startsWith("multipart") ? given : new URLSearchParams(given) })
      .then(html => {
        if (button && "reloads" in button.dataset) return location.reload();
        put(html, targetOf(form), form.dataset.how);
        if ("saves" in form.dataset && !form.querySelector(".banner.bad")) refresh(form, html);
        if (form.dataset.into === "#saved") offer();
      }).catch(quiet);
  });
  // A setting that was saved says what it was before.
  function refresh(form, message) {
    var focused = document.activeElement.id;
    ask(location.href).then(html => {
      put(html, form);
      put(message, form.querySelector(".answer"));
      if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
    });
  }
  // Whoever leaves a page with an edit that was not saved is asked first.
  var unsaved = false;
  window.addEventListener("beforeunload", event => { if (unsaved) event.preventDefault(); });

  // One toast with one undo, that of the last step; after it, the step before.
  var CHANGED = "ricordo-changed", SECONDS = 10000, offers = 0, hiding = 0;
  function keep(name, value) { try { sessionStorage.setItem(name, value); } catch (problem) { /* then nothing is offered on the next page */ } }
  function taken(name) {
    try {
      var value = sessionStorage.getItem(name);
      sessionStorage.removeItem(name);
      return value;
    } catch (problem) { return null; }
  }
  function withdraw() {
    offers++;
    if (done) done.replaceChildren();
  }
  function hide() {
    clearTimeout(hiding);
    hiding = setTimeout(() => {
      if (done.matches(":hover, :focus-within")) hide();
      else done.replaceChildren();
    }, SECONDS);
  }
  function offer(words, andUndo) {
    if (!done || !body.hasAttribute("data-may-write")) return;
    var own = ++offers;
    ask("/undo").then(html => {
      if (own !== offers) return; // something else was changed since
      put(html, done);
      if (words && words.trim()) {
        var line = document.createElement("p");
        line.textContent = words;
        all("p", done).forEach(one => { one.remove(); });
        done.prepend(line);
      }
      hide();
      if (andUndo && done.querySelector("[data-undo]")) undo(done.querySelector("[data-undo]"));
    }).catch(quiet);
  }
  function undo(button) {
    button.disabled = true;
    ask("/undo", { method: "POST", body: new URLSearchParams({ step: button.dataset.undo }) }).then(html => {
      put(html, done);
      if (done.querySelector(".banner.bad")) return;
      keep(CHANGED, done.textContent.trim());
      unsaved = false;
      location.reload(); // then the change before it is offered
    });
  }
  function isFailure() { return find("main .banner.bad[role=alert]"); }

  // Keys. A key stands on its button (data-key), which is pressed by it; in a list, on the button of the row with the focus.
  var current = -1, goes = false;
  function choices() { return all("#main .open").filter(one => one.offsetParent); }
  function choose(step) {
    var found = choices();
    if (!found.length) return;
    current = Math.max(0, Math.min(found.length - 1, current + step));
    found[current].focus({ preventScroll: true });
    found[current].scrollIntoView({ block: "nearest" });
  }
  function step(by) {
    var rows = all(".queue a[data-ref]"), at = rows.findIndex(one => one.hasAttribute("aria-current"));
    if (rows[at + by]) location.href = rows[at + by].href;
  }
  function press(key) {
    var row = document.activeElement && document.activeElement.closest("#main li");
    var selector = "[data-key='" + CSS.escape(key) + "']";
    var button = row && row.querySelector(selector) || (find("#main .log") ? null : find("#main " + selector));
    if (button) button.click();
    return button;
  }
  function closeMenus(except) { all("details.menu[open]").forEach(one => { if (one !== except) one.open = false; }); }
  function showDay(by) {
    var heads = all("[data-day]");
    var seen = heads.filter(one => one.getBoundingClientRect().top < 90).length - 1;
    var head = heads[Math.max(0, Math.min(heads.length - 1, seen + by))];
    if (head) head.scrollIntoView({ block: "start" });
  }
  function onKey(event) {
    var box = document.getElementById("q"), key = event.key;
    var editing = find("form.edit");
    if ((event.ctrlKey || event.metaKey) && key === "Enter") {
      var save = find("[data-save]");
      if (save) save.click();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
    if (isTyping(event.target)) {
      if (key === "Escape") {
        event.preventDefault(); // browsers would empty the search box
        event.target.blur();
      } else if (key === "ArrowDown" && event.target === box && choices().length) {
        event.preventDefault();
        current = -1;
        choose(1);
      }
      return;
    }
    var place = goes && find("[data-go='" + CSS.escape(key) + "']");
    goes = !goes && key === "g";
    if (place) {
      event.stopImmediatePropagation(); // the letter means nothing else now
      location.href = place.href;
    } else if (key === "Escape") {
      closeMenus();
      if (editing) editing.querySelector("[data-cancel]").click();
    } else if (key === "/") {
      event.preventDefault();
      if (box) box.select();
      else location.href = "/";
    } else if (key === "j" || key === "k") {
      if (find(".queue")) step(key === "j" ? 1 : -1);
      else choose(key === "j" ? 1 : -1);
    } else if (key === "?") document.getElementById("keys").showModal();
    else if (key === "[" || key === "]") showDay(key === "]" ? 1 : -1);
    else if (key === "u") {
      var button = done && done.querySelector("[data-undo]");
      if (button) undo(button);
      else offer("", true);
    } else if (press(key)) event.preventDefault(); // a field that is opened by a key does not take it in
    else if (key === "n" || key === "p") {
      var passage = find("[data-step=" + (key === "n" ? "after" : "before") + "]");
      if (passage) passage.click();
    } else if (key === "w") {
      var why = find(".hit:focus-within .why, .hit[aria-current] .why");
      if (why) why.open = !why.open;
    } else if (key === "e" && find("[data-edit]")) location.href = find("[data-edit]").dataset.edit;
  }
  document.addEventListener("keydown", onKey);
  document.addEventListener("focusin", event => {
    var at = choices().indexOf(event.target);
    if (at >= 0) current = at;
  });
  body.addEventListener("ricordo:shown", () => { current = choices().indexOf(document.activeElement); });

  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches; }
  function switchTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("ricordo-theme", root.dataset.theme); } catch (problem) { /* it lasts as long as the page, then */ }
    tell("theme");
  }
  document.addEventListener("click", event => {
    var on = selector => event.target.closest && event.target.closest(selector);
    closeMenus(on("details.menu"));
    if (on("[data-keys]")) document.getElementById("keys").showModal();
    else if (on("[data-theme-switch]")) switchTheme();
    else if (on("[data-undo]")) undo(on("[data-undo]"));
    else if (on("[data-press]")) {
      closeMenus();
      body.dispatchEvent(new KeyboardEvent("keydown", { key: on("[data-press]").dataset.press, bubbles: true }));
    } else if (on("[data-cancel]")) unsaved = false;
    var link = on("a[data-into], a[data-opens-edit], a[data-step]:not([data-look])");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    if ("step" in link.dataset) location.replace(link.href); // steps from passage to passage are one visit
    else if ("opensEdit" in link.dataset) {
      var field = find("[data-edits]");
      field.hidden = false;
      field.querySelector("textarea").focus();
    } else {
      var target = targetOf(link);
      ask(link.href).then(html => { put(html, target, link.dataset.how); }).catch(quiet);
    }
  });

  // A task tells how far it is until it is over; then its card is drawn again with its result.
  function follow(card) {
    if (card.dataset.followed || /^(done|failed)$/.test(card.dataset.state)) return;
    card.dataset.followed = "yes";
    var source = new EventSource("/api/v1/tasks/" + card.dataset.task + "/events");
    source.addEventListener("progress", event => {
      var progress = JSON.parse(event.data).progress, bar = card.querySelector("progress");
      if (!progress || !bar) return;
      if (progress.total) {
        bar.max = progress.total;
        bar.value = progress.done;
      }
      card.querySelector(".task-words").textContent = progress.phase + " " + progress.done + (progress.total ? " of " + progress.total : "") + (progress.label ? ", " + progress.label : "");
    });
    ["done", "failed"].forEach(name => {
      source.addEventListener(name, () => {
        source.close();
        ask("/task?id=" + card.dataset.task).then(html => { put(html, card, "replace"); });
      });
    });
  }
  ["dragover", "dragenter", "dragleave", "drop"].forEach(name => {
    document.addEventListener(name, event => {
      var zone = event.target.closest && event.target.closest("#drop");
      if (!zone) return;
      event.preventDefault();
      zone.classList.toggle("over", name.startsWith("drago") || name === "dragenter");
      if (name !== "drop") return;
      zone.querySelector("input[type=file]").files = event.dataTransfer.files;
      if (event.dataTransfer.files.length) zone.requestSubmit();
    });
  });

  function prepare() {
    all("[data-loads]").forEach(load);
    all("[data-task]").forEach(follow);
    if (find("#tasks [data-task]")) all("#tasks > .soft").forEach(one => { one.remove(); });
  }
  // What an address names is shown and has the focus. Browsers go there when the page is complete, and take the focus away.
  function showTarget() {
    var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    target.scrollIntoView({ block: "center" });
    if (target.matches("input, select, textarea")) target.focus();
    else if (target.matches("form")) (target.querySelector("textarea") || target).focus();
  }
  window.ricordo = { all, find, ask, put, isTyping, offer, quiet };
  window.addEventListener("hashchange", showTarget);
  window.addEventListener("load", () => { setTimeout(showTarget, 0); });
  prepare();
  var said = taken(CHANGED);
  if (said !== null && !isFailure()) offer(said);
  if ("serviceWorker" in navigator && window.isSecureContext) {
    navigator.serviceWorker.register("/static/away.js", { scope: "/" }).catch(quiet);
  }
})();
