//! The one way out of a guarded agent, through the real daemon: what it may reach it
//! reaches, everything else is refused whatever way it takes, and a person is asked in the
//! middle. As the user of the tests and, where that is the machine's root, as another one.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use super::escapes::{PRELUDE, WAYS};
use super::stage::Stage;
use super::{own_user, users};
use crate::harness::{text, wait_for};

/// A server on this machine; the port it answers at.
fn serves(answer: impl Fn(&str) -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else {
                continue;
            };
            for line in lines {
                if line.is_ok_and(|line| line.is_empty()) {
                    break;
                }
            }
            let _ = stream.write_all(answer(&first).as_bytes());
        }
    });
    port
}

fn says(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

impl Stage {
    fn questions(&self) -> Vec<Value> {
        let page = self.json(&["inbox"]);
        page["questions"].as_array().unwrap().clone()
    }

    /// The question that is open, once there is one.
    fn question(&self) -> Value {
        let mut open = Vec::new();
        wait_for("a question", || {
            open = self.questions();
            !open.is_empty()
        });
        assert_eq!(open.len(), 1, "{open:#?}");
        open.remove(0)
    }

    fn answer(&self, question: &Value, answer: &str) -> Value {
        let number = question["number"].as_i64().unwrap();
        self.json(&["answer", &format!("Q-{number}"), answer])
    }

    fn told(&self) -> Vec<Value> {
        let query = json!({"limit": 500, "kinds": ["egress_decided"]}).to_string();
        let page = self.json(&["call", "timeline_query", &query]);
        let events = page["events"].as_array().unwrap();
        events.iter().map(|event| event["event"].clone()).collect()
    }
}

fn put(text: &str, folder: &Path, ports: &[(&str, u16)]) -> String {
    let mut text = text.replace("$WORK", &folder.display().to_string());
    for (name, port) in ports {
        text = text.replace(name, &port.to_string());
    }
    text
}

#[test]
fn a_guarded_agent_reaches_what_the_policy_allows_and_nothing_else() {
    for user in users() {
        let closed = serves(|_| says("ESCAPED"));
        let given = serves(|_| says("given"));
        let allowed = serves(move |first| match first.split(' ').nth(1) {
            Some("/away") => format!(
                "HTTP/1.1 302 Found\r\nLocation: http://localhost:{closed}/\r\n\
                 Content-Length: 0\r\nConnection: close\r\n\r\n"
            ),
            _ => says("let through"),
        });
        let ports = [
            ("$ALLOWED", allowed),
            ("$CLOSED", closed),
            ("$GIVEN", given),
        ];
        let policy = put(
            "[[network]]\nallow = [\"localhost:$ALLOWED\", \"127.0.0.1:$ALLOWED\"]\n\n\
             [[rest]]\nhost = \"localhost\"\nallow = [\"GET /open/**\", \"GET /away\"]\n\
             deny = \"DELETE /**\"\n",
            Path::new("/"),
            &ports,
        );
        let stage = Stage::new(user, &format!("ports = [{given}]\n"), &policy);
        let own = stage.home.path().display().to_string();
        let mut script = format!("{PRELUDE}\nOWN='{own}'\n");
        for (number, way) in WAYS.iter().enumerate() {
            let line = put(way.line, stage.work.path(), &ports);
            script.push_str(&format!("( {line}\n) > out.{number} 2>&1 < /dev/null\n"));
        }
        script.push_str("touch tried\n");
        let execution = stage.start(&script)["execution"].clone();
        stage.wait_for("tried");
        let failures: Vec<_> = WAYS
            .iter()
            .enumerate()
            .filter_map(|(number, way)| {
                let said = stage.read(&format!("out.{number}"));
                let expected = way.refused.iter().any(|words| said.contains(words));
                let escaped = said.contains("ESCAPED");
                (!expected || escaped).then(|| format!("{}: {said}", way.what))
            })
            .collect();
        assert!(
            failures.is_empty(),
            "{} of {} as user {user}:\n{}",
            failures.len(),
            WAYS.len(),
            failures.join("\n")
        );
        // Every request is known to be that agent's, and on record.
        let told = stage.told();
        assert!(
            told.iter().all(|one| one["caller"] == execution),
            "{told:#?}"
        );
        for (outcome, host) in [
            ("allowed", "localhost"),
            ("asked", "localhost"),
            ("denied", "169.254.169.254"),
        ] {
            let one = told
                .iter()
                .find(|one| one["outcome"] == outcome && one["host"] == host);
            assert!(one.is_some(), "{outcome} {host}: {told:#?}");
        }
        let list = ["--json", "audit", "list", "--limit", "1000"];
        let on_record = text(&stage.command(&list).output().unwrap().stdout);
        assert!(
            on_record.contains("CONNECT 169.254.169.254:80"),
            "{on_record}"
        );
    }
}

/// The door of an agent is the same from the next daemon.
#[test]
fn an_agent_goes_on_reaching_what_it_may_when_the_daemon_is_another() {
    let port = serves(|_| says("let through"));
    let policy = format!("[[network]]\nallow = [\"localhost:{port}\", \"127.0.0.1:{port}\"]\n");
    let stage = Stage::new(own_user(), "", &policy);
    let get = format!("curl -sS -m 5 --noproxy '' http://localhost:{port}/");
    let script = format!(
        "{get} > before\ntouch begun\nuntil test -e again; do sleep 0.1; done\n{get} > after\n\
         touch ended\n"
    );
    stage.start(&script);
    stage.wait_for("begun");
    assert_eq!(stage.read("before"), "let through");
    stage.home.kill();
    stage.json(&["daemon", "start"]);
    wait_for("the agent to be taken up", || {
        stage.json(&["execution", "show", "agent"])["state"] != "lost"
    });
    stage.write("again", "");
    stage.wait_for("ended");
    assert_eq!(stage.read("after"), "let through");
}

#[test]
fn a_person_is_asked_in_the_middle_and_the_next_try_is_decided_by_the_answer() {
    for user in users() {
        let port = serves(|_| says("let through"));
        let other = serves(|_| says("ESCAPED"));
        // The address may be reached; about the name nobody has said anything.
        let policy =
            format!("[[network]]\nallow = [\"127.0.0.1:{port}\", \"127.0.0.1:{other}\"]\n");
        let stage = Stage::new(user, "", &policy);
        let curl = "curl -sS -m 5 --noproxy ''";
        let script = format!(
            "get() {{ until {curl} http://localhost:{port}/ > out.$1 2>&1 && \
             grep -q 'let through' out.$1; do test -e refused.$1 || cp out.$1 refused.$1; \
             sleep 0.3; done; touch got.$1; }}\n\
             get one\n{curl} http://localhost:{port}/ > at-once 2>&1\nget two\n\
             {curl} http://localhost:{port}/ > at-once-then 2>&1\n\
             {curl} http://localhost:{other}/ > other 2>&1\ntouch asked-other\n\
             until test -e denied; do sleep 0.1; done\n\
             {curl} http://localhost:{other}/ > other-then 2>&1\ntouch ended\n"
        );
        stage.start(&script);
        let first = stage.question();
        assert_eq!(
            first["question"],
            format!("May agent reach localhost:{port}?"),
            "{first:#}"
        );
        let context = first["context"].as_str().unwrap();
        assert!(
            context.contains("a program that calls itself curl"),
            "{context}"
        );
        assert!(
            context.contains("no rule of the network layer"),
            "{context}"
        );
        let folder = stage.work.path().display().to_string();
        assert!(context.contains(&folder), "{context}");
        stage.wait_for("refused.one");
        let refused = stage.read("refused.one");
        assert!(refused.contains("not allowed yet"), "{refused}");
        assert!(refused.contains("a person is asked (Q-1)"), "{refused}");
        let answered = stage.answer(&first, "Allow once");
        assert!(
            answered["rule"].as_str().unwrap().starts_with("P-"),
            "{answered:#}"
        );
        stage.wait_for("got.one");
        // Once is once.
        let second = stage.question();
        assert_ne!(second["number"], first["number"]);
        wait_for("the refusal", || {
            stage.read("at-once").contains("not allowed yet")
        });
        stage.answer(&second, "Allow for the repository");
        stage.wait_for("got.two");
        let third = stage.question();
        assert_eq!(
            third["question"],
            format!("May agent reach localhost:{other}?")
        );
        assert_eq!(stage.read("at-once-then"), "let through");
        stage.wait_for("asked-other");
        stage.answer(&third, "Deny");
        stage.write("denied", "");
        stage.wait_for("ended");
        let denied = stage.read("other-then");
        assert!(denied.contains("is denied: P-"), "{denied}");
        assert!(stage.questions().is_empty());
        let rules = stage.json(&["permission", "list"]).to_string();
        assert!(
            rules.contains(&format!("localhost:{port}")) && rules.contains("Network"),
            "{rules}"
        );
    }
}
