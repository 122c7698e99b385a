//! Questions to small repositories.

use super::*;
use crate::extract::extract;
use crate::limits::Limits;
use crate::topology::MapRequest;

pub(crate) fn file(path: &str, text: &str) -> FileChange {
    let language = Language::of_path(path).unwrap();
    let found = extract(path, text, language, &Limits::default()).unwrap();
    FileChange::Changed(Box::new(FileRecord {
        path: path.to_owned(),
        stamp: Stamp::UNKNOWN,
        facts: FileFacts::Read {
            language,
            hash: ContentHash::of(text.as_bytes()),
            lines: found.lines,
            symbols: found.symbols,
            references: found.references,
        },
    }))
}

pub(crate) fn index(files: &[(&str, &str)]) -> CodeIndex {
    let mut index = CodeIndex::default();
    for (path, text) in files {
        index.apply(file(path, text));
    }
    index
}

fn shop() -> CodeIndex {
    index(&[
        (
            "src/lease.rs",
            "//! Leases on resources.\n\
             pub struct Lease { until: u64 }\n\
             impl Lease {\n\
             /// Makes it last longer.\n\
             pub fn renew(&mut self) { self.until += 1; }\n\
             }\n\
             /// Ends the ones nobody renewed.\n\
             pub fn collect_expired(leases: &mut Vec<Lease>) {}\n",
        ),
        (
            "src/http.rs",
            "/// Reads a request from the wire.\n\
             pub fn parse_http_request(bytes: &[u8]) -> Request { todo() }\n\
             pub struct Request;\n\
             fn renew() {}\n",
        ),
        (
            "tests/lease_test.rs",
            "fn leases_are_renewed_and_expired_ones_collected() { collect_expired(lease) }\n",
        ),
    ])
}

fn first(index: &CodeIndex, query: &str) -> String {
    let hits = index.search(query, None, 5).unwrap();
    hits.first().map_or(String::new(), |hit| {
        format!("{} {:?}", hit.node.qualified(), hit.matched)
    })
}

#[test]
fn an_exact_name_comes_first_whatever_the_words_say() {
    let index = shop();
    assert_eq!(first(&index, "collect_expired"), "collect_expired Name");
    assert_eq!(
        first(&index, "COLLECT_EXPIRED"),
        "collect_expired NameInAnyCase"
    );
    assert_eq!(first(&index, "Lease::renew"), "Lease::renew Name");
    assert_eq!(
        first(&index, "leases are expired in `parse_http_request`"),
        "parse_http_request Name"
    );
    assert_eq!(first(&index, "src/http.rs"), "http Name");
    assert_eq!(first(&index, "lease.rs:5"), "Lease::renew Name");
    let both: Vec<_> = index.search("renew", None, 5).unwrap();
    assert!(
        both[..2].iter().all(|hit| hit.matched == Match::Name),
        "{both:?}"
    );
}

#[test]
fn words_find_what_is_meant() {
    let index = shop();
    assert_eq!(
        first(&index, "where are expired leases collected?"),
        "collect_expired Words"
    );
    assert_eq!(
        first(&index, "parsing of HTTP requests"),
        "parse_http_request Words"
    );
    assert_eq!(
        first(&index, "make a lease last longer"),
        "Lease::renew Words"
    );
    assert_eq!(index.search("zebra", None, 5).unwrap(), []);
    let structs = index.search("lease", Some(SymbolKind::Struct), 5).unwrap();
    assert_eq!(structs.len(), 1);
}

#[test]
fn what_tests_other_code_comes_after_it() {
    let text = "/// Ends the leases nobody renewed.\npub fn end_leases() {}\n";
    for of_a_test in [
        "src/suite/leases.rs",
        "tests/leases.rs",
        "src/lease_test.rs",
    ] {
        let index = index(&[(of_a_test, text), ("src/zz_leases.rs", text)]);
        let hits = index.search("where do leases end", None, 5).unwrap();
        assert_eq!(&*hits[0].node.path, "src/zz_leases.rs", "{of_a_test}");
    }
}

#[test]
fn changed_and_removed_files_are_no_longer_found() {
    let mut index = shop();
    index.apply(file("src/http.rs", "pub fn read_socket() {}"));
    assert!(index.find("parse_http_request").is_empty());
    assert_eq!(first(&index, "reading the socket"), "read_socket Words");
    index.apply(FileChange::Gone {
        path: "src/lease.rs".into(),
    });
    assert!(index.find("Lease").is_empty());
    // Numbers are used again without bringing back what they stood for.
    for round in 0..40 {
        let text: String = (0..100)
            .map(|n| format!("fn f{round}_{n}() {{}}\n"))
            .collect();
        index.apply(file("src/many.rs", &text));
    }
    assert_eq!(index.find("f39_7").len(), 1);
    assert!(index.find("f38_7").is_empty());
    assert!(index.nodes.len() < 2_000, "{} numbers", index.nodes.len());
    let hits = index.search("f39_7", None, 3).unwrap();
    assert_eq!(hits[0].node.symbol.name, "f39_7");
}

#[test]
fn a_thing_is_found_by_any_of_its_names() {
    let index = shop();
    let found = |named: &str| -> Vec<String> {
        let line = |node: NodeRef| format!("{} {}", node.path, node.qualified());
        index.find(named).into_iter().map(line).collect()
    };
    assert_eq!(
        found("renew"),
        ["src/http.rs renew", "src/lease.rs Lease::renew"]
    );
    assert_eq!(found("Lease::renew"), ["src/lease.rs Lease::renew"]);
    assert_eq!(found("http.rs:renew"), ["src/http.rs renew"]);
    assert_eq!(found("lease.rs:2"), ["src/lease.rs Lease"]);
    assert_eq!(found("lease.rs"), ["src/lease.rs lease"]);
    assert_eq!(found("nothing::like_it"), [""; 0]);
}

#[test]
fn the_map_shows_what_others_lean_on_and_keeps_its_budget() {
    let mut files = vec![
        (
            "core.rs".to_owned(),
            "//! The core. More.\npub struct CoreStore;\npub fn never_used() {}\n".to_owned(),
        ),
        (
            "leaf.rs".to_owned(),
            "pub fn leaf_thing() { CoreStore; }\n".to_owned(),
        ),
    ];
    for number in 0..20 {
        let text = format!("pub fn user_{number}() {{ let a: CoreStore; }}\n");
        files.push((format!("user{number}.rs"), text));
    }
    files.push((
        "side.rs".to_owned(),
        "pub fn side() { leaf_thing(); }\n".to_owned(),
    ));
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let index = index(&files);
    let draw = |tokens: usize, focus: &[&str]| {
        let focus = focus.iter().map(|path| (*path).to_owned()).collect();
        index.map(&MapRequest {
            tokens,
            count: a_third_of_the_bytes,
            focus,
        })
    };
    let small = draw(16, &[]);
    assert!(
        small
            .text
            .starts_with("core.rs: The core.\n  2 pub struct CoreStore"),
        "{}",
        small.text
    );
    assert!(!small.text.contains("never_used"), "{}", small.text);
    for tokens in [0, 10, 40, 100, 10_000] {
        let map = draw(tokens, &[]);
        assert!(
            a_third_of_the_bytes(&map.text) <= tokens,
            "{tokens}: {}",
            map.text
        );
    }
    let whole = draw(10_000, &[]);
    assert_eq!((whole.symbols_shown, whole.symbols), (24, 24));
    let seen_from_side = draw(20, &["side.rs"]);
    assert!(
        seen_from_side.text.contains("leaf_thing"),
        "{}",
        seen_from_side.text
    );
    assert_eq!(draw(20, &["nowhere"]).unknown_focus, ["nowhere"]);
}

/// A repository in which everybody asks lists and texts whether they are empty, and
/// two types happen to have a method of that name; few use the engine, by its name.
#[test]
fn names_that_collide_do_not_make_getters_important() {
    let mut files = vec![
        (
            "list.rs".to_owned(),
            "pub struct Bag;\nimpl Bag {\npub fn is_empty(&self) -> bool { true }\n\
             pub fn as_str(&self) -> &str { \"\" }\n}\npub struct Box2;\nimpl Box2 {\n\
             pub fn as_str(&self) -> &str { \"\" }\n}\n"
                .to_owned(),
        ),
        (
            "lane.rs".to_owned(),
            "pub struct Lane;\nimpl Lane {\npub fn is_empty(&self) -> bool { true }\n}\n"
                .to_owned(),
        ),
        (
            "reading.rs".to_owned(),
            "pub enum From {\nStart,\n}\n".to_owned(),
        ),
        (
            "engine.rs".to_owned(),
            "pub struct Engine;\nimpl Engine {\npub fn start_engine(&self) {}\n}\n\
             pub fn open_garage() {}\n"
                .to_owned(),
        ),
    ];
    for number in 0..30 {
        let text = format!(
            "struct Own{number};\nimpl From<u8> for Own{number} {{}}\n\
             fn own_{number}(a: &str) {{ a.is_empty(); a.as_str(); a.is_empty(); b.is_empty(); }}\n"
        );
        files.push((format!("user{number}.rs"), text));
    }
    for number in 0..4 {
        let text = format!("fn drive_{number}(e: Engine) {{ e.start_engine(); open_garage(); }}\n");
        files.push((format!("driver{number}.rs"), text));
    }
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let map = index(&files).map(&MapRequest {
        tokens: 40,
        count: a_third_of_the_bytes,
        focus: Vec::new(),
    });
    for shown in ["pub struct Engine", "start_engine", "open_garage"] {
        assert!(map.text.contains(shown), "{shown}: {}", map.text);
    }
    for getter in ["is_empty", "as_str", "enum From"] {
        assert!(!map.text.contains(getter), "{getter}: {}", map.text);
    }
}

#[test]
fn a_name_that_nothing_has_is_said() {
    let index = shop();
    assert_eq!(index.unknown_names("LeaseGate"), ["LeaseGate"]);
    assert_eq!(index.unknown_names("Lease::expire"), ["Lease::expire"]);
    assert_eq!(index.unknown_names("lease"), [""; 0], "in any case");
    assert_eq!(index.unknown_names("Lease::renew"), [""; 0]);
    assert_eq!(index.unknown_names("where are leases renewed"), [""; 0]);
}

fn a_third_of_the_bytes(text: &str) -> usize {
    text.len().div_ceil(3)
}
