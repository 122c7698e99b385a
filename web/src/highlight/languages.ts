// Which language a file is in, by its name, as the highlighter calls it.

const BY_ENDING: Record<string, string> = {
  bash: "bash",
  c: "c",
  cc: "cpp",
  cjs: "javascript",
  cpp: "cpp",
  cs: "csharp",
  css: "css",
  cts: "typescript",
  cxx: "cpp",
  dart: "dart",
  diff: "diff",
  ex: "elixir",
  exs: "elixir",
  go: "go",
  gradle: "groovy",
  groovy: "groovy",
  h: "c",
  hpp: "cpp",
  hs: "haskell",
  htm: "xml",
  html: "xml",
  ini: "ini",
  java: "java",
  js: "javascript",
  json: "json",
  jsonc: "json",
  jsonl: "json",
  jsx: "javascript",
  kt: "kotlin",
  kts: "kotlin",
  less: "less",
  lua: "lua",
  markdown: "markdown",
  md: "markdown",
  mjs: "javascript",
  mk: "makefile",
  mts: "typescript",
  patch: "diff",
  php: "php",
  pl: "perl",
  proto: "protobuf",
  py: "python",
  pyi: "python",
  r: "r",
  rb: "ruby",
  rs: "rust",
  scala: "scala",
  scss: "scss",
  sh: "bash",
  sql: "sql",
  svg: "xml",
  swift: "swift",
  toml: "ini",
  ts: "typescript",
  tsx: "typescript",
  vue: "xml",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml",
  zsh: "bash",
};

const BY_NAME: Record<string, string> = {
  ".bashrc": "bash",
  ".gitconfig": "ini",
  "cmakelists.txt": "cmake",
  dockerfile: "dockerfile",
  gemfile: "ruby",
  makefile: "makefile",
  rakefile: "ruby",
};

/** As the code map calls them, where the highlighter has another word. */
const BY_WORD: Record<string, string> = { "c++": "cpp", shell: "bash", html: "xml", toml: "ini" };

export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return BY_NAME[name] ?? (name.includes(".") ? BY_ENDING[name.slice(name.lastIndexOf(".") + 1)] : undefined);
}

export const languageCalled = (word: string): string => BY_WORD[word.toLowerCase()] ?? word.toLowerCase();
