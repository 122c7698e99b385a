//! Programs that fail again and again.
//!
//! Remembers how the last programs ended. Two ends are of the same program when
//! their slots had the same name or ran the same command.

use std::collections::VecDeque;
use std::time::Duration;

use missiond_core::Timestamp;

/// Ends that are remembered.
const KEPT: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Crashes {
    failures: VecDeque<Failure>,
    /// Subjects that are known to fail again and again.
    open: Vec<Loop>,
}

#[derive(Debug)]
struct Failure {
    name: String,
    argv: Vec<String>,
    at: Timestamp,
}

#[derive(Debug)]
struct Loop {
    subject: String,
    name: String,
    argv: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Failed,
    /// By itself, or because it was told to.
    Fine,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Looping { subject: String, failures: usize },
    Recovered { subject: String },
}

impl Crashes {
    /// Notes an end. `count` failures within `window` are a loop.
    pub(super) fn record(
        &mut self,
        (name, argv): (&str, &[String]),
        end: End,
        at: Timestamp,
        (count, window): (u32, Duration),
    ) -> Option<Verdict> {
        if end == End::Fine {
            let known = |open: &Loop| open.name == name || open.argv == argv;
            let place = self.open.iter().position(known)?;
            let subject = self.open.remove(place).subject;
            self.failures
                .retain(|failure| failure.name != name && failure.argv != argv);
            return Some(Verdict::Recovered { subject });
        }
        if self.failures.len() == KEPT {
            self.failures.pop_front();
        }
        self.failures.push_back(Failure {
            name: name.to_owned(),
            argv: argv.to_owned(),
            at,
        });
        let window = i64::try_from(window.as_micros()).unwrap_or(i64::MAX);
        let recent = |failure: &&Failure| at.as_micros() - failure.at.as_micros() <= window;
        let recent: Vec<_> = self.failures.iter().filter(recent).collect();
        let named = recent.iter().filter(|failure| failure.name == name).count();
        let alike = recent.iter().filter(|failure| failure.argv == argv).count();
        let failures = named.max(alike);
        if failures < usize::try_from(count).unwrap_or(usize::MAX) {
            return None;
        }
        let subject = if named >= alike {
            name.to_owned()
        } else {
            argv.first().cloned().unwrap_or_default()
        };
        if !self.open.iter().any(|open| open.subject == subject) {
            if self.open.len() == KEPT {
                self.open.remove(0);
            }
            self.open.push(Loop {
                subject: subject.clone(),
                name: name.to_owned(),
                argv: argv.to_owned(),
            });
        }
        Some(Verdict::Looping { subject, failures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: (u32, Duration) = (3, Duration::from_secs(60));

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn argv(command: &str) -> Vec<String> {
        vec![command.to_owned(), "--fast".to_owned()]
    }

    #[test]
    fn three_failures_of_a_name_or_of_a_command_are_a_loop() {
        let mut crashes = Crashes::default();
        let mut fail = |name: &str, command: &str, second| {
            crashes.record((name, &argv(command)), End::Failed, at(second), LIMIT)
        };
        assert_eq!(fail("a", "one", 0), None);
        assert_eq!(fail("b", "one", 10), None);
        assert_eq!(fail("c", "two", 20), None);
        let verdict = fail("d", "one", 30);
        let looping = |subject: &str| {
            Some(Verdict::Looping {
                subject: subject.to_owned(),
                failures: 3,
            })
        };
        assert_eq!(verdict, looping("one"));
        assert_eq!(fail("c", "three", 31), None);
        assert_eq!(fail("c", "four", 32), looping("c"));
        assert_eq!(fail("e", "five", 33), None);
    }

    #[test]
    fn failures_far_apart_are_none_and_a_good_end_ends_it() {
        let mut crashes = Crashes::default();
        for second in [0, 50, 100, 150] {
            let told = crashes.record(("a", &argv("one")), End::Failed, at(second), LIMIT);
            assert_eq!(told, None, "{second}");
        }
        let told = crashes.record(("a", &argv("one")), End::Failed, at(151), LIMIT);
        assert!(matches!(told, Some(Verdict::Looping { failures: 3, .. })));
        let told = crashes.record(("a", &argv("one")), End::Fine, at(152), LIMIT);
        let subject = "a".to_owned();
        assert_eq!(told, Some(Verdict::Recovered { subject }));
        let told = crashes.record(("a", &argv("one")), End::Failed, at(153), LIMIT);
        assert_eq!(told, None);
    }
}
