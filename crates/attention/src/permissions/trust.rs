//! How far who takes part in a request is trusted, from the facts on record.

use std::collections::HashMap;

use missiond_core::Timestamp;
use missiond_guard::permissions::{Request, Verdict};
use missiond_guard::trust::{Fact, FactKind, Score, Subject, SubjectKind, limit, score};
use missiond_store::trust_facts::TrustFact;

/// The scores of one moment, of all that something is on record about.
#[derive(Debug, Default)]
pub struct TrustScores(HashMap<Subject, Score>);

impl TrustScores {
    #[must_use]
    pub fn of(facts: &[TrustFact], now: Timestamp) -> Self {
        let mut by_subject: HashMap<Subject, Vec<Fact>> = HashMap::new();
        for fact in facts {
            // What a newer version wrote is not counted.
            if let (Ok(subject), Some(kind)) = (fact.subject.parse(), FactKind::parse(&fact.kind)) {
                by_subject.entry(subject).or_default().push(Fact {
                    kind,
                    at: fact.at,
                    count: fact.count,
                });
            }
        }
        let scored = by_subject.into_iter();
        Self(
            scored
                .map(|(subject, facts)| (subject, score(&facts, now)))
                .collect(),
        )
    }

    /// A verdict made as strict as the least trusted of those who take part wants it.
    pub(super) fn limit(&self, verdict: Verdict, request: &Request) -> Verdict {
        subjects(request)
            .into_iter()
            .fold(verdict, |verdict, subject| match self.0.get(&subject) {
                Some(score) => limit(verdict, &subject, score),
                None => verdict,
            })
    }

    /// The score of a subject, if anything is on record about it.
    #[must_use]
    pub fn get(&self, subject: &Subject) -> Option<&Score> {
        self.0.get(subject)
    }

    /// All of them, the least trusted first.
    #[must_use]
    pub fn sorted(&self) -> Vec<(&Subject, &Score)> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(subject, score)| (score.score, (*subject).clone()));
        all
    }
}

fn subjects(request: &Request) -> Vec<Subject> {
    let mut subjects = vec![Subject::new(
        SubjectKind::Engine,
        request.engine.to_string(),
    )];
    if let Some(server) = &request.server {
        subjects.push(Subject::new(SubjectKind::Server, server));
        if let Some(tool) = &request.tool {
            let prefix = format!("{server}__");
            let tool = tool.strip_prefix("mcp__").unwrap_or(tool);
            let tool = tool.strip_prefix(&prefix).unwrap_or(tool);
            subjects.push(Subject::new(SubjectKind::Tool, format!("{prefix}{tool}")));
        }
    }
    subjects
}
