//! What agents are told beside their first prompt.

use missiond_context::Source;
use missiond_core::ContextTokens;

use crate::keys::section;

section! {
    #[derive(Eq)]
    pub struct ContextConfig: "context." {
        /// Whether agents are told what is known beside their first prompt.
        live enabled: bool = true;
        /// Tokens of what an agent is told beside its first prompt at most; estimated on
        /// the safe side.
        live tokens: u32 = 4000, in 100..=ContextTokens::LARGEST.to_u32();
        /// How much an entry or a conversation must have to do with what is asked to be
        /// told, in hundredths; 0 tells whatever is found.
        live relevance: u32 = 25, in 0..=100;
        /// Milliseconds the start of an agent waits for what there is to tell; a source
        /// that takes longer is left out.
        live deadline_ms: u64 = 1500, in 10..=20_000;
        /// Days for which it is kept what agents were told.
        live keep_days: u32 = 90, in 1..=3650;
        /// Tell agents where they run, for which task, and who else works there.
        live environment: bool = true;
        /// Tell agents of skills (SKILL.md) that fit what they are asked.
        live skills: bool = true;
        /// Tell agents the entries of the knowledge base that fit what they are asked.
        live entries: bool = true;
        /// Tell agents what was said about it in earlier conversations in their project.
        live history: bool = true;
        /// Tell agents what their repository defines; the first time, it is read for
        /// that.
        live map: bool = true;
        /// Tell agents what stands in AGENTS.md, CLAUDE.md and their like, unless their
        /// CLI reads it by itself.
        live instructions: bool = true;
    }
}

impl ContextConfig {
    /// Whether a source is asked.
    pub const fn asks(&self, source: Source) -> bool {
        match source {
            Source::Environment => self.environment,
            Source::Skills => self.skills,
            Source::Entries => self.entries,
            Source::History => self.history,
            Source::Map => self.map,
            Source::Instructions => self.instructions,
        }
    }
}
