//! Skills: SKILL.md files of the repository and of the user.
//!
//! A skill is a folder with such a file. An agent is told its name, what it is for
//! and where it is, as CLIs that know skills tell their models; it reads the rest
//! when it wants to.

use std::path::{Path, PathBuf};

use missiond_adapters::{NativeContext, adapter, known_engines};
use missiond_context::{Candidate, LARGEST_SKILL, Length, Skill, Source, estimated_tokens};
use missiond_core::{CliEngine, Timestamp};
use missiond_knowledge::{Corpus, Document, Mode, Paths, Profile, Reads, Request};
use missiond_runtime::blocking;

use super::error::BriefingError;
use super::working_directory::{WorkingDirectory, changed_at, read_bounded};

/// Where skills lie in a repository.
const FOLDERS: [&str; 6] = [
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".gemini/skills",
    ".opencode/skills",
    "skills",
];
/// And below the home folder.
const HOME_FOLDERS: [&str; 5] = [
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".gemini/skills",
    ".config/opencode/skills",
];

/// Files that are read; one more is not looked at.
const MOST_SKILLS: usize = 200;
/// Skills an agent is told of.
const MOST_TOLD: usize = 8;

/// The skills that can be seen from a folder.
#[derive(Debug, Clone)]
pub struct SkillListing {
    pub skills: Vec<ListedSkill>,
    pub refused: Vec<RefusedSkill>,
    /// More were there than are looked at.
    pub more: bool,
}

#[derive(Debug, Clone)]
pub struct ListedSkill {
    pub file: SkillFile,
    /// The engines whose CLIs read it by themselves.
    pub read_by: Vec<CliEngine>,
}

#[derive(Debug, Clone)]
pub struct SkillFile {
    pub skill: Skill,
    pub path: PathBuf,
    pub changed_at: Option<Timestamp>,
    /// Of the whole file, estimated.
    pub tokens: usize,
}

/// A file that is no skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSkill {
    pub path: PathBuf,
    pub reason: String,
}

/// What was found, and what was found that is no skill.
#[derive(Debug, Default)]
struct FoundSkills {
    skills: Vec<SkillFile>,
    refused: Vec<RefusedSkill>,
    more: bool,
}

pub(super) async fn list(cwd: PathBuf) -> Result<SkillListing, BriefingError> {
    blocking(move || {
        let directory = WorkingDirectory::of(&cwd).map_err(BriefingError::Folder)?;
        Ok(listing(search(&directory), &directory))
    })
    .await
}

fn listing(found: FoundSkills, directory: &WorkingDirectory) -> SkillListing {
    let read_by = |file: &SkillFile| {
        let reads = |engine: &&CliEngine| {
            let own = adapter(engine).native_context();
            reads(&own, &file.path, directory)
        };
        known_engines().iter().filter(reads).cloned().collect()
    };
    let listed = |file: SkillFile| ListedSkill {
        read_by: read_by(&file),
        file,
    };
    SkillListing {
        skills: found.skills.into_iter().map(listed).collect(),
        refused: found.refused,
        more: found.more,
    }
}

/// Blocks.
fn search(directory: &WorkingDirectory) -> FoundSkills {
    let mut found = FoundSkills::default();
    for folder in directory.upwards() {
        for below in FOLDERS {
            find_skills_in(&folder.join(below), &mut found);
        }
    }
    if let Some(home) = home() {
        for below in HOME_FOLDERS {
            find_skills_in(&home.join(below), &mut found);
        }
    }
    found
}

fn home() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    home.is_absolute().then_some(home)
}

fn find_skills_in(folder: &Path, found: &mut FoundSkills) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let left = MOST_SKILLS.saturating_sub(found.skills.len() + found.refused.len());
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .take(4 * MOST_SKILLS)
        .map(|entry| entry.path().join("SKILL.md"))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    found.more |= files.len() > left;
    for path in files.into_iter().take(left) {
        // One folder may be a link to another.
        let path = path.canonicalize().unwrap_or(path);
        if found.skills.iter().any(|other| other.path == path) {
            continue;
        }
        let text = read_bounded(&path, LARGEST_SKILL);
        let read = text.and_then(|text| {
            let skill = Skill::parse(&text).map_err(|error| error.to_string())?;
            Ok((skill, estimated_tokens(&text)))
        });
        match read {
            Ok((skill, tokens)) => found.skills.push(SkillFile {
                skill,
                changed_at: changed_at(&path),
                path,
                tokens,
            }),
            Err(reason) => found.refused.push(RefusedSkill { path, reason }),
        }
    }
}

/// The skills that have to do with what the agent is asked. Blocks.
pub(super) fn candidates(
    engine: &CliEngine,
    directory: &WorkingDirectory,
    query: &str,
    now: Timestamp,
) -> (Vec<Candidate>, Option<String>) {
    let own = adapter(engine).native_context();
    let found = search(directory);
    let ranked = ranked(&found.skills, query, now);
    let candidates = ranked.into_iter().map(|(at, relevance)| {
        let SkillFile { skill, path, .. } = &found.skills[at];
        Candidate {
            id: None,
            source: Source::Skills,
            title: skill.name.clone(),
            origin: directory.relative(path),
            at: found.skills[at].changed_at,
            relevance,
            text: format!("{}\nHow: {}", skill.description, path.display()),
            length: Length::Whole,
            known: reads(&own, path, directory).then(|| format!("{engine} knows it by itself")),
        }
    });
    let notice = (!found.refused.is_empty()).then(|| {
        format!(
            "{} not readable as skills: `mission skill list` says why",
            counted(found.refused.len(), "file is", "files are")
        )
    });
    (candidates.collect(), notice)
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The skills that fit a query, with how well.
fn ranked(skills: &[SkillFile], query: &str, now: Timestamp) -> Vec<(usize, f32)> {
    let documents = skills.iter().enumerate().map(|(at, found)| {
        let name = found.skill.name.replace(['-', '_'], " ");
        let document = Document {
            id: at.to_string(),
            text: format!("{name}\n{}", found.skill.description),
            category: Default::default(),
            scope: None,
            at: now,
            position: None,
            spoken_day: None,
        };
        (document, None)
    });
    let corpus = Corpus::of(documents.collect(), None, None);
    let profile = Profile::best();
    let answer = corpus.search(&Request {
        query,
        vector: None,
        model_reads: Reads::Everything,
        profile: &profile,
        paths: Paths::Keyword,
        mode: Mode::Relevance,
        now,
        scope: None,
        categories: &[],
        limit: MOST_TOLD,
        offset: 0,
    });
    let hits = answer.hits.iter();
    hits.filter(|hit| hit.snippet.has_content_match())
        .filter_map(|hit| Some((hit.id.parse().ok()?, hit.scores.relevance)))
        .collect()
}

/// Whether a CLI finds a skill of this path without us.
fn reads(own: &NativeContext, path: &Path, directory: &WorkingDirectory) -> bool {
    let here = directory
        .upwards()
        .iter()
        .flat_map(|folder| own.skills.iter().map(|below| folder.join(below)))
        .any(|folder| path.starts_with(folder));
    let at_home = || {
        let home = home();
        let mut folders = own.home_skills.iter();
        home.is_some_and(|home| folders.any(|below| path.starts_with(home.join(below))))
    };
    here || at_home()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let file = root.join(path).join("SKILL.md");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    #[test]
    fn skills_are_chosen_by_what_they_are_for() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        let skill =
            |name: &str, about: &str| format!("---\nname: {name}\ndescription: {about}\n---\nDo.");
        let release = skill("release-notes", "Writes release notes before a tag");
        write(&root, ".claude/skills/release-notes", &release);
        write(
            &root,
            "skills/paint",
            &skill("paint", "Draws pictures of cats"),
        );
        write(&root, "skills/broken", "no front matter");
        let directory = WorkingDirectory::of(&root).unwrap();
        let claude = CliEngine::Claude;
        let now = Timestamp::from_micros(0);
        let (told, notice) = candidates(&claude, &directory, "write the release notes", now);
        let named = |one: &Candidate| (one.title.clone(), one.known.is_some());
        let named: Vec<_> = told.iter().map(named).collect();
        assert_eq!(named, [("release-notes".to_owned(), true)]);
        assert!(notice.unwrap().starts_with("1 file is"));
        let (told, _) = candidates(
            &CliEngine::Codex,
            &directory,
            "write the release notes",
            now,
        );
        assert!(told[0].known.is_none());
        assert!(
            told[0]
                .text
                .starts_with("Writes release notes before a tag\nHow: /")
        );
    }
}
