// Where to work: one of the repositories the daemon knows, or a folder that is
// typed. What is typed is looked at by the daemon, which also knows `~`.

import { useEffect, useId, useState } from "react";

import { useOperation } from "../daemon/queries";
import type { RepositorySummary } from "../generated/operations";

const OTHER = "other…";

interface Props {
  label: string;
  value: string;
  change: (path: string) => void;
  /** Told of the repository that is meant, and of none. */
  found?: (repository: RepositorySummary | undefined) => void;
  /** What it is called to work in none; it must be one when left out. */
  none?: string;
}

export function RepositoryField({ label, value, change, found, none }: Props) {
  const id = useId();
  const known = useOperation("repository_list", {});
  const repositories = known.data?.repositories ?? [];
  const listed = repositories.find((repository) => repository.path === value);
  const [typing, setTyping] = useState(false);
  const other = typing || (value !== "" && known.data !== undefined && !listed);
  const path = value.trim();
  const settled = useSettled(path);
  const looked = useOperation(
    "repository_show",
    { path: settled || "/" },
    { enabled: other && settled !== "", placeholder: "keep" },
  );
  // Of a folder that was typed over meanwhile nothing is said.
  const isLooked = other && path !== "" && settled === path && !looked.isPlaceholderData;
  const meant = listed ?? (isLooked ? looked.data : undefined);
  const reason = isLooked ? looked.error?.message : undefined;
  useEffect(() => found?.(meant), [meant?.path, meant?.branch]);

  return (
    <div className="repository-field">
      <label htmlFor={id}>{label}</label>
      {repositories.length > 0 ? (
        <select
          id={id}
          className="field"
          value={other ? OTHER : value}
          onChange={(event) => {
            const chosen = event.target.value;
            setTyping(chosen === OTHER);
            change(chosen === OTHER ? "" : chosen);
          }}
        >
          {none || !value ? <option value="">{none ?? "Choose a repository"}</option> : null}
          {repositories.map((repository) => (
            <option key={repository.path} value={repository.path}>
              {named(repository, repositories)}
            </option>
          ))}
          <option value={OTHER}>Another folder…</option>
        </select>
      ) : null}
      {repositories.length === 0 || other ? (
        <input
          {...(repositories.length === 0 ? { id } : { "aria-label": "Folder" })}
          className="field mono"
          value={value}
          placeholder="~/project"
          spellCheck={false}
          autoComplete="off"
          aria-describedby={`${id}-says`}
          aria-invalid={reason ? true : undefined}
          onChange={(event) => change(event.target.value)}
        />
      ) : null}
      <p id={`${id}-says`} className={reason || meant?.problem ? "field-says bad" : "field-says"} aria-live="polite">
        {reason ?? meant?.problem ?? (meant ? saysOf(meant) : "")}
      </p>
    </div>
  );
}

function saysOf(repository: RepositorySummary): string {
  return `${repository.path}${repository.branch ? `, on ${repository.branch}` : ""}`;
}

/** Its name, and its folder where two are called the same. */
export function named(repository: { name: string; path: string }, all: { name: string; path: string }[]): string {
  const same = all.some((other) => other.name === repository.name && other.path !== repository.path);
  if (!same) return repository.name;
  return `${repository.name} (${repository.path.split("/").slice(0, -1).join("/")})`;
}

/** What was typed, once nobody types on. */
function useSettled(value: string): string {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), 250);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
