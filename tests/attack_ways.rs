//! More ways in which what runs in a slot may try to pass for a person: by other namespaces,
//! terminals, users and homes, by files it may write and signals it may send, and by
//! speaking to the sockets itself. Each wants a rule that allows a tool of its own name; none
//! may end with such a rule in force.
//!
//! Not here, because it is not kept without a sandbox: driving another program of the person's
//! own (a terminal server that runs outside every slot, their editor), and what the root user
//! may. `docs/reference/authority.md` says so.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use missiond_os::programs::find_program;
use serde_json::{Value, json};

use crate::attacks::{inside, quoted, said, standing};
use crate::harness::{TestHome, binary, wait_for};
use crate::http::{Http, Login, Socket, login_code, token};
use crate::toolhub_hostile::{call as tool_call, list_tricks};

/// The ways that are commands of a shell. `$M` is the program, `$P` what is asked for,
/// `$D` the daemon's number, `$S` that of a shell in another slot, `$H` where the daemon
/// serves HTTP, `$O` another home with a daemon, `$N` the name of the rule's tool; each runs in a folder of its own. What the machine has not the tools for, says so.
const COMMANDS: [(&str, &str); 36] = [
    (
        "a-user-namespace",
        r#"need unshare; unshare -Ur "$M" call permission_add "$P""#,
    ),
    (
        "processes-of-its-own",
        r#"need unshare; unshare -Urpf --mount-proc "$M" call permission_add "$P""#,
    ),
    (
        "a-mount-namespace",
        r#"need unshare; unshare -Urm "$M" call permission_add "$P""#,
    ),
    (
        "namespaces-of-the-daemon",
        r#"need nsenter; nsenter -t "$D" -a "$M" call permission_add "$P""#,
    ),
    (
        "namespaces-of-the-first-process",
        r#"need nsenter; nsenter -t 1 -m -p -i -n -u "$M" call permission_add "$P""#,
    ),
    (
        "namespaces-of-a-sibling",
        r#"need nsenter; nsenter -t "$S" -a "$M" call permission_add "$P""#,
    ),
    (
        "the-control-group-of-a-sibling",
        r#"for g in $(sed -n 's/^0:://p' "/proc/$S/cgroup"); do echo $$ > "/sys/fs/cgroup$g/cgroup.procs"; done 2>/dev/null; "$M" call permission_add "$P""#,
    ),
    (
        "keys-into-the-terminal-of-a-sibling",
        r#"need perl; later; perl -e 'open(T, "<", "/proc/$ARGV[0]/fd/0") or die; for (split //, "sh $ARGV[1]/later.sh
") { ioctl(T, 0x5412, $_) or die "$!" }' "$S" "$PWD" || exit 1; await done; cat why >&2; exit $(cat done)"#,
    ),
    (
        "a-sibling-under-a-debugger",
        r#"need gdb; later; gdb -p "$S" --batch -ex "call (int)system("sh $PWD/later.sh")" >&2 </dev/null; test -s done || exit 1; cat why >&2; exit $(cat done)"#,
    ),
    (
        "another-user-and-back",
        r#"need su; su -m -s /bin/sh -c '"$M" call permission_add "$P"' "$(id -un)""#,
    ),
    (
        "the-daemon-of-another-home",
        r#"MISSION_HOME="$O" "$M" --no-start call permission_add "$P""#,
    ),
    (
        "a-terminal-of-its-own",
        r#"need script; script -qec '"$M" call permission_add "$P"' /dev/null"#,
    ),
    (
        "a-terminal-of-its-own-left-behind",
        r#"need script; setsid -f script -qec '"$M" call permission_add "$P"; echo $? > done' /dev/null >/dev/null 2>&1; await done; exit $(cat done)"#,
    ),
    (
        "a-terminal-server-it-started",
        r#"need tmux; tmux -S "$PWD/t" -f /dev/null new-session -d '"$M" call permission_add "$P" 2> why; echo $? > done'; await done; tmux -S "$PWD/t" kill-server 2>/dev/null; cat why >&2; exit $(cat done)"#,
    ),
    (
        "out-of-its-control-group",
        r#"echo $$ > /sys/fs/cgroup/cgroup.procs 2>/dev/null; "$M" call permission_add "$P""#,
    ),
    (
        "out-of-its-control-group-and-left-behind",
        r#"setsid -f sh -c 'echo $$ > /sys/fs/cgroup/cgroup.procs 2>/dev/null; "$M" call permission_add "$P" 2> why; echo $? > done' ; await done; cat why >&2; exit $(cat done)"#,
    ),
    (
        "another-user",
        r#"need setpriv; setpriv --reuid 65534 --regid 65534 --clear-groups "$M" call permission_add "$P""#,
    ),
    (
        "the-name-of-a-shell",
        r#"need bash; bash -c 'exec -a -bash "$M" call permission_add "$P"'"#,
    ),
    (
        "the-name-of-the-daemon",
        r#"need bash; bash -c 'exec -a "mission daemon run" "$M" call permission_add "$P"'"#,
    ),
    (
        "a-parent-that-ends-at-once",
        r#"for n in 1 2 3 4 5 6 7 8; do (sh -c '"$M" call permission_add "$P" >/dev/null 2>&1 & exit 0') & done; wait; "$M" call permission_add "$P""#,
    ),
    (
        "many-processes-between",
        r#"echo 'if [ "$1" = 0 ]; then "$M" call permission_add "$P"; else sh deep.sh $(($1 - 1)); exit $?; fi' > deep.sh; sh deep.sh 40"#,
    ),
    (
        "a-folder-that-is-gone",
        r#"mkdir gone && cd gone && rmdir ../gone; "$M" call permission_add "$P""#,
    ),
    (
        "somebody-elses-terminal",
        r#"for t in /dev/pts/[0-9]*; do "$M" call permission_add "$P" < "$t" 2>/dev/null && exit 0; done; "$M" call permission_add "$P""#,
    ),
    (
        "the-plain-command",
        r#""$M" permission add allow --tool "$N""#,
    ),
    (
        "the-configuration-by-command",
        r#""$M" config set permissions.auto_allow true; "$M" call config_set '{"key":"permissions.allow","value":"[]"}'"#,
    ),
    (
        "the-configuration-by-hand-and-a-reload",
        r#"printf '[[permissions.rules]]\neffect = "allow"\ntool = "%s"\n' "$N" >> "$MISSION_HOME/config/config.toml"; "$M" daemon reload"#,
    ),
    (
        "the-configuration-by-hand-and-a-signal",
        r#"printf '[[permissions.rules]]\neffect = "allow"\ntool = "%s"\n' "$N" >> "$MISSION_HOME/config/config.toml"; kill -HUP "$D"; sleep 0.3; exit 1"#,
    ),
    (
        "a-home-that-is-a-link",
        r#"ln -sfn "$MISSION_HOME" home; MISSION_HOME="$PWD/home" "$M" call permission_add "$P""#,
    ),
    (
        "a-home-whose-sockets-are-links",
        r#"mkdir -m 700 home; ln -s "$MISSION_HOME"/* home/; MISSION_HOME="$PWD/home" "$M" --no-start call permission_add "$P""#,
    ),
    (
        "the-home-by-the-daemons-root",
        r#"MISSION_HOME="/proc/$D/root$MISSION_HOME" "$M" --no-start call permission_add "$P""#,
    ),
    (
        "a-daemon-of-its-own",
        r#"mkdir -m 700 home; MISSION_HOME="$PWD/home" "$M" call permission_add "$P" >/dev/null 2>&1; MISSION_HOME="$PWD/home" "$M" daemon stop --force >/dev/null 2>&1; exit 1"#,
    ),
    (
        "a-slot-it-starts",
        r#"printf '"$M" call permission_add "$P" 2> why; echo $? > done\n' > child.sh; "$M" call slot_spawn "{\"argv\":[\"sh\",\"child.sh\"],\"cwd\":\"$PWD\",\"env\":{\"MISSION_HOME\":\"$MISSION_HOME\",\"M\":\"$M\",\"P\":\"$(printf %s "$P" | sed 's/"/\\"/g')\"}}" > /dev/null; await done; cat why >&2; exit $(cat done)"#,
    ),
    (
        "a-server-it-adds-to-the-list-by-hand",
        r#"printf "cd '%s'; export MISSION_HOME='%s'; '%s' call permission_add '%s' 2> why; echo \$? > done\n" "$PWD" "$MISSION_HOME" "$M" "$P" > server.sh; (umask 077; printf '[servers.attack]\ncommand = "sh"\nargs = ["%s/server.sh"]\n' "$PWD" > "$MISSION_HOME/config/mcp.toml"); "$M" mcp list-tools attack >/dev/null 2>&1; rm -f "$MISSION_HOME/config/mcp.toml"; if test -s done; then cat why >&2; exit $(cat done); fi; exit 1"#,
    ),
    (
        "http-without-a-login",
        r#"need curl; curl -sf -H 'content-type: application/json' -d "$P" "http://$H/api/v1/ops/permission_add""#,
    ),
    (
        "http-with-forged-headers",
        r#"need curl; curl -sf -H 'content-type: application/json' -H 'authorization: Bearer person' -H 'cookie: mission=person' -H 'x-forwarded-user: person' -H "origin: http://$H" -d "$P" "http://$H/api/v1/ops/permission_add""#,
    ),
    (
        "mcp-over-http",
        r#"need curl; curl -sf -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"operation_call\",\"arguments\":{\"operation\":\"permission_add\",\"params\":$P}}}" "http://$H/mcp""#,
    ),
];

/// The ways that speak to sockets by themselves: see [`from_inside`].
const SOCKETS: [&str; 12] = [
    "a-hello-that-says-person",
    "a-call-before-the-hello",
    "a-second-hello",
    "a-batch-of-calls",
    "a-socket-behind-a-link",
    "a-websocket",
    "a-found-token",
    "a-found-token-over-mcp",
    "a-found-token-on-a-websocket",
    "a-found-cookie",
    "a-found-cookie-on-a-websocket",
    "a-found-login-link",
];

fn tool_of(way: &str) -> String {
    format!("way-{way}")
}

fn wanted(way: &str) -> Value {
    json!({ "effect": "allow", "by": "person", "subject": { "tool": tool_of(way) } })
}

/// The tools for which a rule is in force.
fn allowed(home: &TestHome) -> BTreeSet<String> {
    let rules = home.call("permission_list", &json!({}))["rules"].clone();
    let tools = rules.as_array().unwrap().iter();
    tools
        .filter_map(|rule| rule["tool"].as_str())
        .filter(|tool| tool.starts_with("way-"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn no_way_out_of_a_slot_makes_a_person() {
    let home = TestHome::started();
    let page = Http::of(&home);
    let http = page.address.clone();
    // What an agent might find in the files and the memory of the person's other programs.
    let (every, looks) = (token(&home, "every"), only_looks(&home));
    let (login, code) = (page.log_in(&home), login_code(&home));
    home.call("slot_spawn", &json!({ "argv": ["cat"], "name": "sibling" }));
    let shell = json!({ "argv": ["sh"], "name": "shell", "env": { "MISSION_HOME": home.path() } });
    let shell = home.call("slot_spawn", &shell)["program"]["pid"].clone();
    let other = TestHome::started();
    let config = home.home().config_file();
    let config_before = std::fs::read(&config).ok();
    let before = standing(&home);
    let mut script = format!(
        "export M={} D={} S={shell} H={http} O={}\n\
         need() {{ command -v \"$1\" >/dev/null || {{ echo \"there is no $1 here\" >&2; exit 77; }}; }}\n\
         later() {{ printf '%s\\n' \"cd '$PWD'; '$M' call permission_add '$P' 2> why; echo \\$? > done\" > later.sh; }}\n\
         await() {{ n=0; while ! test -s \"$1\"; do sleep 0.05; n=$((n+1)); test $n -lt 600 || exit 78; done; }}\n",
        quoted(&binary().display().to_string()),
        home.pid(),
        quoted(&other.path().display().to_string()),
    );
    for (way, command) in COMMANDS {
        let _ = writeln!(
            script,
            "mkdir -p ways/{way}; (cd ways/{way}; export N={} P={}\n{command}\n) >ways/{way}.out 2>ways/{way}.err </dev/null; \
             echo \"{way}|$?|$(tr '\\n' ' ' <ways/{way}.err | cut -c1-300)\"",
            tool_of(way),
            quoted(&wanted(way).to_string()),
        );
    }
    let own = std::env::current_exe().unwrap();
    for way in SOCKETS {
        let _ = writeln!(
            script,
            "ATTACK={way} ATTACK_SOCKET={} ATTACK_HTTP={http} ATTACK_TOKEN={every} ATTACK_LOOKS={looks} \
             ATTACK_COOKIE={} ATTACK_CSRF={} ATTACK_CODE={code} {} --ignored --exact \
             attack_ways::from_inside --nocapture >ways/{way}.out 2>&1; echo \"{way}|$?|$(grep -c '1 passed' ways/{way}.out)\"",
            quoted(&home.home().socket().display().to_string()),
            quoted(&login.cookie),
            quoted(&login.csrf),
            quoted(&own.display().to_string()),
        );
    }
    inside(&home, "attacker", &script);
    let said = said(&home, "attacker");
    // The configuration that was written by hand is not what a person wrote.
    match config_before {
        Some(text) => std::fs::write(&config, text).unwrap(),
        None => drop(std::fs::remove_file(&config)),
    }
    let lines: Vec<Vec<&str>> = said
        .lines()
        .filter(|line| line.contains('|'))
        .map(|line| line.splitn(3, '|').collect())
        .collect();
    assert_eq!(lines.len(), COMMANDS.len() + SOCKETS.len(), "{said}");
    let mut tried = 0;
    for line in &lines {
        let (way, code) = (line[0], line[1]);
        if code == "77" {
            eprintln!("not tried here: {way}: {}", line[2]);
            continue;
        }
        tried += 1;
        if SOCKETS.contains(&way) {
            let output = std::fs::read_to_string(home.path().join(format!("ways/{way}.out")));
            assert_eq!(code, "0", "{way}: {output:?}");
            assert_eq!(line[2], "1", "{way} was not tried: {output:?}");
        } else {
            assert_ne!(code, "0", "{way}: {line:?}");
            assert_ne!(code, "78", "{way} never came to its end: {line:?}");
        }
    }
    assert!(tried >= 26, "{said}");
    assert_eq!(allowed(&home), BTreeSet::new(), "{said}");
    assert_eq!(allowed(&other), BTreeSet::new(), "{said}");
    assert_eq!(standing(&home), before, "{said}");
    // Whose they are can use them still, from outside every slot.
    assert_eq!(page.call(&every, "kb_gc", &json!({})).status, 200);
    assert_eq!(add_by_page(&page, &login, "the-person").status, 200);
    assert_eq!(allowed(&home), [tool_of("the-person")].into());
    assert_eq!(page.show_code(&code).status, 204);
}

/// What runs in a slot opens all the connections and sockets it can get, with a token and a
/// cookie it found, and keeps them.
#[test]
fn whoever_takes_every_place_in_a_slot_leaves_the_person_theirs() {
    let home = TestHome::started();
    let page = Http::of(&home);
    let (found, login) = (token(&home, "found"), page.log_in(&home));
    let own = std::env::current_exe().unwrap();
    let script = format!(
        "ATTACK=every-place ATTACK_HTTP={} ATTACK_TOKEN={found} ATTACK_COOKIE={} {} --ignored --exact \
         attack_ways::from_inside --nocapture >flood.out 2>&1; echo \"$?\"\n",
        page.address,
        quoted(&login.cookie),
        quoted(&own.display().to_string()),
    );
    inside(&home, "flood", &script);
    wait_for("every place to be taken", || {
        home.path().join("taken").exists()
    });
    for way in ["one", "two", "three"] {
        assert_eq!(add_by_page(&page, &login, way).status, 200);
    }
    let sockets: Vec<_> = (0..32)
        .map(|_| Socket::open_as(&page, &login, "/api/v1/live"))
        .collect();
    std::fs::write(home.path().join("enough"), "").unwrap();
    assert_eq!(said(&home, "flood").trim(), "0");
    drop(sockets);
}

/// A token that lets its holder look and do nothing.
fn only_looks(home: &TestHome) -> String {
    let made = home.json(&["token", "create", "looks"]);
    made["token"].as_str().unwrap().to_owned()
}

/// Asks for a rule as a page that is logged in does.
fn add_by_page(http: &Http, login: &Login, way: &str) -> crate::http::Answer {
    let origin = http.origin();
    let headers = [
        ("cookie", login.cookie.as_str()),
        ("x-mission-csrf", login.csrf.as_str()),
        ("origin", origin.as_str()),
        ("content-type", "application/json"),
    ];
    let body = wanted(way).to_string();
    http.send(
        "POST",
        "/api/v1/ops/permission_add",
        &headers,
        body.as_bytes(),
    )
}

/// Puts the keys of a line into the terminal that controls it, as if they had been pressed.
const PUSH: &str = r#"open(T, "<", "/dev/tty") or die "no terminal: $!"; for (split //, "pushed\n") { ioctl(T, 0x5412, $_) or die "ioctl: $!"; }"#;

/// An agent that presses keys in its own terminal answers its own dialogs.
#[test]
fn no_program_types_into_its_own_terminal() {
    let home = TestHome::started();
    let path = std::env::var("PATH").unwrap();
    let Some(perl) = find_program("perl", &path) else {
        eprintln!("not tried here: there is no perl");
        return;
    };
    // By itself, and by one it leaves behind in its session.
    let perl = quoted(&perl.display().to_string());
    let push = quoted(PUSH);
    let script = format!(
        "{perl} -e {push} 2>> why\n({perl} -e {push} 2>> why; echo done > left) & wait\n\
         echo ready; IFS= read -r line; echo \"it read $line.\"; cat\n"
    );
    let file = home.path().join("types.sh");
    std::fs::write(&file, script).unwrap();
    let params = json!({
        "argv": ["env", "LC_ALL=C", "sh", file], "name": "types", "cwd": home.path(),
    });
    home.call("slot_spawn", &params);
    crate::slots::wait_for_text(&home, "types", "ready");
    home.json(&["slot", "send", "types", "typed"]);
    crate::slots::wait_for_text(&home, "types", "it read typed.");
    assert!(home.path().join("left").exists());
    let why = std::fs::read_to_string(home.path().join("why")).unwrap();
    // The host's filter says the first, a kernel that has no such thing the second.
    let refusals = ["Operation not permitted", "Input/output error"];
    let refused = why.lines().filter(|line| {
        let refusal = line.strip_prefix("ioctl: ").unwrap_or_default();
        refusals.iter().any(|words| refusal.starts_with(words))
    });
    let refused = refused.count();
    assert_eq!(refused, 2, "{why}");
}

/// A tool that has changed is held until a person accepts it, and an agent is none.
#[test]
fn a_held_tool_is_accepted_by_a_person_alone() {
    let home = TestHome::new();
    let manifest = home.path().join("description");
    std::fs::write(&manifest, "Say it again.").unwrap();
    list_tricks(&home, &[("changes", &manifest.display().to_string())]);
    home.start();
    tool_call(&home, "changes__echo", &json!({ "text": "first" }));
    tool_call(&home, "changes__echo", &json!({ "text": "change" }));
    let echo = ["mcp", "call-tool", "changes__echo", r#"{"text":"x"}"#];
    let is_held = || home.failure(&echo).1.contains("is held");
    assert!(is_held());
    let mission = quoted(&binary().display().to_string());
    let arguments = json!({ "operation": "mcp_pin", "params": { "server": "changes" } });
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "operation_call", "arguments": arguments },
    });
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "claude", "version": "1" },
        },
    });
    let welcome = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    std::fs::write(
        home.path().join("lines"),
        format!("{hello}\n{welcome}\n{call}\n"),
    )
    .unwrap();
    let pin = quoted(r#"{"server":"changes"}"#);
    let script = format!(
        "{mission} call mcp_pin {pin} 2> why || echo call\n{mission} mcp pin changes 2>> why || echo pin\n\
         mkfifo end; : > answers; (cat lines; cat end) | {mission} mcp serve --toolset all > answers & \
         while ! grep -q '\"id\":1' answers; do sleep 0.05; done; echo > end; wait\n"
    );
    inside(&home, "inside", &script);
    let said = said(&home, "inside");
    assert_eq!(said.lines().collect::<Vec<_>>(), ["call", "pin"], "{said}");
    let why = std::fs::read_to_string(home.path().join("why")).unwrap();
    assert_eq!(why.matches("`mcp_pin` is for a person").count(), 2, "{why}");
    let answers = std::fs::read_to_string(home.path().join("answers")).unwrap();
    assert!(answers.contains("`mcp_pin` is for a person"), "{answers}");
    assert!(is_held());
    home.json(&["mcp", "pin", "changes"]);
    tool_call(&home, "changes__echo", &json!({ "text": "accepted" }));
}

#[test]
fn what_a_program_left_behind_is_its_slots_after_another_daemon_began() {
    let home = TestHome::started();
    let left = format!(
        "while ! test -f again; do sleep 0.05; done\n\
         {} --no-start call permission_add {} 2> left.err; echo $? > left.new; mv left.new left\n",
        quoted(&binary().display().to_string()),
        quoted(&wanted("left-over-a-restart").to_string()),
    );
    std::fs::write(home.path().join("left.sh"), left).unwrap();
    let script = "setsid -f env -i MISSION_HOME=\"$MISSION_HOME\" PATH=\"$PATH\" sh left.sh\n";
    inside(&home, "leaver", script);
    said(&home, "leaver");
    home.kill();
    home.start();
    std::fs::write(home.path().join("again"), "").unwrap();
    wait_for("the one that was left", || {
        home.path().join("left").exists()
    });
    let why = std::fs::read_to_string(home.path().join("left.err")).unwrap();
    assert!(why.contains("is for a person"), "{why}");
    assert_eq!(allowed(&home), BTreeSet::new());
}

/// One connection that speaks lines.
struct Wire(BufReader<UnixStream>);

impl Wire {
    fn to(socket: &str) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Self(BufReader::new(stream))
    }

    fn send(&mut self, value: &Value) {
        // Whoever is refused may find the connection closed.
        let _ = self.0.get_mut().write_all(format!("{value}\n").as_bytes());
    }

    /// Everything up to the end, or to an answer with this id.
    fn hear(&mut self, id: u64) -> Vec<Value> {
        let mut heard = Vec::new();
        let mut line = String::new();
        while matches!(self.0.read_line(&mut line), Ok(1..)) {
            let value: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
            let last = value["id"] == id || value.is_array();
            heard.push(value);
            if last {
                break;
            }
            line.clear();
        }
        heard
    }
}

fn hello(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "hello", "params": { "protocol": 1, "client": "person" } })
}

fn call(id: u64, way: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "permission_add", "params": wanted(way) })
}

fn none_was_done(heard: &[Value]) {
    let said = json!(heard).to_string();
    assert!(!said.contains("\"P-"), "a rule was made: {said}");
}

/// What the suite runs inside a slot; alone it tries nothing.
#[test]
#[ignore = "run by no_way_out_of_a_slot_makes_a_person, inside a slot"]
fn from_inside() {
    let Ok(way) = std::env::var("ATTACK") else {
        return;
    };
    if way == "every-place" {
        take_every_place();
        return;
    }
    let socket = std::env::var("ATTACK_SOCKET").unwrap();
    match way.as_str() {
        "a-hello-that-says-person" => {
            let mut wire = Wire::to(&socket);
            wire.send(&json!({
                "jsonrpc": "2.0", "id": 0, "method": "hello",
                "params": { "protocol": 1, "client": "person", "principal": "person", "by": "person" },
            }));
            wire.send(&hello(1));
            wire.send(&call(2, &way));
            none_was_done(&wire.hear(2));
        }
        "a-call-before-the-hello" => {
            let mut wire = Wire::to(&socket);
            wire.send(&call(2, &way));
            none_was_done(&wire.hear(2));
        }
        "a-second-hello" => {
            let mut wire = Wire::to(&socket);
            wire.send(&hello(0));
            wire.send(&hello(1));
            wire.send(&call(2, &way));
            none_was_done(&wire.hear(2));
        }
        "a-batch-of-calls" => {
            let mut wire = Wire::to(&socket);
            wire.send(&hello(0));
            wire.send(&json!([call(2, &way), call(3, &way)]));
            wire.send(&call(4, &way));
            none_was_done(&wire.hear(4));
        }
        "a-socket-behind-a-link" => {
            let link = std::env::temp_dir().join(format!("attack-{}", std::process::id()));
            std::os::unix::fs::symlink(&socket, &link).unwrap();
            let mut wire = Wire::to(link.to_str().unwrap());
            std::fs::remove_file(&link).unwrap();
            wire.send(&hello(0));
            wire.send(&call(2, &way));
            none_was_done(&wire.hear(2));
        }
        "a-websocket" => {
            let address = std::env::var("ATTACK_HTTP").unwrap();
            for path in ["/api/v1/live", "/api/v1/slots/sibling/terminal"] {
                let mut stream = std::net::TcpStream::connect(&address).unwrap();
                let asks = format!(
                    "GET {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
                     Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                );
                stream.write_all(asks.as_bytes()).unwrap();
                let mut head = [0; 12];
                stream.read_exact(&mut head).unwrap();
                assert_ne!(&head[9..], b"101", "{path}");
            }
        }
        other => from_inside_with_what_was_found(other),
    }
}

fn take_every_place() {
    let found = |name: &str| std::env::var(name).unwrap();
    let http = Http {
        address: found("ATTACK_HTTP"),
    };
    let login = Login {
        cookie: found("ATTACK_COOKIE"),
        csrf: String::new(),
    };
    let bearer = format!("Bearer {}", found("ATTACK_TOKEN"));
    let mut sockets = Vec::new();
    let refused = loop {
        let headers = [("authorization", bearer.as_str())];
        match Socket::attempt(&http, "/api/v1/live", &headers) {
            Ok(Ok(socket)) => sockets.push(socket),
            Ok(Err(refused)) => break Some(refused),
            Err(_) => break None,
        }
        assert!(sockets.len() < 256, "there was no end to it");
    };
    assert!(refused.is_some_and(|answer| answer.status == 503));
    // The cookie makes no more places, and neither do connections that say nothing.
    let origin = http.origin();
    let headers = [("cookie", login.cookie.as_str()), ("origin", &origin)];
    assert!(!matches!(
        Socket::attempt(&http, "/api/v1/live", &headers),
        Ok(Ok(_))
    ));
    let idle: Vec<_> = (0..500)
        .filter_map(|_| std::net::TcpStream::connect(&http.address).ok())
        .collect();
    std::fs::write("taken", "").unwrap();
    wait_for("the person to be done", || {
        std::path::Path::new("enough").exists()
    });
    drop((sockets, idle));
}

fn from_inside_with_what_was_found(way: &str) {
    let found = |name: &str| std::env::var(name).unwrap();
    let http = Http {
        address: found("ATTACK_HTTP"),
    };
    let (token, looks) = (found("ATTACK_TOKEN"), found("ATTACK_LOOKS"));
    let login = Login {
        cookie: found("ATTACK_COOKIE"),
        csrf: found("ATTACK_CSRF"),
    };
    let task = json!({ "task": { "title": "Found", "isolation": "none" } });
    let take = json!({ "type": "take" });
    let terminal = "/api/v1/slots/sibling/terminal";
    match way {
        "a-found-token" => {
            let refused = http.call(&token, "kb_gc", &json!({}));
            assert_eq!(refused.status, 403, "{refused:?}");
            let why = refused.json()["error"]["message"].to_string();
            assert!(why.contains("not for an agent"), "{why}");
            let slot = http.call(
                &token,
                "slot_send",
                &json!({ "slot": "sibling", "text": "x" }),
            );
            assert_eq!(slot.status, 403, "{slot:?}");
            // What an agent may, it may; what the token does not say, it does not by it.
            assert_eq!(http.call(&token, "board_add", &task).status, 200);
            let narrowed = http.call(&looks, "board_add", &task);
            assert_eq!(narrowed.status, 403, "{narrowed:?}");
        }
        "a-found-token-over-mcp" => {
            let arguments = json!({ "operation": "kb_gc", "params": {} });
            let params = json!({ "name": "operation_call", "arguments": arguments });
            let call =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            let bearer = format!("Bearer {token}");
            let headers = [
                ("authorization", bearer.as_str()),
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
            ];
            let answer = http.send("POST", "/mcp", &headers, call.to_string().as_bytes());
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(said.contains("not for an agent"), "{said}");
        }
        "a-found-token-on-a-websocket" => {
            let mut socket = Socket::open(&http, &token, terminal);
            socket.send(&take);
            let refused = socket.text_of("refused");
            assert!(refused.to_string().contains("for a person"), "{refused}");
        }
        "a-found-cookie" => {
            let refused = add_by_page(&http, &login, way);
            assert_eq!(refused.status, 403, "{refused:?}");
            let why = refused.json()["error"]["message"].to_string();
            assert!(why.contains("not for an agent"), "{why}");
            let origin = http.origin();
            let headers = [
                ("cookie", login.cookie.as_str()),
                ("x-mission-csrf", login.csrf.as_str()),
                ("origin", origin.as_str()),
            ];
            // Nor is the person logged out by it.
            let out = http.send("DELETE", "/api/v1/session", &headers, b"");
            assert_eq!(out.status, 403, "{out:?}");
        }
        "a-found-cookie-on-a-websocket" => {
            let mut socket = Socket::open_as(&http, &login, terminal);
            socket.send(&take);
            let refused = socket.text_of("refused");
            assert!(
                refused.to_string().contains("not for an agent"),
                "{refused}"
            );
        }
        "a-found-login-link" => {
            let refused = http.show_code(&found("ATTACK_CODE"));
            assert_eq!(refused.status, 403, "{refused:?}");
        }
        other => panic!("there is no way {other}"),
    }
}
