import type { EntryCategory } from "../generated/operations";

export const CATEGORIES: EntryCategory[] = [
  "architecture",
  "policy",
  "preference",
  "ops",
  "debug",
  "bugfix",
  "feature",
  "note",
];

/** A category by its colour on the map and its name. */
export function Category({ category }: { category: EntryCategory }) {
  return (
    <span className="category" data-category={category}>
      {category}
    </span>
  );
}
