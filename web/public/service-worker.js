// Shows what waits, and brings the person to it. Nothing is cached: the daemon is
// on this machine, and a page from yesterday would lie about today.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const address = event.notification.data || "/";
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then(async (pages) => {
      const [page] = pages;
      if (!page) return self.clients.openWindow(address);
      // First, because the browser may refuse the other.
      page.postMessage({ type: "open", address });
      await page.focus();
    }),
  );
});
