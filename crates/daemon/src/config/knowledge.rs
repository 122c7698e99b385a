//! What embeds entries, whose proposals are accepted, and every number of the
//! search. The numbers begin as those of the profile that measures best.

use missiond_knowledge::{Context, Fusion, Profile};
use serde::{Deserialize, Serialize};

/// What embeds entries of knowledge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingProvider {
    /// A model that runs in the daemon.
    #[default]
    Embedded,
    Ollama,
    /// An endpoint with the interface of OpenAI.
    Openai,
    Off,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KnowledgeConfig {
    pub embedding: EmbeddingProvider,
    /// Empty means the provider's own default.
    pub model: String,
    /// Empty means the provider's own default.
    pub url: String,
    /// The name of an environment variable, never the key itself.
    pub api_key_env: String,
    /// A file with the key and nothing else.
    pub api_key_file: String,
    pub timeout_secs: u64,
    /// Sources, or beginnings of sources with a `*` behind them.
    pub accept_from: Vec<String>,
    /// Whether the model reads code too.
    pub code: bool,
    pub search: SearchConfig,
}

impl Default for KnowledgeConfig {
    fn default() -> Self {
        Self {
            embedding: EmbeddingProvider::default(),
            model: String::new(),
            url: String::new(),
            api_key_env: String::new(),
            api_key_file: String::new(),
            timeout_secs: 30,
            accept_from: Vec::new(),
            code: true,
            search: SearchConfig::default(),
        }
    }
}

impl KnowledgeConfig {
    /// Whether what this source proposes becomes an entry without a person.
    #[must_use]
    pub fn accepts(&self, source: &str) -> bool {
        self.accept_from
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(beginning) => source.starts_with(beginning),
                None => source == pattern,
            })
    }

    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let share = |key, value: f64| match (0.0..=1.0).contains(&value) {
            true => Ok(()),
            false => Err((key, format!("{value} must be 0 to 1"))),
        };
        let search = &self.search;
        share("knowledge.search.keyword", search.keyword)?;
        share("knowledge.search.keyword_of_turns", search.keyword_of_turns)?;
        share("knowledge.search.b", search.b)?;
        share("knowledge.search.filler", search.filler)?;
        share("knowledge.search.similarity_floor", search.similarity_floor)?;
        share("knowledge.search.drop_off", search.drop_off)?;
        share("knowledge.search.relevance", search.relevance)?;
        share("knowledge.search.conversation", search.conversation)?;
        share("knowledge.search.said", search.said)?;
        share("knowledge.search.feedback", search.feedback)?;
        if !(1..=50).contains(&search.feedback_hits) {
            let message = format!("{} must be 1 to 50", search.feedback_hits);
            return Err(("knowledge.search.feedback_hits", message));
        }
        for (key, values) in [
            ("knowledge.search.before", search.before),
            ("knowledge.search.after", search.after),
            ("knowledge.search.vector_before", search.vector_before),
            ("knowledge.search.vector_after", search.vector_after),
        ] {
            values.into_iter().try_for_each(|value| share(key, value))?;
        }
        if !(0.1..=10.0).contains(&search.k1) {
            let message = format!("{} must be 0.1 to 10", search.k1);
            return Err(("knowledge.search.k1", message));
        }
        for (key, value) in [
            (
                "knowledge.search.keyword_candidates",
                search.keyword_candidates,
            ),
            (
                "knowledge.search.vector_candidates",
                search.vector_candidates,
            ),
        ] {
            if !(10..=10_000).contains(&value) {
                return Err((key, format!("{value} must be 10 to 10000")));
            }
        }
        Ok(())
    }
}

/// The numbers of the search; what each means is said with the profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    pub keyword: f64,
    pub keyword_of_turns: f64,
    pub k1: f64,
    pub b: f64,
    pub filler: f64,
    pub keyword_candidates: u32,
    pub vector_candidates: u32,
    pub similarity_floor: f64,
    pub decay: bool,
    pub drop_off: f64,
    pub relevance: f64,
    pub before: [f64; 2],
    pub after: [f64; 2],
    pub vector_before: [f64; 2],
    pub vector_after: [f64; 2],
    pub conversation: f64,
    pub said: f64,
    pub feedback: f64,
    pub feedback_hits: u32,
}

impl Default for SearchConfig {
    fn default() -> Self {
        let best = Profile::best();
        let (keyword, keyword_of_turns) = match best.fusion {
            Fusion::Scores {
                keyword,
                keyword_of_turns,
            } => (keyword, keyword_of_turns),
            Fusion::Ranks { keyword, .. } => (keyword, keyword),
        };
        let context = best.context.unwrap_or_default();
        Self {
            keyword: wide(keyword),
            keyword_of_turns: wide(keyword_of_turns),
            k1: wide(best.bm25.k1),
            b: wide(best.bm25.b),
            filler: wide(best.bm25.filler),
            keyword_candidates: best.keyword_candidates as u32,
            vector_candidates: best.vector_candidates as u32,
            similarity_floor: wide(best.similarity_floor),
            decay: best.decay,
            drop_off: wide(best.drop_off),
            relevance: wide(best.relevance),
            before: context.before.map(wide),
            after: context.after.map(wide),
            vector_before: context.vector_before.map(wide),
            vector_after: context.vector_after.map(wide),
            conversation: wide(context.conversation),
            said: wide(context.said),
            feedback: wide(best.feedback),
            feedback_hits: best.feedback_hits as u32,
        }
    }
}

impl SearchConfig {
    /// The profile with these numbers.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let mut profile = Profile::best();
        profile.fusion = Fusion::Scores {
            keyword: self.keyword as f32,
            keyword_of_turns: self.keyword_of_turns as f32,
        };
        profile.bm25.k1 = self.k1 as f32;
        profile.bm25.b = self.b as f32;
        profile.bm25.filler = self.filler as f32;
        profile.keyword_candidates = self.keyword_candidates as usize;
        profile.vector_candidates = self.vector_candidates as usize;
        profile.similarity_floor = self.similarity_floor as f32;
        profile.decay = self.decay;
        profile.drop_off = self.drop_off as f32;
        profile.relevance = self.relevance as f32;
        profile.context = Some(Context {
            before: self.before.map(|weight| weight as f32),
            after: self.after.map(|weight| weight as f32),
            vector_before: self.vector_before.map(|weight| weight as f32),
            vector_after: self.vector_after.map(|weight| weight as f32),
            conversation: self.conversation as f32,
            said: self.said as f32,
        });
        profile.feedback = self.feedback as f32;
        profile.feedback_hits = self.feedback_hits as usize;
        profile
    }
}

/// As people write it: 0.15, not 0.15000000596.
fn wide(value: f32) -> f64 {
    (f64::from(value) * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_numbers_are_the_profile_that_measures_best() {
        assert_eq!(SearchConfig::default().profile(), Profile::best());
    }

    #[test]
    fn sources_are_accepted_whole_or_by_their_beginning() {
        let config = KnowledgeConfig {
            accept_from: vec!["nightly".into(), "session *".into()],
            ..KnowledgeConfig::default()
        };
        let accepted = ["nightly", "session 7"].map(|source| config.accepts(source));
        assert_eq!(accepted, [true, true]);
        let refused = ["nightly 2", "sessions", ""].map(|source| config.accepts(source));
        assert_eq!(refused, [false; 3]);
    }
}
