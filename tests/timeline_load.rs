//! Load on the timeline, and the verdict on what became of it: what was
//! acknowledged is there, in order and once, what was refused is not, and the
//! effects of all of it were applied once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use missiond_api::operations::communication::{TimelineNote, TimelineNoteParams};
use missiond_api::{ApiError, Client, ClientError};
use missiond_core::ErrorCode;
use serde_json::Value;

use crate::harness::{TestHome, wait_for};

const PRODUCERS: usize = 8;

/// Notes that were asked for over the life of a home, and what was answered.
#[derive(Default)]
pub(crate) struct Load {
    next: AtomicU64,
    answers: Mutex<Answers>,
}

#[derive(Default)]
struct Answers {
    /// By the place each was given.
    acknowledged: BTreeMap<i64, String>,
    /// Places that were given again, with whom they were given first.
    given_twice: Vec<(i64, String)>,
    refused: Vec<(String, ApiError)>,
}

impl Load {
    /// Producers note as fast as they are answered while `meanwhile` runs. A
    /// refusal does not stop a producer, the end of its connection does.
    pub(crate) fn while_producing<T>(&self, home: &TestHome, meanwhile: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..PRODUCERS {
                scope.spawn(|| {
                    let Ok(mut client) = Client::connect(&home.home()) else {
                        return;
                    };
                    while !over.load(Ordering::Relaxed) {
                        if self.note(&mut client).is_err() {
                            return;
                        }
                    }
                });
            }
            let _ends = OnDrop(|| over.store(true, Ordering::Relaxed));
            meanwhile()
        })
    }

    /// One note; `Err` when the connection failed, so that nobody knows.
    pub(crate) fn note(&self, client: &mut Client) -> Result<Result<i64, ApiError>, ClientError> {
        let text = format!("note {}", self.next.fetch_add(1, Ordering::Relaxed));
        let params = TimelineNoteParams {
            text: text.parse().unwrap(),
            author: None,
            trace_id: None,
            parent_span_id: None,
        };
        match client.call::<TimelineNote>(&params) {
            Ok(result) => {
                let seq = result.event.seq.unwrap().0;
                let mut answers = self.answers();
                if let Some(before) = answers.acknowledged.insert(seq, text) {
                    answers.given_twice.push((seq, before));
                }
                Ok(Ok(seq))
            }
            Err(ClientError::Api(error)) => {
                self.answers().refused.push((text, error.clone()));
                Ok(Err(error))
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn acknowledged(&self) -> usize {
        self.answers().acknowledged.len()
    }

    /// What was refused so far, by code.
    pub(crate) fn refusals(&self) -> BTreeMap<String, ApiError> {
        let answers = self.answers();
        let by_code =
            |(_, error): &(String, ApiError)| (format!("{:?}", error.code), error.clone());
        answers.refused.iter().map(by_code).collect()
    }

    /// Compares the whole timeline of a running daemon with the answers.
    /// Returns how often each kind of event is on it.
    pub(crate) fn verdict(&self, home: &TestHome) -> BTreeMap<String, i64> {
        let events = home.events();
        let sequence: Vec<_> = events.iter().map(seq).collect();
        let expected: Vec<_> = (1..=events.len() as i64).collect();
        assert_eq!(
            sequence, expected,
            "every number is given once, in order, without a hole"
        );

        let stored: BTreeMap<i64, &str> = events
            .iter()
            .filter(|event| event["event"]["type"] == "note_added")
            .map(|event| (seq(event), event["event"]["text"].as_str().unwrap()))
            .collect();
        let answers = self.answers();
        assert_eq!(answers.given_twice, [], "a number that was given is taken");
        for (seq, text) in &answers.acknowledged {
            assert_eq!(
                stored.get(seq),
                Some(&text.as_str()),
                "event {seq} was acknowledged"
            );
        }
        let texts: BTreeSet<_> = stored.values().copied().collect();
        assert_eq!(texts.len(), stored.len(), "nothing was stored twice");
        for (text, error) in &answers.refused {
            // A conflict says that it may or may not have been kept.
            let must_not_be_there = error.code != ErrorCode::Conflict;
            assert!(
                !(must_not_be_there && texts.contains(text.as_str())),
                "`{text}` was refused and is there: {error}"
            );
        }
        drop(answers);
        effects_were_applied_once(home, &events)
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap()
    }
}

/// The activity consumer adds up; what it applied twice or not at all would show.
fn effects_were_applied_once(home: &TestHome, events: &[Value]) -> BTreeMap<String, i64> {
    let since = r#"{"since": "2000-01-01T00:00:00Z"}"#;
    let mut report = Value::Null;
    wait_for("the consumer to catch up", || {
        report = home.json(&["call", "timeline_activity", since]);
        report["counted_to"].as_i64().unwrap() >= events.len() as i64
    });
    let mut counted: BTreeMap<String, i64> = BTreeMap::new();
    for row in report["hours"].as_array().unwrap() {
        let kind = row["kind"].as_str().unwrap().to_owned();
        *counted.entry(kind).or_default() += row["count"].as_i64().unwrap();
    }
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    for event in events {
        *expected
            .entry(event["event"]["type"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    assert_eq!(counted, expected);
    expected
}

fn seq(event: &Value) -> i64 {
    event["seq"].as_i64().unwrap()
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
