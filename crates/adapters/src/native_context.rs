//! What a CLI reads by itself: its instruction files and skills. What an agent
//! has that way need not be told to it again.

/// From the folder it starts in up to the root of the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeContext {
    pub files: InstructionFiles,
    /// A file may take in another by a word `@path`.
    pub imports: bool,
    /// Folders of skills in a repository.
    pub skills: &'static [&'static str],
    /// The same below the home folder.
    pub home_skills: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionFiles {
    /// Every one there is.
    All(&'static [&'static str]),
    /// Those of the first name there is.
    FirstOf(&'static [&'static str]),
}

impl NativeContext {
    pub const NONE: Self = Self {
        files: InstructionFiles::All(&[]),
        imports: false,
        skills: &[],
        home_skills: &[],
    };

    /// Whether a file of this name is read, when there are files of these names.
    #[must_use]
    pub fn reads_file(&self, name: &str, there: &[&str]) -> bool {
        match self.files {
            InstructionFiles::All(names) => names.contains(&name),
            InstructionFiles::FirstOf(names) => {
                let first = names.iter().find(|first| there.contains(first));
                first.is_some_and(|first| *first == name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::adapter;

    #[test]
    fn each_cli_reads_its_own_files() {
        let reads = |engine: &str, name, there: &[&str]| {
            let adapter = adapter(&engine.parse().unwrap());
            adapter.native_context().reads_file(name, there)
        };
        let both = ["AGENTS.md", "CLAUDE.md"];
        assert!(reads("claude", "CLAUDE.md", &both));
        assert!(!reads("claude", "AGENTS.md", &both));
        assert!(reads("codex", "AGENTS.md", &both));
        assert!(!reads("gemini", "AGENTS.md", &both));
        assert!(reads("opencode", "AGENTS.md", &both));
        assert!(!reads("opencode", "CLAUDE.md", &both));
        assert!(reads("opencode", "CLAUDE.md", &["CLAUDE.md"]));
        assert!(!reads("rehearsal", "CLAUDE.md", &both));
    }
}
