import { Sheet } from "../parts/Sheet";
import { VIEWS } from "./views";

type Key = [string[], string];

const GROUPS: [string, Key[]][] = [
  [
    "Everywhere",
    [
      [["/"], "Search, go to anything, do anything"],
      [["Ctrl", "K"], "The same, also while you type"],
      [["?"], "These keys"],
      [["j", "k"], "Next, previous"],
      [["Enter"], "Open"],
    ],
  ],
  [
    "Now",
    [
      [["1", "…", "9"], "Answer with that option"],
      [["a"], "Allow once"],
      [["d"], "Deny"],
      [["m"], "Write an answer or a message"],
      [["r"], "Retry a blocked task"],
      [["o"], "Show details"],
      [["x"], "Dismiss"],
    ],
  ],
  [
    "Board",
    [
      [["n"], "New task"],
      [["h", "l"], "Column to the left, to the right"],
      [["Alt", "↑"], "Higher priority"],
      [["Alt", "↓"], "Lower priority"],
    ],
  ],
  [
    "Review",
    [
      [["c"], "Comment on the line"],
      [["n"], "Next file"],
      [["p"], "Previous file"],
      [["m"], "Merge"],
      [["r"], "Refresh"],
    ],
  ],
  [
    "Knowledge",
    [
      [["n"], "New entry"],
      [["a"], "Accept a proposal"],
      [["x"], "Reject it"],
      [["e"], "Edit the entry"],
      [["f"], "Search"],
    ],
  ],
];

export function Keys({ close }: { close: () => void }) {
  const views: Key[] = VIEWS.map((view) => [["g", view.key], view.name]);
  return (
    <Sheet title="Keys" close={close}>
      <div className="keys">
        <div className="stack">
          <Group name={GROUPS[0]?.[0] ?? ""} keys={GROUPS[0]?.[1] ?? []} />
          <Group name="Views" keys={views} />
        </div>
        <div className="stack">
          {GROUPS.slice(1).map(([name, keys]) => (
            <Group key={name} name={name} keys={keys} />
          ))}
        </div>
      </div>
    </Sheet>
  );
}

function Group({ name, keys }: { name: string; keys: Key[] }) {
  return (
    <section>
      <h3>{name}</h3>
      <dl className="facts">
        {keys.map(([names, does]) => (
          <div key={does} className="key-row">
            <dt>
              {names.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
