use super::{Manifest, keys};

fn problems(text: &str) -> Vec<(usize, String)> {
    match Manifest::parse(text) {
        Ok(_) => Vec::new(),
        Err(error) => error
            .problems
            .into_iter()
            .map(|p| (p.line, p.message))
            .collect(),
    }
}

#[test]
fn every_problem_is_reported_with_its_line_and_the_nearest_word() {
    let text = "\
manifest: 1
engine: Acme
regions:
  prompt: {from_last: '^> '}
  footer: {below: promt}
rules:
  - id: busy
    state: thinkng
    priorty: 10
    priority: 10
    confidence: 1.5
    reason: it says so
    when: {in: footer, has: 'esc [to'}
  - id: busy
    state: idle
    priority: 1
    confidence: 0.5
    reason: the prompt is there
    when: {has: '^> '}
";
    assert_eq!(
        problems(text),
        [
            (2, "`Acme` is not an engine name: use 1 to 32 lower-case letters, digits, `-`, `_` or `.`, beginning with a letter".to_owned()),
            (5, "unknown region `promt`: did you mean `prompt`?".to_owned()),
            (8, "unknown state `thinkng`: did you mean `thinking`?".to_owned()),
            (9, "unknown key `priorty` of a rule: did you mean `priority`?".to_owned()),
            (11, "1.5 is outside 0 to 1".to_owned()),
            (13, "`esc [to` is not a regular expression: error: unclosed character class".to_owned()),
            (19, "`in` is missing: say which region the rows are in".to_owned()),
        ]
    );
}

#[test]
fn what_is_not_a_manifest_is_said_so() {
    let cases = [
        ("", 1, "expected one YAML document, found 0"),
        (
            "- a\n- b\n",
            1,
            "expected a mapping for a manifest, found a list",
        ),
        (
            "manifest: 2\nengine: acme\nrules: []\n",
            1,
            "format 2 is not known, this build reads 1",
        ),
        ("manifest: 1\nengine: acme\n", 1, "`rules` is missing here"),
    ];
    for (text, line, message) in cases {
        assert_eq!(problems(text), [(line, message.to_owned())], "{text}");
    }
    assert_eq!(problems("manifest: 1\nengine: [a\n")[0].0, 3);
    assert_eq!(problems("manifest: 1\nengine: {a,")[0].0, 2);
}

#[test]
fn named_patterns_are_put_in_and_must_exist() {
    let rule = "  - {id: a, state: idle, priority: 1, confidence: 1, reason: r, when: {title: '^%{glyph} x'}}\n";
    let good = format!("manifest: 1\nengine: acme\npatterns: {{glyph: '[ab]'}}\nrules:\n{rule}");
    assert_eq!(problems(&good), []);
    let bad = good.replace("{glyph: ", "{gliph: ");
    assert_eq!(
        problems(&bad),
        [(
            5,
            "unknown pattern `glyph`: did you mean `gliph`?".to_owned()
        )]
    );
}

#[test]
fn what_is_wrong_with_input_is_said_with_its_line() {
    let text = "\
manifest: 1
engine: acme
regions: {box: {last: 3}}
input:
  prompt: {in: boks, mark: '^> ('}
  newline: ctrl-k
  answer: numbers
  paste: yes
rules: []
";
    assert_eq!(
        problems(text),
        [
            (5, "unknown region `boks`: did you mean `box`?".to_owned()),
            (
                5,
                "`^> (` is not a regular expression: error: unclosed group".to_owned()
            ),
            (6, "unknown key `ctrl-k`: did you mean `ctrl-j`?".to_owned()),
            (
                7,
                "unknown way to answer `numbers`: did you mean `number-moves`?".to_owned()
            ),
            (
                8,
                "unknown key `paste` of `input`: did you mean `pasted`?".to_owned()
            ),
        ]
    );
    let good = "manifest: 1\nengine: acme\nregions: {box: {last: 3}}\ninput:\n  prompt: {in: box, mark: '^> '}\n  pasted: 'x'\n  newline: alt-enter\n  enter_pause_ms: 200\n  answer: number-moves\n  interrupt: escape-twice\nrules: []\n";
    assert_eq!(problems(good), []);
    assert_eq!(
        Manifest::parse(good).unwrap().interrupt(),
        [b"\x1b", b"\x1b"]
    );
}

const PAGE: &str = include_str!("../../../../docs/reference/manifests.md");

/// The keys of each table of the page that lists some, in the order of the page. A key is
/// the first word of what stands in backticks in a row's first cell.
fn tables_of_keys() -> Vec<Vec<&'static str>> {
    let tables = PAGE.split("| key | ").skip(1);
    let rows = |table: &'static str| {
        let rows = table.lines().skip(2);
        let cells = rows.map_while(|line| line.strip_prefix("| ")?.split(" | ").next());
        let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let first = words.filter_map(|word| word.split([':', ' ']).next());
        first.collect::<Vec<_>>()
    };
    tables.map(rows).collect()
}

#[test]
fn the_page_of_manifests_has_every_key_there_is_and_no_other() {
    let sorted = |keys: &[&'static str]| {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        // What a row says of one key with and without another is one key.
        keys.dedup();
        keys
    };
    let expected = [
        keys::TOP,
        keys::REGION,
        keys::RULE,
        keys::CONDITION,
        keys::DIALOG,
        keys::TOOL_LINE,
        keys::PERMISSION,
        keys::REQUEST,
        keys::BODY,
        keys::INPUT,
        keys::PROMPT,
        keys::HOLD,
    ];
    let shown: Vec<_> = tables_of_keys().iter().map(|keys| sorted(keys)).collect();
    assert_eq!(shown, expected.map(sorted));
    for (name, keys) in [
        ("fingerprints", keys::FINGERPRINT),
        ("changed", keys::CHANGED),
        ("sent", keys::SENT),
        ("unanswered", keys::UNANSWERED),
    ] {
        let row = PAGE
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}")));
        let (_, inside) = row.unwrap().split_once('{').unwrap();
        let (inside, _) = inside.split_once('}').unwrap();
        let shown: Vec<_> = inside
            .split(", ")
            .map(|pair| pair.split(':').next().unwrap())
            .collect();
        assert_eq!(sorted(&shown), sorted(keys), "{name}");
    }
}
