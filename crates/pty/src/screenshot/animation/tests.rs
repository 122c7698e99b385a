//! Moving pictures, read back as a viewer reads them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::film::{END_PAUSE, SHORTEST_FRAME};
use super::*;

fn options() -> AnimationOptions {
    AnimationOptions {
        speed: Speed::RECORDED,
        longest_pause: Duration::from_secs(3600),
        theme: AnimationTheme::Auto,
    }
}

/// A recording of a screen of 20x3, without a cursor.
fn cast(events: &[(f64, &str)]) -> String {
    let mut cast = "{\"version\":2,\"width\":20,\"height\":3}\n".to_owned();
    let hidden = (0.0, "\u{1b}[?25l");
    for (at, data) in std::iter::once(&hidden).chain(events) {
        let line = serde_json::json!([at, "o", data]);
        cast.push_str(&format!("{line}\n"));
    }
    cast
}

fn played(cast: &str, options: &AnimationOptions) -> Result<Animation, AnimationError> {
    animate(CastReader::new(cast.as_bytes())?, options)
}

/// A picture as its document says it: the moments at which something changes, in
/// seconds, and the texts that are seen from each on.
#[derive(Debug)]
struct Read {
    frames: Vec<(f64, BTreeSet<String>)>,
}

impl Read {
    fn of(animation: &Animation) -> Self {
        let document = roxmltree::Document::parse(&animation.svg).unwrap();
        let root = document.root_element();
        let style = root.children().find(|node| node.has_tag_name("style"));
        let style = style.unwrap().text().unwrap();
        let length = animation.length.as_secs_f64();
        assert!(style.contains(&format!("animation:{length}s step-end infinite")));
        let rules: BTreeMap<&str, Vec<(f64, bool)>> = style
            .split("@keyframes ")
            .skip(1)
            .map(|rule| rule.split_once('{').unwrap())
            .map(|(name, body)| (name, changes(body, length)))
            .collect();
        let moments: BTreeSet<u64> = rules
            .values()
            .flatten()
            .map(|(at, _)| (at * 1e6) as u64)
            .chain([0])
            .collect();
        let frames = moments
            .into_iter()
            .map(|moment| moment as f64 / 1e6)
            .map(|at| (at, texts(root, &rules, at + 1e-3)))
            .collect();
        Self { frames }
    }
}

/// The changes of a rule, in seconds.
fn changes(body: &str, length: f64) -> Vec<(f64, bool)> {
    let rule = body.lines().next().unwrap();
    let steps = rule.split('}').filter_map(|step| step.split_once("%{"));
    let changes: Vec<_> = steps
        .map(|(percent, what)| {
            let at = percent.parse::<f64>().unwrap() / 100.0 * length;
            (at, what == "visibility:visible")
        })
        .collect();
    assert!(changes.is_sorted_by(|a, b| a.0 < b.0), "{changes:?}");
    changes
}

fn texts(
    root: roxmltree::Node<'_, '_>,
    rules: &BTreeMap<&str, Vec<(f64, bool)>>,
    at: f64,
) -> BTreeSet<String> {
    let is_seen = |group: &roxmltree::Node<'_, '_>| {
        let class = group.attribute("class").unwrap_or_default();
        let Some(name) = class.split(' ').nth(1) else {
            return true;
        };
        let steps = rules[name].iter().take_while(|(from, _)| *from <= at);
        steps.last().is_some_and(|(_, visible)| *visible)
    };
    let of = |node: roxmltree::Node<'_, '_>| {
        node.descendants()
            .filter(|node| node.has_tag_name("text"))
            .filter_map(|node| node.text().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let screen = root
        .children()
        .rfind(|node| node.has_tag_name("g"))
        .unwrap();
    let groups = screen.children().filter(|node| node.has_tag_name("g"));
    let mut found = BTreeSet::new();
    for group in groups.filter(is_seen) {
        found.extend(of(group));
        for used in group.children().filter(|node| node.has_tag_name("use")) {
            let id = &used.attribute("href").unwrap()[1..];
            let defined = root
                .descendants()
                .find(|node| node.attribute("id") == Some(id));
            found.extend(of(defined.unwrap()));
        }
    }
    found
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.002
}

#[test]
fn frames_come_when_they_came_and_end_with_a_pause() {
    let animation = played(
        &cast(&[
            (0.5, "one\r\n"),
            (1.5, "two\r\n"),
            (2.0, "\x1b[2J\x1b[Hthree"),
        ]),
        &options(),
    )
    .unwrap();
    assert_eq!(animation.frames, 4);
    assert_eq!(animation.length, Duration::from_secs(2) + END_PAUSE);
    let read = Read::of(&animation);
    let times: Vec<_> = read.frames.iter().map(|(at, _)| *at).collect();
    assert_eq!(times.len(), 4, "{times:?}");
    for (time, expected) in times.iter().zip([0.0, 0.5, 1.5, 2.0]) {
        assert!(near(*time, expected), "{times:?}");
    }
    let shown: Vec<Vec<_>> = read
        .frames
        .iter()
        .map(|(_, texts)| texts.iter().map(String::as_str).collect())
        .collect();
    assert_eq!(
        shown,
        [vec![], vec!["one"], vec!["one", "two"], vec!["three"]]
    );
}

#[test]
fn what_is_too_short_to_be_seen_becomes_part_of_the_next() {
    let animation = played(
        &cast(&[(1.0, "a"), (1.02, "b"), (1.04, "c"), (1.2, "d"), (2.0, "")]),
        &options(),
    )
    .unwrap();
    let read = Read::of(&animation);
    let shown: Vec<_> = read.frames.iter().map(|(_, texts)| texts.clone()).collect();
    let text = |text: &str| BTreeSet::from([text.to_owned()]);
    assert_eq!(shown, [BTreeSet::new(), text("abc"), text("abcd")]);
    assert!(
        read.frames
            .windows(2)
            .all(|two| two[1].0 - two[0].0 >= SHORTEST_FRAME.as_secs_f64())
    );
}

#[test]
fn speed_and_longest_pause_change_the_time_and_nothing_else() {
    let recording = cast(&[(10.0, "a"), (11.0, "b"), (111.0, "c")]);
    let faster = AnimationOptions {
        speed: Speed::new(2.0).unwrap(),
        longest_pause: Duration::from_secs(4),
        ..options()
    };
    let animation = played(&recording, &faster).unwrap();
    assert_eq!(animation.frames, 4);
    let times: Vec<_> = Read::of(&animation)
        .frames
        .iter()
        .map(|(at, _)| *at)
        .collect();
    for (time, expected) in times.iter().zip([0.0, 2.0, 2.5, 4.5]) {
        assert!(near(*time, expected), "{times:?}");
    }
    assert!(Speed::new(0.0).is_none() && Speed::new(f64::NAN).is_none());
}

#[test]
fn a_row_that_scrolls_is_drawn_once() {
    let lines: Vec<_> = (0..40)
        .map(|n| (f64::from(n), format!("\r\nline {n}")))
        .collect();
    let events: Vec<_> = lines
        .iter()
        .map(|(at, data)| (*at, data.as_str()))
        .collect();
    let animation = played(&cast(&events), &options()).unwrap();
    let document = roxmltree::Document::parse(&animation.svg).unwrap();
    let texts = document
        .descendants()
        .filter(|node| node.has_tag_name("text"));
    let mut seen = BTreeSet::new();
    for text in texts.filter_map(|node| node.text()) {
        assert!(seen.insert(text.to_owned()), "{text} is drawn twice");
    }
    assert_eq!(seen.len(), 40);
    let last = &Read::of(&animation).frames.last().unwrap().1.clone();
    let expected = ["line 37", "line 38", "line 39"].map(str::to_owned);
    assert_eq!(*last, BTreeSet::from(expected));
}

#[test]
fn the_last_frame_is_seen_where_nothing_moves() {
    let recording = cast(&[(1.0, "first"), (2.0, "\x1b[2J\x1b[Hlast")]);
    let animation = played(&recording, &options()).unwrap();
    let document = roxmltree::Document::parse(&animation.svg).unwrap();
    let class_of = |wanted: &str| {
        let text = document
            .descendants()
            .find(|node| node.has_tag_name("text") && node.text() == Some(wanted));
        let mut parents = text.unwrap().ancestors();
        parents.find_map(|node| {
            node.attribute("class")
                .filter(|class| class.starts_with("k "))
        })
    };
    assert!(class_of("first").is_some_and(|class| !class.ends_with(" e")));
    assert!(class_of("last").is_some_and(|class| class.ends_with(" e")));
    for said in [
        "prefers-reduced-motion:reduce){.k{animation:none!important}}",
        "prefers-color-scheme:dark",
        ".k{visibility:hidden;",
        ".e{visibility:visible}",
    ] {
        assert!(animation.svg.contains(said), "{said}");
    }
}

#[test]
fn texts_are_escaped_and_wide_ones_are_two_cells() {
    let shown = "a<b> & \x1b[31m</style>\x1b[0m 中e\u{301}";
    let dark = AnimationOptions {
        theme: AnimationTheme::Dark,
        ..options()
    };
    let animation = played(&cast(&[(0.0, shown)]), &dark).unwrap();
    assert_eq!(animation.frames, 1);
    assert!(!animation.svg.contains("prefers-color-scheme"));
    // That of the namespace.
    assert_eq!(animation.svg.matches("http").count(), 1);
    let document = roxmltree::Document::parse(&animation.svg).unwrap();
    let texts: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .map(|node| {
            let attribute = |name: &str| node.attribute(name).unwrap_or_default().to_owned();
            (
                node.text().unwrap().to_owned(),
                attribute("textLength"),
                attribute("class"),
            )
        })
        .collect();
    let expected = [
        ("a<b> &", "54", "f"),
        ("</style>", "72", "c1"),
        ("中", "18", "f"),
        ("e\u{301}", "9", "f"),
    ]
    .map(|(text, length, class)| (text.to_owned(), length.to_owned(), class.to_owned()));
    assert_eq!(texts, expected);
    let style = document
        .descendants()
        .find(|node| node.has_tag_name("style"));
    assert!(
        style
            .unwrap()
            .text()
            .unwrap()
            .contains(".c1{color:#e06c6c}")
    );
}

#[test]
fn an_empty_recording_is_an_empty_screen() {
    let animation = played("{\"version\":2,\"width\":80,\"height\":24}\n", &options()).unwrap();
    assert_eq!((animation.frames, animation.length), (1, END_PAUSE));
    assert_eq!(
        animation.size,
        Size {
            columns: 80,
            rows: 24
        }
    );
    assert!(roxmltree::Document::parse(&animation.svg).is_ok());
}

#[test]
fn what_would_be_too_much_is_refused_with_a_sentence() {
    let refused = |cast: &str| played(cast, &options()).unwrap_err().to_string();
    let huge = "{\"version\":2,\"width\":9000,\"height\":9000}\n[1,\"o\",\"x\"]\n";
    assert!(
        refused(huge).contains("at most 300x100 cells"),
        "{}",
        refused(huge)
    );
    let long = refused(&cast(&[(1.0, "a"), (100_000.0, "b")]));
    assert!(long.contains("more than 10 minutes"), "{long}");
    let changes: Vec<_> = (0..2500)
        .map(|n| (f64::from(n) * 0.1, format!("\r{n}")))
        .collect();
    let events: Vec<_> = changes
        .iter()
        .map(|(at, data)| (*at, data.as_str()))
        .collect();
    let many = refused(&cast(&events));
    assert!(many.contains("more than 2000 frames"), "{many}");
    let broken = refused(&format!("{}[1,\"o\",7]\n", cast(&[])));
    assert!(broken.contains("line 3"), "{broken}");
}

proptest! {
    #[test]
    fn whatever_is_recorded_is_a_document_or_a_sentence(
        events in prop::collection::vec((0.0..2.0f64, "[\\PC\u{1b}\\[;0-9mHJK\r\n]{0,24}"), 0..12)
    ) {
        let mut at = 0.0;
        let timed: Vec<_> = events.iter().map(|(pause, data)| { at += pause; (at, data.as_str()) }).collect();
        let animation = played(&cast(&timed), &options()).unwrap();
        let read = Read::of(&animation);
        prop_assert_eq!(read.frames.len(), animation.frames);
        prop_assert!(read.frames.last().unwrap().0 + END_PAUSE.as_secs_f64() - animation.length.as_secs_f64() < 0.01);
    }
}
