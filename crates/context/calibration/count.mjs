// What public tokenizers make of texts: o200k and cl100k (OpenAI), and the one of
// Claude 2, the last that Anthropic published. Prints JSON for the example
// `calibration`.
//
//   npm install --prefix crates/context/calibration
//   node crates/context/calibration/count.mjs FILE... > /tmp/counts.json
//   cargo run -p missiond-context --example calibration /tmp/counts.json
//
// A file that ends in .json and holds a list of {kind, text} is taken as it is;
// any other is cut into pieces of forty lines, and its kind is its extension.

import fs from "node:fs";
import path from "node:path";
import { getTokenizer } from "@anthropic-ai/tokenizer";
import { encode as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { encode as o200k } from "gpt-tokenizer/encoding/o200k_base";

const LINES = 40;
const claude = getTokenizer();
const asText = { disallowedSpecial: new Set() };

function counts(text) {
  return [
    o200k(text, asText).length,
    cl100k(text, asText).length,
    claude.encode(text.normalize("NFKC"), "all").length,
  ];
}

function pieces(file) {
  const content = fs.readFileSync(file, "utf8");
  if (file.endsWith(".json")) {
    const list = JSON.parse(content);
    if (Array.isArray(list) && list.every((one) => one.kind && one.text)) {
      return list.map(({ kind, text }) => ({ kind, text }));
    }
  }
  const lines = content.split(/(?<=\n)/);
  const kind = path.extname(file).slice(1) || path.basename(file);
  const found = [];
  for (let at = 0; at < lines.length; at += LINES) {
    const text = lines.slice(at, at + LINES).join("");
    if (text.trim().length >= 40) found.push({ kind, text });
  }
  return found;
}

const all = process.argv.slice(2).flatMap(pieces);
const counted = all.map(({ kind, text }) => ({ kind, text, counts: counts(text) }));
process.stdout.write(`${JSON.stringify(counted, null, 1)}\n`);
