// The browsers that are signed in and the tokens of programs, and a way to end
// any of them.

import { useAction, useOperation } from "../daemon/queries";
import { Loaded } from "../parts/Loaded";
import { Ago } from "../parts/time";
import { complain, say } from "../parts/toasts";

export function Access() {
  const list = useOperation("token_list", {});
  const revoke = useAction("token_revoke", ({ revoked }) => {
    say(`${revoked.map((each) => each.name).join(", ")} may not come in any more.`, "rest");
    void list.refetch();
  });
  return (
    <div className="stack system">
      <Loaded of={list}>
        {({ access }) => (
          <div className="scroll-x" role="region" aria-label="Who may come in" tabIndex={0}>
            <table className="table paragraphs">
              <thead>
                <tr>
                  <th>What</th>
                  <th>Name</th>
                  <th>Made</th>
                  <th>Last used</th>
                  <th>Ends</th>
                  <th>
                    <span className="visually-hidden">End it</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {access.map((each) => (
                  <tr key={each.id}>
                    <td>{each.kind === "session" ? "browser" : "program"}</td>
                    <td>{each.name}</td>
                    <td data-name="made">
                      <Ago at={each.created_at} />
                    </td>
                    <td data-name="last used">{each.last_used_at ? <Ago at={each.last_used_at} /> : null}</td>
                    <td data-name="ends">{each.expires_at ? <Ago at={each.expires_at} /> : "when it is revoked"}</td>
                    <td>
                      <button
                        type="button"
                        className="button plain small danger"
                        aria-label={`Revoke ${each.name}`}
                        disabled={revoke.isPending}
                        onClick={() => {
                          if (window.confirm(`${each.name} may not come in any more?`)) {
                            revoke.mutate({ access: each.id }, { onError: complain });
                          }
                        }}
                      >
                        Revoke
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
      <p className="quiet">
        Another browser: <code>mission open --print</code>. A program: <code>mission token create NAME</code>.
      </p>
    </div>
  );
}
