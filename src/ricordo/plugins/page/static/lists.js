// Lists: the reader beside the hits, coming back to the hit that was opened, and choosing several items (x, or the box
// beside each) with a bar that says what can be done with them.
(() => {
  "use strict";
  var { all, find, ask, put, quiet } = window.ricordo;
  var request = null, wanted = "";

  function reader() {
    var found = document.getElementById("reader");
    return found && found.offsetParent !== null ? found : null;
  }
  function hits() { return all("#results .hit"); }

  // The reader takes in nothing but the preview of the latest hit: no whole page, no page to sign in, no error.
  function read(link) {
    var pane = reader(), address = link.dataset.look, card = link.closest(".hit");
    if (!pane || !address) return;
    if (card) hits().forEach(one => { one.toggleAttribute("aria-current", one === card); });
    if (card) card.setAttribute("aria-current", "true");
    if (address === wanted) return;
    wanted = address;
    if (request) request.abort();
    var own = (request = new AbortController());
    pane.setAttribute("aria-busy", "true");
    ask(address, { signal: own.signal }).then(html => {
      if (own !== request) return;
      pane.removeAttribute("aria-busy");
      if (!/^\s*<article class="peek"/.test(html)) {
        pane.textContent = "This hit cannot be shown here. Open it to see why.";
        return;
      }
      put(html, pane);
      pane.scrollTop = 0;
      var at = pane.querySelector("#passage");
      if (at) pane.scrollTop = Math.max(0, at.getBoundingClientRect().top - pane.getBoundingClientRect().top - 200);
    }).catch(problem => { if (problem.name !== "AbortError") wanted = ""; });
  }
  // The best hit is there to be read at once.
  function readFirst() {
    var pane = reader(), first = pane && find("#results > .hits .open");
    if (first && !find("#results .hit[aria-current]") && !find(".nothing")) read(first);
  }

  // Whoever opens a hit at once has settled on the question, and comes back to this hit.
  function leave(link) {
    var waiting = find("[data-settles]");
    var question = new URLSearchParams(location.search);
    if (waiting) fetch("/settled?q=" + encodeURIComponent(question.get("q") || ""), { headers: { "X-Ricordo-Part": "yes" }, keepalive: true }).catch(quiet);
    history.replaceState({ hit: link.closest(".hit").dataset.ref, hits: hits().length }, "", location.href);
  }
  function comeBack(state) {
    var card = hits().find(one => one.dataset.ref === state.hit);
    if (card) {
      if (card.closest("details")) card.closest("details").open = true;
      card.querySelector(".open").focus({ preventScroll: true });
      card.scrollIntoView({ block: "center" });
      return;
    }
    var more = find("#results .more a");
    if (!more || hits().length >= state.hits) return;
    document.body.addEventListener("ricordo:shown", () => { comeBack(state); }, { once: true });
    more.click();
  }
  var pressed = null;
  document.addEventListener("pointerdown", event => {
    pressed = event.target.closest && event.target.closest(".hit[aria-current]");
  });
  document.addEventListener("focusin", event => {
    if (event.target.matches(".hit .open")) read(event.target);
  });
  document.addEventListener("click", event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button || !event.target.closest) return;
    var step = event.target.closest("#reader [data-look]"), link = event.target.closest("#results .open");
    if (step && reader()) {
      event.preventDefault();
      read(step);
    } else if (link && reader() && event.detail && link.closest(".hit") !== pressed) {
      event.preventDefault(); // the first click reads it beside the list, Enter or another one opens it
      read(link);
    } else if (link) leave(link);
    else if (event.target.closest("#reader a[href^='/item']") && find("#results .hit[aria-current]")) {
      leave(find("#results .hit[aria-current] .open"));
    }
  });
  document.addEventListener("keydown", event => {
    var pane = reader(), isHit = event.target.matches && event.target.matches(".hit .open");
    if (!pane || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && isHit) {
      event.preventDefault();
      pane.scrollBy(0, (event.shiftKey ? -1 : 1) * pane.clientHeight * 0.8);
    } else if (event.key === "Enter" && event.target === document.body) {
      var current = find("#results .hit[aria-current] .open");
      if (current) current.click();
    }
  });
  document.body.addEventListener("ricordo:shown", () => {
    if (find("#results .hit:not([aria-current])") && !find("#results .hit[aria-current]")) wanted = "";
    readFirst();
    show();
  });
  window.addEventListener("load", () => {
    if (history.state && history.state.hit) comeBack(history.state);
    else readFirst();
  });

  var ROWS = "#main li[data-ref]";
  var bar = null, extra = null, chosen = new Set();
  var mayWrite = document.body.hasAttribute("data-may-write");
  function rowOf(ref) { return all(ROWS).find(row => row.dataset.ref === ref); }
  function toggle(ref, isOn) {
    if (isOn) chosen.add(ref);
    else chosen.delete(ref);
    show();
  }
  function clear() {
    chosen.clear();
    show();
  }
  function button(words, key, run) {
    var made = document.createElement("button"), shown = document.createElement("kbd");
    made.type = "button";
    made.className = "btn";
    shown.textContent = key;
    made.append(words, " ", shown);
    made.dataset.hand = key;
    made.addEventListener("click", run);
    return made;
  }
  function make() {
    bar = document.createElement("section");
    bar.className = "selection-bar";
    bar.setAttribute("aria-label", "What to do with the chosen items");
    var count = document.createElement("b");
    count.setAttribute("role", "status");
    extra = document.createElement("span");
    bar.append(count);
    if (find("[data-selects='restore']")) bar.append(button("Bring back", "r", () => { send("restore"); }));
    else bar.append(
      button("Tag", "t", askTags),
      button("Archive", "a", () => { send("archive"); }),
      button("Remove", "d", () => { send("remove"); }),
      button("Export", "e", () => { extra.replaceChildren(button("Markdown", "1", () => { download("markdown"); }), button("JSON", "2", () => { download("json"); })); }),
      button("Move", "m", askTier));
    bar.append(button("All", "l", () => { all(ROWS).forEach(row => { toggle(row.dataset.ref, true); }); }), button("None", "Esc", clear), extra);
    document.body.append(bar);
  }
  function show() {
    if (!bar && !chosen.size) return;
    if (!bar) make();
    bar.hidden = chosen.size === 0;
    document.body.classList.toggle("has-selection", chosen.size > 0);
    bar.querySelector("b").textContent = chosen.size + " chosen";
    if (!chosen.size) extra.replaceChildren();
    all(ROWS).forEach(row => {
      row.classList.toggle("chosen", chosen.has(row.dataset.ref));
      var box = row.querySelector(".pick input");
      if (box) box.checked = chosen.has(row.dataset.ref);
    });
  }
  function askTags() {
    var form = document.createElement("form"), field = document.createElement("input"), add = document.createElement("button"), take = document.createElement("button");
    field.name = "tags";
    field.required = true;
    field.placeholder = "tags, with commas";
    field.setAttribute("aria-label", "Tags, with commas");
    add.textContent = "Give";
    take.textContent = "Take away";
    take.name = "how";
    take.value = "remove";
    form.append(field, add, take);
    form.addEventListener("submit", event => {
      event.preventDefault();
      event.stopPropagation();
      send("tag", { tags: field.value, how: event.submitter === take ? "remove" : "add" });
    });
    extra.replaceChildren(form);
    field.focus();
  }
  function askTier() {
    fetch("/api/v1/tiers").then(answer => answer.json()).then(found => {
      var others = found.tiers.filter(tier => !tier.is_written);
      extra.replaceChildren.apply(extra, others.length ? others.map((tier, at) => {
        return button(tier.name, String(at + 1), () => { send("move", { tier: tier.name }); });
      }) : ["There is no other tier here."]);
    });
  }
  function download(format) {
    var form = document.createElement("form");
    form.method = "post";
    form.action = "/export";
    form.hidden = true;
    [["format", format]].concat(Array.from(chosen, ref => ["ref", ref])).forEach(pair => {
      var field = document.createElement("input");
      field.name = pair[0];
      field.value = pair[1];
      form.append(field);
    });
    document.body.append(form);
    HTMLFormElement.prototype.submit.call(form);
    form.remove();
  }
  function send(what, more) {
    var refs = Array.from(chosen), given = new URLSearchParams(more || {});
    refs.forEach(ref => { given.append("ref", ref); });
    ask("/selection/" + what, { method: "POST", body: given }).then(html => {
      var done = document.getElementById("done");
      put(html, done);
      if (done.querySelector(".banner.bad")) return;
      var words = done.textContent.trim();
      clear();
      if (what === "tag") retag(refs);
      else refs.map(rowOf).forEach(row => { if (row) row.remove(); });
      if (find("article.item[data-item]")) location.reload();
      else window.ricordo.offer(words);
    }).catch(quiet);
  }
  // The rows are as the server shows them now.
  function retag(refs) {
    ask(location.href).then(html => {
      var now = new DOMParser().parseFromString(html, "text/html");
      refs.forEach(ref => {
        var row = rowOf(ref), fresh = now.querySelector("li[data-ref='" + CSS.escape(ref) + "']");
        if (row && fresh) row.replaceChildren.apply(row, Array.from(fresh.childNodes));
      });
    }).catch(quiet);
  }
  if (!mayWrite) return;
  document.addEventListener("change", event => {
    if (event.target.closest(".pick")) toggle(event.target.closest("li").dataset.ref, event.target.checked);
  });
  // While items are chosen, the keys of the bar come before those of the page.
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
    if (event.key === "Escape" && chosen.size) clear();
    else if (window.ricordo.isTyping(event.target)) return;
    else if (event.key === "x") {
      var row = document.activeElement && document.activeElement.closest(ROWS) || find(".hit[aria-current]");
      var item = find("article.item[data-item]"), first = find(ROWS);
      var ref = row ? row.dataset.ref : item ? item.dataset.item : first ? first.dataset.ref : "";
      if (!ref) return;
      toggle(ref, !chosen.has(ref));
    } else {
      var does = chosen.size && bar.querySelector("[data-hand='" + CSS.escape(event.key) + "']");
      if (!does) return;
      does.click();
    }
    event.preventDefault();
    event.stopPropagation();
  }, true);
})();
