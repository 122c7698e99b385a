//! What is searched, and of each entry what a hit tells of it: a search reads
//! nothing but memory. Texts are held once, by the corpus; a card says where in
//! them the parts of an entry lie.

use std::collections::HashMap;

use missiond_core::{EntryCategory, EntryId, Timestamp};
use missiond_knowledge::snippet::Snippet;
use missiond_knowledge::transfer::derived_key;
use missiond_knowledge::{
    Calibration, Context, Corpus, Document, Hit, Profile, Scores, TurnPosition, shown_detail,
};
use missiond_store::knowledge::{EntryRow, Standing};

/// An entry that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryHit {
    pub id: EntryId,
    pub key: String,
    pub category: EntryCategory,
    pub summary: String,
    /// The words around what was looked for.
    pub snippet: Snippet,
    /// As much of the detail as the category shows.
    pub detail: Option<String>,
    pub confidence: f64,
    /// The entry that holds instead of it.
    pub superseded_by: Option<EntryId>,
    pub source: String,
    pub verified_at: Timestamp,
    pub scores: Scores,
}

#[derive(Debug)]
pub(super) struct Index {
    pub corpus: Corpus,
    /// The model its vectors are of.
    pub serving: Option<Serving>,
    cards: HashMap<EntryId, Card>,
}

#[derive(Debug, Clone)]
pub(super) struct Serving {
    /// Its full name.
    pub name: String,
    /// Where it was reached, when it is behind an endpoint.
    pub endpoint: Option<String>,
    pub calibration: Option<Calibration>,
}

#[derive(Debug, Clone)]
struct Card {
    key: Box<str>,
    source: Box<str>,
    /// Where in the text of the document the summary and the detail end.
    summary_end: usize,
    detail_end: usize,
    confidence: f64,
    superseded_by: Option<EntryId>,
}

impl Index {
    pub(super) fn empty(context: Option<Context>) -> Self {
        Self {
            corpus: Corpus::new(context, None),
            serving: None,
            cards: HashMap::new(),
        }
    }

    /// An index of these entries, without a word of how they stand.
    pub(super) fn of(
        entries: Vec<(EntryRow, Option<Vec<f32>>)>,
        context: Option<Context>,
        dimension: Option<usize>,
    ) -> Self {
        let cards = entries.iter().map(|(row, _)| (row.id, card(row))).collect();
        let documents = entries
            .into_iter()
            .map(|(row, vector)| (document(&row), vector))
            .collect();
        Self {
            corpus: Corpus::of(documents, context, dimension),
            serving: None,
            cards,
        }
    }

    /// The full name of the model that is searched with.
    pub(super) fn model(&self) -> Option<&str> {
        self.serving.as_ref().map(|serving| serving.name.as_str())
    }

    pub(super) fn put(&mut self, row: &EntryRow, vector: Option<Vec<f32>>) {
        self.cards.insert(row.id, card(row));
        self.corpus.put(document(row), vector);
    }

    pub(super) fn remove(&mut self, id: EntryId) {
        self.cards.remove(&id);
        self.corpus.remove(&id.to_string());
    }

    /// Notes how entries stand now; those out of use are not here.
    pub(super) fn stand(&mut self, standings: &[Standing]) {
        for standing in standings {
            if let Some(card) = self.cards.get_mut(&standing.id) {
                card.confidence = standing.confidence;
                card.superseded_by = standing.superseded_by;
            }
        }
    }

    pub(super) fn supersede(&mut self, older: EntryId, newer: EntryId) {
        if let Some(card) = self.cards.get_mut(&older) {
            card.superseded_by = Some(newer);
        }
    }

    /// A hit as it is told, with as much of its detail as a profile shows.
    pub(super) fn entry_hit(&self, hit: Hit, profile: &Profile) -> Option<EntryHit> {
        let document = self.corpus.get(&hit.id)?;
        let id = document.id.parse().ok()?;
        let card = self.cards.get(&id)?;
        let text = &document.text;
        let detail = text[card.summary_end..card.detail_end].trim_start_matches('\n');
        Some(EntryHit {
            id,
            key: card.key.to_string(),
            category: document.category,
            summary: text[..card.summary_end].to_owned(),
            snippet: hit.snippet,
            detail: shown_detail(detail, profile.detail_shown.of(document.category)),
            confidence: card.confidence,
            superseded_by: card.superseded_by,
            source: card.source.to_string(),
            verified_at: document.at,
            scores: hit.scores,
        })
    }

    /// What it takes in memory, by its own count.
    pub(super) fn bytes(&self) -> usize {
        let cards = self.cards.values();
        let cards: usize = cards
            .map(|card| card.key.len() + card.source.len() + size_of::<(EntryId, Card)>())
            .sum();
        self.corpus.bytes() + cards
    }
}

fn card(row: &EntryRow) -> Card {
    let summary_end = row.summary.len();
    let detail_end = match row.detail.len() {
        0 => summary_end,
        length => summary_end + 1 + length,
    };
    Card {
        key: row.key.as_str().into(),
        source: row.source.as_str().into(),
        summary_end,
        detail_end,
        confidence: row.confidence,
        superseded_by: None,
    }
}

/// What of an entry is searched.
fn document(row: &EntryRow) -> Document {
    Document {
        id: row.id.to_string(),
        text: searched_text(&row.key, &row.summary, &row.detail, &row.labels),
        category: row.category.parse().unwrap_or_default(),
        scope: (!row.scope.is_empty()).then(|| row.scope.clone()),
        at: row.verified_at,
        position: row
            .conversation
            .clone()
            .zip(row.turn)
            .map(|(conversation, turn)| TurnPosition { conversation, turn }),
        spoken_day: row
            .conversation
            .is_some()
            .then(|| day_in_words(row.created_at)),
    }
}

/// A day as people ask for it: "8 May 2023".
fn day_in_words(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros())
        .map(|at| at.strftime("%-d %B %Y").to_string())
        .unwrap_or_default()
}

/// The summary, then whatever else there is, each in a line of its own.
pub(super) fn searched_text(key: &str, summary: &str, detail: &str, labels: &str) -> String {
    let labels: Vec<String> = serde_json::from_str(labels).unwrap_or_default();
    let mut text = summary.to_owned();
    // A key that was made from the text says nothing more than the text.
    let key = if key == derived_key(summary, detail) {
        ""
    } else {
        key
    };
    for part in [detail, &labels.join(" "), key] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(part);
        }
    }
    text
}
