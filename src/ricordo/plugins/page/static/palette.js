// The command palette (Ctrl-K), fields that find an item by its words, and a short look at what a link leads to.
(() => {
  "use strict";
  var { all, ask, put, quiet } = window.ricordo;

  // A list of choices below a field: the latest answer counts, arrows move, Enter takes.
  function choosing(field, list, options) {
    var serial = 0, timer = 0, at = options.first, waiting = false;
    function rows() { return all(".choice", list); }
    function mark(next) {
      var found = rows();
      at = Math.max(options.first, Math.min(found.length - 1, next));
      found.forEach((one, place) => { one.setAttribute("aria-selected", String(place === at)); });
      if (!found[at]) return;
      if (found[at].id) field.setAttribute("aria-activedescendant", found[at].id);
      found[at].scrollIntoView({ block: "nearest" });
    }
    function find() {
      var own = ++serial;
      if (waiting !== "take") waiting = true;
      ask(options.address()).then(html => {
        if (own !== serial) return;
        put(html, list);
        mark(options.first);
        options.open(true);
        var isWanted = waiting === "take";
        waiting = false;
        if (isWanted && rows()[0]) options.take(rows()[0]);
      }).catch(() => { waiting = false; });
    }
    field.addEventListener("input", () => {
      clearTimeout(timer);
      serial++;
      waiting = true; // Enter before the answer takes the first choice of the answer
      if (field.value.trim() || options.isAlways) timer = setTimeout(find, 110);
      else options.open(false);
    });
    field.addEventListener("keydown", event => {
      if (list.hidden) return;
      if (event.key === "ArrowDown") mark(at + 1);
      else if (event.key === "ArrowUp") mark(at - 1);
      else if (event.key === "Enter" && (waiting || rows().length)) {
        if (waiting) waiting = "take";
        else options.take(rows()[Math.max(0, at)]);
      } else if (event.key === "Escape" && !options.isAlways) options.open(false);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    list.addEventListener("pointerdown", event => {
      var row = event.target.closest(".choice");
      event.preventDefault();
      if (row) options.take(row);
    });
    return find;
  }

  function pick(field, at) {
    var list = document.createElement("ul");
    list.className = "picks";
    list.id = "picks-" + at;
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Items");
    field.dataset.picks = "ready";
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-controls", list.id);
    field.setAttribute("aria-expanded", "false");
    field.insertAdjacentElement("afterend", list);
    function open(isOpen) {
      list.hidden = !isOpen;
      field.setAttribute("aria-expanded", String(isOpen));
    }
    choosing(field, list, {
      first: -1, open: open,
      address: () => "/pick?q=" + encodeURIComponent(field.value),
      take: row => {
        field.value = row.dataset.value;
        open(false);
        field.focus();
      }
    });
    field.addEventListener("blur", () => { open(false); });
  }
  function equip() { all("[data-picks='']").forEach(pick); }
  document.body.addEventListener("ricordo:shown", equip);
  equip();

  var dialog = document.getElementById("palette"), words = document.getElementById("palette-words");
  var find = choosing(words, document.getElementById("palette-list"), {
    first: 0, isAlways: true, open: () => { /* it is open */ },
    address: () => {
      var item = document.querySelector("[data-item]");
      return "/palette?q=" + encodeURIComponent(words.value) + (item ? "&ref=" + encodeURIComponent(item.dataset.item) : "");
    },
    take: row => {
      dialog.close();
      if (row.dataset.href) location.href = row.dataset.href;
      else document.body.dispatchEvent(new KeyboardEvent("keydown", { key: row.dataset.press, bubbles: true }));
    }
  });
  function open() {
    if (dialog.open) return dialog.close();
    words.value = "";
    dialog.showModal();
    words.focus();
    find();
  }
  document.addEventListener("keydown", event => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    open();
  });
  document.addEventListener("click", event => {
    if (event.target.closest && event.target.closest("[data-palette]")) open();
    if (event.target === dialog) dialog.close();
  });

  var box = null, shownFor = null, timer = 0;
  function hide() {
    clearTimeout(timer);
    shownFor = null;
    if (box) box.remove();
    box = null;
  }
  function show(link) {
    hide();
    shownFor = link;
    timer = setTimeout(() => {
      ask("/peek?small=true&ref=" + encodeURIComponent(link.dataset.peek)).then(html => {
        if (shownFor !== link || !/^\s*<article class="peek"/.test(html)) return;
        box = document.createElement("div");
        box.className = "hover-peek";
        box.setAttribute("role", "tooltip");
        document.getElementById("main").append(box); // what a page says stands in its landmarks
        put(html, box);
        place(link);
      }).catch(quiet);
    }, 250);
  }
  function place(link) {
    var at = link.getBoundingClientRect(), width = Math.min(420, window.innerWidth - 24);
    var isBelow = window.innerHeight - at.bottom > 260 || at.top < 260;
    box.style.width = width + "px";
    box.style.left = Math.max(12, Math.min(at.left, window.innerWidth - width - 12)) + "px";
    if (isBelow) box.style.top = at.bottom + 6 + "px";
    else box.style.bottom = window.innerHeight - at.top + 6 + "px";
  }
  ["mouseover", "focusin"].forEach(name => {
    document.addEventListener(name, event => {
      var link = event.target.closest ? event.target.closest("a[data-peek]") : null;
      if (link && link !== shownFor) show(link);
      else if (!link && shownFor && !(box && box.contains(event.target))) hide();
    });
  });
  document.addEventListener("scroll", () => { if (box) hide(); }, { passive: true });
  document.addEventListener("keydown", event => { if (event.key === "Escape") hide(); });
})();
