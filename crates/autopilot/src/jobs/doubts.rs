//! What makes work that passed its checks a person's to judge, and what is told of it.
//!
//! A check is what the base said. The agent can edit the files that define it, and a check
//! that was edited proves nothing: such work waits for review, and its evidence says which
//! files they are. What the attempt wrote into the configuration and the hooks of the
//! repository's git is told too; no git of ours obeys it.

use std::collections::BTreeSet;

use missiond_core::{Check, Isolation, glob};
use missiond_os::files;
use missiond_workspace::{WorkspaceError, Worktree};
use serde_json::Value;

use super::integrate;
use super::work::{JobError, Work};

/// By command: the files that say what it does, as patterns.
const DEFINED_BY: [(&[&str], &[&str]); 12] = [
    (
        &["make", "gmake"],
        &[
            "Makefile",
            "makefile",
            "GNUmakefile",
            "*/Makefile",
            "*/makefile",
            "*.mk",
        ],
    ),
    (&["just"], &["justfile", "Justfile", ".justfile", "*.just"]),
    (
        &["task"],
        &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml"],
    ),
    (
        &["npm", "npx", "pnpm", "yarn", "bun", "bunx"],
        &[
            "package.json",
            ".npmrc",
            ".yarnrc.yml",
            ".mocharc*",
            "jest.config.*",
            "vitest.config.*",
            "vite.config.*",
            "playwright.config.*",
            "karma.conf.*",
        ],
    ),
    (
        &["cargo"],
        &[".cargo/*", ".config/nextest.toml", "rust-toolchain*"],
    ),
    (
        &[
            "pytest", "tox", "nox", "python", "python3", "uv", "poetry", "hatch",
        ],
        &[
            "pytest.ini",
            ".pytest.ini",
            "tox.ini",
            "setup.cfg",
            "noxfile.py",
            "conftest.py",
            "*/conftest.py",
            "pyproject.toml",
        ],
    ),
    (
        &["gradle", "gradlew"],
        &[
            "build.gradle*",
            "settings.gradle*",
            "gradle.properties",
            "gradlew",
            "gradle/*",
        ],
    ),
    (
        &["mvn", "mvnw"],
        &["pom.xml", "*/pom.xml", "mvnw", ".mvn/*"],
    ),
    (
        &["cmake", "ctest"],
        &["CMakeLists.txt", "*/CMakeLists.txt", "CMakePresets.json"],
    ),
    (
        &["rake", "bundle", "rspec"],
        &["Rakefile", ".rspec", "*/spec_helper.rb"],
    ),
    (&["go"], &["go.work"]),
    (&["pre-commit"], &[".pre-commit-config.yaml"]),
];

/// Programs whose first word that is no option is the file they run.
const INTERPRETERS: [&str; 11] = [
    "sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "php", "deno",
];

/// Files of which a part defines a check, and that work changes for other reasons too.
const IN_PART: [&str; 2] = ["package.json", "pyproject.toml"];

/// What is kept about a place before an agent works in it.
pub(super) async fn remember_programs(work: &Work, worktree: &Worktree) {
    let kept = async {
        let programs = worktree
            .programs()
            .await
            .map_err(|error| error.to_string())?;
        let text = serde_json::to_vec(&programs).map_err(|error| error.to_string())?;
        let file = programs_file(work);
        let folder = file.parent().ok_or("it has no folder")?;
        files::create_private_dir(folder).map_err(|error| error.to_string())?;
        files::replace_private_unsynced(&file, &text).map_err(|error| error.to_string())
    };
    if let Err(error) = kept.await {
        tracing::warn!(task = %work.task.number, error, "settings of repository not remembered");
    }
}

/// One file for a task: that of its last attempt.
fn programs_file(work: &Work) -> std::path::PathBuf {
    let folder = work.shared.home.repository_programs_dir();
    folder.join(format!("{}.json", work.task.number))
}

/// What the repository's git is told to run since the agent began, in a sentence.
pub(super) async fn new_programs(work: &Work, worktree: &Worktree) -> Option<String> {
    let before = std::fs::read(programs_file(work)).ok()?;
    let before: BTreeSet<(String, u64)> = serde_json::from_slice(&before).ok()?;
    let now = worktree.programs().await.ok()?;
    let mut names: Vec<_> = now.difference(&before).map(|(name, _)| &**name).collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        format!(
            "Since the attempt began, the git of this repository is told to run something new: \
             {}. The git of missiond does not; yours would.",
            names.join(", ")
        )
    })
}

/// The files of its checks that the work has changed, as they stand in both.
pub(super) async fn changed_checks(work: &Work) -> Result<Vec<String>, JobError> {
    let (Some(path), Some(base)) = (&work.attempt.worktree, &work.attempt.base_commit) else {
        return Ok(Vec::new());
    };
    if work.task.isolation != Isolation::Worktree || work.task.checks.is_empty() {
        return Ok(Vec::new());
    }
    let worktree = Worktree::open(path).await?;
    let head = worktree.status().await?.head;
    let mut changed = worktree.changed_paths(base, &head).await?;
    // What others changed meanwhile came with their branch, and not from this agent.
    if let Ok(target) = integrate::target(work).await
        && let Ok(of_target) = worktree.changed_paths(&target, &head).await
    {
        changed.retain(|path| of_target.contains(path));
    }
    let mut found = BTreeSet::new();
    for check in &work.task.checks {
        for path in &changed {
            if !found.contains(path) && defines(check, path, &worktree, base, &head).await? {
                found.insert(path.clone());
            }
        }
    }
    Ok(found.into_iter().collect())
}

async fn defines(
    check: &Check,
    path: &str,
    worktree: &Worktree,
    base: &str,
    head: &str,
) -> Result<bool, WorkspaceError> {
    if check.protect.iter().any(|pattern| glob(pattern, path)) {
        return Ok(true);
    }
    for command in commands(&check.run) {
        if scripts(&command).any(|script| script == path) && worktree.has_file(base, path).await? {
            return Ok(true);
        }
        let program = name(&command[0]);
        let known = DEFINED_BY
            .iter()
            .filter(|(programs, _)| programs.contains(&program));
        let mut patterns = known.flat_map(|(_, patterns)| *patterns);
        if !patterns.any(|pattern| glob(pattern, path)) {
            continue;
        }
        if !IN_PART.contains(&path) {
            return Ok(true);
        }
        let before = worktree.text_at(base, path).await?;
        let after = worktree.text_at(head, path).await?;
        if defining_part(path, before.as_deref()) != defining_part(path, after.as_deref()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The commands that a check runs: its own, and those of a line for a shell. How a shell
/// joins them does not matter here.
fn commands(run: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![run.to_vec()];
    let line = run
        .iter()
        .position(|word| matches!(&**word, "-c" | "-ec" | "-lc" | "-euc"));
    let line = line.filter(|_| run.first().is_some_and(|program| is_shell(program)));
    if let Some(line) = line.and_then(|index| run.get(index + 1)) {
        let parts = line.split([';', '&', '|', '\n', '(', ')', '{', '}']);
        for part in parts {
            let words = part.split_whitespace();
            let words = words.skip_while(|word| word.contains('=') || is_reserved(word));
            all.push(
                words
                    .map(|word| word.trim_matches(['"', '\'']).to_owned())
                    .collect(),
            );
        }
    }
    all.retain(|words| words.first().is_some_and(|word| !word.is_empty()));
    all
}

fn is_shell(program: &str) -> bool {
    matches!(name(program), "sh" | "bash" | "dash" | "zsh")
}

fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "if" | "then" | "else" | "while" | "until" | "do" | "!" | "time" | "env" | "exec"
    )
}

fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The files of the repository that a command runs, where its words say so.
fn scripts(command: &[String]) -> impl Iterator<Item = &str> {
    let program = command[0].as_str();
    let own = program.contains('/').then_some(program);
    let script = command[1..].iter().find(|word| !word.starts_with('-'));
    let script = script.filter(|_| INTERPRETERS.contains(&name(program)));
    let both = own.into_iter().chain(script.map(String::as_str));
    both.map(|path| path.strip_prefix("./").unwrap_or(path))
}

/// What of a file says how it is checked; nothing where the file is not there. A file that
/// cannot be read is another one whenever it changes.
fn defining_part(path: &str, text: Option<&str>) -> Option<Value> {
    let text = text?;
    let members: &[&str] = match path {
        "package.json" => &[
            "scripts",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "c8",
            "nyc",
            "packageManager",
        ],
        _ => &["pytest", "tox", "coverage", "poe", "hatch", "nox", "pdm"],
    };
    let whole = match path {
        "package.json" => serde_json::from_str(text).ok(),
        _ => toml::from_str::<Value>(text)
            .ok()
            .map(|mut value| value["tool"].take()),
    };
    let Some(whole) = whole else {
        return Some(Value::String(text.to_owned()));
    };
    let part = members.iter().map(|member| whole[*member].clone());
    Some(part.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_commands_of_a_shell_line_are_found() {
        let line = |text: &str| vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()];
        let programs = |run: &[String]| {
            let all = commands(run).into_iter();
            all.map(|words| words[0].clone()).collect::<Vec<_>>()
        };
        assert_eq!(programs(&words("make test")), ["make"]);
        assert_eq!(
            programs(&line("CI=1 make && if ./check.sh; then npm test; fi")),
            ["sh", "make", "./check.sh", "npm", "fi"]
        );
        assert_eq!(programs(&words("env -c make")), ["env"]);
    }

    #[test]
    fn a_script_is_known_by_where_it_stands() {
        let of = |line: &str| {
            let words = words(line);
            scripts(&words).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of("./check.sh --fast"), ["check.sh"]);
        assert_eq!(of("python3 -u tests/run.py"), ["tests/run.py"]);
        assert_eq!(of("test -f feature.txt"), Vec::<String>::new());
        assert_eq!(of("grep -q x README.md"), Vec::<String>::new());
    }

    #[test]
    fn of_a_package_only_what_runs_counts() {
        let part = |text: &str| defining_part("package.json", Some(text));
        let before = r#"{"scripts": {"test": "vitest"}, "dependencies": {}}"#;
        let more = r#"{"scripts": {"test": "vitest"}, "dependencies": {"a": "1"}}"#;
        let other = r#"{"scripts": {"test": "true"}, "dependencies": {}}"#;
        assert_eq!(part(before), part(more));
        assert_ne!(part(before), part(other));
        assert_ne!(part(before), part("{"));
        assert_ne!(part(before), defining_part("package.json", None));
        let python = |text: &str| defining_part("pyproject.toml", Some(text));
        let tests = "[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"-q\"\n";
        assert_eq!(python(tests), python(&tests.replace("\"a\"", "\"b\"")));
        assert_ne!(python(tests), python(&tests.replace("-q", "--co")));
    }
}
