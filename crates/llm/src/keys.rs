//! Keys of providers: read where they are kept when they are needed, held for a short
//! time, never stored and never shown.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use missiond_runtime::blocking;
use parking_lot::Mutex;
use tokio::io::AsyncReadExt;

/// No key is longer.
const LONGEST: u64 = 16 << 10;

/// A key that was changed is taken up after this time, or when the provider refuses the
/// old one.
const HELD: Duration = Duration::from_secs(60);

const COMMAND_LIMIT: Duration = Duration::from_secs(20);

/// Where a key is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    None,
    File(PathBuf),
    /// A program and its arguments.
    Command(Vec<String>),
    /// A variable of the daemon's environment.
    Variable(String),
}

/// A key. It shows itself to nobody who does not ask for it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// A text of somebody who was shown the key, without it.
    pub(crate) fn taken_out_of(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

#[derive(Debug, Default)]
pub(crate) struct Keys {
    held: Mutex<HashMap<String, (Key, Instant)>>,
}

impl Keys {
    /// The key of a provider; none where it wants none. The error is the end of a
    /// sentence about the key.
    pub(crate) async fn key(
        &self,
        provider: &str,
        source: &KeySource,
    ) -> Result<Option<Key>, String> {
        if *source == KeySource::None {
            return Ok(None);
        }
        let now = Instant::now();
        if let Some((key, until)) = self.held.lock().get(provider)
            && *until > now
        {
            return Ok(Some(key.clone()));
        }
        let key = read(source).await?;
        let held = (key.clone(), now + HELD);
        self.held.lock().insert(provider.to_owned(), held);
        Ok(Some(key))
    }

    pub(crate) fn forget(&self, provider: &str) {
        self.held.lock().remove(provider);
    }

    pub(crate) fn forget_all(&self) {
        self.held.lock().clear();
    }
}

async fn read(source: &KeySource) -> Result<Key, String> {
    let text = match source {
        KeySource::None => return Err("is not wanted".to_owned()),
        KeySource::File(file) => {
            let place = file.clone();
            blocking(move || of_file(&place))
                .await
                .map_err(|error| format!("in {} cannot be used: {error}", file.display()))?
        }
        KeySource::Variable(name) => std::env::var(name)
            .map_err(|_| format!("is in the variable {name}, which the daemon has not"))?,
        KeySource::Command(words) => of_command(words).await?,
    };
    let key = text.trim();
    if key.is_empty() || key.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err("is not one word".to_owned());
    }
    Ok(Key(key.to_owned()))
}

fn of_file(file: &Path) -> std::io::Result<String> {
    let opened = std::fs::File::open(file)?;
    if opened.metadata()?.mode() & 0o077 != 0 {
        return Err(std::io::Error::other(
            "others can read it: `chmod 600` makes it yours alone",
        ));
    }
    std::io::read_to_string(opened.take(LONGEST))
}

/// What it says on its error output is its own: a key may be in it.
async fn of_command(words: &[String]) -> Result<String, String> {
    let Some((program, args)) = words.split_first() else {
        return Err("has an empty command".to_owned());
    };
    let failed = |why: String| format!("was not told by `{program}`: {why}");
    let mut child = tokio::process::Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let output = child.stdout.take();
    let run = async {
        let mut text = String::new();
        if let Some(output) = output {
            output.take(LONGEST).read_to_string(&mut text).await?;
        }
        Ok::<_, std::io::Error>((child.wait().await?, text))
    };
    match tokio::time::timeout(COMMAND_LIMIT, run).await {
        Ok(Ok((status, text))) if status.success() => Ok(text),
        Ok(Ok((status, _))) => Err(failed(status.to_string())),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!(
            "no answer within {} s",
            COMMAND_LIMIT.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_key_is_read_where_it_is_kept_and_shown_to_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "sk-of-a-file\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        let keys = Keys::default();
        let source = KeySource::File(file.clone());
        let refused = keys.key("p", &source).await.unwrap_err();
        assert!(refused.contains("others can read it"), "{refused}");
        mode(0o600);
        let key = keys.key("p", &source).await.unwrap().unwrap();
        assert_eq!(key.reveal(), "sk-of-a-file");
        assert!(!format!("{key:?}{keys:?}").contains("sk-of"));
        assert_eq!(key.taken_out_of("bad key sk-of-a-file!"), "bad key [key]!");

        let command =
            |text: &str| KeySource::Command(["sh", "-c", text].map(str::to_owned).to_vec());
        let told = keys
            .key("q", &command("echo sk-of-a-command"))
            .await
            .unwrap();
        assert_eq!(told.unwrap().reveal(), "sk-of-a-command");
        let failed = keys
            .key("r", &command("echo secret >&2; exit 3"))
            .await
            .unwrap_err();
        assert!(
            failed.contains("exit status: 3") && !failed.contains("secret"),
            "{failed}"
        );
        let many = keys.key("s", &command("echo two words")).await.unwrap_err();
        assert_eq!(many, "is not one word");
        let unset = KeySource::Variable("MISSION_NO_SUCH_KEY".to_owned());
        assert!(
            keys.key("t", &unset)
                .await
                .unwrap_err()
                .contains("MISSION_NO_SUCH_KEY")
        );
        assert_eq!(keys.key("u", &KeySource::None).await, Ok(None));
    }
}
