//! Every operation there is.

use crate::operation::{Operation, OperationSpec};
use crate::operations::{
    access, attention, audit, autopilot, board, code, communication, compute, config, context,
    conversation, demo, docs, engines, execution, knowledge, llm, observe, overview, policy,
    proposal, repository, review, search, system, tools, trust, worktree,
};

/// Every operation there is.
pub const CATALOGUE: &[OperationSpec] = &[
    board::BoardAdd::SPEC,
    board::BoardList::SPEC,
    board::BoardShow::SPEC,
    board::BoardEdit::SPEC,
    board::BoardReady::SPEC,
    board::BoardGraph::SPEC,
    board::BoardDecompose::SPEC,
    board::BoardAlternative::SPEC,
    board::BoardNote::SPEC,
    board::BoardRetry::SPEC,
    board::BoardCancel::SPEC,
    board::BoardImport::SPEC,
    board::BoardExport::SPEC,
    proposal::BoardPropose::SPEC,
    proposal::BoardAddSteps::SPEC,
    repository::RepositoryList::SPEC,
    repository::RepositoryShow::SPEC,
    search::Search::SPEC,
    demo::DemoStart::SPEC,
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
    trust::TrustList::SPEC,
    trust::TrustExplain::SPEC,
    trust::TrustReset::SPEC,
    policy::PolicyShow::SPEC,
    policy::PolicyCheck::SPEC,
    policy::PolicyExplain::SPEC,
    policy::PolicySuggest::SPEC,
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
    engines::EngineList::SPEC,
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
    llm::LlmModels::SPEC,
    llm::LlmTest::SPEC,
    llm::LlmUsage::SPEC,
    llm::LlmTrace::SPEC,
    llm::RouterChat::SPEC,
    llm::RouterChatList::SPEC,
    llm::RouterChatShow::SPEC,
    system::Health::SPEC,
    system::DaemonStatus::SPEC,
    system::DaemonStats::SPEC,
    system::DaemonControl::SPEC,
    system::ConfigShow::SPEC,
    config::ConfigSet::SPEC,
    config::ConfigHistory::SPEC,
    config::ConfigUndo::SPEC,
    system::OperationFind::SPEC,
    docs::DocsList::SPEC,
    docs::DocsRead::SPEC,
    docs::DocsSearch::SPEC,
    system::IncidentList::SPEC,
    system::IncidentResolve::SPEC,
    overview::Overview::SPEC,
    overview::OverviewSeen::SPEC,
    observe::DaemonLogs::SPEC,
    observe::StatsHistory::SPEC,
    observe::UsageReport::SPEC,
    audit::AuditList::SPEC,
    audit::AuditRotateKey::SPEC,
    access::WebLogin::SPEC,
    access::TokenCreate::SPEC,
    access::TokenList::SPEC,
    access::TokenRevoke::SPEC,
    tools::McpServerList::SPEC,
    tools::McpServerControl::SPEC,
    tools::McpServerAdd::SPEC,
    tools::McpServerRemove::SPEC,
    tools::McpToolList::SPEC,
    tools::McpToolCall::SPEC,
    tools::McpPromptList::SPEC,
    tools::McpPromptGet::SPEC,
    tools::McpPin::SPEC,
    worktree::WorktreeList::SPEC,
    worktree::WorktreeDiff::SPEC,
    review::ReviewSend::SPEC,
    worktree::WorktreeFinish::SPEC,
    worktree::WorktreeDiscard::SPEC,
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
