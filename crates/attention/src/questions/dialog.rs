//! Which dialog a question is about.

use missiond_os::hex;
use missiond_semantic::Dialog;
use sha2::{Digest, Sha256};

/// Tells the dialogs of a slot apart: what it says and offers, wherever its mark
/// and its rows are. A clock or a turning sign beside it makes no other dialog,
/// as for [`Dialog::is_same_as`].
pub fn identity(dialog: &Dialog) -> String {
    let letters: String = dialog.text.chars().filter(|c| c.is_alphabetic()).collect();
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    add(&letters);
    add(&dialog.question);
    add(dialog.tool.as_deref().unwrap_or_default());
    add(dialog.arguments.as_deref().unwrap_or_default());
    for option in &dialog.options {
        add(&option.label);
    }
    hex::encode(&hash.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use missiond_semantic::{DialogLayout, DialogOption};

    use super::*;

    fn dialog(text: &str, labels: &[&str]) -> Dialog {
        let option = |(row, label): (usize, &&str)| DialogOption {
            label: (*label).to_owned(),
            number: None,
            row,
        };
        Dialog {
            title: "Bash command".to_owned(),
            question: "Do you want to proceed?".to_owned(),
            text: text.to_owned(),
            tool: Some("Bash".to_owned()),
            arguments: None,
            options: labels.iter().enumerate().map(option).collect(),
            selected: Some(0),
            layout: DialogLayout::List,
            request: None,
        }
    }

    #[test]
    fn a_moved_mark_or_a_clock_makes_no_other_dialog_and_other_words_do() {
        let first = dialog("rm -rf build (3s)", &["Yes", "No"]);
        let mut moved = dialog("rm -rf build (14s)", &["Yes", "No"]);
        moved.selected = Some(1);
        moved.options[0].row = 7;
        assert_eq!(identity(&first), identity(&moved));
        for other in [
            dialog("rm -rf src (3s)", &["Yes", "No"]),
            dialog("rm -rf build (3s)", &["Yes", "Yes, always", "No"]),
            dialog("rm -rf build (3s)", &["YesNo"]),
        ] {
            assert_ne!(identity(&first), identity(&other));
        }
    }
}
