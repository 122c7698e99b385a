//! CLAUDE.md, AGENTS.md and their like, from the folder of the agent up to the
//! root of its repository. What the agent's CLI reads by itself is noted as such.

use std::path::PathBuf;

use missiond_adapters::NativeContext;
use missiond_context::{Candidate, Length, Source};
use missiond_core::CliEngine;

use super::working_directory::{WorkingDirectory, changed_at, read_bounded};

/// The files people write for agents.
const NAMES: [&str; 6] = [
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "GEMINI.md",
];

/// A longer one is left out.
const LONGEST_FILE: usize = 128 * 1024;

struct InstructionFile {
    name: &'static str,
    path: PathBuf,
    text: String,
}

/// Blocks. What cannot be read is named with the reason.
pub(super) fn instructions(
    engine: &CliEngine,
    own: &NativeContext,
    directory: &WorkingDirectory,
) -> (Vec<Candidate>, Vec<String>) {
    let (mut found, mut troubles) = (Vec::new(), Vec::new());
    for folder in directory.upwards() {
        for name in NAMES {
            let path = folder.join(name);
            if !path.exists() {
                continue;
            }
            match read_bounded(&path, LONGEST_FILE) {
                Ok(text) => found.push(InstructionFile { name, path, text }),
                Err(why) => troubles.push(format!("{}: {why}", directory.relative(&path))),
            }
        }
    }
    let there: Vec<&str> = found.iter().map(|file| file.name).collect();
    let reads = |file: &&InstructionFile| own.reads_file(file.name, &there);
    let imported: Vec<PathBuf> = found
        .iter()
        .filter(reads)
        .filter(|_| own.imports)
        .flat_map(imports)
        .collect();
    let depth = found.len().max(1) as f32;
    let candidates = found.iter().enumerate().map(|(at, file)| {
        let known = if reads(&file) {
            Some(format!("{engine} reads it by itself"))
        } else if imported.contains(&file.path) {
            Some(format!("a file that {engine} reads by itself takes it in"))
        } else {
            None
        };
        Candidate {
            id: None,
            source: Source::Instructions,
            title: file.name.to_owned(),
            origin: directory.relative(&file.path),
            at: changed_at(&file.path),
            // The nearest first.
            relevance: 1.0 - at as f32 / (2.0 * depth),
            text: file.text.clone(),
            length: Length::MayBeShortened,
            known,
        }
    });
    (candidates.collect(), troubles)
}

/// The files that one takes in by a word `@path`.
fn imports(file: &InstructionFile) -> Vec<PathBuf> {
    let Some(folder) = file.path.parent() else {
        return Vec::new();
    };
    let words = file.text.split_whitespace();
    words
        .filter_map(|word| word.strip_prefix('@'))
        .map(|path| folder.join(path.trim_start_matches("./").trim_end_matches(['.', ','])))
        .collect()
}

#[cfg(test)]
mod tests {
    use missiond_adapters::adapter;

    use super::*;

    fn known(engine: &str, directory: &WorkingDirectory) -> Vec<(String, bool)> {
        let engine: CliEngine = engine.parse().unwrap();
        let own = adapter(&engine).native_context();
        let (candidates, troubles) = instructions(&engine, &own, directory);
        assert!(troubles.is_empty(), "{troubles:?}");
        let of = |one: Candidate| (one.origin, one.known.is_some());
        candidates.into_iter().map(of).collect()
    }

    #[test]
    fn each_cli_is_told_what_it_does_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(root.join("CLAUDE.md"), "Rules of the root.\n").unwrap();
        std::fs::write(root.join("AGENTS.md"), "Rules for all.\n").unwrap();
        std::fs::write(root.join("src/AGENTS.md"), "Rules of src.\n").unwrap();
        let directory = WorkingDirectory::of(&root.join("src")).unwrap();
        let expected = |src, agents, claude| {
            [
                ("src/AGENTS.md".to_owned(), src),
                ("AGENTS.md".to_owned(), agents),
                ("CLAUDE.md".to_owned(), claude),
            ]
        };
        assert_eq!(known("claude", &directory), expected(false, false, true));
        assert_eq!(known("codex", &directory), expected(true, true, false));
        assert_eq!(known("opencode", &directory), expected(true, true, false));
        assert_eq!(known("gemini", &directory), expected(false, false, false));
        std::fs::write(root.join("CLAUDE.md"), "See @AGENTS.md.\n").unwrap();
        assert_eq!(known("claude", &directory), expected(false, true, true));
    }
}
