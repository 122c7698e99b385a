// Highlights source on a thread of its own, so that no frame waits for it. A
// language is loaded with its first file.

import type { LanguageFn } from "highlight.js";
import hljs from "highlight.js/lib/core";

import { type Kind, KINDS, type Lines, type Task } from "./protocol";

type Loader = () => Promise<{ default: LanguageFn }>;

const LANGUAGES: Record<string, Loader> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cmake: () => import("highlight.js/lib/languages/cmake"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  csharp: () => import("highlight.js/lib/languages/csharp"),
  css: () => import("highlight.js/lib/languages/css"),
  dart: () => import("highlight.js/lib/languages/dart"),
  diff: () => import("highlight.js/lib/languages/diff"),
  dockerfile: () => import("highlight.js/lib/languages/dockerfile"),
  elixir: () => import("highlight.js/lib/languages/elixir"),
  go: () => import("highlight.js/lib/languages/go"),
  groovy: () => import("highlight.js/lib/languages/groovy"),
  haskell: () => import("highlight.js/lib/languages/haskell"),
  ini: () => import("highlight.js/lib/languages/ini"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  kotlin: () => import("highlight.js/lib/languages/kotlin"),
  less: () => import("highlight.js/lib/languages/less"),
  lua: () => import("highlight.js/lib/languages/lua"),
  makefile: () => import("highlight.js/lib/languages/makefile"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  perl: () => import("highlight.js/lib/languages/perl"),
  php: () => import("highlight.js/lib/languages/php"),
  protobuf: () => import("highlight.js/lib/languages/protobuf"),
  python: () => import("highlight.js/lib/languages/python"),
  r: () => import("highlight.js/lib/languages/r"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  scala: () => import("highlight.js/lib/languages/scala"),
  scss: () => import("highlight.js/lib/languages/scss"),
  sql: () => import("highlight.js/lib/languages/sql"),
  swift: () => import("highlight.js/lib/languages/swift"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

/** What a scope is drawn as; one that is not here is plain. */
const SCOPES: Record<string, Kind> = {
  attr: "name",
  attribute: "name",
  built_in: "type",
  bullet: "mark",
  char: "string",
  class: "type",
  code: "string",
  comment: "comment",
  doctag: "keyword",
  keyword: "keyword",
  link: "string",
  literal: "keyword",
  meta: "mark",
  name: "keyword",
  number: "number",
  property: "name",
  quote: "comment",
  regexp: "string",
  section: "title",
  "selector-attr": "name",
  "selector-class": "name",
  "selector-id": "name",
  "selector-pseudo": "mark",
  "selector-tag": "keyword",
  string: "string",
  symbol: "string",
  "template-tag": "mark",
  "template-variable": "name",
  title: "title",
  type: "type",
  variable: "name",
};

const ESCAPED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

async function load(language: string): Promise<boolean> {
  if (hljs.getLanguage(language)) return true;
  const loader = LANGUAGES[language];
  if (!loader) return false;
  hljs.registerLanguage(language, (await loader()).default);
  return true;
}

/** The highlighter writes nested elements; a line needs runs with their lengths. */
function runs(html: string): Lines {
  const lines: Lines = [[]];
  const inside: number[] = [];
  for (const [part, scope, escaped] of html.matchAll(/<span class="([^"]*)">|<\/span>|&([^;]+);|\n|[^<&\n]+/g)) {
    if (scope !== undefined) {
      const name = scope.replace(/^hljs-/, "").split(" ")[0] ?? "";
      const kind = SCOPES[name];
      // What is put into a string is code again.
      inside.push(kind ? KINDS.indexOf(kind) + 1 : name === "subst" ? 0 : (inside.at(-1) ?? 0));
    } else if (part === "</span>") {
      inside.pop();
    } else if (part === "\n") {
      lines.push([]);
    } else {
      const kind = inside.at(-1) ?? 0;
      const length = escaped === undefined ? part.length : (ESCAPED[escaped] ?? part).length;
      const line = lines.at(-1) as number[];
      if (line.length > 0 && line.at(-1) === kind) line[line.length - 2] = (line.at(-2) ?? 0) + length;
      else line.push(length, kind);
    }
  }
  return lines;
}

self.onmessage = async ({ data: { id, language, texts } }: MessageEvent<Task>) => {
  let lines: Lines[] | undefined;
  try {
    if (await load(language)) {
      lines = texts.map((text) => runs(hljs.highlight(text, { language, ignoreIllegals: true }).value));
    }
  } catch {
    // A file that cannot be highlighted is shown plain.
  }
  self.postMessage({ id, lines });
};
