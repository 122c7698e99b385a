//! Files that are shown to an agent with a message: looked at when the message is
//! accepted, read when it is delivered.

use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use missiond_journal::Text;
use missiond_journal::catalogue::limits;
use missiond_journal::record::Sender;
use missiond_runtime::blocking;
use missiond_slots::{Attachment, Picture};

use crate::error::ExecutionError;

/// More than anyone shows at once.
const MOST: usize = 16;
/// A picture that is sent is in one line, and a line has a bound.
const LARGEST: u64 = 5 << 20;

/// Files that may go with a message.
#[derive(Debug, Default)]
pub(super) struct AcceptedFiles(Vec<Text<{ limits::PATH }>>);

impl AcceptedFiles {
    pub(super) fn into_paths(self) -> Vec<Text<{ limits::PATH }>> {
        self.0
    }
}

/// Whether these can be shown; a sentence if not. Agents send each other words only: what
/// one may read is not thereby the other's to see.
pub(super) async fn accept(
    files: Vec<PathBuf>,
    from: &Sender,
) -> Result<AcceptedFiles, ExecutionError> {
    if files.is_empty() {
        return Ok(AcceptedFiles::default());
    }
    if from.is_agent() || *from == Sender::Unknown {
        let why = "an agent can send another one words, and no files";
        return Err(ExecutionError::Invalid(why.to_owned()));
    }
    if files.len() > MOST {
        let why = format!(
            "{} files are more than the {MOST} of one message",
            files.len()
        );
        return Err(ExecutionError::Invalid(why));
    }
    let checked = blocking(move || {
        files
            .iter()
            .map(|file| check(file))
            .collect::<Result<_, _>>()
    })
    .await;
    checked.map(AcceptedFiles).map_err(ExecutionError::Invalid)
}

fn check(file: &Path) -> Result<Text<{ limits::PATH }>, String> {
    let shown = file.display().to_string();
    let metadata = std::fs::metadata(file).map_err(|error| format!("{shown}: {error}"))?;
    if !metadata.is_file() {
        return Err(format!("{shown} is not a file"));
    }
    if mime_type(file).is_some() && metadata.len() > LARGEST {
        return Err(format!(
            "{shown} has {} bytes, and a picture may have {LARGEST}",
            metadata.len()
        ));
    }
    let path = file.to_str().and_then(|path| Text::new(path).ok());
    path.ok_or_else(|| format!("{shown} is not a path in text"))
}

/// What is shown, as it is now; a sentence if it cannot be read any more.
pub(super) async fn read(files: Vec<PathBuf>) -> Result<Vec<Attachment>, String> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    blocking(move || files.into_iter().map(attach).collect()).await
}

fn attach(path: PathBuf) -> Result<Attachment, String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = std::fs::File::open(&path).map_err(unreadable)?;
    let picture = match mime_type(&path) {
        Some(mime_type) => {
            let mut bytes = Vec::new();
            let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
            read.map_err(unreadable)?;
            if bytes.len() as u64 > LARGEST {
                return Err(format!("{} has become too large", path.display()));
            }
            let data = STANDARD.encode(&bytes);
            Some(Picture { mime_type, data })
        }
        None => None,
    };
    Ok(Attachment { path, picture })
}

/// Of the pictures that models take.
fn mime_type(path: &Path) -> Option<&'static str> {
    let kind = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match kind.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => return None,
    })
}
