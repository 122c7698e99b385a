//! The texts and answers a structured slot is given, one after the other. A job is over
//! when its line is on record: then the agent has it, whatever becomes of this daemon.

use std::collections::VecDeque;
use std::time::Duration;

use missiond_control::{
    Connection, ControlRequest, ControlState, FileMentions, Offers, OpenPermission,
    PermissionAnswer, PromptPart, Refusal,
};
use missiond_core::PtyState;
use missiond_semantic::{
    AnswerOutcome, AnswerRefusal, Answered, Delivered, DeliveryRefusal, Dialog, Landed, Reading,
    Submit, When, option_for,
};

use crate::typing::{Answer, Attachment, Ended, InputError, Job, Message, WAITING};

#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// Each with the moment until which it may wait.
    waiting: VecDeque<(Job, Duration)>,
    /// The job that was just asked for.
    asking: Option<Asked>,
    /// Asked for, and not on record yet; each with the number of its line.
    written: VecDeque<(Asked, u64)>,
}

/// A job, and how it will have ended.
#[derive(Debug)]
struct Asked {
    job: Job,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Delivered(Delivered),
    Answered(Answered),
}

#[derive(Debug)]
pub(super) enum Step {
    Ask(ControlRequest),
    Ended(Ended),
}

impl Jobs {
    pub(super) fn accept(&mut self, job: Job, now: Duration) -> Option<Ended> {
        if self.waiting.len() >= WAITING {
            job.refuse(InputError::Crowded);
            return None;
        }
        let wait = match &job {
            Job::Deliver(message, _) => message.wait,
            Job::Answer(answer, _) => answer.wait,
        };
        self.waiting.push_back((job, now + wait));
        None
    }

    /// Nothing waits, and nothing was said that is not on record.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.asking.is_none() && self.written.is_empty()
    }

    pub(super) fn refuse(self) {
        for (job, _) in self.waiting {
            job.refuse(InputError::HandingOff);
        }
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.waiting.front().map(|(_, until)| *until)
    }

    /// What the job in front comes to, as things are; none while it has to wait.
    pub(super) fn next(
        &mut self,
        reading: &Reading,
        state: &ControlState,
        failure: Option<&str>,
        mentions: FileMentions,
        now: Duration,
    ) -> Option<Step> {
        // One at a time: what is asked changes what can be asked next.
        let (_, until) = self.waiting.front()?;
        let late = now >= *until || reading.state == PtyState::Exited;
        let (job, until) = self.waiting.pop_front()?;
        if job.is_unwanted() {
            return self.next(reading, state, failure, mentions, now);
        }
        match job {
            Job::Deliver(message, reply) => {
                match deliverable(&message, reading, state, failure, mentions) {
                    Ok(request) => {
                        let outcome = Outcome::Delivered(Delivered {
                            bytes: message.text.len() as u64,
                            landed: Landed::Confirmed,
                            evidence: "its line is on record, and was given to the agent"
                                .to_owned(),
                        });
                        let job = Job::Deliver(message, reply);
                        self.asking = Some(Asked { job, outcome });
                        Some(Step::Ask(request))
                    }
                    Err(refusal) if late || !may_pass(&refusal) => {
                        Some(Step::Ended(Ended::Delivered(Err(refusal), reply)))
                    }
                    Err(_) => {
                        let job = Job::Deliver(message, reply);
                        self.waiting.push_front((job, until));
                        None
                    }
                }
            }
            Job::Answer(answer, reply) => match answerable(&answer, reading, state) {
                Ok((request, answered)) => {
                    let outcome = Outcome::Answered(answered);
                    let job = Job::Answer(answer, reply);
                    self.asking = Some(Asked { job, outcome });
                    Some(Step::Ask(request))
                }
                Err(refusal) if late || !matches!(refusal, AnswerRefusal::NoDialog(_)) => {
                    Some(Step::Ended(Ended::Answered(Err(refusal), reply)))
                }
                Err(_) => {
                    let job = Job::Answer(answer, reply);
                    self.waiting.push_front((job, until));
                    None
                }
            },
        }
    }

    /// What came of asking: with the lines of ours that are written then.
    pub(super) fn asked(&mut self, asked: Result<(), Refusal>, written: u64) -> Option<Ended> {
        let asking = self.asking.take()?;
        match asked {
            Ok(()) => {
                self.written.push_back((asking, written));
                None
            }
            Err(refusal) => Some(match asking.job {
                Job::Deliver(_, reply) => {
                    let refusal = DeliveryRefusal::Protocol(refusal.to_string());
                    Ended::Delivered(Err(refusal), reply)
                }
                Job::Answer(_, reply) => {
                    let refusal = AnswerRefusal::Protocol(refusal.to_string());
                    Ended::Answered(Err(refusal), reply)
                }
            }),
        }
    }

    /// So many lines are on record: these jobs are done.
    pub(super) fn taken(&mut self, count: u64) -> Vec<Ended> {
        let mut ended = Vec::new();
        while let Some((asked, _)) = self.written.pop_front_if(|(_, line)| *line <= count) {
            ended.push(asked.end());
        }
        ended
    }

    /// Those whose lines are not among the first so many wait again, to be asked once.
    pub(super) fn not_taken_beyond(mut self, recorded: u64) -> Self {
        let lost = self.written.partition_point(|(_, line)| *line <= recorded);
        for (asked, _) in self.written.drain(lost..).rev() {
            self.waiting.push_front((asked.job, Duration::MAX));
        }
        self
    }
}

impl Asked {
    fn end(self) -> Ended {
        match (self.job, self.outcome) {
            (Job::Deliver(_, reply), Outcome::Delivered(delivered)) => {
                Ended::Delivered(Ok(delivered), reply)
            }
            (Job::Answer(_, reply), Outcome::Answered(answered)) => {
                Ended::Answered(Ok(answered), reply)
            }
            (Job::Deliver(_, reply), Outcome::Answered(_)) => {
                Ended::Delivered(Err(DeliveryRefusal::Exited), reply)
            }
            (Job::Answer(_, reply), Outcome::Delivered(_)) => {
                Ended::Answered(Err(AnswerRefusal::Changed), reply)
            }
        }
    }
}

/// Whether waiting may help.
fn may_pass(refusal: &DeliveryRefusal) -> bool {
    matches!(
        refusal,
        DeliveryRefusal::Busy(_) | DeliveryRefusal::NotReady(_)
    )
}

fn deliverable(
    message: &Message,
    reading: &Reading,
    state: &ControlState,
    failure: Option<&str>,
    mentions: FileMentions,
) -> Result<ControlRequest, DeliveryRefusal> {
    if let Some(why) = failure {
        return Err(DeliveryRefusal::Protocol(why.to_owned()));
    }
    if message.submit == Submit::No {
        return Err(DeliveryRefusal::NoDraft);
    }
    if let Some(dialog) = &reading.dialog {
        return Err(DeliveryRefusal::Dialog {
            question: dialog.question.clone(),
            options: dialog.options.iter().map(|o| o.label.clone()).collect(),
        });
    }
    let offers = match &state.connection {
        Connection::Ready(agent) => agent.offers,
        _ => Offers::default(),
    };
    let parts = || parts(message, offers, mentions);
    match (reading.state, message.when) {
        (PtyState::Exited, _) => Err(DeliveryRefusal::Exited),
        (PtyState::Idle | PtyState::Error, When::Idle | When::Now) if state.session.is_some() => {
            Ok(ControlRequest::Prompt(parts()))
        }
        (_, When::Asked) => Err(DeliveryRefusal::NotAsked(reading.state)),
        (working, When::Now) if working.is_working() && offers.steer => {
            Ok(ControlRequest::Steer(parts()))
        }
        (working, When::Now) if working.is_working() && offers.queue => {
            Ok(ControlRequest::Prompt(parts()))
        }
        (working, _) if working.is_working() => Err(DeliveryRefusal::Busy(working)),
        (other, _) => Err(DeliveryRefusal::NotReady(other)),
    }
}

/// The files first, then the words: by those a prompt is found again on a recording.
fn parts(message: &Message, offers: Offers, mentions: FileMentions) -> Vec<PromptPart> {
    let file = |file: &Attachment| match &file.picture {
        Some(picture) if offers.images => PromptPart::Image {
            mime_type: picture.mime_type.to_owned(),
            data: picture.data.clone(),
        },
        // What it cannot be sent it may read.
        _ if mentions == FileMentions::Words => {
            PromptPart::Text(format!("{}\n", file.path.display()))
        }
        _ => PromptPart::File {
            path: file.path.display().to_string(),
        },
    };
    let files = message.attachments.iter().map(file);
    let words = PromptPart::Text(message.text.clone());
    files.chain([words]).collect()
}

fn answerable(
    answer: &Answer,
    reading: &Reading,
    state: &ControlState,
) -> Result<(ControlRequest, Answered), AnswerRefusal> {
    let (Some(dialog), Some(OpenPermission { request, .. })) =
        (&reading.dialog, state.permissions.first())
    else {
        return Err(AnswerRefusal::NoDialog(reading.state));
    };
    if let Some(expected) = &answer.expect
        && !dialog.asks(expected)
    {
        return Err(AnswerRefusal::OtherQuestion {
            asked: dialog.question.clone(),
            expected: expected.clone(),
        });
    }
    let index = option_for(dialog, &answer.option)?;
    let option = request.options.get(index).ok_or(AnswerRefusal::Changed)?;
    let asked = ControlRequest::AnswerPermission {
        id: request.id.clone(),
        answer: PermissionAnswer::Option(option.id.clone()),
    };
    Ok((asked, answered(dialog, index)))
}

fn answered(dialog: &Dialog, index: usize) -> Answered {
    Answered {
        option: dialog.options[index].clone(),
        question: dialog.question.clone(),
        outcome: AnswerOutcome::Taken,
        evidence: "the answer is on record, and was given to the agent".to_owned(),
    }
}
