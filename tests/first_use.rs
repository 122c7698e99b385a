//! The first minutes with the program, by the README alone: a person in an empty home
//! types what it shows, and sees what it shows under that.
//!
//! A line of the README is compared word by word. `…` stands for any lines that are
//! left out. What differs from run to run is compared by its kind alone: ids, numbers
//! of processes and ports, seconds and times of day.

use std::path::Path;

use crate::harness::{PATIENCE, TestHome, binary, wait_for};
use crate::person::Person;

const SECTION: &str = "## Three commands";
const PROMPT: &str = "first-use>";
/// A terminal as people have them; the longest line of the README fits into it.
const SIZE: (u16, u16) = (120, 40);

/// A command of the README and the lines shown under it.
#[derive(Debug, PartialEq)]
struct Shown {
    command: String,
    lines: Vec<String>,
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let shown = commands(&readme);
    assert_eq!(shown.len(), 3, "three commands: {shown:?}");

    let home = TestHome::new();
    let folder = |name: &str| {
        let folder = home.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder.display().to_string()
    };
    let (user, programs, project) = (folder("user"), folder("programs"), folder("project"));
    std::os::unix::fs::symlink(binary(), Path::new(&programs).join("mission")).unwrap();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let variables = [
        ("HOME", user.as_str()),
        ("PATH", path.as_str()),
        ("PS1", PROMPT),
        ("ENV", ""),
    ];
    let begin = format!("cd '{project}' && exec /bin/sh -i");
    let mut person = Person::runs_program(
        Path::new("/bin/sh"),
        &home,
        SIZE,
        &["-c", &begin],
        &variables,
    );
    person.waits_for(PROMPT);
    for Shown { command, lines } in &shown {
        person.clears();
        person.types(&format!("{command}\r"));
        let mut is_entered = false;
        wait_for_end(command, || {
            let seen = person.sees();
            if seen.contains("Press Enter") && !is_entered {
                is_entered = true;
                person.types("\r");
            }
            seen.lines().last().is_some_and(|line| line == PROMPT)
        });
        let seen = person.sees();
        let printed: Vec<_> = seen.lines().skip(1).collect();
        if let Some(missing) = first_difference(lines, &printed) {
            panic!("the README shows `{missing}` for `{command}`, which prints:\n{seen}");
        }
    }
}

/// The demo takes longer on a busy machine than anything else that is waited for.
fn wait_for_end(command: &str, mut has_ended: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + 4 * PATIENCE;
    let mut is_over = false;
    while !is_over && std::time::Instant::now() < deadline {
        is_over = has_ended();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    if !is_over {
        wait_for(&format!("the end of `{command}`"), has_ended);
    }
}

/// The commands in the blocks of the section, each with what is under it.
fn commands(readme: &str) -> Vec<Shown> {
    let (_, section) = readme.split_once(SECTION).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut found: Vec<Shown> = Vec::new();
    for block in section.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => found.push(Shown {
                    command: command.to_owned(),
                    lines: Vec::new(),
                }),
                None => {
                    let last = found.last_mut().expect("a block begins with `$ `");
                    last.lines.push(line.to_owned());
                }
            }
        }
    }
    found
}

/// The first line of the README that is not printed where it is shown.
fn first_difference(shown: &[String], printed: &[&str]) -> Option<String> {
    let printed: Vec<_> = printed.iter().map(|line| kinds(line)).collect();
    let mut at = 0;
    for (index, block) in shown.split(|line| line.trim() == "…").enumerate() {
        let block: Vec<_> = block.iter().map(|line| kinds(line)).collect();
        // Nothing is left out before the first line.
        let last = if index == 0 { at } else { printed.len() };
        let fits = |from: usize| printed[from..].starts_with(&block);
        match (at..=last).find(|&from| fits(from)) {
            Some(from) => at = from + block.len(),
            None => {
                let longest = (at..=last).map(|from| {
                    let pairs = block.iter().zip(&printed[from..]);
                    pairs
                        .take_while(|(shown, printed)| shown == printed)
                        .count()
                });
                return block.get(longest.max().unwrap_or(0)).cloned();
            }
        }
    }
    None
}

/// A line with the kinds of what differs from run to run in place of it.
fn kinds(line: &str) -> String {
    let words = line.trim_end().split(' ').map(|word| {
        let (body, end) = match word
            .char_indices()
            .rfind(|(_, letter)| !",.".contains(*letter))
        {
            Some((at, letter)) => word.split_at(at + letter.len_utf8()),
            None => (word, ""),
        };
        let is_number = !body.is_empty() && body.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            format!("NUMBER{end}")
        } else if is_time(body) {
            format!("TIME{end}")
        } else if body.starts_with("exec_") && body.len() == 31 {
            format!("RUN{end}")
        } else if body.len() == 36 && body.split('-').count() == 5 {
            format!("SESSION{end}")
        } else if body.starts_with("http://127.0.0.1:") {
            "LINK".to_owned()
        } else {
            word.to_owned()
        }
    });
    let line = words.collect::<Vec<_>>().join(" ");
    // Numbers of one and two digits are set to the right.
    if line.trim_start().starts_with("NUMBER s  ") {
        line.trim_start().to_owned()
    } else {
        line
    }
}

fn is_time(word: &str) -> bool {
    let parts: Vec<_> = word.split(':').collect();
    parts.len() == 3
        && parts
            .iter()
            .all(|part| part.len() == 2 && part.parse::<u8>().is_ok())
}

#[test]
fn a_difference_is_found_and_what_may_differ_is_none() {
    let readme = "# a\n## Three commands\n```console\n$ one\nHello 1 s.\n…\n  9 s  end exec_01m7pj9nxyek5v2jdsxjjvtbk2\n$ two\n```\n## Next\n```console\n$ three\n```";
    let shown = commands(readme);
    let names: Vec<_> = shown.iter().map(|shown| shown.command.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let lines = &shown[0].lines;
    let end = " 12 s  end exec_01m7ptgnz7etktxr9x0jqxxra9";
    assert_eq!(
        first_difference(lines, &["Hello 7 s.", "a", "b", end]),
        None
    );
    assert_eq!(first_difference(lines, &["Hello 7 s.", end]), None);
    let differs = |printed: &[&str]| first_difference(lines, printed).unwrap();
    assert_eq!(differs(&["Hallo 7 s.", end]), "Hello NUMBER s.");
    assert_eq!(differs(&["first", "Hello 7 s.", end]), "Hello NUMBER s.");
    assert_eq!(
        differs(&["Hello 7 s.", "12 s  and exec_1"]),
        "NUMBER s  end RUN"
    );
    assert_eq!(differs(&["Hello 7 s."]), "NUMBER s  end RUN");
}
