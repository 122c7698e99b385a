// Puts the library that cargo built beside index.js.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const metadata = JSON.parse(
  execFileSync('cargo', ['metadata', '--no-deps', '--format-version', '1'], {
    cwd: __dirname,
    maxBuffer: 64 << 20,
  }),
);
const names = { darwin: 'libsemantic_terminal_napi.dylib', win32: 'semantic_terminal_napi.dll' };
const library = names[process.platform] ?? 'libsemantic_terminal_napi.so';
fs.copyFileSync(
  path.join(metadata.target_directory, 'release', library),
  path.join(__dirname, 'semantic-terminal.node'),
);
