// Who we are to the daemon: a cookie the page cannot read, and the token that
// proves a request came from this page.

let csrf: string | undefined;

export class NotSignedIn extends Error {
  constructor() {
    super("This browser is not signed in.");
  }
}

/** Learns the token; throws [`NotSignedIn`] without a session. */
export async function openSession(): Promise<void> {
  const response = await fetch("/api/v1/session").catch(() => {
    throw new Error("The daemon does not answer. It may be restarting; `mission up` starts it.");
  });
  if (response.status === 401) throw new NotSignedIn();
  if (!response.ok) throw new Error(`The daemon answered ${response.status} to the question who we are.`);
  csrf = ((await response.json()) as { csrf: string }).csrf;
}

/** Trades the one-time code of a login link for a session. */
export async function signIn(code: string): Promise<void> {
  const response = await fetch("/api/v1/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (response.ok) return;
  const said = await errorOf(response);
  throw new Error(said?.message ?? `The daemon answered ${response.status}.`);
}

export async function signOut(): Promise<void> {
  await fetch("/api/v1/session", { method: "DELETE", headers: sessionHeaders() });
  csrf = undefined;
}

export function sessionHeaders(): Record<string, string> {
  return csrf ? { "x-mission-csrf": csrf } : {};
}

export interface SaidError {
  code: string;
  message: string;
  data?: unknown;
}

export async function errorOf(response: Response): Promise<SaidError | undefined> {
  try {
    return ((await response.json()) as { error?: SaidError }).error;
  } catch {
    return undefined;
  }
}
