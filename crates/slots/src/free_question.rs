//! What a program asks without options that could be read: a question that wants
//! words, or a dialog nobody knows. All that is known of it is what stands at the
//! end of the screen.

use missiond_context::is_frame_line;
use missiond_core::{PtyState, one_line};
use missiond_semantic::{
    AnswerOutcome, Answered, Authority, Dialog, DialogLayout, DialogOption, Force, Landed, Submit,
    When, unframed,
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
        let rows: Vec<&str> = self.screen.rows.iter().map(|row| &*row.text).collect();
        let asked = read_question(&rows, &draft);
        Dialog {
            title: self.reading.reason.clone(),
            question: asked
                .sentence
                .unwrap_or_else(|| self.reading.reason.clone()),
            text: asked.text,
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
            attachments: Vec::new(),
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

/// What a screen asks in words.
#[derive(Debug, PartialEq, Eq)]
struct WordsAsked {
    /// The sentence that asks; none when no row ends in a question mark.
    sentence: Option<String>,
    /// The paragraph or box it stands in; without one, the last rows.
    text: String,
}

/// Reads the question at the end of some rows. Nothing of what missiond itself said
/// to the agent is part of it: that ends with a line only missiond writes. What
/// somebody types meanwhile makes no other question.
fn read_question(rows: &[&str], draft: &[&str]) -> WordsAsked {
    let ours = rows
        .iter()
        .rposition(|row| is_frame_line(unframed(row)))
        .map_or(0, |row| row + 1);
    let draft = || draft.iter().map(|line| line.trim());
    let typed = |row: &str| draft().any(|line| !line.is_empty() && row.ends_with(line));
    let words = |row: &str| match unframed(row) {
        words if is_edge(row) || typed(words) => String::new(),
        words => words.to_owned(),
    };
    let rows: Vec<String> = rows[ours..].iter().map(|row| words(row)).collect();
    let Some(asks) = rows.iter().rposition(|row| row.ends_with('?')) else {
        let rows: Vec<_> = rows.into_iter().filter(|row| !row.is_empty()).collect();
        return WordsAsked {
            sentence: None,
            text: rows[rows.len().saturating_sub(LAST_ROWS)..].join("\n"),
        };
    };
    let first = rows[..asks].iter().rposition(String::is_empty);
    let first = first
        .map_or(0, |blank| blank + 1)
        .max((asks + 1).saturating_sub(LAST_ROWS));
    let last = rows[asks..].iter().position(String::is_empty);
    let last = last.map_or(rows.len(), |blank| asks + blank);
    let before = rows[first..=asks].join(" ");
    let begins = [". ", "! ", "? "]
        .iter()
        .filter_map(|end| before.rfind(end).map(|at| at + end.len()));
    WordsAsked {
        sentence: Some(before[begins.max().unwrap_or(0)..].to_owned()),
        text: rows[first..last].join("\n"),
    }
}

/// Whether a row is the upper or lower edge of a box, with or without a title.
fn is_edge(row: &str) -> bool {
    row.trim_start()
        .starts_with(['╭', '╰', '┌', '└', '┏', '┗', '├'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_what_is_asked_and_not_what_was_told_before() {
        let screen = [
            "▸ T-9: Square roots",
            "  > Deploys go through make ship?",
            "  ==== End of the background ====",
            "",
            "◆ I looked at it.",
            "",
            "╭─ Question ──────────────────────────╮",
            "│ Both are possible. Which library do │",
            "│ you want for it?                    │",
            "╰─────────────────────────────────────╯",
            "━━━━━━━━━━━━",
            "❯ nump",
            "━━━━━━━━━━━━",
            "  enter to answer · esc to leave it",
        ];
        let asked = WordsAsked {
            sentence: Some("Which library do you want for it?".to_owned()),
            text: "Both are possible. Which library do\nyou want for it?".to_owned(),
        };
        assert_eq!(read_question(&screen, &["nump"]), asked);
        let cases: [(&[&str], Option<&str>, &str); 3] = [
            (
                &["  ==== End of the background ====", "", "Name it", "name:"],
                None,
                "Name it\nname:",
            ),
            (
                &["Password? (hidden)", "", "Overwrite it?", "y/n", "", "keys"],
                Some("Overwrite it?"),
                "Overwrite it?\ny/n",
            ),
            (&[], None, ""),
        ];
        for (rows, sentence, text) in cases {
            let asked = WordsAsked {
                sentence: sentence.map(str::to_owned),
                text: text.to_owned(),
            };
            assert_eq!(read_question(rows, &[]), asked, "{rows:?}");
        }
    }
}
