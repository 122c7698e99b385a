//! What embeds entries, whose proposals are accepted, and every number of the
//! search. The numbers begin as those of the profile that measures best.

use std::ops::RangeInclusive;

use missiond_core::{EntryCategory, HitLimit};
use missiond_knowledge::profile::DEFAULT_PAGE;
use missiond_knowledge::{Context, Fusion, Profile};
use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};

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

key_types! { Text: EmbeddingProvider, FusionKind; }

section! {
    pub struct KnowledgeConfig: "knowledge." {
        /// What embeds entries: `embedded` (a model in the daemon), `ollama`, `openai`
        /// (any endpoint with that interface) or `off`.
        restart embedding: EmbeddingProvider = EmbeddingProvider::Embedded,
            one of ["embedded", "ollama", "openai", "off"];
        /// The name of the model. Empty means gte-small, with Ollama qwen3-embedding.
        restart model: String = String::new();
        /// Where the endpoint is, for example `http://127.0.0.1:8080/v1`. Empty means
        /// Ollama on this machine.
        restart url: String = String::new();
        /// The environment variable of the daemon that holds the key of the endpoint.
        /// Empty means no key.
        restart api_key_env: String = String::new();
        /// A file that holds the key of the endpoint and that nobody else can read,
        /// instead of a variable. Empty means none.
        restart api_key_file: String = String::new();
        /// How long one request to the endpoint may take, in seconds.
        restart timeout_secs: u64 = 30, in 1..=600;
        /// Sources whose proposals become entries without a person, unless they
        /// contradict what is known; a `*` at the end stands for anything, for example
        /// `["session *"]`.
        restart accept_from: Vec<String> = Vec::new();
        /// Whether the model reads code too, in the background, so that `mission code
        /// search` compares meaning.
        restart code: bool = true;
        sections { search: SearchConfig }
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

    /// What is wrong with the texts among the values.
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let search = &self.search;
        for (key, texts) in [
            ("knowledge.search.half_life_days", &search.half_life_days),
            ("knowledge.search.detail_shown", &search.detail_shown),
        ] {
            let wrong = |text: &&String| category_number(text).is_none();
            if let Some(text) = texts.iter().find(wrong) {
                let message = format!("`{text}` is no number of a category: write it as debug=7");
                return Err(InvalidValue::new(key, message));
            }
        }
        Ok(())
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

const BEST: Profile = Profile::best();
const SHARE: RangeInclusive<f64> = 0.0..=1.0;

section! {
    /// The numbers of the search; what each means is said with the profile.
    pub struct SearchConfig: "knowledge.search." {
        /// Hits on a page when nobody says otherwise.
        restart page: u32 = DEFAULT_PAGE as u32, in 1..=HitLimit::LARGEST.to_u32();
        /// How words and meaning become one order: by `scores`, or by `ranks`.
        restart fusion: FusionKind = FusionKind::Scores, one of ["scores", "ranks"];
        /// By ranks: what the place among words counts.
        restart rank_keyword: f64 = ranks()[0], in SHARE;
        /// By ranks: what the place by meaning counts.
        restart rank_vector: f64 = ranks()[1], in SHARE;
        /// By ranks: how little the first places stand out.
        restart rank_k: f64 = ranks()[2], in 1..=1000;
        /// By scores: what words count beside meaning.
        restart keyword: f64 = scores()[0], in SHARE;
        /// The same for turns of a conversation.
        restart keyword_of_turns: f64 = scores()[1], in SHARE;
        /// How soon more occurrences of a word stop to matter.
        restart k1: f64 = wide(BEST.bm25.k1), in 0.1..=10.0;
        /// How much a long entry is held against it.
        restart b: f64 = wide(BEST.bm25.b), in SHARE;
        /// What a word such as `the` counts.
        restart filler: f64 = wide(BEST.bm25.filler), in SHARE;
        /// What one character of Chinese, Japanese or Korean counts beside a pair of
        /// them.
        restart character: f64 = wide(BEST.bm25.character), in SHARE;
        /// The most candidates that words bring up.
        restart keyword_candidates: u32 = BEST.keyword_candidates as u32, in 10..=10_000;
        /// The fewest candidates that meaning brings up.
        restart vector_candidates: u32 = BEST.vector_candidates as u32, in 10..=10_000;
        /// Candidates that meaning brings up for each hit that is wanted.
        restart vector_per_hit: u32 = BEST.vector_per_hit as u32, in 1..=100;
        /// Similarities below this bring up nothing; what it means depends on the model.
        restart similarity_floor: f64 = wide(BEST.similarity_floor), in SHARE;
        /// Whether entries count less as their category ages.
        restart decay: bool = BEST.decay;
        /// After how many days entries of a category count half where that is not as
        /// usual, for example `["debug=7", "note=365"]`; 0 never ages.
        restart half_life_days: Vec<String> = Vec::new(), in 0..=36_500;
        /// Hits below this share of the best are dropped.
        restart drop_off: f64 = wide(BEST.drop_off), in SHARE;
        /// Whether entries that have an identifier or a quoted phrase of the query to the
        /// letter come first and are never dropped.
        restart exact_first: bool = BEST.exact_first;
        /// With `--explore`: what relevance counts; unlikeness counts the rest.
        restart relevance: f64 = wide(BEST.relevance), in SHARE;
        /// What the words of the turns one and two before lend a turn, each.
        restart before: [f64; 2] = lent().before.map(wide), in SHARE;
        /// The same for the turns after.
        restart after: [f64; 2] = lent().after.map(wide), in SHARE;
        /// What the vectors of the turns one and two before lend a turn, each.
        restart vector_before: [f64; 2] = lent().vector_before.map(wide), in SHARE;
        /// The same for the turns after.
        restart vector_after: [f64; 2] = lent().vector_after.map(wide), in SHARE;
        /// What the best turns of a conversation lend its others.
        restart conversation: f64 = wide(lent().conversation), in SHARE;
        /// What the words of the day on which a turn was said count.
        restart said: f64 = wide(lent().said), in SHARE;
        /// How far the query moves towards its best documents before the second
        /// comparison.
        restart feedback: f64 = wide(BEST.feedback), in SHARE;
        /// How many documents that are.
        restart feedback_hits: u32 = BEST.feedback_hits as u32, in 1..=50;
        /// Words of a snippet.
        restart snippet_tokens: u32 = BEST.snippet_tokens as u32, in 5..=200;
        /// How many characters of the detail a hit of a category shows where that is not
        /// as usual, for example `["policy=4000"]`; 0 shows none.
        restart detail_shown: Vec<String> = Vec::new(), in 0..=20_000;
    }
}

/// The weights of words among entries and among turns.
fn scores() -> [f64; 2] {
    match BEST.fusion {
        Fusion::Scores {
            keyword,
            keyword_of_turns,
        } => [keyword, keyword_of_turns].map(wide),
        Fusion::Ranks { keyword, .. } => [keyword; 2].map(wide),
    }
}

/// The weights of words and of meaning, and `k`.
fn ranks() -> [f64; 3] {
    match Profile::seed().fusion {
        Fusion::Ranks { keyword, vector, k } => [keyword, vector, k].map(wide),
        Fusion::Scores { keyword, .. } => [keyword, 1.0 - keyword, 60.0].map(wide),
    }
}

/// What turns lend each other.
fn lent() -> Context {
    BEST.context.unwrap_or_default()
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
        for (category, days) in self
            .half_life_days
            .iter()
            .filter_map(|t| category_number(t))
        {
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
        for (category, most) in self.detail_shown.iter().filter_map(|t| category_number(t)) {
            profile.detail_shown.set(category, most as usize);
        }
        profile
    }
}

/// The number of a category: `debug=7`.
fn category_number(text: &str) -> Option<(EntryCategory, u32)> {
    let (category, number) = text.split_once('=')?;
    Some((category.trim().parse().ok()?, number.trim().parse().ok()?))
}

/// As people write it: 0.15, not 0.15000000596.
fn wide(value: f32) -> f64 {
    (f64::from(value) * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Config;

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
        for (text, expected) in [
            ("debug", "`debug` is no number of a category"),
            ("debug=x", "`debug=x` is no number of a category"),
            ("cake=1", "`cake=1` is no number of a category"),
            ("debug=40000", "must be between 0 and 36500, but is 40000"),
            ("debug=-1", "must be between 0 and 36500, but is -1"),
        ] {
            let text = format!("[knowledge.search]\nhalf_life_days = [\"{text}\"]\n");
            let error = Config::parse(Path::new("c"), &text)
                .unwrap_err()
                .to_string();
            let key = "c, line 2: `knowledge.search.half_life_days` ";
            assert!(
                error.starts_with(key) && error.contains(expected),
                "{error}"
            );
        }
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
