//! What a program asks without options that could be read: a question that wants
//! words, or a dialog nobody knows. All that is known of it is what stands at the
//! end of the screen.

use missiond_core::{PtyState, one_line};
use missiond_semantic::{
    AnswerOutcome, Answered, Authority, Dialog, DialogLayout, DialogOption, Force, Landed, Submit,
    When,
};

use super::typing::{Answer, InputError, Message};
use super::{OpenSlot, SlotView, Slots};

/// So many rows from the end of the screen are taken for the question.
const LAST_ROWS: usize = 15;

impl SlotView {
    /// What it asks: the dialog with its options, or words of the screen.
    pub fn asked(&self) -> Option<Dialog> {
        if self.reading.state != PtyState::Confirming {
            return None;
        }
        let read = self.reading.dialog.clone();
        Some(read.unwrap_or_else(|| self.asked_without_options()))
    }

    /// Whether it asks for words, and shows where they go. The screen must say so: a
    /// title may tell of a dialog that is still to be drawn.
    pub(super) fn wants_words(&self) -> bool {
        let asks = self.reading.state == PtyState::Confirming
            && self.reading.authority == Authority::Screen;
        asks && self.reading.dialog.is_none() && self.takes_text
    }

    fn asked_without_options(&self) -> Dialog {
        let draft: Vec<_> = self.draft.iter().flat_map(|draft| draft.lines()).collect();
        // What somebody types meanwhile makes no other question.
        let typed = |row: &str| draft.iter().any(|line| row.ends_with(line.trim()));
        let rows = self.screen.rows.iter().map(|row| unframed(&row.text));
        let rows: Vec<_> = rows.filter(|row| !row.is_empty() && !typed(row)).collect();
        let rows = &rows[rows.len().saturating_sub(LAST_ROWS)..];
        let question = rows.iter().rfind(|row| row.ends_with('?'));
        Dialog {
            title: self.reading.reason.clone(),
            question: question.map_or_else(|| self.reading.reason.clone(), |row| (*row).to_owned()),
            text: rows.join("\n"),
            tool: None,
            arguments: None,
            options: Vec::new(),
            selected: None,
            layout: DialogLayout::List,
            request: None,
        }
    }
}

impl Slots {
    /// Answers in words what was asked in words.
    pub(super) async fn answer_in_words(
        &self,
        slot: &OpenSlot,
        look: &SlotView,
        answer: Answer,
    ) -> Result<Answered, InputError> {
        let asked = look.asked_without_options();
        if let Some(expected) = &answer.expect
            && !one_line(&asked.text).contains(&one_line(expected))
        {
            let refused = missiond_semantic::AnswerRefusal::OtherQuestion {
                asked: asked.question,
                expected: expected.clone(),
            };
            return Err(refused.into());
        }
        let words = Message {
            text: answer.option.clone(),
            submit: Submit::Enter,
            when: When::Asked,
            wait: answer.wait,
            force: Force::No,
        };
        let delivered = self.deliver(slot, words).await?;
        Ok(Answered {
            option: DialogOption {
                label: answer.option,
                number: None,
                row: 0,
            },
            question: asked.question,
            outcome: match delivered.landed {
                Landed::Confirmed | Landed::Unconfirmed => AnswerOutcome::Taken,
                Landed::Stalled => AnswerOutcome::StillOpen,
            },
            evidence: delivered.evidence,
        })
    }
}

/// The words of a row, without the frame around them.
fn unframed(row: &str) -> &str {
    let frame = |c: char| c.is_whitespace() || ('\u{2500}'..='\u{259f}').contains(&c);
    row.trim_matches(frame)
}
