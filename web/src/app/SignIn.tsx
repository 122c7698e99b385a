import { Brand } from "../parts/Brand";

export function SignIn({ why }: { why: string | undefined }) {
  return (
    <main className="gate">
      <Brand />
      <h1>Sign in from your terminal</h1>
      {why ? (
        <p className="trouble" role="alert">
          {why}
        </p>
      ) : null}
      <p>
        Run this on the machine of the daemon. It opens a link that signs this browser in and works once:
      </p>
      <pre className="output">mission open</pre>
      <p className="quiet">
        For another browser on the same machine, <code>mission open --print</code> shows the link instead.
      </p>
    </main>
  );
}
