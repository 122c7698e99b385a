// Whether an element is in sight or nearly: hundreds of lines may change each
// second, and nobody sees most of them. One observer watches all of a view.

import { type RefObject, useEffect, useState } from "react";

type Tell = (near: boolean) => void;

const watched = new WeakMap<Element, Tell>();
const observers = new WeakMap<Node, Map<number, IntersectionObserver>>();

/** The one observer of the view that scrolls this element. */
function observerOf(element: Element, margin: number): IntersectionObserver {
  const view = element.closest(".view") ?? document;
  const known = observers.get(view) ?? new Map<number, IntersectionObserver>();
  observers.set(view, known);
  const observer =
    known.get(margin) ??
    new IntersectionObserver(
      (entries) => {
        for (const entry of entries) watched.get(entry.target)?.(entry.isIntersecting);
      },
      { root: view, rootMargin: `${margin}px` },
    );
  known.set(margin, observer);
  return observer;
}

/** Whether it is within `margin` pixels of what is seen; not looked at while it does not matter. */
export function useNear(place: RefObject<Element | null>, margin: number, matters = true): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (!matters || !element) return;
    const observer = observerOf(element, margin);
    watched.set(element, setNear);
    observer.observe(element);
    return () => {
      watched.delete(element);
      observer.unobserve(element);
    };
  }, [place, margin, matters]);
  return near;
}
