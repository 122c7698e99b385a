//! What missiond itself said in conversations that were stored before its messages
//! had lines of their own around it ([`missiond_context::speech_of`]). Such a message
//! was a request with paragraphs of missiond's behind it, in exactly these words;
//! only conversations about a task have them. Nothing that is sent today is known by
//! its words.

use std::borrow::Cow;

/// Messages of which nothing is a person's begin so.
const MESSAGES: [&str; 2] = [
    "Your work was checked, and it is not done yet.",
    "Your work is good by itself, but others have changed the same files on ",
];

/// Paragraphs of missiond's begin so.
const PARAGRAPHS: [&str; 9] = [
    "You are in a git worktree of your own, on the branch ",
    "An earlier attempt left its work in this folder: look at it first, then go on.",
    "The last attempt ended because ",
    "Investigate first: find out what is there and what the task needs.",
    "Say what is open and cannot be decided without a person, and ask for it with needs_input.",
    "Make a plan: which files, in which order, and how it will be checked.",
    "Do it now. When it is done, report completed_claim and stop; it is then checked.",
    "Now carry the plan out. When it is done, report completed_claim and stop;",
    "Finalize: tidy up, bring documents and tests up to date, and look over what you changed.",
];

/// Behind the number of the task, the first paragraph of a later prompt.
const CONTINUATIONS: [&str; 2] = [": go on with your task, ", ": the next step."];

/// What a person said in a message about a task; empty when nothing of it is theirs.
pub(super) fn speech_about_task(message: &str) -> Cow<'_, str> {
    let begins = |with: &[&str], text: &str| with.iter().any(|with| text.starts_with(with));
    if begins(&MESSAGES, message.trim_start()) {
        return Cow::Borrowed("");
    }
    let continues = |paragraph: &str| {
        let digits = paragraph.strip_prefix("T-").map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            rest.split_at(end.unwrap_or(rest.len()))
        });
        digits.is_some_and(|(number, rest)| !number.is_empty() && begins(&CONTINUATIONS, rest))
    };
    let ours = |paragraph: &&str| begins(&PARAGRAPHS, paragraph) || continues(paragraph);
    if !message.split("\n\n").any(|paragraph| ours(&paragraph)) {
        return Cow::Borrowed(message);
    }
    let theirs: Vec<_> = message.split("\n\n").filter(|one| !ours(one)).collect();
    Cow::Owned(theirs.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_old_prompt_the_request_is_left_and_nothing_of_other_messages() {
        let prompt = "T-7: Say goodbye\n\nIn every language.\n\nYou are in a git worktree of your \
                      own, on the branch mission/T-7. Stay on it; what you leave here is committed \
                      and brought back for you.\n\nAn earlier attempt left its work in this \
                      folder: look at it first, then go on.\n\nThe last attempt ended because it \
                      was lost.\n\nNote by ann: use the old parser\n\nDo it now. When it is done, \
                      report completed_claim and stop; it is then checked. If you need an answer, \
                      ask with needs_input; if you cannot do it, report failed_claim with the \
                      reason.";
        let said = "T-7: Say goodbye\n\nIn every language.\n\nNote by ann: use the old parser";
        assert_eq!(speech_about_task(prompt), said);
        for ours in [
            "T-12: go on with your task, Say goodbye.\n\nThe last attempt ended because it ended.",
            "T-3: the next step.",
            "Your work was checked, and it is not done yet.\n\nThe check `test` ended with exit \
             code 1. It said at its end:\n\nassertion failed",
            "Your work is good by itself, but others have changed the same files on main \
             meanwhile:\n\na.txt",
        ] {
            assert_eq!(speech_about_task(ours), "", "{ours}");
        }
        for theirs in [
            "T-7: what is the next step?",
            "Do it now.",
            "Look at it first.",
        ] {
            assert_eq!(speech_about_task(theirs), theirs);
        }
    }
}
