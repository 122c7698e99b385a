// Writes the TypeScript types of the operation catalogue.
//
//   node scripts/types.mjs CATALOGUE.json OUT.ts
//
// The catalogue is a list of { name, description, params, result }, the last
// two being JSON Schemas. Definitions are shared between operations by name; two
// that differ under one name would make the types lie, so that is an error.

import { readFileSync, writeFileSync } from "node:fs";

const [, , from, to] = process.argv;
if (!from || !to) {
  console.error("usage: node scripts/types.mjs CATALOGUE.json OUT.ts");
  process.exit(2);
}

const definitions = new Map();

function define(name, schema, operation) {
  const text = JSON.stringify(schema);
  const known = definitions.get(name);
  if (known && known.text !== text) {
    throw new Error(`${operation}: \`${name}\` is defined differently elsewhere`);
  }
  definitions.set(name, { schema, text });
}

const commented = (schema, indent) =>
  schema?.description
    ? `${indent}/** ${schema.description.replaceAll("*/", "* /").replaceAll(/\s*\n\s*/g, " ")} */\n`
    : "";

const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function union(parts) {
  const known = [...new Set(parts)];
  return known.length === 0 ? "never" : known.length === 1 ? known[0] : known.map(grouped).join(" | ");
}

/** In parentheses if it would fall apart within a larger type. */
function grouped(type) {
  let depth = 0;
  for (const character of type.replaceAll(/"(?:[^"\\]|\\.)*"|\/\*.*?\*\//g, "")) {
    if ("({[<".includes(character)) depth += 1;
    else if (")}]>".includes(character)) depth -= 1;
    else if (depth === 0 && "|&".includes(character)) return `(${type})`;
  }
  return type;
}

function object(schema, indent) {
  const deeper = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const optional = required.has(name) ? "" : "?";
    return `${commented(property, deeper)}${deeper}${key(name)}${optional}: ${type(property, deeper)};`;
  });
  const rest = schema.additionalProperties;
  if (members.length === 0) {
    if (rest === false) return "Record<string, never>";
    return `Record<string, ${rest && rest !== true ? type(rest, indent) : "unknown"}>`;
  }
  return `{\n${members.join("\n")}\n${indent}}`;
}

function type(schema, indent = "") {
  if (schema === true || schema === undefined) return "unknown";
  if (schema === false) return "never";
  const parts = [];
  if (schema.$ref) parts.push(schema.$ref.replace("#/$defs/", ""));
  if (schema.allOf) parts.push(schema.allOf.map((each) => grouped(type(each, indent))).join(" & "));
  const either = schema.oneOf ?? schema.anyOf;
  if (either) parts.push(union(either.map((each) => type(each, indent))));
  if (schema.properties && (either || schema.$ref || schema.allOf)) parts.push(object(schema, indent));
  if (parts.length > 0) return parts.map(grouped).join(" & ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const kinds = [schema.type ?? (schema.properties ? "object" : [])].flat();
  return kinds.length === 0 ? "unknown" : union(kinds.map((kind) => plain(kind, schema, indent)));
}

function plain(kind, schema, indent) {
  switch (kind) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return schema.prefixItems
        ? `[${schema.prefixItems.map((item) => type(item, indent)).join(", ")}]`
        : `${grouped(type(schema.items, indent))}[]`;
    case "object":
      return object(schema, indent);
    default:
      throw new Error(`a schema of type ${kind}`);
  }
}

const catalogue = JSON.parse(readFileSync(from, "utf8"));
const operations = catalogue.map((operation) => {
  for (const schema of [operation.params, operation.result]) {
    for (const [name, definition] of Object.entries(schema.$defs ?? {})) {
      define(name, definition, operation.name);
    }
  }
  const params = named(operation.params, operation.name);
  const result = named(operation.result, operation.name);
  return `  /** ${operation.description} */\n  ${operation.name}: { params: ${params}; result: ${result} };`;
});

/** The root schema under its own name, so that views can name it too. */
function named(schema, operation) {
  const { $defs, $schema, title, ...body } = schema;
  if (!title || !/^[A-Z]\w*$/.test(title)) return type(body, "  ");
  define(title, body, operation);
  return title;
}

const text = [
  "// Generated from the operation catalogue. Not kept in the repository.",
  ...[...definitions]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, { schema }]) => `${commented(schema, "")}export type ${name} = ${type(schema)};`),
  `export interface Operations {\n${operations.join("\n")}\n}`,
].join("\n\n");
writeFileSync(to, `${text}\n`);
