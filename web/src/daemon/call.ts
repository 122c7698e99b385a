// One way to the daemon: an operation of the catalogue with its own types.

import type { Operations } from "../generated/operations";
import { errorOf, NotSignedIn, openSession, sessionHeaders } from "./session";

export type OperationName = keyof Operations;
export type Params<O extends OperationName> = Operations[O]["params"];
export type Result<O extends OperationName> = Operations[O]["result"];

/** What the daemon says when it refuses; its message is for the person. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** The daemon could not be reached at all. */
export class Unreachable extends Error {
  constructor() {
    super("The daemon does not answer. It may be restarting; `mission up` starts it.");
  }
}

export async function call<O extends OperationName>(
  operation: O,
  params: Params<O>,
  signal?: AbortSignal,
): Promise<Result<O>> {
  let response = await post(operation, params, signal);
  if (response.status === 403) {
    // Another tab may have signed in anew: the token is then another one.
    await openSession();
    response = await post(operation, params, signal);
  }
  for (let tries = 0; response.status === 429 && tries < MOST_TRIES; tries++) {
    await pause(response);
    response = await post(operation, params, signal);
  }
  if (response.ok) return (await response.json()) as Result<O>;
  if (response.status === 401) {
    signedOut();
    throw new NotSignedIn();
  }
  const said = await errorOf(response);
  if (!said && response.status >= 502) throw new Unreachable();
  throw new Refused(
    said?.code ?? String(response.status),
    said?.message ?? `The daemon answered ${response.status} to ${operation}.`,
    said?.data,
  );
}

/** How often what was too much at once is tried again. */
const MOST_TRIES = 3;

function pause(response: Response): Promise<void> {
  const seconds = Number(response.headers.get("retry-after") ?? 1);
  return new Promise((done) => setTimeout(done, Math.min(Math.max(seconds, 0.2), 10) * 1000));
}

async function post(operation: string, params: unknown, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(`/api/v1/ops/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...sessionHeaders() },
      body: JSON.stringify(params),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
}

let signedOut = () => {};

/** Called when the daemon no longer knows our session. */
export function onSignedOut(then: () => void): void {
  signedOut = then;
}
