//! What an operation is, and the list of all of them.

use schemars::{JsonSchema, Schema, SchemaGenerator, schema_for};
use serde::{Serialize, de::DeserializeOwned};

use crate::operations::{
    access, attention, autopilot, board, code, communication, compute, context, conversation,
    execution, knowledge, observe, review, system, tools, worktree,
};

/// Which part of the system an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    Compute,
    Knowledge,
    Communication,
    System,
}

impl Domain {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Knowledge => "knowledge",
            Self::Communication => "communication",
            Self::System => "system",
        }
    }
}

/// What calling an operation does to the world. A caller decides by this
/// whether to ask first and whether trying again is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing changes.
    ReadOnly,
    /// Something changes; doing it twice changes nothing more.
    Idempotent,
    /// Something is added each time.
    Additive,
    /// Something that cannot be brought back may be lost.
    Destructive,
}

impl Effect {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::Additive => "additive",
            Self::Destructive => "destructive",
        }
    }
}

/// From where an operation can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    Anywhere,
    /// By the user of this machine on the daemon's socket alone: it lets others
    /// in, so whoever was let in over the network must not have it.
    Socket,
}

/// What a call uses beside the message and its answer, for whoever chooses
/// between operations. A hint: how long it takes hangs on what it is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// The daemon knows it: less than a millisecond.
    Instant,
    /// The database is read or written: milliseconds.
    Database,
    /// Other programs are started, driven or asked, or many files are read: up
    /// to seconds.
    Process,
    /// Nothing, for as long as the caller says: it waits for something to happen.
    Wait,
    /// An agent works because of it: minutes, and what its model costs.
    Agent,
}

impl Cost {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Database => "database",
            Self::Process => "process",
            Self::Wait => "wait",
            Self::Agent => "agent",
        }
    }
}

/// One operation: its name and its types. The description and the rest are in
/// the [`OperationSpec`].
pub trait Operation: 'static {
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    const SPEC: OperationSpec;
}

#[derive(Debug, Clone, Copy)]
pub struct OperationSpec {
    pub name: &'static str,
    pub domain: Domain,
    pub effect: Effect,
    /// The group a client can ask for as a whole.
    pub toolset: &'static str,
    /// One sentence, written for a model that chooses by it.
    pub description: &'static str,
    pub reach: Reach,
    pub cost: Cost,
    params_schema: fn() -> Schema,
    result_schema: fn() -> Schema,
    schemas_in: fn(&mut SchemaGenerator) -> (Schema, Schema),
}

impl OperationSpec {
    #[must_use]
    pub const fn of<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        domain: Domain,
        effect: Effect,
        toolset: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            domain,
            effect,
            toolset,
            description,
            reach: Reach::Anywhere,
            cost: Cost::Database,
            params_schema: || schema_for!(P),
            result_schema: || schema_for!(R),
            schemas_in: |generator| {
                (
                    generator.subschema_for::<P>(),
                    generator.subschema_for::<R>(),
                )
            },
        }
    }

    #[must_use]
    pub const fn reached_from(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    #[must_use]
    pub const fn costing(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    #[must_use]
    pub fn params_schema(&self) -> Schema {
        (self.params_schema)()
    }

    #[must_use]
    pub fn result_schema(&self) -> Schema {
        (self.result_schema)()
    }

    /// The schemas of parameters and result, with what they share in the
    /// generator's definitions.
    pub(crate) fn schemas_in(&self, generator: &mut SchemaGenerator) -> (Schema, Schema) {
        (self.schemas_in)(generator)
    }
}

/// Every operation there is.
pub const CATALOGUE: &[OperationSpec] = &[
    board::BoardAdd::SPEC,
    board::BoardList::SPEC,
    board::BoardShow::SPEC,
    board::BoardEdit::SPEC,
    board::BoardReady::SPEC,
    board::BoardGraph::SPEC,
    board::BoardDecompose::SPEC,
    board::BoardNote::SPEC,
    board::BoardRetry::SPEC,
    board::BoardCancel::SPEC,
    board::BoardImport::SPEC,
    board::BoardExport::SPEC,
    context::ContextPreview::SPEC,
    context::ContextShow::SPEC,
    context::SkillList::SPEC,
    code::CodeList::SPEC,
    code::CodeIndex::SPEC,
    code::CodeStatus::SPEC,
    code::CodeSearch::SPEC,
    code::CodeShow::SPEC,
    code::CodeMap::SPEC,
    code::BeaconSet::SPEC,
    code::BeaconList::SPEC,
    code::BeaconRemove::SPEC,
    communication::TimelineQuery::SPEC,
    communication::TimelineTrace::SPEC,
    communication::TimelineWait::SPEC,
    communication::TimelineNote::SPEC,
    communication::TimelineActivity::SPEC,
    attention::QuestionList::SPEC,
    attention::QuestionAnswer::SPEC,
    attention::QuestionDismiss::SPEC,
    attention::permission::PermissionList::SPEC,
    attention::permission::PermissionAdd::SPEC,
    attention::permission::PermissionRemove::SPEC,
    attention::permission::PermissionTest::SPEC,
    conversation::ConversationList::SPEC,
    conversation::ConversationShow::SPEC,
    conversation::ConversationSearch::SPEC,
    conversation::ConversationTurns::SPEC,
    compute::SlotSpawn::SPEC,
    compute::SlotList::SPEC,
    compute::SlotRead::SPEC,
    compute::SlotScreenshot::SPEC,
    compute::SlotSend::SPEC,
    compute::SlotAnswer::SPEC,
    compute::SlotKeys::SPEC,
    compute::SlotForeground::SPEC,
    compute::SlotInterrupt::SPEC,
    compute::SlotResize::SPEC,
    compute::SlotKill::SPEC,
    compute::SlotExplain::SPEC,
    execution::ExecutionStart::SPEC,
    execution::ExecutionList::SPEC,
    execution::ExecutionShow::SPEC,
    execution::ExecutionJournal::SPEC,
    execution::ExecutionMessage::SPEC,
    execution::ExecutionAnswer::SPEC,
    execution::ExecutionInterrupt::SPEC,
    execution::ExecutionCancel::SPEC,
    autopilot::AutopilotShow::SPEC,
    autopilot::AutopilotSet::SPEC,
    knowledge::KbSearch::SPEC,
    knowledge::KbGet::SPEC,
    knowledge::KbRemember::SPEC,
    knowledge::KbLink::SPEC,
    knowledge::KbConflicts::SPEC,
    knowledge::KbPropose::SPEC,
    knowledge::KbInbox::SPEC,
    knowledge::KbDecide::SPEC,
    knowledge::KbForget::SPEC,
    knowledge::KbGc::SPEC,
    knowledge::KbList::SPEC,
    knowledge::KbMap::SPEC,
    knowledge::KbExport::SPEC,
    knowledge::KbStats::SPEC,
    knowledge::KbReembed::SPEC,
    system::Health::SPEC,
    system::DaemonStatus::SPEC,
    system::DaemonStats::SPEC,
    system::DaemonControl::SPEC,
    system::ConfigShow::SPEC,
    system::OperationFind::SPEC,
    system::IncidentList::SPEC,
    system::IncidentResolve::SPEC,
    observe::DaemonLogs::SPEC,
    observe::StatsHistory::SPEC,
    observe::UsageReport::SPEC,
    access::WebLogin::SPEC,
    access::TokenCreate::SPEC,
    access::TokenList::SPEC,
    access::TokenRevoke::SPEC,
    tools::McpServerList::SPEC,
    tools::McpServerControl::SPEC,
    tools::McpToolList::SPEC,
    tools::McpToolCall::SPEC,
    tools::McpPromptList::SPEC,
    tools::McpPromptGet::SPEC,
    tools::McpPin::SPEC,
    worktree::WorktreeList::SPEC,
    worktree::WorktreeDiff::SPEC,
    review::ReviewSend::SPEC,
    worktree::WorktreeFinish::SPEC,
    worktree::WorktreeClean::SPEC,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_can_be_typed() {
        let names: BTreeSet<_> = CATALOGUE.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        for name in names {
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
                "{name}"
            );
        }
    }

    #[test]
    fn every_operation_takes_an_object_and_refuses_unknown_fields() {
        for spec in CATALOGUE {
            let schema = spec.params_schema();
            assert_eq!(schema.get("type"), Some(&"object".into()), "{}", spec.name);
            assert_eq!(
                schema.get("additionalProperties"),
                Some(&false.into()),
                "{}",
                spec.name
            );
        }
    }

    /// MCP wants objects, and clients check what comes against the schema.
    #[test]
    fn every_operation_answers_with_an_object() {
        for spec in CATALOGUE {
            let schema = spec.result_schema();
            assert_eq!(schema.get("type"), Some(&"object".into()), "{}", spec.name);
        }
    }

    #[test]
    fn descriptions_are_one_sentence() {
        for spec in CATALOGUE {
            assert!(spec.description.ends_with('.'), "{}", spec.name);
            assert!(spec.description.len() <= 200, "{}", spec.name);
        }
    }
}
