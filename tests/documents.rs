//! What the documents show is what the program does: every line of a document
//! that begins with `$ mission` is run, in order, in a home of its own. Those of the
//! README and of the first task are run by `first_use`, which also compares what they
//! print; other commands that documents show are held against the command line, by its
//! own tests.

use missiond_core::DocKind;

use crate::harness::{TestHome, text};

#[test]
fn every_command_shown_in_the_documents_works() {
    let pages = missiond_docs::pages().iter();
    let written = pages.filter(|page| !matches!(page.kind, DocKind::Operation | DocKind::Key));
    let documents = written.map(|page| (page.path.as_str(), page.markdown.as_str()));
    let mut run = 0;
    for (document, page) in documents {
        if document == "start/first-task" {
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
