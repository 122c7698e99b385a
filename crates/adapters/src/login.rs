//! Whether an agent CLI is logged in, as far as its files and the environment tell,
//! and how it is installed. No secret is read: that a file or a variable is there is
//! all that is looked at.

use std::ffi::OsString;
use std::path::PathBuf;

use missiond_core::{CliEngine, LoginState};

/// Looks up a variable of the environment an agent would have.
pub type Variables<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// Whether an engine's CLI is logged in.
#[must_use]
pub fn login_state(engine: &CliEngine, variables: &Variables<'_>) -> LoginState {
    let (keys, files): (&[&str], _) = match engine {
        CliEngine::Claude => (
            &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
            ],
            vec![under(
                variables,
                "CLAUDE_CONFIG_DIR",
                ".claude",
                ".credentials.json",
            )],
        ),
        CliEngine::Codex => (
            &["OPENAI_API_KEY", "CODEX_API_KEY"],
            vec![under(variables, "CODEX_HOME", ".codex", "auth.json")],
        ),
        CliEngine::Gemini => (
            &[
                "GEMINI_API_KEY",
                "GOOGLE_API_KEY",
                "GOOGLE_GENAI_USE_VERTEXAI",
            ],
            vec![under(variables, "", ".gemini", "oauth_creds.json")],
        ),
        CliEngine::OpenCode => (
            &[],
            vec![under(
                variables,
                "XDG_DATA_HOME",
                ".local/share",
                "opencode/auth.json",
            )],
        ),
        CliEngine::Copilot => (
            &[
                "COPILOT_GITHUB_TOKEN",
                "GH_TOKEN",
                "GITHUB_TOKEN",
                "COPILOT_PROVIDER_BASE_URL",
            ],
            // Where it keeps its log-in is the system's.
            Vec::new(),
        ),
        CliEngine::Qwen => (
            &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
            vec![under(variables, "", ".qwen", "oauth_creds.json")],
        ),
        // Any of a hundred providers, by a variable or a file of its own.
        CliEngine::Aider | CliEngine::Other(_) => return LoginState::Unknown,
    };
    let set = |name: &&str| variables(name).is_some_and(|value| !value.is_empty());
    let there = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|found| found.len() > 0);
    if keys.iter().any(set) || files.iter().flatten().any(there) {
        return LoginState::Known;
    }
    // Some keep it with the system or in their settings, others work with models that
    // want none.
    let elsewhere = match engine {
        CliEngine::Claude => cfg!(target_os = "macos"),
        CliEngine::OpenCode | CliEngine::Copilot | CliEngine::Qwen => true,
        _ => false,
    };
    if elsewhere || files.iter().all(Option::is_none) {
        LoginState::Unknown
    } else {
        LoginState::Absent
    }
}

/// A file in the folder a variable names, or in one of the person's home.
fn under(variables: &Variables<'_>, named: &str, folder: &str, file: &str) -> Option<PathBuf> {
    let named = Some(named).filter(|named| !named.is_empty());
    let given = named
        .and_then(variables)
        .filter(|folder| !folder.is_empty());
    let folder = match given {
        Some(given) => PathBuf::from(given),
        None => PathBuf::from(variables("HOME")?).join(folder),
    };
    Some(folder.join(file))
}

/// The line that installs an engine's CLI.
#[must_use]
pub fn install_command(engine: &CliEngine) -> Option<&'static str> {
    match engine {
        CliEngine::Claude => Some("npm install -g @anthropic-ai/claude-code"),
        CliEngine::Codex => Some("npm install -g @openai/codex"),
        CliEngine::Gemini => Some("npm install -g @google/gemini-cli"),
        CliEngine::OpenCode => Some("npm install -g opencode-ai"),
        CliEngine::Copilot => Some("npm install -g @github/copilot"),
        CliEngine::Qwen => Some("npm install -g @qwen-code/qwen-code"),
        CliEngine::Aider => Some("pipx install aider-chat"),
        CliEngine::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_in_is_known_by_a_file_or_a_variable_and_absent_without() {
        let home = tempfile::tempdir().unwrap();
        let variables = |more: Option<&'static str>| {
            let home = home.path().as_os_str().to_owned();
            move |name: &str| match name {
                "HOME" => Some(home.clone()),
                name if Some(name) == more => Some("secret".into()),
                _ => None,
            }
        };
        let none = variables(None);
        assert_eq!(login_state(&CliEngine::Codex, &none), LoginState::Absent);
        assert_eq!(
            login_state(&CliEngine::OpenCode, &none),
            LoginState::Unknown
        );
        let other = "mytool".parse::<CliEngine>().unwrap();
        assert_eq!(login_state(&other, &none), LoginState::Unknown);
        let key = variables(Some("OPENAI_API_KEY"));
        assert_eq!(login_state(&CliEngine::Codex, &key), LoginState::Known);
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/auth.json"), "{}").unwrap();
        assert_eq!(login_state(&CliEngine::Codex, &none), LoginState::Known);
        assert_eq!(
            login_state(&CliEngine::Gemini, &|_| None),
            LoginState::Unknown,
            "without a home nobody can tell"
        );
    }
}
