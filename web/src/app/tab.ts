// What the tab of the browser is called: how much waits for a person, then what is open.

let open = "";
let waits = 0;

export function nameTab(name: string): void {
  open = name;
  write();
}

export function countInTab(count: number): void {
  waits = count;
  write();
}

function write(): void {
  const name = open ? `${open} · mission` : "mission";
  document.title = waits > 0 ? `(${waits}) ${name}` : name;
}
