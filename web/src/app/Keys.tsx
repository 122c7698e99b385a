import { Sheet } from "../parts/Sheet";
import { VIEWS } from "./views";

const EVERYWHERE: [string[], string][] = [
  [["/"], "Go to anything, do anything"],
  [["?"], "These keys"],
  [["j", "k"], "Next, previous"],
  [["Enter"], "Open, or write an answer"],
];

const ATTENTION: [string[], string][] = [
  [["1", "…", "9"], "Answer with that option"],
  [["a"], "Allow this once"],
  [["d"], "Deny"],
  [["x"], "Dismiss"],
];

const BOARD: [string[], string][] = [
  [["n"], "New task"],
  [["h", "l"], "Column to the left, to the right"],
  [["Alt", "↑"], "More wanted"],
  [["Alt", "↓"], "Less wanted"],
];

export function Keys({ close }: { close: () => void }) {
  const views: [string[], string][] = VIEWS.map((view) => [["g", view.key], view.name]);
  return (
    <Sheet title="Keys" close={close}>
      <div className="keys">
        <Group name="Everywhere" keys={EVERYWHERE} />
        <Group name="Views" keys={views} />
        <Group name="Attention" keys={ATTENTION} />
        <Group name="Board" keys={BOARD} />
      </div>
    </Sheet>
  );
}

function Group({ name, keys }: { name: string; keys: [string[], string][] }) {
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
