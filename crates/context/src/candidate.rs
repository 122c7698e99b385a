//! Something an agent could be told, and where it comes from.

use missiond_core::Timestamp;

/// Where a candidate comes from, in the order in which room is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Where the agent runs, for which task, and who else works there.
    Environment,
    Skills,
    /// Of the knowledge base.
    Entries,
    /// What was said in earlier conversations about the project.
    History,
    /// What the repository defines.
    Map,
    /// CLAUDE.md, AGENTS.md and their like.
    Instructions,
}

impl Source {
    /// The first is given room first.
    pub const ALL: [Self; 6] = [
        Self::Environment,
        Self::Skills,
        Self::Entries,
        Self::History,
        Self::Map,
        Self::Instructions,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Skills => "skills",
            Self::Entries => "entries",
            Self::History => "history",
            Self::Map => "map",
            Self::Instructions => "instructions",
        }
    }

    /// What one candidate of it is called.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Skills => "skill",
            Self::Entries => "entry",
            Self::History => "conversation",
            Self::Map => "map",
            Self::Instructions => "file",
        }
    }

    /// How much of the budget it may take while others still want room, in
    /// percent. What is left over goes to whoever comes first.
    pub(crate) const fn share(self) -> usize {
        match self {
            Self::Environment | Self::Instructions => 100,
            Self::Skills => 25,
            Self::Entries | Self::Map => 40,
            Self::History => 30,
        }
    }
}

/// Whether a beginning is worth having.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// All of it or nothing.
    Whole,
    /// Its first lines will do.
    MayBeShortened,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub source: Source,
    /// What its source knows it by, where that is more than its title.
    pub id: Option<String>,
    /// What people call it.
    pub title: String,
    /// Who or what says so: an author, a path, a conversation.
    pub origin: String,
    /// When it was last known to be so.
    pub at: Option<Timestamp>,
    /// How much it has to do with what is asked, 0 to 1. Sources differ in how they
    /// know; what they call too little is below the same number.
    pub relevance: f32,
    pub text: String,
    pub length: Length,
    /// How the agent comes to it without us, if it does. Such a candidate is
    /// never given, and nothing that says the same is.
    pub known: Option<String>,
}
