import { Sheet } from "../parts/Sheet";
import { VIEWS } from "./views";

type Key = [string[], string];
type KeyGroup = [string, Key[]];

const EVERYWHERE: KeyGroup = [
  "Everywhere",
  [
    [["/"], "Search, go anywhere, do anything"],
    [["Ctrl", "K"], "The same, also while you type"],
    [["?"], "Show these keys"],
    [["f"], "Go to the filter or the search field"],
    [["j", "k"], "Next, previous"],
    [["Enter"], "Open"],
  ],
];

const GROUPS: KeyGroup[] = [
  [
    "Now",
    [
      [["1", "…", "9"], "Answer with that option"],
      [["a"], "Allow once"],
      [["d"], "Deny"],
      [["m"], "Write an answer or a message"],
      [["r"], "Retry a blocked task"],
      [["o"], "Show or hide details"],
      [["x"], "Dismiss a question, resolve an incident"],
    ],
  ],
  [
    "Board",
    [
      [["n"], "New task"],
      [["h", "l"], "Column to the left, to the right"],
      [["Alt", "↑"], "Move the card up"],
      [["Alt", "↓"], "Move the card down"],
    ],
  ],
  [
    "Task",
    [
      [["e"], "Edit the task"],
      [["Esc"], "Back to the board"],
    ],
  ],
  [
    "Review",
    [
      [["c"], "Comment on the line"],
      [["n"], "Next file"],
      [["p"], "Previous file"],
      [["v"], "Mark the file as viewed"],
      [["x"], "Fold or unfold the file"],
      [["s"], "Side by side or unified"],
      [["m"], "Merge"],
      [["r"], "Refresh"],
    ],
  ],
  [
    "Knowledge",
    [
      [["n"], "New entry"],
      [["a"], "Accept a proposal"],
      [["x"], "Reject a proposal"],
      [["e"], "Edit the entry"],
    ],
  ],
  [
    "Recording",
    [
      [["Space"], "Play or pause"],
      [["←", "→"], "Five seconds back, forward"],
    ],
  ],
];

export function Keys({ close }: { close: () => void }) {
  const views: KeyGroup = ["Views", VIEWS.map((view) => [["g", view.key], view.name])];
  return (
    <Sheet title="Keys" close={close}>
      <div className="keys">
        {[EVERYWHERE, views, ...GROUPS].map(([name, keys]) => (
          <Group key={name} name={name} keys={keys} />
        ))}
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
