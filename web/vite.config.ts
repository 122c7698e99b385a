import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

import { listPackages } from "./scripts/packages.ts";

// `npm run dev` serves the sources with the API of a running daemon behind
// them: MISSION_URL=http://127.0.0.1:PORT npm run dev
const daemon = process.env.MISSION_URL;

const packages = listPackages();

export default defineConfig({
  plugins: [react(), packages.page],
  build: {
    target: "es2022",
    // Small files stay files: the page's policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // Its languages are files of their own, loaded when they are needed.
  worker: { format: "es", plugins: () => [packages.workers()] },
  server: daemon
    ? { proxy: { "/api": { target: daemon, ws: true, changeOrigin: true } } }
    : {},
});
