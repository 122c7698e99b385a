//! From what was typed to what a task is to be.

use std::path::{Path, PathBuf};

use missiond_api::operations::board::Step;
use missiond_core::{Budget, Check, ErrorCode, Isolation, TaskDraft};

use super::super::slot::text_or_stdin;
use crate::args::DraftArgs;
use crate::failure::Failure;
use crate::folder;

/// The draft of what was given; what was not is left out.
pub(super) fn of(args: DraftArgs) -> Result<TaskDraft, Failure> {
    let timed = |commands: Vec<Check>| {
        let timed = commands.into_iter().map(|command| Check {
            timeout_secs: args.check_timeout.unwrap_or(command.timeout_secs),
            ..command
        });
        some(timed.collect())
    };
    let repository = args
        .repository
        .as_deref()
        .map(folder::absolute)
        .transpose()?;
    Ok(TaskDraft {
        title: None,
        description: args.description.map(text_or_stdin).transpose()?,
        phases: None,
        priority: args.priority,
        rank: args.rank,
        labels: some(args.labels),
        touches: some(args.touches),
        due: args.due,
        engine: args.engine,
        args: None,
        permission: args.permission,
        model: args.model,
        control: args.control,
        repository,
        isolation: args.isolation,
        base: args.base,
        finish: args.finish,
        review: args.review,
        checks: timed(args.checks).map(|checks| {
            let protected = checks.into_iter().map(|check| Check {
                protect: args.protect.clone(),
                ..check
            });
            protected.collect()
        }),
        setup: timed(args.setup),
        teardown: timed(args.teardown),
        max_attempts: args.max_attempts,
        budget: args.budget_tokens.map(|tokens| Budget {
            tokens: Some(tokens),
        }),
    })
}

pub(super) fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// The repository that was named, else the one this folder is in.
pub(super) fn repository(
    named: Option<PathBuf>,
    isolation: Option<Isolation>,
) -> Result<Option<PathBuf>, Failure> {
    if named.is_some() || isolation == Some(Isolation::None) {
        return Ok(named);
    }
    let here = std::env::current_dir()?;
    // A worktree has a file of that name, a repository a folder.
    let top = here.ancestors().find(|folder| folder.join(".git").exists());
    Ok(top.map(Path::to_owned))
}

/// `KEY: TITLE` or `KEY(KEY, …): TITLE`.
pub(super) fn step(text: &str) -> Result<Step, Failure> {
    let refused = || {
        Failure::new(
            ErrorCode::InvalidParams,
            format!("`{text}` is not a step: write KEY: TITLE, or KEY(KEY, …): TITLE"),
        )
    };
    let (head, title) = text.split_once(':').ok_or_else(refused)?;
    let (key, on) = match head.trim().strip_suffix(')') {
        Some(head) => {
            let (key, on) = head.split_once('(').ok_or_else(refused)?;
            (key, on.split(',').map(|on| on.trim().to_owned()).collect())
        }
        None => (head, Vec::new()),
    };
    Ok(Step {
        key: key.trim().to_owned(),
        task: TaskDraft {
            title: Some(title.trim().to_owned()),
            ..TaskDraft::default()
        },
        depends_on: on,
    })
}

pub(super) fn steps_of_file(file: &Path) -> Result<Vec<Step>, Failure> {
    let text = match file.to_str() {
        Some("-") => text_or_stdin("-".to_owned())?,
        _ => std::fs::read_to_string(file).map_err(|error| {
            Failure::new(ErrorCode::NotFound, format!("{}: {error}", file.display()))
        })?,
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(
            ErrorCode::InvalidParams,
            format!("{} is not a list of steps: {error}", file.display()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_names_what_it_depends_on() {
        let plain = step("api: Write: the API").unwrap();
        assert_eq!((plain.key.as_str(), plain.depends_on.len()), ("api", 0));
        assert_eq!(plain.task.title.as_deref(), Some("Write: the API"));
        let after = step("ui(api, T-7): Write the page").unwrap();
        assert_eq!(after.depends_on, ["api", "T-7"]);
        assert!(step("no title").is_err());
        assert!(step("ui api): x").is_err());
    }
}
