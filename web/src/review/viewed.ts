// Which files of a change were looked at, kept by the browser. A mark holds for
// the change as it was: when the file changes again, it is gone.

import { useCallback, useMemo, useState } from "react";

import { recall, remember } from "../app/remember";
import type { WorktreeChanges } from "../generated/operations";
import { fingerprint } from "./segments";

export function useViewed(worktree: string, changes: WorktreeChanges) {
  const place = `viewed.${worktree}`;
  const [marks, setMarks] = useState<Record<string, string>>(() => recall(place, {}));
  const now = useMemo(
    () => new Map(changes.files.map((file) => [file.path, fingerprint(file, changes.head_commit)])),
    [changes],
  );
  const viewed = useMemo(
    () => new Set([...now].filter(([path, print]) => marks[path] === print).map(([path]) => path)),
    [marks, now],
  );
  const setViewed = useCallback(
    (path: string, is: boolean) =>
      setMarks((before) => {
        // Marks of files that are not in the change any more go with the next one.
        const kept = Object.entries(before).filter(([each, print]) => each !== path && now.get(each) === print);
        const print = now.get(path);
        const after = Object.fromEntries(is && print ? [...kept, [path, print]] : kept);
        remember(place, after);
        return after;
      }),
    [place, now],
  );
  return { viewed, setViewed };
}
