// What a view shows while it loads, when it failed, and when it has its data.

import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { Prose } from "./Prose";

interface Props<T> {
  of: UseQueryResult<T>;
  /** About how many lines will be there. */
  lines?: number;
  children: (data: T) => ReactNode;
}

export function Loaded<T>({ of, lines = 6, children }: Props<T>) {
  if (of.data !== undefined) {
    return (
      <>
        {of.error ? <Trouble error={of.error} retry={() => void of.refetch()} /> : null}
        {children(of.data)}
      </>
    );
  }
  if (of.error) return <Trouble error={of.error} retry={() => void of.refetch()} />;
  return <Lines count={lines} />;
}

export function Trouble({ error, retry }: { error: Error; retry?: () => void }) {
  return (
    <div className="trouble" role="alert">
      <span>
        <Prose text={error.message} />
      </span>
      {retry ? (
        <button type="button" className="button small" onClick={retry}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

const WIDTHS = ["62%", "48%", "71%", "55%", "66%", "40%"];

export function Lines({ count }: { count: number }) {
  return (
    <div className="lines" role="status" aria-label="Loading">
      {Array.from({ length: count }, (_, line) => (
        <span key={line} style={{ width: WIDTHS[line % WIDTHS.length] }} />
      ))}
    </div>
  );
}

export function Nothing({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="nothing">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
