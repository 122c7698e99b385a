//! More ways in which what runs in a slot may try to pass for a person: by other namespaces,
//! terminals, users and homes, by files it may write and signals it may send, and by
//! speaking to the sockets itself. Each wants a rule that allows a tool of its own name; none
//! may end with such a rule in force.
//!
//! Each is also gone by the person, outside every slot, where it has to lead to what it wants:
//! a way that is broken shows nothing.
//!
//! Not here, because it is not kept without a sandbox: driving another program of the person's
//! own (a terminal server that runs outside every slot, their editor), and what the root user
//! may. `docs/reference/authority.md` says so.

mod commands;
mod sockets;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use missiond_os::programs::find_program;
use serde_json::{Value, json};

use crate::attacks::{inside, quoted, said, standing};
use crate::harness::{TestHome, binary, wait_for};
use crate::http::{Http, Login, Socket, login_code, token};
use crate::toolhub_hostile::{call as tool_call, list_tricks};

use commands::{COMMANDS, Outside};
use sockets::SOCKETS;

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
    // What an agent might find in the files and the memory of the person's other programs.
    let found = Found {
        every: token(&home, "every"),
        looks: only_looks(&home),
        login: page.log_in(&home),
        code: login_code(&home),
    };
    home.call("slot_spawn", &json!({ "argv": ["cat"], "name": "sibling" }));
    let shell = json!({ "argv": ["sh"], "name": "shell", "env": { "MISSION_HOME": home.path() } });
    let shell = home.call("slot_spawn", &shell)["program"]["pid"].clone();
    let other = TestHome::started();
    let ways = Ways {
        home: &home,
        other: &other,
        http: &page,
        found: &found,
        shell: shell.as_u64().unwrap(),
    };
    let before = standing(&home);
    inside(&home, "attacker", &ways.script(Who::Agent));
    let tried = read(&said(&home, "attacker"));
    assert_eq!(tried.len(), COMMANDS.len() + SOCKETS.len(), "{tried:#?}");
    for one in &tried {
        one.assert_refused();
    }
    assert_eq!(allowed(&home), BTreeSet::new(), "{tried:#?}");
    assert_eq!(allowed(&other), BTreeSet::new(), "{tried:#?}");
    assert_eq!(standing(&home), before, "{tried:#?}");

    // Whose they are go the same ways, from outside every slot: so each of them is one.
    let persons = read(&ways.by_the_person());
    assert_eq!(persons.len(), tried.len(), "{persons:#?}");
    let shown = persons.iter().filter(|one| one.assert_done()).count();
    assert!(shown >= 40, "{shown}: {persons:#?}");
    let rules = allowed(&other);
    assert_eq!(rules, [tool_of("the-daemon-of-another-home")].into());
}

/// What is in reach of the ways.
struct Ways<'t> {
    home: &'t TestHome,
    other: &'t TestHome,
    http: &'t Http,
    found: &'t Found,
    /// A shell in another slot.
    shell: u64,
}

/// What lets its holder in.
struct Found {
    every: String,
    looks: String,
    login: Login,
    code: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Agent,
    Person,
}

impl Ways<'_> {
    /// Goes every way, each in a folder of its own, and says what came of it on a line.
    fn script(&self, who: Who) -> String {
        let name = match who {
            Who::Agent => "agent",
            Who::Person => "person",
        };
        let found = self.found;
        let mut script = format!(
            "mkdir -p {name}; export A={name} M={} D={} S={} H={} O={}\n{}\n",
            quoted(&binary().display().to_string()),
            self.home.pid(),
            self.shell,
            self.http.address,
            quoted(&self.other.path().display().to_string()),
            commands::WORDS,
        );
        // These first: the last of the commands starts the daemon anew, which forgets the link.
        let own = std::env::current_exe().unwrap();
        for way in SOCKETS {
            let _ = writeln!(
                script,
                "ATTACK={way} ATTACK_AS={name} ATTACK_SOCKET={} ATTACK_HTTP={} ATTACK_TOKEN={} \
                 ATTACK_LOOKS={} ATTACK_COOKIE={} ATTACK_CSRF={} ATTACK_CODE={} {} --ignored --exact \
                 attack_ways::sockets::from_inside --nocapture >{name}/{way}.out 2>&1; \
                 echo \"{way}|$?|$(tr '\\n' ' ' <{name}/{way}.out | cut -c1-600)\"",
                quoted(&self.home.home().socket().display().to_string()),
                self.http.address,
                found.every,
                found.looks,
                quoted(&found.login.cookie),
                quoted(&found.login.csrf),
                found.code,
                quoted(&own.display().to_string()),
            );
        }
        for way in &COMMANDS {
            let (operation, params) = match (who, way.outside) {
                (Who::Person, Outside::Looks) => ("slot_list", json!({})),
                _ => ("permission_add", wanted(way.name)),
            };
            let _ = writeln!(
                script,
                "mkdir -p {name}/{way}; printf '%s' {} > {name}/{way}.curl; \
                 (K=\"$PWD/{name}/{way}.curl\"; cd {name}/{way}; export K N={} C={operation} P={}\n{}\n) \
                 >{name}/{way}.out 2>&1 </dev/null; \
                 echo \"{way}|$?|$(tr -d '\\000' <{name}/{way}.out | tr '\\n' ' ' | cut -c1-600)\"; \
                 rm -f \"$MISSION_HOME/config/config.toml\"",
                quoted(&self.shows()),
                tool_of(way.name),
                quoted(&params.to_string()),
                way.command,
                way = way.name,
            );
        }
        script
    }

    /// What the page of the person shows, as curl reads it.
    fn shows(&self) -> String {
        let login = &self.found.login;
        let origin = self.http.origin();
        let headers = [
            ("cookie", login.cookie.as_str()),
            ("x-mission-csrf", login.csrf.as_str()),
            ("origin", origin.as_str()),
        ];
        headers
            .map(|(name, value)| format!("header = \"{name}: {value}\"\n"))
            .concat()
    }

    fn by_the_person(&self) -> String {
        let file = self.home.path().join("person.sh");
        std::fs::write(&file, self.script(Who::Person)).unwrap();
        let done = std::process::Command::new("sh")
            .arg(&file)
            .current_dir(self.home.path())
            .env("MISSION_HOME", self.home.path())
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        crate::harness::text(&done.stdout)
    }
}

/// What came of one way.
#[derive(Debug)]
struct Tried {
    way: String,
    code: i32,
    said: String,
}

/// What the ways of a script came to.
fn read(said: &str) -> Vec<Tried> {
    let names = COMMANDS.iter().map(|way| way.name).chain(SOCKETS);
    let names: BTreeSet<&str> = names.collect();
    let read = |line: &str| {
        let mut parts = line.splitn(3, '|');
        let way = parts.next().filter(|way| names.contains(way))?.to_owned();
        let code = parts.next()?.parse().ok()?;
        let said = parts.next()?.to_owned();
        Some(Tried { way, code, said })
    };
    said.lines().filter_map(read).collect()
}

/// How a refusal is known. What ends with another word was not refused, but did not work, and
/// would prove nothing.
const REFUSED: [&str; 6] = [
    "is for a person",
    "unauthenticated",
    "the keys: Operation not permitted",
    "the keys: Input/output error",
    "the kernel allows no",
    "only the root user",
];

impl Tried {
    fn outside(&self) -> Option<Outside> {
        let mut ways = COMMANDS.iter();
        ways.find(|way| way.name == self.way).map(|way| way.outside)
    }

    fn assert_tried(&self) {
        assert_ne!(self.code, 77, "cargo xtask test installs it: {self:?}");
        assert_ne!(self.code, 78, "it never came to its end: {self:?}");
    }

    /// That it got an agent nothing.
    fn assert_refused(&self) {
        self.assert_tried();
        match self.outside() {
            None => self.assert_passed(),
            Some(outside) => {
                assert_ne!(self.code, 0, "{self:?}");
                let is_known = |words: &&str| self.said.contains(words);
                let is_refused = match outside {
                    Outside::Nobody(words) => is_known(&words),
                    Outside::Done | Outside::Looks => REFUSED.iter().any(is_known),
                };
                assert!(is_refused, "not refused, but broken: {self:?}");
            }
        }
    }

    /// Whether it got the person there, as it must unless the kernel lets nobody of this user
    /// go it.
    fn assert_done(&self) -> bool {
        self.assert_tried();
        match self.outside() {
            None => self.assert_passed(),
            Some(Outside::Nobody(words)) => {
                assert_ne!(self.code, 0, "{self:?}");
                assert!(self.said.contains(words), "{self:?}");
                return false;
            }
            Some(Outside::Done | Outside::Looks) if self.code == 76 => {
                eprintln!("nobody can go it here: {}: {}", self.way, self.said);
                return false;
            }
            Some(Outside::Done | Outside::Looks) => assert_eq!(self.code, 0, "{self:?}"),
        }
        true
    }

    /// That the test inside it ran, and saw what it says.
    fn assert_passed(&self) {
        assert_eq!(self.code, 0, "{self:?}");
        assert!(self.said.contains("1 passed"), "{self:?}");
    }
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
         attack_ways::sockets::from_inside --nocapture >flood.out 2>&1; echo \"$?\"\n",
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
    let perl = find_program("perl", &path).expect("there is no perl: cargo xtask test installs it");
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
