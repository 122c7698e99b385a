//! Who may call an operation. Each declares it in the catalogue; this is the one place
//! that says what a declaration means for whom, and it is asked in one place.

use missiond_core::{Principal, PrincipalKind, Scope};

/// Who may call an operation, from everybody to people alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Authority {
    /// Everybody: it only looks.
    Everyone,
    /// People, programs and every agent.
    Agents,
    /// People, programs and a person's own agent; the agent of a slot only for what is
    /// its own.
    Own(Own),
    /// People and programs, no agent.
    Programs,
    /// People alone: it lets others in, decides what agents may do, or decides for a
    /// person.
    People,
}

impl Authority {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everyone => "everyone",
            Self::Agents => "agents",
            Self::Own(_) => "own",
            Self::Programs => "programs",
            Self::People => "people",
        }
    }
}

/// What of an agent's own an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Own {
    /// `slot`: the one it runs in, or one it started.
    Slot,
    /// `slot`: one it started.
    StartedSlot,
    /// `execution`: its own, or one it started.
    Execution,
    /// `execution`: one it started.
    StartedExecution,
    /// `task`: one it put on the board.
    AddedTask,
    /// `tool`: one that the configuration gives the agents of its slot.
    Tool,
}

impl Own {
    /// The thing, for a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Slot => "its own slot or one it started",
            Self::StartedSlot => "a slot it started",
            Self::Execution => "its own run or one it started",
            Self::StartedExecution => "a run it started",
            Self::AddedTask => "a task it put on the board",
            Self::Tool => "a tool that its slot is given",
        }
    }
}

/// What the catalogue says to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allowed,
    /// Allowed if what it is about is the caller's own.
    IfOwn(Own),
    Refused(Refusal),
}

/// Why a call is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is for people.
    People,
    /// It is for people and programs.
    Programs,
    /// The token has not this scope.
    Scope(Scope),
    /// What it is about is not the caller's own.
    NotOwn(Own),
    /// Whoever asks may only look.
    LooksOnly,
}

impl Refusal {
    /// The sentence that says who can.
    #[must_use]
    pub fn sentence(self, operation: &str, principal: &Principal) -> String {
        let who = match principal.kind() {
            PrincipalKind::Person => "a person",
            PrincipalKind::Program => "a program with a token",
            PrincipalKind::Commander | PrincipalKind::Agent => "an agent",
            PrincipalKind::ToolServer => "a tool server",
            PrincipalKind::Daemon => "the daemon by itself",
            PrincipalKind::Untold => "a process that missiond started or cannot place",
        };
        match self {
            Self::People => format!(
                "`{operation}` is for a person, not for {who}: use the command line outside every \
                 slot, or the page"
            ),
            Self::Programs | Self::LooksOnly => format!(
                "`{operation}` is for a person or a program with a token, not for {who}: use the \
                 command line outside every slot, or the page"
            ),
            Self::Scope(scope) => format!(
                "this token has not the scope `{scope}`, which `{operation}` needs: a person can \
                 make one that has it with `mission token create`"
            ),
            Self::NotOwn(own) => format!(
                "an agent may use `{operation}` for {} only: a person can do it at the command \
                 line outside every slot, or on the page",
                own.words()
            ),
        }
    }
}
