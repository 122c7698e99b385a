// The project that is looked at: one repository, or all of them. It is in the address
// and goes along from view to view.

import { useMemo } from "react";
import { useSearch } from "wouter";

import { nameOf } from "../board/cards";
import { useOperation } from "../daemon/queries";
import { named } from "../start/RepositoryField";
import { type Narrowing, useNarrowed } from "./address";

/** The views that can be narrowed to a project. */
const NARROWED = ["/", "/board", "/review", "/executions", "/timeline"];

/** The path of the repository in the address; empty for all. */
export function useProject(): string {
  return new URLSearchParams(useSearch()).get("repo") ?? "";
}

/** Whether something in this folder belongs to a project; of what has no folder nobody knows. */
export function isOfProject(project: string, folder: string | null | undefined): boolean {
  return !project || folder === project || Boolean(folder?.startsWith(`${project}/`));
}

/** The address of a view, for the project that is open now. */
export function viewInProject(path: string): string {
  if (!NARROWED.includes(window.location.pathname) || !NARROWED.includes(path)) return path;
  const project = new URLSearchParams(window.location.search).get("repo");
  return project ? `${path}?repo=${encodeURIComponent(project)}` : path;
}

interface Props {
  /** What else leaves the address with it: a place in the list of another project. */
  forgets?: Narrowing;
}

export function ProjectSwitcher({ forgets = {} }: Props) {
  const [, narrow] = useNarrowed();
  const project = useProject();
  const known = useOperation("repository_list", {});
  const repositories = useMemo(() => {
    const all = (known.data?.repositories ?? []).map(({ name, path }) => ({ name, path }));
    if (project && !all.some(({ path }) => path === project)) all.push({ name: nameOf(project), path: project });
    return all.sort((a, b) => a.name.localeCompare(b.name));
  }, [known.data, project]);
  if (repositories.length === 0) return null;
  return (
    <select
      className="field project"
      aria-label="Repository"
      value={project}
      onChange={(event) => narrow({ ...forgets, repo: event.target.value })}
    >
      <option value="">All repositories</option>
      {repositories.map((repository) => (
        <option key={repository.path} value={repository.path}>
          {named(repository, repositories)}
        </option>
      ))}
    </select>
  );
}
