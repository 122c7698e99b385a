export function Brand() {
  return (
    <span className="brand">
      <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
        <rect x="0.75" y="0.75" width="16.5" height="16.5" rx="3.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M4.5 12.5V6l4.5 4 4.5-4v6.5" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" strokeLinecap="round" />
      </svg>
      mission
    </span>
  );
}
