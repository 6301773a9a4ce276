// Answers for pages while the server is away, with one page that says so. Nothing else is kept: no text of yours.
"use strict";
var KEPT = "ricordo-away-1";
var FILES = ["/static/away.html", "/static/app.css", "/static/icon.svg"];

self.addEventListener("install", event => {
  event.waitUntil(caches.open(KEPT).then(cache => cache.addAll(FILES)).then(() => self.skipWaiting()));
});
self.addEventListener("activate", event => {
  event.waitUntil(caches.keys().then(names => {
    return Promise.all(names.filter(name => name !== KEPT).map(name => caches.delete(name)));
  }).then(() => self.clients.claim()));
});
self.addEventListener("fetch", event => {
  var isPage = event.request.mode === "navigate";
  var path = new URL(event.request.url).pathname;
  if (!isPage && FILES.indexOf(path) < 0) return;
  event.respondWith(fetch(event.request).catch(() => caches.match(isPage ? FILES[0] : path)));
});
