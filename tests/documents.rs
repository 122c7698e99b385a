//! What the documents show is what the program does: every line of a document
//! that begins with `$ mission` is run, in order, in a home of its own. Those of the
//! README and of the first task are run by `first_use`, which also compares what they
//! print. Commands in blocks without `$` speak of things of a person's: they are run in a
//! project that has them, but for those of [`NOT_RUN`]. What stands in the middle of a
//! sentence is held against the command line alone, by its own tests.

use std::path::Path;
use std::process::Command;

use missiond_core::DocKind;

use crate::harness::{TestHome, text};

/// Pages whose commands are run or read elsewhere: `first_use` types the one, and the examples
/// on the other are those of the help, from which the page is printed.
const OTHER_PAGES: [&str; 2] = ["start/first-task", "reference/commands"];

/// How a command begins that is shown and not run here, and why.
const NOT_RUN: [(&str, &str); 7] = [
    (
        "mission mcp call-tool time__",
        "the server comes from PyPI; `mcp_servers` calls other people's",
    ),
    (
        "mission conversation show 1f2e3d4c",
        "no conversation can be given an id; `conversations` shows some by theirs",
    ),
    (
        "mission llm ",
        "it takes a model; `models` asks a scripted one",
    ),
    (
        "mission semantic score",
        "it takes recordings with their truth; `semantic` and `rehearsal` score some",
    ),
    ("mission demo", "`first_use` plays it"),
    (
        "mission upgrade",
        "it replaces the program that is tested; `upgrade` does it to a copy",
    ),
    ("mission uninstall", "the same"),
];

#[test]
fn every_command_shown_in_the_documents_works() {
    let pages = missiond_docs::pages().iter();
    let written = pages.filter(|page| !matches!(page.kind, DocKind::Operation | DocKind::Key));
    let documents = written.map(|page| (page.path.as_str(), page.markdown.as_str()));
    let mut run = 0;
    for (document, page) in documents {
        if OTHER_PAGES.contains(&document) {
            continue;
        }
        let home = TestHome::new();
        for line in page.lines() {
            let Some(arguments) = line.trim().strip_prefix("$ mission ") else {
                continue;
            };
            let arguments = shlex::split(arguments).unwrap();
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            let output = home.mission(&arguments);
            let said = text(&output.stderr);
            assert!(output.status.success(), "{document}: `{line}`: {said}");
            run += 1;
        }
    }
    assert!(run >= 100, "the documents show commands");
}

/// The lines of a page's blocks that are commands without `$`.
fn commands_in_blocks(page: &str) -> Vec<&str> {
    let mut is_inside = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_inside = !is_inside;
        } else if (is_inside || line.starts_with("    "))
            && line.trim_start().starts_with("mission ")
        {
            commands.push(line.trim());
        }
    }
    commands
}

/// A repository with what the documents speak of.
fn make_project(project: &Path) {
    let manifests = missiond_docs::page("reference/manifests").unwrap();
    let (_, manifest) = manifests.markdown.split_once("```yaml\n").unwrap();
    let manifest = manifest.split("```").next().unwrap();
    let another = manifest.replace("engine: my-agent", "engine: my-cli");
    let store = "/// Everything.\npub struct MissionDb;\n\nimpl MissionDb {\n    /// Collects the \
                 leases that are expired.\n    pub fn write(&self) {}\n}\n";
    let files = [
        (
            "src/auth.rs",
            "pub fn check_token(header: &str) -> bool {\n    !header.is_empty()\n}\n",
        ),
        ("src/config.rs", "pub const LIMIT: u32 = 4;\n"),
        ("crates/store/src/lib.rs", store),
        ("notes/today.md", "Nothing.\n"),
        ("my-agent.yaml", manifest),
        ("my-cli.yaml", &another),
        (
            "session.cast",
            include_str!("../crates/pty/tests/fixtures/claude_session.cast"),
        ),
    ];
    for (name, content) in files {
        let file = project.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "."],
        &["commit", "--quiet", "--message", "Begin"],
    ] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=You", "-c", "user.email=you@localhost"]);
        assert!(
            git.args(args)
                .current_dir(project)
                .status()
                .unwrap()
                .success()
        );
    }
}

#[test]
fn what_the_documents_show_of_a_project_works_in_one() {
    let home = TestHome::started();
    let [person, project] = ["person", "project"].map(|name| home.path().join(name));
    std::fs::create_dir_all(&person).unwrap();
    make_project(&project);
    let run = |line: &str| {
        let words = shlex::split(line).unwrap();
        let words: Vec<_> = words.iter().skip(1).map(String::as_str).collect();
        let mut command = home.command(&words);
        // Clients of MCP are looked for in the folder of the person, and are none there.
        command.env("HOME", &person).env_remove("XDG_CONFIG_HOME");
        command.current_dir(&project).output().unwrap()
    };
    // What they speak of: a code map, and a task T-12.
    let tasks = "{\"title\": \"Count\", \"isolation\": \"none\"}\n".repeat(12);
    std::fs::write(person.join("tasks.jsonl"), tasks).unwrap();
    for before in [
        "mission code index",
        "mission task import ../person/tasks.jsonl",
    ] {
        let output = run(before);
        assert!(
            output.status.success(),
            "{before}: {}",
            text(&output.stderr)
        );
    }

    let pages = missiond_docs::pages().iter();
    let written = pages.filter(|page| !matches!(page.kind, DocKind::Operation | DocKind::Key));
    let mut succeeded = 0;
    let mut left_out = [0; NOT_RUN.len()];
    for page in written.filter(|page| !OTHER_PAGES.contains(&page.path.as_str())) {
        for line in commands_in_blocks(&page.markdown) {
            let reason = NOT_RUN
                .iter()
                .position(|(begins, _)| line.starts_with(begins));
            if let Some(reason) = reason {
                left_out[reason] += 1;
                continue;
            }
            let output = run(line);
            let said = text(&output.stderr);
            assert!(output.status.success(), "{}: `{line}`: {said}", page.path);
            succeeded += 1;
        }
    }
    assert!(succeeded >= 20, "{succeeded}");
    for ((begins, reason), left_out) in NOT_RUN.iter().zip(left_out) {
        assert!(
            left_out > 0,
            "no document shows `{begins}` any more ({reason})"
        );
    }
}

/// The table of the plan names nothing that is not in the catalogue.
#[test]
fn the_table_of_the_catalogue_names_operations_that_exist() {
    let document = missiond_docs::page("reference/mcp").unwrap();
    let (_, section) = document
        .markdown
        .split_once("## The catalogue and its plan")
        .unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let mut named = 0;
    for row in rows.filter_map(|row| row.split('|').nth(3)) {
        // Every second piece is between backticks.
        for name in row
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.contains('_'))
        {
            let mut all = missiond_api::CATALOGUE.iter();
            assert!(all.any(|spec| spec.name == name), "there is no {name}");
            named += 1;
        }
    }
    assert!(named > 80, "{named}");
}

/// No registry has the package: whoever types its name there gets nothing, or something
/// that somebody else has put there.
#[test]
fn nothing_is_installed_by_a_name_that_no_registry_has() {
    let readme = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let pages = missiond_docs::pages().iter();
    let pages = pages.map(|page| (page.path.as_str(), page.markdown.as_str()));
    let mut shown = 0;
    for (document, text) in pages.chain([("README", readme.as_str())]) {
        for installs in [
            "npx ",
            "npm install --global ",
            "npm install -g ",
            "apt install ",
            "brew install ",
            "nix profile install ",
            "cargo install ",
        ] {
            for rest in text.split(installs).skip(1) {
                let mut words = rest.split([' ', '`', '\n']);
                let what = words
                    .find(|word| !word.starts_with('-'))
                    .unwrap_or_default();
                if what.contains("mission") {
                    let is_file = what.starts_with("./") || what.starts_with("me/");
                    assert!(is_file, "{document}: `{installs}{what}`");
                    shown += 1;
                }
            }
        }
    }
    assert!(shown >= 4, "{shown}");
}
