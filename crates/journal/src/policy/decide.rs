//! From an observation to what follows from it.

use missiond_core::machines::Machine;
use missiond_core::{
    ExecutionActivity as Activity, ExecutionAttention as Attention,
    ExecutionLifecycle as Lifecycle, PtyState,
};

use super::{Policy, Reason, Verdict};
use crate::catalogue::{
    Control, Diagnostic, DiagnosticCode, Edge, Fact, FactType, Process, Signal, TargetKind,
    ToolUse, Usage,
};
use crate::observation::{Observation, Observed, ObservedType, Source};
use crate::record::{
    ActivityUpdated, CapabilitySnapshot, CurrentTarget, EffectKey, EffectStatus, InputRequest,
    OwnerEffect, OwnerEffectKind, ProgressSnapshot, RecordBody, RequestChange, StateChanged,
    Telemetry,
};
use crate::state::ExecutionState;

/// What was decided, with the records that follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    pub reason: Reason,
    /// In the order they are recorded and applied.
    pub effects: Vec<RecordBody>,
}

/// Decides on an observation that was not seen before. The same policy, state
/// and observation always give the same decision.
#[must_use]
pub fn decide(policy: &Policy, state: &ExecutionState, observation: &Observation) -> Decision {
    let kind = observation.observed.kind();
    if observation.execution != state.execution {
        return without_effect(Verdict::Refused, Reason::WrongExecution);
    }
    let Some(rule) = policy.rule(kind, observation.source) else {
        return without_effect(Verdict::Refused, Reason::SourceMayNotReport);
    };
    if let ObservedType::Signal(signal) = kind
        && !state.signals.contains(&signal)
    {
        return without_effect(Verdict::Refused, Reason::NotOffered);
    }
    if let Observed::Fact(Fact::Diagnostic(diagnostic)) = &observation.observed {
        return on_diagnostic(diagnostic);
    }
    if state.lifecycle.is_final() {
        return after_the_end(kind);
    }
    let confidence = observation.confidence.min(observation.source.ceiling());
    if confidence < rule.at_least {
        return without_effect(Verdict::RecordedOnly, Reason::LowConfidence);
    }
    if matches!(rule.verdict, Verdict::RecordedOnly | Verdict::Refused) {
        return without_effect(rule.verdict, rule.reason);
    }
    let mut effects = Effects::new(state, observation);
    match &observation.observed {
        Observed::Signal(signal) => effects.of_signal(signal),
        Observed::Fact(fact) => {
            if let Err(refused) = effects.of_fact(fact) {
                return without_effect(Verdict::Refused, refused);
            }
        }
    }
    let mut effects = effects.finish();
    if rule.verdict == Verdict::Promoted {
        // A claim moves nothing by itself, whatever a table says of its type.
        effects.retain(|effect| matches!(effect, RecordBody::OwnerEffect(_)));
    }
    if effects.is_empty() {
        return without_effect(Verdict::RecordedOnly, Reason::NothingChanged);
    }
    Decision {
        verdict: rule.verdict,
        reason: rule.reason,
        effects,
    }
}

const fn without_effect(verdict: Verdict, reason: Reason) -> Decision {
    Decision {
        verdict,
        reason,
        effects: Vec::new(),
    }
}

/// What should have been a signal and was none is kept as refused, so that it
/// is seen and changes nothing.
const fn on_diagnostic(diagnostic: &Diagnostic) -> Decision {
    let reason = match diagnostic.code {
        DiagnosticCode::Malformed => Reason::Malformed,
        DiagnosticCode::Oversized => Reason::Oversized,
        DiagnosticCode::Unsupported => Reason::Unsupported,
        DiagnosticCode::WrongExecution => Reason::WrongExecution,
        DiagnosticCode::Unauthorised => Reason::Unauthorised,
        DiagnosticCode::Program => {
            return without_effect(Verdict::RecordedOnly, Reason::Informational);
        }
    };
    without_effect(Verdict::Refused, reason)
}

/// The last words and the bill of an execution that has ended are kept; its
/// state does not move any more.
const fn after_the_end(kind: ObservedType) -> Decision {
    match kind {
        ObservedType::Fact(
            FactType::Speech
            | FactType::Usage
            | FactType::SessionCost
            | FactType::RateLimits
            | FactType::Plan
            | FactType::Setting
            | FactType::Session
            | FactType::Process
            | FactType::Reading
            | FactType::Turn
            | FactType::ToolUse
            | FactType::Dialog
            | FactType::Thinking,
        ) => without_effect(Verdict::RecordedOnly, Reason::Stopped),
        _ => without_effect(Verdict::Refused, Reason::Stopped),
    }
}

/// Gathers what follows; says only what is not already so.
struct Effects<'a> {
    state: &'a ExecutionState,
    observation: &'a Observation,
    change: StateChanged,
    activity: ActivityUpdated,
    owner: Vec<OwnerEffectKind>,
}

impl<'a> Effects<'a> {
    fn new(state: &'a ExecutionState, observation: &'a Observation) -> Self {
        Self {
            state,
            observation,
            change: StateChanged::default(),
            activity: ActivityUpdated::default(),
            owner: Vec::new(),
        }
    }

    fn of_signal(&mut self, signal: &Signal) {
        match signal {
            Signal::Progress(progress) => {
                self.activity.progress = Some(ProgressSnapshot {
                    summary: progress.summary.clone(),
                    percent: progress.percent,
                })
                .filter(|progress| self.state.progress.as_ref() != Some(progress));
                if self.state.attention == Attention::Blocked {
                    self.attention(self.at_rest());
                }
            }
            Signal::NeedsInput(asked) => {
                self.change
                    .requests
                    .push(RequestChange::Opened(InputRequest {
                        id: self.observation.id,
                        question: asked.question.clone(),
                        choices: asked.choices.clone(),
                    }));
                self.attention(Attention::AwaitingOperator);
                self.owner.push(OwnerEffectKind::InputRequested);
            }
            Signal::Blocked(_) => {
                self.attention(Attention::Blocked);
                self.owner.push(OwnerEffectKind::Blocked);
            }
            Signal::ReadyForVerification(_) => {
                self.owner.push(OwnerEffectKind::VerificationRequested);
            }
            Signal::CompletedClaim(_) => self.owner.push(OwnerEffectKind::CompletionClaimed),
            Signal::FailedClaim(_) => self.owner.push(OwnerEffectKind::FailureClaimed),
            Signal::Message(_) => {}
        }
    }

    fn of_fact(&mut self, fact: &Fact) -> Result<(), Reason> {
        match fact {
            Fact::Reading(reading) => self.of_reading(reading.state),
            Fact::Turn(turn) => match turn.edge {
                Edge::Began => {
                    self.activity(Activity::Reasoning);
                    self.working();
                }
                Edge::Ended => {
                    self.activity(Activity::Idle);
                    self.capabilities(|now| CapabilitySnapshot {
                        tool_call_active: false,
                        filesystem_mutating: false,
                        streaming: false,
                        ..now
                    });
                    self.target(CurrentTarget::Nothing);
                }
            },
            Fact::ToolUse(tool) => self.of_tool(tool),
            Fact::Dialog(dialog) => match dialog.edge {
                Edge::Began => self.attention(Attention::AwaitingOperator),
                Edge::Ended => self.working(),
            },
            Fact::Thinking(thinking) => {
                if thinking.edge == Edge::Began {
                    self.activity(Activity::Reasoning);
                    self.working();
                }
            }
            Fact::Usage(usage) => self.activity.telemetry = Some(add(self.state.telemetry, usage)),
            Fact::Session(session) => {
                self.change.session = Some(session.clone())
                    .filter(|session| self.state.session.as_ref() != Some(session));
            }
            Fact::Process(process) => return self.of_process(process),
            Fact::Control(control) => return self.of_control(control),
            Fact::Speech(_)
            | Fact::SessionCost(_)
            | Fact::RateLimits(_)
            | Fact::Plan(_)
            | Fact::Setting(_)
            | Fact::Diagnostic(_) => {}
        }
        Ok(())
    }

    fn of_reading(&mut self, state: PtyState) {
        match state {
            PtyState::Idle | PtyState::SlashMenu => self.activity(Activity::Idle),
            PtyState::Thinking => self.activity(Activity::Reasoning),
            PtyState::Responding => self.activity(Activity::Communicating),
            // A hook that told what the tool works on knows more than a screen.
            PtyState::ToolRunning => {
                if !self.state.capabilities.tool_call_active {
                    self.activity(Activity::Executing);
                }
            }
            PtyState::Confirming => self.attention(Attention::AwaitingOperator),
            PtyState::Unknown | PtyState::Error => self.activity(Activity::Unknown),
            PtyState::Starting | PtyState::Exited => {}
        }
        // A dialog that is gone was answered, also when the agent then rests.
        if state.is_working() || state == PtyState::Idle {
            self.working();
        }
    }

    fn of_tool(&mut self, tool: &ToolUse) {
        // A transcript lags behind the screen: what it says an agent that rests
        // has begun is over already. A turn that ended with an error rests, too.
        let rests = self.state.activity == Activity::Idle
            || self.state.last_known.screen == Some(PtyState::Error);
        let late = rests && self.observation.source == Source::Transcript;
        if late && tool.edge == Edge::Began {
            return;
        }
        let kind = tool.target.as_ref().map(|target| target.kind);
        match tool.edge {
            Edge::Began => {
                self.activity(match kind {
                    Some(TargetKind::File) => Activity::Editing,
                    Some(TargetKind::Test) => Activity::Testing,
                    _ => Activity::Executing,
                });
                self.capabilities(|now| CapabilitySnapshot {
                    tool_call_active: true,
                    filesystem_mutating: kind == Some(TargetKind::File),
                    ..now
                });
                // A call may have begun and still wait to be allowed: whether a
                // question stands is for the screen and the hooks to say.
                if let Some(target) = &tool.target {
                    self.target(CurrentTarget::On(target.clone()));
                }
            }
            Edge::Ended => {
                self.capabilities(|now| CapabilitySnapshot {
                    tool_call_active: false,
                    filesystem_mutating: false,
                    ..now
                });
                self.target(CurrentTarget::Nothing);
            }
        }
    }

    fn of_process(&mut self, process: &Process) -> Result<(), Reason> {
        match process {
            Process::Started { .. } => {
                self.lifecycle(Lifecycle::Running)?;
                self.attention(Attention::Autonomous);
            }
            Process::Exited { code: Some(0), .. } => self.end(Lifecycle::Completed)?,
            Process::Exited {
                signal: Some(_), ..
            }
            | Process::Lost { .. } => self.end(Lifecycle::Terminated)?,
            Process::Exited { .. } => self.end(Lifecycle::Failed)?,
        }
        Ok(())
    }

    fn of_control(&mut self, control: &Control) -> Result<(), Reason> {
        match control {
            Control::Paused => self.lifecycle(Lifecycle::Paused),
            Control::Resumed => self.lifecycle(Lifecycle::Running),
            Control::Cancelled { .. } => self.end(Lifecycle::Cancelled),
            Control::Terminated { .. } => self.end(Lifecycle::Terminated),
            Control::Finished { .. } => self.end(Lifecycle::Completed),
            Control::Withdrew { request } => {
                if !self.state.requests.contains_key(request) {
                    return Err(Reason::NoSuchRequest);
                }
                let request = *request;
                self.change
                    .requests
                    .push(RequestChange::Withdrawn { request });
                if self.state.requests.len() == 1
                    && self.state.attention == Attention::AwaitingOperator
                {
                    self.attention(Attention::Autonomous);
                }
                Ok(())
            }
        }
    }

    /// The run is over: nobody waits for anything, nothing goes on.
    fn end(&mut self, to: Lifecycle) -> Result<(), Reason> {
        self.lifecycle(to)?;
        self.attention(Attention::None);
        self.activity(Activity::Idle);
        self.capabilities(|_| CapabilitySnapshot::default());
        self.target(CurrentTarget::Nothing);
        for &request in self.state.requests.keys() {
            self.change
                .requests
                .push(RequestChange::Withdrawn { request });
        }
        self.owner.push(OwnerEffectKind::RunEnded);
        Ok(())
    }

    /// It works, so it waits for nobody, unless it has an open question.
    fn working(&mut self) {
        if matches!(
            self.state.attention,
            Attention::AwaitingOperator | Attention::None
        ) {
            self.attention(self.at_rest());
        }
    }

    fn at_rest(&self) -> Attention {
        if self.state.requests.is_empty() {
            Attention::Autonomous
        } else {
            Attention::AwaitingOperator
        }
    }

    fn lifecycle(&mut self, to: Lifecycle) -> Result<(), Reason> {
        if to != self.state.lifecycle {
            self.state
                .lifecycle
                .transition(to)
                .map_err(|_| Reason::IllegalMove)?;
            self.change.lifecycle = Some(to);
        }
        Ok(())
    }

    fn attention(&mut self, to: Attention) {
        self.change.attention = Some(to).filter(|&to| to != self.state.attention);
    }

    fn activity(&mut self, to: Activity) {
        self.activity.activity = Some(to).filter(|&to| to != self.state.activity);
    }

    fn capabilities(&mut self, change: impl FnOnce(CapabilitySnapshot) -> CapabilitySnapshot) {
        let now = self.state.capabilities;
        self.activity.capabilities = Some(change(now)).filter(|&after| after != now);
    }

    fn target(&mut self, to: CurrentTarget) {
        self.activity.target = Some(to).filter(|to| *to != self.state.target);
    }

    fn finish(self) -> Vec<RecordBody> {
        let mut effects = Vec::with_capacity(2 + self.owner.len());
        if !self.change.is_empty() {
            effects.push(self.change.into());
        }
        if !self.activity.is_empty() {
            effects.push(self.activity.into());
        }
        for (index, kind) in (0..).zip(self.owner) {
            effects.push(
                OwnerEffect {
                    key: EffectKey {
                        observation: self.observation.id,
                        index,
                    },
                    owner: self.state.owner.clone(),
                    kind,
                    status: EffectStatus::Due,
                }
                .into(),
            );
        }
        effects
    }
}

const fn add(total: Telemetry, usage: &Usage) -> Telemetry {
    Telemetry {
        requests: total.requests.saturating_add(1),
        input_tokens: total.input_tokens.saturating_add(usage.input_tokens),
        output_tokens: total.output_tokens.saturating_add(usage.output_tokens),
        cache_read_tokens: total
            .cache_read_tokens
            .saturating_add(usage.cache_read_tokens),
        cache_write_tokens: total
            .cache_write_tokens
            .saturating_add(usage.cache_write_tokens),
    }
}
