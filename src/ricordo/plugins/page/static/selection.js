// Choosing several items of a list (x, or the box beside each), and a bar that says what can be done with them.
(function () {
  "use strict";
  var ROWS = "li.hit[data-ref], li.file[data-ref], li.put-away[data-ref]";
  if (!document.body.hasAttribute("data-may-write")) return;
  var bar = null, extra = null;
  var chosen = new Set();

  function rows() { return Array.prototype.slice.call(document.querySelectorAll(ROWS)); }
  function rowOf(ref) { return rows().find(function (row) { return row.dataset.ref === ref; }); }
  function isTyping(target) {
    return /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && target.type !== "checkbox";
  }

  function equip() {
    rows().forEach(function (row) {
      if (row.querySelector(":scope > .pick")) return;
      var box = document.createElement("input");
      var name = row.querySelector(".open, .name");
      box.type = "checkbox";
      box.className = "pick";
      box.setAttribute("aria-label", "Choose " + (name ? name.textContent : row.dataset.ref));
      box.checked = chosen.has(row.dataset.ref);
      row.classList.add("with-pick");
      row.prepend(box);
    });
  }

  function toggle(ref, isOn) {
    if (isOn === undefined) isOn = !chosen.has(ref);
    if (isOn) chosen.add(ref);
    else chosen.delete(ref);
    var row = rowOf(ref);
    if (row) {
      row.classList.toggle("chosen", isOn);
      row.querySelector(".pick").checked = isOn;
    }
    show();
  }

  function clear() {
    Array.from(chosen).forEach(function (ref) { toggle(ref, false); });
  }

  function button(words, key, run) {
    var made = document.createElement("button");
    made.type = "button";
    made.append(words, " ");
    var shown = document.createElement("kbd");
    shown.textContent = key;
    made.append(shown);
    made.dataset.hand = key;
    made.addEventListener("click", run);
    return made;
  }

  function make() {
    bar = document.createElement("section");
    bar.className = "selection-bar";
    bar.setAttribute("aria-label", "What to do with the chosen items");
    var count = document.createElement("b");
    count.className = "chosen-count";
    count.setAttribute("role", "status");
    extra = document.createElement("span");
    extra.className = "selection-more";
    bar.append(count);
    if (document.querySelector("[data-selects='restore']")) {
      bar.append(button("Bring back", "r", function () { send("restore"); }));
    } else {
      bar.append(
        button("Tag", "t", askTags),
        button("Archive", "a", function () { send("archive"); }),
        button("Remove", "d", function () { send("remove"); }),
        button("Export", "e", askFormat),
        button("Move to a tier", "m", askTier)
      );
    }
    bar.append(button("All", "l", function () { rows().forEach(function (row) { toggle(row.dataset.ref, true); }); }),
               button("None", "Esc", clear), extra);
    document.body.append(bar);
  }

  function show() {
    if (!bar) make();
    bar.hidden = chosen.size === 0;
    document.body.classList.toggle("has-selection", chosen.size > 0);
    bar.querySelector(".chosen-count").textContent = chosen.size + (chosen.size === 1 ? " item" : " items");
    if (!chosen.size) extra.replaceChildren();
  }

  function askTags() {
    var form = document.createElement("form");
    var field = document.createElement("input");
    field.name = "tags";
    field.required = true;
    field.placeholder = "tags, with commas";
    field.setAttribute("aria-label", "Tags, with commas");
    var add = document.createElement("button");
    add.textContent = "Give";
    var take = document.createElement("button");
    take.type = "button";
    take.textContent = "Take away";
    take.addEventListener("click", function () { if (form.reportValidity()) send("tag", { tags: field.value, how: "remove" }); });
    form.append(field, add, take);
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      send("tag", { tags: field.value, how: "add" });
    });
    extra.replaceChildren(form);
    field.focus();
  }

  function askFormat() {
    extra.replaceChildren(
      button("Markdown", "1", function () { download("markdown"); }),
      button("JSON", "2", function () { download("json"); })
    );
  }

  function askTier() {
    fetch("/api/v1/tiers").then(function (answer) { return answer.json(); }).then(function (found) {
      var others = found.tiers.filter(function (tier) { return !tier.is_written; });
      extra.replaceChildren.apply(extra, others.length ? others.map(function (tier, at) {
        return button(tier.name, String(at + 1), function () { send("move", { tier: tier.name }); });
      }) : ["There is no other tier here."]);
    });
  }

  function download(format) {
    var form = document.createElement("form");
    form.method = "post";
    form.action = "/export";
    form.hidden = true;
    [["format", format]].concat(Array.from(chosen, function (ref) { return ["ref", ref]; })).forEach(function (pair) {
      var field = document.createElement("input");
      field.name = pair[0];
      field.value = pair[1];
      form.append(field);
    });
    document.body.append(form);
    form.submit();
    form.remove();
  }

  function send(what, more) {
    var refs = Array.from(chosen);
    var body = new URLSearchParams(more || {});
    refs.forEach(function (ref) { body.append("ref", ref); });
    fetch("/selection/" + what, { method: "POST", body: body, headers: { "HX-Request": "true" } })
      .then(function (answer) { return answer.text(); })
      .then(function (html) {
        document.getElementById("done").innerHTML = html; // the server's own template, in which every text is escaped
        document.body.dispatchEvent(new CustomEvent("ricordo:changed"));
        if (document.querySelector("#done .banner.bad")) return;
        refs.forEach(function (ref) {
          var row = rowOf(ref);
          if (row && what !== "tag") row.remove();
          else if (row) retag(row, more);
        });
        clear();
        if (document.querySelector("[data-item]")) location.reload();
      })
      .catch(function () { document.getElementById("done").textContent = "The server does not answer."; });
  }

  function retag(row, more) {
    var chips = row.querySelector(".chips");
    if (!chips) return;
    more.tags.split(",").map(function (tag) { return tag.trim().replace(/^#/, ""); }).filter(Boolean).forEach(function (tag) {
      var old = Array.prototype.slice.call(chips.querySelectorAll("a.chip")).find(function (one) { return one.textContent === "#" + tag; });
      if (more.how === "remove") {
        if (old) old.remove();
      } else if (!old) {
        var made = document.createElement("a");
        made.className = "chip";
        made.href = "/?tag=" + encodeURIComponent(tag);
        made.textContent = "#" + tag;
        chips.append(made);
      }
    });
  }

  document.addEventListener("change", function (event) {
    if (event.target.classList.contains("pick")) toggle(event.target.parentElement.dataset.ref, event.target.checked);
  });
  // While items are chosen, the keys of the bar come before those of the page.
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && chosen.size) {
      clear();
      event.stopPropagation();
      return;
    }
    if (isTyping(event.target)) return;
    if (event.key === "x") {
      var focused = document.activeElement && document.activeElement.closest(ROWS);
      var item = document.querySelector("[data-item]");
      var ref = focused ? focused.dataset.ref : item ? item.dataset.item : rows().length ? rows()[0].dataset.ref : "";
      if (!ref) return;
      toggle(ref);
    } else if (chosen.size) {
      var does = bar.querySelector("[data-hand='" + CSS.escape(event.key) + "']");
      if (!does) return;
      does.click();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  document.body.addEventListener("htmx:afterSwap", function () {
    equip();
    show();
  });
  equip();
})();
