//! What a call of a tool works on: the command it runs or the file it touches, so that what
//! one source says of a call can be held against what another says. Engines call the same
//! thing by different members, and restate it; what none of these words fits is compared
//! with nothing.

use std::path::Path;

use serde_json::Value;

/// By these members engines name the command of a call.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// By these they name its file.
const FILES: [&str; 4] = ["file_path", "filePath", "absolute_path", "path"];

/// Longer ones are not kept.
const LONGEST: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSubject {
    Command(String),
    File(String),
}

impl ToolSubject {
    /// Of the arguments of a call, which may be JSON within a string.
    #[must_use]
    pub fn of(arguments: &Value) -> Option<Self> {
        if let Value::String(text) = arguments {
            let inner: Value = serde_json::from_str(text).ok()?;
            return if inner.is_object() {
                Self::of(&inner)
            } else {
                None
            };
        }
        let command = COMMANDS.iter().find_map(|name| command(&arguments[name]));
        let file = || FILES.iter().find_map(|name| arguments[name].as_str());
        let subject = command
            .map(Self::Command)
            .or_else(|| file().map(|file| Self::File(file.to_owned())))?;
        (subject.text().len() <= LONGEST).then_some(subject)
    }

    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Command(text) | Self::File(text) => text,
        }
    }

    /// Whether it is certainly another thing. A file may be named by its whole path or by
    /// the end of it, and a command says nothing about a file.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Command(one), Self::Command(other)) => !is_same_as_far_as_shown(one, other),
            (Self::File(one), Self::File(other)) => {
                let (one, other) = (Path::new(one), Path::new(other));
                !one.ends_with(other) && !other.ends_with(one)
            }
            _ => false,
        }
    }
}

/// Secrets are masked in what is recorded, byte by byte: whatever stands there may be the
/// same on the other side.
fn is_same_as_far_as_shown(one: &str, other: &str) -> bool {
    /// As many asterisks in a row are a mask, and no pattern of a shell.
    const MASK: usize = 6;
    let masked = |text: &str| {
        let mut masked = vec![false; text.len()];
        let mut from = 0;
        while let Some(begin) = text[from..].find('*') {
            let begin = from + begin;
            let length = text[begin..]
                .bytes()
                .take_while(|byte| *byte == b'*')
                .count();
            if length >= MASK {
                masked[begin..begin + length].fill(true);
            }
            from = begin + length;
        }
        masked
    };
    let bytes = one.bytes().zip(other.bytes());
    let masks = masked(one).into_iter().zip(masked(other));
    one.len() == other.len()
        && bytes
            .zip(masks)
            .all(|((one, other), (is_masked, other_is))| one == other || is_masked || other_is)
}

/// A command, without the shell it is handed to.
fn command(value: &Value) -> Option<String> {
    let words = match value {
        Value::String(text) => shlex::split(text)?,
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    let script = match &words[..] {
        [shell, option, script] if is_shell(shell) && matches!(&option[..], "-c" | "-lc") => {
            script.clone()
        }
        _ => match value {
            Value::String(text) => text.clone(),
            _ => words.join(" "),
        },
    };
    let script = script.trim();
    (!script.is_empty()).then(|| script.to_owned())
}

fn is_shell(program: &str) -> bool {
    let name = Path::new(program)
        .file_name()
        .and_then(|name| name.to_str());
    matches!(name, Some("sh" | "bash" | "zsh" | "dash"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_thing_by_other_words_contradicts_nothing() {
        let of = |value: &Value| ToolSubject::of(value).unwrap();
        let told = of(&json!({"command": "/bin/bash -lc 'rm -rf build'", "cwd": "/work"}));
        for same in [
            json!({"cmd": "rm -rf build", "yield_time_ms": 5}),
            json!(r#"{"cmd":"rm -rf build"}"#),
            json!({"command": ["bash", "-lc", "rm -rf build"]}),
            json!({"file_path": "build"}),
        ] {
            assert!(!told.contradicts(&of(&same)), "{same}");
        }
        assert!(told.contradicts(&of(&json!({"cmd": "rm -rf /"}))));
        let told = of(&json!({"command": "curl -H 'Authorization: Bearer ********' a.example"}));
        let done = |token: &str, host: &str| {
            let command = format!("curl -H 'Authorization: Bearer {token}' {host}");
            told.contradicts(&of(&json!({ "command": command })))
        };
        assert!(
            !done("a1b2c3d4", "a.example"),
            "what is masked may be the same"
        );
        assert!(done("a1b2c3d4", "b.example") && done("longer than it", "a.example"));
        let pattern = of(&json!({"command": "rm **"}));
        assert!(pattern.contradicts(&of(&json!({"command": "rm ab"}))));
        let file = of(&json!({"filePath": "/work/src/a.rs"}));
        assert!(!file.contradicts(&of(&json!({"path": "src/a.rs"}))));
        assert!(file.contradicts(&of(&json!({"path": "lib/a.rs"}))));
        assert_eq!(ToolSubject::of(&json!({"pattern": "x"})), None);
        assert_eq!(ToolSubject::of(&json!("*** Begin Patch")), None);
    }
}
