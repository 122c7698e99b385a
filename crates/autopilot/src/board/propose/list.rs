//! Reading steps out of a list: its bullets and numbers, what is written below them,
//! and which items say that they come after others.
//!
//! Nothing that somebody wrote is lost: what stands above the list is said of every
//! step, and `(after 9)` that names no step stays in the words for a person to see.

use super::read::{ReadStep, check_of, step, title_case, without_sequence};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bullet {
    /// `-`, `*`, `•`, `- [ ]`: in no order.
    Dot,
    /// `1.`, `2)`, `Step 3:`: one after the other.
    Number(u32),
}

/// An item that says something.
struct Item {
    bullet: Bullet,
    /// Which item of the list it is as written, empty ones counted.
    place: u32,
    line: String,
    /// The lines below it that are no items of their own.
    below: Vec<String>,
}

struct List {
    /// The lines above the first item.
    preamble: Vec<String>,
    items: Vec<Item>,
}

/// The steps of a list; nothing when the text is none.
pub(super) fn steps(text: &str) -> Option<Vec<ReadStep>> {
    let list = read_list(text);
    (list.items.len() >= 2).then(|| steps_of(&list))
}

fn read_list(text: &str) -> List {
    let (mut preamble, mut items) = (Vec::new(), Vec::<Item>::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (bullet(line), items.last_mut()) {
            (Some((bullet, rest)), _) => items.push(Item {
                bullet,
                place: u32::try_from(items.len())
                    .unwrap_or(u32::MAX)
                    .saturating_add(1),
                line: rest.to_owned(),
                below: Vec::new(),
            }),
            (None, Some(item)) => item.below.push(line.to_owned()),
            (None, None) => preamble.push(line.to_owned()),
        }
    }
    let says_something = |item: &Item| {
        let (line, _) = without_after(&item.line);
        !title_case(without_sequence(line).0).is_empty()
    };
    items.retain(says_something);
    List { preamble, items }
}

fn steps_of(list: &List) -> Vec<ReadStep> {
    let items = &list.items;
    let (about, checks) =
        description_and_checks(list.preamble.iter().filter(|line| !is_label(line)));
    let mut steps: Vec<ReadStep> = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let (line, _) = without_after(&item.line);
        let (line, _) = without_sequence(line);
        let mut step = step(place + 1, line);
        let (below, own_checks) = description_and_checks(item.below.iter());
        let parts = [std::mem::take(&mut step.description), below, about.clone()];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        step.description = parts.join("\n");
        step.checks = own_checks.into_iter().chain(checks.clone()).collect();
        steps.push(step);
    }
    // What is said counts more than the order of the list, so it comes first.
    for place in 0..items.len() {
        name_dependencies(&mut steps, items, place);
    }
    for place in 1..items.len() {
        let (line, named) = without_after(&items[place].line);
        let (_, follows) = without_sequence(line);
        let in_order = follows || matches!(items[place].bullet, Bullet::Number(_));
        if named.is_none() && in_order && !leads_to(&steps, place - 1, place) {
            let previous = steps[place - 1].key.clone();
            steps[place].after.push(previous);
        }
    }
    steps
}

/// `Plan:` above a list says nothing of its steps.
fn is_label(line: &str) -> bool {
    const WORDS: usize = 2;
    line.ends_with(':') && line.split_whitespace().count() <= WORDS
}

fn description_and_checks<'l>(
    lines: impl Iterator<Item = &'l String>,
) -> (String, Vec<Vec<String>>) {
    let (mut described, mut checks) = (Vec::new(), Vec::new());
    for line in lines {
        match check_of(line) {
            Some(check) => checks.push(check),
            None => described.push(line.as_str()),
        }
    }
    (described.join("\n"), checks)
}

/// Has a step wait for what it names. Where that is no step, or would have two steps
/// wait for each other, the words stay in the title.
fn name_dependencies(steps: &mut [ReadStep], items: &[Item], place: usize) {
    let (_, Some(named)) = without_after(&items[place].line) else {
        return;
    };
    let mut understood = true;
    for name in named {
        let Ok(number) = name.parse::<u32>() else {
            steps[place].after.push(name);
            continue;
        };
        match numbered(items, number, place) {
            Some(on) if on != place && !leads_to(steps, on, place) => {
                let key = steps[on].key.clone();
                if !steps[place].after.contains(&key) {
                    steps[place].after.push(key);
                }
            }
            _ => understood = false,
        }
    }
    if !understood {
        let (line, _) = without_sequence(&items[place].line);
        steps[place].title = step(place + 1, line).title;
    }
}

/// The item that is meant by a number at a place: in a list without numbers, they are
/// counted. Of several with the same number, the nearest above it, or else the first.
fn numbered(items: &[Item], number: u32, place: usize) -> Option<usize> {
    let any = items.iter().any(|item| item.bullet != Bullet::Dot);
    let is_meant = |item: &Item| match item.bullet {
        Bullet::Number(own) => own == number,
        Bullet::Dot => !any && item.place == number,
    };
    let above = items[..place].iter().rposition(is_meant);
    above.or_else(|| items.iter().position(is_meant))
}

/// Whether a step waits for another, by whatever is between them.
fn leads_to(steps: &[ReadStep], from: usize, to: usize) -> bool {
    let mut seen = vec![false; steps.len()];
    let mut waiting = vec![from];
    while let Some(place) = waiting.pop() {
        if place == to {
            return true;
        }
        if std::mem::replace(&mut seen[place], true) {
            continue;
        }
        let keys = steps[place].after.iter();
        let places = keys.filter_map(|key| steps.iter().position(|step| step.key == *key));
        waiting.extend(places);
    }
    false
}

/// A line as an item: what it begins with, and the rest.
pub(super) fn bullet(line: &str) -> Option<(Bullet, &str)> {
    for mark in ["- [ ]", "* [ ]", "-", "*", "•", "–"] {
        if let Some(rest) = after_mark(line, mark) {
            return Some((Bullet::Dot, rest));
        }
    }
    let named = line.len() >= 5 && line.as_bytes()[..5].eq_ignore_ascii_case(b"step ");
    let line = if named { &line[5..] } else { line };
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 3 {
        return None;
    }
    let (number, rest) = line.split_at(digits);
    let rest = [".", ")", ":"]
        .iter()
        .find_map(|mark| after_mark(rest, mark))?;
    Some((Bullet::Number(number.parse().ok()?), rest))
}

/// What follows a mark, which ends with a space or the line.
fn after_mark<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    let rest = line.strip_prefix(mark)?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim())
}

/// `Write the docs (after 1 and 3)`: the words and what is named.
fn without_after(line: &str) -> (&str, Option<Vec<String>>) {
    let Some(open) = line.rfind('(') else {
        return (line, None);
    };
    let inside = line[open + 1..].trim_end().strip_suffix(')');
    let named = inside.and_then(|inside| {
        let inside = inside.trim();
        let after = inside.get(..6)?;
        let word = after.eq_ignore_ascii_case("after ");
        word.then(|| &inside[6..])
    });
    let Some(named) = named else {
        return (line, None);
    };
    let names: Vec<_> = named
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("and"))
        .map(|word| word.trim_start_matches('#').to_owned())
        .collect();
    let known = |name: &String| {
        let task = name.strip_prefix("T-").or_else(|| name.strip_prefix("t-"));
        task.unwrap_or(name)
            .bytes()
            .all(|byte| byte.is_ascii_digit())
    };
    if names.is_empty() || !names.iter().all(known) {
        return (line, None);
    }
    (line[..open].trim(), Some(names))
}

#[cfg(test)]
mod tests {
    use super::super::read::{lines_of_plan as plan, read_plan};

    #[test]
    fn what_comes_after_what_is_as_written() {
        let cases: &[(&str, &[&str])] = &[
            // In a list of bullets they are counted.
            (
                "- a thing\n- b thing (after 1)\n- c thing (after 1 and 2)",
                &["1 [] A thing", "2 [1] B thing", "3 [1,2] C thing"],
            ),
            // What comes later in the list can come first.
            (
                "- a thing (after 2)\n- b thing",
                &["1 [2] A thing", "2 [] B thing"],
            ),
            (
                "1. a thing (after 3)\n2. b thing\n3. c thing",
                &["1 [3] A thing", "2 [1] B thing", "3 [] C thing"],
            ),
            // What cannot be is left for a person to see.
            (
                "- a thing (after 9)\n- b thing (after 1 and 7)\n- c thing (after 3)",
                &[
                    "1 [] A thing (after 9)",
                    "2 [1] B thing (after 1 and 7)",
                    "3 [] C thing (after 3)",
                ],
            ),
            (
                "- a thing (after 2)\n- b thing (after 1)",
                &["1 [2] A thing", "2 [] B thing (after 1)"],
            ),
            // An empty item is no step, and moves no number.
            (
                "1. a thing\n2.\n3. c thing\n4. d thing (after 3)",
                &["1 [] A thing", "2 [1] C thing", "3 [2] D thing"],
            ),
            (
                "- a thing\n- \n- c thing\n- d thing (after 3)",
                &["1 [] A thing", "2 [] C thing", "3 [2] D thing"],
            ),
            // Each list has its own numbers.
            (
                "1. a thing\n2. b thing\n1. c thing (after T-7)\n2. d thing (after 1)",
                &[
                    "1 [] A thing",
                    "2 [1] B thing",
                    "3 [T-7] C thing",
                    "4 [3] D thing",
                ],
            ),
        ];
        for (text, steps) in cases {
            assert_eq!(plan(text), *steps, "{text}");
        }
    }

    #[test]
    fn what_stands_above_a_list_is_said_of_every_step() {
        let text = "Plan:\nWe move to version 2.\ncheck: make test\n\n- add a\n  carefully\n\
                    - add b\n  check: make b";
        let steps = read_plan(text);
        let words = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let seen: Vec<_> = steps
            .into_iter()
            .map(|step| (step.title, step.description, step.checks))
            .collect();
        assert_eq!(
            seen,
            [
                (
                    "Add a".to_owned(),
                    "carefully\nWe move to version 2.".to_owned(),
                    vec![words("make test")]
                ),
                (
                    "Add b".to_owned(),
                    "We move to version 2.".to_owned(),
                    vec![words("make b"), words("make test")]
                ),
            ]
        );
    }

    #[test]
    fn a_rule_between_parts_is_no_item() {
        assert_eq!(plan("- a\n---\n- b"), ["1 [] A", "2 [] B"]);
    }
}
