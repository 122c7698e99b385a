// A QR code of a link that signs one device in, for the address under which that
// device can reach this daemon. Which that is only the person knows when the page
// itself was opened on this machine, so it can be said.

import { useEffect, useState } from "react";

import { useAction } from "../daemon/queries";
import { Lines, Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { Ago } from "../parts/time";

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function Pairing({ close }: { close: () => void }) {
  const login = useAction("web_login");
  const { mutate } = login;
  useEffect(() => mutate({}), [mutate]);
  const made = login.data;
  const elsewhere = made?.elsewhere ?? [];
  const here = LOOPBACK.test(location.hostname) ? undefined : location.origin;
  const [given, setGiven] = useState("");
  const base = given.trim() || here || elsewhere[0];
  const link = made && base ? linked(made.link, base) : undefined;
  return (
    <Sheet title="Pair a phone" close={close}>
      {login.error ? <Trouble error={login.error} retry={() => mutate({})} /> : null}
      {made ? (
        <>
          {link ? (
            <figure className="pairing">
              <Code text={link} />
              <figcaption>
                <p>Scan it with the camera of the phone. It signs one device in, once.</p>
                <p className="quiet">
                  For <code>{new URL(link).origin}</code>, expires <Ago at={made.expires_at} />.
                </p>
                <p>
                  <button type="button" className="button small" disabled={login.isPending} onClick={() => mutate({})}>
                    New code
                  </button>
                </p>
              </figcaption>
            </figure>
          ) : (
            <Unreachable />
          )}
          <label>
            Address the phone uses
            <input
              className="field mono"
              type="url"
              placeholder={here ?? elsewhere[0] ?? "https://this-machine.example"}
              value={given}
              onChange={(event) => setGiven(event.target.value)}
            />
          </label>
          {given.trim() && !link ? <p className="trouble">An address begins with http:// or https://.</p> : null}
        </>
      ) : login.error ? null : (
        <Lines count={6} />
      )}
      <p className="actions">
        <button type="button" className="button" onClick={close}>
          Done
        </button>
      </p>
    </Sheet>
  );
}

function Unreachable() {
  return (
    <div className="stack">
      <p>
        The daemon serves this machine only, so a phone cannot reach it yet. Give it a name that the phone knows, best by a
        tunnel or proxy with TLS (Tailscale Serve, a reverse proxy) to the address of this page, and put that name into the
        setting <code>http.hosts</code>, then restart the daemon.
      </p>
      <p className="quiet">
        To listen on your network without encryption instead: <code>http.listen</code> and <code>http.allow_public</code>. If
        the phone can reach it already, write the address below.
      </p>
    </div>
  );
}

/** The link of this machine, under another address; none when that is no address. */
function linked(link: string, base: string): string | undefined {
  try {
    const there = new URL(base);
    if (there.protocol !== "http:" && there.protocol !== "https:") return undefined;
    return `${there.origin}/login${new URL(link).hash}`;
  } catch {
    return undefined;
  }
}

/** Squares of a QR code as one path; dark on light whatever the theme, for cameras. */
function Code({ text }: { text: string }) {
  const [code, setCode] = useState<{ size: number; path: string }>();
  useEffect(() => {
    let gone = false;
    void import("uqr").then(({ encode }) => {
      if (gone) return;
      const { size, data } = encode(text, { ecc: "M", border: 4 });
      const squares = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : "")));
      setCode({ size, path: squares.join("") });
    });
    return () => {
      gone = true;
    };
  }, [text]);
  if (!code) return <span className="qr" />;
  return (
    <svg className="qr" viewBox={`0 0 ${code.size} ${code.size}`} role="img" aria-label="QR code that signs a device in" shapeRendering="crispEdges">
      <rect width={code.size} height={code.size} fill="#fff" />
      <path d={code.path} fill="#000" />
    </svg>
  );
}
