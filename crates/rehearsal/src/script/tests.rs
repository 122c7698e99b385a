use super::{Script, builtin_scripts};

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
