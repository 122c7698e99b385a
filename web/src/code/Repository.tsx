// What the code map holds of a repository, and reading one that is new.

import { type FormEvent, useMemo } from "react";
import { useLocation } from "wouter";

import { useAction, useOperation } from "../daemon/queries";
import type { CodeStatusResult } from "../generated/operations";
import { Loaded, Nothing, Trouble } from "../parts/Loaded";
import { Ago, duration } from "../parts/time";
import { complain, say } from "../parts/toasts";
import { Fresh } from "./place";

export function Repository({ root }: { root: string }) {
  const status = useOperation("code_status", { path: root }, { refetchInterval: 5000 });
  const read = useAction("code_index", (now) =>
    say(now.freshness.state === "updating" ? "It is being indexed." : "It is up to date."),
  );
  const again = (rebuild: boolean) => read.mutate({ path: root, rebuild, wait: false }, { onError: complain });
  return (
    <div className="stack code">
      <Loaded of={status}>{(known) => <Known status={known} />}</Loaded>
      <p className="ask">
        <button type="button" className="button" disabled={read.isPending} onClick={() => again(false)}>
          Update
        </button>
        <button type="button" className="button plain" disabled={read.isPending} onClick={() => again(true)}>
          Rebuild from scratch
        </button>
      </p>
    </div>
  );
}

function Known({ status }: { status: CodeStatusResult }) {
  const languages = Object.entries(status.languages).sort(([, a], [, b]) => b - a);
  const most = languages[0]?.[1] ?? 1;
  return (
    <>
      <Fresh of={status.freshness.state === "unchecked" ? { state: "current" } : status.freshness} />
      <dl className="facts">
        <dt>Folder</dt>
        <dd className="mono">{status.root}</dd>
        <dt>Size</dt>
        <dd>
          {status.files.toLocaleString("en")} files, {status.symbols.toLocaleString("en")} symbols,{" "}
          {status.lines.toLocaleString("en")} lines
        </dd>
        {status.checked_at ? (
          <>
            <dt>Last checked</dt>
            <dd>
              <Ago at={status.checked_at} />
            </dd>
          </>
        ) : null}
        {status.last_pass ? (
          <>
            <dt>Last pass</dt>
            <dd>
              {status.last_pass.changed} changed, {status.last_pass.gone} gone, in {duration(status.last_pass.millis)}
            </dd>
          </>
        ) : null}
        {status.beyond_limit > 0 ? (
          <>
            <dt>Not indexed</dt>
            <dd>{status.beyond_limit} files are beyond the limit and not read</dd>
          </>
        ) : null}
      </dl>
      <section className="section">
        <h2>Languages</h2>
        <dl className="languages">
          {languages.map(([language, files]) => (
            <div key={language}>
              <dt>{language}</dt>
              <dd>
                <span className="score" aria-hidden="true">
                  <span style={{ width: `${(files / most) * 100}%` }} />
                </span>
                {files} {files === 1 ? "file" : "files"}
              </dd>
            </div>
          ))}
        </dl>
      </section>
      {status.skipped_count > 0 ? (
        <details className="section">
          <summary>Skipped files ({status.skipped_count})</summary>
          <ul className="skipped">
            {status.skipped.map((file) => (
              <li key={file.path}>
                <code>{file.path}</code> <span className="quiet">{file.reason}</span>
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </>
  );
}

export function NewRepository({ first }: { first: boolean }) {
  const [, navigate] = useLocation();
  const work = useOperation("worktree_list", {});
  const suggested = useMemo(
    () => [...new Set((work.data?.worktrees ?? []).flatMap((worktree) => worktree.repository ?? []))].sort(),
    [work.data],
  );
  const read = useAction("code_index", (status) =>
    navigate(`/code/search?${new URLSearchParams({ repo: status.root })}`),
  );
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const path = String(new FormData(event.currentTarget).get("path") ?? "").trim();
    if (path) read.mutate({ path, wait: true, rebuild: false });
  };
  return (
    <Nothing title={first ? "No repository is indexed yet" : "Add a repository"}>
      <p>
        The code map knows what a repository defines, where, and what leans on what. Nothing has to be prepared: name a
        folder on the daemon's machine, and the whole checkout it lies in is indexed.
      </p>
      <form className="ask new-repository" onSubmit={submit}>
        <input
          className="field mono"
          name="path"
          required
          pattern="/.*"
          title="An absolute path, beginning with /"
          aria-label="Folder of a repository"
          placeholder="/home/me/work/project"
          list="known-repositories"
        />
        <datalist id="known-repositories">
          {suggested.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <button type="submit" className="button primary" disabled={read.isPending}>
          {read.isPending ? "Indexing…" : "Index"}
        </button>
      </form>
      {read.error ? <Trouble error={read.error} /> : null}
      {suggested.length > 0 ? (
        <p className="quiet">
          Agents work in{" "}
          {suggested.slice(0, 5).map((each) => (
            <button
              key={each}
              type="button"
              className="button plain small mono"
              disabled={read.isPending}
              onClick={() => read.mutate({ path: each, wait: true, rebuild: false })}
            >
              {each}
            </button>
          ))}
        </p>
      ) : null}
    </Nothing>
  );
}
