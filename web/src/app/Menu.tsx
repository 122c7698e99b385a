// The bar above a view: its name, its controls, and what is done most in it.

import type { ReactNode } from "react";

interface Props {
  title: ReactNode;
  /** Always in sight, where the controls may have to be scrolled. */
  action?: ReactNode;
  children?: ReactNode;
}

export function Bar({ title, action, children }: Props) {
  return (
    <div className="bar">
      <h1>{title}</h1>
      {children ? <div className="bar-controls spread">{children}</div> : null}
      {action ? <div className={children ? "bar-action" : "bar-action spread"}>{action}</div> : null}
    </div>
  );
}
