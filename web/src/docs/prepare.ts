// What the page adds to a text of the documentation: a table and a piece of code
// scroll by themselves, code can be copied, a section has a link to itself, and what
// leads away from here opens beside it.

export function prepare(html: string): string {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  // Where the focus goes when another page is opened; no stop on the way.
  body.querySelector("h1")?.setAttribute("tabindex", "-1");
  for (const table of body.querySelectorAll("table")) {
    // A table needs a head in Markdown, and not everywhere else.
    for (const head of table.querySelectorAll("th")) if (!head.textContent?.trim()) head.replaceWith(cell(head));
    if (!table.querySelector("th")) table.tHead?.remove();
    wrap(table, "docs-table");
  }
  for (const code of body.querySelectorAll("pre")) {
    const block = wrap(code, "docs-code");
    const copy = body.ownerDocument.createElement("button");
    copy.type = "button";
    copy.className = "button small docs-copy";
    copy.textContent = "Copy";
    copy.setAttribute("aria-label", "Copy this code");
    block.append(copy);
  }
  for (const heading of body.querySelectorAll(":is(h2, h3, h4)[id]")) {
    const link = body.ownerDocument.createElement("a");
    link.className = "docs-anchor";
    link.href = `#${heading.id}`;
    link.textContent = "#";
    // The list of sections leads there too, by keys and for who listens.
    link.tabIndex = -1;
    link.setAttribute("aria-hidden", "true");
    heading.append(link);
  }
  for (const link of body.querySelectorAll<HTMLAnchorElement>('a[href^="http"]')) {
    link.target = "_blank";
    link.rel = "noreferrer";
  }
  return body.innerHTML;
}

const cell = (head: Element): Element => head.ownerDocument.createElement("td");

function wrap(element: Element, name: string): Element {
  const around = element.ownerDocument.createElement("div");
  around.className = name;
  element.replaceWith(around);
  around.append(element);
  return around;
}
