//! The manners of the command line.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{TestHome, text};

#[test]
fn every_command_speaks_json_when_asked() {
    let home = TestHome::started();
    let commands: &[&[&str]] = &[
        &["up"],
        &["status"],
        &["review"],
        &["kb", "list"],
        &["version"],
        &["doctor"],
        &["daemon", "start"],
        &["daemon", "status"],
        &["daemon", "stats"],
        &["daemon", "reload"],
        &["daemon", "install", "--print"],
        &["timeline", "query"],
        &["timeline", "note", "hello"],
        &["timeline", "activity"],
        &["timeline", "wait", "--after", "0"],
        &["incident", "list"],
        &["config", "show"],
        &["config", "keys"],
        &["config", "path"],
        &["call", "--list"],
        &["call", "health"],
        &["completions", "bash"],
        &["man"],
        &["daemon", "restart"],
        &["down"],
    ];
    for command in commands {
        home.json(command);
    }
    let lines = home.mission(&["daemon", "logs", "--json"]);
    for line in text(&lines.stdout).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(
            line["timestamp"].is_string() && line["level"].is_string(),
            "{line}"
        );
    }
    let failed = home.mission(&["--no-start", "--json", "timeline", "query"]);
    let error: Value = serde_json::from_slice(&failed.stderr).unwrap();
    assert_eq!(error["error"]["code"], "unreachable");
}

#[test]
fn the_nine_numbers_of_the_stats_are_there() {
    let home = TestHome::started();
    let stats = home.json(&["daemon", "stats"]);
    for field in [
        "uptime_secs",
        "requests_total",
        "requests_succeeded",
        "requests_failed",
        "active_connections",
        "avg_response_time_ms",
        "servers_connected",
        "servers_healthy",
        "memory_usage_mb",
    ] {
        assert!(stats[field].is_number(), "{field}");
    }
    assert_eq!(stats["active_connections"], 1);
    assert!(stats["memory_usage_mb"].as_f64().unwrap() > 1.0);
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let home = TestHome::started();
    for number in 0..200 {
        home.greeted().ask(
            1,
            "timeline_note",
            &json!({"text": format!("note {number}")}),
        );
    }
    let mut child = home
        .command(&["timeline", "tail", "--after", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_watching_command_ends_when_its_reader_goes_away() {
    let home = TestHome::started();
    let mut child = home
        .command(&["timeline", "tail", "--after", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut first).unwrap();
    assert!(first.contains("daemon_started"), "{first}");
    drop(stdout);
    // No further event comes to be written.
    let status = crate::harness::wait_for_exit(&mut child);
    assert_eq!(status.code(), Some(0));
}

#[test]
fn no_colours_unless_a_terminal_reads_and_nobody_objects() {
    let home = TestHome::started();
    for command in [
        &["status"][..],
        &["doctor"],
        &["timeline", "query"],
        &["daemon", "logs"],
    ] {
        let output = home.mission(command);
        assert!(!text(&output.stdout).contains('\u{1b}'), "{command:?}");
    }
    let coloured = |no_color: Option<&str>| {
        // `script` gives the command a terminal of its own.
        let mut command = std::process::Command::new("script");
        let binary = crate::harness::binary();
        command
            .args(["-qec", &format!("{} status", binary.display()), "/dev/null"])
            .env("MISSION_HOME", home.path())
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        text(&command.output().unwrap().stdout).contains("\u{1b}[32m")
    };
    assert!(coloured(None));
    assert!(!coloured(Some("1")));
}

#[test]
fn stored_text_cannot_write_escapes_to_the_terminal() {
    let home = TestHome::started();
    home.greeted().ask(
        1,
        "timeline_note",
        &json!({"text": "a\u{1b}]0;pwned\u{7}b\rc"}),
    );
    let output = home.mission(&["timeline", "query", "--kind", "note_added"]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("text=a\u{fffd}]0;pwned\u{fffd}b\u{fffd}c"),
        "{shown:?}"
    );
}

#[test]
fn a_trace_is_shown_as_a_tree() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    let first = connection.ask(1, "timeline_note", &json!({"text": "cause"}));
    let event = &first["result"]["event"];
    let params = json!({
        "text": "effect", "trace_id": event["trace_id"], "parent_span_id": event["span_id"],
    });
    connection.ask(2, "timeline_note", &params);
    let trace = event["trace_id"].as_str().unwrap();
    let output = home.mission(&["timeline", "trace", trace]);
    let lines: Vec<_> = text(&output.stdout).lines().map(str::to_owned).collect();
    assert_eq!(lines[0], format!("trace {trace}"));
    assert!(
        lines[1].starts_with("#2 note_added") && lines[1].contains("text=cause"),
        "{lines:?}"
    );
    assert!(lines[2].starts_with("└─ #3 note_added") && lines[2].contains("text=effect"));
    let (code, message) = home.failure(&["timeline", "trace", &"ab".repeat(16)]);
    assert_eq!(code, 4, "{message}");
}

#[test]
fn completions_and_the_manual_cover_every_command() {
    let home = TestHome::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&home.mission(&["completions", shell]).stdout);
        for word in ["timeline", "doctor", "bench", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let page = text(&home.mission(&["man"]).stdout);
    for word in [".TH", "MISSION TIMELINE TAIL", "MISSION DAEMON STOP"] {
        assert!(page.contains(word), "{word}");
    }
}

#[test]
fn install_writes_the_unit_and_uninstall_removes_it() {
    let home = TestHome::new();
    let config = home.path().join("xdg");
    let run = |args: &[&str]| {
        let output = home
            .command(args)
            .env("XDG_CONFIG_HOME", &config)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let unit = config.join("systemd/user/missiond.service");
    run(&["daemon", "install", "--manager", "systemd"]);
    let written = std::fs::read_to_string(&unit).unwrap();
    assert!(written.contains(&format!(
        "Environment=\"MISSION_HOME={}\"",
        home.path().display()
    )));
    run(&["daemon", "uninstall", "--manager", "systemd"]);
    assert!(!unit.exists());
}

/// A program that says its version and nothing else.
fn fake_cli(folder: &std::path::Path, name: &str, says: &str) {
    use std::os::unix::fs::PermissionsExt;

    let program = folder.join(name);
    std::fs::write(&program, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn the_doctor_lists_the_agent_clis_with_their_versions() {
    let home = TestHome::new();
    let programs = home.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    fake_cli(&programs, "claude", "2.1.325 (Claude Code)");
    fake_cli(&programs, "codex", "codex-cli 0.166.0");
    fake_cli(&programs, "opencode", "no idea");
    let doctor = home
        .command(&["--json", "doctor"])
        // Nothing that is installed on this machine.
        .env("PATH", &programs)
        .env("HOME", &programs)
        .env("ANTHROPIC_API_KEY", "a key")
        .env_remove("OPENAI_API_KEY")
        .env_remove("CODEX_API_KEY")
        .env_remove("CODEX_HOME")
        .output()
        .unwrap();
    let findings: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let agents: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["check"] == "agent CLI")
        .map(|finding| {
            let word = |name: &str| finding[name].as_str().unwrap().to_owned();
            (word("verdict"), word("detail"))
        })
        .collect();
    let place = |name: &str| programs.join(name).display().to_string();
    let expected = [
        (
            "ok",
            format!(
                "claude 2.1.325 ({})\ndriven by its terminal: its protocol needs \
                 `claude-agent-acp`: `npm install -g @agentclientprotocol/claude-agent-acp`\n\
                 reaches its model by its own log-in or key",
                place("claude")
            ),
        ),
        (
            "warning",
            format!(
                "codex 0.166.0 ({}): no log-in was found; run `codex` once and log in\n\
                 driven by its protocol: by `codex app-server`: proven by tests with the real \
                 program\nreaches its model by its own log-in or key",
                place("codex")
            ),
        ),
        (
            "not_installed",
            "gemini is not installed: no program `gemini` in PATH".to_owned(),
        ),
        (
            "warning",
            format!("{} --version says no version: no idea", place("opencode")),
        ),
    ];
    let missing = ["copilot", "qwen", "aider"].map(|name| {
        let detail = format!("{name} is not installed: no program `{name}` in PATH");
        ("not_installed", detail)
    });
    let expected = expected.into_iter().chain(missing);
    let expected: Vec<_> = expected
        .map(|(verdict, detail)| (verdict.to_owned(), detail))
        .collect();
    assert_eq!(agents, expected);
}

#[test]
fn the_doctor_warns_when_no_agent_can_run_and_fails_where_nothing_can_be_made() {
    let home = TestHome::new();
    let nothing = tempfile::tempdir().unwrap();
    let doctor = |home_folder: &str| {
        let output = home
            .command(&["doctor"])
            .env("PATH", nothing.path())
            .env("MISSION_HOME", home_folder)
            .output()
            .unwrap();
        (output.status.code(), text(&output.stdout))
    };
    let (code, said) = doctor(home.path().to_str().unwrap());
    assert_eq!(code, Some(0), "a warning is no failure: {said}");
    assert!(
        said.contains("none of the agent CLIs is installed"),
        "{said}"
    );
    assert!(
        said.contains("npm install -g") && said.contains("mission demo"),
        "{said}"
    );
    assert!(!said.contains("ok    agent CLI"), "{said}");
    for impossible in ["/proc/nothing/here", "/dev/null/here"] {
        let (code, said) = doctor(impossible);
        assert_eq!(code, Some(1), "{said}");
        for failed in ["data folder", "runtime folder", "daemon", "database"] {
            assert!(said.contains(&format!("FAIL  {failed} ")), "{said}");
        }
        // Beside them nothing is called fine that was not looked at.
        for fine in ["free space", "daemon", "database"] {
            assert!(!said.contains(&format!("ok    {fine} ")), "{said}");
        }
        assert!(!said.contains("the daemon has it"), "{said}");
    }
}

#[test]
fn the_bare_name_says_where_one_is() {
    let home = TestHome::new();
    let bare = home.mission(&[]);
    assert_eq!(bare.status.code(), Some(0));
    let said = text(&bare.stdout);
    for words in ["mission demo", "mission run", "mission open"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(home.json(&[])["state"], "stopped");
    home.start();
    let bare = home.mission(&[]);
    assert_eq!(bare.status.code(), Some(0));
    let said = text(&bare.stdout);
    assert!(said.contains("The daemon is running"), "{said}");
}

#[test]
fn a_name_from_elsewhere_leads_to_the_command() {
    let home = TestHome::new();
    for (name, command) in [
        ("board", "mission open"),
        ("ui", "mission open"),
        ("agents", "mission status"),
        ("ls", "mission status"),
        ("start", "mission up"),
        ("stop", "mission down"),
        ("diff", "mission review"),
    ] {
        let (code, said) = home.failure(&[name]);
        assert_eq!(code, 2, "{said}");
        let hint = said.split("hint: ").nth(1).unwrap_or_default();
        assert!(hint.contains(command), "{name}: {said}");
    }
    let version = text(&home.mission(&["version"]).stdout);
    assert_eq!(version, format!("mission {}", env!("CARGO_PKG_VERSION")));
    let commit = &home.json(&["version"])["commit"];
    assert!(
        commit.is_null(),
        "only a release knows its commit: {commit}"
    );
    let help = text(&home.mission(&["help"]).stdout);
    assert!(help.contains("Have work done:\n  run"), "{help}");
    home.start();
    let logs = text(&home.mission(&["logs"]).stdout);
    assert!(logs.contains("daemon"), "{logs}");
}

#[test]
fn a_mistyped_engine_or_script_is_refused_with_the_nearest_name() {
    let home = TestHome::started();
    let run = |more: &[&str]| {
        let folder = home.path().to_str().unwrap();
        home.failure(&[&["run", "hi", "--cwd", folder, "--engine"], more].concat())
    };
    let (code, said) = run(&["claud"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("did you mean `claude`?"), "{said}");
    let (code, said) = run(&["rehearsal", "--", "helo"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("did you mean `hello`?"), "{said}");
    // A task is refused as it is added, not when somebody works on it.
    let add = ["task", "add", "x", "--engine", "rehearsal", "--"];
    let (code, said) = home.failure(&[&add[..], &["nosuchscript"]].concat());
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("there is no script `nosuchscript`; there are hello, "),
        "{said}"
    );
    assert_eq!(home.json(&["task", "list"])["tasks"], json!([]));
    let added = home.json(&[&add[..], &["hello", "--speed", "9"]].concat());
    let number = added["task"]["number"].as_str().unwrap();
    let shown = text(&home.mission(&["task", "show", number]).stdout);
    assert!(shown.contains("arguments   hello --speed 9\n"), "{shown}");
}

#[test]
fn an_engine_that_is_not_installed_is_refused_with_what_to_do() {
    let home = TestHome::new();
    let nothing = tempfile::tempdir().unwrap();
    // Programs are looked for by the daemon, where it was started.
    let up = home
        .command(&["up"])
        .env("PATH", nothing.path())
        .output()
        .unwrap();
    assert!(up.status.success(), "{}", text(&up.stderr));
    let folder = home.path().to_str().unwrap();
    let (_, said) = home.failure(&["run", "hi", "--cwd", folder]);
    for words in ["--engine rehearsal", "npm install"] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn an_invalid_configuration_file_is_said_to_be_one() {
    let home = TestHome::started();
    home.write_config("[autopilot]\nmax_agentz = 3\n");
    let shown = text(&home.mission(&["config", "show"]).stdout);
    assert!(shown.contains("invalid and not in force"), "{shown}");
    assert!(shown.contains("max_agentz"), "{shown}");
}

#[test]
fn a_time_beyond_its_range_says_the_range_in_words() {
    let home = TestHome::started();
    let (code, said) = home.failure(&["token", "create", "ci", "--expires", "4000d"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("it is 1 s to 3650 d"), "{said}");
}

#[test]
fn switching_the_autopilot_off_says_what_becomes_of_the_agents() {
    let home = TestHome::started();
    let before = text(&home.mission(&["autopilot", "status"]).stdout);
    assert!(before.contains("nobody has switched it on yet"), "{before}");
    let stopped = text(&home.mission(&["autopilot", "stop"]).stdout);
    assert_eq!(
        stopped,
        "The autopilot is stopped. No agent of a task runs."
    );
}
