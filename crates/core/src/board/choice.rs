//! The small choices of a task: how urgent it is, where its agent works, and
//! what becomes of the work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The text is none of the words the choice has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}: use {words}")]
pub struct UnknownChoice {
    what: &'static str,
    words: &'static str,
    text: String,
}

macro_rules! choice {
    (
        $(#[$doc:meta])* $name:ident, $what:literal, $words:literal,
        { $($(#[$of:meta])* $variant:ident = $text:literal),* $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize,
            Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$of])* $variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            fn unknown(text: &str) -> UnknownChoice {
                UnknownChoice {
                    what: $what,
                    words: $words,
                    text: text.chars().take(64).collect(),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

choice! {
    /// How soon a task is wanted.
    Priority, "a priority", "urgent, high, normal or low (or P0 to P3)",
    { Urgent = "urgent", High = "high", #[default] Normal = "normal", Low = "low" }
}

choice! {
    /// Where the agent works.
    Isolation, "a kind of isolation", "worktree, shared or none",
    {
        /// A git worktree of its own.
        #[default] Worktree = "worktree",
        /// The repository's own tree.
        Shared = "shared",
        /// No repository.
        None = "none",
    }
}

choice! {
    /// What becomes of verified work.
    Finish, "a way to finish", "merge, squash, rebase, branch, patch or pull_request",
    {
        #[default] Merge = "merge",
        Squash = "squash",
        Rebase = "rebase",
        /// The branch is left for somebody to take.
        Branch = "branch",
        /// A patch file, and the branch is left.
        Patch = "patch",
        /// Pushed, with a pull request.
        PullRequest = "pull_request",
    }
}

// Its words say it all, and agents read them with every task they add.
choice! {
    ReviewGate, "a kind of review", "merge_at_once or after_approval",
    {
        #[default] MergeAtOnce = "merge_at_once",
        AfterApproval = "after_approval",
    }
}

impl Priority {
    /// 0 for the most urgent; the order in the store.
    #[must_use]
    pub const fn level(self) -> i64 {
        self as i64
    }

    #[must_use]
    pub fn from_level(level: i64) -> Option<Self> {
        Self::ALL.get(usize::try_from(level).ok()?).copied()
    }
}

impl std::str::FromStr for Priority {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        match text.to_ascii_lowercase().as_str() {
            "urgent" | "p0" => Ok(Self::Urgent),
            "high" | "p1" => Ok(Self::High),
            "normal" | "p2" => Ok(Self::Normal),
            "low" | "p3" => Ok(Self::Low),
            _ => Err(Self::unknown(text)),
        }
    }
}

/// A choice that is read by its words alone, which on a command line are joined by a
/// hyphen as often as not.
macro_rules! read_by_word {
    ($($name:ident),*) => {
        $(impl std::str::FromStr for $name {
            type Err = UnknownChoice;

            fn from_str(text: &str) -> Result<Self, UnknownChoice> {
                let word = text.replace('-', "_");
                let mut named = Self::ALL.iter().filter(|choice| choice.as_str() == word);
                named.next().copied().ok_or_else(|| Self::unknown(text))
            }
        })*
    };
}

read_by_word!(Isolation, Finish, ReviewGate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_reads_back_from_its_word() {
        for &priority in Priority::ALL {
            assert_eq!(priority.as_str().parse(), Ok(priority));
            assert_eq!(Priority::from_level(priority.level()), Some(priority));
            assert_eq!(
                serde_json::to_value(priority).unwrap(),
                priority.as_str(),
                "the stored and the sent word are one"
            );
        }
        for &isolation in Isolation::ALL {
            assert_eq!(isolation.as_str().parse(), Ok(isolation));
        }
        for &finish in Finish::ALL {
            assert_eq!(finish.as_str().parse(), Ok(finish));
        }
        for &gate in ReviewGate::ALL {
            assert_eq!(gate.as_str().parse(), Ok(gate));
        }
        assert_eq!("P0".parse(), Ok(Priority::Urgent));
        assert_eq!("pull-request".parse(), Ok(Finish::PullRequest));
    }

    #[test]
    fn another_word_is_answered_with_the_words_there_are() {
        let error = "asap".parse::<Priority>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`asap` is not a priority: use urgent, high, normal or low (or P0 to P3)"
        );
    }
}
