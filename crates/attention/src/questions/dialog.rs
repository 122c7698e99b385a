//! Which dialog a question is about, and how it is put to a person.

use missiond_core::one_line;
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
    // Where it is known what would be done, every byte of it counts.
    if let Some(request) = &dialog.request {
        let asked = &request.asked;
        let parts = [&asked.tool, &asked.server, &asked.command, &asked.argument];
        for part in parts
            .into_iter()
            .chain([&asked.path, &asked.cwd, &asked.digest])
        {
            add(part.as_deref().unwrap_or_default());
        }
    }
    hex::encode(&hash.finalize()[..8])
}

/// A dialog as a person is asked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    /// The sentence that asks.
    pub question: String,
    /// What else must be known. What the options, the sentence and the permission
    /// that is asked for say is not said again.
    pub context: Option<String>,
}

/// Puts a dialog into words; `reason` is why no rule answers it.
pub fn wording(dialog: &Dialog, reason: Option<&str>) -> Wording {
    let question = if dialog.question.is_empty() {
        dialog.title.clone()
    } else {
        dialog.question.clone()
    };
    let mut rest = one_line(&dialog.text);
    let mut said: Vec<&str> = vec![&question];
    if let Some(request) = &dialog.request {
        let asked = &request.asked;
        said.push(&dialog.title);
        let parts = [&asked.command, &asked.argument, &asked.path];
        said.extend(parts.into_iter().flatten().map(String::as_str));
        said.extend(dialog.tool.as_deref());
        said.extend(asked.tool.as_deref());
    }
    // The longest first: a file's name may stand in a command.
    said.sort_by_key(|part| std::cmp::Reverse(part.len()));
    for part in said {
        let part = one_line(part);
        if !part.is_empty() {
            rest = rest.replacen(&part, "\n", 1);
        }
    }
    // Labels such as `Tool:` are left of what is said elsewhere.
    let pieces = rest.split('\n').map(str::trim);
    let telling = pieces.filter(|piece| {
        let words = piece.split_whitespace().count();
        words > 1 || (words == 1 && dialog.request.is_none())
    });
    let telling = telling.collect::<Vec<_>>().join("\n");
    let context: Vec<&str> = [telling.as_str(), reason.unwrap_or_default()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    Wording {
        question,
        context: (!context.is_empty()).then(|| context.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use missiond_core::PermissionAsked;
    use missiond_semantic::ToolRequest;
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

    #[test]
    fn a_permission_is_asked_for_without_saying_anything_twice() {
        let mut asked = dialog(
            "Bash command pip install numpy Installs what the roots need Do you want to proceed?",
            &["Yes", "No"],
        );
        asked.request = Some(ToolRequest {
            asked: PermissionAsked {
                tool: Some("Bash".to_owned()),
                command: Some("pip install numpy".to_owned()),
                ..PermissionAsked::default()
            },
            allow: Some(0),
            deny: Some(1),
        });
        let reason = "no rule allows it";
        let worded = wording(&asked, Some(reason));
        assert_eq!(worded.question, "Do you want to proceed?");
        let context = "Installs what the roots need\nno rule allows it".to_owned();
        assert_eq!(worded.context, Some(context));
        asked.text = "Permission Tool: Bash pip install numpy Do you want to proceed?".to_owned();
        asked.title = "Permission".to_owned();
        assert_eq!(
            wording(&asked, Some(reason)).context.as_deref(),
            Some(reason)
        );
        assert_eq!(wording(&asked, None).context, None);
    }

    #[test]
    fn a_question_in_words_is_the_sentence_and_what_stands_beside_it() {
        let mut asked = dialog("Both are possible. Which\nlibrary do you want?", &[]);
        asked.question = "Which library do you want?".to_owned();
        let worded = wording(&asked, None);
        assert_eq!(worded.question, "Which library do you want?");
        assert_eq!(worded.context.as_deref(), Some("Both are possible."));
        asked.text = "Which library do you want?".to_owned();
        assert_eq!(wording(&asked, None).context, None);
    }
}
