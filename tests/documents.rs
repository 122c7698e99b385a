//! What the documents show is what the program does: every line of a document
//! that begins with `$ mission` is run, in order, in a home of its own. Those of the
//! README are run by `first_use`, which also compares what they print.

use std::path::{Path, PathBuf};

use crate::harness::{TestHome, text};

#[test]
fn every_command_shown_in_the_documents_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut documents = vec![root.join("CONTRIBUTING.md")];
    collect_pages(&root.join("docs"), &mut documents);
    let mut run = 0;
    for document in &documents {
        let home = TestHome::new();
        for line in std::fs::read_to_string(document).unwrap().lines() {
            let Some(arguments) = line.trim().strip_prefix("$ mission ") else {
                continue;
            };
            let arguments = words(arguments);
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            let output = home.mission(&arguments);
            let said = text(&output.stderr);
            assert!(
                output.status.success(),
                "{}: `{line}`: {said}",
                document.display()
            );
            run += 1;
        }
    }
    assert!(run >= 10, "the documents show commands");
}

/// The table of the plan names nothing that is not in the catalogue.
#[test]
fn the_table_of_the_catalogue_names_operations_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/reference/mcp.md")).unwrap();
    let (_, section) = document
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

/// Every Markdown file below a folder.
fn collect_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// Words as a shell would see them; the documents use no more than quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted, mut begun) = (String::new(), false, false);
    for letter in line.chars() {
        match letter {
            '"' => (quoted, begun) = (!quoted, true),
            ' ' if !quoted => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            letter => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}
