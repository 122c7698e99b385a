//! What a finding means for the one who reads it, and what to do.

use super::Finding;

impl Finding {
    /// A stable name, for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BadLine { .. } => "bad_line",
            Self::BadHash { .. } => "bad_hash",
            Self::BrokenChain { .. } => "broken_chain",
            Self::Missing { .. } => "missing",
            Self::NoBeginning => "no_beginning",
            Self::WrongExecution { .. } => "wrong_execution",
            Self::Inconsistent { .. } => "inconsistent",
            Self::EndMissing { .. } => "end_missing",
            Self::AnotherEnd { .. } => "another_end",
            Self::NoAnchor => "no_head",
            Self::Unfinished { .. } => "unfinished",
        }
    }

    #[must_use]
    pub const fn meaning(&self) -> &'static str {
        match self {
            Self::BadLine { .. } => {
                "the line was changed after it was written, by a fault of the disk or by hand; \
                 what it said is not to be trusted"
            }
            Self::BadHash { .. } => {
                "the record was rewritten on purpose: its checksum was made to fit, its place in \
                 the chain was not"
            }
            Self::BrokenChain { .. } => {
                "records were put in another order, or one was replaced; each holds the hash of \
                 the one before it"
            }
            Self::Missing { .. } => "records that were acknowledged have been removed",
            Self::NoBeginning => {
                "the first records were removed; whose journal this is cannot be told from it"
            }
            Self::WrongExecution { .. } => "the file was renamed, or belongs to another execution",
            Self::Inconsistent { .. } => {
                "the records are whole but cannot have happened like this; report it as a fault \
                 of missiond"
            }
            Self::EndMissing { .. } => {
                "records that were acknowledged have been cut off; the journal is not opened for \
                 writing until it is restored from a backup"
            }
            Self::AnotherEnd { .. } => {
                "the whole chain was written anew: it is consistent in itself, but it is not what \
                 was acknowledged"
            }
            Self::NoAnchor => {
                "the file beside the journal that remembers its end is gone, so a missing end \
                 could not be noticed; restore it from a backup"
            }
            Self::Unfinished { .. } => {
                "a crash interrupted a write that nobody had been told of; nothing acknowledged \
                 is lost"
            }
        }
    }
}
