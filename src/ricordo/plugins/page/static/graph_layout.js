// Finds places for the items of a graph, in a worker, so that the page stays smooth. Linked items are pulled together,
// all others pushed away; far groups push as one point (Barnes and Hut). The same graph always gets the same picture.
"use strict";

var THETA = 0.9;
var STEPS = 260;

function QuadTree(capacity) {
  this.child = new Int32Array(capacity * 4);
  this.mass = new Float32Array(capacity);
  this.cx = new Float32Array(capacity);
  this.cy = new Float32Array(capacity);
  this.point = new Int32Array(capacity);
  this.capacity = capacity;
}

QuadTree.prototype.build = function (x, y, count) {
  var minX = Infinity, minY = Infinity, maxX = -Infinity, maxY = -Infinity, i;
  for (i = 0; i < count; i++) {
    if (x[i] < minX) minX = x[i];
    if (x[i] > maxX) maxX = x[i];
    if (y[i] < minY) minY = y[i];
    if (y[i] > maxY) maxY = y[i];
  }
  this.size = Math.max(maxX - minX, maxY - minY, 1) * 1.01;
  this.left = minX;
  this.top = minY;
  this.used = 0;
  this._new();
  for (i = 0; i < count; i++) this._insert(i, x, y);
};

QuadTree.prototype._new = function () {
  var n = this.used++;
  this.child.fill(-1, n * 4, n * 4 + 4);
  this.mass[n] = 0;
  this.cx[n] = 0;
  this.cy[n] = 0;
  this.point[n] = -1;
  return n;
};

QuadTree.prototype._insert = function (i, x, y) {
  var node = 0, left = this.left, top = this.top, size = this.size, depth = 0;
  for (;;) {
    var mass = this.mass[node];
    this.cx[node] = (this.cx[node] * mass + x[i]) / (mass + 1);
    this.cy[node] = (this.cy[node] * mass + y[i]) / (mass + 1);
    this.mass[node] = mass + 1;
    if (mass === 0) {
      this.point[node] = i;
      return;
    }
    if (depth++ > 40 || this.used + 2 > this.capacity) return; // points in one place push as one
    size /= 2;
    var old = this.point[node];
    if (old >= 0) {
      this.point[node] = -1;
      var at = (x[old] >= left + size ? 1 : 0) + (y[old] >= top + size ? 2 : 0);
      var made = this._new();
      this.child[node * 4 + at] = made;
      this.point[made] = old;
      this.mass[made] = 1;
      this.cx[made] = x[old];
      this.cy[made] = y[old];
    }
    var quarter = (x[i] >= left + size ? 1 : 0) + (y[i] >= top + size ? 2 : 0);
    if (quarter & 1) left += size;
    if (quarter & 2) top += size;
    var next = this.child[node * 4 + quarter];
    if (next < 0) {
      next = this._new();
      this.child[node * 4 + quarter] = next;
    }
    node = next;
  }
};

QuadTree.prototype.push = function (i, x, y, strength, force) {
  var stack = this.stack || (this.stack = new Int32Array(512)), sizes = this.sizes || (this.sizes = new Float32Array(512));
  var high = 0;
  stack[0] = 0;
  sizes[0] = this.size;
  while (high >= 0) {
    var node = stack[high], size = sizes[high];
    high--;
    var dx = x[i] - this.cx[node], dy = y[i] - this.cy[node];
    var distance = dx * dx + dy * dy + 0.01;
    var isLeaf = this.point[node] >= 0;
    if (isLeaf || size * size < THETA * THETA * distance) {
      if (this.point[node] !== i) {
        var push = (strength * this.mass[node]) / distance;
        force[0] += dx * push;
        force[1] += dy * push;
      }
      continue;
    }
    for (var q = 0; q < 4; q++) {
      var child = this.child[node * 4 + q];
      if (child >= 0 && high < 500) {
        high++;
        stack[high] = child;
        sizes[high] = size / 2;
      }
    }
  }
};

function layOut(count, sources, targets, tell) {
  var x = new Float32Array(count), y = new Float32Array(count);
  var fx = new Float32Array(count), fy = new Float32Array(count), degree = new Float32Array(count);
  var i, e, force = [0, 0];
  for (i = 0; i < count; i++) {
    var angle = i * 2.399963, radius = 12 * Math.sqrt(i + 1);
    x[i] = Math.cos(angle) * radius;
    y[i] = Math.sin(angle) * radius;
  }
  for (e = 0; e < sources.length; e++) {
    degree[sources[e]]++;
    degree[targets[e]]++;
  }
  var tree = new QuadTree(Math.max(64, count * 8));
  var steps = count > 2500 ? Math.round(STEPS * 0.6) : STEPS;
  for (var step = 0; step < steps; step++) {
    var heat = 1 - step / steps;
    tree.build(x, y, count);
    for (i = 0; i < count; i++) {
      force[0] = -x[i] * 0.012;
      force[1] = -y[i] * 0.012;
      tree.push(i, x, y, 90 * (1 + 0.15 * Math.min(20, degree[i])), force);
      fx[i] = force[0];
      fy[i] = force[1];
    }
    for (e = 0; e < sources.length; e++) {
      var a = sources[e], b = targets[e], dx = x[b] - x[a], dy = y[b] - y[a];
      var length = Math.sqrt(dx * dx + dy * dy) + 0.01;
      var pull = (0.09 * (length - 30)) / length / Math.sqrt(Math.min(degree[a], degree[b]) || 1);
      fx[a] += dx * pull;
      fy[a] += dy * pull;
      fx[b] -= dx * pull;
      fy[b] -= dy * pull;
    }
    var most = 2 + 28 * heat;
    for (i = 0; i < count; i++) {
      var strength = Math.sqrt(fx[i] * fx[i] + fy[i] * fy[i]);
      var scale = strength > most ? most / strength : 1;
      x[i] += fx[i] * scale * 0.6;
      y[i] += fy[i] * scale * 0.6;
    }
    if (step % 8 === 7) tell(x, y, false);
  }
  tell(x, y, true);
}

self.onmessage = event => {
  var asked = event.data;
  layOut(asked.count, asked.sources, asked.targets, function (x, y, over) {
    self.postMessage({ x: x.slice(), y: y.slice(), over: over });
  });
};
