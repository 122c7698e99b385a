// Merging the work: what its checks say, how it is done and in which words, and
// exactly what would happen, before it does.

import { type FormEvent, type KeyboardEvent, useState } from "react";

import { useAction, useOperation } from "../daemon/queries";
import type { CheckVerdict, Finish, FinishResult, WorktreeFinished } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { complain, say } from "../parts/toasts";
import { Discard, useDirty } from "./Discard";

const WAYS: [Finish, string][] = [
  ["merge", "Merge commit"],
  ["squash", "Squash into one commit"],
  ["rebase", "Rebase"],
  ["branch", "Keep the branch"],
  ["patch", "Write a patch file"],
  ["pull_request", "Open a pull request"],
];

interface Props {
  worktree: string;
  /** How, where it was said before; else as the task says. */
  first?: Finish | undefined;
  close: () => void;
}

export function Merge({ worktree, first, close }: Props) {
  const [how, setHow] = useState(first);
  const [message, setMessage] = useState<string>();
  // Red work takes two presses, and another way to do it takes them anew.
  const [sure, setSure] = useState<Finish>();
  const params = { worktree, ...(how ? { how } : {}) };
  // Whatever was known before may not be so any more.
  const preview = useOperation("worktree_finish", { ...params, confirmed: false }, { placeholder: "keep", fresh: true });
  const finish = useAction("worktree_finish", (done) => {
    say(became(done));
    close();
  });
  const dirty = useDirty(worktree);
  // None is chosen until the task's own way is known: it would be changed under one's hand.
  const chosen = how ?? preview.data?.how;
  return (
    <Sheet title="Merge" close={close}>
      <div className="stack" onKeyDown={dropHeldEnter}>
        <fieldset className="merge-ways">
          <legend className="visually-hidden">How</legend>
          {WAYS.map(([each, name]) => (
            <label key={each}>
              <input
                type="radio"
                name="way"
                form="merge"
                checked={chosen === each}
                onChange={() => {
                  setHow(each);
                  setSure(undefined);
                }}
              />
              {name}
            </label>
          ))}
        </fieldset>
        <Discard worktree={worktree} discarded={() => void preview.refetch()} />
        {dirty && preview.isError ? (
          <p className="merge-does">Discard this, or commit it in the worktree: then the work can be merged.</p>
        ) : (
          <Loaded of={preview} lines={3}>
            {(foreseen) => {
              const way = how ?? foreseen.how;
              const red = foreseen.checks && foreseen.checks.failed > 0 ? foreseen.checks : undefined;
              const ready = !finish.isPending && !preview.isFetching && !preview.isError && brings(foreseen.result);
              const own = message ?? usualMessage(foreseen);
              const keeps = keepsOver(foreseen.gives_up ?? []);
              const go = () => {
                if (!ready) return;
                if (red && sure !== way) return setSure(way);
                const worded = hasMessage(way) && own.trim() ? { message: own } : {};
                const despite = red ? { despite_failed_checks: true } : {};
                finish.mutate({ ...params, ...worded, ...despite, confirmed: true }, { onError: complain });
              };
              return (
                <form
                  id="merge"
                  onSubmit={(event: FormEvent) => {
                    event.preventDefault();
                    if (!red) go();
                  }}
                >
                  {red ? <Red verdict={red} /> : null}
                  <Unproven verdict={foreseen.checks} />
                  {hasMessage(way) ? (
                    <label>
                      Commit message
                      <textarea className="field mono" rows={3} value={own} onChange={(event) => setMessage(event.target.value)} />
                    </label>
                  ) : null}
                  <p className="merge-does">{sentence(foreseen, way)}</p>
                  {keeps ? <p className="merge-does">{keeps}</p> : null}
                  <div className="actions">
                    <button type="button" className="button plain" onClick={close}>
                      Cancel
                    </button>
                    {red ? (
                      <button type="button" className="button danger" disabled={!ready} onClick={go}>
                        {label(way, foreseen.into, true, sure === way)}
                      </button>
                    ) : (
                      <button type="submit" className="button primary" disabled={!ready}>
                        {label(way, foreseen.into, false, false)}
                      </button>
                    )}
                  </div>
                </form>
              );
            }}
          </Loaded>
        )}
      </div>
    </Sheet>
  );
}

/** A key that is held is one press: red work takes two, and what has just opened has not been read. */
function dropHeldEnter(event: KeyboardEvent): void {
  const writes = event.target instanceof HTMLTextAreaElement;
  if (event.key === "Enter" && event.repeat && !writes) event.preventDefault();
}

/** That nothing was checked is said, whether no check has run or there is none. */
function Unproven({ verdict }: { verdict: CheckVerdict | null | undefined }) {
  if (!verdict) return <p className="notice">No check has run on this work.</p>;
  return verdict.passed + verdict.failed === 0 ? <p className="notice">This work has no checks.</p> : null;
}

/** What becomes of the alternatives that are not kept, if there are any. */
export function keepsOver(numbers: string[]): string | undefined {
  if (numbers.length === 0) return undefined;
  return numbers.length === 1
    ? `Keep this one: ${numbers[0]} is given up, and its work stays on its branch.`
    : `Keep this one: ${numbers.join(", ")} are given up, and their work stays on their branches.`;
}

/** What failed, by name. */
function Red({ verdict }: { verdict: CheckVerdict }) {
  return (
    <div className="trouble" role="alert">
      <span>
        <strong>{verdict.failed === 1 ? "A check failed:" : `${verdict.failed} checks failed:`}</strong>{" "}
        {verdict.failed_checks.map((check, index) => (
          <span key={check}>
            {index > 0 ? ", " : ""}
            <code>{check}</code>
          </span>
        ))}
      </span>
    </div>
  );
}

const hasMessage = (way: Finish): boolean => way === "merge" || way === "squash";

const usualMessage = ({ worktree }: WorktreeFinished): string =>
  worktree.task ? `${worktree.task}: ${worktree.title ?? ""}`.trimEnd() : `Merge ${worktree.branch ?? "the work"}`;

const DONE: Record<Finish, (into: string) => string> = {
  merge: (into) => `Merge into ${into}`,
  squash: (into) => `Squash into ${into}`,
  rebase: (into) => `Rebase onto ${into}`,
  branch: () => "Keep the branch",
  patch: () => "Write the patch",
  pull_request: () => "Open the pull request",
};

const DONE_RED: Record<Finish, string> = {
  merge: "Merge",
  squash: "Squash",
  rebase: "Rebase",
  branch: "Keep the branch",
  patch: "Write the patch",
  pull_request: "Open a pull request",
};

function label(way: Finish, into: string, red: boolean, sure: boolean): string {
  if (!red) return DONE[way](into);
  const what = DONE_RED[way];
  return sure ? `Yes, ${what.charAt(0).toLowerCase()}${what.slice(1)} red work` : `${what} although checks fail`;
}

const brings = (result: FinishResult): boolean => result.kind === "would_bring" || result.kind === "already_there";

/** Exactly what a press does. */
function sentence({ result, into, remote, worktree, completes }: WorktreeFinished, way: Finish): React.ReactNode {
  const done = completes ? ` ${completes} is done with that.` : "";
  if (result.kind === "nothing_to_bring") return "There is nothing to merge: nothing was committed.";
  if (result.kind === "already_there") return `Changes nothing: ${into} has the work already.${done}`;
  if (result.kind !== "would_bring") return null;
  const { commits } = result;
  const count = `${commits} ${commits === 1 ? "commit" : "commits"}`;
  const target = <code>{into}</code>;
  const from = <code>{worktree.branch}</code>;
  const does: Record<Finish, React.ReactNode> = {
    merge: (
      <>
        Adds {count} of {from} to {target}, with a merge commit. There is no conflict.
      </>
    ),
    squash: (
      <>
        Adds one commit to {target} that has the changes of {count} of {from}. There is no conflict.
      </>
    ),
    rebase: (
      <>
        Puts {count} of {from} on top of {target}, each with its own message. There is no conflict.
      </>
    ),
    branch: (
      <>
        Leaves {count} on {from}. {target} stays as it is.
      </>
    ),
    patch: (
      <>
        Writes {count} of {from} into a patch file. {target} stays as it is.
      </>
    ),
    pull_request: (
      <>
        Pushes {from} with {count} to <code>{remote}</code> and opens a pull request into {target}; one that is open gets
        the commits it does not have. {worktree.task ?? "The task"} is done when it is merged there.
      </>
    ),
  };
  return (
    <>
      {does[way]}
      {done}
    </>
  );
}

const STATES = { open: "is open", merged: "is merged", closed: "was closed without a merge" };

function became({ result, into }: WorktreeFinished): string {
  switch (result.kind) {
    case "merged":
      return `Merged into ${into} at ${result.commit.slice(0, 8)}.`;
    case "branch":
      return `The work is on the branch ${result.name}.`;
    case "patch":
      return `The work is in ${result.path}.`;
    case "pull_request":
      return `Pull request #${result.number} ${STATES[result.state]}.`;
    default:
      return `${into} has the work.`;
  }
}
