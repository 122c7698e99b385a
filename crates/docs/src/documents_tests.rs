//! The documents say of keys what the declaration says: `docs/reference/configuration.md`
//! is printed from it, and every other document names keys that exist, with values
//! that are accepted.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use missiond_config::{Config, KEYS, Reload};

use crate::pages::pages;

/// Set to write `docs/reference/configuration.md` instead of comparing it.
const WRITE: &str = "MISSION_WRITE_DOCUMENTS";

/// Names that look like keys and are none: files, and a record of the journal.
const OTHER_NAMES: [&str; 4] = ["daemon.sock", "mcp.json", "mcp.toml", "journal.header"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every document that people write, by where it is in the repository.
fn documents() -> Vec<(String, String)> {
    let written = pages().iter().filter(|page| page.name.is_none());
    let mut documents: Vec<_> = written
        .map(|page| (page.file.clone(), page.markdown.clone()))
        .collect();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    documents.push(("README.md".to_owned(), readme));
    documents
}

fn sections() -> Vec<&'static str> {
    let mut sections = vec![""];
    sections.extend(KEYS.iter().map(|spec| section_of(spec.key)));
    sections.dedup();
    sections
}

fn section_of(key: &'static str) -> &'static str {
    key.rsplit_once('.').map_or("", |(section, _)| section)
}

fn reference() -> String {
    let keys = Config::default().describe();
    let mut page = String::from(
        "# Configuration\n\n\
         Printed from the declarations in `crates/config/src`, as `mission config keys` is;\n\
         a test compares them. `mission config path` says where the file is and\n\
         `mission config check` whether it is right. A file is taken whole or not at all: an\n\
         unknown key or a value out of its range is refused with its line. *live* keys change\n\
         with `mission daemon reload`, the others when the daemon starts.\n",
    );
    for section in sections() {
        let title = match section {
            "" => "Without a section".to_owned(),
            section => section.to_owned(),
        };
        write!(
            page,
            "\n## {title}\n\n| key | default | range | live | meaning |\n"
        )
        .unwrap();
        page.push_str("|---|---|---|---|---|\n");
        for key in keys
            .iter()
            .filter(|key| section_of(key.spec.key) == section)
        {
            let (spec, default) = (key.spec, &key.default);
            let name = spec.key.rsplit('.').next().unwrap();
            let range = spec.range.map_or(String::new(), |range| range.to_string());
            let live = if spec.reload == Reload::Live {
                "live"
            } else {
                ""
            };
            let sentence = spec.sentence.replace('|', "\\|");
            writeln!(
                page,
                "| `{name}` | `{default}` | {range} | {live} | {sentence} |"
            )
            .unwrap();
        }
    }
    page
}

#[test]
fn the_page_of_keys_is_printed_from_their_declaration() {
    let file = root().join("docs/reference/configuration.md");
    let expected = reference();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == expected,
        "docs/reference/configuration.md is not what crates/config declares; write it with \
         {WRITE}=1 cargo test --workspace -p missiond-docs documents"
    );
}

#[test]
fn every_key_that_a_document_names_exists_and_takes_the_value_shown() {
    let sections = sections();
    let mut named = 0;
    for (document, text) in documents() {
        let outside_blocks = text.split("```").step_by(2);
        // Every second piece is between backticks.
        let spans = outside_blocks.flat_map(|text| text.split('`').skip(1).step_by(2));
        // One may go on in the next line.
        let spans = spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
        for span in spans.filter(|span| !OTHER_NAMES.contains(&span.as_str())) {
            let Some((section, rest)) = span.split_once('.') else {
                continue;
            };
            if !sections.contains(&section) || section.is_empty() {
                continue;
            }
            named += 1;
            if span.contains(" = ") {
                let parsed = Config::parse(Path::new(&document), &span);
                assert!(parsed.is_ok(), "`{span}`: {parsed:?}");
                continue;
            }
            let exists = match rest.strip_suffix(['*', '…']) {
                Some("") => true,
                Some(inner) => {
                    sections.contains(&format!("{section}.{inner}").trim_end_matches('.'))
                }
                None => KEYS.iter().any(|spec| spec.key == span),
            };
            assert!(exists, "{document}: there is no key `{span}`");
        }
    }
    assert!(named > 40, "{named}");
}

#[test]
fn every_piece_of_configuration_that_a_document_shows_is_accepted() {
    let mut shown = 0;
    for (document, text) in documents() {
        let blocks = text.split("```toml\n").skip(1);
        for block in blocks.filter_map(|rest| rest.split("```").next()) {
            let table: toml::Table = block.parse().unwrap();
            // Others are of `.mission/config.toml` and of `mcp.toml`.
            let is_ours = |name: &String| name == "slots" || sections().contains(&name.as_str());
            if table.keys().all(is_ours) {
                let parsed = Config::parse(Path::new(&document), block);
                assert!(parsed.is_ok(), "{parsed:?}");
                shown += 1;
            }
        }
    }
    assert!(shown >= 5, "{shown}");
}
