// The binding gives the readings that `mission semantic replay` gives, says what
// it is asked, and refuses what makes no sense.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { SemanticTerminal } from '../index.js';

const here = path.dirname(fileURLToPath(import.meta.url));
const fixtures = path.join(here, '../../pty/tests/fixtures');

/** Everything a recording does to a terminal, and the readings that come of it. */
function replay(file) {
  const [header, ...events] = fs
    .readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const terminal = new SemanticTerminal({
    engine: header.mission.engine,
    columns: header.width,
    rows: header.height,
  });
  const readings = [terminal.reading];
  let end = 0;
  for (const [seconds, kind, data] of events) {
    end = seconds * 1000;
    if (kind === 'o') readings.push(...terminal.feed(Buffer.from(data), end));
    if (kind === 'r') readings.push(...terminal.resize(...data.split('x').map(Number), end));
  }
  readings.push(...terminal.advance(end), ...terminal.finish());
  return { terminal, readings };
}

for (const name of ['claude', 'codex', 'gemini']) {
  test(`a session of ${name} is read as mission reads it`, () => {
    const file = path.join(fixtures, `${name}_session.cast`);
    const printed = execFileSync(process.env.MISSION, ['semantic', 'replay', file, '--json'], {
      encoding: 'utf8',
    });
    const expected = printed.trim().split('\n').map((line) => JSON.parse(line));
    const { readings } = replay(file);
    assert.ok(readings.length > 3, 'the fixture has several states');
    const seen = readings.map((reading) => ({
      t: Math.round((reading.at ?? 0) * 1000),
      state: reading.state,
      reason: reading.reason,
      waiting_for: reading.waitingFor,
      confidence: reading.confidence,
      authority: reading.authority,
      evidence: reading.evidence,
    }));
    assert.deepEqual(
      seen,
      expected.map((line) => ({
        t: Math.round(line.t * 1e6),
        state: line.state,
        reason: line.reason,
        waiting_for: line.waiting_for,
        confidence: line.confidence,
        authority: line.authority,
        evidence: line.evidence,
      })),
    );
  });
}

test('time alone makes a change known, at the deadline', () => {
  const { terminal } = replay(path.join(fixtures, 'codex_session.cast'));
  assert.equal(terminal.deadline ?? null, null, 'nothing is due at rest');
  terminal.feed(Buffer.from('\x1b]7501;state=working:app=codex\x07'), 1e6);
  const deadline = terminal.deadline;
  assert.ok(deadline >= 1e6);
  assert.equal(terminal.reading.state, 'idle');
  const changes = terminal.advance(deadline + 1000);
  assert.notEqual(changes.length, 0);
  assert.deepEqual(changes.at(-1).state, terminal.reading.state);
  assert.notEqual(terminal.reading.state, 'idle');
});

test('a prompt that was just given a text is not free', () => {
  const terminal = new SemanticTerminal({ engine: 'codex', columns: 80, rows: 24 });
  const prompt = '› Ask Codex to do anything\r\n\r\n  model default · /home/x';
  terminal.feed(Buffer.from(`\x1b[?2026h\x1b[2J\x1b[H${prompt}\x1b[?2026l`), 0);
  terminal.advance(5000);
  assert.equal(terminal.reading.state, 'idle');
  terminal.sent(Buffer.from('fix it'), 6000);
  terminal.sent(Buffer.from('\r'), 6100);
  terminal.advance(8000);
  assert.equal(terminal.reading.state, 'thinking');
});

test('the screen, the answers and the end', () => {
  const terminal = new SemanticTerminal({ engine: 'generic', columns: 20, rows: 3 });
  terminal.feed(Buffer.from('one\r\n\x1b]0;a title\x07two\x1b[6n'), 0);
  assert.deepEqual(terminal.screen, {
    columns: 20,
    rows: 3,
    lines: ['one', 'two', ''],
    title: 'a title',
    cursor: { row: 1, column: 3, visible: true },
    alternate: false,
  });
  assert.equal(terminal.takeReplies().toString(), '\x1b[2;4R');
  assert.equal(terminal.takeReplies().length, 0);
  terminal.resize(10, 2, 5);
  assert.equal(terminal.screen.columns, 10);
  assert.equal(terminal.explain(10).reading.state, terminal.reading.state);
  const changes = terminal.exited(20);
  assert.equal(changes.at(-1).state, 'exited');
  assert.equal(terminal.reading.since, 20);
});

test('a manifest of your own takes the place of a built-in one', () => {
  const manifest = `
manifest: 1
engine: mine
rules:
  - id: busy
    state: thinking
    priority: 10
    confidence: 0.75
    reason: it says that it works
    when: {in: screen, has: '^working$'}
`;
  const terminal = new SemanticTerminal({ manifest });
  terminal.feed(Buffer.from('working'), 0);
  terminal.advance(1000);
  assert.equal(terminal.reading.state, 'thinking');
  assert.equal(terminal.reading.confidence, 0.75);
  assert.deepEqual(terminal.reading.evidence, [
    { rule: 'busy', source: 'screen', row: 0, text: 'working' },
  ]);
});

test('what makes no sense is refused with a sentence', () => {
  assert.throws(() => new SemanticTerminal({ engine: 'nobody' }), /no manifest for the engine `nobody`.*claude/);
  assert.throws(() => new SemanticTerminal({}), /name an engine/);
  assert.throws(() => new SemanticTerminal({ manifest: 'rules: 3' }), /line 1/);
  assert.throws(() => new SemanticTerminal({ engine: 'codex', columns: 0 }), /columns/);
  const terminal = new SemanticTerminal({ engine: 'codex' });
  assert.throws(() => terminal.feed(Buffer.from('x'), -1), /not a time/);
  assert.throws(() => terminal.feed('text', 0));
});

test('the types declare what is there', () => {
  const types = fs.readFileSync(path.join(here, '../index.d.ts'), 'utf8');
  const body = (head) => types.match(new RegExp(`${head} \\{\\n([\\s\\S]*?)\\n\\}`))[1];
  const members = [...body('export class SemanticTerminal').matchAll(/^ {2}(?:get |static )?(\w+)(?=[(])/gm)]
    .map((match) => match[1])
    .filter((name) => name !== 'constructor');
  const real = [
    ...Object.getOwnPropertyNames(SemanticTerminal.prototype).filter((name) => name !== 'constructor'),
    ...Object.getOwnPropertyNames(SemanticTerminal).filter((name) => typeof SemanticTerminal[name] === 'function'),
  ];
  assert.deepEqual(members.sort(), real.sort());

  const declared = (name) => [...body(`export interface ${name}`).matchAll(/^ {2}(\w+)(\??):/gm)].map(
    ([, field, optional]) => ({ field, optional: optional === '?' }),
  );
  const fits = (name, value) => {
    const fields = declared(name);
    const known = new Set(fields.map(({ field }) => field));
    for (const field of Object.keys(value)) assert.ok(known.has(field), `${name}.${field} is not declared`);
    for (const { field, optional } of fields) {
      if (!optional) assert.ok(field in value, `${name}.${field} is missing`);
    }
  };
  const { readings, terminal } = replay(path.join(fixtures, 'claude_session.cast'));
  fits('Screen', terminal.screen);
  fits('Cursor', terminal.screen.cursor);
  const dialogs = readings.map((reading) => reading.dialog).filter(Boolean);
  assert.notEqual(dialogs.length, 0, 'the fixture has a dialog');
  for (const reading of readings) {
    fits('Reading', reading);
    reading.evidence.forEach((evidence) => fits('Evidence', evidence));
    if (reading.tool) fits('Tool', reading.tool);
  }
  for (const dialog of dialogs) {
    fits('Dialog', dialog);
    dialog.options.forEach((option) => fits('DialogOption', option));
  }
});
