//! Which line of the live view is selected, and that it stays the same one.
//!
//! Keys 1 to 9 give the selected agent its answer, so the selection follows the agent
//! wherever its line moves and whatever it asks next, and never goes over to another:
//! when its line is gone, nothing is selected until the person moves.

use missiond_api::operations::overview::OverviewLine;
use missiond_core::{ExecutionId, QuestionNumber, TaskNumber};

/// Whom a line is about, however it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Task(TaskNumber),
    Execution(ExecutionId),
    Slot(String),
    /// Asked by nobody that is known.
    Question(QuestionNumber),
    Title(String),
}

impl Subject {
    fn of(line: &OverviewLine) -> Self {
        match (line.task, line.execution, &line.slot, &line.question) {
            (Some(task), ..) => Self::Task(task),
            (None, Some(run), ..) => Self::Execution(run),
            (None, None, Some(slot), _) => Self::Slot(slot.clone()),
            (None, None, None, Some(question)) => Self::Question(question.number),
            (None, None, None, None) => Self::Title(line.title.clone()),
        }
    }
}

#[derive(Debug)]
struct Chosen {
    subject: Subject,
    /// Who asks twice has two lines.
    question: Option<QuestionNumber>,
}

#[derive(Debug, Default)]
enum State {
    /// There was nothing to select yet.
    #[default]
    Beginning,
    On(Chosen),
    Gone,
}

#[derive(Debug, Default)]
pub(super) struct Selection {
    state: State,
    /// Where it stands, or stood when it went.
    row: usize,
}

impl Selection {
    /// The row that is selected.
    pub(super) fn row(&self) -> Option<usize> {
        matches!(self.state, State::On(_)).then_some(self.row)
    }

    /// Selects the row, or the last one when there are not so many.
    pub(super) fn select(&mut self, lines: &[&OverviewLine], row: usize) {
        let Some(last) = lines.len().checked_sub(1) else {
            return;
        };
        self.row = row.min(last);
        let line = lines[self.row];
        self.state = State::On(Chosen {
            subject: Subject::of(line),
            question: line.question.as_ref().map(|question| question.number),
        });
    }

    /// One row up or down; back to where it stood when its line is gone.
    pub(super) fn up(&mut self, lines: &[&OverviewLine]) {
        let row = self.row().map_or(self.row, |row| row.saturating_sub(1));
        self.select(lines, row);
    }

    pub(super) fn down(&mut self, lines: &[&OverviewLine]) {
        let row = self.row().map_or(self.row, |row| row + 1);
        self.select(lines, row);
    }

    /// The same line among others.
    pub(super) fn follow(&mut self, lines: &[&OverviewLine]) {
        let found = match &self.state {
            State::Beginning => return self.select(lines, 0),
            State::Gone => None,
            State::On(chosen) => {
                let same = |line: &&OverviewLine| Subject::of(line) == chosen.subject;
                let asks = |line: &&OverviewLine| {
                    let question = line.question.as_ref().map(|question| question.number);
                    same(line) && question == chosen.question
                };
                let exactly = lines.iter().position(asks);
                exactly.or_else(|| lines.iter().position(same))
            }
        };
        match found {
            Some(row) => self.select(lines, row),
            None => self.state = State::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn line(more: &Value) -> OverviewLine {
        let mut line = json!({
            "kind": "asks", "title": "A title", "activity": "Asks",
            "started_at": "2026-01-04T12:00:00Z", "since": "2026-01-04T12:00:00Z",
            "holds_place": true, "cost": {},
            "tokens": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "counted": 0},
        });
        let fields = line.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        serde_json::from_value(line).unwrap()
    }

    fn asks(task: &str, number: u32) -> OverviewLine {
        let question = json!({
            "number": number, "question": "May it?", "headline": "May it?", "options": ["Allow"],
        });
        line(&json!({"task": task, "question": question}))
    }

    fn selected<'a>(selection: &Selection, lines: &[&'a OverviewLine]) -> Option<&'a OverviewLine> {
        selection.row().map(|row| lines[row])
    }

    #[test]
    fn an_answered_agent_stays_selected_and_no_other_takes_its_place() {
        let (first, second) = (asks("T-1", 1), asks("T-2", 2));
        let mut selection = Selection::default();
        selection.follow(&[&first, &second]);
        assert_eq!(selection.row(), Some(0));
        // Its question is answered: its line goes down among those that work.
        let works = line(&json!({"task": "T-1", "kind": "works"}));
        let lines = [&second, &works];
        selection.follow(&lines);
        assert_eq!(selected(&selection, &lines), Some(&works));
        // It is gone.
        selection.follow(&[&second]);
        assert_eq!(selection.row(), None);
        // Neither does it come back by itself, nor another.
        selection.follow(&[&second, &works]);
        assert_eq!(selection.row(), None);
        selection.down(&[&second, &works]);
        assert_eq!(selection.row(), Some(1), "where it stood");
    }

    #[test]
    fn who_asks_twice_keeps_the_question_that_was_chosen() {
        let (first, second) = (asks("T-1", 1), asks("T-1", 2));
        let mut selection = Selection::default();
        selection.select(&[&first, &second], 1);
        let lines = [&second, &first];
        selection.follow(&lines);
        assert_eq!(selected(&selection, &lines), Some(&second));
        let third = asks("T-1", 3);
        selection.follow(&[&third]);
        assert_eq!(
            selection.row(),
            Some(0),
            "the same agent asks something else"
        );
    }

    #[test]
    fn a_slot_without_a_task_and_a_question_without_an_agent_are_told_apart() {
        let question = json!({"number": 7, "question": "Which?", "headline": "Which?"});
        let slot = line(&json!({"slot": "calm-fox", "question": question}));
        let nobody = line(&json!({"question": question}));
        let mut selection = Selection::default();
        selection.select(&[&slot, &nobody], 1);
        selection.follow(&[&nobody, &slot]);
        assert_eq!(selection.row(), Some(0));
        selection.follow(&[&slot]);
        assert_eq!(selection.row(), None);
    }

    #[test]
    fn moving_stays_among_the_lines() {
        let (first, second) = (asks("T-1", 1), asks("T-2", 2));
        let lines = [&first, &second];
        let mut selection = Selection::default();
        selection.down(&[]);
        assert_eq!(selection.row(), None);
        selection.follow(&lines);
        selection.up(&lines);
        assert_eq!(selection.row(), Some(0));
        selection.select(&lines, usize::MAX);
        selection.down(&lines);
        assert_eq!(selection.row(), Some(1));
    }
}
