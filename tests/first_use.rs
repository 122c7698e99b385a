//! The first minutes with the program, by the README and the page of the first task alone: a
//! person in an empty home types what they show, and sees what they show under that.
//!
//! A line is compared word by word. `…` stands for any lines that are
//! left out. What differs from run to run is compared by its kind alone: ids, numbers
//! of processes and ports, seconds and times of day.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::harness::{PATIENCE, TestHome, binary, wait_for};
use crate::person::Person;

const SECTION: &str = "## Three commands";
const PROMPT: &str = "first-use>";
/// A terminal as people have them; the longest line of the README fits into it.
const SIZE: (u16, u16) = (120, 40);

/// Commands that only look, and are typed again until what is waited for has happened.
const LOOKS: [&str; 1] = ["mission status"];

/// A command that is shown and the lines shown under it.
#[derive(Debug, PartialEq)]
struct Shown {
    command: String,
    lines: Vec<String>,
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let (_, section) = readme.split_once(SECTION).unwrap();
    let shown = commands(section.split("\n## ").next().unwrap());
    assert_eq!(shown.len(), 3, "three commands: {shown:?}");
    types_and_compares("the README", &shown);
}

#[test]
fn the_first_task_is_done_as_its_page_says() {
    let page = missiond_docs::page("start/first-task").unwrap();
    let shown = commands(&page.markdown);
    assert!(shown.len() >= 12, "{shown:?}");
    types_and_compares("the page of the first task", &shown);
    // Nothing on it starts an agent that costs something, but where it says so.
    let (free, costs) = page.markdown.split_once("## With a real agent").unwrap();
    assert!(costs.trim_start().starts_with("**This costs"), "{costs}");
    let asks =
        |line: &&str| line.starts_with("$ mission task add") || line.starts_with("$ mission run");
    let begun: Vec<_> = free.lines().filter(asks).collect();
    assert!(begun.len() >= 3, "{begun:?}");
    for line in begun {
        assert!(line.contains("--engine rehearsal"), "{line}");
    }
}

/// A person in an empty folder types each command and sees what is shown under it.
fn types_and_compares(document: &str, shown: &[Shown]) {
    let home = TestHome::new();
    let folder = |name: &str| {
        let folder = home.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder.display().to_string()
    };
    let (user, programs, project) = (folder("user"), folder("programs"), folder("project"));
    std::os::unix::fs::symlink(binary(), Path::new(&programs).join("mission")).unwrap();
    let about = "[user]\nname = You\nemail = you@localhost\n[init]\ndefaultBranch = main\n";
    std::fs::write(Path::new(&user).join(".gitconfig"), about).unwrap();
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
    for Shown { command, lines } in shown {
        let deadline = Instant::now() + 2 * PATIENCE;
        loop {
            let seen = typed(&mut person, command);
            let printed: Vec<_> = seen.lines().skip(rows_of(command)).collect();
            let Some(missing) = first_difference(lines, &printed) else {
                break;
            };
            // Who looks too early looks again.
            let may_look_again = LOOKS.contains(&command.as_str()) && Instant::now() < deadline;
            assert!(
                may_look_again,
                "{document} shows `{missing}` for `{command}`, which prints:\n{seen}"
            );
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

/// Types a command; what the terminal shows when it has ended.
fn typed(person: &mut Person, command: &str) -> String {
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
    person.sees()
}

/// How many rows the command takes; the prompt before it was cleared away.
fn rows_of(command: &str) -> usize {
    command.chars().count().div_ceil(usize::from(SIZE.0))
}

/// The demo takes longer on a busy machine than anything else that is waited for.
fn wait_for_end(command: &str, mut has_ended: impl FnMut() -> bool) {
    let deadline = Instant::now() + 4 * PATIENCE;
    let mut is_over = false;
    while !is_over && Instant::now() < deadline {
        is_over = has_ended();
        std::thread::sleep(Duration::from_millis(20));
    }
    if !is_over {
        wait_for(&format!("the end of `{command}`"), has_ended);
    }
}

/// The commands in the blocks of a text, each with what is under it.
fn commands(text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    for block in text.split("```console\n").skip(1) {
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

/// The first line of what is shown that is not printed where it is shown.
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
    let text = "# a\n```console\n$ one\nHello 1 s.\n…\n  9 s  end exec_01m7pj9nxyek5v2jdsxjjvtbk2\n$ two\n```\n```sh\n$ three\n```";
    let shown = commands(text);
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
