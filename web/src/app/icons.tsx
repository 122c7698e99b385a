// The icons of the rail: lines of one weight in a square of sixteen.

const PATHS = {
  now: "M8 1.75a6.25 6.25 0 1 0 6.25 6.25M8 4.5V8l2.25 2.25M11 2.6l2.4 2.4",
  board: "M2.25 2.75h3v10.5h-3zM6.5 2.75h3v7h-3zM10.75 2.75h3v4.5h-3z",
  review: "M5 2.5v11M11 2.5v11M2.5 5.5h5M8.5 8h5M11 5.5v5M3.25 10.5h3.5",
  runs: "M2 8h2.5l2-5 3 10 2-5H14",
  slots: "M1.75 2.75h12.5v10.5H1.75zM4.25 6l2.25 2-2.25 2M8.5 10.25h3.25",
  knowledge: "M3 2.25h8.5a1.5 1.5 0 0 1 1.5 1.5v10H4.5A1.5 1.5 0 0 1 3 12.25zM3 12.25a1.5 1.5 0 0 1 1.5-1.5H13M6 5.25h4",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  conversations: "M2 3h12v8H7.5L4.5 13.75V11H2zM5 6h6M5 8.25h4",
  timeline: "M4 1.75v12.5M4 4h.01M4 8h.01M4 12h.01M7 4h6.5M7 8h5M7 12h6.5",
  tools: "M9.75 2.25a3.5 3.5 0 0 0-3.1 5.1L2 12l2 2 4.65-4.65a3.5 3.5 0 0 0 4.85-4.1L11.25 7.5 8.5 4.75l2.25-2.25a3.6 3.6 0 0 0-1-.25z",
  settings: "M2 4.5h7M12.5 4.5H14M2 11.5h1.5M7 11.5h7M10.75 3v3M5.25 10v3",
  docs: "M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5zM6.25 6.25a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.85.7-.85 1.4M8 11.5h.01",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  search: "M7 2.25a4.75 4.75 0 1 0 0 9.5 4.75 4.75 0 0 0 0-9.5zM10.5 10.5l3.5 3.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2 : 1.35}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
