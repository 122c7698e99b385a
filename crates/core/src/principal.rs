//! Who asks. Every call has a principal, and it is derived from the connection the call
//! came on: never from a parameter, a name or an environment that the caller chose.
//!
//! What cannot be told apart is [`Principal::Untold`], which may least.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AccessId, ExecutionId, SlotId};

/// Who asks for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The person whose daemon it is: at a terminal outside every slot, or on a page that
    /// is logged in.
    Person,
    /// A program that shows a token.
    Program { access: AccessId, scopes: Scopes },
    /// A model that a person runs themselves, outside every slot, and that speaks MCP.
    Commander,
    /// The program of a slot, and everything that comes of it.
    Agent {
        slot: SlotId,
        execution: Option<ExecutionId>,
    },
    /// What comes of an external MCP server.
    ToolServer,
    /// A part of the daemon, acting by itself.
    Daemon { component: &'static str },
    /// Nobody can say: what the daemon started and is no agent, a check of a task for
    /// instance, and whoever's process could not be looked at.
    Untold,
}

impl Principal {
    /// The kind, in one word.
    #[must_use]
    pub const fn kind(&self) -> PrincipalKind {
        match self {
            Self::Person => PrincipalKind::Person,
            Self::Program { .. } => PrincipalKind::Program,
            Self::Commander => PrincipalKind::Commander,
            Self::Agent { .. } => PrincipalKind::Agent,
            Self::ToolServer => PrincipalKind::ToolServer,
            Self::Daemon { .. } => PrincipalKind::Daemon,
            Self::Untold => PrincipalKind::Untold,
        }
    }

    #[must_use]
    pub const fn is_person(&self) -> bool {
        matches!(self, Self::Person)
    }

    /// The slot whose program asks.
    #[must_use]
    pub const fn slot(&self) -> Option<SlotId> {
        match self {
            Self::Agent { slot, .. } => Some(*slot),
            _ => None,
        }
    }

    /// The run whose agent asks.
    #[must_use]
    pub const fn execution(&self) -> Option<ExecutionId> {
        match self {
            Self::Agent { execution, .. } => *execution,
            _ => None,
        }
    }

    /// As journals, rules and the timeline name who did something.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Program { .. } => "program",
            Self::Commander | Self::Agent { .. } => "agent",
            Self::ToolServer => "tool server",
            Self::Daemon { component } => component,
            Self::Untold => "unknown process",
        }
    }

    /// The name with what somebody says of themselves beside it, which is a note and
    /// proves nothing.
    #[must_use]
    pub fn with_note(&self, note: Option<&str>) -> String {
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        match note.filter(|note| *note != self.name()) {
            Some(note) => format!("{} ({note})", self.name()),
            None => self.name().to_owned(),
        }
    }
}

/// In full, for the log and the timeline.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { access, .. } => write!(f, "program {access}"),
            Self::Commander => f.write_str("a person's own agent"),
            Self::Agent { slot, .. } => write!(f, "agent {slot}"),
            other => f.write_str(other.name()),
        }
    }
}

/// The kinds of principal there are.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    Person,
    Program,
    Commander,
    Agent,
    ToolServer,
    Daemon,
    Untold,
}

impl PrincipalKind {
    pub const ALL: [Self; 7] = [
        Self::Person,
        Self::Program,
        Self::Commander,
        Self::Agent,
        Self::ToolServer,
        Self::Daemon,
        Self::Untold,
    ];
}

/// What a token lets a program do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Look at everything.
    Read,
    /// Put work on the board, run agents and speak to them, remember things.
    Work,
    /// Start programs in terminals, and write into those.
    Terminals,
    /// Keep house: forget and tidy, worktrees that hold nothing, indexes.
    Manage,
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::Read, Self::Work, Self::Terminals, Self::Manage];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Work => "work",
            Self::Terminals => "terminals",
            Self::Manage => "manage",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scopes(u8);

impl Scopes {
    pub const NONE: Self = Self(0);
    /// All there are.
    pub const EVERY: Self =
        Self(Scope::Read.bit() | Scope::Work.bit() | Scope::Terminals.bit() | Scope::Manage.bit());

    #[must_use]
    pub const fn with(self, scope: Scope) -> Self {
        Self(self.0 | scope.bit())
    }

    #[must_use]
    pub const fn has(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }
}

impl Scopes {
    /// Those it has, in their order.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.has(*scope))
    }
}

/// Their names with commas between them.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, scope) in self.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{scope}")?;
        }
        Ok(())
    }
}

/// No scope is called that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scope; there are read, work, terminals and manage")]
pub struct UnknownScope(String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == name);
        found.ok_or_else(|| UnknownScope(name.chars().take(64).collect()))
    }
}

impl FromStr for Scopes {
    type Err = UnknownScope;

    fn from_str(names: &str) -> Result<Self, UnknownScope> {
        let names = names.split(',').filter(|name| !name.is_empty());
        names.map(str::parse).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_says_of_themselves_stays_a_note() {
        let person = Principal::Person;
        assert_eq!(person.with_note(None), "person");
        assert_eq!(person.with_note(Some(" ")), "person");
        assert_eq!(person.with_note(Some("person")), "person");
        assert_eq!(person.with_note(Some("alice")), "person (alice)");
        let agent = Principal::Commander;
        assert_eq!(agent.with_note(Some("person")), "agent (person)");
    }

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let some: Scopes = [Scope::Read, Scope::Manage].into_iter().collect();
        let has: Vec<_> = Scope::ALL
            .into_iter()
            .filter(|one| some.has(*one))
            .collect();
        assert_eq!(has, [Scope::Read, Scope::Manage]);
        assert_eq!(Scope::ALL.into_iter().collect::<Scopes>(), Scopes::EVERY);
        assert!(Scope::ALL.iter().all(|scope| !Scopes::NONE.has(*scope)));
        assert_eq!(some.to_string(), "read,manage");
        assert_eq!("read,manage".parse(), Ok(some));
        assert_eq!("".parse(), Ok(Scopes::NONE));
        assert!("read,all".parse::<Scopes>().is_err());
    }
}
