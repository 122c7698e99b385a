// The bar above a view: its name, its controls, what is done most in it, and at
// phone width the way to the rail.

import { createContext, type ReactNode, useContext } from "react";

export const Menu = createContext({ open: false, toggle: () => {} });

interface Props {
  title: ReactNode;
  /** Always in sight, where the controls may have to be scrolled. */
  action?: ReactNode;
  children?: ReactNode;
}

export function Bar({ title, action, children }: Props) {
  const menu = useContext(Menu);
  return (
    <div className="bar">
      <button
        type="button"
        className="button plain menu-toggle"
        aria-expanded={menu.open}
        aria-label="Views"
        onClick={menu.toggle}
      >
        <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2 4h12M2 8h12M2 12h12" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
        </svg>
      </button>
      <h1>{title}</h1>
      {children ? <div className="bar-controls spread">{children}</div> : null}
      {action ? <div className={children ? "bar-action" : "bar-action spread"}>{action}</div> : null}
    </div>
  );
}
