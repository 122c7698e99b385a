//! Calls an agent makes again and again. Counted in memory alone: a daemon that
//! takes over counts from where it begins to read.

use missiond_adapters::TranscriptFact;
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(super) struct RepeatedCalls(Mutex<Option<Repeated>>);

#[derive(Debug)]
struct Repeated {
    tool: String,
    arguments: u64,
    times: u32,
}

impl RepeatedCalls {
    /// The last call and how often it was made in a row.
    pub(super) fn last(&self) -> Option<(String, u32)> {
        let last = self.0.lock();
        last.as_ref().map(|last| (last.tool.clone(), last.times))
    }

    pub(super) fn record(&self, fact: &TranscriptFact) {
        let mut last = self.0.lock();
        match fact {
            TranscriptFact::ToolStarted {
                tool, arguments, ..
            } => match &mut *last {
                Some(last) if last.tool == *tool && last.arguments == *arguments => {
                    last.times += 1;
                }
                _ => {
                    *last = Some(Repeated {
                        tool: tool.clone(),
                        arguments: *arguments,
                        times: 1,
                    });
                }
            },
            // Who is told something may well do the same again.
            TranscriptFact::Prompted { .. } => *last = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_counts_until_another_comes_between() {
        let repeated_calls = RepeatedCalls::default();
        let call = |arguments| {
            repeated_calls.record(&TranscriptFact::ToolStarted {
                call: "c".to_owned(),
                tool: "Bash".to_owned(),
                arguments,
                subject: None,
            });
            repeated_calls.last().unwrap().1
        };
        assert_eq!([call(1), call(1), call(1)], [1, 2, 3]);
        assert_eq!([call(2), call(1)], [1, 1]);
        repeated_calls.record(&TranscriptFact::Prompted {
            text: "again".to_owned(),
        });
        assert_eq!(call(1), 1);
    }
}
