// The graph on a canvas: colours by kind, directions, zoom, pan, search, time. Places are found by graph_layout.js.
// Links and items are painted on a sheet that is larger than the screen. While the graph is moved, that sheet is moved
// and stretched, which takes a few milliseconds; when it rests, the sheet is painted anew.
(() => {
  "use strict";
  var canvas = document.getElementById("graph-canvas");
  if (!canvas) return;
  var screen = canvas.getContext("2d");
  var sheet = document.createElement("canvas");
  var pen = sheet.getContext("2d");
  var box = canvas.parentElement;
  var status = document.getElementById("graph-status");
  var chosenBox = document.getElementById("graph-chosen");
  var finder = document.getElementById("graph-find");
  var slider = document.getElementById("graph-time");
  var nodes = [], edges = [], plain = [], typed = [], near = [], degree = [], radius = [], shown = [], x = [], y = [];
  var scale = 1, left = 0, top = 0, width = 0, height = 0;
  var margin = 0, seen = null, isStale = true, isMoving = false, isLayingOut = true, rest = 0, paintedAt = 0, cost = 0;
  var REST = 140, CHEAP = 40, OFTEN = 500, SHARE = 12;
  var hovered = -1, chosen = -1, matches = [], isMoved = false, isDrawing = false;
  var colours = {}, kinds = [], hidden = {}, until = Infinity;
  var HUES = ["--k0", "--k1", "--k2", "--k3", "--k4", "--k5", "--k6", "--k7"];

  function colour(name) {
    chosenBox.style.color = "var(" + name + ")"; // a name may stand for two colours, of light and of dark
    var found = getComputedStyle(chosenBox).color;
    chosenBox.style.color = "";
    return found;
  }

  function readColours() {
    colours = { ink: colour("--ink"), soft: colour("--soft"), line: colour("--field"), panel: colour("--panel"),
                typed: colour("--k1"), focus: colour("--focus"), mark: colour("--accent") };
    colours.kinds = HUES.map(colour);
  }

  function hueOf(kind) {
    return colours.kinds[kinds.indexOf(kind) % HUES.length];
  }

  function take(graph) {
    nodes = graph.nodes;
    edges = graph.edges;
    var counts = {};
    nodes.forEach((node, at) => {
      counts[node.kind] = (counts[node.kind] || 0) + 1;
      node.time = Date.parse(node.at);
      near[at] = [];
      degree[at] = 0;
    });
    edges.forEach(edge => {
      near[edge.source].push(edge.target);
      near[edge.target].push(edge.source);
      degree[edge.source]++;
      degree[edge.target]++;
    });
    plain = edges.filter(edge => edge.type === "mentions");
    typed = edges.filter(edge => edge.type !== "mentions");
    for (var i = 0; i < nodes.length; i++) radius[i] = 3.2 + 1.7 * Math.sqrt(degree[i]);
    kinds = Object.keys(counts).sort((a, b) => counts[b] - counts[a] || (a < b ? -1 : 1));
    makeLegend(counts);
    setUpTime();
    sift();
    say();
    var worker = new Worker("/static/graph_layout.js");
    worker.onmessage = event => {
      x = event.data.x;
      y = event.data.y;
      if (!isMoved) fit();
      isLayingOut = !event.data.over;
      if (event.data.over) canvas.dataset.settled = "yes";
      draw();
    };
    worker.postMessage({
      count: nodes.length,
      sources: Int32Array.from(edges, edge => edge.source),
      targets: Int32Array.from(edges, edge => edge.target)
    });
  }

  function say() {
    var count = shown.filter(Boolean).length;
    status.textContent = count + " items and " + edges.filter(isShownEdge).length + " links" + (matches.length && finder.value.trim() ? ", " + matches.length + " found" : "");
  }

  function isShownEdge(edge) {
    return shown[edge.source] && shown[edge.target];
  }

  function makeLegend(counts) {
    var legend = document.getElementById("graph-kinds");
    kinds.forEach((kind, at) => {
      var label = document.createElement("label");
      var tick = document.createElement("input");
      tick.type = "checkbox";
      tick.checked = true;
      tick.addEventListener("change", () => {
        hidden[kind] = !tick.checked;
        sift();
        say();
        draw();
      });
      var dot = document.createElement("span");
      dot.className = "dot s" + (at % HUES.length);
      label.append(tick, dot, kind + " " + counts[kind]);
      legend.append(label);
    });
  }

  function setUpTime() {
    var times = nodes.map(node => node.time).sort((a, b) => a - b);
    var out = document.getElementById("graph-until");
    function show() {
      var part = Number(slider.value) / Number(slider.max);
      var at = Math.min(times.length - 1, Math.floor(part * (times.length - 1) + 0.5));
      until = part >= 1 || !times.length ? Infinity : times[at];
      out.textContent = until === Infinity ? "now" : new Date(until).toISOString().slice(0, 10);
      sift();
      say();
      draw();
    }
    slider.addEventListener("input", show);
  }

  function sift() {
    for (var i = 0; i < nodes.length; i++) shown[i] = !hidden[nodes[i].kind] && nodes[i].time <= until;
  }

  function resize() {
    var ratio = window.devicePixelRatio || 1;
    width = box.clientWidth;
    height = Math.max(320, Math.min(720, window.innerHeight - 260));
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + "px";
    margin = Math.round(width / 5);
    sheet.width = (width + 2 * margin) * ratio;
    sheet.height = (height + 2 * margin) * ratio;
    screen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, margin * ratio, margin * ratio);
    if (!isMoved && x.length) fit();
    draw();
  }

  function fit() {
    if (!nodes.length) return;
    var minX = Infinity, minY = Infinity, maxX = -Infinity, maxY = -Infinity;
    for (var i = 0; i < nodes.length; i++) {
      if (x[i] < minX) minX = x[i];
      if (x[i] > maxX) maxX = x[i];
      if (y[i] < minY) minY = y[i];
      if (y[i] > maxY) maxY = y[i];
    }
    scale = Math.min(4, Math.min((width - 90) / Math.max(1, maxX - minX), (height - 70) / Math.max(1, maxY - minY)));
    left = width / 2 - (scale * (minX + maxX)) / 2;
    top = height / 2 - (scale * (minY + maxY)) / 2;
  }

  function zoom(by, atX, atY) {
    var next = Math.max(0.03, Math.min(8, scale * by));
    left = atX - ((atX - left) * next) / scale;
    top = atY - ((atY - top) * next) / scale;
    scale = next;
    move();
  }

  function pan(dx, dy) {
    left += dx;
    top += dy;
    move();
  }

  function move() {
    isMoved = true;
    isMoving = true;
    clearTimeout(rest);
    rest = setTimeout(() => {
      isMoving = false;
      drawOver();
    }, REST);
    drawOver();
  }

  // Everything anew: items, links or their colours are others.
  function draw() {
    isStale = true;
    drawOver();
  }

  // What lies on the sheet stays; what is over it (labels, what is chosen) is painted anew.
  function drawOver() {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      paint();
    });
  }

  function isOutside(a, b) {
    var ax = x[a] * scale + left, bx = x[b] * scale + left, ay = y[a] * scale + top, by = y[b] * scale + top;
    return (ax < -margin && bx < -margin) || (ay < -margin && by < -margin) ||
      (ax > width + margin && bx > width + margin) || (ay > height + margin && by > height + margin);
  }

  function paintEdges(pen, list, style, line) {
    pen.strokeStyle = style;
    pen.lineWidth = line;
    pen.beginPath();
    for (var i = 0; i < list.length; i++) {
      var a = list[i].source, b = list[i].target;
      if (!shown[a] || !shown[b] || isOutside(a, b)) continue;
      pen.moveTo(x[a] * scale + left, y[a] * scale + top);
      pen.lineTo(x[b] * scale + left, y[b] * scale + top);
    }
    pen.stroke();
  }

  function paintArrows(pen, list, style) {
    pen.fillStyle = style;
    pen.beginPath();
    for (var i = 0; i < list.length; i++) {
      var a = list[i].source, b = list[i].target;
      if (!shown[a] || !shown[b]) continue;
      var bx = x[b] * scale + left, by = y[b] * scale + top;
      if (!isOnSheet(b)) continue;
      var angle = Math.atan2((y[b] - y[a]), (x[b] - x[a])), r = drawnRadius(b) + 1;
      var tipX = bx - Math.cos(angle) * r, tipY = by - Math.sin(angle) * r;
      pen.moveTo(tipX, tipY);
      pen.lineTo(tipX - 8 * Math.cos(angle - 0.4), tipY - 8 * Math.sin(angle - 0.4));
      pen.lineTo(tipX - 8 * Math.cos(angle + 0.4), tipY - 8 * Math.sin(angle + 0.4));
    }
    pen.fill();
  }

  function drawnRadius(i) {
    return Math.max(1.6, Math.min(18, radius[i] * Math.sqrt(scale) * 0.9));
  }

  function paint() {
    if (!x.length) return;
    var isSame = seen && seen.scale === scale && seen.left === left && seen.top === top;
    // What moves must not wait for the sheet; it is painted so seldom then that most of the time is left for moving.
    var isHurried = seen && cost > CHEAP && (isMoving || isLayingOut);
    var isDue = performance.now() - paintedAt > Math.max(OFTEN, SHARE * cost);
    if ((isStale || !isSame) && (!isHurried || (isDue && (isStale || !isCovered())))) paintSheet();
    screen.clearRect(0, 0, width, height);
    screen.imageSmoothingEnabled = !isHurried; // without a graphics card, smoothing takes ten times as long
    var by = scale / seen.scale;
    screen.drawImage(sheet, left - (seen.left + margin) * by, top - (seen.top + margin) * by,
                     (width + 2 * margin) * by, (height + 2 * margin) * by);
    paintOver();
  }

  // Whether the sheet still fills the screen, and is not stretched so far that it is blurred.
  function isCovered() {
    var by = scale / seen.scale, x0 = left - (seen.left + margin) * by, y0 = top - (seen.top + margin) * by;
    return by < 2.5 && x0 <= 0 && y0 <= 0 && x0 + (width + 2 * margin) * by >= width && y0 + (height + 2 * margin) * by >= height;
  }

  function paintSheet() {
    var began = performance.now();
    pen.clearRect(-margin, -margin, width + 2 * margin, height + 2 * margin);
    var many = edges.length > 1500;
    pen.globalAlpha = many ? 0.35 : 0.7;
    paintEdges(pen, plain, colours.line, 1);
    pen.globalAlpha = many ? 0.6 : 0.9;
    paintEdges(pen, typed, colours.typed, 1.4);
    if (edges.length < 400 || scale > 1.1) {
      paintArrows(pen, plain, colours.soft);
      paintArrows(pen, typed, colours.typed);
    }
    pen.globalAlpha = 1;
    paintNodes();
    seen = { scale: scale, left: left, top: top };
    isStale = false;
    paintedAt = began;
    requestAnimationFrame(() => { cost = performance.now() - began; }); // browsers paint after a script has said what
  }

  function paintOver() {
    var centre = hovered >= 0 ? hovered : chosen;
    if (centre >= 0) {
      var own = edges.filter(edge => edge.source === centre || edge.target === centre);
      paintEdges(screen, own, colours.mark, 1.8);
      paintArrows(screen, own, colours.mark);
    }
    if (chosen >= 0 && shown[chosen]) {
      screen.strokeStyle = colours.focus;
      screen.lineWidth = 3;
      screen.beginPath();
      disc(screen, chosen);
      screen.stroke();
    }
    paintLabels(screen, centre);
  }

  function isWithin(i, beyond) {
    var px = x[i] * scale + left, py = y[i] * scale + top;
    return px > -beyond && py > -beyond && px < width + beyond && py < height + beyond;
  }
  function isOnScreen(i) { return isWithin(i, 20); }
  function isOnSheet(i) { return isWithin(i, margin + 20); }

  function paintNodes() {
    var isSearching = finder.value.trim() !== "";
    var found = {};
    matches.forEach(i => { found[i] = true; });
    kinds.forEach(kind => {
      if (hidden[kind]) return;
      pen.fillStyle = hueOf(kind);
      pen.beginPath();
      var dim = [];
      for (var i = 0; i < nodes.length; i++) {
        if (!shown[i] || nodes[i].kind !== kind || !isOnSheet(i)) continue;
        if (isSearching && !found[i]) {
          dim.push(i);
          continue;
        }
        disc(pen, i);
      }
      pen.fill();
      if (dim.length) {
        pen.globalAlpha = 0.18;
        pen.beginPath();
        dim.forEach(i => { disc(pen, i); });
        pen.fill();
        pen.globalAlpha = 1;
      }
    });
  }

  function disc(pen, i) {
    var px = x[i] * scale + left, py = y[i] * scale + top, r = drawnRadius(i);
    pen.moveTo(px + r, py);
    pen.arc(px, py, r, 0, 6.2832);
  }

  function paintLabels(pen, centre) {
    var wanted = {};
    if (centre >= 0) {
      wanted[centre] = true;
      near[centre].slice(0, 24).forEach(i => { wanted[i] = true; });
    }
    matches.slice(0, 12).forEach(i => { wanted[i] = true; });
    var visible = 0, i;
    for (i = 0; i < nodes.length && visible <= 70; i++) if (shown[i] && isOnScreen(i)) visible++;
    // The best linked come first in the list, so the first ones on the screen are the landmarks.
    var room = visible <= 70 ? 70 : 14;
    for (i = 0; i < nodes.length && room > 0; i++) if (shown[i] && isOnScreen(i)) { wanted[i] = true; room--; }
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.lineJoin = "round";
    var taken = [];
    Object.keys(wanted).map(Number).sort((a, b) => {
      return (b === centre) - (a === centre) || degree[b] - degree[a];
    }).forEach(i => {
      if (!shown[i] || !isOnScreen(i)) return;
      var words = nodes[i].title.length > 28 ? nodes[i].title.slice(0, 27) + "…" : nodes[i].title;
      var px = x[i] * scale + left, py = y[i] * scale + top - drawnRadius(i) - 4, half = words.length * 3.2;
      var isClose = taken.some(one => Math.abs(one[0] - px) < one[2] + half && Math.abs(one[1] - py) < 13);
      if (isClose && i !== centre) return;
      taken.push([px, py, half]);
      pen.strokeStyle = colours.panel;
      pen.lineWidth = 4;
      pen.strokeText(words, px, py);
      pen.fillStyle = colours.ink;
      pen.fillText(words, px, py);
    });
  }

  function at(px, py) {
    var best = -1, least = Infinity;
    for (var i = 0; i < nodes.length; i++) {
      if (!shown[i]) continue;
      var dx = x[i] * scale + left - px, dy = y[i] * scale + top - py, d = dx * dx + dy * dy, r = drawnRadius(i) + 6;
      if (d < r * r && d < least) {
        least = d;
        best = i;
      }
    }
    return best;
  }

  function choose(i) {
    chosen = i;
    chosenBox.replaceChildren();
    if (i < 0) return drawOver();
    var node = nodes[i];
    var head = document.createElement("h2");
    head.append(link("/item?ref=" + encodeURIComponent(node.ref), node.title));
    var about = document.createElement("p");
    about.textContent = node.kind + ", " + node.at.slice(0, 10) + ", " + degree[i] + (degree[i] === 1 ? " link" : " links");
    var list = document.createElement("ul");
    edges.filter(edge => edge.source === i || edge.target === i).slice(0, 30).forEach(edge => {
      var other = edge.source === i ? edge.target : edge.source;
      var row = document.createElement("li");
      var way = document.createElement("span");
      way.className = "chip";
      way.textContent = (edge.source === i ? "→ " : "← ") + edge.type;
      var name = document.createElement("button");
      name.type = "button";
      name.className = "link";
      name.textContent = nodes[other].title;
      name.addEventListener("click", () => { show(other); });
      row.append(way, " ", name);
      list.append(row);
    });
    chosenBox.append(head, about, link("/graph?ref=" + encodeURIComponent(node.ref), "Only what is around it"), list);
    drawOver();
  }

  function link(address, words) {
    var one = document.createElement("a");
    one.href = address;
    one.textContent = words;
    return one;
  }

  function show(i) {
    if (scale < 0.9) scale = 0.9;
    left = width / 2 - x[i] * scale;
    top = height / 2 - y[i] * scale;
    isMoved = true;
    choose(i);
  }

  function find() {
    var wanted = finder.value.trim().toLowerCase();
    matches = [];
    if (wanted) {
      for (var i = 0; i < nodes.length; i++) {
        if (shown[i] && (nodes[i].title.toLowerCase().includes(wanted) || nodes[i].ref.toLowerCase().includes(wanted))) matches.push(i);
      }
    }
    say();
    draw();
  }

  var pointers = {}, moved = 0, lastSpread = 0;

  function spread() {
    var all = Object.values(pointers);
    return Math.hypot(all[0].x - all[1].x, all[0].y - all[1].y);
  }

  function setUpPointers() {
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      pointers[event.pointerId] = { x: event.offsetX, y: event.offsetY };
      moved = 0;
      if (Object.keys(pointers).length === 2) lastSpread = spread();
    });
    canvas.addEventListener("pointermove", event => {
      var before = pointers[event.pointerId];
      if (!before) {
        var over = at(event.offsetX, event.offsetY);
        if (over !== hovered) {
          hovered = over;
          canvas.classList.toggle("over", over >= 0);
          drawOver();
        }
        return;
      }
      var dx = event.offsetX - before.x, dy = event.offsetY - before.y;
      pointers[event.pointerId] = { x: event.offsetX, y: event.offsetY };
      moved += Math.abs(dx) + Math.abs(dy);
      if (Object.keys(pointers).length === 2) {
        var now = spread();
        if (lastSpread) zoom(now / lastSpread, event.offsetX, event.offsetY);
        lastSpread = now;
      } else {
        pan(dx, dy);
      }
    });
    ["pointerup", "pointercancel"].forEach(name => {
      canvas.addEventListener(name, event => {
        delete pointers[event.pointerId];
        if (name === "pointerup" && moved < 6) choose(at(event.offsetX, event.offsetY));
      });
    });
    canvas.addEventListener("pointerleave", () => {
      hovered = -1;
      drawOver();
    });
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("dblclick", event => {
      var i = at(event.offsetX, event.offsetY);
      if (i >= 0) location.href = "/item?ref=" + encodeURIComponent(nodes[i].ref);
    });
  }

  function onKey(event) {
    var steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (steps[event.key]) pan(steps[event.key][0], steps[event.key][1]);
    else if (event.key === "+" || event.key === "=") zoom(1.3, width / 2, height / 2);
    else if (event.key === "-") zoom(1 / 1.3, width / 2, height / 2);
    else if (event.key === "0") { isMoved = false; fit(); draw(); }
    else if (event.key === "Enter" && chosen >= 0) location.href = "/item?ref=" + encodeURIComponent(nodes[chosen].ref);
    else if (event.key === "Escape") choose(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  readColours();
  resize();
  setUpPointers();
  canvas.addEventListener("keydown", onKey);
  window.addEventListener("resize", resize);
  new ResizeObserver(() => { if (box.clientWidth !== width) resize(); }).observe(box); // what is chosen takes room
  new MutationObserver(() => { readColours(); draw(); }).observe(document.documentElement, { attributes: true });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
  finder.addEventListener("input", find);
  finder.addEventListener("keydown", event => {
    if (event.key !== "Enter" || !matches.length) return;
    event.preventDefault();
    show(matches[(matches.indexOf(chosen) + 1) % matches.length]);
  });
  document.querySelectorAll("[data-graph]").forEach(button => {
    button.addEventListener("click", () => {
      if (button.dataset.graph === "fit") { isMoved = false; fit(); draw(); }
      else zoom(button.dataset.graph === "in" ? 1.3 : 1 / 1.3, width / 2, height / 2);
    });
  });
  fetch(canvas.dataset.source, { headers: { Accept: "application/json" } })
    .then(answer => {
      if (!answer.ok) throw new Error("status " + answer.status);
      return answer.json();
    })
    .then(take)
    .catch(problem => { status.textContent = "The graph could not be read (" + problem.message + ")."; });
})();
