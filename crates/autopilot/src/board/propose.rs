//! A plan in plain words as steps: a proposal for a person to edit, never stored.
//!
//! No model is asked. What people write anyway is read: bullets and numbers, one
//! sentence after another, "then", "after that", "and", semicolons. What the words
//! do not say stays unsaid: steps without an order between them are independent.

mod list;
mod read;

use std::path::{Path, PathBuf};

use missiond_core::{Check, Isolation, TaskDraft};
use missiond_runtime::blocking;

use self::read::{ReadStep, read_plan};
use super::{Board, BoardError, Part, fill, repository_checks};

/// More is a file to be imported, not a plan to be looked at.
const MOST_STEPS: usize = 50;

/// Steps as they could be put on the board.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub steps: Vec<Part>,
    /// What was read into the text, a sentence each.
    pub notes: Vec<String>,
}

impl Board {
    /// Reads a plan. The repository and the templates must exist.
    pub async fn propose(
        &self,
        text: String,
        repository: Option<PathBuf>,
        template: Option<String>,
    ) -> Result<Proposal, BoardError> {
        let templates = self.home.templates_dir();
        blocking(move || {
            propose(
                &templates,
                &text,
                repository.as_deref(),
                template.as_deref(),
            )
        })
        .await
    }
}

fn propose(
    templates: &Path,
    text: &str,
    repository: Option<&Path>,
    template: Option<&str>,
) -> Result<Proposal, BoardError> {
    let known = fill::template_names(templates, repository);
    let mut plan = read_plan(text);
    let mut notes = Vec::new();
    if plan.len() > MOST_STEPS {
        notes.push(format!(
            "The text has {} steps; only the first {MOST_STEPS} are proposed.",
            plan.len()
        ));
        plan.truncate(MOST_STEPS);
        let is_cut = |key: &String| key.parse().is_ok_and(|number: usize| number > MOST_STEPS);
        for step in &mut plan {
            step.after.retain(|key| !is_cut(key));
        }
    }
    let check = repository.and_then(|folder| {
        let fitting = repository_checks::fitting_checks(folder);
        fitting.into_iter().next()
    });
    match (&check, &repository) {
        (Some(check), _) => notes.push(format!(
            "The check `{}` is proposed because of {}.",
            check.run.join(" "),
            check.because
        )),
        (None, Some(_)) => {
            notes.push("No check was found in the repository: add one to each step.".to_owned());
        }
        (None, None) => notes.push("Choose a repository to have its checks proposed.".to_owned()),
    }
    let steps = plan.into_iter().map(|step| {
        let (named, step) = without_template(step, &known);
        let draft = draft(step.clone(), repository.map(Path::to_owned));
        let mut draft = fill::fill_now(
            templates,
            draft,
            named.or_else(|| template.map(str::to_owned)),
        )?
        .draft;
        if draft.repository.is_none() && draft.isolation.is_none() {
            draft.isolation = Some(Isolation::None);
        }
        if draft.checks.is_none() {
            draft.checks = check
                .as_ref()
                .map(|check| vec![Check::of(check.run.clone())]);
        }
        Ok(Part {
            key: step.key,
            draft,
            depends_on: step.after,
        })
    });
    let steps = steps.collect::<Result<Vec<_>, BoardError>>()?;
    Ok(Proposal { steps, notes })
}

fn draft(step: ReadStep, repository: Option<PathBuf>) -> TaskDraft {
    let checks: Vec<_> = step.checks.into_iter().map(Check::of).collect();
    TaskDraft {
        title: Some(step.title),
        description: Some(step.description).filter(|text| !text.is_empty()),
        checks: Some(checks).filter(|checks| !checks.is_empty()),
        repository,
        ..TaskDraft::default()
    }
}

/// `bugfix: Mend the login` is a step from the template `bugfix`.
fn without_template(mut step: ReadStep, known: &[String]) -> (Option<String>, ReadStep) {
    let Some((name, rest)) = step.title.split_once(':') else {
        return (None, step);
    };
    let found = known
        .iter()
        .find(|known| known.eq_ignore_ascii_case(name.trim()))
        .cloned();
    if found.is_some() && !rest.trim().is_empty() {
        step.title = read::title_case(rest);
        return (found, step);
    }
    (None, step)
}

#[cfg(test)]
mod tests;
