//! The ways that are commands of a shell, with what shows that each of them is one.
//!
//! `$M` is the program, `$C` the operation that is wanted and `$P` what it is called with,
//! `$N` the tool of the rule that is wanted, `$D` the daemon's number, `$S` that of a shell in
//! another slot, `$H` where the daemon serves HTTP, `$K` a file with what curl shows there,
//! `$O` another home with a daemon. Each way runs in a folder of its own and ends with 0 where
//! what it wants was done.

/// What becomes of a way that somebody goes outside every slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// It gets the person what is wanted.
    Done,
    /// Whoever goes it is an agent by it, or a model: it gets them as far as looking.
    Looks,
    /// It is no way to what is wanted for anybody; whoever goes it reads this.
    Nobody(&'static str),
}

use Outside::{Done, Looks, Nobody};

pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) outside: Outside,
    pub(super) command: &'static str,
}

const fn way(name: &'static str, outside: Outside, command: &'static str) -> Way {
    Way {
        name,
        outside,
        command,
    }
}

/// What the ways are written with: `need` a tool, a kernel that lets a person do it too
/// (`can`), a script that calls `later`, a file to `await`, a rule in the configuration by
/// hand (`rule`), whether it is `in_force`, and another control group to `join`.
///
/// 76 is a kernel that lets nobody of this user do it, 77 a tool that is not here, 78 what
/// never came to its end.
pub(super) const WORDS: &str = r#"
need() { command -v "$1" > /dev/null || { echo "there is no $1 here"; exit 77; }; }
can() { "$@" > can.out 2>&1 < /dev/null || { cat can.out; echo "the kernel allows no $*"; exit 76; }; }
later() { printf '%s\n' "cd '$PWD'; MISSION_HOME='$MISSION_HOME' '$M' call $C '$P' > why 2>&1; echo \$? > done.new; mv done.new done" > later.sh; }
await() { n=0; while ! test -s "$1"; do sleep 0.05; n=$((n+1)); test $n -lt 600 || exit 78; done; }
ended() { await done; cat why; exit "$(cat done)"; }
rule() { (umask 077; mkdir -p "$MISSION_HOME/config"; printf '[[permissions.rules]]\neffect = "allow"\ntool = "%s"\n' "$N" > "$MISSION_HOME/config/config.toml"); test -s "$MISSION_HOME/config/config.toml" || exit 78; }
join() { for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do sh -c 'echo "$PPID" > "$0"' "$top$1/cgroup.procs"; done 2>/dev/null; }
in_force() { "$M" call permission_list '{}' | grep -q "\"$N\""; }
"#;

pub(super) const COMMANDS: [Way; 38] = [
    way(
        "a-user-namespace",
        Done,
        r#"need unshare; can unshare -Ur true; unshare -Ur "$M" call $C "$P""#,
    ),
    way(
        "processes-of-its-own",
        Done,
        r#"need unshare; can unshare -Urpf --mount-proc true; unshare -Urpf --mount-proc "$M" call $C "$P""#,
    ),
    way(
        "a-mount-namespace",
        Done,
        r#"need unshare; can unshare -Urm true; unshare -Urm "$M" call $C "$P""#,
    ),
    way(
        "namespaces-of-the-daemon",
        Done,
        r#"need nsenter; can nsenter -t "$D" -a true; nsenter -t "$D" -a "$M" call $C "$P""#,
    ),
    way(
        "namespaces-of-the-first-process",
        Done,
        r#"need nsenter; can nsenter -t 1 -m -p -i -n -u true; nsenter -t 1 -m -p -i -n -u "$M" call $C "$P""#,
    ),
    way(
        "namespaces-of-a-sibling",
        Done,
        r#"need nsenter; can nsenter -t "$S" -a true; nsenter -t "$S" -a "$M" call $C "$P""#,
    ),
    way(
        "the-control-group-of-a-sibling",
        Looks,
        r#"for g in $(sed -n 's/^0:://p' "/proc/$S/cgroup"); do join "$g"; done; "$M" call $C "$P""#,
    ),
    way(
        "keys-into-the-terminal-of-a-sibling",
        Looks,
        r#"need perl; later; perl -e 'open(T, "<", "/proc/$ARGV[0]/fd/0") or die; for (split //, "sh $ARGV[1]/later.sh
") { ioctl(T, 0x5412, $_) or die "the keys: $!" }' "$S" "$PWD" || { test "$(id -u)" = 0 && exit 1; exit 76; }; ended"#,
    ),
    // It is driven, or the kernel says that it may not be: nothing else is an answer.
    way(
        "a-sibling-under-a-debugger",
        Looks,
        r#"need gdb; later; gdb -nx -p "$S" --batch -ex "call (int)system(\"sh $PWD/later.sh\")" > gdb.out 2>&1 < /dev/null; if grep -q 'ptrace: Operation not permitted' gdb.out; then echo 'is for a person: ptrace'; exit 76; fi; test -s done || { cat gdb.out; exit 78; }; ended"#,
    ),
    way(
        "another-user-and-back",
        Done,
        r#"need su; test "$(id -u)" = 0 || { echo 'only the root user becomes another without a word'; exit 76; }; su -m -s /bin/sh -c '"$M" call $C "$P"' root"#,
    ),
    way(
        "without-what-the-root-user-may",
        Done,
        r#"need setpriv; can setpriv --inh-caps -all --no-new-privs true; setpriv --inh-caps -all --no-new-privs "$M" call $C "$P""#,
    ),
    way(
        "the-daemon-of-another-home",
        Done,
        r#"MISSION_HOME="$O" "$M" --no-start call $C "$P""#,
    ),
    way(
        "a-terminal-of-its-own",
        Done,
        r#"need script; script -qec '"$M" call $C "$P"' /dev/null"#,
    ),
    way(
        "a-terminal-of-its-own-left-behind",
        Done,
        r#"need script; later; setsid -f script -qec 'sh later.sh' /dev/null > /dev/null 2>&1; ended"#,
    ),
    way(
        "a-terminal-server-it-started",
        Done,
        r#"need tmux; later; tmux -S "$PWD/t" -f /dev/null new-session -d 'sh later.sh; sleep 600'; await done; tmux -S "$PWD/t" kill-server; ended"#,
    ),
    way(
        "out-of-its-control-group",
        Done,
        r#"join /; "$M" call $C "$P""#,
    ),
    way(
        "out-of-its-control-group-and-left-behind",
        Done,
        r#"later; (join /; setsid -f sh later.sh); ended"#,
    ),
    way(
        "the-name-of-a-shell",
        Done,
        r#"need bash; bash -c 'exec -a -bash "$M" call $C "$P"'"#,
    ),
    way(
        "the-name-of-the-daemon",
        Done,
        r#"need bash; bash -c 'exec -a "mission daemon run" "$M" call $C "$P"'"#,
    ),
    way(
        "a-parent-that-ends-at-once",
        Done,
        r#"for n in 1 2 3 4 5 6 7 8; do (sh -c '(sleep "0.0$0"; "$M" call $C "$P" > "why.$0" 2>&1; echo $? > "done.$0") & exit 0' $n); done; for n in 1 2 3 4 5 6 7 8; do await done.$n; done; cat why.*; cat done.* | grep -qx 0"#,
    ),
    way(
        "many-processes-between",
        Done,
        r#"echo 'if [ "$1" = 0 ]; then "$M" call $C "$P"; else sh deep.sh $(($1 - 1)); exit $?; fi' > deep.sh; sh deep.sh 40"#,
    ),
    way(
        "a-folder-that-is-gone",
        Done,
        r#"mkdir gone && cd gone && rmdir ../gone; "$M" call $C "$P""#,
    ),
    way(
        "somebody-elses-terminal",
        Done,
        r#"for t in /dev/pts/[0-9]*; do "$M" call $C "$P" < "$t" && exit 0; done; exit 1"#,
    ),
    way(
        "the-plain-command",
        Done,
        r#""$M" permission add allow --tool "$N""#,
    ),
    way(
        "the-configuration-by-command",
        Done,
        r#""$M" call config_set "{\"key\":\"permissions.rules\",\"value\":[{\"effect\":\"allow\",\"tool\":\"$N\"}]}"; code=$?; in_force || exit 1; exit $code"#,
    ),
    way(
        "the-configuration-by-hand-and-a-reload",
        Done,
        r#"rule; "$M" daemon reload; code=$?; in_force || exit 1; exit $code"#,
    ),
    way(
        "the-configuration-by-hand-and-a-signal",
        Nobody("SIGHUP received"),
        r#"rule; kill -HUP "$D" || exit 78; n=0; until grep -a 'SIGHUP received' "$MISSION_HOME/data/logs/daemon.log"; do sleep 0.05; n=$((n+1)); test $n -lt 600 || exit 78; done; for n in 1 2 3 4 5; do in_force && exit 0; sleep 0.1; done; exit 1"#,
    ),
    way(
        "the-configuration-by-hand-and-a-change-of-another-key",
        Done,
        r#"rule; "$M" call config_set '{"key":"log.level","value":"info"}'; code=$?; in_force || exit 1; exit $code"#,
    ),
    way(
        "a-home-that-is-a-link",
        Done,
        r#"ln -sfn "$MISSION_HOME" home; MISSION_HOME="$PWD/home" "$M" call $C "$P""#,
    ),
    way(
        "a-home-whose-sockets-are-links",
        Done,
        r#"mkdir -m 700 home; ln -s "$MISSION_HOME"/* home/; MISSION_HOME="$PWD/home" "$M" --no-start call $C "$P""#,
    ),
    way(
        "the-home-by-the-daemons-root",
        Done,
        r#"MISSION_HOME="/proc/$D/root$MISSION_HOME" "$M" --no-start call $C "$P""#,
    ),
    way(
        "a-daemon-of-its-own",
        // It obeys whoever started it, in that home and in no other.
        Nobody("\"P-1\""),
        r#"mkdir -m 700 home; MISSION_HOME="$PWD/home" "$M" call $C "$P"; own=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' home/run/daemon.pid); test -z "$own" || kill "$own"; in_force"#,
    ),
    way(
        "a-slot-it-starts",
        Looks,
        r#"later; "$M" call slot_spawn "{\"argv\":[\"sh\",\"later.sh\"],\"cwd\":\"$PWD\"}" > spawned || { cat spawned; exit 78; }; ended"#,
    ),
    way(
        "a-server-it-adds-to-the-list-by-hand",
        Looks,
        r#"later; (umask 077; mkdir -p "$MISSION_HOME/config"; printf '[servers.attack]\ncommand = "sh"\nargs = ["%s/later.sh"]\n' "$PWD" > "$MISSION_HOME/config/mcp.toml"); "$M" mcp list-tools attack; rm -f "$MISSION_HOME/config/mcp.toml"; ended"#,
    ),
    way(
        "http-without-a-login",
        Done,
        r#"need curl; test "$A" = person || : > "$K"; curl -s -K "$K" -w '%{http_code}' -H 'content-type: application/json' -d "$P" "http://$H/api/v1/ops/$C" > said; cat said; grep -q '200$' said"#,
    ),
    way(
        "http-with-forged-headers",
        Done,
        r#"need curl; test "$A" = person || printf 'header = "authorization: Bearer person"\nheader = "cookie: mission_session=person"\nheader = "x-mission-csrf: person"\nheader = "x-forwarded-user: person"\nheader = "origin: http://%s"\n' "$H" > "$K"; curl -s -K "$K" -w '%{http_code}' -H 'content-type: application/json' -d "$P" "http://$H/api/v1/ops/$C" > said; cat said; grep -q '200$' said"#,
    ),
    way(
        "mcp-over-http",
        Looks,
        r#"need curl; test "$A" = person || : > "$K"; curl -s -K "$K" -w '%{http_code}' -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"operation_call\",\"arguments\":{\"operation\":\"$C\",\"params\":$P}}}" "http://$H/mcp" > said; cat said; grep -q '200$' said && ! grep -q '"error"\|"isError":true' said"#,
    ),
    // The last one: the daemon is another after it.
    way(
        "the-configuration-by-hand-and-a-daemon-started-anew",
        Done,
        r#"rule; "$M" daemon restart; code=$?; in_force || exit 1; exit $code"#,
    ),
];
