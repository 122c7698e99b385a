//! One session of an editor: an execution, from before its start until the editor
//! leaves it. A thread of its own owns it and takes the editor's requests in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use missiond_api::RequestId;
use missiond_api::operations::attention::{
    QuestionAnswer, QuestionAnswerParams, QuestionList, QuestionListParams,
};
use missiond_api::operations::execution::{
    ExecutionDetails, ExecutionMessage, ExecutionMessageParams, ExecutionParams, ExecutionShow,
    ExecutionStart, ExecutionStartParams, ExecutionSummary,
};
use missiond_core::{
    AbsolutePath, ExecutionActivity, ExecutionId, ExecutionLifecycle, MessageId, Permission,
    Question, QuestionRef, QuestionStatus, SendWhen, SlotName, Text,
};
use serde_json::json;

use crate::Settings;
use crate::daemon::Daemon;
use crate::editor::Editor;
use crate::journal_reader::JournalReader;
use crate::message::{Params, Refusal};
use crate::narrator::{Narrator, Playback};
use crate::prompt::text_of;
use crate::protocol::{ContentBlock, Modes, Update};
use crate::turn::Turn;
use crate::turn_loop::{Ended, TurnLoop};

/// What a session is asked to do.
#[derive(Debug)]
pub(crate) enum Command {
    Prompt(RequestId, Vec<ContentBlock>),
    SetMode(RequestId, String),
    /// Take up an execution; tell what happened in it or not.
    Load(RequestId, Replay),
    Close(RequestId),
    Cancel,
    /// Whoever asked this does not wait any more.
    CancelRequest(RequestId),
    /// The editor's answer to what it was asked under this number.
    Answer(i64, Option<Params>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replay {
    History,
    Nothing,
}

#[derive(Debug)]
enum Stage {
    /// Nothing runs yet.
    Fresh {
        cwd: AbsolutePath,
        permission: Permission,
    },
    /// Named by the editor, and not looked up yet.
    Unknown,
    Live,
}

#[derive(Debug)]
pub(crate) struct Session {
    /// The session's id: the name of its slot, or what the editor loaded.
    pub(crate) name: String,
    pub(crate) editor: Arc<Editor>,
    pub(crate) daemon: Daemon,
    pub(crate) commands: Receiver<Command>,
    pub(crate) reader: JournalReader,
    /// A question the editor could not ask: the next prompt answers it.
    pub(crate) unasked: Option<Question>,
    settings: Arc<Settings>,
    stage: Stage,
    /// MCP servers of the editor, which are not passed on.
    servers: Vec<String>,
    /// Whether an agent runs, for who looks from outside.
    runs: Arc<AtomicBool>,
}

/// What a session needs from the server that opens it.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) editor: Arc<Editor>,
    pub(crate) daemon: Daemon,
    pub(crate) commands: Receiver<Command>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) runs: Arc<AtomicBool>,
}

impl Session {
    /// A session that begins with its first prompt.
    pub(crate) fn fresh(parts: Parts, cwd: AbsolutePath, servers: Vec<String>) -> Self {
        let permission = parts.settings.permission;
        Self::new(parts, Stage::Fresh { cwd, permission }, servers)
    }

    /// A session of an execution that is there.
    pub(crate) fn known(parts: Parts) -> Self {
        Self::new(parts, Stage::Unknown, Vec::new())
    }

    fn new(parts: Parts, stage: Stage, servers: Vec<String>) -> Self {
        let reader = JournalReader::new(parts.name.clone(), Narrator::default());
        Self {
            name: parts.name,
            editor: parts.editor,
            daemon: parts.daemon,
            commands: parts.commands,
            settings: parts.settings,
            runs: parts.runs,
            reader,
            unasked: None,
            stage,
            servers,
        }
    }

    /// Serves the editor until it closes the session or is gone.
    pub(crate) fn run(mut self) {
        while let Ok(command) = self.commands.recv() {
            let ended = match command {
                Command::Prompt(id, blocks) => self.prompt(id, &blocks),
                Command::Load(id, replay) => self.load(&id, replay),
                Command::SetMode(id, mode) => {
                    self.set_mode(&id, &mode);
                    Ended::Turn
                }
                Command::Close(id) => Ended::Closed(id),
                // Nothing is under way.
                Command::Cancel | Command::CancelRequest(_) | Command::Answer(..) => Ended::Turn,
            };
            match ended {
                Ended::Turn => self.daemon.disconnect(),
                Ended::Closed(id) => {
                    self.editor.answer(&id, &json!({}));
                    return;
                }
                Ended::EditorGone => return,
            }
        }
    }

    fn set_mode(&mut self, id: &RequestId, mode: &str) {
        let chosen = Modes::permission(mode);
        let answer = match (&mut self.stage, chosen) {
            (Stage::Fresh { permission, .. }, Some(chosen)) => {
                *permission = chosen;
                Ok(())
            }
            (Stage::Fresh { .. }, None) => Err(Refusal::invalid_params(
                "there is no such mode: ask, accept_edits, plan, bypass",
            )),
            (Stage::Unknown | Stage::Live, _) => Err(mode_is_fixed()),
        };
        match answer {
            Ok(()) => self.editor.answer(id, &json!({})),
            Err(refusal) => self.editor.refuse(Some(id), &refusal),
        }
    }

    fn prompt(&mut self, id: RequestId, blocks: &[ContentBlock]) -> Ended {
        match self.begin(blocks) {
            Ok(turn) => TurnLoop::new(self, Some(id), turn).run(),
            Err(refusal) => {
                self.editor.refuse(Some(&id), &refusal);
                Ended::Turn
            }
        }
    }

    /// Gives the agent the prompt, in whichever way it is to get it.
    fn begin(&mut self, blocks: &[ContentBlock]) -> Result<Turn, Refusal> {
        match &self.stage {
            Stage::Unknown => Err(Refusal::invalid_request("load the session first")),
            Stage::Fresh { cwd, permission } => {
                let params = ExecutionStartParams {
                    prompt: Some(prompt_text(&text_of(blocks, cwd.as_path())?)?),
                    engine: self.settings.engine.clone(),
                    cwd: cwd.clone(),
                    args: self.settings.args.clone(),
                    model: self.settings.model.clone(),
                    permission: *permission,
                    name: self.name.parse().ok(),
                    env: self.settings.env.clone(),
                    resume: None,
                    control: None,
                    signals: None,
                    trust_folder: self.settings.trust_folder,
                    context: self.settings.context,
                };
                self.start(&params)
            }
            Stage::Live => self.go_on(blocks),
        }
    }

    fn start(&mut self, params: &ExecutionStartParams) -> Result<Turn, Refusal> {
        let started = self.daemon.call::<ExecutionStart>(params);
        let summary = started.map_err(|refusal| match &self.settings.hint {
            Some(hint) => refusal.with_hint_if_missing(hint),
            None => refusal,
        })?;
        self.attach(&summary, Narrator::of_own_start());
        self.reader.begin_turn(None);
        if let Some(title) = summary.title {
            self.editor
                .update(&self.name, &Update::SessionInfoUpdate { title });
        }
        let servers = std::mem::take(&mut self.servers);
        self.editor.say_servers_are_left(&self.name, &servers);
        Ok(Turn::of_message(Instant::now()))
    }

    fn go_on(&mut self, blocks: &[ContentBlock]) -> Result<Turn, Refusal> {
        let details = self.show()?;
        let summary = details.summary;
        let text = text_of(blocks, summary.cwd.as_ref())?;
        // What happened since the last turn is told before this one begins.
        self.reader
            .forward_records(&mut self.daemon, &self.editor, Playback::Live, |_| {})?;
        if is_over(summary.lifecycle) {
            return self.revive(&summary, &text);
        }
        if let Some(question) = self.unasked.take()
            && self.is_open(&question)?
        {
            let turn = Turn::of_answer(Instant::now());
            self.reader.begin_turn(None);
            if let Err(refusal) = self.answer(&question, &text) {
                self.unasked = Some(question);
                return Err(refusal);
            }
            return Ok(turn);
        }
        self.send(&text)?;
        Ok(Turn::of_message(Instant::now()))
    }

    /// A run that has ended goes on as a new one, with the conversation it had.
    fn revive(&mut self, ended: &ExecutionSummary, text: &str) -> Result<Turn, Refusal> {
        let Some(conversation) = ended.conversation.clone() else {
            return Err(Refusal::invalid_request(
                "the run is over and its conversation is not known: begin a new session",
            ));
        };
        let same_engine = ended.engine == self.settings.engine;
        let settings = self.settings.clone();
        let own_name = self.name.parse::<ExecutionId>().is_err();
        let params = ExecutionStartParams {
            engine: ended.engine.clone(),
            cwd: AbsolutePath::new(ended.cwd.clone())
                .map_err(|error| Refusal::internal(error.to_string()))?,
            prompt: Some(prompt_text(text)?),
            args: if same_engine {
                settings.args.clone()
            } else {
                Vec::new()
            },
            model: settings.model.clone().filter(|_| same_engine),
            permission: settings.permission,
            name: own_name
                .then(|| self.name.parse::<SlotName>().ok())
                .flatten(),
            env: settings.env.clone(),
            resume: Some(conversation),
            control: None,
            signals: None,
            trust_folder: settings.trust_folder,
            context: settings.context,
        };
        self.start(&params)
    }

    /// Queues a prompt for the agent.
    pub(crate) fn send(&mut self, text: &str) -> Result<(), Refusal> {
        let key = format!("editor/{}", MessageId::generate());
        self.reader.begin_turn(Some(&key));
        self.daemon
            .call_keyed::<ExecutionMessage>(&ExecutionMessageParams {
                execution: self.reader.execution().to_owned(),
                text: prompt_text(text)?,
                key: Text::new(key).ok(),
                from: None,
                files: Vec::new(),
                when: SendWhen::Idle,
            })?;
        Ok(())
    }

    /// The prompt that comes while an agent works on what somebody else began.
    pub(crate) fn send_blocks(&mut self, blocks: &[ContentBlock]) -> Result<(), Refusal> {
        let cwd = self.show()?.summary.cwd;
        let text = text_of(blocks, cwd.as_ref())?;
        self.send(&text)
    }

    /// Answers a question as the person in front of the editor.
    pub(crate) fn answer(&mut self, question: &Question, answer: &str) -> Result<(), Refusal> {
        let answer = Text::new(answer)
            .map_err(|error| Refusal::invalid_params(format!("the answer: {error}")))?;
        self.daemon.call::<QuestionAnswer>(&QuestionAnswerParams {
            question: QuestionRef::Id(question.id),
            answer,
            by: Text::excerpt(&self.editor.name()),
            grant: None,
        })?;
        Ok(())
    }

    /// The questions of this session's agent that wait for an answer.
    pub(crate) fn open_questions(&mut self) -> Result<Vec<Question>, Refusal> {
        let params = QuestionListParams::default();
        let mut page = self.daemon.call::<QuestionList>(&params)?;
        let execution = self.reader.execution().parse::<ExecutionId>().ok();
        page.questions.retain(|question| {
            question.status == QuestionStatus::Pending
                && execution.is_some()
                && question.origin.execution() == execution
        });
        Ok(page.questions)
    }

    fn is_open(&mut self, question: &Question) -> Result<bool, Refusal> {
        let open = self.open_questions()?;
        Ok(open.iter().any(|one| one.id == question.id))
    }

    pub(crate) fn show(&mut self) -> Result<ExecutionDetails, Refusal> {
        self.daemon.call::<ExecutionShow>(&ExecutionParams {
            execution: self.reader.execution().to_owned(),
        })
    }

    fn load(&mut self, id: &RequestId, replay: Replay) -> Ended {
        let loaded = self.replay(replay);
        match loaded {
            Err(refusal) => {
                self.editor.refuse(Some(id), &refusal);
                Ended::Turn
            }
            Ok(summary) => {
                self.editor.answer(id, &json!({}));
                let rests = matches!(
                    summary.activity,
                    ExecutionActivity::Idle | ExecutionActivity::Unknown
                );
                if is_over(summary.lifecycle) || (rests && summary.open_questions == 0) {
                    return Ended::Turn;
                }
                // It works on what it was told before: the editor goes on watching.
                let turn = Turn::under_way(summary.activity, summary.attention, Instant::now());
                TurnLoop::new(self, None, turn).run()
            }
        }
    }

    fn replay(&mut self, replay: Replay) -> Result<ExecutionSummary, Refusal> {
        if matches!(self.stage, Stage::Fresh { .. }) {
            return Err(Refusal::invalid_request(
                "nothing was said in this session yet: send a prompt",
            ));
        }
        let execution = self.name.clone();
        let details = self
            .daemon
            .call::<ExecutionShow>(&ExecutionParams { execution })?;
        self.attach(&details.summary, Narrator::default());
        match replay {
            Replay::History => {
                let told = self.reader.forward_records(
                    &mut self.daemon,
                    &self.editor,
                    Playback::History,
                    |_| {},
                );
                told?;
                self.reader
                    .forward_details(&mut self.daemon, &self.editor)?;
            }
            Replay::Nothing => self.reader.skip_to(details.records),
        }
        Ok(details.summary)
    }

    fn attach(&mut self, summary: &ExecutionSummary, narrator: Narrator) {
        self.reader = JournalReader::new(self.name.clone(), narrator);
        self.reader.attach(summary);
        self.stage = Stage::Live;
        self.unasked = None;
        self.runs.store(true, Ordering::Relaxed);
    }
}

/// What a person is told who chooses a mode too late.
pub(crate) fn mode_is_fixed() -> Refusal {
    Refusal::invalid_request(
        "the mode is chosen before the first prompt: an agent that runs keeps the one it began \
         with, begin a new session for another",
    )
}

fn prompt_text(text: &str) -> Result<Text<100_000>, Refusal> {
    Text::new(text).map_err(|error| Refusal::invalid_params(format!("the prompt: {error}")))
}

const fn is_over(lifecycle: ExecutionLifecycle) -> bool {
    matches!(
        lifecycle,
        ExecutionLifecycle::Completed
            | ExecutionLifecycle::Failed
            | ExecutionLifecycle::Cancelled
            | ExecutionLifecycle::Terminated
    )
}
