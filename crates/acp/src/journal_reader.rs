//! Reads on in the journal of an execution and tells the editor what is new, with what
//! the conversation adds to the tool calls.

use missiond_api::operations::conversation::{
    ConversationList, ConversationListParams, ConversationShow, ConversationShowParams,
};
use missiond_api::operations::execution::{
    ExecutionJournal, ExecutionJournalParams, ExecutionSummary, JournalEntry, RecordKind,
};
use missiond_core::{Bounded, ConversationId, ConversationItem, ExecutionId, Limit, Timestamp};
use missiond_journal::RecordBody;
use serde_json::json;

use crate::daemon::Daemon;
use crate::editor::Editor;
use crate::message::Refusal;
use crate::narrator::{Narrator, Playback};
use crate::tool_calls::ToolCalls;

const KINDS: [RecordKind; 6] = [
    RecordKind::MessageAccepted,
    RecordKind::MessageDelivery,
    RecordKind::Observation,
    RecordKind::Decision,
    RecordKind::StateChanged,
    RecordKind::ActivityUpdated,
];

#[derive(Debug)]
pub(crate) struct JournalReader {
    session: String,
    narrator: Narrator,
    execution: Option<ExecutionId>,
    /// Names the execution in requests.
    reference: String,
    started_at: Timestamp,
    /// Everything up to this record was told.
    after: u64,
    conversation: Option<ConversationId>,
    /// Items of the conversation up to here have all ended.
    settled: i64,
}

impl JournalReader {
    pub(crate) fn new(session: String, narrator: Narrator) -> Self {
        Self {
            reference: session.clone(),
            session,
            narrator,
            execution: None,
            started_at: Timestamp::from_micros(0),
            after: 0,
            conversation: None,
            settled: 0,
        }
    }

    pub(crate) fn attach(&mut self, summary: &ExecutionSummary) {
        self.execution = Some(summary.execution);
        self.reference = summary.execution.to_string();
        self.started_at = summary.started_at;
    }

    /// The execution by its id, once it is known.
    pub(crate) fn execution(&self) -> &str {
        &self.reference
    }

    pub(crate) fn skip_to(&mut self, record: u64) {
        self.after = record;
    }

    pub(crate) fn begin_turn(&mut self, key: Option<&str>) {
        self.narrator.begin_turn(key);
    }

    pub(crate) fn spoke(&self) -> bool {
        self.narrator.spoke()
    }

    pub(crate) fn calls(&self) -> &ToolCalls {
        self.narrator.calls()
    }

    /// Tells everything that is new, and shows each record to `observe`.
    pub(crate) fn forward_records(
        &mut self,
        daemon: &mut Daemon,
        editor: &Editor,
        playback: Playback,
        mut observe: impl FnMut(&RecordBody),
    ) -> Result<(), Refusal> {
        loop {
            let page = daemon.call::<ExecutionJournal>(&ExecutionJournalParams {
                execution: self.reference.clone(),
                kinds: KINDS.to_vec(),
                after: Some(Bounded::clamped(
                    i64::try_from(self.after).unwrap_or(i64::MAX),
                )),
                before: None,
                limit: Limit::of::<500>(),
                data: true,
            })?;
            for entry in page.records {
                let sequence = entry.sequence;
                // A record of a later version says nothing here.
                let Some(body) = body_of(entry) else {
                    continue;
                };
                observe(&body);
                if let Some(update) = self.narrator.translate(sequence, &body, playback) {
                    editor.update(&self.session, &update);
                }
            }
            let moved = page.next > self.after;
            self.after = page.next.max(self.after);
            if !page.more || !moved {
                return Ok(());
            }
        }
    }

    /// Tells what the conversation has on the tool calls: what each was told and answered.
    pub(crate) fn forward_details(
        &mut self,
        daemon: &mut Daemon,
        editor: &Editor,
    ) -> Result<(), Refusal> {
        let Some(conversation) = self.find_conversation(daemon)? else {
            return Ok(());
        };
        let mut after = self.settled;
        loop {
            let page = daemon.call::<ConversationShow>(&ConversationShowParams {
                conversation: conversation.to_string(),
                after: Some(Bounded::clamped(after)),
                ..ConversationShowParams::default()
            })?;
            for update in self.narrator.details(&page.items, self.started_at) {
                editor.update(&self.session, &update);
            }
            self.settle(&page.items);
            match page.next {
                Some(next) if next > after => after = next,
                _ => return Ok(()),
            }
        }
    }

    /// What has ended need not be read again: up to the first call that is under way.
    fn settle(&mut self, items: &[ConversationItem]) {
        for item in items {
            match item {
                ConversationItem::ToolCall { outcome: None, .. } => return,
                item if item.sort_key() > self.settled => self.settled = item.sort_key(),
                _ => {}
            }
        }
    }

    fn find_conversation(
        &mut self,
        daemon: &mut Daemon,
    ) -> Result<Option<ConversationId>, Refusal> {
        if self.conversation.is_none() && self.execution.is_some() {
            let page = daemon.call::<ConversationList>(&ConversationListParams {
                execution: self.execution,
                limit: Limit::of::<1>(),
                ..ConversationListParams::default()
            })?;
            self.conversation = page.conversations.first().map(|one| one.id);
        }
        Ok(self.conversation)
    }
}

fn body_of(entry: JournalEntry) -> Option<RecordBody> {
    let written = json!({ "type": entry.kind, "data": entry.data? });
    serde_json::from_value(written).ok()
}
