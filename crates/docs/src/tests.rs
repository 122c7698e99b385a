//! What is promised of all pages: names are found, declarations are said in full, links
//! lead somewhere, and no query does harm.

use std::path::{Path, PathBuf};

use missiond_api::CATALOGUE;
use missiond_config::{Config, KEYS};
use missiond_core::DocKind;
use pulldown_cmark::{Event, Tag};
use serde_json::Value;

use crate::links::{self, Target};
use crate::pages::{Page, neighbours, page, pages};
use crate::{Colours, find, markdown, render_html, render_terminal, search};

/// Files in the repository that are no page of the program.
const UNEMBEDDED: [&str; 1] = ["README.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Words without markup and line breaks, as a reader has them.
fn words(markdown: &str) -> String {
    let mut sections = markdown::sections(&format!("# t\n\n{markdown}"));
    sections[0].heading.text.clear();
    let text: String = sections
        .iter()
        .map(|section| format!("{} {} ", section.heading.text, section.text))
        .collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_exact_name_of_an_operation_or_a_key_has_its_page_first() {
    let operations = CATALOGUE.iter().map(|spec| ("operation", spec.name));
    let keys = KEYS.iter().map(|spec| ("key", spec.key));
    for (kind, name) in operations.chain(keys) {
        let path = format!("{kind}/{name}");
        let hits = search(name, 5);
        assert_eq!(hits[0].path, path, "{name}");
        assert_eq!(hits[0].anchor, "", "{name}");
        assert_eq!(find(&path).unwrap().path, path);
        if name.contains(['_', '.']) {
            assert_eq!(find(name).unwrap().path, path);
        }
        // As people type it: in words, and a key without its section.
        let words = name.replace(['_', '.'], " ");
        assert_eq!(search(&words, 1)[0].path, path, "{words}");
        let last = name.rsplit('.').next().unwrap();
        if last.contains('_') {
            let first = &search(last, 1)[0].path;
            assert!(first.ends_with(last), "{last}: {first}");
        }
    }
    for (command, anchor) in [
        ("mission task add", "mission-task-add"),
        ("Mission upgrade", "mission-upgrade"),
    ] {
        let first = &search(command, 1)[0];
        assert_eq!(first.path, "reference/commands");
        assert_eq!(first.anchor, anchor);
    }
    for page in pages() {
        assert_eq!(search(&page.path, 1)[0].path, page.path);
    }
}

#[test]
fn a_page_is_found_by_what_people_call_it() {
    for (given, path) in [
        ("board", "guides/board"),
        ("Board", "guides/board"),
        ("how/board", "how/board"),
        ("docs/guides/board.md#plans", "guides/board"),
        ("/docs/key/log.level", "key/log.level"),
        ("autopilot.max_agents", "key/autopilot.max_agents"),
        ("slots", "guides/slots"),
        ("your first task", "start/first-task"),
        ("task_add", "operation/board_add"),
        ("install", "start/install"),
        ("changelog", "changelog"),
        ("architecture", "architecture"),
    ] {
        assert_eq!(find(given).unwrap().path, path, "{given}");
    }
    let error = find("bord_add").unwrap_err().to_string();
    assert!(
        error.starts_with("there is no page `bord_add`; the nearest are `operation/board_add`"),
        "{error}"
    );
    let error = find("zzqqxx").unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no page `zzqqxx`; `mission docs` lists those that exist"
    );
}

#[test]
fn a_question_finds_the_section_that_answers() {
    for (query, path) in [
        ("merge conflict", "how/worktrees"),
        ("quiet hours", "key/autopilot.quiet_hours"),
        ("uninstall", "start/upgrade-and-uninstall"),
        ("curl token", "reference/http"),
        ("phone", "guides/phone"),
        ("autop", "guides/autopilot"),
    ] {
        let hits = search(query, 5);
        let paths: Vec<_> = hits.iter().map(|hit| hit.path.as_str()).collect();
        assert!(paths.contains(&path), "{query}: {paths:?}");
        assert_eq!(hits, search(query, 5), "the same answer each time");
    }
    let hits = search("board_ad", 5);
    assert_eq!(hits[0].path, "operation/board_add");
    for hit in search("worktree", 50) {
        let headings = page(&hit.path).unwrap().headings();
        let there = headings.iter().any(|heading| heading.anchor == hit.anchor);
        assert!(there || hit.anchor.is_empty(), "{hit:?}");
        assert!(!hit.excerpt.is_empty(), "{hit:?}");
    }
}

#[test]
fn hostile_queries_are_answered_like_others() {
    let long = "x".repeat(10_000);
    let many = "task ".repeat(2_000);
    let names = "board_add.".repeat(1_000);
    for query in [
        "",
        " ",
        "\0",
        "\u{1b}[31mred\u{7}",
        "../../etc/passwd",
        "<script>",
        "日本語 のタスク",
        "e\u{301}\u{202e}\u{feff}",
        "🦀🦀🦀",
        "\"unclosed",
        "a OR b AND *",
        "the of to",
        long.as_str(),
        many.as_str(),
        names.as_str(),
    ] {
        for limit in [0, 1, 100] {
            assert!(search(query, limit).len() <= limit);
        }
        if let Err(unknown) = find(query) {
            let said = unknown.to_string();
            assert!(said.len() < 400, "{said}");
            assert!(!said.contains(char::is_control), "{said:?}");
        }
    }
}

/// Every parameter of a schema, in any depth, by its name and what is said of it.
fn declared(schema: &Value, fields: &mut Vec<(String, String)>) {
    match schema {
        Value::Object(members) => {
            for (name, inner) in members {
                if name == "properties" {
                    for (name, field) in inner.as_object().into_iter().flatten() {
                        let said = field["description"].as_str().unwrap_or_default();
                        fields.push((name.clone(), said.to_owned()));
                    }
                }
                declared(inner, fields);
            }
        }
        Value::Array(items) => {
            for item in items {
                declared(item, fields);
            }
        }
        _ => {}
    }
}

#[test]
fn the_page_of_an_operation_says_all_that_its_declaration_says() {
    let mut counted = 0;
    for spec in CATALOGUE {
        let page = page(&format!("operation/{}", spec.name)).unwrap();
        let text = words(&page.markdown);
        assert!(text.contains(&words(spec.description)), "{}", spec.name);
        let schemas = [spec.params_schema(), spec.result_schema()];
        for schema in schemas {
            let mut fields = Vec::new();
            declared(&schema.to_value(), &mut fields);
            for (name, said) in fields {
                let named = page.markdown.contains(&format!("{name}` |"));
                assert!(named, "{}: `{name}`", spec.name);
                assert!(
                    text.contains(&words(&said)),
                    "{}: `{name}`: {said}",
                    spec.name
                );
                counted += 1;
            }
        }
        let called = format!("\nmission call {}", spec.name);
        assert!(page.markdown.contains(&called), "{}", spec.name);
    }
    assert!(counted > 500, "{counted}");
}

#[test]
fn the_page_of_a_key_says_all_that_its_declaration_says() {
    for key in Config::default().describe() {
        let spec = key.spec;
        let page = page(&format!("key/{}", spec.key)).unwrap();
        let text = words(&page.markdown);
        assert!(text.contains(&words(spec.sentence)), "{}", spec.key);
        assert!(page.markdown.contains(&key.default), "{}", spec.key);
        if let Some(range) = spec.range {
            assert!(text.contains(&range.to_string()), "{}", spec.key);
        }
        for choice in spec.choices {
            assert!(text.contains(choice), "{}: {choice}", spec.key);
        }
        let shown = page.markdown.split("```toml\n").nth(1).unwrap();
        let shown = shown.split("```").next().unwrap();
        let parsed = Config::parse(Path::new("config.toml"), shown);
        assert_eq!(parsed.unwrap(), Config::default(), "{shown}");
    }
}

#[test]
fn every_link_leads_to_something_that_is_there() {
    let outside = UNEMBEDDED.map(|file| {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        (file.to_owned(), text)
    });
    let inside = pages()
        .iter()
        .map(|page| (page.file.clone(), page.markdown.clone()));
    let documents: Vec<_> = inside.chain(outside).collect();
    let mut followed = 0;
    for (file, text) in &documents {
        for event in markdown::events(text) {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event
            else {
                continue;
            };
            let (target, anchor) = match links::resolve(file, &dest_url) {
                Target::File { file, anchor } => (file, anchor),
                Target::Address(address) => {
                    let host = address.strip_prefix("https://").unwrap_or_default();
                    let host = host.split('/').next().unwrap_or_default();
                    assert!(host.contains('.'), "{file}: {address}");
                    assert!(!address.contains(char::is_whitespace), "{file}: {address}");
                    continue;
                }
                Target::Nowhere => panic!("{file}: {dest_url} leads nowhere"),
            };
            followed += 1;
            let known = documents.iter().find(|(known, _)| *known == target);
            match (known, anchor) {
                (Some((_, text)), Some(anchor)) => {
                    let headings = markdown::headings(text);
                    let there = headings.iter().any(|heading| heading.anchor == anchor);
                    assert!(there, "{file}: {target} has no heading #{anchor}");
                }
                (Some(_), None) => {}
                (None, anchor) => {
                    assert_eq!(anchor, None, "{file}: {dest_url}");
                    assert!(
                        root().join(&target).exists(),
                        "{file}: there is no {target}"
                    );
                }
            }
        }
    }
    assert!(followed > 2_000, "{followed}");
}

#[test]
fn a_link_to_another_page_stays_one_in_html() {
    for page in pages() {
        let html = render_html(page);
        assert!(html.contains("<h1 id="), "{}", page.path);
        for link in html.split("href=\"").skip(1) {
            let link = link.split('"').next().unwrap();
            let Some(path) = link.strip_prefix("/docs/") else {
                assert!(link.starts_with("https://"), "{}: {link}", page.path);
                continue;
            };
            let path = path.split('#').next().unwrap();
            assert!(crate::page(path).is_some(), "{}: {link}", page.path);
        }
    }
}

#[test]
fn every_page_is_listed_with_what_it_is_about() {
    let index = page("index").unwrap();
    for page in pages() {
        assert!(
            !page.title.is_empty() && !page.summary.is_empty(),
            "{page:?}"
        );
        assert!(!page.summary.contains('\n'), "{page:?}");
        if page.name.is_none() && page.path != "index" {
            let link = page.file.strip_prefix("docs/").map(str::to_owned);
            let link = link.unwrap_or_else(|| format!("../{}", page.file));
            let listed = index.markdown.contains(&format!("]({link})"));
            assert!(listed, "docs/README.md does not list {}", page.file);
        }
    }
    let kinds: Vec<_> = pages().iter().map(|page| page.kind).collect();
    assert!(kinds.is_sorted(), "by kind");
    assert_eq!(pages()[0].path, "start/install");
    let beside = neighbours(&pages()[1]);
    assert_eq!(beside.previous, Some(pages()[0].link()));
    assert_eq!(beside.next, Some(pages()[2].link()));
    let last = pages().iter().rfind(|page| page.kind == DocKind::Start);
    assert_eq!(
        neighbours(last.unwrap()).next,
        None,
        "only of the same kind"
    );
}

#[test]
fn every_page_fits_a_terminal() {
    let fits = |page: &Page, width: usize| {
        let text = render_terminal(page, width, Colours::Off);
        assert!(!text.contains('\x1b'), "{}", page.path);
        assert!(text.lines().count() > 3, "{}", page.path);
        let first = text.lines().next().unwrap_or_default();
        assert!(page.title.starts_with(first), "{}: {first}", page.path);
    };
    for page in pages() {
        fits(page, 80);
        fits(page, 0);
        fits(page, usize::MAX);
    }
}
