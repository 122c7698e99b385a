// Which packages of node_modules the page holds, as the build found them: the list of
// what is inside a release (SBOM) is made from it, and a tool that only builds is in
// neither.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { Plugin, Rollup } from "vite";

const FILE = "packages.json";

/** The packages whose names are in a path, the outermost first, with their folders. */
function packagesIn(path: string): { name: string; folder: string }[] {
  const names = path.matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/g);
  return [...names].map((found) => ({ name: found[1] ?? "", folder: path.slice(0, found.index + found[0].length) }));
}

const plain = (id: string) => id.replace(/^\0+/, "").split("?")[0] ?? "";

/** What a package has put into its own files before it was published, by their source maps. */
function packedInto(file: string): string[] {
  const map = `${file}.map`;
  if (!existsSync(map)) return [];
  const { sources } = JSON.parse(readFileSync(map, "utf8")) as { sources: string[] };
  return sources.filter((source) => source.includes("node_modules/"));
}

/** A plugin for the page, which writes the list, and one for its workers, which are built before. */
export function listPackages(): { page: Plugin; workers: () => Plugin } {
  const known = new Map<string, { name: string; version: string }>();
  const add = (path: string) => {
    const of = packagesIn(path).at(-1);
    if (!of) return;
    const about = JSON.parse(readFileSync(`${of.folder}/package.json`, "utf8")) as { version: string };
    known.set(`${of.name} ${about.version}`, { name: of.name, version: about.version });
  };
  const addModule = (id: string) => {
    const path = plain(id);
    add(path);
    for (const source of packedInto(path)) {
      // As far as npm has installed it too: a package that lists it among what it needs.
      const of = packagesIn(`/${source}`).at(-1);
      const folder = of && resolve("node_modules", of.name);
      if (folder && existsSync(folder)) add(`${folder}/`);
    }
  };
  const look = (bundle: Rollup.OutputBundle, modules: Iterable<string>) => {
    for (const file of Object.values(bundle)) {
      if (file.type === "chunk") {
        for (const [id, { renderedLength }] of Object.entries(file.modules)) if (renderedLength > 0) addModule(id);
      } else {
        for (const original of file.originalFileNames) add(resolve(original));
      }
    }
    // Style sheets are taken out of the chunks.
    for (const id of modules) if (/\.css$/.test(plain(id))) add(plain(id));
  };
  return {
    page: {
      name: "list-packages",
      generateBundle(_, bundle) {
        look(bundle, this.getModuleIds());
        const list = [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
        this.emitFile({ type: "asset", fileName: FILE, source: `${JSON.stringify(list, null, 1)}\n` });
      },
    },
    workers: () => ({
      name: "list-packages-of-workers",
      generateBundle(_, bundle) {
        look(bundle, this.getModuleIds());
      },
    }),
  };
}
