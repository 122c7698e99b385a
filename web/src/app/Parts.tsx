// The parts of a view, one of them chosen. Where there is no room for all of them
// side by side, the chosen one is scrolled to.

import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";

interface Part {
  path: string;
  name: string;
}

interface Props<P extends Part> {
  label: string;
  parts: P[];
  chosen: P | undefined;
  to: (path: string) => string;
  /** Goes behind the name of a part. */
  after?: (part: P) => ReactNode;
}

export function Parts<P extends Part>({ label, parts, chosen, to, after }: Props<P>) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [chosen]);
  return (
    <nav ref={nav} className="parts" aria-label={label}>
      {parts.map((part) => (
        <Link key={part.path} href={to(part.path)} aria-current={part === chosen ? "page" : undefined}>
          {part.name}
          {after?.(part)}
        </Link>
      ))}
    </nav>
  );
}
