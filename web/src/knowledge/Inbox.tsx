// What machines propose and nobody has decided about, oldest first.

import { useShortcuts } from "../app/shortcuts";
import { useAction, useOperation } from "../daemon/queries";
import type { KbProposal } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { Ago } from "../parts/time";
import { complain } from "../parts/toasts";
import { Category } from "./category";
import { tellDecided } from "./proposalCommands";

export function Inbox() {
  // No event tells of a proposal: it changes nothing until somebody decides.
  const inbox = useOperation("kb_inbox", {}, { refetchInterval: 15_000 });
  const decide = useAction("kb_decide", tellDecided);
  const decided = (proposal: KbProposal, decision: "accept" | "reject") =>
    decide.mutate({ proposal: proposal.id, decision }, { onError: complain });
  const first = inbox.data?.proposals[0];
  useShortcuts({
    a: () => first && !decide.isPending && decided(first, "accept"),
    x: () => first && !decide.isPending && decided(first, "reject"),
  });
  return (
    <div className="stack knowledge">
      <Loaded of={inbox}>
        {({ proposals, more }) =>
          proposals.length === 0 ? (
            <Nothing title="Nothing waits to be accepted">
              <p>
                What agents propose comes here, unless its source is one you accept by rule (
                <code>knowledge.accept_from</code> in the configuration).
              </p>
            </Nothing>
          ) : (
            <>
              <ol className="proposals" aria-label="Proposals">
                {proposals.map((proposal, index) => (
                  <li key={proposal.id}>
                    <Proposal
                      proposal={proposal}
                      first={index === 0}
                      busy={decide.isPending}
                      decide={(decision) => decided(proposal, decision)}
                    />
                  </li>
                ))}
              </ol>
              {more ? <p className="quiet">There are more; they come up as these are decided.</p> : null}
            </>
          )
        }
      </Loaded>
    </div>
  );
}

interface ProposalProps {
  proposal: KbProposal;
  first: boolean;
  busy: boolean;
  decide: (decision: "accept" | "reject") => void;
}

function Proposal({ proposal, first, busy, decide }: ProposalProps) {
  const { draft } = proposal;
  return (
    <article className="proposal">
      <p className="proposal-words">{draft.summary}</p>
      {draft.detail ? <p className="prose quiet proposal-detail">{draft.detail}</p> : null}
      <p className="hit-foot">
        {draft.category ? <Category category={draft.category} /> : null}
        <span className="quiet">
          from {proposal.source}
          {draft.scope ? `, for ${draft.scope}` : ""}, proposed <Ago at={proposal.at} />
        </span>
      </p>
      <p className="proposal-actions">
        <button type="button" className="button" disabled={busy} onClick={() => decide("accept")}>
          Accept {first ? <kbd>a</kbd> : null}
        </button>
        <button type="button" className="button plain" disabled={busy} onClick={() => decide("reject")}>
          Reject {first ? <kbd>x</kbd> : null}
        </button>
      </p>
    </article>
  );
}
