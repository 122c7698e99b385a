//! A use of a tool as an agent CLI describes it, turned into a request: the same for
//! a line of a batch and for what a hook says is about to run.

use missiond_core::CliEngine;
use serde_json::Value;

use crate::permissions::{Argument, PathBase, Request, Shown};

/// What an argument may have; a longer one is not judged.
const MAX_ARGUMENT_CHARS: usize = 100_000;

/// Where nothing else is known: no path of any machine lies below it.
const NO_FOLDER: &str = "/folder-that-was-not-given";

/// One use of a tool, with what the CLI hands to it.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    pub tool: Option<&'a str>,
    /// The MCP server, where the name of the tool does not say it.
    pub server: Option<&'a str>,
    pub argument: &'a Value,
    pub cwd: Option<&'a str>,
    pub home: Option<&'a str>,
}

impl ToolCall<'_> {
    /// What rules decide on: exactly this, of no engine and no slot yet. An error says
    /// what of it cannot be judged.
    pub fn request(&self) -> Result<Request, String> {
        let tool = self.tool.map(str::trim).filter(|tool| !tool.is_empty());
        let tool = canonical_tool(tool.ok_or("the line names no `tool`")?);
        let own_folder = self.field(&["cwd", "workdir", "working_directory", "dir_path"]);
        let home = self.home.filter(|home| home.starts_with('/'));
        let base = PathBase {
            folder: self
                .cwd
                .filter(|folder| folder.starts_with('/'))
                .unwrap_or(NO_FOLDER)
                .to_owned(),
            home: home.map(str::to_owned),
        };
        let base = match own_folder {
            Some(folder) if is_shell_tool(tool) => PathBase {
                folder: base.absolute(folder),
                ..base
            },
            _ => base,
        };
        let (server, tool) = match server_and_tool(tool) {
            Some((server, Some(tool))) => (Some(server), tool),
            _ => (self.server, tool),
        };
        let mut request = Request {
            tool: Some(tool.to_owned()),
            server: server.map(str::to_owned),
            shown: Shown::Exact,
            base,
            ..Request::from_engine(CliEngine::Claude)
        };
        if server.is_none() && is_shell_tool(tool) {
            request.argument = Some(Argument::Command(self.command()?));
        } else if server.is_none() && is_file_tool(tool) {
            request.paths = self.paths(&request.base);
            if request.paths.is_empty() {
                return Err(format!("the `argument` names no file for {tool}"));
            }
        } else {
            request.argument = self.text().map(Argument::Text);
            request.paths = self.mentioned(&request.base);
        }
        let longest = request.argument.iter().map(|argument| argument.text());
        let paths = request.paths.iter().map(String::as_str);
        if longest
            .chain(paths)
            .any(|text| text.chars().count() > MAX_ARGUMENT_CHARS)
        {
            return Err(format!(
                "the `argument` has more than {MAX_ARGUMENT_CHARS} characters"
            ));
        }
        Ok(request)
    }

    fn field(&self, names: &[&str]) -> Option<&str> {
        let fields = self.argument.as_object()?;
        names
            .iter()
            .find_map(|name| fields.get(*name).and_then(Value::as_str))
    }

    fn command(&self) -> Result<String, String> {
        let unread = || "the `argument` is no command".to_owned();
        match self.argument {
            Value::String(text) => Ok(text.clone()),
            Value::Object(fields) => {
                let names = ["command", "cmd", "script", "input"];
                let value = names.iter().find_map(|name| fields.get(*name));
                match value.ok_or_else(unread)? {
                    Value::String(text) => Ok(text.clone()),
                    Value::Array(words) => joined(words).ok_or_else(unread),
                    _ => Err(unread()),
                }
            }
            Value::Array(words) => joined(words).ok_or_else(unread),
            _ => Err(unread()),
        }
    }

    fn text(&self) -> Option<String> {
        match self.argument {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => {
                let only = ["url", "query", "prompt", "pattern"];
                let field = self.field(&only).map(str::to_owned);
                Some(field.unwrap_or_else(|| other.to_string()))
            }
        }
    }

    /// The files a file tool is given; a search that names no place is one of the folder.
    fn paths(&self, base: &PathBase) -> Vec<String> {
        let mut written: Vec<&str> = Vec::new();
        match self.argument {
            Value::String(text) => written.push(text),
            Value::Object(fields) => {
                let is_search = fields.contains_key("pattern");
                for (name, value) in fields {
                    let name = name.to_lowercase();
                    let names_file = name.contains("path")
                        || name.contains("file")
                        || name.contains("dir")
                        || (is_search && matches!(name.as_str(), "pattern" | "glob" | "include"));
                    match value {
                        Value::String(text) if names_file => written.push(text),
                        Value::Array(several) if names_file => {
                            written.extend(several.iter().filter_map(Value::as_str));
                        }
                        _ => {}
                    }
                }
                let says_where = |name: &String| {
                    let name = name.to_lowercase();
                    ["path", "file", "dir"]
                        .iter()
                        .any(|word| name.contains(word))
                };
                if is_search && self.goes_into_folders() && !fields.keys().any(says_where) {
                    written.push(".");
                }
            }
            _ => {}
        }
        if written.is_empty() && self.argument.as_object().is_some_and(|all| !all.is_empty()) {
            written.push(".");
        }
        let mut paths: Vec<String> = Vec::new();
        for path in written {
            paths.push(base.absolute(path));
            paths.extend(spelled_otherwise(path, base));
        }
        paths.dedup();
        paths
    }

    /// It reads all that is below; the pattern says what is looked for and not where.
    fn goes_into_folders(&self) -> bool {
        let tool = self.tool.unwrap_or_default().to_lowercase();
        matches!(tool.as_str(), "grep" | "search_file_content")
    }

    /// Whatever might be a path in what another tool is given, for rules that deny.
    fn mentioned(&self, base: &PathBase) -> Vec<String> {
        let mut texts = Vec::new();
        strings(self.argument, &mut texts);
        let paths = texts.into_iter().filter(|text| text.contains('/'));
        paths.map(|path| base.absolute(path)).collect()
    }
}

fn strings<'v>(value: &'v Value, all: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, all)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, all)),
        _ => {}
    }
}

/// An argument vector as a line that a shell cuts into the same words.
fn joined(words: &[Value]) -> Option<String> {
    let quoted = words.iter().map(|word| {
        let word = word.as_str()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
        Some(if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        })
    });
    Some(quoted.collect::<Option<Vec<_>>>()?.join(" "))
}

/// What a tool may make of a path that it expands itself.
fn spelled_otherwise(path: &str, base: &PathBase) -> Option<String> {
    if let Some(rest) = path.strip_prefix("file://") {
        return Some(base.absolute(rest));
    }
    let home = base.home.as_deref()?;
    let variable = path
        .strip_prefix("$HOME")
        .or_else(|| path.strip_prefix("${HOME}"));
    let user = home.rsplit('/').next().unwrap_or_default();
    let by_name = path
        .strip_prefix('~')
        .and_then(|rest| rest.strip_prefix(user))
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let rest = variable.or(by_name)?;
    Some(base.absolute(&format!("{home}{rest}")))
}

/// One name for what agent CLIs name differently.
pub(crate) fn canonical_tool(tool: &str) -> &str {
    match tool.to_lowercase().as_str() {
        "bash" | "shell" | "sh" | "run_shell_command" | "exec_command" | "local_shell"
        | "execute_command" | "terminal" | "run_command" => "Bash",
        "run" => "Run",
        "read" | "read_file" | "view" | "notebookread" => "Read",
        "write" | "write_file" | "create_file" => "Write",
        "edit" | "edit_file" | "replace" | "str_replace" | "patch" => "Edit",
        _ => tool,
    }
}

pub(crate) fn is_shell_tool(tool: &str) -> bool {
    matches!(tool, "Bash" | "Run")
}

pub(crate) fn is_file_tool(tool: &str) -> bool {
    let tools = [
        "read",
        "write",
        "edit",
        "multiedit",
        "notebookedit",
        "glob",
        "grep",
        "ls",
        "list",
        "list_directory",
        "delete",
        "delete_file",
        "read_many_files",
        "search_file_content",
    ];
    tools.contains(&tool.to_lowercase().as_str())
}

/// A name that is a tool's even when it is written small.
pub(crate) fn is_tool_name(word: &str) -> bool {
    matches!(canonical_tool(word), "Read" | "Write" | "Edit" | "Bash") && word.contains('_')
}

/// `mcp__server__tool`; without a tool, all of the server's.
pub(crate) fn server_and_tool(tool: &str) -> Option<(&str, Option<&str>)> {
    let rest = tool.strip_prefix("mcp__")?;
    Some(match rest.split_once("__") {
        Some((server, tool)) => (server, Some(tool)),
        None => (rest, None),
    })
}
