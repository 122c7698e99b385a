//! A question of an execution as the editor asks it: a choice as a request for
//! permission, words as a form where the editor has forms.

use missiond_core::{PermissionAsked, Question, QuestionOrigin};
use serde_json::{Value, json};

use crate::protocol::{
    FormAnswer, OptionKind, PermissionAnswer, PermissionOption, PermissionOutcome, ToolCall,
    ToolContent, ToolKind, ToolStatus,
};
use crate::tool_calls::{ToolCalls, kind_of};

/// Member of the form that holds the answer.
const FIELD: &str = "answer";

/// What an editor is sent to have a question answered.
#[derive(Debug, PartialEq)]
pub(crate) struct Asking {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    /// The tool call it stands at; none for a form.
    pub(crate) call: Option<String>,
}

/// The request for this question; none where the editor has no way to ask it.
pub(crate) fn asking(
    session: &str,
    question: &Question,
    calls: &ToolCalls,
    has_forms: bool,
) -> Option<Asking> {
    if question.options.is_empty() {
        return has_forms.then(|| Asking {
            method: "elicitation/create",
            params: form(session, question),
            call: None,
        });
    }
    let permission = permission_of(question);
    let tool = permission.and_then(|asked| asked.tool.as_deref());
    let known = tool.and_then(|tool| calls.open(tool));
    let id = known.map_or_else(|| format!("question-{}", question.number.0), str::to_owned);
    let call = ToolCall {
        tool_call_id: id.clone(),
        title: Some(question.headline.clone()),
        name: tool.map(str::to_owned),
        kind: Some(tool.map_or(ToolKind::Other, kind_of)),
        status: Some(ToolStatus::Pending),
        content: vec![ToolContent::text(explained(question))],
        raw_input: permission.and_then(|asked| serde_json::to_value(asked).ok()),
        ..ToolCall::default()
    };
    let options: Vec<_> = question
        .options
        .iter()
        .enumerate()
        .map(|(at, name)| PermissionOption {
            option_id: (at + 1).to_string(),
            name: name.clone(),
            kind: kind(question, name),
        })
        .collect();
    Some(Asking {
        method: "session/request_permission",
        params: json!({ "sessionId": session, "toolCall": call, "options": options }),
        call: Some(id),
    })
}

/// What a person chose or wrote, as an answer; none where they did neither.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) answer: String,
    /// What the tool call it stands at has come to.
    pub(crate) status: ToolStatus,
}

impl Chosen {
    pub(crate) fn of_permission(question: &Question, answer: &PermissionAnswer) -> Option<Self> {
        let PermissionOutcome::Selected { option_id } = &answer.outcome else {
            return None;
        };
        let place = option_id.parse::<usize>().ok()?.checked_sub(1)?;
        let option = question.options.get(place)?;
        Some(Self {
            answer: option_id.clone(),
            status: match kind(question, option) {
                OptionKind::AllowOnce | OptionKind::AllowAlways => ToolStatus::Completed,
                OptionKind::RejectOnce | OptionKind::RejectAlways => ToolStatus::Failed,
            },
        })
    }

    pub(crate) fn of_form(answer: &FormAnswer) -> Option<Self> {
        let text = answer.content.get(FIELD)?.as_str()?;
        let given = answer.action == "accept" && !text.trim().is_empty();
        given.then(|| Self {
            answer: text.to_owned(),
            status: ToolStatus::Completed,
        })
    }
}

/// The place of the answer that denies, to be given when a turn is cancelled.
pub(crate) fn denial(question: &Question) -> Option<String> {
    let mut options = question.options.iter();
    let place = options.position(|option| kind(question, option) == OptionKind::RejectOnce)?;
    Some((place + 1).to_string())
}

/// The question in words, for an editor that cannot ask it.
pub(crate) fn in_words(question: &Question) -> String {
    let mut words = explained(question);
    for option in &question.options {
        words.push_str(&format!("\n- {option}"));
    }
    format!(
        "{words}\n\nIt waits for an answer: your next prompt is one, as is `mission answer {}`.",
        question.number
    )
}

fn explained(question: &Question) -> String {
    match &question.context {
        Some(context) => format!("{}\n\n{context}", question.question),
        None => question.question.clone(),
    }
}

fn form(session: &str, question: &Question) -> Value {
    let field = json!({ "type": "string", "title": "Answer", "minLength": 1, "maxLength": 32_000 });
    json!({
        "sessionId": session,
        "mode": "form",
        "message": explained(question),
        "requestedSchema": {
            "type": "object",
            "properties": { FIELD: field },
            "required": [FIELD],
        },
    })
}

fn permission_of(question: &Question) -> Option<&PermissionAsked> {
    match &question.origin {
        QuestionOrigin::Dialog { permission, .. } => permission.as_deref(),
        _ => None,
    }
}

/// What an option means. The dialog says which allows and which denies; of the others
/// only the words are known.
fn kind(question: &Question, option: &str) -> OptionKind {
    let QuestionOrigin::Dialog { allows, denies, .. } = &question.origin else {
        return OptionKind::AllowOnce;
    };
    if allows.as_deref() == Some(option) {
        return OptionKind::AllowOnce;
    }
    if denies.as_deref() == Some(option) {
        return OptionKind::RejectOnce;
    }
    let words = option.to_lowercase();
    let begins = |with: &[&str]| with.iter().any(|one| words.starts_with(one));
    let lasts = ["always", "ask again", "session", "never"]
        .iter()
        .any(|one| words.contains(one));
    match (
        begins(&["no", "deny", "reject", "don't", "cancel", "never"]),
        lasts,
    ) {
        (true, false) => OptionKind::RejectOnce,
        (true, true) => OptionKind::RejectAlways,
        (false, true) => OptionKind::AllowAlways,
        (false, false) => OptionKind::AllowOnce,
    }
}

#[cfg(test)]
mod tests {
    use missiond_core::{
        ExecutionId, ObservationId, QuestionId, QuestionNumber, QuestionStatus, SlotId, Timestamp,
    };
    use missiond_journal::Source;

    use super::*;

    fn question(origin: QuestionOrigin, options: &[&str]) -> Question {
        Question {
            id: QuestionId::generate(),
            number: QuestionNumber(7),
            origin,
            task: None,
            question: "Do you want to run this?".to_owned(),
            headline: "May it run ls -a?".to_owned(),
            context: Some("no rule allows it".to_owned()),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            blocks: 0,
            asked_at: Timestamp::from_micros(1),
            status: QuestionStatus::Pending,
            answer: None,
            closed_at: None,
            closed_by: None,
            reason: None,
        }
    }

    fn dialog() -> Question {
        let origin = QuestionOrigin::Dialog {
            slot: SlotId::generate(),
            slot_name: "editor-1".to_owned(),
            execution: None,
            dialog: "d".to_owned(),
            permission: Some(Box::new(PermissionAsked {
                tool: Some("Bash".to_owned()),
                command: Some("ls -a".to_owned()),
                ..PermissionAsked::default()
            })),
            allows: Some("Yes".to_owned()),
            denies: Some("No, and tell it why".to_owned()),
        };
        question(
            origin,
            &["Yes", "Yes, and don't ask again", "No, and tell it why"],
        )
    }

    fn needs_input(options: &[&str]) -> Question {
        let origin = QuestionOrigin::NeedsInput {
            execution: ExecutionId::generate(),
            slot: SlotId::generate(),
            request: ObservationId::generate(),
        };
        question(origin, options)
    }

    #[test]
    fn a_permission_is_asked_with_what_each_option_means() {
        let calls = ToolCalls::default();
        let asked = asking("editor-1", &dialog(), &calls, false).unwrap();
        assert_eq!(asked.method, "session/request_permission");
        assert_eq!(asked.call.as_deref(), Some("question-7"));
        let call = &asked.params["toolCall"];
        assert_eq!(call["title"], "May it run ls -a?");
        assert_eq!(call["kind"], "execute");
        assert_eq!(call["rawInput"]["command"], "ls -a");
        assert_eq!(
            asked.params["options"],
            json!([
                { "optionId": "1", "name": "Yes", "kind": "allow_once" },
                { "optionId": "2", "name": "Yes, and don't ask again", "kind": "allow_always" },
                { "optionId": "3", "name": "No, and tell it why", "kind": "reject_once" },
            ])
        );
        assert_eq!(denial(&dialog()).as_deref(), Some("3"));
    }

    #[test]
    fn a_permission_for_a_call_that_is_under_way_stands_at_it() {
        let mut calls = ToolCalls::default();
        calls.began(40, Source::Hook, "Bash");
        let asked = asking("editor-1", &dialog(), &calls, false).unwrap();
        assert_eq!(asked.call.as_deref(), Some("call-40"));
    }

    #[test]
    fn a_choice_is_an_answer_and_nothing_else_is() {
        let chosen = |answer: Value| {
            let answer = serde_json::from_value(answer).unwrap();
            Chosen::of_permission(&dialog(), &answer)
        };
        let selected = |id: &str| json!({ "outcome": { "outcome": "selected", "optionId": id } });
        let expected = |answer: &str, status| {
            let answer = answer.to_owned();
            Some(Chosen { answer, status })
        };
        assert_eq!(chosen(selected("2")), expected("2", ToolStatus::Completed));
        assert_eq!(chosen(selected("3")), expected("3", ToolStatus::Failed));
        for id in ["0", "4", "-1", "", "99999999999999999999999", "Yes"] {
            assert_eq!(chosen(selected(id)), None, "{id}");
        }
        assert_eq!(
            chosen(json!({ "outcome": { "outcome": "cancelled" } })),
            None
        );
        assert_eq!(
            chosen(json!({ "outcome": { "outcome": "new word" } })),
            None
        );
    }

    #[test]
    fn words_are_asked_for_with_a_form_where_there_are_forms() {
        let calls = ToolCalls::default();
        let question = needs_input(&[]);
        assert_eq!(asking("editor-1", &question, &calls, false), None);
        let asked = asking("editor-1", &question, &calls, true).unwrap();
        assert_eq!(asked.method, "elicitation/create");
        assert_eq!(
            asked.params["requestedSchema"]["required"],
            json!(["answer"])
        );
        assert_eq!(asked.call, None);
        let form = |answer: Value| Chosen::of_form(&serde_json::from_value(answer).unwrap());
        let given = form(json!({ "action": "accept", "content": { "answer": "8080" } }));
        assert_eq!(given.map(|given| given.answer).as_deref(), Some("8080"));
        assert_eq!(form(json!({ "action": "decline" })), None);
        assert_eq!(
            form(json!({ "action": "cancel", "content": { "answer": "8080" } })),
            None
        );
        assert!(in_words(&question).contains("mission answer Q-7"));
    }

    #[test]
    fn what_an_agent_offers_to_choose_from_rejects_nothing() {
        let question = needs_input(&["No tests", "Cancel it", "Never"]);
        let calls = ToolCalls::default();
        let asked = asking("editor-1", &question, &calls, false).unwrap();
        let options = asked.params["options"].as_array().unwrap();
        assert!(options.iter().all(|option| option["kind"] == "allow_once"));
        assert_eq!(denial(&question), None);
    }
}
