//! A permission request as the dialog it would be on a screen, so that rules, questions
//! and people see one kind of thing. What the agent does not say for certain is left
//! out, and then no rule allows it.

use missiond_control::{
    Announced, InputSource, Location, OptionKind, PermissionRequest, ToolInput, ToolKind,
};
use missiond_core::PermissionAsked;
use missiond_semantic::{Dialog, DialogLayout, DialogOption, ToolRequest};
use serde_json::Value;

/// Where tools keep a line for a shell, and the file they are about.
const COMMAND: [&str; 3] = ["command", "cmd", "script"];
const PATH: [&str; 5] = ["file_path", "filePath", "path", "abs_path", "notebook_path"];

pub(super) fn dialog(request: &PermissionRequest) -> Dialog {
    let name = tool_name(request);
    let asked = asked(request, &name);
    let arguments = match &request.input {
        ToolInput::Said { json, .. } => Some(json.to_string()),
        ToolInput::NotSaid => None,
    };
    let title = request.title.text.clone();
    let question = request.explanation().unwrap_or(&title).to_owned();
    let mut text = vec![title.clone()];
    if question != title {
        text.push(question.clone());
    }
    text.extend(arguments.clone());
    text.push(format!("in {}", request.cwd.text));
    if request.announced == Announced::Contradicts {
        text.push("It is not what the agent announced before.".to_owned());
    }
    if request.source == InputSource::Nowhere {
        text.push("The agent does not say what exactly would be run.".to_owned());
    }
    let options = request.options.iter().enumerate();
    let options = options.map(|(row, option)| DialogOption {
        label: option.name.text.clone(),
        number: u32::try_from(row + 1).ok(),
        row,
    });
    Dialog {
        title,
        question,
        text: text.join(" "),
        tool: Some(name),
        arguments,
        options: options.collect(),
        selected: None,
        layout: DialogLayout::List,
        request: asked.map(|asked| ToolRequest {
            asked,
            allow: index_of(request, &OptionKind::AllowOnce),
            deny: index_of(request, &OptionKind::RejectOnce)
                .or_else(|| index_of(request, &OptionKind::RejectAndStop)),
        }),
    }
}

/// The names that rules know, whatever an engine calls its shell.
fn tool_name(request: &PermissionRequest) -> String {
    let own = request.tool_name.as_ref().map(|name| name.text.clone());
    match (&request.kind, own) {
        (ToolKind::Execute, _) => "Bash".to_owned(),
        (_, Some(own)) => own,
        (ToolKind::Edit | ToolKind::Delete | ToolKind::Move, None) => "Edit".to_owned(),
        (ToolKind::Read, None) => "Read".to_owned(),
        (ToolKind::Fetch, None) => "WebFetch".to_owned(),
        (_, None) => request.title.text.clone(),
    }
}

/// What rules decide on; none where it is not certain.
fn asked(request: &PermissionRequest, name: &str) -> Option<PermissionAsked> {
    if request.announced == Announced::Contradicts {
        return None;
    }
    let ToolInput::Said { json, digest } = &request.input else {
        return None;
    };
    // A text that was cut is no JSON any more, and what is left of it no input.
    let input: Value = serde_json::from_str(&json.text).unwrap_or(Value::Null);
    let command = COMMAND.iter().find_map(|&member| line(&input[member]));
    let path = PATH.iter().find_map(|&member| input[member].as_str());
    let path = path.map(str::to_owned).or_else(|| only(&request.locations));
    let (server, tool) = match name.strip_prefix("mcp__").and_then(|n| n.split_once("__")) {
        Some((server, tool)) => (Some(server.to_owned()), tool.to_owned()),
        None => (None, name.to_owned()),
    };
    Some(PermissionAsked {
        tool: Some(tool),
        server,
        argument: (command.is_none() && path.is_none()).then(|| json.text.clone()),
        command,
        path,
        cwd: Some(request.cwd.text.clone()),
        digest: Some(digest.to_string()),
        shown_in_part: !json.is_whole(),
    })
}

/// A line for a shell: a text, or the words of an argv.
fn line(value: &Value) -> Option<String> {
    match value {
        Value::String(line) => Some(match shlex::split(line) {
            Some(words) => run_by_shell(&words).unwrap_or(line).to_owned(),
            None => line.clone(),
        }),
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            let words: Vec<_> = words.collect::<Option<_>>()?;
            match run_by_shell(&words) {
                Some(line) => Some(line.to_owned()),
                None => shlex::try_join(words.iter().map(String::as_str)).ok(),
            }
        }
        _ => None,
    }
}

/// The line that `sh -c LINE` runs: some engines ask for every command in this form.
fn run_by_shell(words: &[String]) -> Option<&str> {
    const SHELLS: [&str; 4] = ["sh", "bash", "zsh", "dash"];
    let [shell, flag, line] = words else {
        return None;
    };
    let name = shell.rsplit('/').next().unwrap_or(shell);
    let runs = SHELLS.contains(&name) && matches!(flag.as_str(), "-c" | "-lc");
    runs.then_some(line)
}

fn only(locations: &[Location]) -> Option<String> {
    match locations {
        [location] => Some(location.path.text.clone()),
        _ => None,
    }
}

fn index_of(request: &PermissionRequest, kind: &OptionKind) -> Option<usize> {
    request
        .options
        .iter()
        .position(|option| option.kind == *kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_is_a_line_whether_it_is_told_as_one_or_in_words() {
        assert_eq!(line(&json!("ls -l")).as_deref(), Some("ls -l"));
        assert_eq!(line(&json!(["ls", "a b"])).as_deref(), Some("ls 'a b'"));
        let shell = json!(["bash", "-lc", "touch x && rm y"]);
        assert_eq!(line(&shell).as_deref(), Some("touch x && rm y"));
        let shell = json!(r#"/bin/bash -lc "printf 'a b' > c""#);
        assert_eq!(line(&shell).as_deref(), Some("printf 'a b' > c"));
        let other = json!("env -c 'rm x'");
        assert_eq!(line(&other).as_deref(), Some("env -c 'rm x'"));
        assert_eq!(line(&json!(["ls", 1])), None);
        assert_eq!(line(&json!({"argv": []})), None);
    }
}
