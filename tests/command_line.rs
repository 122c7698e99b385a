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
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
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
        ("ok", format!("claude 2.1.325 ({})", place("claude"))),
        ("ok", format!("codex 0.166.0 ({})", place("codex"))),
        (
            "ok",
            "gemini is not installed: no program `gemini` in PATH".to_owned(),
        ),
        (
            "warning",
            format!("{} --version says no version: no idea", place("opencode")),
        ),
    ];
    let expected = expected.map(|(verdict, detail)| (verdict.to_owned(), detail));
    assert_eq!(agents, expected);
}
