//! What a task that is over has taught, as candidates for the knowledge base.
//!
//! Rules over plain facts, without a model. A candidate is what another task may
//! need: what a check said when it failed and what was done about it, and what a
//! person decided when an agent asked. That a task is done, or that its checks
//! passed, is on the board and teaches nothing; neither does a failure that said
//! nothing. Each candidate says where it comes from, is bounded in size and goes
//! into the inbox, where a person or a rule decides about it. What agents and
//! programs wrote is quoted as their words, never as what is so.

use missiond_core::{
    Attempt, AuthorTier, BoardTask, EntryCategory, Evidence, Question, QuestionOrigin,
    QuestionStatus,
};
use missiond_knowledge::transfer::{Draft, LONGEST_KEY};

/// Characters of somebody's words in a summary and in a detail.
const IN_SUMMARY: usize = 300;
const IN_DETAIL: usize = 2000;

/// Candidates of one kind that one task brings.
const MOST: usize = 10;

/// Answers that say how a task goes on and teach nothing.
const ORDERS: [&str; 2] = ["try again", "give up"];

/// All that is on record of a task that is over.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub task: BoardTask,
    /// The first one first, each with what its checks said.
    pub attempts: Vec<(Attempt, Vec<Evidence>)>,
    /// The conversation of the last attempt.
    pub conversation: Option<String>,
    /// Answered, and asked by the task or one of its agents.
    pub questions: Vec<Question>,
}

/// What there is to learn from it.
pub(super) fn candidates(finished: &Finished) -> Vec<Draft> {
    let fixes = fixes(finished).into_iter().take(MOST);
    fixes.chain(answers(finished).take(MOST)).collect()
}

/// Checks that failed in one round, said why, and passed in a later one, of the
/// same attempt or the next.
fn fixes(finished: &Finished) -> Vec<Draft> {
    let mut failing: Vec<&Evidence> = Vec::new();
    let mut found = Vec::new();
    for (attempt, evidence) in &finished.attempts {
        for one in evidence {
            let before = failing.iter().position(|failed| failed.check == one.check);
            match (one.passed, before) {
                // The first failure is what the fix was for.
                (false, None) => failing.push(one),
                (false, Some(_)) | (true, None) => {}
                (true, Some(place)) => {
                    let failed = failing.remove(place);
                    if !failed.tail.trim().is_empty() {
                        found.push(fix(finished, attempt, failed, one, found.len()));
                    }
                }
            }
        }
    }
    found
}

fn fix(
    finished: &Finished,
    attempt: &Attempt,
    failed: &Evidence,
    passed: &Evidence,
    number: usize,
) -> Draft {
    let check = excerpt(&failed.check, IN_SUMMARY);
    let how = match (failed.timed_out, failed.exit, failed.signal) {
        (true, _, _) => "took too long".to_owned(),
        (false, Some(exit), _) => format!("failed with exit code {exit}"),
        (false, None, Some(signal)) => format!("was ended by signal {signal}"),
        (false, None, None) => "could not be run".to_owned(),
    };
    let said = failed
        .tail
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    let said = said.map(|line| format!(": \"{}\"", excerpt(line.trim(), IN_SUMMARY)));
    let mut detail = format!("it wrote:\n{}\n", ending(&failed.tail, IN_DETAIL));
    let commits = [("failed", failed), ("passed", passed)];
    for (what, commit) in commits.map(|(what, one)| (what, one.commit.as_deref())) {
        if let Some(commit) = commit {
            detail.push_str(&format!("{what} at commit {commit}\n"));
        }
    }
    if let Some(claim) = &attempt.claim {
        let said = excerpt(&claim.text, IN_DETAIL);
        detail.push_str(&format!("the agent said of its change: {said}\n"));
    }
    let summary = format!(
        "while {} was worked on, the check `{check}` {how}{} and passed after a change",
        finished.task.number,
        said.unwrap_or_default()
    );
    let what = format!("fix/{}", number + 1);
    Draft {
        summary,
        detail,
        ..draft(finished, attempt, &what, EntryCategory::Bugfix)
    }
}

fn answers(finished: &Finished) -> impl Iterator<Item = Draft> {
    let taught = |question: &&Question| {
        let answer = question.answer.as_deref().unwrap_or("").trim();
        // A permission is given once and says nothing about the next. A dialog
        // without options wants words.
        let is_dialog = matches!(question.origin, QuestionOrigin::Dialog { .. });
        let asked_in_words = !is_dialog || question.options.is_empty();
        let answered = question.status == QuestionStatus::Answered && !answer.is_empty();
        asked_in_words && answered && !ORDERS.contains(&answer.to_lowercase().as_str())
    };
    let last = finished.attempts.last();
    finished
        .questions
        .iter()
        .filter(taught)
        .filter_map(move |question| {
            let (attempt, _) = last?;
            let answer = question.answer.as_deref().unwrap_or("").trim();
            let by = question.closed_by.as_deref().unwrap_or("a person");
            let by = excerpt(by, LONGEST_KEY / 4);
            let asked = excerpt(&question.question, IN_SUMMARY);
            let mut detail = format!("{by} answered: {}\n", excerpt(answer, IN_DETAIL));
            // What stands around a dialog is what its program shows, not what was decided.
            let is_dialog = matches!(question.origin, QuestionOrigin::Dialog { .. });
            if let Some(context) = question.context.as_ref().filter(|_| !is_dialog) {
                detail.push_str(&format!("context: {}\n", excerpt(context, IN_DETAIL)));
            }
            let what = format!("answer/{}", question.number);
            Some(Draft {
                summary: format!(
                    "asked \"{asked}\", {by} said: {}",
                    excerpt(answer, IN_SUMMARY)
                ),
                detail,
                author: Some(by),
                ..draft(finished, attempt, &what, EntryCategory::Policy)
            })
        })
}

/// What all candidates of a task have in common. The key is of the task, so a
/// task that is taken up again revises what it taught.
fn draft(finished: &Finished, attempt: &Attempt, what: &str, category: EntryCategory) -> Draft {
    let task = &finished.task;
    let repository = task.repository.as_ref().and_then(|path| path.file_name());
    let scope = repository.map(|name| excerpt(&name.to_string_lossy(), LONGEST_KEY / 4));
    Draft {
        key: Some(format!("{}/{what}", task.id)),
        category,
        labels: vec!["task".to_owned(), task.number.to_string()],
        scope: scope.unwrap_or_default(),
        source: Some(format!("task {} attempt {}", task.number, attempt.number)),
        conversation: finished.conversation.clone(),
        author: Some("autopilot".to_owned()),
        tier: AuthorTier::Machine,
        ..Draft::default()
    }
}

/// The beginning of a text, as text.
fn excerpt(text: &str, most: usize) -> String {
    let clean = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() => ' ',
        c => c,
    };
    let text = text.trim();
    let mut taken: String = text.chars().take(most).map(clean).collect();
    if text.chars().nth(most).is_some() {
        taken.push('…');
    }
    taken
}

/// The end of a text, as text.
fn ending(text: &str, most: usize) -> String {
    let skipped = text.chars().count().saturating_sub(most);
    let rest: String = text.chars().skip(skipped).collect();
    excerpt(&rest, most)
}

#[cfg(test)]
mod tests;
