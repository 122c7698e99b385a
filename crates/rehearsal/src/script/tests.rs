use super::{Script, builtin_scripts, keys};

fn problems(text: &str) -> Vec<(usize, String)> {
    match Script::parse("test", text) {
        Ok(_) => Vec::new(),
        Err(error) => error
            .problems
            .into_iter()
            .map(|problem| (problem.line, problem.message))
            .collect(),
    }
}

#[test]
fn every_problem_is_reported_with_its_line_and_the_nearest_word() {
    let text = "\
rehearsal: 1
turns:
  - when: {contain: x}
    steps:
      - thnik: 1
      - say: 'hello {{promt}}'
      - run: []
      - ask: {args: x}
      - {exit: 300}
      - crash: softly
      - repeat: {times: 0, steps: [{sleep: -1}]}
      - hang
  - when: {matches: '(a'}
    uses: sometimes
    steps: []
";
    let expected = [
        (
            3,
            "unknown key `contain` of `when`: did you mean `contains`?",
        ),
        (3, "say either `contains` or `matches`"),
        (5, "unknown step `thnik`: did you mean `think`?"),
        (6, "unknown variable `promt`: did you mean `prompt`?"),
        (7, "say which program to run"),
        (8, "`tool` is missing here"),
        (9, "300 is outside 0 to 255"),
        (
            10,
            "unknown way to crash `softly`: use one of abort, kill, segv",
        ),
        (11, "0 is outside 1 to 100000"),
        (
            13,
            "this is not a regular expression: error: unclosed group",
        ),
        (14, "unknown number of uses `sometimes`: use one of always"),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(line, message)| (line, message.to_owned()))
        .collect();
    assert_eq!(problems(text), expected);
}

#[test]
fn what_is_built_in_is_valid() {
    for builtin in builtin_scripts() {
        assert_eq!(problems(builtin.text), [], "{}", builtin.name);
        assert!(Script::builtin(builtin.name).is_some());
    }
}

const PAGE: &str = include_str!("../../../../docs/reference/rehearsal.md");

/// A row of a table: what it is about, and the keys in the braces of the same cell.
type Row = (Vec<&'static str>, Vec<&'static str>);

/// The first cells of the table under a heading.
fn rows(heading: &str) -> Vec<Row> {
    let (_, section) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &'static str| {
        let cell = line[2..].split(" | ").next().unwrap();
        let words = || cell.split('`').skip(1).step_by(2);
        let names = words().filter(|word| !word.starts_with('{'));
        let names = names.filter_map(|word| word.split(':').next());
        let braces = words().filter_map(|word| word.split_once('{'));
        let inside = braces.filter_map(|(_, rest)| rest.split('}').next());
        (
            names.collect(),
            inside.flat_map(|keys| keys.split(", ")).collect(),
        )
    };
    rows.map(row).collect()
}

fn sorted<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_unstable();
    words
}

#[test]
fn the_page_of_rehearsals_has_every_key_and_step_there_is_and_no_other() {
    let names = |heading: &str| sorted(rows(heading).into_iter().flat_map(|(names, _)| names));
    assert_eq!(names("Top level"), sorted(keys::TOP.iter().copied()));
    assert_eq!(names("Turns"), sorted(keys::TURN.iter().copied()));
    assert_eq!(names("Steps"), sorted(keys::STEPS.iter().copied()));
    let expected = |step: &str| match step {
        "think" => keys::THINK,
        "say" => keys::SAY,
        "plan" => keys::PLAN_ENTRY,
        "ask" => keys::ASK,
        "run" => keys::RUN,
        "write" | "append" => keys::FILE,
        "edit" => keys::EDIT,
        "signal" => keys::SIGNAL,
        "call" => keys::CALL,
        "error" => keys::ERROR,
        "usage" => keys::USAGE,
        "usage_limit" => keys::USAGE_LIMIT,
        "flood" => keys::FLOOD,
        "repeat" => keys::REPEAT,
        _ => &[],
    };
    for (steps, shown) in rows("Steps") {
        for step in steps {
            let keys = expected(step).iter().copied();
            assert_eq!(sorted(shown.clone()), sorted(keys), "{step}");
        }
    }
    // Its keys stand in the other cell, beside the word it may be instead.
    let row = PAGE.lines().find(|line| line.starts_with("| `when`"));
    let shown = format!("`{{{}}}`", keys::WHEN.join(", "));
    assert!(row.unwrap().contains(&shown), "{row:?} has no {shown}");
    // What each step is in the protocol: some are the terminal's alone.
    let elsewhere = names("Without a terminal");
    let unknown: Vec<_> = elsewhere
        .iter()
        .filter(|step| !keys::STEPS.contains(step))
        .collect();
    assert!(unknown.is_empty(), "there are no such steps: {unknown:?}");
}
