// Whether an element is in sight or nearly: hundreds of lines may change each
// second, and nobody sees most of them. One observer watches all.

import { type RefObject, useEffect, useRef, useState } from "react";

const watched = new Map<Element, (near: boolean) => void>();
let observer: IntersectionObserver | undefined;

function watch(element: Element, tell: (near: boolean) => void): () => void {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) watched.get(entry.target)?.(entry.isIntersecting);
    },
    { rootMargin: "400px" },
  );
  watched.set(element, tell);
  observer.observe(element);
  return () => {
    watched.delete(element);
    observer?.unobserve(element);
  };
}

/** With `always` it counts as near and is not watched. */
export function useNear<E extends Element>(always: boolean): [RefObject<E | null>, boolean] {
  const place = useRef<E>(null);
  const [near, setNear] = useState(false);
  useEffect(() => (always || !place.current ? undefined : watch(place.current, setNear)), [always]);
  return [place, always || near];
}
