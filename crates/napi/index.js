// Loads the binding: from SEMANTIC_TERMINAL_BINDING where that is set, otherwise
// from beside this file, where `npm run build` puts it.
'use strict';

const path = require('node:path');

const file = process.env.SEMANTIC_TERMINAL_BINDING ?? path.join(__dirname, 'semantic-terminal.node');

let binding;
try {
  binding = require(file);
} catch (cause) {
  throw new Error(`The binding ${file} cannot be loaded; build it with \`npm run build\`.`, { cause });
}

exports.SemanticTerminal = binding.SemanticTerminal;
