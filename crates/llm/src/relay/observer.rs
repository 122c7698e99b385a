//! Reads along what an agent's model answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::{ExecutionId, Timestamp};
use missiond_net::http::{Body, Bytes, HttpError};
use missiond_runtime::OnPanic;
use missiond_store::llm::RequestEnd;
use tokio::task::JoinHandle;

use super::{Activity, Watch};
use crate::Llm;
use crate::formats::{Format, Reader};
use crate::gate::{Health, Passed};
use crate::items::{Answer, Item, Piece, Stop, Usage};
use crate::ledger::Entry;

/// An answer that comes whole is kept until its end, if it is no larger.
const MAX_WHOLE: usize = 16 << 20;

#[derive(Debug)]
enum Reading {
    /// Nothing has come.
    Nothing,
    Stream(Box<Reader>),
    Whole(Vec<u8>),
    /// It cannot be read: the bytes go on, and nobody knows what they cost.
    Unreadable,
}

/// What is known of one request of an agent.
#[derive(Debug)]
pub(super) struct Observer {
    llm: Arc<Llm>,
    format: Format,
    entry: Entry,
    passed: Option<Passed>,
    recorded: Option<JoinHandle<()>>,
    /// Of a step of the conversation: whose, and who wants to know.
    turn: Option<(ExecutionId, Arc<dyn Watch>)>,
    reading: Reading,
    said: Option<Activity>,
    first_piece_at: Option<Timestamp>,
    ended: bool,
}

impl Observer {
    pub(super) fn new(
        llm: Arc<Llm>,
        format: Format,
        entry: Entry,
        passed: Passed,
        recorded: Option<JoinHandle<()>>,
        turn: Option<(ExecutionId, Arc<dyn Watch>)>,
    ) -> Self {
        if let Some((execution, _)) = &turn {
            llm.count_turns(*execution, 1);
        }
        let mut observer = Self {
            llm,
            format,
            entry,
            passed: Some(passed),
            recorded,
            turn,
            reading: Reading::Nothing,
            said: None,
            first_piece_at: None,
            ended: false,
        };
        observer.say(Activity::Asked);
        observer
    }

    /// The answer begins.
    pub(super) fn answers(&mut self, streams: bool) {
        self.reading = if streams {
            Reading::Stream(Box::new(Reader::new(self.format)))
        } else {
            Reading::Whole(Vec::new())
        };
    }

    fn read(&mut self, bytes: &[u8]) {
        let pieces = match &mut self.reading {
            Reading::Stream(reader) => match reader.feed(bytes) {
                Ok(pieces) => pieces,
                Err(error) => {
                    tracing::warn!(request = self.entry.id, %error, "answer passed on unread");
                    self.reading = Reading::Unreadable;
                    return;
                }
            },
            Reading::Whole(whole) if whole.len() + bytes.len() <= MAX_WHOLE => {
                whole.extend_from_slice(bytes);
                return;
            }
            Reading::Whole(_) => {
                self.reading = Reading::Unreadable;
                return;
            }
            Reading::Nothing | Reading::Unreadable => return,
        };
        for piece in pieces {
            if self.first_piece_at.is_none() {
                self.first_piece_at = Some(self.llm.clock.now());
            }
            match piece {
                Piece::Text(_) => self.say(Activity::Answering),
                // The first thing said of a tool: its arguments are still to come.
                Piece::Call { .. } => self.say(Activity::ToolAnnounced),
                Piece::Reasoning(_) | Piece::End(_) => {}
            }
        }
    }

    /// The answer is there, or what came of it.
    fn finish(&mut self, broken: Option<&str>) {
        let reading = std::mem::replace(&mut self.reading, Reading::Nothing);
        let answer = match reading {
            Reading::Stream(reader) => Some(reader.finish()),
            Reading::Whole(whole) => Reader::whole(self.format, &whole).ok(),
            Reading::Nothing | Reading::Unreadable => None,
        };
        let Some(mut answer) = answer else {
            let mut end = RequestEnd::new("answered", self.llm.clock.now());
            end.failure = Some(broken.unwrap_or("the answer could not be read").to_owned());
            self.end(end, Usage::default(), Health::Neither, Activity::Failed);
            return;
        };
        if let Some(why) = broken {
            answer.stop = Stop::Cut;
            answer.error.get_or_insert_with(|| why.to_owned());
        }
        let activity = match answer.stop {
            Stop::Tool => Activity::ToolAnnounced,
            Stop::End | Stop::Length | Stop::Refusal => Activity::TurnEnded,
            Stop::Cut => Activity::Failed,
        };
        let health = if answer.stop == Stop::Cut {
            Health::Failed
        } else {
            Health::Well
        };
        let end = self.llm.ledger.end_of(&answer, self.first_piece_at, words);
        self.end(end, answer.usage, health, activity);
    }

    /// There is no answer.
    pub(super) fn failed(mut self, why: &str, is_of_provider: bool) {
        let health = if is_of_provider {
            Health::Failed
        } else {
            Health::Neither
        };
        let end = self.llm.ledger.end_failed(why);
        self.end(end, Usage::default(), health, Activity::Failed);
    }

    fn end(&mut self, end: RequestEnd, used: Usage, health: Health, activity: Activity) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some((execution, _)) = &self.turn {
            let others = self.llm.count_turns(*execution, -1);
            // A turn goes on while another of its requests is under way.
            let rests = matches!(activity, Activity::TurnEnded | Activity::Failed);
            self.say(if rests && others > 0 {
                Activity::Asked
            } else {
                activity
            });
        }
        if let Some(passed) = self.passed.take() {
            passed.tell(health);
        }
        let (llm, entry, recorded) = (
            Arc::clone(&self.llm),
            self.entry.clone(),
            self.recorded.take(),
        );
        let settle = async move {
            if let Some(recorded) = recorded {
                let _ = recorded.await;
            }
            llm.ledger.settle(&entry, end, &used).await;
        };
        self.llm
            .supervisor
            .spawn("model request", None, OnPanic::Report, settle);
    }

    fn say(&mut self, activity: Activity) {
        if self.said == Some(activity) {
            return;
        }
        self.said = Some(activity);
        if let Some((execution, watch)) = &self.turn {
            watch.saw(*execution, activity);
        }
    }
}

impl Drop for Observer {
    /// The agent went away in the middle.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let reading = std::mem::replace(&mut self.reading, Reading::Nothing);
        let used = match reading {
            Reading::Stream(reader) => reader.finish().usage,
            _ => Usage::default(),
        };
        let mut end = RequestEnd::new("given_up", self.llm.clock.now());
        end.first_piece_at = self.first_piece_at;
        // What was said of the output so far is less than what was made.
        let used = Usage {
            output: None,
            ..used
        };
        self.end(end, used, Health::Neither, Activity::Failed);
    }
}

/// What an answer said and called for, for the record.
fn words(answer: &Answer) -> String {
    let words = answer.items.iter().filter_map(|item| match item {
        Item::Text(text) => Some(text.clone()),
        Item::Call(call) => Some(format!("[{} {}]", call.name, call.arguments.value())),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// A body on its way to an agent.
#[derive(Debug)]
pub struct RelayBody {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Whole(Option<Bytes>),
    Passing {
        body: Box<Body>,
        observer: Box<Observer>,
        silence: Duration,
        limit: Instant,
    },
    Ended,
}

impl RelayBody {
    pub(super) const fn whole(bytes: Bytes) -> Self {
        Self {
            source: Source::Whole(Some(bytes)),
        }
    }

    pub(super) fn new(body: Body, observer: Observer, silence: Duration, limit: Instant) -> Self {
        Self {
            source: Source::Passing {
                body: Box::new(body),
                observer: Box::new(observer),
                silence,
                limit,
            },
        }
    }

    /// The next piece, as it came; none at the end. After an error there is no more.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, HttpError>> {
        let (body, observer, silence, limit) = match &mut self.source {
            Source::Ended => return None,
            Source::Whole(bytes) => return bytes.take().map(Ok),
            Source::Passing {
                body,
                observer,
                silence,
                limit,
            } => (body, observer, *silence, *limit),
        };
        let until = (Instant::now() + silence).min(limit);
        let chunk = tokio::time::timeout_at(until.into(), body.chunk()).await;
        match chunk.unwrap_or(Some(Err(HttpError::Timeout(silence)))) {
            Some(Ok(bytes)) => {
                observer.read(&bytes);
                Some(Ok(bytes))
            }
            None => {
                observer.finish(None);
                self.source = Source::Ended;
                None
            }
            Some(Err(error)) => {
                observer.finish(Some(&error.to_string()));
                self.source = Source::Ended;
                Some(Err(error))
            }
        }
    }
}
