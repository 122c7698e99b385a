//! The person's own transcripts, in the home folders of the agent CLIs: those
//! that were led in folders the configuration names, and no others. A look that
//! finds nothing new costs the listing of the folders; files are opened only
//! when their stamp has changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use missiond_adapters::{PersonalTranscript, Stamp, adapter, known_engines};
use missiond_core::CliEngine;
use missiond_runtime::blocking;
use missiond_store::conversations::Links;

use super::ingest::Source;
use super::project::project_of;
use super::{ConversationError, Conversations};

/// Pieces that are read in one look; the rest waits for the next, so that
/// executions are not kept waiting.
const PIECES: usize = 64;

/// What is known of the person's transcripts.
#[derive(Debug, Default)]
pub(super) struct OwnSources {
    known: HashMap<String, KnownTranscript>,
    /// The folders they were judged by.
    folders: Vec<PathBuf>,
}

#[derive(Debug)]
struct KnownTranscript {
    /// With this stamp it was read to its end.
    read: Option<Stamp>,
    /// None when it is not to be taken in.
    source: Option<Source>,
}

/// How far a scan of the transcripts came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanProgress {
    Complete,
    More,
}

impl Conversations {
    pub(super) async fn follow_own(
        &self,
        own: &mut OwnSources,
    ) -> Result<ScanProgress, ConversationError> {
        let named = self.inner.config.borrow().conversations.projects.clone();
        if named.is_empty() {
            own.known.clear();
            return Ok(ScanProgress::Complete);
        }
        let (folders, found) = blocking(move || (folders(&named), listing())).await;
        if folders != own.folders {
            own.known.clear();
            own.folders = folders;
        }
        let mut pieces = 0;
        for (engine, transcript) in found {
            let name = transcript.tail.source();
            let stamp = transcript.stamp;
            match own.known.get(&name) {
                Some(known) if known.read == Some(stamp) => continue,
                // Where a conversation was led does not change; but what it is may
                // not have been written yet.
                Some(known) if known.source.is_some() => {}
                _ => {
                    let folders = own.folders.clone();
                    let source = blocking(move || judged(engine, &transcript, &folders)).await;
                    own.known
                        .insert(name.clone(), KnownTranscript { read: None, source });
                }
            }
            let Some(known) = own.known.get_mut(&name) else {
                continue;
            };
            if let Some(source) = known.source.clone() {
                while self.advance(&source).await? {
                    pieces += 1;
                    if pieces >= PIECES {
                        return Ok(ScanProgress::More);
                    }
                }
            }
            known.read = Some(stamp);
        }
        Ok(ScanProgress::Complete)
    }
}

/// Every transcript there is. Blocks.
fn listing() -> Vec<(CliEngine, PersonalTranscript)> {
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    known_engines()
        .iter()
        .flat_map(|engine| {
            let found = adapter(engine).personal_transcripts(&environment);
            found
                .into_iter()
                .map(move |transcript| (engine.clone(), transcript))
        })
        .collect()
}

/// What a transcript is, when it is to be taken in. Blocks.
fn judged(
    engine: CliEngine,
    transcript: &PersonalTranscript,
    folders: &[PathBuf],
) -> Option<Source> {
    let about = adapter(&engine).origin(&transcript.tail)?;
    let project = project_of(&about.cwd);
    let real = about.cwd.canonicalize().unwrap_or(about.cwd.clone());
    let inside =
        |folder: &PathBuf| real.starts_with(folder) || Path::new(&project).starts_with(folder);
    folders.iter().any(inside).then(|| Source {
        engine,
        session: about.conversation,
        tail: transcript.tail.clone(),
        cwd: about.cwd,
        project,
        links: Links::default(),
    })
}

/// The folders that the configuration names. Blocks.
fn folders(named: &[String]) -> Vec<PathBuf> {
    let home = std::env::var("HOME").unwrap_or_default();
    let folder = |name: &String| {
        let folder = match name.strip_prefix("~/") {
            Some(below) => Path::new(&home).join(below),
            None if name == "~" => PathBuf::from(&home),
            None => PathBuf::from(name),
        };
        folder.canonicalize().unwrap_or(folder)
    };
    named.iter().map(folder).collect()
}
