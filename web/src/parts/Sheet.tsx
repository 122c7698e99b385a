// A dialog in the middle of the page, closed by Escape or a press beside it.

import { type ReactNode, useEffect, useRef } from "react";

interface Props {
  title: string;
  close: () => void;
  children: ReactNode;
}

export function Sheet({ title, close, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="sheet"
      aria-label={title}
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div className="stack">
        <h1>{title}</h1>
        {children}
      </div>
    </dialog>
  );
}
