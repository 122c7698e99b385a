//! Secrets go in by many ways, and afterwards no file of the home holds one of them: not as
//! it is, not as base64, not as hexadecimal digits. What an agent CLI writes of its own
//! conversation is its own, and so is the file in which the rehearsal agent does.

use std::path::{Path, PathBuf};

use missiond_secrets::{Detector, corpus};

use serde_json::json;

use crate::autopilot::{Field, writes};
use crate::harness::{TestHome, wait_for};
use crate::questions::Receiver;
use crate::slots::spawn;

/// What is remembered begins with it.
const SENTENCE: &str = "the harbor says ";

/// Eight by each of seven ways; typing takes its time.
const WENT_IN: usize = 7 * 8 + 2;

/// Three by each of four ways more.
const WENT_ROUND: usize = 4 * 3;

/// A text with an invented secret in it, on one line.
struct Canary {
    text: String,
    secret: String,
}

fn canaries(seed: u64, count: usize) -> Vec<Canary> {
    let detector = Detector::current();
    let lines: Vec<Canary> = corpus::samples(seed, 240)
        .into_iter()
        .filter_map(|sample| {
            let text = sample.text.trim_end().to_owned();
            let secret = sample.text[sample.secret?].to_owned();
            let plain = text.bytes().all(|byte| (b' '..0x7f).contains(&byte));
            // What is not found is the business of the corpus test, which allows two in a
            // hundred; and what is a secret only on a line of its own is none in the sentences
            // that come here.
            let is_found = |text: &str| {
                let found = detector.scan(text.as_bytes());
                found.len() == 1 && text[found[0].start..found[0].end].ends_with(&secret)
            };
            let known = is_found(&sample.text) && is_found(&format!("{SENTENCE}{text}"));
            (plain && known && secret.len() >= 10).then_some(Canary { text, secret })
        })
        .take(count)
        .collect();
    assert_eq!(lines.len(), count);
    lines
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != "rehearsals" {
            files(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}

/// The part of its base64 that is the same wherever it stands in a group of three.
fn base64(secret: &str) -> [String; 3] {
    use base64::Engine as _;
    [0, 1, 2].map(|before| {
        let padded = format!("{}{secret}", "x".repeat(before));
        let encoded = base64::engine::general_purpose::STANDARD_NO_PAD.encode(padded);
        encoded[4..encoded.len() - 2].to_owned()
    })
}

#[test]
fn no_secret_that_came_in_is_in_any_file() {
    let canaries = canaries(2_026, WENT_IN);
    let home = TestHome::started();
    let outside = tempfile::tempdir().unwrap();
    let (typed, others) = canaries.split_at(2);
    let mut ways = others.chunks(8);
    let mut next = || ways.next().unwrap();

    // Out of a program, at once and in small pieces.
    let mut shown = String::new();
    for canary in next() {
        shown.push_str(&format!("{}\n", canary.text));
    }
    let file = outside.path().join("shown.txt");
    std::fs::write(&file, &shown).unwrap();
    let script = format!("cat {}; echo all shown; sleep 600", file.display());
    spawn(&home, "loud", &script);
    crate::slots::wait_for_text(&home, "loud", "all shown");
    std::fs::write(
        &file,
        next()
            .iter()
            .map(|canary| format!("{}\n", canary.text))
            .collect::<String>(),
    )
    .unwrap();
    let script = format!(
        "while IFS= read -r line; do echo \"$line\" | dd bs=7 2>/dev/null; done < {}; echo all said; sleep 600",
        file.display()
    );
    spawn(&home, "slow", &script);
    crate::slots::wait_for_text(&home, "slow", "all said");
    // Typed and echoed.
    spawn(&home, "typed", "cat");
    for canary in typed {
        home.json(&["slot", "send", "typed", &canary.text]);
    }

    for canary in next() {
        home.json(&["kb", "remember", &format!("{SENTENCE}{}", canary.text)]);
    }
    for canary in next() {
        home.json(&["timeline", "note", &canary.text]);
    }
    home.json(&["task", "add", "a task"]);
    for canary in next() {
        home.json(&["task", "note", "T-1", &canary.text]);
    }
    for canary in next() {
        home.json(&["task", "add", "another", "--description", &canary.text]);
    }
    for (number, canary) in next().iter().enumerate() {
        let folder = outside.path().to_str().unwrap();
        std::fs::write(
            outside.path().join("script.yaml"),
            "rehearsal: 1\nturns:\n  - steps:\n      - say: done\n",
        )
        .unwrap();
        let name = format!("agent-{number}");
        home.json(&[
            "run",
            &canary.text,
            "--engine",
            "rehearsal",
            "--cwd",
            folder,
            "--name",
            &name,
            "--",
            "script.yaml",
            "--speed",
            "50",
        ]);
    }
    assert!(ways.next().is_none(), "each went in");
    wait_for("the agents to have been told", || {
        let events = home.kinds();
        events
            .iter()
            .filter(|kind| *kind == "message_delivery")
            .count()
            >= 8
    });
    home.json(&["daemon", "stop", "--force"]);

    assert_none_is_held(home.path(), &canaries);
}

fn assert_none_is_held(folder: &Path, canaries: &[Canary]) {
    let mut found = Vec::new();
    files(folder, &mut found);
    assert!(found.len() > 5, "{found:?}");
    let mut held = Vec::new();
    for path in &found {
        let Ok(bytes) = std::fs::read(path) else {
            continue;
        };
        // What is looked for is ASCII, and so is what it is looked for in where it counts.
        let held_here = String::from_utf8_lossy(&bytes);
        for canary in canaries {
            let hex: String = canary
                .secret
                .bytes()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let forms = [
                vec![canary.secret.clone(), hex],
                base64(&canary.secret).to_vec(),
            ]
            .concat();
            if let Some(form) = forms.iter().find(|form| held_here.contains(form.as_str())) {
                held.push(format!("{}: {form} of {}", path.display(), canary.text));
            }
        }
    }
    assert!(held.is_empty(), "{} held\n{}", held.len(), held.join("\n"));
}

/// A command that would print these, as a string of YAML.
fn printing(canaries: &[Canary]) -> String {
    let texts: Vec<_> = canaries.iter().map(|canary| canary.text.as_str()).collect();
    json!(texts.join("\n")).to_string()
}

#[test]
fn no_secret_of_a_check_an_import_a_webhook_or_a_log_is_in_any_file() {
    let canaries = canaries(2_027, WENT_ROUND);
    let mut ways = canaries.chunks(3);
    let mut next = || ways.next().unwrap();
    let receiver = Receiver::answering(&[]);
    let field = Field::with_config(&format!(
        "[autopilot]\nsettle_ms = 200\n[notifications]\nwebhook_url = \"http://{}/hook\"\n\
         dwell_secs = 0\n",
        receiver.address
    ));
    let home = &field.home;

    // What a check prints, on both its outputs.
    let shown = field.file("shown.txt");
    let lines: Vec<_> = next()
        .iter()
        .map(|canary| format!("{}\n", canary.text))
        .collect();
    std::fs::write(&shown, lines.concat()).unwrap();
    let check = json!([{"name": "shows", "run": ["sh", "-c", format!("cat '{0}'; cat '{0}' >&2", shown.display())]}]);
    let task = field.task(
        "checked",
        &writes("new.txt", "new"),
        json!({"checks": check}),
    );
    field.wait_status(&task, "done");
    assert!(!field.events("checks_finished").is_empty());

    // Tasks of somebody else's, which nobody works on.
    home.json(&["autopilot", "pause"]);
    let import = field.file("tasks.md");
    let lines: Vec<_> = next()
        .iter()
        .map(|canary| format!("- [ ] {}\n", canary.text))
        .collect();
    std::fs::write(&import, lines.concat()).unwrap();
    home.json(&["task", "import", import.to_str().unwrap()]);

    // What a question says, and the webhook tells of it.
    let folder = field.file("asks");
    std::fs::create_dir(&folder).unwrap();
    let asked = next();
    let script = format!(
        "rehearsal: 1\nturns:\n  - steps:\n      - ask:\n          tool: Bash\n          \
         args: {}\n          question: Do you want to let it run this command?\n          \
         allow: [{{say: Done.}}]\n          deny: [{{say: Not done.}}]\n",
        printing(asked)
    );
    std::fs::write(folder.join("script.yaml"), script).unwrap();
    let (mission, folder) = (crate::harness::binary(), folder.display().to_string());
    home.json(&[
        "slot",
        "spawn",
        "--name",
        "asks",
        "--engine",
        "rehearsal",
        "--cwd",
        &folder,
        "--",
        mission.to_str().unwrap(),
        "rehearse",
        "script.yaml",
        "go",
        "--speed",
        "50",
    ]);
    let (_, posted) = receiver.next();
    assert_eq!(posted["event"], "question_waits");
    let posted = posted.to_string();
    for canary in asked {
        assert!(!posted.contains(&canary.secret), "{posted}");
    }

    // What the log says of a client that calls itself so.
    for canary in next() {
        let mut connection = home.raw();
        connection.send(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "hello",
            "params": {"protocol": 1, "client": canary.text},
        }));
        assert_eq!(connection.receive()["result"]["protocol"], 1);
        connection.ask(1, "timeline_note", &json!({"text": "a note"}));
    }
    assert!(ways.next().is_none(), "each went in");
    home.json(&["task", "export"]);
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);
}

#[test]
fn what_a_person_names_is_masked_in_every_form_and_so_is_a_token() {
    use base64::Engine as _;
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("values");
    let named = ["swordfish on the quay", "four blue doors"];
    std::fs::write(&file, named.join("\n")).unwrap();
    let home = TestHome::with_config(&format!(
        "[secrets]\nfiles = [{}]\nvariables = [\"HARBOUR_WORD\"]\n",
        json!(file)
    ));
    let variable = "nine grey herons";
    let started = home
        .command(&["daemon", "start"])
        .env("HARBOUR_WORD", variable)
        .status();
    assert!(started.unwrap().success());
    let token = home.json(&["token", "create", "ci"])["token"].clone();
    let secrets = [named[0], named[1], variable, token.as_str().unwrap()];
    let canaries = secrets.map(|secret| Canary {
        text: secret.to_owned(),
        secret: secret.to_owned(),
    });
    let mut forms = Vec::new();
    for secret in secrets {
        forms.push(format!("it is {secret}, is it not"));
        forms.push(base64::engine::general_purpose::STANDARD.encode(secret));
        forms.push(secret.bytes().map(|byte| format!("{byte:02x}")).collect());
        forms.push(secret.replace(' ', "%20"));
    }
    let shown = outside.path().join("shown.txt");
    std::fs::write(&shown, forms.join("\n")).unwrap();
    spawn(
        &home,
        "loud",
        &format!("cat {}; echo all shown; sleep 600", shown.display()),
    );
    crate::slots::wait_for_text(&home, "loud", "all shown");
    for form in &forms {
        home.json(&["timeline", "note", form]);
        home.json(&["kb", "remember", &format!("The word is {form}.")]);
        home.json(&["task", "add", "a task", "--description", form]);
    }
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);

    // What cannot be read would be stored in clear: so nothing begins.
    std::fs::remove_file(&file).unwrap();
    let (_, why) = home.failure(&["daemon", "start"]);
    assert!(why.contains("secrets.files"), "{why}");
}

/// Beside the home, so that what stands there is no part of it.
fn outside(prefix: &str) -> tempfile::TempDir {
    tempfile::Builder::new().prefix(prefix).tempdir().unwrap()
}

fn assert_silent(what: &str, said: &[u8], canaries: &[Canary]) {
    let said = String::from_utf8_lossy(said);
    for canary in canaries {
        let is_said = said.contains(&canary.secret);
        assert!(!is_said, "{what} holds {}: {said}", canary.text);
    }
}

#[test]
fn no_secret_that_a_model_was_asked_or_said_is_in_any_file() {
    let canaries = canaries(2_028, 12);
    let mut ways = canaries.chunks(3);
    let mut next = || ways.next().unwrap();
    let room = crate::models::room("keep = \"masked\"\n");
    let home = &room.home;
    for canary in next() {
        room.model
            .reply(missiond_model_server::Reply::new().text("Understood."));
        home.json(&["llm", "chat", &canary.text]);
    }
    for canary in next() {
        room.model
            .reply(missiond_model_server::Reply::new().text(&canary.text));
        home.json(&["llm", "chat", "what is it called?"]);
    }
    // In an answer that comes in pieces, and in one that breaks off.
    for canary in next() {
        let (before, after) = canary.text.split_at(canary.text.len() / 2);
        let pause = std::time::Duration::from_millis(20);
        let reply = missiond_model_server::Reply::new();
        room.model
            .reply(reply.text(before).pause(pause).text(after));
        home.json(&["llm", "chat", "and now?"]);
    }
    room.model
        .always(Some(missiond_model_server::Reply::error(400)));
    for canary in next() {
        home.failure(&["llm", "chat", &canary.text]);
    }
    assert!(ways.next().is_none(), "each went in");
    let trace = home.json(&["llm", "trace"]);
    let kept = trace["requests"][11]["prompt"].as_str();
    assert!(kept.is_some_and(|kept| !kept.is_empty()), "{trace}");
    assert_silent("the trace", trace.to_string().as_bytes(), &canaries);
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);
}

/// An agent driven by its protocol says them in each of its fields, and beside it.
#[test]
fn no_secret_that_an_agent_tells_by_its_protocol_is_in_any_file() {
    let canaries = canaries(2_029, 24);
    let mut ways = canaries.chunks(3);
    let mut next = || ways.next().unwrap().iter().map(|canary| &canary.text);
    let mut updates = Vec::new();
    for text in next() {
        let content = json!({"type": "text", "text": text});
        updates.push(json!({"sessionUpdate": "agent_message_chunk", "content": content}));
    }
    for text in next() {
        let content = json!({"type": "text", "text": text});
        updates.push(json!({"sessionUpdate": "agent_thought_chunk", "content": content}));
    }
    for (number, text) in next().enumerate() {
        updates.push(json!({
            "sessionUpdate": "tool_call", "toolCallId": format!("i{number}"), "kind": "execute",
            "title": "Run it", "status": "pending", "rawInput": {"command": text},
        }));
    }
    for (number, text) in next().enumerate() {
        updates.push(json!({
            "sessionUpdate": "tool_call", "toolCallId": format!("t{number}"), "kind": "execute",
            "title": text, "status": "pending", "rawInput": {"command": "ls"},
        }));
    }
    for (number, text) in next().enumerate() {
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        updates.push(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": format!("t{number}"),
            "status": "completed", "content": content, "rawOutput": {"stdout": text},
        }));
    }
    let plan: Vec<_> = next()
        .map(|text| json!({"content": text, "status": "pending", "priority": "high"}))
        .collect();
    updates.push(json!({"sessionUpdate": "plan", "entries": plan}));
    let beside: String = next().map(|text| format!("{text}\n")).collect();
    let asked: Vec<_> = next().map(String::as_str).collect();

    let script = r#"greet; open; hear; cat "$0.told"; cat "$0.beside" >&2
        words "All told."; cat "$0.asks"; hear; end 3"#;
    let agents = crate::scripted_agent::Agents::new("", &[("teller", script)]);
    let told: String = updates
        .iter()
        .map(|update| {
            let params = json!({"sessionId": "s1", "update": update});
            let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
            format!("{line}\n")
        })
        .collect();
    std::fs::write(agents.file("teller.told"), told).unwrap();
    std::fs::write(agents.file("teller.beside"), beside).unwrap();
    let asks = json!({
        "jsonrpc": "2.0", "id": 5, "method": "session/request_permission",
        "params": {
            "sessionId": "s1",
            "toolCall": {
                "toolCallId": "q", "kind": "execute", "title": asked[0],
                "rawInput": {"command": asked[1]},
                "content": [{"type": "content", "content": {"type": "text", "text": asked[2]}}],
            },
            "options": [
                {"optionId": "y", "name": "Yes", "kind": "allow_once"},
                {"optionId": "n", "name": "No", "kind": "reject_once"},
            ],
        },
    });
    std::fs::write(agents.file("teller.asks"), format!("{asks}\n")).unwrap();
    agents.begin("teller");
    agents.wait_for_words("teller", "All told.");
    agents.wait("teller", "confirming");
    let home = &agents.home;
    wait_for("the question to be told", || {
        !home.call("question_list", &json!({}))["questions"]
            .as_array()
            .unwrap()
            .is_empty()
    });
    home.json(&["slot", "answer", "teller", "No", "--wait", "30"]);
    agents.wait("teller", "idle");
    let shown = home.json(&["execution", "show", "teller"]);
    let run = shown["execution"].as_str().unwrap();
    let exported = home.mission(&["journal", "export", run]);
    assert!(exported.status.success(), "{exported:?}");
    assert_silent("the exported journal", &exported.stdout, &canaries);
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);
}

#[test]
fn no_secret_of_a_signal_or_an_answer_is_in_any_file() {
    let canaries = canaries(2_030, 6);
    let (asked, answered) = canaries.split_at(3);
    let folder = outside("canary-");
    let home = TestHome::started();
    for (number, (asks, answers)) in asked.iter().zip(answered).enumerate() {
        let payload = json!({"question": format!("Is it right that {}", asks.text)});
        let script = format!(
            "rehearsal: 1\nturns:\n  - steps:\n      - signal: {{type: needs_input, payload: {payload}}}\n  \
             - steps:\n      - signal: {{type: progress, payload: {{summary: Told.}}}}\n      - say: Thanks.\n",
        );
        let file = format!("script-{number}.yaml");
        std::fs::write(folder.path().join(&file), script).unwrap();
        let (cwd, name) = (folder.path().to_str().unwrap(), format!("asks-{number}"));
        home.mission(&[
            "run",
            "go",
            "--wait",
            "--engine",
            "rehearsal",
            "--cwd",
            cwd,
            "--name",
            &name,
            "--",
            &file,
            "--speed",
            "50",
        ]);
        let told = home.json(&["execution", "show", &name]);
        assert_eq!(told["questions"].as_array().unwrap().len(), 1, "{told}");
        home.json(&["execution", "answer", &name, &answers.text]);
        wait_for("the answer to be told on", || {
            home.json(&["execution", "show", &name])["progress"].is_string()
        });
    }
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);
}

/// What others have written, and what tools of others say.
#[test]
fn no_secret_of_an_import_a_tool_or_indexed_code_is_in_any_file_or_export() {
    let canaries = canaries(2_031, 27);
    let mut ways = canaries.chunks(3);
    let mut next = || ways.next().unwrap();
    let folder = outside("canary-");
    let folder = folder.path().canonicalize().unwrap();
    let app = folder.join("app");
    std::fs::create_dir_all(app.join(".git")).unwrap();
    let home = TestHome::with_config(&format!("[conversations]\nprojects = [{}]\n", json!(app)));

    // A conversation that Claude Code has on record: what was said, run and read.
    let mut records = Vec::new();
    let (said, ran, read) = (next(), next(), next());
    for (number, ((said, ran), read)) in said.iter().zip(ran).zip(read).enumerate() {
        let record = |kind: &str, message: serde_json::Value| {
            json!({
                "type": kind, "message": message, "cwd": app, "sessionId": "canary",
                "uuid": format!("{kind}-{number}"), "timestamp": "2026-11-15T20:03:59.016Z",
                "version": "2.1.325", "userType": "external", "isSidechain": false,
            })
            .to_string()
        };
        let tool = format!("tool-{number}");
        records.push(record(
            "user",
            json!({"role": "user", "content": said.text}),
        ));
        records.push(record(
            "assistant",
            json!({"role": "assistant", "content": [{
                "type": "tool_use", "id": tool, "name": "Bash", "input": {"command": ran.text},
            }]}),
        ));
        records.push(record(
            "user",
            json!({"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": tool, "content": read.text,
            }]}),
        ));
    }
    let transcript = folder.join(".claude/projects/-app/canary.jsonl");
    std::fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    std::fs::write(&transcript, records.join("\n") + "\n").unwrap();
    crate::conversations::start_with_home(&home, &folder);
    wait_for("the conversation to be taken in", || {
        let listed = home.json(&["conversation", "list"]);
        !listed["conversations"].as_array().unwrap().is_empty()
    });

    // Knowledge of another home, and from a page.
    let entries = folder.join("entries.jsonl");
    let lines: Vec<_> = next()
        .iter()
        .map(|canary| {
            let summary = format!("{SENTENCE}{}", canary.text);
            json!({"summary": summary, "detail": canary.text, "category": "note"}).to_string()
        })
        .collect();
    std::fs::write(&entries, lines.join("\n")).unwrap();
    home.json(&["kb", "import", entries.to_str().unwrap()]);
    let page = folder.join("page.md");
    let sections: Vec<_> = next()
        .iter()
        .enumerate()
        .map(|(number, canary)| format!("# Berth {number}\n\n{}\n", canary.text))
        .collect();
    std::fs::write(&page, sections.concat()).unwrap();
    home.json(&["kb", "import", page.to_str().unwrap()]);

    // What a tool is told, and says.
    crate::toolhub_hostile::list_tricks(&home, &[("plain", "")]);
    for canary in next() {
        let said =
            crate::toolhub_hostile::call(&home, "plain__echo", &json!({"text": canary.text}));
        assert!(crate::toolhub_hostile::result_text(&said).contains(" of "));
    }

    // Code with a secret beside a function and in it.
    let code: Vec<_> = next()
        .iter()
        .enumerate()
        .map(|(number, canary)| {
            let quoted = json!(canary.text);
            format!(
                "/// {}\npub fn berth_{number}() -> &'static str {{\n    {quoted}\n}}\n",
                canary.text
            )
        })
        .collect();
    std::fs::write(app.join("lib.rs"), code.concat()).unwrap();
    home.json(&["code", "index", app.to_str().unwrap()]);
    // Why some of it is worth knowing, and why nobody is to work on it now.
    for (number, canary) in next().iter().enumerate() {
        let (name, symbol) = (format!("berth {number}"), format!("lib.rs:berth_{number}"));
        let note = ["--note", canary.text.as_str()];
        let set = home
            .command(&[
                "code", "beacon", "set", &name, &symbol, note[0], note[1], "--json",
            ])
            .current_dir(&app)
            .output()
            .unwrap();
        assert!(set.status.success(), "{set:?}");
    }
    for canary in next() {
        home.json(&["autopilot", "resume"]);
        home.json(&["autopilot", "pause", "--reason", &canary.text]);
    }
    assert!(ways.next().is_none(), "each went in");

    for export in [
        &["kb", "export"][..],
        &["kb", "export", "--format", "markdown"],
        &["task", "export"],
        &["audit", "export"],
    ] {
        let exported = home.mission(export);
        assert!(exported.status.success(), "{export:?}: {exported:?}");
        assert_silent(&export.join(" "), &exported.stdout, &canaries);
    }
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);
}

/// What a vendor says of its limit, which its task is parked with, and a line of `.pgpass`
/// among other words.
#[test]
fn no_secret_of_a_limit_or_a_password_file_is_in_any_file() {
    let detector = Detector::current();
    let short = corpus::samples(2_032, 400)
        .into_iter()
        .filter_map(|sample| {
            let secret = sample.text[sample.secret?].to_owned();
            let text = sample.text.trim_end().to_owned();
            let fits = text.len() <= 50
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && !b"\"'{}\\#".contains(&byte));
            let said = format!("Claude usage limit reached for {text}, resets in 2 s");
            let found = detector.scan(said.as_bytes());
            (fits && secret.len() >= 10 && found.len() == 1).then_some(Canary { text, secret })
        });
    let mut canaries: Vec<Canary> = short.take(2).collect();
    assert_eq!(canaries.len(), 2);
    let field = Field::with_config("[autopilot]\nsettle_ms = 200\n");
    let sessions = field.home.home().data_dir().join("rehearsals");
    for (number, canary) in canaries.iter().enumerate() {
        let said = format!(
            "Claude usage limit reached for {}, resets in 2 s",
            canary.text
        );
        let message = json!({
            "id": "m1", "role": "assistant", "content": [{"type": "text", "text": said}],
        });
        let notice = field.file(&format!("notice-{number}"));
        let line = json!({"type": "assistant", "message": message});
        std::fs::write(&notice, format!("{line}\n")).unwrap();
        let command = format!(
            "cat '{}' >> '{}'/{{{{session}}}}.jsonl",
            notice.display(),
            sessions.display()
        );
        let turns = format!(
            "  - steps:\n      - run: {{argv: [sh, -c, {}]}}\n  - when: {{contains: go on}}\n    \
             steps:\n      - write: {{file: {number}.txt, text: \"x\\n\"}}\n      \
             - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
            json!(command)
        );
        let task = field.task(&format!("limited {number}"), &turns, json!({}));
        field.wait_status(&task, "done");
    }
    assert_eq!(field.events("usage_limit_reached").len(), canaries.len());
    let line = Canary {
        text: "db.example.net:5432:app:me:k3Xq9Lw2Rt7".to_owned(),
        secret: "k3Xq9Lw2Rt7".to_owned(),
    };
    let home = &field.home;
    let sentence = format!("Put {} into the file.", line.text);
    home.json(&["kb", "remember", &sentence]);
    home.json(&["timeline", "note", &sentence]);
    home.json(&["task", "add", "a task", "--description", &sentence]);
    canaries.push(line);
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);
}
