// The frame of one thing that waits: a line, and when it is selected what is
// needed to deal with it.

import type { ReactNode } from "react";

import type { Tone } from "../parts/marks";
import { Ago } from "../parts/time";

interface Props {
  id: string;
  tone: Tone;
  what: string;
  number?: ReactNode;
  title: string;
  from?: ReactNode;
  at: string;
  selected: boolean;
  select: () => void;
  children: ReactNode;
}

export function Item({ id, tone, what, number, title, from, at, selected, select, children }: Props) {
  return (
    <li className={selected ? "item selected" : "item"} data-tone={tone} data-item={id}>
      <button type="button" className="item-line" aria-expanded={selected} onClick={select}>
        <span className="item-what">
          <span className="mark" data-tone={tone}>
            {what}
          </span>
          {number ? <span className="number">{number}</span> : null}
        </span>
        <span className="item-title">{title}</span>
        <span className="item-from">
          {from}
          <Ago at={at} />
        </span>
      </button>
      {selected ? <div className="item-body">{children}</div> : null}
    </li>
  );
}
