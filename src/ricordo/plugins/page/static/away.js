// Answers for pages while the server is away, with one page that says so. Nothing else is kept: no text of yours.
"use strict";
var KEPT = "ricordo-away-1";
var FILES = ["/static/away.html", "/static/app.css", "/static/icon.svg"];

self.addEventListener("install", function (event) {
  event.waitUntil(caches.open(KEPT).then(function (cache) { return cache.addAll(FILES); }).then(function () { return self.skipWaiting(); }));
});
self.addEventListener("activate", function (event) {
  event.waitUntil(caches.keys().then(function (names) {
    return Promise.all(names.filter(function (name) { return name !== KEPT; }).map(function (name) { return caches.delete(name); }));
  }).then(function () { return self.clients.claim(); }));
});
self.addEventListener("fetch", function (event) {
  var isPage = event.request.mode === "navigate";
  var path = new URL(event.request.url).pathname;
  if (!isPage && FILES.indexOf(path) < 0) return;
  event.respondWith(fetch(event.request).catch(function () { return caches.match(isPage ? FILES[0] : path); }));
});
