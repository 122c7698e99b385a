// A review that is being written. It is kept by the browser until it is sent, so
// that a reload or a closed tab loses no word of it.

import { useCallback, useState } from "react";

import { recall, remember } from "../app/remember";
import type { ReviewComment, ReviewSide } from "../generated/operations";

export interface DraftComment {
  id: number;
  file: string;
  side: ReviewSide;
  line: number;
  quote: string;
  text: string;
}

export interface Draft {
  /** Names the review for the daemon: sent twice, it arrives once. */
  key: string;
  remark: string;
  comments: DraftComment[];
}

const fresh = (): Draft => ({ key: crypto.randomUUID(), remark: "", comments: [] });

export function useDraft(worktree: string) {
  const place = `review.${worktree}`;
  const [draft, set] = useState<Draft>(() => recall<Draft | null>(place, null) ?? fresh());
  const change = useCallback(
    (next: (before: Draft) => Draft) =>
      set((before) => {
        const after = next(before);
        remember(place, isEmpty(after) ? null : after);
        return after;
      }),
    [place],
  );
  return { draft, change, clear: useCallback(() => change(fresh), [change]) };
}

export const isEmpty = (draft: Draft): boolean => !draft.remark.trim() && draft.comments.length === 0;

export function withComment(draft: Draft, comment: Omit<DraftComment, "id">): Draft {
  const id = 1 + Math.max(0, ...draft.comments.map((each) => each.id));
  const comments = [...draft.comments, { ...comment, id }];
  // As git lists them: by bytes, not by the order of a language.
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  comments.sort((a, b) => order(a.file, b.file) || a.line - b.line || a.id - b.id);
  return { ...draft, comments };
}

export const asSent = ({ file, side, line, quote, text }: DraftComment): ReviewComment => ({
  file,
  side,
  line,
  text,
  ...(quote.trim() ? { quote } : {}),
});

/** The review in words, for a note where no agent can be told. */
export function worded(draft: Draft): string {
  const parts = draft.comments.map((comment) => {
    const old = comment.side === "old" ? " as it was before" : "";
    const quote = comment.quote.trim() ? `\n> ${comment.quote.trim()}` : "";
    return `${comment.file}, line ${comment.line}${old}:${quote}\n${comment.text}`;
  });
  return [draft.remark.trim(), ...parts].filter(Boolean).join("\n\n");
}
