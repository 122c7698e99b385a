// The changed files by folder, with a box that narrows them and marks of those
// that were looked at.

import { useMemo, useState } from "react";

import type { ChangedFile, WorktreeChanges } from "../generated/operations";
import { Counts } from "./DiffFile";

/** With fewer files a filter and folders are more to read than the files. */
const MANY = 8;

interface Props {
  changes: WorktreeChanges;
  viewed: ReadonlySet<string>;
  show: (path: string) => void;
}

export function FileTree({ changes, viewed, show }: Props) {
  const [filter, setFilter] = useState("");
  const many = changes.files.length > MANY;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const files = changes.files.filter((file) => words.every((word) => file.path.toLowerCase().includes(word)));
  const tree = useMemo(() => treeOf(files), [changes, filter]);
  if (changes.files.length === 0) return null;
  return (
    <nav className="section" aria-label="Changed files">
      <h2 className="files-head">
        Files{" "}
        <span className="quiet">
          {viewed.size > 0 ? `${viewed.size} of ${changes.files.length} viewed` : changes.files.length}
        </span>
        <Counts additions={changes.additions} deletions={changes.deletions} />
      </h2>
      {many ? (
        <input
          type="search"
          className="field file-filter"
          aria-label="Filter files"
          placeholder="Filter files"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      ) : null}
      {files.length === 0 ? <p className="quiet">No file fits.</p> : null}
      {many ? (
        <div className="file-list">
          <Branch folder={tree} viewed={viewed} show={show} />
        </div>
      ) : (
        <ul className="file-list">
          {files.map((file) => (
            <FileLine key={file.path} file={file} name={file.path} viewed={viewed.has(file.path)} show={show} />
          ))}
        </ul>
      )}
    </nav>
  );
}

interface Folder {
  name: string;
  folders: Folder[];
  files: ChangedFile[];
}

function treeOf(files: ChangedFile[]): Folder {
  const root: Folder = { name: "", folders: [], files: [] };
  for (const file of files) {
    let folder = root;
    for (const name of file.path.split("/").slice(0, -1)) {
      let inner = folder.folders.find((each) => each.name === name);
      if (!inner) folder.folders.push((inner = { name, folders: [], files: [] }));
      folder = inner;
    }
    folder.files.push(file);
  }
  return joined(root);
}

/** A folder that has nothing but another one is said with it, in one line. */
function joined(folder: Folder): Folder {
  const folders = folder.folders.map(joined);
  const [only] = folders;
  if (folder.name && only && folders.length === 1 && folder.files.length === 0) {
    return { ...only, name: `${folder.name}/${only.name}` };
  }
  return { ...folder, folders };
}

function Branch({ folder, viewed, show }: { folder: Folder; viewed: ReadonlySet<string>; show: (path: string) => void }) {
  return (
    <ul>
      {folder.folders.map((inner) => (
        <li key={inner.name}>
          <details open className="file-folder">
            <summary className="mono">{inner.name}</summary>
            <Branch folder={inner} viewed={viewed} show={show} />
          </details>
        </li>
      ))}
      {folder.files.map((file) => (
        <FileLine
          key={file.path}
          file={file}
          name={file.path.slice(file.path.lastIndexOf("/") + 1)}
          viewed={viewed.has(file.path)}
          show={show}
        />
      ))}
    </ul>
  );
}

function FileLine({ file, name, viewed, show }: { file: ChangedFile; name: string; viewed: boolean; show: (path: string) => void }) {
  return (
    <li className={viewed ? "file-viewed" : undefined}>
      <button type="button" onClick={() => show(file.path)} title={file.path}>
        <span className="mono one-line">{name}</span>
        {viewed ? (
          <span className="tick" role="img" aria-label="viewed">
            ✓
          </span>
        ) : null}
        <Counts additions={file.additions} deletions={file.deletions} />
      </button>
    </li>
  );
}
