// The way to the pull request that the work of a task is judged in.

import type { PullRequest } from "../generated/operations";

/** Elsewhere, so it opens beside the page. */
export function PullRequestLink({ of }: { of: PullRequest | null | undefined }) {
  if (!of) return null;
  return (
    <a href={of.url} target="_blank" rel="noreferrer">
      Pull request #{of.number}
    </a>
  );
}
