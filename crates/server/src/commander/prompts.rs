//! Prompts for what people ask their agent again and again.

use missiond_mcp::Refusal;
use serde_json::{Map, Value, json};

struct Prompt {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    argument: Option<Argument>,
    /// `{}` is where the argument goes.
    text: &'static str,
}

struct Argument {
    name: &'static str,
    description: &'static str,
    /// What is taken when it is left out; nothing makes it required.
    default: Option<&'static str>,
}

/// Nobody types more than this into a form.
const MOST: usize = 16 * 1024;

const PROMPTS: [Prompt; 3] = [
    Prompt {
        name: "plan",
        title: "Plan work",
        description: "Divide a goal into tasks on the board, with checks and dependencies.",
        argument: Some(Argument {
            name: "goal",
            description: "What is to be achieved.",
            default: None,
        }),
        text: "Plan this goal as tasks on missiond's board:\n\n{}\n\nLook at the repository and at \
               board_list first, so that nothing is planned twice. Make tasks that one agent can \
               finish in one sitting, each with a description that stands on its own and checks \
               that prove it done. Let tasks depend on each other only where they must. Show me the \
               plan before you put it on the board with board_add.",
    },
    Prompt {
        name: "inbox",
        title: "Go through the inbox",
        description: "Go through the questions of agents with the person, one by one.",
        argument: None,
        text: "Go through missiond's open questions with me. Read question_list, and for each one \
               look at what its agent is doing (execution_show) before you suggest an answer. I give \
               the answers myself: end each with the command `mission answer`, ready to be run.",
    },
    Prompt {
        name: "report",
        title: "Report",
        description: "Say what the agents have done and what needs somebody.",
        argument: Some(Argument {
            name: "since",
            description: "From when on; the last 24 hours when left out.",
            default: Some("the last 24 hours"),
        }),
        text: "Report on missiond since {}: which tasks were done and what proved it, which failed \
               and why, what is under way, and what waits for me. Use board_list, board_ready, \
               execution_list and question_list. Say what is claimed and what is verified. Keep it \
               to one screen.",
    },
];

pub(super) fn list() -> Vec<Value> {
    let described = PROMPTS.iter().map(|prompt| {
        let arguments: Vec<_> = prompt
            .argument
            .iter()
            .map(|argument| {
                json!({
                    "name": argument.name,
                    "description": argument.description,
                    "required": argument.default.is_none(),
                })
            })
            .collect();
        json!({
            "name": prompt.name,
            "title": prompt.title,
            "description": prompt.description,
            "arguments": arguments,
        })
    });
    described.collect()
}

pub(super) fn get(name: &str, arguments: &Map<String, Value>) -> Result<Value, Refusal> {
    let prompt = PROMPTS
        .iter()
        .find(|prompt| prompt.name == name)
        .ok_or_else(|| Refusal::invalid("there is no such prompt; `prompts/list` has them all"))?;
    let known = prompt.argument.as_ref();
    let stray = arguments
        .keys()
        .any(|key| known.is_none_or(|argument| argument.name != key));
    if stray {
        return Err(Refusal::invalid(format!(
            "`{name}` takes {}",
            known.map_or("no argument".to_owned(), |argument| {
                format!("one argument, `{}`", argument.name)
            })
        )));
    }
    let text = match known {
        None => prompt.text.to_owned(),
        Some(argument) => {
            let given = arguments.get(argument.name).and_then(Value::as_str);
            let given = given.filter(|given| !given.trim().is_empty());
            let value = given.or(argument.default).ok_or_else(|| {
                Refusal::invalid(format!("`{name}` needs `{}`, a text", argument.name))
            })?;
            if value.len() > MOST {
                let message = format!("`{}` may have {MOST} bytes", argument.name);
                return Err(Refusal::invalid(message));
            }
            prompt.text.replacen("{}", value, 1)
        }
    };
    Ok(json!({
        "description": prompt.description,
        "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(name: &str, arguments: Value) -> Result<String, String> {
        let Value::Object(arguments) = arguments else {
            panic!("no object");
        };
        match get(name, &arguments) {
            Ok(prompt) => Ok(prompt["messages"][0]["content"]["text"]
                .as_str()
                .unwrap()
                .to_owned()),
            Err(refusal) => Err(refusal.message),
        }
    }

    #[test]
    fn a_prompt_holds_what_it_was_given_or_its_default() {
        let plan = filled("plan", json!({ "goal": "A {} faster parser" })).unwrap();
        assert!(plan.contains("A {} faster parser"), "{plan}");
        let report = filled("report", json!({})).unwrap();
        assert!(report.contains("since the last 24 hours:"), "{report}");
        assert!(filled("inbox", json!({})).is_ok());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(filled("plan", json!({})).unwrap_err().contains("`goal`"));
        assert!(
            filled("inbox", json!({ "x": "y" }))
                .unwrap_err()
                .contains("no argument")
        );
        assert!(
            filled("plan", json!({ "aim": "y" }))
                .unwrap_err()
                .contains("`goal`")
        );
        assert!(
            filled("nothing", json!({}))
                .unwrap_err()
                .contains("no such prompt")
        );
    }
}
