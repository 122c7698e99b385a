//! Reading steps out of plain words: sentences here, lists in `list.rs`.

use super::list::{self, bullet};

/// A step as the text has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReadStep {
    /// Its number in the plan.
    pub(super) key: String,
    pub(super) title: String,
    pub(super) description: String,
    /// Commands named after `check:`, as words.
    pub(super) checks: Vec<Vec<String>>,
    /// Keys of other steps, and numbers of tasks.
    pub(super) after: Vec<String>,
}

/// A title says it in one line; what is longer goes into the description.
const LONGEST_TITLE: usize = 200;

/// Words that put what follows after what came before.
const SEQUENCE: [&str; 10] = [
    "and then ",
    "then ",
    "after that ",
    "after this ",
    "afterwards ",
    "next ",
    "finally ",
    "and finally ",
    "lastly ",
    "last ",
];

/// "and" divides two steps only where a new instruction begins: "login and
/// logout" is one thing, "write the parser and test it" is two.
const VERBS: [&str; 64] = [
    "add",
    "adjust",
    "allow",
    "apply",
    "audit",
    "benchmark",
    "build",
    "bump",
    "change",
    "check",
    "clean",
    "configure",
    "connect",
    "convert",
    "copy",
    "create",
    "delete",
    "deploy",
    "describe",
    "design",
    "document",
    "drop",
    "enable",
    "expose",
    "extend",
    "extract",
    "fix",
    "handle",
    "implement",
    "improve",
    "install",
    "integrate",
    "investigate",
    "link",
    "log",
    "make",
    "measure",
    "mend",
    "merge",
    "migrate",
    "move",
    "optimise",
    "optimize",
    "port",
    "publish",
    "refactor",
    "release",
    "remove",
    "rename",
    "replace",
    "rewrite",
    "run",
    "send",
    "set",
    "show",
    "simplify",
    "split",
    "support",
    "test",
    "translate",
    "update",
    "upgrade",
    "use",
    "write",
];

/// The steps of a plan, in the order they are written in.
pub(super) fn read_plan(text: &str) -> Vec<ReadStep> {
    list::steps(text).unwrap_or_else(|| of_sentences(text))
}

/// The words without a leading "then", and whether there was one.
pub(super) fn without_sequence(line: &str) -> (&str, bool) {
    for word in SEQUENCE {
        let begins = line
            .get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word));
        if begins {
            return (&line[word.len()..], true);
        }
        let comma = word.trim_end();
        let begins = line
            .get(..comma.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(comma));
        if begins && line[comma.len()..].starts_with(", ") {
            return (&line[comma.len() + 2..], true);
        }
    }
    (line, false)
}

/// `check: cargo test` as words.
pub(super) fn check_of(line: &str) -> Option<Vec<String>> {
    let (name, command) = line.split_once(':')?;
    if !matches!(
        name.trim().to_ascii_lowercase().as_str(),
        "check" | "checks"
    ) {
        return None;
    }
    let command = command.trim().trim_matches('`');
    let words: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

/// Groups in order; what is in one group has no order, and comes after the whole
/// group before it.
fn of_sentences(text: &str) -> Vec<ReadStep> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut checks = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(check) = check_of(line) {
            checks.push(check);
            continue;
        }
        let line = bullet(line).map_or(line, |(_, rest)| rest);
        for sentence in sentences(line) {
            for (part, follows) in parts(&sentence) {
                match groups.last_mut() {
                    Some(group) if !follows => group.push(part),
                    _ => groups.push(vec![part]),
                }
            }
        }
    }
    let mut steps = Vec::new();
    let mut before: Vec<String> = Vec::new();
    for group in groups {
        let first = steps.len();
        for part in group.iter().filter(|part| !title_case(part).is_empty()) {
            let mut step = step(steps.len() + 1, part);
            step.after.clone_from(&before);
            step.checks.clone_from(&checks);
            steps.push(step);
        }
        if steps.len() > first {
            let keys = steps[first..].iter();
            before = keys.map(|step: &ReadStep| step.key.clone()).collect();
        }
    }
    steps
}

/// Cut at full stops and semicolons that end something; not in `lib.rs` or `1.2`.
fn sentences(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut chars = line.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        quoted ^= c == '`';
        let ends = match c {
            ';' => true,
            '.' | '!' => chars.peek().is_none_or(|next| next.is_whitespace()),
            _ => false,
        };
        if ends && !quoted {
            found.push(String::new());
        } else if let Some(last) = found.last_mut() {
            last.push(c);
        }
    }
    let trimmed = found.iter().map(|each| each.trim().to_owned());
    trimmed.filter(|each| !each.is_empty()).collect()
}

/// The parts of a sentence, each with whether it comes after the one before.
fn parts(sentence: &str) -> Vec<(String, bool)> {
    let (rest, follows) = without_sequence(sentence);
    let mut parts = vec![(String::new(), follows)];
    let mut rest = rest;
    while let Some((before, after, follows)) = divided(rest) {
        if let Some(last) = parts.last_mut() {
            last.0 = before.trim().trim_end_matches(',').to_owned();
        }
        parts.push((String::new(), follows));
        rest = after;
    }
    if let Some(last) = parts.last_mut() {
        rest.trim().trim_end_matches(',').clone_into(&mut last.0);
    }
    parts.retain(|(part, _)| !part.is_empty());
    parts
}

/// Where a sentence first goes on to another instruction.
fn divided(text: &str) -> Option<(&str, &str, bool)> {
    let lower = text.to_ascii_lowercase();
    let mut quoted = false;
    for (place, c) in lower.char_indices() {
        quoted ^= c == '`';
        if quoted || !(c == ' ' || c == ',') {
            continue;
        }
        let rest = &lower[place..];
        let gap = rest.len() - rest.trim_start_matches([',', ' ']).len();
        let (start, next) = (place + gap, &rest[gap..]);
        for word in SEQUENCE {
            // "the last page" and "the next one" are no order of steps.
            let alone = matches!(word, "last " | "next ");
            if next.starts_with(word) && !(alone && c == ' ') {
                return Some((&text[..place], &text[start + word.len()..], true));
            }
        }
        let verb = next
            .strip_prefix("and ")
            .map(|after| (4, after))
            .or_else(|| {
                // "add a, write b": a comma with a verb behind it.
                (c == ',').then_some((0, next))
            });
        if let Some((skip, after)) = verb {
            let first = after.split(|c: char| !c.is_ascii_alphabetic()).next();
            if first.is_some_and(|first| VERBS.binary_search(&first).is_ok()) {
                return Some((&text[..place], &text[start + skip..], false));
            }
        }
    }
    None
}

pub(super) fn step(number: usize, words: &str) -> ReadStep {
    let words = title_case(words);
    let cut = words
        .char_indices()
        .nth(LONGEST_TITLE)
        .map_or(words.len(), |(place, _)| place);
    let title = if cut == words.len() {
        words.clone()
    } else {
        // At the end of a word, and the whole below.
        let end = words[..cut].rfind(' ').unwrap_or(cut);
        format!("{}…", &words[..end])
    };
    ReadStep {
        key: number.to_string(),
        description: if title == words { String::new() } else { words },
        title,
        ..ReadStep::default()
    }
}

/// Without the full stop, and with a capital.
pub(super) fn title_case(words: &str) -> String {
    let words = words
        .trim()
        .trim_end_matches(['.', ',', ';', ':'])
        .trim_end();
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// The steps of a text, each as `key [after keys] title`.
#[cfg(test)]
pub(super) fn lines_of_plan(text: &str) -> Vec<String> {
    let line = |step: ReadStep| {
        let after = step.after.join(",");
        format!("{} [{after}] {}", step.key, step.title)
    };
    read_plan(text).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::lines_of_plan as plan;
    use super::*;

    #[test]
    fn verbs_can_be_looked_up() {
        assert!(VERBS.is_sorted());
    }

    #[test]
    fn plans_as_people_write_them() {
        let cases: &[(&str, &[&str])] = &[
            ("Add login and logout.", &["1 [] Add login and logout"]),
            (
                "write the parser, then test it and document it",
                &[
                    "1 [] Write the parser",
                    "2 [1] Test it",
                    "3 [1] Document it",
                ],
            ),
            (
                "Add a CLI; fix the README. After that, publish 1.2",
                &[
                    "1 [] Add a CLI",
                    "2 [] Fix the README",
                    "3 [1,2] Publish 1.2",
                ],
            ),
            (
                "1. Add divide\n   by zero is an error\n   check: python3 t.py\n2. Document it",
                &["1 [] Add divide", "2 [1] Document it"],
            ),
            (
                "Plan:\n- rename lib.rs\n- add tests\n- then release",
                &["1 [] Rename lib.rs", "2 [] Add tests", "3 [2] Release"],
            ),
            (
                "1) a thing\n2) b thing (after T-4)\n3) c thing (after 1 and 2)",
                &["1 [] A thing", "2 [T-4] B thing", "3 [1,2] C thing"],
            ),
            (
                "Step 1: build `a; then b`\nStep 2: run it",
                &["1 [] Build `a; then b`", "2 [1] Run it"],
            ),
            (
                "Show the next page and the last one",
                &["1 [] Show the next page and the last one"],
            ),
            ("   \n", &[]),
        ];
        for (text, steps) in cases {
            assert_eq!(plan(text), *steps, "{text}");
        }
    }

    #[test]
    fn lines_below_an_item_belong_to_it() {
        let text = "- Add divide\n  By zero it is an error.\n  check: `python3 t.py`\n- Other";
        let first = read_plan(text).remove(0);
        let expected = ReadStep {
            key: "1".to_owned(),
            title: "Add divide".to_owned(),
            description: "By zero it is an error.".to_owned(),
            checks: vec![vec!["python3".to_owned(), "t.py".to_owned()]],
            after: Vec::new(),
        };
        assert_eq!(first, expected);
    }

    #[test]
    fn what_is_too_long_for_a_title_is_described() {
        let long = format!("Write {}", "word ".repeat(100));
        let step = read_plan(&long).remove(0);
        assert!(
            step.title.chars().count() <= LONGEST_TITLE + 1,
            "{}",
            step.title
        );
        assert_eq!(step.description, long.trim());
    }

    #[test]
    fn nothing_written_makes_it_panic() {
        for text in [
            "(after",
            "1. ",
            "é, then ü",
            "`",
            "and ",
            "step ",
            "a (after )",
            "…; ;. ,",
        ] {
            read_plan(text);
        }
    }
}
