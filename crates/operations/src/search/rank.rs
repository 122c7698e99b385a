//! How well something that was found answers: one measure for every kind, so that
//! they can stand in one list.

use missiond_api::operations::search::SearchHit;

/// It is the thing that was named, as `T-12` names a task.
const NAMED: f32 = 5.0;
/// It is called exactly what was typed.
const CALLED: f32 = 4.0;
/// A word that begins a word of the title, is within one, or is in the detail.
const BEGINS: f32 = 1.0;
const WITHIN: f32 = 0.7;
const DETAIL: f32 = 0.4;
/// What every word of the query in the title is worth beside that.
const WHOLE: f32 = 0.5;
/// What its source thought of it, from the first hit downwards. Where no word
/// fits, because a source goes by meaning, this alone decides.
const PLACE: f32 = 0.5;

/// What was typed, as words in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    whole: String,
    words: Vec<String>,
}

impl Words {
    pub(super) fn of(query: &str) -> Self {
        let whole = query.trim().to_lowercase();
        let words = whole
            .split_whitespace()
            .map(|word| word.trim_matches('"').to_owned())
            .filter(|word| !word.is_empty())
            .collect();
        Self { whole, words }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn whole(&self) -> &str {
        &self.whole
    }

    pub(super) fn each(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    /// The one that leaves the least to look through.
    pub(super) fn longest(&self) -> &str {
        let longest = self.words.iter().max_by_key(|word| word.chars().count());
        longest.map_or("", String::as_str)
    }

    /// Whether every word is somewhere in these texts.
    pub(super) fn all_in(&self, texts: &[&str]) -> bool {
        let texts: Vec<_> = texts.iter().map(|text| text.to_lowercase()).collect();
        let is_in = |word: &String| texts.iter().any(|text| text.contains(word));
        self.words.iter().all(is_in)
    }
}

/// The hits of one source, each with its score; they come the best first.
pub(super) fn scored(words: &Words, hits: Vec<SearchHit>) -> Vec<SearchHit> {
    let score = |(place, mut hit): (usize, SearchHit)| {
        #[allow(clippy::cast_precision_loss, reason = "a source finds few")]
        let place = PLACE / (1.0 + place as f32);
        hit.score = relevance(words, &hit) + place;
        hit
    };
    hits.into_iter().enumerate().map(score).collect()
}

fn relevance(words: &Words, hit: &SearchHit) -> f32 {
    let id = hit.id.to_lowercase();
    let (title, detail) = (hit.title.to_lowercase(), hit.detail.to_lowercase());
    if id == words.whole {
        return NAMED;
    }
    if title == words.whole {
        return CALLED;
    }
    let mut sum = 0.0;
    let mut in_title = 0;
    for word in &words.words {
        let worth = match found(&title, word) {
            Some(worth) => {
                in_title += 1;
                worth
            }
            None if detail.contains(word) || id.contains(word) => DETAIL,
            None => 0.0,
        };
        sum += worth;
    }
    let whole = if in_title == words.words.len() {
        WHOLE
    } else {
        0.0
    };
    #[allow(clippy::cast_precision_loss, reason = "a query has few words")]
    let count = words.words.len().max(1) as f32;
    sum / count + whole
}

fn found(text: &str, word: &str) -> Option<f32> {
    let starts = |place: usize| {
        let before = text[..place].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric())
    };
    let mut places = text.match_indices(word).map(|(place, _)| place).peekable();
    places.peek()?;
    Some(if places.any(starts) { BEGINS } else { WITHIN })
}

/// The best, of whatever kind; among equals the newest.
pub(super) fn best(mut hits: Vec<SearchHit>, limit: usize) -> Vec<SearchHit> {
    hits.sort_by(|one, other| {
        let score = other.score.total_cmp(&one.score);
        score.then_with(|| other.at.cmp(&one.at))
    });
    hits.truncate(limit);
    hits
}

#[cfg(test)]
mod tests {
    use missiond_api::operations::search::SearchKind;

    use super::*;

    fn hit(id: &str, title: &str, detail: &str) -> SearchHit {
        SearchHit {
            kind: SearchKind::Task,
            id: id.to_owned(),
            title: title.to_owned(),
            detail: detail.to_owned(),
            link: String::new(),
            repository: None,
            at: None,
            score: 0.0,
        }
    }

    fn order(query: &str, sources: Vec<Vec<SearchHit>>) -> Vec<String> {
        let words = Words::of(query);
        let hits = sources
            .into_iter()
            .flat_map(|source| scored(&words, source));
        let best = best(hits.collect(), 10);
        best.into_iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn what_is_called_so_comes_first_then_titles_then_details() {
        let sources = vec![
            vec![
                hit("detail", "Numbers", "how to divide"),
                hit("within", "Undivided", ""),
            ],
            vec![hit("begins", "Add divide", "")],
            vec![hit("divide", "src/calc.py", "")],
        ];
        assert_eq!(
            order("divide", sources),
            ["divide", "begins", "within", "detail"]
        );
    }

    #[test]
    fn a_number_finds_its_task_before_those_that_mention_it() {
        let sources = vec![vec![
            hit("T-1", "Do what T-12 left", ""),
            hit("T-2", "T-12", ""),
            hit("T-12", "Other", ""),
        ]];
        assert_eq!(order("t-12", sources), ["T-12", "T-2", "T-1"]);
    }

    #[test]
    fn where_no_word_fits_the_order_of_the_source_stands() {
        let sources = vec![vec![hit("first", "a", ""), hit("second", "b", "")]];
        assert_eq!(order("zebra", sources), ["first", "second"]);
    }

    #[test]
    fn words_are_found_across_texts_in_any_case() {
        let words = Words::of("Divide  ZERO");
        assert!(words.all_in(&["divide numbers", "by Zero"]));
        assert!(!words.all_in(&["divide numbers"]));
        assert_eq!(words.longest(), "divide");
    }
}
