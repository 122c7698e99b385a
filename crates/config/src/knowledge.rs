//! What embeds entries, whose proposals are accepted, and every number of the
//! search. The numbers begin as those of the profile that measures best.

use missiond_api::operations::knowledge::MAX_HITS;
use missiond_core::EntryCategory;
use missiond_knowledge::profile::DEFAULT_PAGE;
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
        let share = |key, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err((key, format!("{value} must be 0 to 1")))
            }
        };
        let search = &self.search;
        share("knowledge.search.keyword", search.keyword)?;
        share("knowledge.search.keyword_of_turns", search.keyword_of_turns)?;
        share("knowledge.search.b", search.b)?;
        share("knowledge.search.filler", search.filler)?;
        share("knowledge.search.character", search.character)?;
        share("knowledge.search.similarity_floor", search.similarity_floor)?;
        share("knowledge.search.drop_off", search.drop_off)?;
        share("knowledge.search.relevance", search.relevance)?;
        share("knowledge.search.conversation", search.conversation)?;
        share("knowledge.search.said", search.said)?;
        share("knowledge.search.feedback", search.feedback)?;
        share("knowledge.search.rank_keyword", search.rank_keyword)?;
        share("knowledge.search.rank_vector", search.rank_vector)?;
        let number = |key, value: u32, least: u32, most: u32| match (least..=most).contains(&value)
        {
            true => Ok(()),
            false => Err((key, format!("{value} must be {least} to {most}"))),
        };
        number("knowledge.search.page", search.page, 1, MAX_HITS)?;
        number(
            "knowledge.search.feedback_hits",
            search.feedback_hits,
            1,
            50,
        )?;
        number(
            "knowledge.search.vector_per_hit",
            search.vector_per_hit,
            1,
            100,
        )?;
        number(
            "knowledge.search.snippet_tokens",
            search.snippet_tokens,
            5,
            200,
        )?;
        if !(1.0..=1000.0).contains(&search.rank_k) {
            let message = format!("{} must be 1 to 1000", search.rank_k);
            return Err(("knowledge.search.rank_k", message));
        }
        for (key, texts, most) in [
            (
                "knowledge.search.half_life_days",
                &search.half_life_days,
                36_500,
            ),
            (
                "knowledge.search.detail_shown",
                &search.detail_shown,
                20_000,
            ),
        ] {
            let wrong = |text: &&String| of_category(text).is_none_or(|(_, number)| number > most);
            if let Some(text) = texts.iter().find(wrong) {
                let message = format!(
                    "`{text}` is no number of a category: write it as debug=7, 0 to {most}"
                );
                return Err((key, message));
            }
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
        number(
            "knowledge.search.keyword_candidates",
            search.keyword_candidates,
            10,
            10_000,
        )?;
        number(
            "knowledge.search.vector_candidates",
            search.vector_candidates,
            10,
            10_000,
        )
    }
}

/// How words and meaning become one order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FusionKind {
    /// By scores that were brought to the same scale.
    #[default]
    Scores,
    /// By places.
    Ranks,
}

/// The numbers of the search; what each means is said with the profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// Hits on a page when nobody says otherwise.
    pub page: u32,
    pub fusion: FusionKind,
    pub rank_keyword: f64,
    pub rank_vector: f64,
    pub rank_k: f64,
    pub keyword: f64,
    pub keyword_of_turns: f64,
    pub k1: f64,
    pub b: f64,
    pub filler: f64,
    pub character: f64,
    pub keyword_candidates: u32,
    pub vector_candidates: u32,
    pub vector_per_hit: u32,
    pub similarity_floor: f64,
    pub decay: bool,
    /// Categories that age otherwise than usual, each as `debug=7`.
    pub half_life_days: Vec<String>,
    pub drop_off: f64,
    pub exact_first: bool,
    pub relevance: f64,
    pub before: [f64; 2],
    pub after: [f64; 2],
    pub vector_before: [f64; 2],
    pub vector_after: [f64; 2],
    pub conversation: f64,
    pub said: f64,
    pub feedback: f64,
    pub feedback_hits: u32,
    pub snippet_tokens: u32,
    /// Categories of whose detail more or less is shown than usual.
    pub detail_shown: Vec<String>,
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
        let (rank_keyword, rank_vector, rank_k) = match Profile::seed().fusion {
            Fusion::Ranks { keyword, vector, k } => (keyword, vector, k),
            Fusion::Scores { keyword, .. } => (keyword, 1.0 - keyword, 60.0),
        };
        let context = best.context.unwrap_or_default();
        Self {
            page: DEFAULT_PAGE as u32,
            fusion: FusionKind::default(),
            rank_keyword: wide(rank_keyword),
            rank_vector: wide(rank_vector),
            rank_k: wide(rank_k),
            keyword: wide(keyword),
            keyword_of_turns: wide(keyword_of_turns),
            k1: wide(best.bm25.k1),
            b: wide(best.bm25.b),
            filler: wide(best.bm25.filler),
            character: wide(best.bm25.character),
            keyword_candidates: best.keyword_candidates as u32,
            vector_candidates: best.vector_candidates as u32,
            vector_per_hit: best.vector_per_hit as u32,
            similarity_floor: wide(best.similarity_floor),
            decay: best.decay,
            half_life_days: Vec::new(),
            drop_off: wide(best.drop_off),
            exact_first: best.exact_first,
            relevance: wide(best.relevance),
            before: context.before.map(wide),
            after: context.after.map(wide),
            vector_before: context.vector_before.map(wide),
            vector_after: context.vector_after.map(wide),
            conversation: wide(context.conversation),
            said: wide(context.said),
            feedback: wide(best.feedback),
            feedback_hits: best.feedback_hits as u32,
            snippet_tokens: best.snippet_tokens as u32,
            detail_shown: Vec::new(),
        }
    }
}

impl SearchConfig {
    /// The profile with these numbers.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let mut profile = Profile::best();
        profile.fusion = match self.fusion {
            FusionKind::Scores => Fusion::Scores {
                keyword: self.keyword as f32,
                keyword_of_turns: self.keyword_of_turns as f32,
            },
            FusionKind::Ranks => Fusion::Ranks {
                keyword: self.rank_keyword as f32,
                vector: self.rank_vector as f32,
                k: self.rank_k as f32,
            },
        };
        profile.bm25.k1 = self.k1 as f32;
        profile.bm25.b = self.b as f32;
        profile.bm25.filler = self.filler as f32;
        profile.bm25.character = self.character as f32;
        profile.keyword_candidates = self.keyword_candidates as usize;
        profile.vector_candidates = self.vector_candidates as usize;
        profile.vector_per_hit = self.vector_per_hit as usize;
        profile.similarity_floor = self.similarity_floor as f32;
        profile.decay = self.decay;
        // What cannot be read was refused when the file was.
        for (category, days) in self.half_life_days.iter().filter_map(|t| of_category(t)) {
            let half_life = (days > 0).then_some(days as f32);
            profile.half_lives.set(category, half_life);
        }
        profile.drop_off = self.drop_off as f32;
        profile.exact_first = self.exact_first;
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
        profile.snippet_tokens = self.snippet_tokens as usize;
        for (category, most) in self.detail_shown.iter().filter_map(|t| of_category(t)) {
            profile.detail_shown.set(category, most as usize);
        }
        profile
    }
}

/// The number of a category: `debug=7`.
fn of_category(text: &str) -> Option<(EntryCategory, u32)> {
    let (category, number) = text.split_once('=')?;
    Some((category.trim().parse().ok()?, number.trim().parse().ok()?))
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
    fn a_profile_can_be_the_source_documents_to_the_letter() {
        let written = r#"
            fusion = "ranks"
            k1 = 1.2
            b = 0.75
            filler = 1.0
            character = 0.0
            vector_candidates = 60
            similarity_floor = 0.3
            drop_off = 0.5
            exact_first = false
            feedback = 0.0
            feedback_hits = 1
            half_life_days = ["debug=7", "note = 365", "ops=0"]
            detail_shown = ["architecture=100"]
        "#;
        let config: SearchConfig = toml::from_str(written).unwrap();
        let profile = config.profile();
        let lives = profile.half_lives;
        let of = [
            EntryCategory::Debug,
            EntryCategory::Note,
            EntryCategory::Ops,
            EntryCategory::Bugfix,
        ];
        let of = of.map(|category| lives.of(category));
        assert_eq!(of, [Some(7.0), Some(365.0), None, Some(30.0)]);
        assert_eq!(profile.detail_shown.of(EntryCategory::Architecture), 100);
        let wrong = ["debug", "debug=x", "cake=1", "debug=40000"].map(|text| {
            let mut config = KnowledgeConfig::default();
            config.search.half_life_days = vec![text.to_owned()];
            config.check().is_err()
        });
        assert_eq!(wrong, [true; 4]);
        let seed = Profile::seed();
        let expected = Profile {
            name: profile.name,
            context: profile.context,
            half_lives: profile.half_lives,
            detail_shown: profile.detail_shown,
            ..seed
        };
        assert_eq!(profile, expected);
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
