//! Where the agent runs, for which task, and who else works there.

use std::fmt::Write as _;
use std::path::Path;

use missiond_context::{Candidate, Length, Source, one_line};
use missiond_core::Timestamp;
use missiond_store::executions::ExecutionFilter;

use super::working_directory::WorkingDirectory;
use super::{BriefingRequest, Parts};

/// Others that are named.
const MOST_OTHERS: usize = 10;

pub(super) async fn environment(
    parts: &Parts,
    wanted: &BriefingRequest,
    directory: &WorkingDirectory,
    now: Timestamp,
) -> Result<Vec<Candidate>, String> {
    let mut text = format!("Folder: {}\n", directory.cwd.display());
    if directory.git {
        let _ = write!(text, "Repository: {}", directory.main.display());
        match &directory.branch {
            Some(branch) => {
                let _ = writeln!(text, ", on the branch {}", one_line(branch));
            }
            None => text.push_str(", at a commit without a branch\n"),
        }
    }
    if let Some(slot) = &wanted.slot {
        let _ = writeln!(text, "Slot: {slot} ({})", wanted.engine);
    }
    if let Some(task) = &wanted.task {
        let _ = writeln!(text, "Task: {}, {}", task.number, one_line(&task.title));
        for check in &task.checks {
            let _ = writeln!(text, "It is checked by: {}", one_line(&check.run.join(" ")));
        }
    }
    for other in others(parts, wanted, directory).await? {
        let _ = writeln!(text, "Also at work in this repository: {other}");
    }
    Ok(vec![Candidate {
        id: None,
        source: Source::Environment,
        title: "where you run".to_owned(),
        origin: "missiond".to_owned(),
        at: Some(now),
        relevance: 1.0,
        text,
        length: Length::Whole,
        known: None,
    }])
}

/// The other agents in the same repository, by their slots.
async fn others(
    parts: &Parts,
    wanted: &BriefingRequest,
    directory: &WorkingDirectory,
) -> Result<Vec<String>, String> {
    if !directory.git {
        return Ok(Vec::new());
    }
    let rows = parts
        .db
        .read(|tx| {
            Box::pin(missiond_store::executions::list(
                tx,
                ExecutionFilter::Running,
            ))
        })
        .await
        .map_err(|error| error.to_string())?;
    let mut others = Vec::new();
    for row in rows {
        let near = |root: &Path| row.cwd.starts_with(root);
        let here = near(&directory.main) || near(&directory.root);
        let Some(open) = parts.slots.find(&row.slot.to_string()).filter(|_| here) else {
            continue;
        };
        if wanted.slot.as_ref() == Some(&open.slot.name) {
            continue;
        }
        let doing = parts.executions.peek(row.id, |state| {
            let progress = state.progress.as_ref();
            progress.map(|progress| one_line(progress.summary.as_str()))
        });
        let doing = doing
            .flatten()
            .map_or_else(String::new, |doing| format!(", {doing}"));
        others.push(format!("{} ({}){doing}", open.slot.name, row.engine));
        if others.len() == MOST_OTHERS {
            break;
        }
    }
    Ok(others)
}
