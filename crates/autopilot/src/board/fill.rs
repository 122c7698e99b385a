//! Filling a task in: from a template, then from what its repository says in
//! `.mission/config.toml`. A file that is wrong is refused with its line, and
//! nothing is guessed.

use std::path::{Path, PathBuf};

use missiond_core::{Check, CliEngine, Finish, Isolation, ReviewGate, TaskDraft};
use missiond_os::expand_home;
use missiond_runtime::blocking;
use missiond_yaml::{Node, Value};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Board, BoardError};

/// Files of people are small; larger ones are a mistake.
const MOST_BYTES: u64 = 256 * 1024;

/// A draft with all that could be found for it.
#[derive(Debug, Clone)]
pub(super) struct Filled {
    pub(super) draft: TaskDraft,
    pub(super) warnings: Vec<String>,
}

/// What a repository says of tasks that are done in it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Defaults {
    checks: Option<Vec<Check>>,
    setup: Option<Vec<Check>>,
    teardown: Option<Vec<Check>>,
    isolation: Option<Isolation>,
    finish: Option<Finish>,
    review: Option<ReviewGate>,
    base: Option<String>,
    engine: Option<CliEngine>,
    /// Folders to check out in worktrees; everything when left out.
    sparse: Vec<String>,
    /// Files that say what is checked, for every check of every task.
    protect: Vec<String>,
}

impl Defaults {
    fn draft(self) -> TaskDraft {
        TaskDraft {
            checks: self.checks,
            setup: self.setup,
            teardown: self.teardown,
            isolation: self.isolation,
            finish: self.finish,
            review: self.review,
            base: self.base,
            engine: self.engine,
            ..TaskDraft::default()
        }
    }
}

impl Board {
    /// Fills a task in that is put on the board: what nothing else says, the
    /// configuration does.
    pub(super) async fn fill(
        &self,
        draft: TaskDraft,
        template: Option<String>,
    ) -> Result<Filled, BoardError> {
        let (templates, usual) = (self.home.templates_dir(), self.usual());
        let filled = blocking(move || fill_now(&templates, draft, template)).await?;
        Ok(Filled {
            draft: filled.draft.over(usual),
            ..filled
        })
    }
}

pub(super) fn fill_now(
    templates: &Path,
    mut draft: TaskDraft,
    template: Option<String>,
) -> Result<Filled, BoardError> {
    draft.repository = draft.repository.map(|path| expand_home(&path));
    if let Some(name) = template {
        let mut places = vec![templates.to_owned()];
        if let Some(repository) = &draft.repository {
            places.insert(0, repository.join(".mission/templates"));
        }
        draft = draft.over(read_template(&places, &name)?);
    }
    if let Some(repository) = draft.repository.clone() {
        if repository.is_absolute() && !repository.is_dir() {
            return Err(BoardError::NoRepository(repository.display().to_string()));
        }
        let defaults = read_defaults(&repository)?;
        let protect = defaults.protect.clone();
        draft = draft.over(defaults.draft());
        for check in draft.checks.iter_mut().flatten() {
            let new = protect
                .iter()
                .filter(|pattern| !check.protect.contains(pattern));
            let new: Vec<_> = new.cloned().collect();
            check.protect.extend(new);
        }
    }
    let warnings = warnings(&draft);
    Ok(Filled { draft, warnings })
}

/// The folders that worktrees of a repository have; all of them when empty.
pub fn sparse_paths(repository: &Path) -> Result<Vec<String>, BoardError> {
    Ok(read_defaults(repository)?.sparse)
}

/// Whether a text can be the `.mission/config.toml` of a repository.
pub fn check_repository_config(file: &Path, text: &str) -> Result<(), BoardError> {
    from_toml::<Defaults>(file, text).map(drop)
}

/// What the repository says, or nothing when it says nothing.
pub(super) fn repository_defaults(repository: &Path) -> Result<TaskDraft, BoardError> {
    Ok(read_defaults(repository)?.draft())
}

fn read_defaults(repository: &Path) -> Result<Defaults, BoardError> {
    let file = repository.join(".mission/config.toml");
    match read_small(&file)? {
        Some(text) => from_toml(&file, &text),
        None => Ok(Defaults::default()),
    }
}

fn read_template(places: &[PathBuf], name: &str) -> Result<TaskDraft, BoardError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(unknown_template(places, name));
    }
    for place in places {
        let toml = place.join(format!("{name}.toml"));
        if let Some(text) = read_small(&toml)? {
            return from_toml(&toml, &text);
        }
        for ending in ["yaml", "yml"] {
            let yaml = place.join(format!("{name}.{ending}"));
            if let Some(text) = read_small(&yaml)? {
                return from_yaml(&yaml, &text);
            }
        }
    }
    Err(unknown_template(places, name))
}

/// The templates a task in a repository can be filled in from, by name.
#[must_use]
pub fn template_names(templates: &Path, repository: Option<&Path>) -> Vec<String> {
    let mut places = vec![templates.to_owned()];
    places.extend(repository.map(|repository| repository.join(".mission/templates")));
    names_in(&places)
}

fn names_in(places: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<_> = places
        .iter()
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| {
            let (name, ending) = file.rsplit_once('.')?;
            matches!(ending, "toml" | "yaml" | "yml").then(|| name.to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

fn unknown_template(places: &[PathBuf], name: &str) -> BoardError {
    let names = names_in(places);
    let places: Vec<_> = places
        .iter()
        .map(|place| place.display().to_string())
        .collect();
    BoardError::NoTemplate {
        name: name.chars().take(64).collect(),
        known: if names.is_empty() {
            format!("templates are files in {}", places.join(" or "))
        } else {
            format!("there are {}", names.join(", "))
        },
    }
}

pub(super) fn read_small(file: &Path) -> Result<Option<String>, BoardError> {
    use std::io::{ErrorKind, Read};
    let refuse = |message: String| BoardError::File {
        file: file.display().to_string(),
        line: None,
        message,
    };
    let opened = match std::fs::File::open(file) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(refuse(error.to_string())),
    };
    let mut text = String::new();
    let read = opened.take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| refuse(error.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(refuse(format!("it has more than {MOST_BYTES} bytes")));
    }
    Ok(Some(text))
}

fn from_toml<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, BoardError> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map(|span| span.start.min(text.len()));
        BoardError::File {
            file: file.display().to_string(),
            line: offset.map(|offset| text[..offset].matches('\n').count() + 1),
            message: error.message().trim().replace('\n', ", "),
        }
    })
}

fn from_yaml(file: &Path, text: &str) -> Result<TaskDraft, BoardError> {
    let refuse = |line, message| BoardError::File {
        file: file.display().to_string(),
        line,
        message,
    };
    let most = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
    let fields = missiond_yaml::read_document(text, "a template", most, |document| {
        let entries = document.entries("a template")?;
        // Each field is read where it stands, so that its line can be named.
        let one = |(key, line, node): (&str, usize, Node<'_>)| {
            Some((key.to_owned(), line, to_json(node)?))
        };
        entries.into_iter().map(one).collect::<Option<Vec<_>>>()
    });
    let fields = fields.map_err(|invalid| {
        let line = invalid.problems.first().map(|problem| problem.line);
        let messages: Vec<_> = invalid
            .problems
            .into_iter()
            .map(|one| one.message)
            .collect();
        refuse(line, messages.join("; "))
    })?;
    let mut draft = TaskDraft::default();
    for (key, line, value) in fields {
        let one = serde_json::json!({ key: value });
        let read: TaskDraft =
            serde_json::from_value(one).map_err(|error| refuse(Some(line), error.to_string()))?;
        draft = draft.over(read);
    }
    Ok(draft)
}

fn to_json(node: Node<'_>) -> Option<serde_json::Value> {
    Some(match node.value()? {
        Value::Null => serde_json::Value::Null,
        Value::Boolean(value) => value.into(),
        Value::Integer(value) => value.into(),
        Value::Float(value) => value.into(),
        Value::Text(text) => text.into(),
        Value::List(items) => {
            let items: Option<Vec<_>> = items.into_iter().map(to_json).collect();
            items?.into()
        }
        Value::Map(entries) => {
            let one =
                |(key, _, node): (&str, usize, Node<'_>)| Some((key.to_owned(), to_json(node)?));
            let entries: Option<serde_json::Map<_, _>> = entries.into_iter().map(one).collect();
            entries?.into()
        }
    })
}

/// What is probably a mistake. A program may be made by the task itself, so
/// that it is not there yet is no reason to refuse.
fn warnings(draft: &TaskDraft) -> Vec<String> {
    let commands = [
        ("check", &draft.checks),
        ("setup command", &draft.setup),
        ("teardown command", &draft.teardown),
    ];
    let mut warnings = Vec::new();
    for (what, commands) in commands {
        for command in commands.iter().flatten() {
            let Some(program) = command.run.first().filter(|program| !program.is_empty()) else {
                continue;
            };
            if !is_there(program, draft.repository.as_deref()) {
                warnings.push(format!(
                    "the {what} `{}` cannot run now: there is no program `{program}`",
                    command.label()
                ));
            }
        }
    }
    warnings
}

fn is_there(program: &str, repository: Option<&Path>) -> bool {
    if program.contains('/') {
        let path = repository.map_or_else(|| PathBuf::from(program), |root| root.join(program));
        return path.is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_page_of_tasks_shows_every_key_of_a_repository() {
        let page = include_str!("../../../../docs/reference/tasks.md");
        let (_, block) = page.split_once("```toml\n").unwrap();
        let block = block.split("```").next().unwrap();
        let parsed = toml::from_str::<Defaults>(block);
        assert!(parsed.is_ok(), "{parsed:?}");
        let shown = block.lines().filter_map(|line| line.split(" = ").next());
        // It names its keys when it refuses another.
        let error = toml::from_str::<Defaults>("no_such_key = 1").unwrap_err();
        let error = error.message().to_owned();
        let (_, expected) = error.split_once("expected ").unwrap();
        let keys = expected.split('`').skip(1).step_by(2);
        assert_eq!(
            shown.collect::<BTreeSet<_>>(),
            keys.collect::<BTreeSet<_>>()
        );
    }
}
